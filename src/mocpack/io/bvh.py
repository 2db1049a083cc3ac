"""Biovision hierarchy files: text, one hierarchy, one line of numbers for each frame.

Position channels replace OFFSET. A BVH has no unit; the reader guesses it from the skeleton's
size (`units_guess.py`) unless it is told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.clip import Clip, ClipHeader
from mocpack.dofs import from_channels, to_channels
from mocpack.errors import CorruptionError, FormatError, InvalidClipError, TruncatedError
from mocpack.io import text
from mocpack.io.unit_guess import guess_unit
from mocpack.skeleton import DEFAULT_JOINT, DEFAULT_ROOT, Skeleton

F64 = npt.NDArray[np.float64]

MAX_DEPTH = 10_000
CHANNEL = {
    name.lower(): name
    for name in (
        "Xposition",
        "Yposition",
        "Zposition",
        "Xrotation",
        "Yrotation",
        "Zrotation",
    )
}


def probe(data: bytes) -> bool:
    """Say whether `data` looks like a BVH file."""
    return data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").upper().startswith(b"HIERARCHY")


def read(data: bytes, *, unit: float | None = None) -> Clip:
    """Return the clip of a BVH file; `unit` is the length of one of its units in metres."""
    parser = _Parser(data)
    tree = parser.hierarchy()
    frame_count, frame_time = parser.motion_head()
    numbers = parser.numbers(frame_count, sum(map(len, tree.channels)))
    guess = guess_unit(tree, numbers[0] if len(numbers) else None) if unit is None else (unit, None)
    metres, guessed = guess
    try:
        skeleton = Skeleton(
            tuple(tree.names),
            tuple(tree.parents),
            np.array(tree.offsets) * metres,
            np.array(tree.end_sites).reshape(-1, 3) * metres,
            tuple(tree.end_joints),
            tuple(tree.channels),
        )
        metadata = {"source": "bvh"} | ({"unit_guessed": guessed} if guessed else {})
        header = ClipHeader(
            skeleton, frame_count, frame_time, skeleton.translated_joints, metres, metadata
        )
        return from_channels(numbers, header)
    except InvalidClipError as error:
        raise CorruptionError(str(error)) from error


def write(clip: Clip) -> bytes:
    """Return the clip as a BVH file, in its source's unit, frame time and channel order."""
    clip = _as_bvh(clip)
    numbers = to_channels(clip)
    lines = ["HIERARCHY"]
    _write_hierarchy(lines, clip)
    lines += ["MOTION", f"Frames: {clip.frame_count}"]
    lines.append(f"Frame Time: {text.decimal(clip.frame_time)}")
    own = clip.channels is not None
    rows = text.exact(numbers) if own else text.printed(numbers, clip.header)
    return ("\n".join([*lines, *map(" ".join, rows)]) + "\n").encode()


@dataclass
class Tree:
    """A hierarchy as it stands in the file, in the file's units."""

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    offsets: list[list[float]] = field(default_factory=list)
    channels: list[tuple[str, ...]] = field(default_factory=list)
    end_sites: list[list[float]] = field(default_factory=list)
    end_joints: list[int] = field(default_factory=list)


class _Parser:
    """Walks the text once, token by token, so that every complaint can name its line."""

    _TOKEN = re.compile(rb"\S+")
    _LINE = re.compile(rb"[^\r\n]*")

    def __init__(self, data: bytes) -> None:
        self._data = data[3:] if data.startswith(b"\xef\xbb\xbf") else data
        self._at = 0
        self._start = 0  # of the last token, for messages

    def hierarchy(self) -> Tree:
        tree = Tree()
        self._expect("HIERARCHY")
        self._expect("ROOT")
        self._begin_joint(tree, -1)
        stack = [0]
        while stack:
            word = self._next("a hierarchy").upper()
            if word == "JOINT":
                self._begin_joint(tree, stack[-1])
                stack.append(len(tree.names) - 1)
                if len(stack) > MAX_DEPTH:
                    raise self._fault(f"joints are nested deeper than {MAX_DEPTH}")
            elif word == "END":
                self._end_site(tree, stack[-1])
            elif word == "OFFSET":
                tree.offsets[stack[-1]] = self._vector()
            elif word == "CHANNELS":
                tree.channels[stack[-1]] = self._channels()
            elif word == "}":
                stack.pop()
            else:
                raise self._fault(f"expected JOINT, End Site, OFFSET, CHANNELS or }}, got {word!r}")
        order = sorted(range(len(tree.end_joints)), key=tree.end_joints.__getitem__)
        tree.end_sites = [tree.end_sites[i] for i in order]
        tree.end_joints = [tree.end_joints[i] for i in order]
        return tree

    def motion_head(self) -> tuple[int, float]:
        word = self._next("MOTION").upper()
        if word == "ROOT":
            raise self._fault("the file has several roots; mocpack takes one skeleton a file")
        if word != "MOTION":
            raise self._fault(f"expected MOTION, got {word!r}")
        self._expect("FRAMES:")
        frame_count = self._integer("a number of frames", 1)
        self._expect("FRAME")
        self._expect("TIME:")
        frame_time = self._number("a frame time")
        if not 1e-6 <= frame_time <= 1e6:
            raise self._fault(f"expected a frame time in seconds, got {frame_time:g}")
        return frame_count, frame_time

    def numbers(self, frames: int, columns: int) -> F64:
        """Read the block of numbers; its size must be as announced."""
        if columns < 1:
            raise self._fault("the skeleton has no channels")
        announced = self._line()
        # two bytes a number at the least, so that a small file cannot ask for much memory
        if frames * columns > (len(self._data) - self._at + 1) // 2:
            raise TruncatedError(
                f"line {announced}: {frames} frames of {columns} channels are announced, "
                f"more than the rest of the file can hold"
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
                f"line {self._line()}: {frames} frames of {columns} channels are announced, "
                f"but the data ends after {count // columns} frames and {count % columns} numbers"
            )
        if stop < len(self._data):
            raise self._fault(
                f"{frames} frames of {columns} channels are announced, but more data follows"
            )
        return values.reshape(frames, columns)

    def _begin_joint(self, tree: Tree, parent: int) -> None:
        match = self._LINE.match(self._data, self._at)
        assert match is not None  # the pattern matches the empty string too
        self._start = self._at
        line = match.group()
        name, brace, after = line.partition(b"{")
        self._at = match.end() - len(after) - len(brace)
        if not name.strip():
            raise self._fault("a joint has no name")
        tree.names.append(name.strip().decode("utf-8", "replace"))
        tree.parents.append(parent)
        tree.offsets.append([0.0, 0.0, 0.0])
        tree.channels.append(())
        self._expect("{")

    def _end_site(self, tree: Tree, joint: int) -> None:
        self._expect("SITE")
        self._expect("{")
        self._expect("OFFSET")
        tree.end_sites.append(self._vector())
        tree.end_joints.append(joint)
        self._expect("}")

    def _channels(self) -> tuple[str, ...]:
        names = []
        for _ in range(self._integer("a number of channels", 0, 6)):
            word = self._next("a channel")
            if word.lower() not in CHANNEL:
                raise self._fault(f"expected a channel such as Zrotation, got {word!r}")
            names.append(CHANNEL[word.lower()])
        return tuple(names)

    def _vector(self) -> list[float]:
        return [self._number("a coordinate") for _ in range(3)]

    def _number(self, what: str) -> float:
        word = self._next(what)
        value = text.parse_number(word.encode())
        if value is None:
            raise self._fault(f"expected {what}, got {word[:40]!r}")
        return value

    def _integer(self, what: str, low: int, high: int = 2**40) -> int:
        word = self._next(what)
        if not (word.isascii() and word.isdigit() and len(word) < 15 and low <= int(word) <= high):
            raise self._fault(f"expected {what} of at least {low}, got {word[:40]!r}")
        return int(word)

    def _expect(self, word: str) -> None:
        found = self._next(word)
        if found.upper() != word:
            raise self._fault(f"expected {word}, got {found[:40]!r}")

    def _next(self, what: str) -> str:
        match = self._TOKEN.search(self._data, self._at)
        if match is None:
            raise TruncatedError(f"line {self._line()}: the file ends where {what} should stand")
        self._start, self._at = match.start(), match.end()
        return match.group().decode("utf-8", "replace")

    def _line(self) -> int:
        before = self._data[: self._at]
        returns = before.count(b"\r") - before.count(b"\r\n")
        return 1 + before.count(b"\n") + returns

    def _fault(self, message: str) -> FormatError:
        self._at = self._start
        return CorruptionError(f"line {self._line()}: {message}")


def _as_bvh(clip: Clip) -> Clip:
    """Give a clip BVH channels where its own are of another kind or cannot hold its motion."""
    names = [c for channels in clip.skeleton.channels for c in channels]
    whole = all(n in CHANNEL.values() for n in names) and all(
        len(clip.skeleton.channels[j]) >= 3 for j in clip.translated_joints
    )
    if whole and (clip.channels is not None or _expressible(clip)):
        return clip
    s = clip.skeleton
    moved = set(clip.translated_joints)
    skeleton = Skeleton(
        s.names,
        s.parents,
        s.offsets,
        s.end_sites,
        s.end_site_joints,
        tuple(DEFAULT_ROOT if j in moved else DEFAULT_JOINT for j in range(len(s))),
    )
    return Clip(clip.with_header(skeleton=skeleton), clip.rotations, clip.translations)


def _expressible(clip: Clip) -> bool:
    try:
        to_channels(clip)
    except ValueError:
        return False
    return True


def _write_hierarchy(lines: list[str], clip: Clip) -> None:
    skeleton, unit = clip.skeleton, clip.unit
    children: list[list[int]] = [[] for _ in skeleton.names]
    for j, parent in enumerate(skeleton.parents[1:], 1):
        children[parent].append(j)
    # a stack in place of recursion, so that a chain of thousands of joints can be written
    stack: list[tuple[int, int]] = [(0, 0)]
    while stack:
        joint, depth = stack.pop()
        pad = "\t" * depth
        if joint < 0:
            lines.append(f"{pad}}}")
            continue
        word = "JOINT" if joint else "ROOT"
        lines += [f"{pad}{word} {skeleton.names[joint]}", f"{pad}{{"]
        lines.append(f"{pad}\tOFFSET {_vector(skeleton.offsets[joint], unit)}")
        names = skeleton.channels[joint]
        lines.append(f"{pad}\tCHANNELS {len(names)} {' '.join(names)}".rstrip())
        for e, carrier in enumerate(skeleton.end_site_joints):
            if carrier == joint:
                offset = _vector(skeleton.end_sites[e], unit)
                lines += _end_site(pad, offset)
        if not children[joint] and joint not in skeleton.end_site_joints:
            # readers expect every chain to end with a site; one of no length changes nothing
            lines += _end_site(pad, "0 0 0")
        stack.append((-1, depth))
        stack += [(child, depth + 1) for child in reversed(children[joint])]


def _end_site(pad: str, offset: str) -> list[str]:
    return [f"{pad}\tEnd Site", f"{pad}\t{{", f"{pad}\t\tOFFSET {offset}", f"{pad}\t}}"]


def _vector(metres: F64, unit: float) -> str:
    return " ".join(text.decimal(v) for v in text.source_numbers(metres, unit))
