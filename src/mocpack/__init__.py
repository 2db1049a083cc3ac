"""Pack motion capture: name an error in millimetres, get the smallest file that keeps it."""

from mocpack._api import (
    Motion,
    clip_names,
    decode,
    decode_scene,
    encode,
    encode_scene,
    open,
    read,
    read_data,
    read_scene,
    write,
    write_scene,
)
from mocpack.clip import Clip, ClipHeader, VertexClip, VertexHeader
from mocpack.codec import Codec
from mocpack.extras import Extras, Track
from mocpack.metrics import Comparison, compare
from mocpack.registry import codec_ids, parse_codec
from mocpack.skeleton import Skeleton

__version__ = "0.1.0.dev0"

__all__ = [
    "Clip",
    "ClipHeader",
    "Codec",
    "Comparison",
    "Extras",
    "Motion",
    "Skeleton",
    "Track",
    "VertexClip",
    "VertexHeader",
    "clip_names",
    "codec_ids",
    "compare",
    "decode",
    "decode_scene",
    "encode",
    "encode_scene",
    "open",
    "parse_codec",
    "read",
    "read_data",
    "read_scene",
    "write",
    "write_scene",
]
