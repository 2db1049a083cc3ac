"""The codec `rd-pca`: its method, its payload and the search for its parameters."""

from mocpack.papers.vasa.codec.equalization import kinematic_gram
from mocpack.papers.vasa.codec.rd_pca import QuadraticForm, RdPca

__all__ = ["QuadraticForm", "RdPca", "kinematic_gram"]
