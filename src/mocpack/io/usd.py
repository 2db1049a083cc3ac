"""Read skeletal animations of USD files (UsdSkel): .usda, .usdc and .usdz, with usd-core.

A child process reads (`usd_child.py`); `usd_write.py` writes. USD matrices act on row vectors, so
its rows are our columns. `docs/formats.md` lists what is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.choice import check_fps, list_names
from mocpack.common.json_object import Json
from mocpack.common.texts import shorten_text
from mocpack.errors import (
    CorruptionError,
    FormatError,
    InvalidClipError,
    convert_errors,
    name_errors,
)
from mocpack.io import keyed_frames, usd_child
from mocpack.io.child import Numbers, Reader, Response, motion_names, read_motion, run_reader
from mocpack.io.text import make_unique
from mocpack.model import rotations, space
from mocpack.model.clip import Clip
from mocpack.model.skeleton import MAX_JOINTS, MAX_NAME, Skeleton, default_channels
from mocpack.model.take_data import Track

MIN_MOVEMENT_M = 1e-9  # smaller deviations from the rest position are ignored
MAX_REFERENCE_ROUNDS = 16  # files that refer to files that refer to files …
WEIGHT_BOUND = 1e-4  # of blend shape weights, which range from 0 to 1
BLEND_SHAPE_PREFIX = "blendshape."  # of track names
CHANNELS = ("translation", "rotation", "scale")
WIDTHS = {"translations": 3, "rotations": 4, "scales": 3}


class UsdResponse(Response, total=False):
    """The samples of an animation and the skeleton that it moves."""

    others: list[str]  # files that are needed too; then there is nothing else
    unit: float
    up: str
    codes_per_second: float
    frame_rate: float
    blocks: list[tuple[str, str, int]]  # name, dtype, numbers
    times: list[float]  # time codes of the samples
    has_moving_ancestors: bool
    joints: list[str]  # paths of all joints
    moved: list[str]  # paths of those with an animation
    joint_names: list[str]
    skeleton: str
    shapes: list[str]


USD = Reader[UsdResponse](usd_child.__file__, "pxr", "usd", "USD", memory=4 << 30)


def list_clips(data: bytes, read_external: Callable[[str], bytes] | None = None) -> list[str]:
    """Return unique names of the animations that move something."""
    return motion_names(_run_usd_reader(data, read_external, read=False)[0], "animation")


def list_external_files(
    data: bytes, read_external: Callable[[str], bytes] | None = None
) -> list[str]:
    """Return the paths of the external files that this file refers to, directly or indirectly."""
    opened: list[str] = []

    def record_and_read(name: str) -> bytes:
        opened.append(name)
        if read_external is None:
            raise FileNotFoundError(name)
        return read_external(name)

    with suppress(FormatError):  # files that were requested count even if reading fails
        _run_usd_reader(data, record_and_read, read=False)
    return list(dict.fromkeys(opened))


def count_ignored(
    data: bytes, read_external: Callable[[str], bytes] | None = None
) -> dict[str, int]:
    """Count the content of a file that clips do not hold."""
    return _run_usd_reader(data, read_external, read=False)[0]["ignored"]


def read(
    data: bytes,
    *,
    unit: float | None = None,
    clip: str | None = None,
    fps: float | None = None,
    read_external: Callable[[str], bytes] | None = None,
) -> Clip:
    """Read one animation, chosen by name or by index from 0; by default the first.

    `unit` is the length of one file unit in meters, instead of what the file states. `fps` is a
    sampling rate; by default, frames are at the samples of the animation.
    """
    check_fps(fps)
    run_request = partial(_run_usd_reader, data, read_external)
    response, body = read_motion(run_request, clip, "animation", fps=fps, divided=1)
    if "number" not in response:
        still = list_names(response["still"])
        what = f"its animations do not move ({still})" if still else "it has none"
        raise FormatError(f"expected an animation of a skeleton in this USD, but {what}")
    name = motion_names(response, "animation")[response["number"]]
    with name_errors(f"animation {name!r}", InvalidClipError):
        arrays = _read_arrays(response, body)
        if fps is None:
            response, arrays = _choose_frames(partial(run_request, fps=None), response, arrays)
        return _build_clip(response, arrays, name, unit)


def _run_usd_reader(
    data: bytes, read_external: Callable[[str], bytes] | None, **request: Json
) -> tuple[UsdResponse, bytes]:
    """Send a request to the USD reader, and provide the external files that it asks for."""
    given: dict[str, bytes] = {}
    for _ in range(MAX_REFERENCE_ROUNDS):
        sizes = [(name, len(other)) for name, other in given.items()]
        response, body = run_reader(
            USD, b"".join([data, *given.values()]), read_external=sizes, **request
        )
        if "others" not in response:
            return response, body
        for name in response["others"]:
            given[name] = _read_referenced(name, read_external)
    raise CorruptionError(
        f"references between files are nested more than {MAX_REFERENCE_ROUNDS} levels deep"
    )


def _read_referenced(name: str, read_external: Callable[[str], bytes] | None) -> bytes:
    if read_external is None:
        raise FormatError(
            f"cannot find the external file {name[:80]!r}, because the input is a pipe"
        )
    with convert_errors(OSError, f"cannot read the external file {name[:80]!r}", to=FormatError):
        return read_external(name)


def _read_arrays(response: UsdResponse, body: bytes) -> dict[str, F64]:
    numbers = Numbers(body, "pxr")
    arrays = {name: numbers.take(count, kind) for name, kind, count in response["blocks"]}
    for name, values in arrays.items():
        if not np.isfinite(values).all():
            raise CorruptionError(f"{name} must be finite")
    return arrays


def _choose_frames(
    run_request: Callable[..., tuple[UsdResponse, bytes]],
    response: UsdResponse,
    arrays: dict[str, F64],
) -> tuple[UsdResponse, dict[str, F64]]:
    """Return an animation at the frames that a clip needs: its samples, and more if required.

    Joints are linear between samples, but a transform above the skeleton may rotate along a curve.
    """

    def subdivide(parts: int) -> tuple[UsdResponse, dict[str, F64]]:
        finer, body = run_request(read=True, clip=response["number"], divided=parts)
        return finer, _read_arrays(finer, body)

    split = 1
    while response["has_moving_ancestors"]:
        finer, at_all = subdivide(2 * split)
        times = _get_seconds(finer)
        parts = _decompose_matrices(at_all["world"].reshape(-1, 4, 4))
        world = {
            channel: part[:, np.newaxis] for channel, part in zip(CHANNELS, parts, strict=True)
        }
        choice = keyed_frames.choose_frames(times, len(times), np.zeros(0), world)
        wanted = min(split * choice.split, keyed_frames.MAX_SPLIT)
        if wanted == split:
            break
        split = wanted
    return (response, arrays) if split == 1 else subdivide(split)


def _build_clip(
    response: UsdResponse, arrays: dict[str, F64], name: str, unit: float | None
) -> Clip:
    paths = response["joints"]
    if not 1 <= len(paths) <= MAX_JOINTS:
        raise CorruptionError(f"a skeleton must have 1 to {MAX_JOINTS} joints, got {len(paths)}")
    times = _get_seconds(response)
    meters = _check_range("unit", response["unit"], 1e-9, 1e9) if unit is None else unit
    parents = _find_parents(paths)
    pose = _fill_poses(response, arrays, len(times))
    rest = _build_rest_pose(arrays, parents, pose)
    titles = _choose_joint_names(response)
    ends, end_joints = _read_end_sites(arrays, len(paths))
    order = _order_parents_first(parents)
    place = {joint: k for k, joint in enumerate(order)}
    parents = [place.get(parents[j], -1) for j in order]
    titles = [titles[j] for j in order]
    pose = {channel: values[:, order] for channel, values in pose.items()}
    rest = {channel: values[order] for channel, values in rest.items()}
    end_joints = [place[j] for j in end_joints]
    if "world" in arrays:
        titles, parents, end_joints = _add_carrier_joint(
            response["skeleton"], arrays["world"], titles, parents, end_joints, pose, rest
        )
    up = response["up"] if response["up"] in ("y", "z") else "y"
    for values in (pose, rest):
        _convert_axes(values, parents, up, meters)
    deviations = np.abs(pose["translations"] - rest["translations"]).max((0, 2))
    moving = [int(j) for j in np.flatnonzero(deviations > MIN_MOVEMENT_M)]
    by_joint = np.argsort(end_joints, kind="stable")
    return Clip.build(
        Skeleton(
            tuple(titles),
            tuple(parents),
            rest["translations"],
            ends[by_joint] * meters,
            tuple(end_joints[k] for k in by_joint),
            channels=default_channels(len(titles), moving),
            rest=rest["rotations"],
        ),
        pose["rotations"],
        pose["translations"][:, moving],
        times=times,
        frame_time=_choose_frame_time(times, response["frame_rate"]),
        translated_joints=moving,
        scales=pose["scales"],
        unit=meters,
        up=up,
        tracks=_build_tracks(response["shapes"], arrays, times),
        interpolated=True,
        metadata={"source": "usd", "animation": name},
    )


def _get_seconds(response: UsdResponse) -> F64:
    rate = _check_range("codes_per_second", response["codes_per_second"], 1e-6, 1e9)
    return np.array(response["times"]) / rate


def _check_range(name: str, value: float, low: float, high: float) -> float:
    if not low <= value <= high:
        raise CorruptionError(f"{name} must be in {low:g}..{high:g}, got {value}")
    return value


def _choose_frame_time(times: F64, rate: float) -> float:
    """Return the frame time: 1 / `rate` or 1 / integer if it is the mean gap, else that gap."""
    if len(times) == 1:
        return 1 / rate if 1e-3 < rate < 1e5 else 1 / 24
    step = float(times[-1] - times[0]) / (len(times) - 1)
    for whole in (1 / rate if 1e-3 < rate < 1e5 else 1.0, 1 / max(1, round(1 / step))):
        if abs(whole - step) * len(times) < 1e-6 * step:
            return whole
    return step


def _find_parents(paths: list[str]) -> list[int]:
    """Return the parent of each joint: the longest joint path that is a prefix of its own."""
    known = {path: j for j, path in enumerate(paths)}
    if len(known) < len(paths):
        twice = next(path for j, path in enumerate(paths) if known[path] != j)
        raise CorruptionError(f"two joints have the path {twice!r}")
    parents = []
    for path in paths:
        above = path.rpartition("/")[0]
        while above and above not in known:
            above = above.rpartition("/")[0]
        parents.append(known[above] if above else -1)
    return parents


def _order_parents_first(parents: list[int]) -> list[int]:
    depth: list[int] = []
    for joint in range(len(parents)):
        count = 0
        while (joint := parents[joint]) >= 0:
            count += 1
        depth.append(count)
    if all(parent < j for j, parent in enumerate(parents)):
        return list(range(len(parents)))
    return sorted(range(len(parents)), key=lambda j: depth[j])


def _choose_joint_names(response: UsdResponse) -> list[str]:
    given = response["joint_names"]
    if len(given) != len(response["joints"]):
        given = [path.rpartition("/")[2] for path in response["joints"]]
    return [shorten_text(name, MAX_NAME) for name in given]


def _fill_poses(response: UsdResponse, arrays: dict[str, F64], frames: int) -> dict[str, F64]:
    """Return the animated values of each joint (T, J, n), NaN for joints without animation."""
    column = {path: j for j, path in enumerate(response["joints"])}
    unknown = [path for path in response["moved"] if path not in column]
    if unknown:
        raise CorruptionError(
            f"the animation moves joint {unknown[0]!r:.80}, which its skeleton does not have"
        )
    at = [column[path] for path in response["moved"]]
    pose = {}
    for channel, width in WIDTHS.items():
        pose[channel] = np.full((frames, len(column), width), np.nan)
        if channel in arrays and at:
            pose[channel][:, at] = arrays[channel].reshape(-1, len(at), width)
    return pose


def _build_rest_pose(
    arrays: dict[str, F64], parents: list[int], pose: dict[str, F64]
) -> dict[str, F64]:
    """Return the rest pose, or else the first frame, and fill gaps in `pose` with it."""
    if "rest" in arrays or "bind" in arrays:
        local = arrays["rest" if "rest" in arrays else "bind"].reshape(-1, 4, 4)
        if "rest" not in arrays:  # bind transforms are in skeleton space
            local = np.array(
                [
                    m if p < 0 else _to_local(m, local[p])
                    for m, p in zip(local, parents, strict=True)
                ]
            )
        rest = dict(zip(WIDTHS, _decompose_matrices(local), strict=True))
    else:
        neutral = {
            "translations": np.zeros(3),
            "rotations": rotations.IDENTITY,
            "scales": np.ones(3),
        }
        rest = {
            channel: np.where(np.isfinite(pose[channel][0]), pose[channel][0], neutral[channel])
            for channel in WIDTHS
        }
    for channel, values in pose.items():
        values[:] = np.where(np.isfinite(values), values, rest[channel])
    pose["rotations"][:] = _normalize(pose["rotations"])
    rest["rotations"] = _normalize(rest["rotations"])
    return rest


def _normalize(turns: F64) -> F64:
    length = np.linalg.norm(turns, axis=-1)
    if not (length > 1e-6).all():
        raise CorruptionError("rotations must be quaternions of nonzero length")
    return rotations.normalize(turns)


def _to_local(matrix: F64, parent: F64) -> F64:
    try:
        return np.asarray(matrix @ np.linalg.inv(parent))
    except np.linalg.LinAlgError:
        raise CorruptionError("the bind matrix of a joint is singular") from None


def _decompose_matrices(matrices: F64) -> tuple[F64, F64, F64]:
    """Return translations, rotations and scales of USD matrices (N, 4, 4), ignoring shear."""
    base = np.swapaxes(matrices[:, :3, :3], 1, 2)
    scales = np.linalg.norm(base, axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        turn = np.linalg.det(base)
    if not (np.isfinite(turn) & (turn != 0)).all():
        raise CorruptionError("a transform matrix is singular")
    scales[:, 0] = np.copysign(scales[:, 0], turn)
    return matrices[:, 3, :3].copy(), rotations.from_matrix(base / scales[:, np.newaxis]), scales


def _add_carrier_joint(
    name: str,
    matrices: F64,
    titles: list[str],
    parents: list[int],
    end_joints: list[int],
    pose: dict[str, F64],
    rest: dict[str, F64],
) -> tuple[list[str], list[int], list[int]]:
    """Insert a root joint with the transforms above the skeleton in its scene."""
    world = dict(zip(WIDTHS, _decompose_matrices(matrices.reshape(-1, 4, 4)), strict=True))
    for channel in WIDTHS:
        pose[channel] = np.concatenate([world[channel][:, np.newaxis], pose[channel]], axis=1)
        rest[channel] = np.concatenate([world[channel][:1], rest[channel]])
    return (
        [name, *titles],
        [-1, *(parent + 1 for parent in parents)],
        [joint + 1 for joint in end_joints],
    )


def _convert_axes(values: dict[str, F64], parents: list[int], up: str, meters: float) -> None:
    """Convert poses in place to meters and y up; only roots are relative to the world."""
    values["translations"] *= meters
    if up == "y":
        return
    roots = [j for j, parent in enumerate(parents) if parent < 0]
    turn = rotations.from_matrix(space.conversion_matrix(up, "right"))
    positions, turns = values["translations"], values["rotations"]
    positions[..., roots, :] = space.to_internal(positions[..., roots, :], up)
    turns[..., roots, :] = rotations.multiply(turn, turns[..., roots, :])


def _read_end_sites(arrays: dict[str, F64], joints: int) -> tuple[F64, list[int]]:
    ends = arrays.get("endSites", np.zeros(0))
    carriers = arrays.get("endSiteJoints", np.zeros(0)).astype(int).tolist()
    if len(ends) != 3 * len(carriers) or any(not 0 <= j < joints for j in carriers):
        raise CorruptionError(f"mocpack:endSites does not match its {len(carriers)} endSiteJoints")
    return ends.reshape(-1, 3), carriers


def _build_tracks(names: list[str], arrays: dict[str, F64], times: F64) -> dict[str, Track]:
    shapes = list(make_unique(names))
    if "weights" not in arrays:
        return {}
    values = np.broadcast_to(arrays["weights"].reshape(-1, len(shapes)), (len(times), len(shapes)))
    return {
        f"{BLEND_SHAPE_PREFIX}{name}": Track(
            "scalar", values[:, k], times=times, bound=WEIGHT_BOUND
        )
        for k, name in enumerate(shapes)
    }
