"""Meet a target error, ratio or size with any codec.

A codec with error bounds gets them; for any other, its quality parameter is searched. Every file is
decoded and measured before it is returned; a file that misses its target is never returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mocpack import progress
from mocpack.arguments import check_number, is_finite
from mocpack.arrays import F64
from mocpack.clip import AnyClip, Clip, ClipHeader, VertexClip, measure_error
from mocpack.codec import (
    Codec,
    Encoded,
)
from mocpack.codec_clip import drop_take_data, restore_take_data
from mocpack.container import (
    Chunk,
    Errors,
    FileContents,
    JointErrors,
    Reader,
    pack,
    pack_take_data,
)
from mocpack.dofs import moving_dofs, to_dofs
from mocpack.errors import BoundError, UsageError
from mocpack.kinematics import SHELL_RADIUS_M, MotionError
from mocpack.rate.joint_bounds import JointBounds, Patterns, match_joints
from mocpack.rate.root_search import TARGET_TOLERANCE, ParameterScale, search_root
from mocpack.registry import non_default_params
from mocpack.source import BytesSource
from mocpack.take_data import WIDTHS, TakeData
from mocpack.units import Length, format_angles, format_lengths, format_sizes

WINDOW_FRAMES = 4096  # measured at once
MIN_BOUND_USE = 0.9  # retry a scaled clip if it uses less of its bound than this
MAX_SCALED_TRIES = 6
# tried in turn, times the bound that would fit if errors between frames were proportional
BOUND_FACTORS = (1.0, 0.9, 0.75, 0.6, 0.4, 0.2, 0.1)
EXPECTED_TRIES = 8  # of a parameter search, for the progress display
UNREACHABLE_EXCESS = 2.0  # logarithm of the excess for settings that cannot encode the clip
SCALE_ERROR_SHARE = 0.1  # share of the error bound that rounding of scales may use
MIN_SMALL_TURN_COSINE = math.cos(math.radians(5))  # 10° per frame
MAX_SAMPLES_BETWEEN = 12  # samples between frames of clips with larger rotations


@dataclass(frozen=True)
class Target:
    """The target of a file: at most one of these, except that `max_angle` and `max_error` combine.

    Attributes
    ----------
    max_error, mean_error : float, meters
        Maximum error; maximum of the mean over frames and joints.
    max_angle : float, radians
        Maximum error of every hinge angle, and of the local rotation of other joints.
    ratio : float
        Size of float32 of the moving channels, divided by the file size.
    size : int, bytes
        Maximum size of the whole file.
    joint_errors : tuple of (pattern, Length or Angle)
        Bounds of the joints whose names match, in place of `max_error` and `max_angle`; later ones
        replace earlier ones. With `ratio` or `size`, the search bounds the other joints.
    """

    max_error: float | None = None
    mean_error: float | None = None
    ratio: float | None = None
    size: int | None = None
    max_angle: float | None = None
    joint_errors: Patterns = ()

    def __post_init__(self) -> None:
        if self.ratio is not None and (not is_finite(self.ratio) or self.ratio <= 0):
            raise UsageError(f"ratio must be positive and finite, got {_format_value(self.ratio)}")
        if self.ratio is not None:
            check_number("ratio", self.ratio, 1e-6, 1e12)
        given = [n for n in ("max_error", "mean_error", "ratio", "size") if getattr(self, n)]
        if len(given) > 1:
            raise UsageError(f"give one target, got {' and '.join(given)}")
        if self.max_angle and given and given != ["max_error"]:
            raise UsageError(f"max_angle can be combined with max_error only, got {given[0]}")
        if self.joint_errors and self.mean_error:
            raise UsageError("joint_errors bound the largest error: give max_error, not mean_error")

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def bounds(self, clip: AnyClip) -> Bounds:
        """Return the error bounds of a file with this target; `max_error` must be set."""
        if not self.joint_errors:
            return Bounds(self.max_error, self.max_angle)
        assert isinstance(clip, Clip)
        assert self.max_error is not None
        own = match_joints(self.joint_errors, clip.skeleton)
        joints = own.with_defaults(self.max_error, self.max_angle)
        angle = float(joints.angles.max()) if joints.angles.all() else None
        return Bounds(float(joints.errors.max()), angle, None if joints.is_uniform else joints)


@dataclass(frozen=True)
class Bounds:
    """The error bounds of a file.

    Attributes
    ----------
    max_error : float or None
        In meters, of all joints.
    max_angle : float or None
        In radians, of all joints; None if a joint has none.
    joints : JointBounds or None
        The bounds of each joint, if they differ.
    """

    max_error: float | None = None
    max_angle: float | None = None
    joints: JointBounds | None = None


NO_BOUNDS = Bounds()


@dataclass(frozen=True)
class Attempt:
    """A file, its codec and its measured errors.

    Attributes
    ----------
    data : bytes
        The whole file.
    errors : Errors
        Measured on the decoded file.
    codec : Codec
        The codec with the parameters of this file.
    payload_size : int
        Bytes of the codec's payload.
    """

    data: bytes
    errors: Errors
    codec: Codec
    payload_size: int


@dataclass(frozen=True)
class PreparedClip:
    """A clip prepared for encoding: what the codec encodes, and the chunks for the rest.

    Attributes
    ----------
    clip : Clip or VertexClip
    codec_clip : Clip or VertexClip
        The clip that the codec encodes.
    chunks : sequence of (tag, body)
        Chunks of the take data.
    take_data : TakeData
        The take data as decoded from these chunks.
    """

    clip: AnyClip
    codec_clip: AnyClip
    chunks: Sequence[Chunk] = ()
    take_data: TakeData = field(default_factory=TakeData)

    @property
    def is_scaled(self) -> bool:
        """Whether joints have scales."""
        return isinstance(self.clip, Clip) and self.clip.header.is_scaled

    @property
    def changes_lengths(self) -> bool:
        """Whether lengths in the codec's clip differ from those of the original."""
        return self.is_scaled or (isinstance(self.clip, Clip) and len(self.clip.skeleton.roots) > 1)

    @property
    def is_interpolated(self) -> bool:
        """Whether the error bound also applies between frames."""
        return isinstance(self.clip, Clip) and self.clip.header.interpolated


def prepare_clip(clip: AnyClip, scale_bound: float | None = None) -> PreparedClip:
    """Split a clip into the codec's clip and chunks of take data.

    Animated scales are stored exactly, or rounded so that the error is a small share of
    `scale_bound`, in meters.
    """
    if isinstance(clip, VertexClip):
        return PreparedClip(clip, clip)
    header = clip.header
    step = _scale_step(clip, scale_bound) if scale_bound and header.scaled_joints else 0.0
    chunks = pack_take_data(header, clip.take_data, step)
    take_data = _decode_take_data(header, chunks) if chunks else TakeData()
    return PreparedClip(clip, drop_take_data(clip), chunks, take_data)


def _decode_take_data(header: ClipHeader, chunks: Sequence[Chunk]) -> TakeData:
    """Return the take data that a reader decodes from chunks."""
    file = pack(FileContents(header, "prepared", 1, {}, b"", chunks=chunks))
    return Reader(BytesSource(file)).take_data


def encode_to_target(
    clip: AnyClip, codec: Codec, target: Target, *, effort: str | None = None
) -> Attempt:
    """Return the smallest file within an error, or the file with the smallest error within a size.

    Without a target, the codec uses its own parameters. `effort` replaces that of the codec.
    """
    if effort is not None:
        codec = codec.with_effort(effort)
    if target.joint_errors and isinstance(clip, VertexClip):
        raise UsageError("joint_errors apply to skeletons, got a vertex animation")
    promised = codec.error_bound
    scale_bound = target.max_error or target.mean_error or (None if target else promised)
    lengths = [float(bound) for _, bound in target.joint_errors if isinstance(bound, Length)]
    prepared = prepare_clip(clip, min([scale_bound, *lengths]) if scale_bound else None)
    if not target and promised and (prepared.changes_lengths or prepared.is_interpolated):
        # the codec bounds the error of its own clip; the file must bound that of the original
        return _encode_within_error(prepared, codec, Target(max_error=promised))
    if not target:
        return attempt(prepared, codec)
    if target.max_angle and isinstance(clip, VertexClip):
        raise UsageError("max_angle applies to skeletons, got a vertex animation")
    if target.max_angle or (target.joint_errors and not target.size and not target.ratio):
        target = effective_bounds(codec, target)
        if target.joint_errors and not target.max_error:
            raise UsageError(f"joint_errors with codec {codec.codec_id} need max_error as well")
    if target.max_error or target.mean_error or target.max_angle:
        return _encode_within_error(prepared, codec, target)
    return _encode_within_size(prepared, codec, target)


def effective_bounds(codec: Codec, target: Target) -> Target:
    """Return the target, with the codec's own `max_error` if it has no error bound."""
    bounded = target.max_error or target.mean_error
    return target if bounded else replace(target, max_error=codec.error_bound)


def attempt(
    prepared: PreparedClip | AnyClip,
    codec: Codec,
    bounds: Bounds = NO_BOUNDS,
) -> Attempt:
    """Encode a clip, decode the result, measure it, and pack the file."""
    prepared = prepared if isinstance(prepared, PreparedClip) else prepare_clip(prepared)
    with progress.stage():
        made = round_trip(prepared, codec)
    if bounds.joints is None:
        own = None if prepared.changes_lengths or prepared.is_interpolated else codec.error_bound
        bounds = Bounds(bounds.max_error or own, bounds.max_angle or codec.angle_bound)
    known = None if prepared.changes_lengths else made.error
    errors = measure(prepared.clip, made.decoded, bounds, known)
    data = pack_file(prepared, codec, made.payload, errors)
    return Attempt(data, errors, codec, len(made.payload))


def round_trip(prepared: PreparedClip, codec: Codec) -> Encoded:
    """Encode a clip and decode the result.

    A payload that the decoder rejects is a `BoundError`.
    """
    made = codec.encode_verified(prepared.codec_clip)
    if not isinstance(prepared.clip, Clip) or prepared.codec_clip is prepared.clip:
        return made
    return replace(
        made, decoded=restore_take_data(made.decoded, prepared.clip.header, prepared.take_data)
    )


def pack_file(prepared: PreparedClip, codec: Codec, payload: bytes, errors: Errors) -> bytes:
    """Return the .mocp file of a payload."""
    params = non_default_params(codec, without=codec.encoder_params)
    needed, version, header = codec.needed_params(), codec.bitstream_version, prepared.clip.header
    return pack(
        FileContents(
            header, codec.codec_id, version, params, payload, errors, needed, prepared.chunks
        )
    )


def measure(
    clip: AnyClip,
    decoded: AnyClip,
    bounds: Bounds = NO_BOUNDS,
    known: MotionError | None = None,
) -> Errors:
    """Measure the errors of `decoded`: maximum, mean, RMS and 99th percentile.

    For interpolated clips, the maximum includes poses between frames. Angles, and the errors of
    each joint, are measured if they have bounds. `known` is the error at frames, if the encoder has
    measured it.
    """
    distances = _distances(clip, decoded)
    joints = None
    if bounds.joints is not None:
        assert isinstance(clip, Clip)
        assert isinstance(decoded, Clip)
        joints = _measure_joints(clip, decoded, bounds.joints)
        largest = float(joints.max.max())
    elif isinstance(clip, Clip) and isinstance(decoded, Clip):
        promised = measure_error(clip, decoded) if known is None else known
        largest = promised.max
        if clip.header.interpolated:
            largest = max(largest, _error_between(clip, decoded, promised.frames))
    else:
        largest = float(distances.max())
    mean, rms = float(distances.mean()), float(np.sqrt(np.mean(distances**2)))
    p99 = float(np.percentile(distances, 99, overwrite_input=True))
    angle = None
    if bounds.max_angle is not None and isinstance(clip, Clip) and isinstance(decoded, Clip):
        # imported here, so that reading files does not load the metrics
        from mocpack.metrics.angles import largest_angle

        angle = largest_angle(clip, decoded)
    return Errors(bounds.max_error, largest, mean, rms, p99, bounds.max_angle, angle, joints=joints)


def _measure_joints(clip: Clip, decoded: Clip, bounds: JointBounds) -> JointErrors:
    """Measure the errors of each joint, for interpolated clips also between frames."""
    from mocpack.metrics.angles import joint_angles

    largest = measure_error(clip, decoded).joints
    if clip.header.interpolated:
        largest = np.maximum(largest, _joint_errors_between(clip, decoded))
    return JointErrors(bounds.errors, largest, bounds.angles, joint_angles(clip, decoded))


def _error_between(clip: Clip, decoded: Clip, at_frames: F64) -> float:
    """Return the largest error of interpolated poses between frames.

    `at_frames` (T,) is the error of each frame.
    """
    found = _errors_between(clip, decoded, at_frames, lambda a, b: measure_error(a, b).frames)
    return float(found.max(initial=0.0))


def _joint_errors_between(clip: Clip, decoded: Clip) -> F64:
    """Return the largest error (J,) of each joint in interpolated poses between frames."""
    from mocpack.metrics.pair import SkeletonPair

    windows = zip(_windows(clip), _windows(decoded), strict=True)
    at_frames = np.concatenate([SkeletonPair(a, b).displacements for a, b in windows])
    return _errors_between(clip, decoded, at_frames, lambda a, b: SkeletonPair(a, b).displacements)


def _errors_between(
    clip: Clip, decoded: Clip, at_frames: F64, errors_of: Callable[[Clip, Clip], F64]
) -> F64:
    """Return the maximum over time of errors between frames.

    `at_frames` (T, …) are the errors of each frame, as `errors_of` returns them. One sample per gap
    is enough if joints rotate little.
    """
    turned = np.abs((clip.rotations[1:] * clip.rotations[:-1]).sum(-1))
    parts = MAX_SAMPLES_BETWEEN if turned.min(initial=1.0) < MIN_SMALL_TURN_COSINE else 2
    largest, start = np.zeros(at_frames.shape[1:]), 0
    for window, made in zip(_windows(clip, overlap=1), _windows(decoded, overlap=1), strict=True):
        gaps = window.frame_count - 1
        if gaps < 1:
            continue
        ends = at_frames[start : start + gaps + 1]
        start += gaps
        gap = np.empty((gaps, parts + 1, *at_frames.shape[1:]))
        gap[:, 0], gap[:, -1] = ends[:-1], ends[1:]
        for part in range(1, parts):
            at = np.arange(gaps) + part / parts
            gap[:, part] = errors_of(window.poses_at(at), made.poses_at(at))
        inside = gap[:, 1:-1]
        # a parabola exceeds three of its points by at most an eighth of the second difference
        bend = np.maximum(2 * inside - gap[:, :-2] - gap[:, 2:], 0)
        largest = np.maximum(largest, (inside + bend / 8).max(axis=(0, 1)))
    return largest


def _distances(clip: AnyClip, decoded: AnyClip) -> F64:
    """Return the distance (T, J) of each joint or vertex from its original position.

    Computed in windows, to limit memory.
    """
    found = []
    for pair in zip(_windows(clip), _windows(decoded), strict=True):
        a, b = (p.vertices if isinstance(p, VertexClip) else p.positions() for p in pair)
        found.append(np.linalg.norm(a - b, axis=-1))
    return np.concatenate(found)


def _windows(clip: AnyClip, *, overlap: int = 0) -> Iterator[Any]:
    """Yield a clip in windows of `WINDOW_FRAMES` frames, plus `overlap` frames."""
    if clip.frame_count <= WINDOW_FRAMES:
        yield clip
        return
    for start in range(0, clip.frame_count, WINDOW_FRAMES):
        yield clip.frames(start, min(start + WINDOW_FRAMES + overlap, clip.frame_count))


def raw_size(clip: AnyClip) -> int:
    """Return the size of the moving channels as float32 in bytes, the baseline of ratios.

    Numbers in tracks count 4 bytes, flags and labels 1 byte.
    """
    size = 4 * clip.frame_count * moving_channels(clip)
    if isinstance(clip, VertexClip):
        return size
    exact = ("flag", "label")
    tracks = clip.tracks.values()
    return size + sum(len(t) * (1 if t.kind in exact else 4 * WIDTHS[t.kind]) for t in tracks)


def moving_channels(clip: AnyClip) -> int:
    """Return the number of moving channels, of the source's numbers if the clip has them."""
    if isinstance(clip, VertexClip):
        return 3 * clip.header.vertex_count
    scales = clip.take_data.scales
    scaled = 0 if scales is None else int((np.ptp(scales, axis=0) > 0).sum())
    if clip.channels is not None:
        moving = moving_dofs(clip.channels)
    else:
        # windows overlap by a frame, to detect motion between them
        windows = _windows(drop_take_data(clip), overlap=1)
        moving = np.any([moving_dofs(to_dofs(window)) for window in windows], axis=0)
    return max(1, int(moving.sum()) + scaled)


def _encode_within_error(prepared: PreparedClip, codec: Codec, target: Target) -> Attempt:
    bounds = target.bounds(prepared.clip)
    bound = bounds.max_error or target.mean_error or math.inf

    def error(made: Attempt) -> float:
        joints = made.errors.joints
        if joints is not None:  # the largest share that a joint uses of its bound
            return bound * float((joints.max / joints.declared).max())
        found = made.errors.mean if target.mean_error else made.errors.max
        assert found is not None
        return found

    if codec.keeps_bounds:
        best = _encode_with_bounds(prepared, codec, bounds, target.mean_error, error)
    elif codec.quality is not None:
        starts = codec.alternatives()
        progress.expect(len(starts))
        made = []
        for start in starts:
            with progress.stage():
                made.append(
                    _search_quality(
                        prepared,
                        start,
                        lambda made: max(_log_excess(error(made), bound), _angle_log_excess(made)),
                        finest=False,
                        bounds_of=lambda changed: (changed, bounds),
                    )
                )
        best = min(made, key=lambda one: (_excess(one, error(one), bound), _size(one)))
    else:
        best = attempt(prepared, codec, bounds)
    if not error(best) <= bound:
        where = ""
        wanted, found = format_lengths(bound, error(best))
        if best.errors.joints is not None and isinstance(prepared.clip, Clip):
            joint = best.errors.joints.worst
            where = f"joint {prepared.clip.skeleton.names[joint]!r} of "
            wanted, found = format_lengths(
                float(best.errors.joints.declared[joint]), float(best.errors.joints.max[joint])
            )
        raise BoundError(
            f"{codec.codec_id} cannot encode {where}this clip within {wanted}; "
            f"the smallest error is {found}"
        )
    if _angle_log_excess(best) > 0:
        wanted, found = format_angles(*_worst_angle(best.errors))
        raise BoundError(
            f"{codec.codec_id} cannot encode this clip's angles within {wanted}; "
            f"the smallest error is {found}"
        )
    return best


def _worst_angle(errors: Errors) -> tuple[float, float]:
    """Return the bound and the error of the angle that uses most of its bound."""
    if errors.joints is None:
        return errors.declared_angle or math.inf, errors.max_angle or 0.0
    bounds, found = errors.joints.declared_angle, errors.joints.max_angle
    bounds = np.where(bounds > 0, bounds, math.inf)
    worst = int((found / bounds).argmax())
    return float(bounds[worst]), float(found[worst])


def _angle_log_excess(made: Attempt) -> float:
    """Return the logarithm of the angle error over its bound; at most 0 within it."""
    bound, found = _worst_angle(made.errors)
    return _log_excess(found, bound)


def _excess(made: Attempt, error: float, bound: float) -> float:
    """Return how far the errors of a file exceed their bounds; 0 within them."""
    return max(0.0, error - bound, _angle_log_excess(made))


def _with_bounds(prepared: PreparedClip, codec: Codec, bounds: Bounds, share: float = 1.0) -> Codec:
    """Return the codec that keeps these bounds, or a share of those on lengths."""
    bound = None if bounds.max_error is None else share * bounds.max_error
    if bounds.joints is None:
        return codec.with_bounds(max_error=bound, max_angle=bounds.max_angle)
    if not codec.keeps_joint_bounds:
        raise UsageError(f"{codec.codec_id} does not support joint_errors")
    # the codec's skeleton has one more joint if there are several roots
    assert isinstance(prepared.codec_clip, Clip)
    added = len(prepared.codec_clip.skeleton) - len(bounds.joints.errors)
    errors, angles = bounds.joints.errors, bounds.joints.angles
    return codec.with_bounds(
        max_error=share * bounds.joints.default_error,
        joint_errors=(errors.max(),) * added + tuple(share * errors),
        joint_angles=(0.0,) * added + tuple(angles),
    )


def _encode_with_bounds(
    prepared: PreparedClip,
    codec: Codec,
    bounds: Bounds,
    mean_error: float | None,
    error: Callable[[Attempt], float],
) -> Attempt:
    """Encode with a codec that bounds its own error.

    The codec's bound is adjusted in several tries if scales change lengths, or if the bound also
    applies between frames.
    """
    bound = bounds.max_error or mean_error
    assert bound is not None
    tried: list[tuple[float, Attempt]] = []

    def encode_with(aim: float) -> float:
        if mean_error:
            setting = codec.with_bounds(mean_error=aim)
        else:
            setting = _with_bounds(prepared, codec, bounds, aim / bound)
        made = attempt(prepared, setting, bounds)
        tried.append((aim, made))
        return error(made)

    near, aim = MIN_BOUND_USE if prepared.is_scaled else 0.0, bound
    for _ in range(MAX_SCALED_TRIES if prepared.changes_lengths else 1):
        found = encode_with(aim)
        if near * bound <= found <= bound:
            break
        aim *= min(max(math.sqrt(MIN_BOUND_USE) * bound / max(found, 1e-300), 0.02), 10.0)
    if prepared.is_interpolated and all(error(made) > bound for _, made in tried):
        right = min(aim * bound / error(made) for aim, made in tried)
        # errors between frames vary irregularly, so small reductions are tried first
        for share in BOUND_FACTORS:
            if encode_with(share * right) <= bound:
                break
    kept = [made for _, made in tried if error(made) <= bound]
    return min(kept, key=_size) if kept else tried[-1][1]


def _scale_step(clip: Clip, bound: float) -> float:
    """Return the rounding step of scales that moves points by a small share of the bound."""
    scales = clip.take_data.scales
    assert scales is not None
    positions = clip.positions()
    reach = SHELL_RADIUS_M + float(np.linalg.norm(positions - positions[:, :1], axis=-1).max())
    below = np.zeros(len(clip.skeleton), int)
    for j, parent in enumerate(clip.skeleton.parents):
        below[j] = (below[parent] if parent >= 0 else 0) + (j in clip.header.scaled_joints)
    typical = max(float(np.median(np.abs(scales))), 1e-3)
    return 2 * SCALE_ERROR_SHARE * bound * typical / (reach * int(below.max()))


def _encode_within_size(prepared: PreparedClip, codec: Codec, target: Target) -> Attempt:
    limit = _size_limit(prepared.clip, target)
    if codec.keeps_bounds:
        codec = codec.with_bounds()
    if target.joint_errors and not codec.keeps_joint_bounds:
        raise UsageError(f"{codec.codec_id} does not support joint_errors with a size or ratio")
    if target.joint_errors and (prepared.changes_lengths or prepared.is_interpolated):
        raise UsageError(
            "joint_errors with a size or ratio need a clip with one root, without scales and "
            "without motion between frames: give max_error"
        )

    def bounds_of(changed: Codec) -> tuple[Codec, Bounds]:
        if not target.joint_errors:
            return changed, NO_BOUNDS
        own = Target(max_error=changed.error_bound, joint_errors=target.joint_errors)
        bounds = own.bounds(prepared.clip)
        return _with_bounds(prepared, changed, bounds), bounds

    if codec.quality is not None:
        best = _search_quality(
            prepared,
            codec,
            lambda made: _log_excess(len(made.data), limit),
            finest=True,
            bounds_of=bounds_of,
        )
    else:
        best = attempt(prepared, codec)
    if len(best.data) > limit:
        wanted, found = format_sizes(limit, len(best.data))
        raise BoundError(
            f"{codec.codec_id} cannot encode this clip within {wanted}; "
            f"the smallest file has {found}"
        )
    return best


def _size_limit(clip: AnyClip, target: Target) -> int:
    if target.size:
        return target.size
    assert target.ratio is not None
    limit = int(raw_size(clip) / target.ratio)
    if limit < 1:
        raise BoundError(
            f"a ratio of {target.ratio:g} is impossible: the file would be less than 1 byte"
        )
    return limit


def _search_quality(
    prepared: PreparedClip,
    codec: Codec,
    excess: Callable[[Attempt], float],
    *,
    finest: bool,
    bounds_of: Callable[[Codec], tuple[Codec, Bounds]],
) -> Attempt:
    """Return the best file whose `excess` over the target is at most 0.

    With `finest`, the finest setting (for a size target), else the smallest file (for an error
    target). If no setting meets the target, the nearest one. A setting that cannot encode the clip
    misses the target; if all are such, a `BoundError` is raised. `bounds_of` returns the codec and
    the bounds of a setting.
    """
    parameter = codec.quality
    assert parameter is not None
    progress.expect(EXPECTED_TRIES)
    scale = ParameterScale(parameter, finest=finest)
    tried: dict[float, Attempt | BoundError] = {}

    def made(place: float) -> Attempt | BoundError:
        value = scale.value(place)
        if value not in tried:
            setting = int(value) if parameter.integer else value
            changed = replace(codec, **{parameter.field: setting})
            try:
                tried[value] = attempt(prepared, *bounds_of(changed))
            except BoundError as error:
                tried[value] = error
        return tried[value]

    def excess_at(place: float) -> float:
        found = made(place)
        return UNREACHABLE_EXCESS if isinstance(found, BoundError) else excess(found)

    def is_worthwhile(kept: float, missed: float) -> bool:
        one, other = made(kept), made(missed)
        if isinstance(one, BoundError) or isinstance(other, BoundError):
            return scale.apart(kept, missed)
        bytes_apart = abs(_size(one) - _size(other))
        return bytes_apart > TARGET_TOLERANCE * _size(one) and scale.apart(kept, missed)

    start = scale.place(getattr(codec, parameter.field))
    search_root(excess_at, start, is_worthwhile=is_worthwhile)
    reached = {v: one for v, one in tried.items() if not isinstance(one, BoundError)}
    if not reached:
        raise next(error for error in tried.values() if isinstance(error, BoundError))
    good = {v: one for v, one in reached.items() if excess(one) <= 0}
    if not good:
        return min(reached.values(), key=excess)
    return good[max(good, key=scale.place)] if finest else min(good.values(), key=_size)


def _size(made: Attempt) -> int:
    return len(made.data)


def _log_excess(found: float, limit: float) -> float:
    """Return log(found / limit); 0 is exactly at the limit."""
    return math.log(max(found, 1e-300) / limit) if limit < math.inf else -math.inf


def _format_value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value!r:.80}"
