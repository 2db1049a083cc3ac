"""The arrays that golden files are compared with; tests/golden/README.md explains each."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

import mocpack
from mocpack.common.arrays import F64
from mocpack.common.source import open_source
from mocpack.container import Reader
from mocpack.model.clip import AnyClip, Clip, ClipHeader, VertexClip
from reference.keysine_integers import decode_integers
from reference.raw import read_channels

Arrays = dict[str, npt.NDArray[Any]]


def file_arrays(data: bytes, source: AnyClip) -> Arrays:
    """Return all arrays of a file of a frozen codec, and the points of the clip it was made of."""
    with mocpack.open(data) as motion:
        clip = motion.clip()
        errors = motion.errors
    found = pose_arrays(clip) | skeleton_arrays(clip)
    if isinstance(clip, Clip):
        found["points"] = points(clip)
    if isinstance(clip, Clip):
        found |= exact_arrays(Reader(open_source(data)), motion.codec_header, clip)
    if clip.header.metadata:
        found["metadata"] = np.array(json.dumps(dict(clip.header.metadata), sort_keys=True))
    if errors.joints is not None:
        joints = errors.joints
        found["joint_errors"] = np.stack([joints.declared, joints.declared_angle], axis=1)
    if errors.declared is not None:
        found["declared_error"] = np.array(errors.declared)
        found["source_points"] = points(source).astype(np.float32)
    return found


def exact_arrays(reader: Reader, header: ClipHeader, clip: Clip) -> Arrays:
    """Return the arrays of a payload that are equal on every machine."""
    payload = reader.payload.read_all()
    if reader.codec_id == "keysine":
        integers = decode_integers(payload, header)
        return {f"integers.{name}": array for name, array in integers.items()}
    if reader.codec_id == "raw":
        count = header.skeleton.channel_count
        return {"channels": read_channels(payload, header.frame_count, count)}
    return {} if clip.channels is None else {"channels": clip.channels}


def pose_arrays(clip: AnyClip) -> Arrays:
    """Return the decoded arrays of a clip of any codec."""
    if isinstance(clip, VertexClip):
        return {"vertices": clip.vertices}
    found: Arrays = {"rotations": clip.rotations, "translations": clip.translations}
    for name in ("scales", "times", "valid"):
        if getattr(clip.take_data, name) is not None:
            found[name] = getattr(clip, name)
    for i, track in enumerate(clip.take_data.tracks.values()):
        found[f"track{i}"] = np.asarray(track.values)
    if clip.skeleton.has_rest:
        found["skeleton_rest"] = clip.skeleton.rest
    if clip.skeleton.is_scaled:
        found["skeleton_scales"] = clip.skeleton.scales
    if clip.skeleton.hinges:
        found["angles"] = clip.angles
    return found


def skeleton_arrays(clip: AnyClip) -> Arrays:
    """Return the arrays of a file's skeleton or mesh."""
    if isinstance(clip, VertexClip):
        return {"triangles": clip.header.faces}
    skeleton = clip.skeleton
    found: Arrays = {
        "names": np.array(skeleton.names),
        "parents": np.array(skeleton.parents),
        "offsets": skeleton.offsets,
        "end_joints": np.array(skeleton.end_site_joints, int),
        "end_offsets": skeleton.end_sites,
        "translated_joints": np.array(clip.translated_joints),
    }
    if skeleton.hinges:
        hinges = skeleton.hinges
        found["hinge_joints"] = np.array(hinges.joints)
        found["hinge_axes"], found["hinge_limits"] = hinges.axes, hinges.limits
        found["hinge_slides"], found["hinge_names"] = hinges.slides, np.array(hinges.names)
    return found


def points(clip: Any) -> F64:
    """Return the world positions (T, J + E, 3) of joints and end sites in meters."""
    if isinstance(clip, VertexClip):
        return clip.vertices
    positions, matrices = clip.world_matrices()
    joints = list(clip.skeleton.end_site_joints)
    ends = (matrices[:, joints] @ clip.skeleton.end_sites[..., np.newaxis])[..., 0]
    return np.concatenate([positions, positions[:, joints] + ends], axis=1)
