"""Takes of FBX files as skeletal clips, read by ufbx in a process of its own.

ufbx evaluates layers, pivots, rotation orders and inheritance of scales; `fbx_child.py` asks it for
local transforms at even times, in metres and y up. `docs/formats.md` says what is kept.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mocpack import rotations, space
from mocpack.arrays import F64
from mocpack.clip import Clip
from mocpack.errors import CorruptionError, FormatError, InvalidClipError, UsageError
from mocpack.io import fbx_child
from mocpack.io.child import Numbers, Reader, ask, ask_for, motion_names
from mocpack.io.text import distinct
from mocpack.skeleton import DEFAULT_JOINT, DEFAULT_ROOT, MAX_JOINTS, MAX_NAME, Skeleton
from mocpack.take import Track, split_scales

UFBX = Reader(fbx_child.__file__, "ufbx", "fbx", "FBX")
STILL = 1e-6  # metres: a place that strays less from its rest is there
WEIGHT_BOUND = 1e-4  # of blend shapes, where 1 is all of it
WIDTHS = {"translation": 3, "rotation": 4, "scale": 3}


def names(data: bytes) -> list[str]:
    """Return the names of the takes that move something, all different."""
    return motion_names(ask(UFBX, data, read=False)[0], "take")


def read(
    data: bytes,
    *,
    unit: float | None = None,
    clip: str | None = None,
    fps: float | None = None,
) -> Clip:
    """Read one take: the one named, or numbered from 0, or else the first that moves something.

    Parameters
    ----------
    unit : float, optional
        Metres of one unit of the file, in place of what it says.
    fps : float, optional
        Frames a second to sample it at; left out, those of the scene, or of its keys where they
        are denser.
    """
    if fps is not None and not 0 < fps <= 1e5:
        raise UsageError(f"frames a second must be above 0 and at most 1e5, got {fps}")
    answer, body = ask_for(partial(ask, UFBX, data), clip, "take", fps=fps)
    if "number" not in answer:
        raise FormatError(_still(answer))
    name = motion_names(answer, "take")[answer["number"]]
    if len(answer["joints"]) > MAX_JOINTS:
        raise CorruptionError(f"{len(answer['joints'])} joints are more than mocpack reads")
    try:
        return _clip(answer, Numbers(body, "ufbx"), name, unit)
    except InvalidClipError as error:
        raise CorruptionError(f"take {name!r}: {error}") from error


def _still(answer: dict[str, Any]) -> str:
    if not answer["still"]:
        return "this FBX is static: there is no take in it, so no animation"
    listed = ", ".join(answer["still"])[:300]
    return f"this FBX is static: no take of it moves a node (it has: {listed}), so no animation"


def _clip(answer: dict[str, Any], numbers: Numbers, take: str, unit: float | None) -> Clip:
    own = answer["unit"] if 1e-9 < answer["unit"] < 1e9 else 0.01
    grown = 1.0 if unit is None else unit / own
    up, hand = _space(answer["axes"])
    rest = {channel: np.array(answer[channel], np.float64) for channel in WIDTHS}
    pose, tracks = _poses(answer, numbers, rest)
    for values in (rest["translation"], pose["translation"]):
        values *= grown
    moving = _moving(pose["translation"], rest, answer["parents"])
    _make_up_for_noise(rest["translation"], pose, answer["parents"], moving)
    return Clip.build(
        Skeleton(
            tuple(_short(name) for name in answer["names"]),
            tuple(answer["parents"]),
            rest["translation"],
            channels=tuple(
                DEFAULT_ROOT if j in set(moving) else DEFAULT_JOINT
                for j in range(len(answer["names"]))
            ),
            rest=rotations.normalize(rest["rotation"]),
        ),
        rotations.normalize(pose["rotation"]),
        pose["translation"][:, moving],
        frame_rate=answer["rate"],
        start_time=answer["begin"],
        translated_joints=moving,
        scales=pose["scale"],
        unit=own if unit is None else unit,
        up=up,
        handedness=hand,
        tracks=tracks,
        metadata={"animation": take}
        | ({"generator": answer["creator"]} if answer["creator"] else {}),
    )


def _space(axes: list[list[int]]) -> tuple[str, str]:
    """Return which axis is up and which hand it is, for scenes of axes that `space.py` knows."""
    turn = np.zeros((3, 3))
    for row, (axis, sign) in enumerate(axes):
        turn[row, axis % 3] = sign
    for up in space.UP_AXES:
        for hand in space.HANDS:
            if np.array_equal(space.basis(up, hand), turn):
                return up, hand
    return "y", "right"


def _poses(
    answer: dict[str, Any], numbers: Numbers, rest: dict[str, F64]
) -> tuple[dict[str, F64], dict[str, Track]]:
    """Return each channel's values (T, J, n), scales once if none moves, and blend shapes."""
    frames = answer["frames"]
    counts = dict.fromkeys(WIDTHS, frames)
    if all(count == 3 for _, channel, count in answer["blocks"] if channel == "scale"):
        counts["scale"] = 1  # none of them moves
    pose = {channel: np.tile(rest[channel], (count, 1, 1)) for channel, count in counts.items()}
    for joint, channel, count in answer["blocks"]:
        # one that does not move has one value
        pose[channel][:, joint] = numbers.take(count).reshape(-1, WIDTHS[channel])
    tracks = {
        name: Track("scalar", numbers.take(frames), start=answer["begin"], bound=WEIGHT_BOUND)
        for name in distinct(name or "weight" for name in answer["weights"])
    }
    for channel, values in pose.items():
        if not np.isfinite(values).all():
            raise CorruptionError(f"its {channel}s must be finite")
    return pose, tracks


def _moving(places: F64, rest: dict[str, F64], parents: list[int]) -> list[int]:
    """Return the joints whose place strays from its rest, as seen from outside all scales."""
    size: list[float] = []
    for joint, parent in enumerate(parents):
        own = float(np.abs(rest["scale"][joint]).max())
        size.append(min(own * (size[parent] if parent >= 0 else 1.0), 1e30))
    strays = np.abs(places - rest["translation"]).max((0, 2))
    return [
        j for j, p in enumerate(parents) if strays[j] * max(1.0, size[p] if p >= 0 else 1.0) > STILL
    ]


def _make_up_for_noise(
    offsets: F64, pose: dict[str, F64], parents: list[int], moving: list[int]
) -> None:
    """Change places, in place, so that joints stay where scales put them that a clip drops.

    Exporters' scales stray from 1 by up to 10⁻⁴ (`split_scales`): 0.2 mm over a body of 2 m.
    """
    split = split_scales(pose["scale"])
    if not split.dropped:
        return
    kept = np.tile(split.constant, (len(pose["scale"]), 1, 1))
    if split.moving is not None:
        kept[:, split.joints] = split.moving
    turns = rotations.as_matrix(rotations.normalize(pose["rotation"]))
    true: list[F64] = []  # what takes a joint's frame to the world, and
    ours: list[F64] = []  # what does so without the noise
    for j, parent in enumerate(parents):
        local, plain = turns[:, j] * pose["scale"][:, j, None], turns[:, j] * kept[:, j, None]
        true.append(local if parent < 0 else true[parent] @ local)
        ours.append(plain if parent < 0 else ours[parent] @ plain)
        if parent < 0 or not np.linalg.det(ours[parent]).all():
            continue
        reach = true[parent] @ pose["translation"][:, j, :, None]
        places = np.linalg.solve(ours[parent], reach)[..., 0]
        if j in moving:
            pose["translation"][:, j] = places
        else:
            offsets[j] = np.median(places, axis=0)


def _short(name: str) -> str:
    return name.encode("utf-8", "replace")[:MAX_NAME].decode(errors="ignore")
