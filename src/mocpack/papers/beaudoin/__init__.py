"""Beaudoin, Poulin and van de Panne 2007, “Adapting Wavelet Compression to Human Motion
Capture Clips”."""
