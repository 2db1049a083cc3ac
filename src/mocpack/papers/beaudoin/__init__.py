"""Beaudoin, Poulin and van de Panne 2007, “Adapting Wavelet Compression to Human Motion
Capture Clips”."""

from mocpack.papers.beaudoin.codec.pca import Pca
from mocpack.papers.beaudoin.codec.wavelet import Wavelet
from mocpack.papers.beaudoin.codec.wavelet_ik import WaveletIk
from mocpack.papers.beaudoin.codec.wavelet_opt import WaveletOpt

__all__ = ["Pca", "Wavelet", "WaveletIk", "WaveletOpt"]
