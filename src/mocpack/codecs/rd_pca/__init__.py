"""The codec `rd-pca`: its method, its payload and the search for its parameters."""

from mocpack.codecs.rd_pca.method import RdPca

__all__ = ["RdPca"]
