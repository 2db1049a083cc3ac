"""Skeletal clips as .npz files for training code: plain arrays, no pickles.

``rotations (T, J, 4)`` are local quaternions in ``quaternion_order``. ``translations (T, M, 3)`` of
``translated_joints (M,)`` are in meters. ``names (J,)``, ``parents (J,)``, ``offsets (J, 3)`` and
``frame_rate`` complete the motion. Optional arrays restore the clip exactly: ``rest``,
``hinge_joints (H,)``, ``hinge_axes``, ``hinge_limits``, ``hinge_slides``, ``hinge_names``,
``joint_scales``, ``scales`` of ``scaled_joints``, ``times``, ``valid``, and ``tracks``, a JSON list
whose i-th entry has its values in ``track<i>``.
"""

from __future__ import annotations

import json
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64
from mocpack.common.json_object import Json, JsonObject, get_member, is_object
from mocpack.errors import CorruptionError, convert_errors
from mocpack.io import npz
from mocpack.model.clip import Clip, ClipHeader
from mocpack.model.hinges import Hinges
from mocpack.model.skeleton import MAX_JOINTS, Skeleton
from mocpack.model.take_data import TakeData, Track

XYZW, WXYZ = "xyzw", "wxyz"
T = TypeVar("T", JsonObject, list[Json])


def probe(data: bytes) -> bool:
    """Return whether `data` is an .npz file of a skeletal clip."""
    return npz.probe(data, "rotations")


def read(data: bytes, *, unit: float | None = None, fps: float | None = None) -> Clip:
    """Return the clip; `unit` is the length of one file unit in meters, 1 by default.

    `fps` is the frame rate of a file that states none.
    """
    arrays = npz.Arrays(data)
    meters = 1.0 if unit is None else unit
    rotations = _read_rotations(arrays)
    joints = rotations.shape[1]
    skeleton = _read_skeleton(arrays, joints, meters)
    translations = arrays.numbers("translations") * meters
    if translations.ndim == 2:
        translations = translations[:, np.newaxis]
    metadata: JsonObject = {"source": "npz"}
    if "metadata" in arrays:
        metadata = _read_json(arrays, "metadata", dict)
    header = ClipHeader(
        skeleton,
        len(rotations),
        arrays.frame_time(fps, metadata),
        arrays.integers("translated_joints", [0]),
        arrays.number("unit", 1.0),
        metadata,
        arrays.integers("scaled_joints", [], kinds="iuf"),
        arrays.number("start_time", 0.0),
        bool(arrays.number("loop", 0.0)),
        "".join(arrays.texts("up", ["y"])),
        "".join(arrays.texts("handedness", ["right"])),
        bool(arrays.number("interpolated", 0.0)),
    )
    channels = _read_optional(arrays, "channels")
    return Clip(header, rotations, translations, channels, _read_take_data(arrays))


def write(clip: Clip) -> bytes:
    """Return the clip as .npz in float64; reading it returns the same clip."""
    skeleton = clip.skeleton
    arrays: dict[str, npt.ArrayLike] = {
        "rotations": clip.rotations,
        "quaternion_order": XYZW,
        "translations": clip.translations,
        "translated_joints": np.array(clip.translated_joints, np.int32),
        "frame_rate": clip.frame_rate,
        "frame_time": clip.frame_time,
        "names": np.array(skeleton.names, np.str_),
        "parents": np.array(skeleton.parents, np.int32),
        "offsets": skeleton.offsets,
        "end_sites": skeleton.end_sites,
        "end_site_joints": np.array(skeleton.end_site_joints, np.int32),
        "channel_names": np.array([" ".join(c) for c in skeleton.channels], np.str_),
        "axes": skeleton.axes,
        "unit": clip.unit,
        "metadata": json.dumps(dict(clip.metadata), sort_keys=True),
    }
    if clip.channels is not None:
        arrays["channels"] = clip.channels
    return npz.pack(arrays | _pack_take_data(clip))


def _pack_take_data(clip: Clip) -> dict[str, npt.ArrayLike]:
    """Return the arrays of the take data that this clip has."""
    header, skeleton, take_data = clip.header, clip.skeleton, clip.take_data
    arrays: dict[str, npt.ArrayLike] = {}
    if skeleton.has_rest:
        arrays["rest"] = skeleton.rest
    if skeleton.hinges:
        hinges = skeleton.hinges
        arrays |= {
            "hinge_joints": np.array(hinges.joints, np.int32),
            "hinge_axes": hinges.axes,
            "hinge_limits": hinges.limits,
            "hinge_slides": hinges.slides.astype(np.uint8),
            "hinge_names": np.array(hinges.names, np.str_),
        }
    if skeleton.is_scaled:
        arrays["joint_scales"] = skeleton.scales
    if take_data.scales is not None:
        arrays |= {"scales": take_data.scales, "scaled_joints": np.array(header.scaled_joints)}
    if take_data.times is not None:
        arrays["times"] = take_data.times
    if header.start_time:
        arrays["start_time"] = header.start_time
    for name in ("loop", "interpolated"):
        if getattr(header, name):
            arrays[name] = 1
    if (header.up, header.handedness) != ("y", "right"):
        arrays |= {"up": header.up, "handedness": header.handedness}
    if take_data.valid is not None:
        arrays["valid"] = take_data.valid.astype(np.uint8)
    heads = []
    for i, (name, track) in enumerate(take_data.tracks.items()):
        fields = ("kind", "frame_time", "start", "bound", "unit")
        heads.append({"name": name} | {field: getattr(track, field) for field in fields})
        labels = track.kind == "label"
        arrays[f"track{i}"] = json.dumps(track.values) if labels else track.values * 1.0
        if track.times is not None:
            arrays[f"track{i}_times"] = track.times
    return arrays | ({"tracks": json.dumps(heads)} if heads else {})


def _read_take_data(arrays: npz.Arrays) -> TakeData:
    valid = arrays.numbers("valid", [], kinds="iufb").astype(np.bool_)
    tracks = {}
    for i, head in enumerate(_read_json(arrays, "tracks", list)):
        fields = head if is_object(head) else {}
        with convert_errors((OverflowError, ValueError), "tracks"):
            name = get_member(fields, "name", str, f"track{i}")
            tracks[name] = _read_track(arrays, f"track{i}", fields)
    return TakeData(
        _read_optional(arrays, "scales"),
        _read_optional(arrays, "times"),
        valid if "valid" in arrays else None,
        tracks,
    )


def _read_track(arrays: npz.Arrays, name: str, fields: JsonObject) -> Track:
    kind, is_even = get_member(fields, "kind", str, name), fields.get("frame_time") is not None
    return Track(
        kind,
        _read_json(arrays, name, list) if kind == "label" else arrays.numbers(name),
        get_member(fields, "frame_time", float, name) if is_even else None,
        get_member(fields, "start", float, name),
        _read_optional(arrays, f"{name}_times"),
        get_member(fields, "bound", float, name),
        get_member(fields, "unit", str, name),
    )


def _read_optional(arrays: npz.Arrays, name: str) -> F64 | None:
    return arrays.numbers(name) if name in arrays else None


def _read_rotations(arrays: npz.Arrays) -> F64:
    rotations = arrays.numbers("rotations")
    if rotations.ndim != 3 or rotations.shape[2] != 4:
        raise CorruptionError(f"expected rotations of shape (T, J, 4), got {rotations.shape}")
    order = "".join(arrays.texts("quaternion_order", [XYZW])).lower()
    if order not in (XYZW, WXYZ):
        raise CorruptionError(f"quaternion_order must be {XYZW} or {WXYZ}, got {order[:40]!r}")
    return np.roll(rotations, -1, axis=2) if order == WXYZ else rotations


def _read_skeleton(arrays: npz.Arrays, joints: int, meters: float) -> Skeleton:
    if joints > MAX_JOINTS:
        raise CorruptionError(f"a skeleton must have 1 to {MAX_JOINTS} joints, got {joints}")
    return Skeleton(
        tuple(arrays.texts("names", [f"joint{j}" for j in range(joints)])),
        arrays.integers("parents"),
        arrays.numbers("offsets") * meters,
        arrays.numbers("end_sites", np.zeros((0, 3))) * meters,
        arrays.integers("end_site_joints", [], kinds="iuf"),
        tuple(tuple(layout.split()) for layout in arrays.texts("channel_names")),
        arrays.numbers("axes", np.zeros((0, 4))),
        arrays.numbers("rest", np.zeros((0, 4))),
        arrays.numbers("joint_scales", np.zeros((0, 3))),
        _read_hinges(arrays),
    )


def _read_hinges(arrays: npz.Arrays) -> Hinges | None:
    if "hinge_joints" not in arrays:
        return None
    return Hinges(
        arrays.integers("hinge_joints"),
        arrays.numbers("hinge_axes"),
        arrays.numbers("hinge_limits", np.zeros((0, 2))),
        arrays.numbers("hinge_slides", [], kinds="iufb").astype(np.bool_),
        tuple(arrays.texts("hinge_names")),
    )


def _read_json(arrays: npz.Arrays, name: str, kind: type[T]) -> T:
    """Return the JSON value of this name, or an empty one if it is missing."""
    if name not in arrays:
        return kind()
    with convert_errors((json.JSONDecodeError, RecursionError), f"{name}"):
        value: object = json.loads("".join(arrays.texts(name)))
    if not isinstance(value, kind):
        raise CorruptionError(f"{name}: not {'an object' if kind is dict else 'a list'}")
    return value
