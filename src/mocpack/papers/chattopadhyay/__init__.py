"""Chattopadhyay, Bhandarkar and Li 2007, “Model Dependent Power Aware Compression Algorithms
for MPEG-4 Virtual Human Animation in Mobile Computers”."""

from mocpack.papers.chattopadhyay.codec.bap_index import BapIndex, BapSparse
from mocpack.papers.chattopadhyay.codec.mpeg4_bap import Mpeg4Bap

__all__ = ["BapIndex", "BapSparse", "Mpeg4Bap"]
