"""BVH files: a text format with one hierarchy and one line of numbers per frame.

Position channels replace OFFSET. A BVH has no unit; the reader guesses it from the size of the
skeleton (`unit_guess.py`) unless the caller names one.
"""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass, field, replace

import numpy as np

from mocpack import _core
from mocpack.common.arrays import F64
from mocpack.common.units import format_length
from mocpack.errors import CorruptionError, FormatError, FormatWarning, TruncatedError
from mocpack.io import text
from mocpack.io.bvh_fit import fit, list_children
from mocpack.io.unit_guess import guess_unit
from mocpack.model.clip import Clip, ClipHeader
from mocpack.model.dofs import from_channels, to_channels
from mocpack.model.skeleton import (
    MAX_END_SITES,
    MAX_JOINTS,
    MAX_NAME,
    POSITION_CHANNELS,
    ROTATION_CHANNELS,
    Skeleton,
    channel_hinges,
)

MAX_DEPTH = 10_000
MAX_INDENT_TABS = 100  # limits the file size of chains of thousands of joints
CHANNEL_NAMES = {name.lower(): name for name in POSITION_CHANNELS[:3] + ROTATION_CHANNELS[:3]}


def probe(data: bytes) -> bool:
    """Return whether `data` looks like a BVH file."""
    return data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").upper().startswith(b"HIERARCHY")


def read(data: bytes, *, unit: float | None = None) -> Clip:
    """Return the clip of a BVH file; `unit` is the length of one file unit in meters."""
    parser = _Parser(data)
    tree = parser.parse_hierarchy()
    frame_count, frame_time = parser.parse_motion_header()
    numbers = parser.numbers(frame_count, sum(map(len, tree.channels)))
    meters, guessed = guess_unit(tree, numbers[0]) if unit is None else (unit, None)
    skeleton = Skeleton(
        tuple(tree.names),
        tuple(tree.parents),
        np.array(tree.offsets) * meters,
        np.array(tree.end_sites).reshape(-1, 3) * meters,
        tuple(tree.end_joints),
        tuple(tree.channels),
    )
    skeleton = replace(skeleton, hinges=channel_hinges(skeleton))
    metadata = {"source": "bvh"} | ({"unit_guessed": guessed} if guessed else {})
    header = ClipHeader(
        skeleton, frame_count, frame_time, skeleton.translated_joints, meters, metadata
    )
    return from_channels(numbers, header)


def write(clip: Clip) -> bytes:
    """Return the clip as a BVH file, in its source's unit, frame time and channel order."""
    clip = fit(clip)
    _warn_of_unit(clip)
    lines = ["HIERARCHY"]
    _write_hierarchy(lines, clip)
    lines += ["MOTION", f"Frames: {clip.frame_count}"]
    lines.append(f"Frame Time: {text.format_number(clip.frame_time)}")
    return ("\n".join(lines) + "\n").encode() + text.format_channels(clip)


def _warn_of_unit(clip: Clip) -> None:
    """Warn if readers will guess another unit than that of the file."""
    skeleton, unit = clip.skeleton, clip.unit
    tree = Tree(
        list(skeleton.names),
        list(skeleton.parents),
        (skeleton.offsets / unit).tolist(),
        list(skeleton.channels),
        (skeleton.end_sites / unit).tolist(),
        list(skeleton.end_site_joints),
    )
    guessed, name = guess_unit(tree, to_channels(clip.frames(0, 1))[0])
    if not math.isclose(guessed, unit, rel_tol=1e-9):
        warnings.warn(
            f"a BVH states no unit: readers will guess {name}, but 1 unit of this one is "
            f"{format_length(unit)}; read it with --unit {unit:.9g}m",
            FormatWarning,
            stacklevel=3,
        )


@dataclass
class Tree:
    """A hierarchy in file units."""

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    offsets: list[list[float]] = field(default_factory=list)
    channels: list[tuple[str, ...]] = field(default_factory=list)
    end_sites: list[list[float]] = field(default_factory=list)
    end_joints: list[int] = field(default_factory=list)


class _Parser:
    """Parse the text token by token, so that every error can name its line."""

    _TOKEN = re.compile(rb"[{}]|[^\s{}]+")
    _NAME = re.compile(rb"\s*([^\r\n{}]*)")
    _FRAMES = re.compile(rb"\s*FRAMES\s*:", re.IGNORECASE)
    _FRAME_TIME = re.compile(rb"\s*FRAME\s+TIME\s*:", re.IGNORECASE)

    def __init__(self, data: bytes) -> None:
        self._data = data.removeprefix(b"\xef\xbb\xbf")
        self._at = 0
        self._start = 0  # of the last token, for errors
        self._seen: set[str] = set()
        self._frame_count_end = 0  # end of the frame count, for errors

    def parse_hierarchy(self) -> Tree:
        tree = Tree()
        word = self._next("HIERARCHY")
        if word.upper() != "HIERARCHY":
            raise self._fault(f"not a BVH file: expected HIERARCHY, got {word[:40]!r}")
        self._expect("ROOT")
        self._begin_joint(tree, -1)
        stack = [0]
        while stack:
            joint = stack[-1]
            word = self._next("a joint or a closing brace").upper()
            if word == "JOINT":
                self._begin_joint(tree, joint)
                stack.append(len(tree.names) - 1)
                if len(stack) > MAX_DEPTH:
                    raise self._fault(f"joints are nested deeper than {MAX_DEPTH}")
            elif word == "END":
                self._end_site(tree, joint)
            elif word == "OFFSET" and not tree.offsets[joint]:
                tree.offsets[joint] = self._numbers("a coordinate", 3)
            elif word == "CHANNELS" and not tree.channels[joint]:
                tree.channels[joint] = self._channels()
            elif word in ("OFFSET", "CHANNELS"):
                raise self._fault(f"joint {tree.names[joint]!r} has {word} twice")
            elif word == "}":
                if not tree.offsets[joint]:
                    raise self._fault(f"joint {tree.names[joint]!r} has no OFFSET")
                stack.pop()
            else:
                raise self._fault(
                    f"expected JOINT, End Site, OFFSET, CHANNELS or }}, got {word[:40]!r}"
                )
        order = sorted(range(len(tree.end_joints)), key=tree.end_joints.__getitem__)
        tree.end_sites = [tree.end_sites[i] for i in order]
        tree.end_joints = [tree.end_joints[i] for i in order]
        return tree

    def parse_motion_header(self) -> tuple[int, float]:
        word = self._next("MOTION").upper()
        if word == "ROOT":
            raise self._fault("the file has several roots; a BVH file must have one skeleton")
        if word != "MOTION":
            raise self._fault(f"expected MOTION, got {word[:40]!r}")
        self._label(self._FRAMES, "Frames:")
        frame_count = self._integer("a frame count", 1)
        self._frame_count_end = self._at
        self._label(self._FRAME_TIME, "Frame Time:")
        (frame_time,) = self._numbers("a frame time", 1)
        if not 1e-6 <= frame_time <= 1e6:
            raise self._fault(f"expected a frame time in 1e-6..1e6 seconds, got {frame_time:g}")
        return frame_count, frame_time

    def numbers(self, frames: int, columns: int) -> F64:
        """Parse the block of numbers, whose size must match the header."""
        if columns < 1:
            raise self._fault("the skeleton has no channels")
        # A number takes at least two bytes. This keeps a small file from requesting much memory.
        if frames * columns > (len(self._data) - self._at + 1) // 2:
            self._at = self._frame_count_end
            raise TruncatedError(
                f"line {self._line()}: the header states {frames} frames of {columns} channels, "
                "more than the rest of the file can hold"
            )
        values = np.empty(frames * columns)
        start = self._at
        count, stop = _core.parse_numbers(self._data, start, values)
        self._start = self._at = stop
        if count < len(values) and stop < len(self._data):
            token = self._next("a number")
            raise self._fault(
                f"expected a number for frame {count // columns}, channel {count % columns}, "
                f"got {token[:40]!r}"
            )
        if count < len(values):
            raise TruncatedError(
                f"line {self._line()}: the header states {frames} frames of {columns} channels, "
                f"but the data ends after {count // columns} frames and {count % columns} numbers"
            )
        if stop < len(self._data):
            raise self._fault(
                f"the header states {frames} frames of {columns} channels, but more data follows"
            )
        values.setflags(write=False)  # lets the clip keep the array without a copy
        return values.reshape(frames, columns)

    def _begin_joint(self, tree: Tree, parent: int) -> None:
        match = self._NAME.match(self._data, self._at)
        assert match is not None  # the pattern also matches the empty string
        self._start, self._at = match.start(1), match.end()
        name = match.group(1).strip().decode("utf-8", "replace")
        if not name:
            raise self._fault("a joint has no name")
        if name in self._seen:
            raise self._fault(f"joint name {name[:40]!r} is used twice")
        if len(name.encode()) > MAX_NAME or len(tree.names) == MAX_JOINTS:
            raise self._fault(
                f"a file has at most {MAX_JOINTS} joints, with names of at most {MAX_NAME} bytes"
            )
        self._seen.add(name)
        tree.names.append(name)
        tree.parents.append(parent)
        tree.offsets.append([])
        tree.channels.append(())
        self._expect("{")

    def _end_site(self, tree: Tree, joint: int) -> None:
        self._expect("SITE")
        if len(tree.end_joints) == MAX_END_SITES:
            raise self._fault(f"a file has at most {MAX_END_SITES} end sites")
        self._expect("{")
        self._expect("OFFSET")
        tree.end_sites.append(self._numbers("a coordinate", 3))
        tree.end_joints.append(joint)
        self._expect("}")

    def _channels(self) -> tuple[str, ...]:
        names = []
        for _ in range(self._integer("a channel count", 0, 6)):
            word = self._next("a channel")
            if word.lower() not in CHANNEL_NAMES:
                raise self._fault(f"expected a channel such as Zrotation, got {word[:40]!r}")
            if CHANNEL_NAMES[word.lower()] in names:
                raise self._fault(f"a joint has channel {word} twice")
            names.append(CHANNEL_NAMES[word.lower()])
        return tuple(names)

    def _numbers(self, what: str, count: int) -> list[float]:
        values: list[float] = []
        while len(values) < count:
            word = self._next(what)
            value = text.parse_number(word.encode())
            if value is None:
                raise self._fault(f"expected {what}, got {word[:40]!r}")
            values.append(value)
        return values

    def _integer(self, what: str, low: int, high: int = 2**40) -> int:
        word = self._next(what)
        if not (word.isascii() and word.isdigit() and len(word) < 15 and low <= int(word) <= high):
            raise self._fault(f"expected {what} from {low} to {high}, got {word[:40]!r}")
        return int(word)

    def _label(self, pattern: re.Pattern[bytes], label: str) -> None:
        match = pattern.match(self._data, self._at)
        if match is None:
            raise self._fault(f"expected {label}, got {self._next(label)[:40]!r}")
        self._at = match.end()

    def _expect(self, word: str) -> None:
        token = self._next(word)
        if token.upper() != word:
            raise self._fault(f"expected {word}, got {token[:40]!r}")

    def _next(self, what: str) -> str:
        match = self._TOKEN.search(self._data, self._at)
        if match is None:
            raise TruncatedError(f"line {self._line()}: the file ends before {what}")
        self._start, self._at = match.start(), match.end()
        return match.group().decode("utf-8", "replace")

    def _line(self) -> int:
        before = self._data[: self._at]
        returns = before.count(b"\r") - before.count(b"\r\n")
        return 1 + before.count(b"\n") + returns

    def _fault(self, message: str) -> FormatError:
        self._at = self._start
        return CorruptionError(f"line {self._line()}: {message}")


def _write_hierarchy(lines: list[str], clip: Clip) -> None:
    skeleton, unit = clip.skeleton, clip.unit
    children = list_children(skeleton)
    ends: dict[int, list[F64]] = {}
    for carrier, site in zip(skeleton.end_site_joints, skeleton.end_sites, strict=True):
        ends.setdefault(carrier, []).append(site)
    # A stack instead of recursion, because a chain may have thousands of joints.
    stack: list[tuple[int, int]] = [(0, 0)]
    while stack:
        joint, depth = stack.pop()
        pad = "\t" * min(depth, MAX_INDENT_TABS)
        if joint < 0:
            lines.append(f"{pad}}}")
            continue
        word = "JOINT" if joint else "ROOT"
        lines += [f"{pad}{word} {skeleton.names[joint]}", f"{pad}{{"]
        lines.append(f"{pad}\tOFFSET {_vector(skeleton.offsets[joint], unit)}")
        names = skeleton.channels[joint]
        lines.append(f"{pad}\tCHANNELS {len(names)} {' '.join(names)}".rstrip())
        for site in ends.get(joint, []):
            lines += _end_site(pad, _vector(site, unit))
        if not children[joint] and joint not in ends:
            # Many readers expect an end site on every chain; one of length 0 changes nothing.
            lines += _end_site(pad, "0 0 0")
        stack.append((-1, depth))
        stack += [(child, depth + 1) for child in reversed(children[joint])]


def _end_site(pad: str, offset: str) -> list[str]:
    return [f"{pad}\tEnd Site", f"{pad}\t{{", f"{pad}\t\tOFFSET {offset}", f"{pad}\t}}"]


def _vector(meters: F64, unit: float) -> str:
    return " ".join(text.format_number(v) for v in text.to_source_numbers(meters, unit))
