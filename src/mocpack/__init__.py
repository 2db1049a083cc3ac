"""Pack motion capture: name an error in millimetres, get the smallest file that keeps it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from mocpack._api import Motion, decode, encode, open, read, read_data, write
    from mocpack.clip import Clip, ClipHeader, VertexClip, VertexHeader
    from mocpack.codec import Codec
    from mocpack.metrics import Comparison, compare
    from mocpack.registry import codec_ids, parse_codec
    from mocpack.skeleton import Skeleton
    from mocpack.units import Length, cm, m, mm

# where each public name comes from; nothing is loaded before it is used, so that a program which
# reads files does not wait for the metrics, nor one that asks for the version for anything
_HOMES = {
    "Clip": "clip",
    "ClipHeader": "clip",
    "Codec": "codec",
    "Comparison": "metrics",
    "Length": "units",
    "Motion": "_api",
    "Skeleton": "skeleton",
    "VertexClip": "clip",
    "VertexHeader": "clip",
    "cm": "units",
    "codec_ids": "registry",
    "compare": "metrics",
    "decode": "_api",
    "encode": "_api",
    "m": "units",
    "mm": "units",
    "open": "_api",
    "parse_codec": "registry",
    "read": "_api",
    "read_data": "_api",
    "write": "_api",
}

__all__ = [
    "Clip",
    "ClipHeader",
    "Codec",
    "Comparison",
    "Length",
    "Motion",
    "Skeleton",
    "VertexClip",
    "VertexHeader",
    "cm",
    "codec_ids",
    "compare",
    "decode",
    "encode",
    "m",
    "mm",
    "open",
    "parse_codec",
    "read",
    "read_data",
    "write",
]


def __getattr__(name: str) -> Any:
    """Load a public name, or a module such as ``mocpack.errors``, when it is first asked for."""
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
