"""Váša and Brunnett 2014, “Rate-distortion optimized compression of motion capture data”."""

from mocpack.papers.vasa.codec.rd_pca import RdPca

__all__ = ["RdPca"]
