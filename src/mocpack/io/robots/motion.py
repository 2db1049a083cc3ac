"""Match the columns of a motion file to a robot's joints, and check them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.choice import list_names
from mocpack.errors import CorruptionError, InvalidClipError, UsageError, convert_errors
from mocpack.io.assumptions import choose_frame_rate
from mocpack.io.robots.model import UP, Robot
from mocpack.model import rotations
from mocpack.model.clip import Clip

DEFAULT_FPS = 30.0
ORDERS = ("xyzw", "wxyz")
MAX_NORM_ERROR = 1e-2  # of a quaternion; files round it to few decimals
MIN_UPRIGHT, MAX_LYING = 0.9, 0.3  # height of the root's own z axis
NAME_SUFFIXES = ("_joint", "_dof", "_pos", "_position", ".pos")


def match_columns_by_name(robot: Robot, names: Sequence[str], what: str) -> list[int]:
    """Return the column of each of the robot's angles, -1 for omitted mimic joints.

    Suffixes of names, such as ``_joint``, ``_dof`` or ``_pos``, are ignored.
    """
    place: dict[str, int] = {}
    for at, name in enumerate(names):
        short = _strip_suffixes(name)
        if short in place:
            raise CorruptionError(f"{what} names {name[:60]!r} twice")
        place[short] = at
    own = {_strip_suffixes(name): name for name in robot.hinges.names}
    strange = [name for name in names if _strip_suffixes(name) not in own]
    missing = [
        name for short, name in own.items() if short not in place and name not in robot.mimics
    ]
    if strange or missing:
        raise CorruptionError(
            f"{what} does not match the robot {robot.name!r}: "
            + "; ".join(
                f"{words} {list_names(wrong)}"
                for words, wrong in (
                    ("missing in the file:", missing),
                    ("unknown to the robot:", strange),
                )
                if wrong
            )
        )
    return [place.get(_strip_suffixes(name), -1) for name in robot.hinges.names]


def match_columns_by_count(robot: Robot, count: int, what: str) -> list[int]:
    """Return the column of each of the robot's angles, for a file without joint names."""
    hinges = robot.hinges.names
    free = [name for name in hinges if name not in robot.mimics]
    if count == len(hinges):
        return list(range(count))
    if count == len(free):
        return [free.index(name) if name in free else -1 for name in hinges]
    raise CorruptionError(
        f"{what} has {count} angles, but the robot {robot.name!r} has {len(free)}: "
        f"{list_names(hinges)}"
    )


def to_angles(robot: Robot, numbers: F64, columns: Sequence[int]) -> F64:
    """Return the robot's angles (T, H) from numbers (T, N); mimic joints follow their leader."""
    angles = np.zeros((len(numbers), len(columns)))
    given = [h for h, column in enumerate(columns) if column >= 0]
    angles[:, given] = numbers[:, [columns[h] for h in given]]
    names = robot.hinges.names
    known = {names[h] for h in given}
    # A mimic joint may follow another mimic joint.
    waiting = [h for h, column in enumerate(columns) if column < 0]
    while waiting:
        ready = [h for h in waiting if robot.mimics[names[h]][0] in known]
        if not ready:
            words = list_names([names[h] for h in waiting])
            raise CorruptionError(f"mimic joints follow joints without an angle: {words}")
        for h in ready:
            of, factor, added = robot.mimics[names[h]]
            angles[:, h] = factor * angles[:, names.index(of)] + added
            known.add(names[h])
        waiting = [h for h in waiting if h not in ready]
    return angles


def parse_quaternions(numbers: F64, order: str | None, default_order: str, what: str) -> F64:
    """Return rotations (T, 4), (x, y, z, w), from the quaternions of a file.

    `order` comes from the user or the file. If neither states it, `default_order` is used, and a
    root that would lie down in it but stand upright in the other order is an error, because a wrong
    order gives plausible motion.
    """
    order = None if order is None else _check_order(order)
    lengths = np.linalg.norm(numbers, axis=1)
    if not np.abs(lengths - 1).max() < MAX_NORM_ERROR:
        bad = int(np.argmax(~(np.abs(lengths - 1) < MAX_NORM_ERROR)))
        raise CorruptionError(f"{what} must be unit quaternions, got {numbers[bad]} in frame {bad}")
    unit = numbers / lengths[:, np.newaxis]
    if order is None:
        order = default_order
        other = ORDERS[1 - ORDERS.index(default_order)]
        if (
            _median_up(_to_xyzw(unit, default_order)) < MAX_LYING
            and _median_up(_to_xyzw(unit, other)) > MIN_UPRIGHT
        ):
            raise CorruptionError(
                f"{what} look like ({', '.join(other)}), but ({', '.join(default_order)}) is "
                f"usual; pass --quaternion {other} or --quaternion {default_order}"
            )
    return _to_xyzw(unit, order)


def build_clip(
    robot: Robot,
    angles: F64,
    positions: F64 | None,
    turns: F64 | None,
    *,
    fps: float | None,
    default_fps: float = DEFAULT_FPS,
    source: str,
    local: F64 | None = None,
) -> Clip:
    """Build a clip from angles (T, H) and the root's positions (T, 3) and rotations (T, 4).

    `fps` is None if neither the file nor the user states it. `local` are the rotations (T, J, 4) of
    ball joints.
    """
    metadata = robot.metadata() | {"source": source}
    fps = choose_frame_rate(fps, default_fps, metadata)
    if not 1e-3 < fps < 1e6:
        raise CorruptionError(
            f"frame rate must be in 0.001..1000000 frames per second, got {fps:.6g}"
        )
    if not len(angles):
        raise CorruptionError("a motion must have at least 1 frame, got 0")
    parts = {"joint angles": angles, "root positions": positions, "root rotations": turns}
    for name, part in parts.items():
        if part is not None and not np.isfinite(part).all():
            raise CorruptionError(f"{name} must be finite")
    with convert_errors(InvalidClipError):
        clip = Clip.from_angles(
            robot.skeleton,
            angles,
            positions,
            turns,
            up=UP,
            frame_rate=fps,
            metadata=metadata,
            local=local,
        )
    dropped = np.abs(clip.angles - angles).max(axis=0) > 1
    if not dropped.any():
        return clip
    # Angles are stored modulo full turns; these joints start beyond half a turn.
    metadata["full_turns_dropped"] = [
        name for name, lost in zip(robot.hinges.names, dropped, strict=True) if lost
    ]
    return Clip(
        replace(clip.header, metadata=metadata),
        clip.rotations,
        clip.translations,
        take_data=clip.take_data,
    )


def split_root(robot: Robot, numbers: F64, what: str) -> tuple[F64 | None, F64 | None, F64]:
    """Split rows into root positions (T, 3), root quaternions (T, 4) and angles.

    A robot with a fixed base has no root in its rows.
    """
    count = numbers.shape[1]
    angles = {len(robot.hinges), len(robot.hinges) - len(robot.mimics)}
    if robot.floating is not True and count in angles:
        return None, None, numbers
    if robot.floating is False or count - 7 not in angles:
        wanted = " or ".join(
            str(n + 7 * (robot.floating is not False)) for n in sorted(angles, reverse=True)
        )
        root = "" if robot.floating is False else "root x y z, root quaternion, "
        raise CorruptionError(
            f"{what} has {count} columns, but the robot {robot.name!r} needs {wanted}: "
            f"{root}{len(robot.hinges)} angles ({list_names(robot.hinges.names)})"
        )
    return numbers[:, :3], numbers[:, 3:7], numbers[:, 7:]


def _check_order(order: str) -> str:
    if order not in ORDERS:
        raise UsageError(f"quaternion order must be {' or '.join(ORDERS)}, got {order[:40]!r}")
    return order


def _to_xyzw(numbers: F64, order: str) -> F64:
    return np.roll(numbers, -1, axis=1) if order == "wxyz" else numbers


def _median_up(turns: F64) -> float:
    """Return the median height of the root's own z axis: 1 upright, -1 upside down."""
    axis = np.broadcast_to([0.0, 0.0, 1.0], (len(turns), 3))
    return float(np.median(rotations.rotate(turns, axis)[:, 2]))


def _strip_suffixes(name: str) -> str:
    name = name.strip().lower()
    while name.endswith(NAME_SUFFIXES):  # left_knee_joint_dof has two
        name = name[: -max(len(s) for s in NAME_SUFFIXES if name.endswith(s))]
    return name
