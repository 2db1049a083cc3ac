"""Motions of a robot: columns matched to its joints by name, and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mocpack import rotations
from mocpack.arrays import F64
from mocpack.clip import Clip
from mocpack.errors import CorruptionError, InvalidClipError, UsageError
from mocpack.io.robots.model import UP, Robot

ORDERS = ("xyzw", "wxyz")
MAX_NORM_ERROR = 1e-2  # that the length of a quaternion may be off, as few decimals make it
MIN_UPRIGHT, MAX_LYING = 0.9, 0.3  # of the height of a root's own z axis
MAX_NAMES_LISTED = 40  # names that a complaint lists at most
NAME_SUFFIXES = ("_joint", "_dof", "_pos", "_position", ".pos")


def match_columns_by_name(robot: Robot, names: Sequence[str], what: str) -> list[int]:
    """Return for each of the robot's angles which of these columns has it, -1 for one that mimics.

    Names are the robot's own; ``_joint``, ``_dof`` or ``_pos`` at their ends do not count.
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
            f"{what} does not fit the robot {robot.name!r}: "
            + "; ".join(
                f"{words} {list_names(found)}"
                for words, found in (("it has no", missing), ("the robot has no", strange))
                if found
            )
        )
    return [place.get(_strip_suffixes(name), -1) for name in robot.hinges.names]


def match_columns_by_count(robot: Robot, count: int, what: str) -> list[int]:
    """Return for each of the robot's angles its column, of a file that does not name them."""
    hinges = robot.hinges.names
    free = [name for name in hinges if name not in robot.mimics]
    if count == len(hinges):
        return list(range(count))
    if count == len(free):
        return [free.index(name) if name in free else -1 for name in hinges]
    raise CorruptionError(
        f"{what} has {count} angles, the robot {robot.name!r} has {len(free)}: {list_names(hinges)}"
    )


def to_angles(robot: Robot, numbers: F64, columns: Sequence[int]) -> F64:
    """Return angles (T, H) of the robot from numbers (T, N); joints that mimic follow theirs."""
    angles = np.zeros((len(numbers), len(columns)))
    given = [h for h, column in enumerate(columns) if column >= 0]
    angles[:, given] = numbers[:, [columns[h] for h in given]]
    names = robot.hinges.names
    known = {names[h] for h in given}
    # one may follow another that follows a third
    waiting = [h for h, column in enumerate(columns) if column < 0]
    while waiting:
        ready = [h for h in waiting if robot.mimics[names[h]][0] in known]
        if not ready:
            words = list_names([names[h] for h in waiting])
            raise CorruptionError(f"joints of the robot mimic what has no angle: {words}")
        for h in ready:
            of, factor, added = robot.mimics[names[h]]
            angles[:, h] = factor * angles[:, names.index(of)] + added
            known.add(names[h])
        waiting = [h for h in waiting if h not in ready]
    return angles


def parse_quaternions(numbers: F64, order: str | None, default_order: str, what: str) -> F64:
    """Return rotations (T, 4), (x, y, z, w), from quaternions as a file has them.

    `order` is what the user or the file says. Where nobody does, it is the `default_order` one, and a root
    that would lie down in it but stand upright in the other is an error: a wrong order gives a
    motion that looks like one.
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
                f"{what} look like ({', '.join(other)}), where ({', '.join(default_order)}) is usual; "
                f"say which it is: --quaternion {other}, or --quaternion {default_order}"
            )
    return _to_xyzw(unit, order)


def build_clip(
    robot: Robot,
    angles: F64,
    places: F64 | None,
    turns: F64 | None,
    *,
    fps: float,
    source: str,
    **others: Any,
) -> Clip:
    """Return the clip of angles (T, H), places (T, 3) and rotations (T, 4) of the root."""
    if not 1e-3 < fps < 1e6:
        raise CorruptionError(f"frames a second must be in 0.001..1000000, got {fps:.6g}")
    if not len(angles):
        raise CorruptionError("a motion must have at least 1 frame, got 0")
    parts = {"joint angles": angles, "root positions": places, "root rotations": turns}
    for name, part in parts.items():
        if part is not None and not np.isfinite(part).all():
            raise CorruptionError(f"{name} must be finite")
    metadata = robot.metadata() | {"source": source}
    try:
        clip = Clip.from_angles(
            robot.skeleton,
            angles,
            places,
            turns,
            up=UP,
            frame_rate=fps,
            metadata=metadata,
            **others,
        )
    except InvalidClipError as error:
        raise CorruptionError(str(error)) from error
    dropped = np.abs(clip.angles - angles).max(axis=0) > 1
    if not dropped.any():
        return clip
    # said in the file: an angle is kept up to full turns, and these began beyond half a turn
    metadata["full_turns_dropped"] = [
        name for name, lost in zip(robot.hinges.names, dropped, strict=True) if lost
    ]
    return Clip(
        clip.with_header(metadata=metadata),
        clip.rotations,
        clip.translations,
        take_data=clip.take_data,
    )


def split_root(robot: Robot, numbers: F64, what: str) -> tuple[F64 | None, F64 | None, F64]:
    """Return places (T, 3), quaternions (T, 4) and angles of rows of root and angles.

    A robot that stands fixed has no root in its rows.
    """
    count = numbers.shape[1]
    angles = {len(robot.hinges), len(robot.hinges) - len(robot.mimics)}
    if robot.floating is not True and count in angles:
        return None, None, numbers
    if robot.floating is False or count - 7 not in angles:
        wanted = " or ".join(
            str(n + 7 * (robot.floating is not False)) for n in sorted(angles, reverse=True)
        )
        root = "" if robot.floating is False else "root x y z, its quaternion, and "
        raise CorruptionError(
            f"{what} has {count} columns, the robot {robot.name!r} needs {wanted}: {root}"
            f"{len(robot.hinges)} angles, {list_names(robot.hinges.names)}"
        )
    return numbers[:, :3], numbers[:, 3:7], numbers[:, 7:]


def _check_order(order: str) -> str:
    if order not in ORDERS:
        raise UsageError(f"a quaternion's order is {' or '.join(ORDERS)}, got {order[:40]!r}")
    return order


def _to_xyzw(numbers: F64, order: str) -> F64:
    return np.roll(numbers, -1, axis=1) if order == "wxyz" else numbers


def _median_up(turns: F64) -> float:
    """Return the median height of the root's own z axis, 1 upright, -1 head down."""
    axis = np.broadcast_to([0.0, 0.0, 1.0], (len(turns), 3))
    return float(np.median(rotations.rotate(turns, axis)[:, 2]))


def _strip_suffixes(name: str) -> str:
    for ending in NAME_SUFFIXES:
        name = name.removesuffix(ending)
    return name.strip().lower()


def list_names(names: Sequence[str]) -> str:
    """Return names for a complaint, not too many of them."""
    words = ", ".join(name[:60] for name in names[:MAX_NAMES_LISTED])
    return (
        words
        if len(names) <= MAX_NAMES_LISTED
        else f"{words} and {len(names) - MAX_NAMES_LISTED} more"
    )
