"""Reach a target error, ratio or size with any codec.

A codec with error bounds gets them; for any other, its quality parameter is searched. Every file is
decoded and measured before it is returned; a file that misses its target is never returned.
"""

from mocpack.rate.attempts import Attempt, attempt, pack_file, round_trip
from mocpack.rate.encoding import EncodingOptions, encode_clip, encode_to_target, parse_encoding
from mocpack.rate.measuring import measure
from mocpack.rate.preparing import PreparedClip, prepare_clip
from mocpack.rate.ratio_baseline import moving_channels, raw_size
from mocpack.rate.target import Bounds, Target, TargetOptions, parse_target

__all__ = [
    "Attempt",
    "Bounds",
    "EncodingOptions",
    "PreparedClip",
    "Target",
    "TargetOptions",
    "attempt",
    "encode_clip",
    "encode_to_target",
    "measure",
    "moving_channels",
    "pack_file",
    "parse_encoding",
    "parse_target",
    "prepare_clip",
    "raw_size",
    "round_trip",
]
