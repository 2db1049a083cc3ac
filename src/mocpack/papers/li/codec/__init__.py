"""Forward and inverse kinematics: wavelets of bones, closed-loop prediction, their baselines.

After Li, Okuda and Takahashi 2008.
"""
