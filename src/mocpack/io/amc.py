"""Acclaim motion files: for each frame a line for each bone. They need their skeleton, an ASF."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mocpack import _core
from mocpack.arrays import F64
from mocpack.clip import Clip, ClipHeader
from mocpack.dofs import from_channels, from_dofs
from mocpack.errors import CorruptionError, FormatError, InvalidClipError, TruncatedError
from mocpack.io import asf, text
from mocpack.io.asf import Asf, Line
from mocpack.io.asf_fit import fit

FRAME_TIME = 1 / 120  # CMU's; the format has no word for it that every program writes


def probe(data: bytes) -> bool:
    """Say whether `data` looks like an AMC file: after comments, keywords, then a frame number."""
    head = re.sub(rb"#[^\r\n]*", b"", data[:65536].removeprefix(b"\xef\xbb\xbf"))
    return bool(re.match(rb"\s*(:[A-Za-z-]+[^\r\n]*\s+)+\d+\s*[\r\n]", head))


def read(data: bytes, *, skeleton: bytes, unit: float | None = None) -> Clip:
    """Return the clip of an AMC file and the ASF file it belongs to.

    `unit` is the length of one of their units in metres, where the ASF is not to be believed.
    """
    try:
        bones = asf.parse(skeleton)
    except FormatError as error:
        raise type(error)(f"in the skeleton: {error}") from error
    metres, guessed = asf.unit_of(bones) if unit is None else (unit, None)
    motion = _Motion(bones)
    numbers = motion.read(data)
    metadata = {"source": "amc"} | ({"unit_guessed": guessed} if guessed else {})
    try:
        if any("l" in bone.dofs for bone in bones.bones):
            bones, numbers = _unstretched(bones, numbers)
            motion.own = False
        tree = asf.to_skeleton(bones, metres)
        header = ClipHeader(
            tree, len(numbers), motion.frame_time, tree.translated_joints, metres, metadata
        )
        clip = from_channels(numbers, header)
        return clip if motion.own else Clip(header, clip.rotations, clip.translations)
    except InvalidClipError as error:
        raise CorruptionError(str(error)) from error


def rest_pose(data: bytes, *, unit: float | None = None) -> Clip:
    """Return the skeleton of an ASF file as a clip of one frame."""
    bones = asf.with_stretch_joints(asf.parse(data))
    metres, guessed = asf.unit_of(bones) if unit is None else (unit, None)
    tree = asf.to_skeleton(bones, metres)
    metadata = {"source": "asf"} | ({"unit_guessed": guessed} if guessed else {})
    header = ClipHeader(tree, 1, FRAME_TIME, tree.translated_joints, metres, metadata)
    return from_dofs(np.zeros((1, tree.channel_count)), header)


def write(clip: Clip) -> bytes:
    """Return the clip as an AMC file; `write_skeleton` gives the ASF that belongs to it."""
    clip = fit(clip)
    lines = ["# Acclaim motion written by mocpack"]
    if clip.frame_time != FRAME_TIME:
        lines.append(f":SAMPLES-PER-SECOND {text.decimal(_rate(clip.frame_time))}")
    lines += [":FULLY-SPECIFIED", ":DEGREES"]
    stops = np.cumsum([len(c) for c in clip.skeleton.channels])
    bones = [
        (name, stop - len(channels), stop)
        for name, channels, stop in zip(
            (asf.ROOT, *clip.skeleton.names[1:]), clip.skeleton.channels, stops, strict=True
        )
        if channels
    ]
    for frame, line in enumerate(text.lines(clip).decode().splitlines(), 1):
        row = line.split()
        lines.append(str(frame))
        lines += [f"{name} {' '.join(row[a:b])}" for name, a, b in bones]
    return ("\n".join(lines) + "\n").encode()


def write_skeleton(clip: Clip) -> bytes:
    """Return the ASF file that belongs to what `write` gives."""
    clip = fit(clip)
    return asf.write(clip.skeleton, clip.unit)


def find_skeleton(path: Path) -> Path:
    """Return the ASF file beside an AMC file: 02_01.asf, 02.asf, or the only one there."""
    folder = path.parent
    subject = path.stem.rpartition("_")[0] or path.stem.partition("_")[0]
    beside = sorted(p for p in folder.iterdir() if p.suffix.lower() == ".asf")
    for stem in (path.stem, subject, path.stem.partition("_")[0]):
        for candidate in beside:
            if candidate.stem.lower() == stem.lower():
                return candidate
    if len(beside) == 1:
        return beside[0]
    found = (
        f"of the {len(beside)} .asf files beside it none is called {path.stem}.asf or {subject}.asf"
        if beside
        else "there is no .asf file beside it"
    )
    raise FormatError(
        f"{path}: an .amc needs its skeleton, and {found}; name one (--skeleton FILE, skeleton=)"
    )


@dataclass
class _Motion:
    """Reads the frames of one file. `own` says whether the numbers are as the file prints them."""

    bones: Asf
    frame_time: float = FRAME_TIME
    degrees: bool = True
    complete: bool = False
    own: bool = True
    rows: list[F64] = field(default_factory=list)

    def read(self, data: bytes) -> F64:
        self.degrees = self.bones.degrees
        lines = asf.lines_of(data)
        first = self._keywords(lines)
        columns = self._columns()
        width = sum(len(bone.dofs) for bone in self.bones.bones)
        if not width:
            raise CorruptionError("the skeleton has no degrees of freedom")
        for number, frame in _frames(first, lines):
            self.rows.append(self._frame(number, frame, columns, width))
        if not self.rows:
            raise TruncatedError("the motion has no frames")
        numbers = np.array(self.rows)
        if not self.degrees:
            angles = [d.startswith("r") for bone in self.bones.bones for d in bone.dofs]
            numbers[:, angles] = np.degrees(numbers[:, angles])
            self.own = False
        return numbers

    def _keywords(self, lines: Iterator[Line]) -> Line | None:
        """Take the lines that begin with a colon; return the first that does not."""
        for line in lines:
            if not line.words[0].startswith(b":"):
                return line
            word = line.words[0].upper()
            if word in (b":DEGREES", b":RADIANS"):
                self.degrees = word == b":DEGREES"
            elif word == b":FULLY-SPECIFIED":
                self.complete = True
            elif word == b":SAMPLES-PER-SECOND":
                rate = float(line.numbers(1)[0])
                if not 1e-6 <= rate <= 1e6:
                    raise line.fault(f"expected frames a second, got {rate:g}")
                self.frame_time = 1 / rate
        return None

    def _columns(self) -> dict[bytes, tuple[int, int]]:
        columns, at = {}, 0
        for bone in self.bones.bones:
            columns[bone.name.encode()] = (at, len(bone.dofs))
            at += len(bone.dofs)
        return columns

    def _frame(
        self, number: Line, lines: list[Line], columns: dict[bytes, tuple[int, int]], width: int
    ) -> F64:
        """Return one row; where the file need not be complete, what is left out stays put."""
        words: list[bytes] = []
        places: list[int] = []
        for line in lines:
            start, count = self._place(line, columns)
            words += line.words[1:]
            places += range(start, start + count)
        values = np.empty(len(words))
        read, _ = _core.parse_numbers(b" ".join(words), 0, values)
        if read < len(words):
            raise _bad_number(lines, read)
        if len(places) == width == len(set(places)):
            row = np.empty(width)
        elif len(places) > len(set(places)):
            raise number.fault(f"frame {len(self.rows) + 1} has a bone twice")
        elif self.complete:
            missing = _missing(columns, set(places))
            raise number.fault(f"frame {len(self.rows) + 1} has no values for bone {missing!r}")
        else:
            row = self.rows[-1].copy() if self.rows else np.zeros(width)
        row[places] = values
        return row

    def _place(self, line: Line, columns: dict[bytes, tuple[int, int]]) -> tuple[int, int]:
        name = line.words[0].decode("utf-8", "replace")
        if line.words[0] not in columns:
            raise line.fault(f"the skeleton has no bone called {name[:40]!r}")
        start, count = columns[line.words[0]]
        if len(line.words) != count + 1:
            raise line.fault(
                f"bone {name!r} has {count} degrees of freedom, but {len(line.words) - 1} values"
            )
        return start, count


def _frames(first: Line | None, lines: Iterator[Line]) -> Iterator[tuple[Line, list[Line]]]:
    """Yield the line of each frame's number and the lines of its bones; numbers must run on."""
    if first is None:
        return
    number = first
    bones: list[Line] = []
    expected = _frame_number(number)
    for line in lines:
        if len(line.words) > 1 or not line.words[0].isdigit():
            bones.append(line)
            continue
        yield number, bones
        number, bones, expected = line, [], expected + 1
        if _frame_number(line) != expected:
            raise line.fault(f"expected frame {expected}, got {_frame_number(line)}")
    yield number, bones


def _frame_number(line: Line) -> int:
    word = line.words[0]
    if len(line.words) > 1 or not word.isdigit() or len(word) > 15:
        raise line.fault(f"expected a frame's number, got {word[:40].decode('utf-8', 'replace')!r}")
    return int(word)


def _bad_number(lines: list[Line], index: int) -> FormatError:
    for line in lines:
        if index < len(line.words) - 1:
            break
        index -= len(line.words) - 1
    word = line.words[1 + index][:40].decode("utf-8", "replace")
    return line.fault(f"expected a number, got {word!r}")


def _missing(columns: dict[bytes, tuple[int, int]], places: set[int]) -> str:
    return next(
        name.decode() for name, (start, count) in columns.items() if count and start not in places
    )


def _unstretched(bones: Asf, numbers: F64) -> tuple[Asf, F64]:
    """Turn each dof "l" into the three translations of the joint that slides along the bone."""
    columns: list[F64] = []
    at = 0
    for bone in bones.bones:
        for dof in sorted(bone.dofs, key=lambda d: d == "l"):
            column = numbers[:, [at + bone.dofs.index(dof)]]
            direction = bone.vector / max(float(np.linalg.norm(bone.vector)), 1e-300)
            columns.append(column * direction if dof == "l" else column)
        at += len(bone.dofs)
    return asf.with_stretch_joints(bones), np.hstack(columns)


def _rate(frame_time: float) -> float:
    """Return the rate from which a reader finds this very frame time, if there is one."""
    rate = 1 / frame_time
    near = (rate, np.nextafter(rate, np.inf), np.nextafter(rate, 0.0))
    return next((float(r) for r in near if 1 / r == frame_time), rate)
