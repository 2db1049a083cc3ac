"""A `keysine` payload as the core opens it, and the limits of the format that the core states."""

from __future__ import annotations

from mocpack import _core
from mocpack.codec import Payload, as_payload
from mocpack.model.clip import ClipHeader

MAX_LAYERS = _core.KEYSINE_MAX_LAYERS
MAX_GRID_CHANNELS = _core.KEYSINE_MAX_GRID_CHANNELS


def open_payload(
    payload: Payload | bytes, header: ClipHeader, *, partial: bool = False
) -> _core.KeysinePayload:
    """Return a payload as the core opens it: its head is parsed, its parts are found.

    With `partial` groups may be missing.
    """
    given = as_payload(payload)
    return _core.KeysinePayload(
        header.skeleton.to_core(header.translated_joints),
        header.frame_count,
        given.source,
        given.offset,
        given.size,
        given.missing_bytes,
        partial,
        given.memory_limit,
    )
