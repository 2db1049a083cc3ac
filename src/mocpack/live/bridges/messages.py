"""Frames as JSON, one object a line or message: for pipes, ZMQ, and whoever writes a bridge.

The first is ``{"skeleton": {"names", "parents", "offsets", "translated"}, "frame_time"}``, each
other one ``{"time", "rotations", "translations"}``: seconds, local quaternions x, y, z, w, metres.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from mocpack.clip import ClipHeader
from mocpack.errors import FormatError, InvalidClipError
from mocpack.live.client import Frame
from mocpack.skeleton import Skeleton

MAX_MESSAGE_BYTES = 1 << 20  # bytes of one message


def format_header(header: ClipHeader) -> str:
    """Return the first message of a stream."""
    skeleton = header.skeleton
    tree = {
        "names": skeleton.unique_names,
        "parents": skeleton.parents,
        "offsets": skeleton.offsets.tolist(),
        "translated": header.translated_joints,
    }
    return json.dumps({"skeleton": tree, "frame_time": header.frame_time})


def format_frame(frame: Frame) -> str:
    """Return the message of a frame."""
    time, turns, places = frame
    numbers = {"rotations": turns.tolist(), "translations": places.tolist()}
    return json.dumps({"time": time, **numbers})


def is_header(message: str | bytes) -> bool:
    """Whether a message begins a stream."""
    return '"skeleton"' in (message if isinstance(message, str) else message.decode())


def read_header(message: str | bytes) -> ClipHeader:
    """Read the first message; what is wrong with it is a `FormatError`."""
    told = _parse_object(message)
    try:
        tree = told["skeleton"]
        names = [str(name) for name in tree["names"]]
        parents = [int(parent) for parent in tree["parents"]]
        offsets = np.array(tree["offsets"], np.float64)
        translated = tuple(int(j) for j in tree.get("translated", [0]))
        skeleton = Skeleton(tuple(names), tuple(parents), offsets)
        return ClipHeader(skeleton, 1, float(told["frame_time"]), translated)
    except (KeyError, TypeError, ValueError, InvalidClipError) as error:
        raise FormatError(f"the first message names no skeleton: {error!r}") from error


def read_frame(message: str | bytes, header: ClipHeader) -> Frame:
    """Read the message of a frame."""
    told = _parse_object(message)
    try:
        time = float(told["time"])
        turns = np.array(told["rotations"], np.float64).reshape(len(header.skeleton), 4)
        places = np.array(told["translations"], np.float64)
        return time, turns, places.reshape(len(header.translated_joints), 3)
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"a message is no frame of this skeleton: {error!r}") from error


def _parse_object(message: str | bytes) -> dict[str, Any]:
    if len(message) > MAX_MESSAGE_BYTES:
        raise FormatError(f"a message has at most {MAX_MESSAGE_BYTES} bytes, got {len(message)}")
    try:
        told = json.loads(message)
    except ValueError as error:
        raise FormatError(f"a message is no JSON: {error}") from error
    if not isinstance(told, dict):
        raise FormatError(f"a message is an object, got {type(told).__name__}")
    return told
