"""The codec `rd-pca`: its method, its payload and the search for its parameters."""

from mocpack.codecs.rd_pca.equalisation import kinematic_gram
from mocpack.codecs.rd_pca.method import QuadraticForm, RdPca

__all__ = ["QuadraticForm", "RdPca", "kinematic_gram"]
