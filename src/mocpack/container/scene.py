"""Scenes: a file whose `CLIP` chunks each hold the name and the .mocp file of a clip."""

from __future__ import annotations

from collections.abc import Mapping

from mocpack.coding.fields import FieldWriter
from mocpack.common.texts import check_text
from mocpack.container.chunks import FORMAT_VERSION, MAGIC, pack_chunk
from mocpack.errors import InvalidClipError, UsageError, convert_errors

CLIP = "CLIP"
MAX_CLIP_NAME = 1024  # bytes of UTF-8


def pack_scene(files: Mapping[str, bytes]) -> bytes:
    """Return the scene file of .mocp files by clip name."""
    if not files:
        raise UsageError("a scene needs at least one clip, got none")
    parts = [MAGIC + bytes([FORMAT_VERSION])]
    for name, data in files.items():
        with convert_errors(InvalidClipError, to=UsageError):
            check_text(name, MAX_CLIP_NAME, "a clip name")
        body = FieldWriter()
        body.sized(name.encode())
        body.raw(data)
        parts.append(pack_chunk(CLIP.encode(), body.bytes()))
    return b"".join(parts)
