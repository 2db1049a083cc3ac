"""Váša and Brunnett 2014, “Rate-distortion optimized compression of motion capture data”."""
