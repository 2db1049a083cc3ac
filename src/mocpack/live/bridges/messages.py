"""Frames as JSON, one object per line or message, for pipes, ZMQ and custom bridges.

The first message is ``{"skeleton": {"names", "parents", "offsets", "translated"}, "frame_time"}``.
All others are ``{"time", "rotations", "translations"}``: seconds, local quaternions x, y, z, w,
meters.
"""

from __future__ import annotations

import json

import numpy as np

from mocpack.common.arguments import check_number
from mocpack.common.json_object import (
    JsonObject,
    get_member,
    is_list,
    is_object,
    parse_json,
)
from mocpack.errors import FormatError, InvalidClipError, convert_errors
from mocpack.live.client import Frame
from mocpack.model.clip import ClipHeader
from mocpack.model.skeleton import Skeleton

MAX_MESSAGE_BYTES = 1 << 20


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
    time, bone_rotations, translations = frame
    numbers = {"rotations": bone_rotations.tolist(), "translations": translations.tolist()}
    return json.dumps({"time": time, **numbers})


def is_header(message: str | bytes) -> bool:
    """Whether a message is the first of a stream."""
    return '"skeleton"' in (message if isinstance(message, str) else message.decode())


def read_header(message: str | bytes) -> ClipHeader:
    """Parse the first message; raise `FormatError` if it is invalid."""
    fields = _parse_object(message)
    frame_time = get_member(fields, "frame_time", float, "first message", FormatError)
    try:
        tree = fields["skeleton"]
        if not is_object(tree) or not is_list(names := tree["names"]):
            raise ValueError("expected an object with a list of names")
        parents = np.array(tree["parents"], np.int64).tolist()
        offsets = np.array(tree["offsets"], np.float64)
        translated = np.array(tree.get("translated", [0]), np.int64).tolist()
        skeleton = Skeleton(tuple(map(str, names)), tuple(parents), offsets)
        return ClipHeader(skeleton, 1, frame_time, tuple(translated))
    except (KeyError, TypeError, ValueError, OverflowError, InvalidClipError) as error:
        raise FormatError(f"first message: the skeleton is invalid: {error!r}") from error


def read_frame(message: str | bytes, header: ClipHeader) -> Frame:
    """Parse the message of a frame."""
    fields = _parse_object(message)
    time = get_member(fields, "time", float, "frame message", FormatError)
    try:
        check_number("time", time, 0)
        bone_rotations = np.array(fields["rotations"], np.float64).reshape(len(header.skeleton), 4)
        translations = np.array(fields["translations"], np.float64)
        return time, bone_rotations, translations.reshape(len(header.translated_joints), 3)
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"frame message: it does not fit the skeleton: {error!r}") from error


def _parse_object(message: str | bytes) -> JsonObject:
    if len(message) > MAX_MESSAGE_BYTES:
        raise FormatError(
            f"JSON message: it can have at most {MAX_MESSAGE_BYTES} bytes, got {len(message)}"
        )
    with convert_errors(ValueError, "JSON message: invalid JSON", to=FormatError):
        fields = parse_json(message)
    if not is_object(fields):
        raise FormatError(f"JSON message: expected an object, got {type(fields).__name__}")
    return fields
