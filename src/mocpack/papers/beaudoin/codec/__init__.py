"""Wavelets adapted to joint angles, and their baselines.

After Beaudoin, Poulin and van de Panne 2007.
"""
