"""Compress motion capture: give a maximum error in millimeters, get the smallest file within it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from mocpack._api import (
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
    from mocpack.corpora import Corpus, open_corpus
    from mocpack.hinges import Hinges
    from mocpack.metrics import Comparison, compare
    from mocpack.motion import Motion
    from mocpack.registry import codec_ids, parse_codec
    from mocpack.skeleton import Skeleton
    from mocpack.take_data import TakeData, Track
    from mocpack.units import Angle, Length, cm, deg, m, mm, rad

# The module of each public name. Modules load on first use, so importing mocpack is fast.
_HOMES = {
    name: module
    for module, names in {
        "_api": "clip_names decode decode_scene encode encode_scene open read read_data read_scene "
        "write write_scene",
        "clip": "Clip ClipHeader VertexClip VertexHeader",
        "codec": "Codec",
        "corpora": "Corpus open_corpus",
        "hinges": "Hinges",
        "metrics": "Comparison compare",
        "motion": "Motion",
        "registry": "codec_ids parse_codec",
        "skeleton": "Skeleton",
        "take_data": "TakeData Track",
        "units": "Angle Length cm deg m mm rad",
    }.items()
    for name in names.split()
}

__all__ = [
    "Angle",
    "Clip",
    "ClipHeader",
    "Codec",
    "Comparison",
    "Corpus",
    "Hinges",
    "Length",
    "Motion",
    "Skeleton",
    "TakeData",
    "Track",
    "VertexClip",
    "VertexHeader",
    "clip_names",
    "cm",
    "codec_ids",
    "compare",
    "decode",
    "decode_scene",
    "deg",
    "encode",
    "encode_scene",
    "m",
    "mm",
    "open",
    "open_corpus",
    "parse_codec",
    "rad",
    "read",
    "read_data",
    "read_scene",
    "write",
    "write_scene",
]


def __getattr__(name: str) -> Any:
    """Import a public name, or a module such as ``mocpack.errors``, on first use."""
    if name in _HOMES:
        found = getattr(import_module(f"mocpack.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
    if not name.startswith("__"):
        try:
            return import_module(f"mocpack.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"mocpack.{name}":
                raise
    raise AttributeError(f"module 'mocpack' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
