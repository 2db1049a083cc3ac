"""FBX takes as skeletal clips, read by ufbx in a child process.

ufbx evaluates layers, pivots, rotation orders and scale inheritance. `fbx_child.py` samples local
transforms at even times, in meters with y up. `docs/formats.md` lists what is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from mocpack.common.arrays import F64, I64
from mocpack.common.choice import check_fps, list_names
from mocpack.common.texts import shorten_text
from mocpack.errors import CorruptionError, FormatError, InvalidClipError, name_errors
from mocpack.io import fbx_child, keyed_frames
from mocpack.io.child import Numbers, Reader, Response, motion_names, read_motion, run_reader
from mocpack.io.text import make_unique
from mocpack.model import rotations, space
from mocpack.model.clip import Clip
from mocpack.model.skeleton import MAX_JOINTS, MAX_NAME, Skeleton, default_channels
from mocpack.model.take_data import split_scales

MIN_MOVEMENT_M = 1e-6  # smaller deviations from the rest position are ignored
CHANNEL_WIDTHS = {"translation": 3, "rotation": 4, "scale": 3}


class FbxResponse(Response, total=False):
    """The skeleton of a scene and the samples of a take."""

    names: list[str]
    parents: list[int]
    rest: dict[str, list[list[float]]]  # "translation", "rotation" and "scale" of each joint
    unit: float  # in meters
    axes: list[list[int]]  # (axis, sign) of those that point right, up and to the viewer
    creator: str
    begin: float
    rate: float
    frames: int  # number of even samples
    extra: list[float]  # times of the other samples
    beside_jumps: list[float]  # those of them that are next to jumps
    keyed: list[int]  # joints with sparse keys
    blocks: list[tuple[int, str, int]]  # joint, channel, numbers
    weights: list[str]  # names of blend shapes


UFBX = Reader[FbxResponse](fbx_child.__file__, "ufbx", "fbx", "FBX")


@dataclass(frozen=True)
class Poses:
    """Poses of a take at some times."""

    times: F64  # (T,), seconds
    channels: dict[str, F64]  # translation, rotation, scale (T, J, n), or (1, J, n) if constant
    weights: dict[str, F64]  # (T,) of each blend shape

    def at(self, rows: I64) -> Poses:
        """Return the poses of some rows."""
        return Poses(
            self.times[rows],
            {name: v if len(v) == 1 else v[rows] for name, v in self.channels.items()},
            {name: values[rows] for name, values in self.weights.items()},
        )


def list_clips(data: bytes) -> list[str]:
    """Return unique names of the takes that move something."""
    return motion_names(run_reader(UFBX, data, read=False)[0], "take")


def count_ignored(data: bytes) -> dict[str, int]:
    """Count the content of a file that clips do not hold."""
    return run_reader(UFBX, data, read=False)[0]["ignored"]


def read(
    data: bytes,
    *,
    unit: float | None = None,
    clip: str | None = None,
    fps: float | None = None,
) -> Clip:
    """Read one take, chosen by name or by index from 0; by default the first that moves something.

    `unit` is the length of one file unit in meters, instead of what the file states. `fps` is a
    sampling rate; by default, it is that of the scene, or of the keys if they are denser.
    """
    check_fps(fps)
    run_request = partial(run_reader, UFBX, data)
    response, body = read_motion(run_request, clip, "take", fps=fps, divided=1)
    if "number" not in response:
        raise FormatError(_describe_static(response))
    name = motion_names(response, "take")[response["number"]]
    if (joints := len(response["names"])) > MAX_JOINTS:
        raise CorruptionError(
            f"the skeleton has {joints} joints, more than the limit of {MAX_JOINTS}"
        )
    with name_errors(f"take {name!r}", InvalidClipError):
        response, poses = _choose_frames(run_request, response, Numbers(body, "ufbx"))
        return _build_clip(response, poses, name, unit)


def _describe_static(response: FbxResponse) -> str:
    if not response["still"]:
        return "expected an animation, but this FBX has no takes"
    takes = list_names(response["still"])
    return f"expected an animation, but no take of this FBX moves a node (takes: {takes})"


def _choose_frames(
    run_request: Callable[..., tuple[FbxResponse, bytes]],
    response: FbxResponse,
    numbers: Numbers,
) -> tuple[FbxResponse, Poses]:
    """Return a response and its poses at the frames that a clip needs.

    A take with sparse keys is requested again with more frames until linear interpolation is
    accurate.
    """
    poses, split = _read_poses(response, numbers), 1
    while response["keyed"]:
        keyed = {channel: v[:, response["keyed"]] for channel, v in poses.channels.items()}
        needed = np.array(response["beside_jumps"])
        choice = keyed_frames.choose_frames(poses.times, response["frames"], needed, keyed)
        wanted = min(split * choice.split, keyed_frames.MAX_SPLIT)
        if wanted == split:
            return response, poses.at(choice.rows)
        split = wanted
        response, body = run_request(read=True, clip=response["number"], fps=None, divided=split)
        poses = _read_poses(response, Numbers(body, "ufbx"))
    return response, poses


def _build_clip(response: FbxResponse, poses: Poses, take: str, unit: float | None) -> Clip:
    stated_unit = response["unit"] if 1e-9 < response["unit"] < 1e9 else 0.01
    unit_ratio = 1.0 if unit is None else unit / stated_unit
    up, hand = _find_axes(response["axes"])
    rest, pose = _read_rest_pose(response), poses.channels
    for values in (rest["translation"], pose["translation"]):
        values *= unit_ratio
    moving = _find_moving_joints(pose["translation"], rest, response["parents"])
    _compensate_scale_noise(rest["translation"], pose, response["parents"], moving)
    frame_time = _choose_frame_time(poses.times, response["rate"])
    return Clip.build(
        Skeleton(
            tuple(shorten_text(name, MAX_NAME) for name in response["names"]),
            tuple(response["parents"]),
            rest["translation"],
            channels=default_channels(len(response["names"]), moving),
            rest=rotations.normalize(rest["rotation"]),
        ),
        rotations.normalize(pose["rotation"]),
        pose["translation"][:, moving],
        times=poses.times,
        frame_time=frame_time,
        translated_joints=moving,
        scales=pose["scale"],
        unit=stated_unit if unit is None else unit,
        up=up,
        handedness=hand,
        tracks=keyed_frames.weight_tracks(poses.weights, poses.times, frame_time),
        interpolated=True,
        metadata={"source": "fbx", "animation": take}
        | ({"generator": response["creator"]} if response["creator"] else {}),
    )


def _find_axes(axes: list[list[int]]) -> tuple[str, str]:
    """Return the up axis and handedness of a scene, or ("y", "right") for unusual axes."""
    turn = np.zeros((3, 3))
    for row, (axis, sign) in enumerate(axes):
        turn[row, axis % 3] = sign
    for up in space.UP_AXES:
        for hand in space.HANDEDNESS:
            if np.array_equal(space.conversion_matrix(up, hand), turn):
                return up, hand
    return "y", "right"


def _read_rest_pose(response: FbxResponse) -> dict[str, F64]:
    return {channel: np.array(values, np.float64) for channel, values in response["rest"].items()}


def _read_poses(response: FbxResponse, numbers: Numbers) -> Poses:
    """Return the poses of a response; scales once if they are constant."""
    even = response["begin"] + np.arange(response["frames"]) / response["rate"]
    times = np.concatenate([even, response["extra"]])
    counts = dict.fromkeys(CHANNEL_WIDTHS, len(times))
    if all(count == 3 for _, channel, count in response["blocks"] if channel == "scale"):
        counts["scale"] = 1  # all are constant
    rest = _read_rest_pose(response)
    pose = {channel: np.tile(rest[channel], (count, 1, 1)) for channel, count in counts.items()}
    for joint, channel, count in response["blocks"]:
        # Constant channels have one value.
        pose[channel][:, joint] = numbers.take(count).reshape(-1, CHANNEL_WIDTHS[channel])
    weights = {
        name: numbers.take(len(times))
        for name in make_unique(name or "weight" for name in response["weights"])
    }
    for channel, values in pose.items():
        if not np.isfinite(values).all():
            raise CorruptionError(f"{channel}s must be finite")
    return Poses(times, pose, weights)


def _choose_frame_time(times: F64, rate: float) -> float:
    """Return the frame time: a multiple of 1 / `rate` if it is the median gap, else that gap."""
    if len(times) < 2:
        return 1 / rate
    gap = float(np.median(np.diff(times)))
    whole = 1 / (rate / max(1, round(gap * rate)))
    return whole if abs(whole - gap) < 1e-6 * gap else gap


def _find_moving_joints(positions: F64, rest: dict[str, F64], parents: list[int]) -> list[int]:
    """Return the joints that move away from their rest position, measured with ancestor scales."""
    size: list[float] = []
    for joint, parent in enumerate(parents):
        own = float(np.abs(rest["scale"][joint]).max())
        size.append(min(own * (size[parent] if parent >= 0 else 1.0), 1e30))
    deviations = np.abs(positions - rest["translation"]).max((0, 2))
    return [
        j
        for j, p in enumerate(parents)
        if deviations[j] * max(1.0, size[p] if p >= 0 else 1.0) > MIN_MOVEMENT_M
    ]


def _compensate_scale_noise(
    offsets: F64, pose: dict[str, F64], parents: list[int], moving: list[int]
) -> None:
    """Adjust positions in place so that joints stay where they are without the scale noise.

    Exporters' scales deviate from 1 by up to 10⁻⁴ (`split_scales` drops that): 0.2 mm over 2 m.
    """
    split = split_scales(pose["scale"])
    if not split.dropped:
        return
    clip_scales = np.tile(split.constant, (len(pose["scale"]), 1, 1))
    if split.moving is not None:
        clip_scales[:, split.joints] = split.moving
    turns = rotations.as_matrix(rotations.normalize(pose["rotation"]))
    true: list[F64] = []  # matrices from joint to world
    ours: list[F64] = []  # the same without the noise
    for j, parent in enumerate(parents):
        local, plain = (
            turns[:, j] * pose["scale"][:, j, None],
            turns[:, j] * clip_scales[:, j, None],
        )
        true.append(local if parent < 0 else true[parent] @ local)
        ours.append(plain if parent < 0 else ours[parent] @ plain)
        if parent < 0 or not np.linalg.det(ours[parent]).all():
            continue
        reach = true[parent] @ pose["translation"][:, j, :, None]
        positions = np.linalg.solve(ours[parent], reach)[..., 0]
        if j in moving:
            pose["translation"][:, j] = positions
        else:
            offsets[j] = np.median(positions, axis=0)
