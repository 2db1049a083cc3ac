"""Compress motion capture: give a maximum error in millimeters, get the smallest file within it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:  # `X as X` tells type checkers that mocpack exports X
    from mocpack._api import clip_names as clip_names
    from mocpack._api import decode as decode
    from mocpack._api import decode_scene as decode_scene
    from mocpack._api import encode as encode
    from mocpack._api import encode_scene as encode_scene
    from mocpack._api import open as open
    from mocpack._api import read as read
    from mocpack._api import read_data as read_data
    from mocpack._api import read_scene as read_scene
    from mocpack._api import write as write
    from mocpack._api import write_scene as write_scene
    from mocpack.codec import Codec as Codec
    from mocpack.codecs.registry import codec_ids as codec_ids
    from mocpack.codecs.registry import parse_codec as parse_codec
    from mocpack.common.units import Angle as Angle
    from mocpack.common.units import Length as Length
    from mocpack.common.units import cm as cm
    from mocpack.common.units import deg as deg
    from mocpack.common.units import m as m
    from mocpack.common.units import mm as mm
    from mocpack.common.units import rad as rad
    from mocpack.corpora import Corpus as Corpus
    from mocpack.corpora import open_corpus as open_corpus
    from mocpack.metrics import Comparison as Comparison
    from mocpack.metrics import compare as compare
    from mocpack.model.clip import Clip as Clip
    from mocpack.model.clip import ClipHeader as ClipHeader
    from mocpack.model.clip import VertexClip as VertexClip
    from mocpack.model.clip import VertexHeader as VertexHeader
    from mocpack.model.hinges import Hinges as Hinges
    from mocpack.model.skeleton import Skeleton as Skeleton
    from mocpack.model.take_data import TakeData as TakeData
    from mocpack.model.take_data import Track as Track
    from mocpack.motion import Motion as Motion

# The module of each public name. Modules load on first use, so importing mocpack is fast.
_HOMES = {
    name: module
    for module, names in {
        "_api": "clip_names decode decode_scene encode encode_scene open read read_data read_scene "
        "write write_scene",
        "codec": "Codec",
        "codecs.registry": "codec_ids parse_codec",
        "common.units": "Angle Length cm deg m mm rad",
        "corpora": "Corpus open_corpus",
        "metrics": "Comparison compare",
        "model.clip": "Clip ClipHeader VertexClip VertexHeader",
        "model.hinges": "Hinges",
        "model.skeleton": "Skeleton",
        "model.take_data": "TakeData Track",
        "motion": "Motion",
    }.items()
    for name in names.split()
}
# Modules that `mocpack` offers as its own.
_MODULES = {"rotations": "model.rotations", "space": "model.space"}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name, or a module such as ``mocpack.errors``, on first use."""
    if name in _HOMES:
        found = getattr(import_module(f"mocpack.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
    if not name.startswith("__"):
        try:
            return import_module(f"mocpack.{_MODULES.get(name, name)}")
        except ModuleNotFoundError as error:
            if error.name != f"mocpack.{name}":
                raise
    raise AttributeError(f"module 'mocpack' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
