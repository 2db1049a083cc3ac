"""Body animation parameters by table look-up, and the MPEG-4 baseline.

After Chattopadhyay, Bhandarkar and Li 2007.
"""
