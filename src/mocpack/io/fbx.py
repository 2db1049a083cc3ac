"""Takes of FBX files as skeletal clips, read by ufbx in a process of its own.

ufbx evaluates layers, pivots, rotation orders and inheritance of scales; `fbx_child.py` asks it for
local transforms at even times, in metres and y up. `docs/formats.md` says what is kept.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np

from mocpack import rotations
from mocpack.arrays import F64
from mocpack.clip import Clip
from mocpack.errors import CorruptionError, FormatError, InvalidClipError, UsageError
from mocpack.extras import missing
from mocpack.io import fbx_child
from mocpack.io.choice import chosen
from mocpack.io.text import distinct
from mocpack.skeleton import DEFAULT_JOINT, DEFAULT_ROOT, MAX_JOINTS, MAX_NAME, Skeleton
from mocpack.take import Track, split_scales
from mocpack.workers import why_it_ended

MAX_POSES = 1 << 25  # frames × joints: 1 GB of rotations
MEMORY, MEMORY_A_BYTE, MOST_MEMORY = 1 << 30, 64, 8 << 30  # that a file's process may take
SECONDS, SECONDS_A_BYTE = 30, 1e-6  # of a processor
PATIENCE = 8  # times that, on the clock: others work on this machine too
STILL = 1e-6  # metres: a place that strays less from its rest is there
WEIGHT_BOUND = 1e-4  # of blend shapes, where 1 is all of it
UP_AXES = {0: "x", 1: "y", 2: "z"}
WIDTHS = {"translation": 3, "rotation": 4, "scale": 3}


def names(data: bytes) -> list[str]:
    """Return the names of the takes that move something, all different."""
    return _names(_asked(data, read=False)[0])


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
    number = 0
    if clip is not None:
        number = chosen(names(data), clip, "take")
    answer, numbers = _asked(data, read=True, take=number, fps=fps)
    known = _names(answer)
    if not known:
        raise FormatError(_still(answer))
    if len(answer["joints"]) > MAX_JOINTS:
        raise CorruptionError(f"{len(answer['joints'])} joints are more than mocpack reads")
    try:
        return _clip(answer, numbers, known[number], unit)
    except InvalidClipError as error:
        raise CorruptionError(f"take {known[number]!r}: {error}") from error


def _still(answer: dict[str, Any]) -> str:
    if not answer["still"]:
        return "this FBX is static: there is no take in it, so no animation"
    listed = ", ".join(answer["still"])[:300]
    return f"this FBX is static: no take of it moves a node (it has: {listed}), so no animation"


def _names(answer: dict[str, Any]) -> list[str]:
    return list(distinct(name or f"take {k}" for k, name in enumerate(answer["takes"])))


def _clip(answer: dict[str, Any], numbers: F64, take: str, unit: float | None) -> Clip:
    own = answer["unit"] if 1e-9 < answer["unit"] < 1e9 else 0.01
    grown = 1.0 if unit is None else unit / own
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
        up=UP_AXES.get(answer["up"], "y"),
        tracks=tracks,
        metadata={"animation": take}
        | ({"generator": answer["creator"]} if answer["creator"] else {}),
    )


def _poses(
    answer: dict[str, Any], numbers: F64, rest: dict[str, F64]
) -> tuple[dict[str, F64], dict[str, Track]]:
    """Return each channel's values (T, J, n) and the weights of blend shapes."""
    frames = answer["frames"]
    pose = {channel: np.tile(values, (frames, 1, 1)) for channel, values in rest.items()}
    at = 0
    for joint, channel, count in answer["blocks"]:
        # one that does not move has one value
        pose[channel][:, joint] = numbers[at : at + count].reshape(-1, WIDTHS[channel])
        at += count
    tracks = {}
    for name in distinct(name or "weight" for name in answer["weights"]):
        tracks[name] = Track(
            "scalar", numbers[at : at + frames], start=answer["begin"], bound=WEIGHT_BOUND
        )
        at += frames
    if at != len(numbers):
        raise CorruptionError(f"ufbx gave {len(numbers)} numbers where {at} were expected")
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


def _asked(data: bytes, **question: Any) -> tuple[dict[str, Any], F64]:
    """Return what the process that reads the file answers, and the numbers after that."""
    place = find_spec("ufbx")
    if place is None or place.origin is None:
        raise missing("ufbx", extra="fbx", purpose="reading FBX")
    seconds = int(SECONDS + SECONDS_A_BYTE * len(data))
    memory = min(MEMORY + MEMORY_A_BYTE * len(data), MOST_MEMORY)
    question = {"take": 0, "fps": None, "most_poses": MAX_POSES} | question
    question["limits"] = {"memory": memory, "seconds": seconds}
    command = [sys.executable, "-I", "-B", fbx_child.__file__, place.origin, json.dumps(question)]
    try:
        done = subprocess.run(
            command, input=data, capture_output=True, timeout=PATIENCE * seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise CorruptionError(f"ufbx did not read it within {PATIENCE * seconds} s") from None
    except OSError as error:
        raise FormatError(
            f"FBX is read in a process of its own, which cannot be started here: {error}"
        ) from error
    head, newline, body = done.stdout.partition(b"\n")
    if done.returncode or not newline:
        raise CorruptionError(f"ufbx cannot read it: {why_it_ended(done.returncode)}")
    answer: dict[str, Any] = json.loads(head)
    if "error" in answer:
        raise CorruptionError(f"ufbx cannot read it: {answer['error']}")
    return answer, np.frombuffer(body, np.float64)
