"""Derive clips from others: slice, resample, retime, close to a loop, mirror, concatenate.

The functions implement the methods of `Clip`, which describe them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from mocpack.common.arguments import check_array, check_number
from mocpack.common.arrays import F64, I64
from mocpack.errors import UsageError
from mocpack.model import kinematics, mirroring, rotations
from mocpack.model.header import (
    ClipHeader,
    check_frames,
    concatenate_take_data,
    pose_header,
    sample_take_data,
    slice_header,
    slice_take_data,
)
from mocpack.model.rotations import as_rotvec, conjugate, from_rotvec, multiply, slerp
from mocpack.model.skeleton import DEFAULT_ROOT
from mocpack.model.take_data import TakeData

if TYPE_CHECKING:
    from mocpack.model.clip import Clip

C = TypeVar("C", bound="Clip")

AXES = "xyz"
MAX_RESAMPLED_POSES = 1 << 28  # joint poses, 9 GB
SAME_FIELDS = ("skeleton", "frame_time", "translated_joints", "scaled_joints")


def cut_frames(clip: C, start: int, stop: int) -> C:
    """Return frames `start` to `stop`, half-open."""
    check_frames(start, stop, clip.frame_count)
    return replace(
        clip,
        header=slice_header(clip.header, start, stop, clip.take_data),
        rotations=clip.rotations[start:stop],
        translations=clip.translations[start:stop],
        channels=None if clip.channels is None else clip.channels[start:stop],
        take_data=slice_take_data(clip.take_data, clip.header, start, stop),
    )


def keep_every(clip: C, step: int) -> C:
    """Return every `step`-th frame; the frame time is multiplied by `step`."""
    at = np.arange(0, clip.frame_count, step)
    frame_time = clip.header.frame_time * step
    return replace(
        clip,
        header=replace(clip.header, frame_count=len(at), frame_time=frame_time),
        rotations=clip.rotations[at],
        translations=clip.translations[at],
        channels=None if clip.channels is None else clip.channels[at],
        take_data=clip.take_data.with_frame_time(clip.frame_time).at(at),
    )


def keep_joints(clip: C, joints: Sequence[str | int]) -> C:
    """Return the motion of some joints, by name or index, and of their ancestors."""
    header = clip.header
    kept = header.skeleton.with_ancestors(joints)
    among = set(kept)
    moving = [m for m, j in enumerate(header.translated_joints) if j in among]
    scaled = [s for s, j in enumerate(header.scaled_joints) if j in among]
    return replace(
        clip,
        header=header.joints(joints),
        rotations=clip.rotations[:, kept],
        translations=clip.translations[:, moving],
        channels=None,
        take_data=clip.take_data.joints(kept, scaled) if clip.take_data else clip.take_data,
    )


def reorder_joints(clip: C, order: Sequence[int]) -> C:
    """Return the motion with its joints in another order, given as indices; parents stay first."""
    header = clip.header
    place = {joint: k for k, joint in enumerate(order)}
    moving = sorted(
        range(len(header.translated_joints)), key=lambda m: place[header.translated_joints[m]]
    )
    scaled = sorted(range(len(header.scaled_joints)), key=lambda s: place[header.scaled_joints[s]])
    return replace(
        clip,
        header=replace(
            header,
            skeleton=header.skeleton.subset(order),
            translated_joints=tuple(sorted(place[joint] for joint in header.translated_joints)),
            scaled_joints=tuple(sorted(place[joint] for joint in header.scaled_joints)),
        ),
        rotations=clip.rotations[:, list(order)],
        translations=clip.translations[:, moving],
        channels=None,
        take_data=clip.take_data.joints(order, scaled),
    )


def pose_at(clip: C, at: float) -> C:
    """Return the pose at a frame index, which may be fractional, as one frame."""
    at = check_number("at", at, 0, clip.frame_count - 1)
    header = pose_header(clip.header, at, clip.take_data.times)
    return _interpolate(clip, np.array([at]), header, sample_take_data(clip.take_data, at))


def poses_at(clip: C, at: npt.ArrayLike, frame_time: float | None = None) -> C:
    """Return the poses at frame indices `at` (N,), which may be fractional, at even times."""
    places = np.asarray(check_array("at", at, error=UsageError), np.float64)
    if places.ndim != 1 or not len(places) or np.isnan(places).any():
        raise UsageError(
            f"at must be frame indices of shape (N,) with N at least 1, got {at!r:.80}"
        )
    if frame_time is not None:
        check_number("frame_time", frame_time, 1e-6, 1e6)
    places = np.clip(places, 0, clip.frame_count - 1)
    frame_time = frame_time or clip.frame_time
    header = replace(clip.header, frame_count=len(places), frame_time=frame_time)
    if frame_time != clip.frame_time:
        clip = replace(clip, take_data=clip.take_data.with_frame_time(clip.frame_time))
    return _interpolate(clip, places, header)


def _interpolate(clip: C, at: F64, header: ClipHeader, take_data: TakeData | None = None) -> C:
    """Return the poses at frame indices `at` (N,) with a header and, by default, their own data."""
    first = at.astype(np.intp)
    last = np.minimum(first + 1, clip.frame_count - 1)
    t = at - first
    moved = t[:, np.newaxis, np.newaxis]
    # slerp is faster with one weight for all frames
    share = float(t[0]) if (t == t[0]).all() else t[:, np.newaxis]
    rotations = np.asarray(clip.rotations)
    return replace(
        clip,
        header=header,
        rotations=slerp(rotations[first], rotations[last], share),
        translations=(1 - moved) * clip.translations[first] + moved * clip.translations[last],
        channels=None,
        take_data=clip.take_data.between(first, last, t) if take_data is None else take_data,
    )


def resample(clip: C, fps: float) -> C:
    """Return the motion at another frame rate; the first frame keeps its time."""
    check_number("fps", fps, 1e-6, 1e6)
    span = float(clip.times[-1] - clip.times[0])
    count = int(span * fps + 1e-6) + 1
    joints = len(clip.header.skeleton)
    if count * joints > MAX_RESAMPLED_POSES:
        raise UsageError(
            f"fps={fps:g} gives {count} frames of {joints} joints; "
            f"at most {MAX_RESAMPLED_POSES} joint poses are allowed"
        )
    times = clip.header.start_time + np.arange(count) / fps
    at = np.interp(times, clip.times, np.arange(clip.frame_count))
    return poses_at(clip, at, 1 / fps)


def change_speed(clip: C, speed: float) -> C:
    """Return the motion played at `speed` times its own, at the same frame rate."""
    check_number("speed", speed, 1e-3, 1e3)
    start = clip.header.start_time
    timed = clip.take_data.with_frame_time(clip.frame_time)
    tracks = {name: track.change_speed(start, speed) for name, track in timed.tracks.items()}
    times = None if timed.times is None else start + (timed.times - start) / speed
    header = replace(clip.header, frame_time=clip.frame_time / speed)
    take_data = replace(timed, times=times, tracks=tracks)
    return resample(replace(clip, header=header, take_data=take_data), clip.frame_rate)


def close_loop(clip: C) -> C:
    """Return the motion with its ends joined: their difference is spread evenly over all frames."""
    if clip.frame_count < 2:
        raise UsageError(f"a loop needs at least 2 frames, got {clip.frame_count}")
    share = (0.5 - (clip.times - clip.times[0]) / clip.duration)[:, np.newaxis, np.newaxis]
    # The last step, once more, leads to the pose that the first frame should have.
    step = clip.frame_time / float(clip.times[-1] - clip.times[-2])
    turned = np.asarray(clip.rotations)
    turn = as_rotvec(multiply(conjugate(turned[-2]), turned[-1]))
    after = multiply(turned[-1], from_rotvec(step * turn))
    gap = as_rotvec(multiply(conjugate(turned[0]), after))
    take_data, scales = clip.take_data, clip.take_data.scales
    if scales is not None:
        take_data = replace(take_data, scales=_join_ends(scales, step, share))
    return replace(
        clip,
        header=replace(clip.header, loop=True),
        rotations=multiply(turned, from_rotvec(share * gap)),
        translations=_join_ends(clip.translations, step, share),
        channels=None,
        take_data=take_data,
    )


def _join_ends(values: F64, step: float, share: F64) -> F64:
    """Return values (T, N, 3) with the difference of their ends spread over all frames."""
    after = values[-1] + step * (values[-1] - values[-2])
    return np.asarray(values + share * (after - values[0]))


def mirror(
    clip: C,
    axis: str | None,
    pairs: Sequence[tuple[str | int, str | int]] | None,
    tolerance: float,
) -> C:
    """Return the motion reflected along `axis`, with left and right joints exchanged."""
    if axis is not None and axis not in tuple(AXES):
        raise UsageError(f"axis must be one of x, y, z, got {axis!r}")
    check_number("tolerance", tolerance, 0)
    skeleton, translated = clip.header.skeleton, clip.header.translated_joints
    partner = mirroring.mirror_partners(skeleton, pairs)
    side = AXES.index(axis) if axis is not None else _find_side_axis(clip, partner)
    rotations, translations = mirroring.mirror_pose(
        skeleton,
        np.asarray(clip.rotations),
        np.asarray(clip.translations),
        translated,
        partner,
        side,
        tolerance,
    )
    return replace(
        clip,
        rotations=rotations,
        translations=translations,
        channels=None,
        take_data=_swap_take_data(clip, partner),
    )


def bake_scales(clip: C) -> C:
    """Return the motion without scales: bones have the lengths that the scales give them.

    Constant uniform scales change lengths only. Other scales make every joint a translated joint,
    and end sites get the mean size of their joint in the first frame.
    """
    header, skeleton = clip.header, clip.header.skeleton
    if not header.is_scaled:
        return clip
    if header.has_uniform_scales:
        sizes = np.array(skeleton.scales[:, 0])
        for j, parent in enumerate(skeleton.parents):
            sizes[j] *= sizes[parent] if parent >= 0 else 1.0
        above = [skeleton.parents[j] for j in header.translated_joints]
        lengths = np.array([sizes[parent] if parent >= 0 else 1.0 for parent in above])
        places = clip.translations * lengths[:, np.newaxis]
        header = replace(header, skeleton=skeleton.resize(sizes))
        return replace(clip, header=header, translations=places)
    pose = clip.rotations, clip.translations, header.translated_joints
    positions, matrices = kinematics.forward_kinematics_scaled(skeleton, *pose, clip.scales)
    sizes = np.cbrt(np.abs(np.linalg.det(matrices[0])))
    world = kinematics.forward_kinematics(skeleton, *pose)[1]
    places = positions.copy()
    for j, parent in enumerate(skeleton.parents):
        if parent >= 0:
            apart = positions[:, j] - positions[:, parent]
            places[:, j] = rotations.rotate(rotations.conjugate(world[:, parent]), apart)
    resized = replace(skeleton.resize(sizes), channels=(DEFAULT_ROOT,) * len(skeleton))
    every = tuple(range(len(skeleton)))
    header = replace(header, skeleton=resized, translated_joints=every, scaled_joints=())
    return replace(
        clip, header=header, translations=places, take_data=replace(clip.take_data, scales=None)
    )


def concatenate(clips: Sequence[C]) -> C:
    """Concatenate clips, each one frame after the end of the one before."""
    first = clips[0]
    for k, other in enumerate(clips[1:], 2):
        for name in SAME_FIELDS:
            if getattr(other.header, name) != getattr(first.header, name):
                raise UsageError(f"clip {k} of {len(clips)} has a different {name} than the first")
    channels = [c.channels for c in clips if c.channels is not None]
    durations = [c.duration for c in clips]
    begins = first.header.start_time + np.cumsum([0.0, *durations[:-1]])
    shifts = [b - c.header.start_time for b, c in zip(begins, clips, strict=True)]
    take_data = concatenate_take_data(
        [c.take_data for c in clips], [c.header for c in clips], shifts
    )
    return replace(
        first,
        header=replace(first.header, frame_count=sum(map(len, clips)), loop=False),
        rotations=np.concatenate([c.rotations for c in clips]),
        translations=np.concatenate([c.translations for c in clips]),
        channels=np.concatenate(channels) if len(channels) == len(clips) else None,
        take_data=take_data,
    )


def _find_side_axis(clip: Clip, partner: I64) -> int:
    """Return the axis that separates left and right best: at rest, or for markers in frame 0."""
    skeleton = clip.header.skeleton
    if not skeleton.is_points:
        return mirroring.find_side_axis(mirroring.rest_world(skeleton)[0], partner)
    positions, _ = kinematics.forward_kinematics(
        skeleton, clip.rotations[:1], clip.translations[:1], clip.header.translated_joints
    )
    return mirroring.find_side_axis(positions[0], partner)


def _swap_take_data(clip: Clip, partner: I64) -> TakeData:
    """Return the take data with joints exchanged by their mirror partners."""
    scaled = {joint: s for s, joint in enumerate(clip.header.scaled_joints)}
    if any(int(partner[joint]) not in scaled for joint in scaled):
        raise UsageError(
            "cannot mirror: a joint has an animated scale, but its mirror image has none"
        )
    columns = [scaled[int(partner[joint])] for joint in scaled]
    take_data = clip.take_data
    return TakeData(
        None if take_data.scales is None else take_data.scales[:, columns],
        take_data.times,
        None if take_data.valid is None else take_data.valid[:, partner],
        take_data.tracks,
    )
