"""Li, Okuda and Takahashi 2008, “Compression of Human Motion Animation Using the Reduction of
Interjoint Correlation”."""

from mocpack.papers.li.codec.dwt97 import Dwt97
from mocpack.papers.li.codec.fk_wavelet import FkWavelet
from mocpack.papers.li.codec.ik_predict import IkPredict
from mocpack.papers.li.codec.keyframe import Keyframe
from mocpack.papers.li.codec.last_frame import LastFrame

__all__ = ["Dwt97", "FkWavelet", "IkPredict", "Keyframe", "LastFrame"]
