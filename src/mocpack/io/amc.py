"""Acclaim motion files (AMC): one line per bone and frame. The skeleton is in an ASF file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import takewhile
from pathlib import Path

import numpy as np

from mocpack import _core
from mocpack.common.arrays import F64
from mocpack.common.json_object import JsonObject
from mocpack.errors import CorruptionError, FormatError, TruncatedError, name_errors
from mocpack.io import asf, text
from mocpack.io.asf import Asf, Line, iterate_lines, normalize_line_endings
from mocpack.io.asf_fit import fit
from mocpack.io.assumptions import choose_frame_rate
from mocpack.io.text import parse_number
from mocpack.model.clip import Clip, ClipHeader
from mocpack.model.dofs import from_channels, from_dofs
from mocpack.model.skeleton import Skeleton

MAX_SPARSE_NUMBERS = 1 << 23  # of a motion with incomplete frames: 64 MiB
MAX_FRAME_NUMBER_DIGITS = 15
LIMIT_TOLERANCE = 1e-4  # radians; limits in files are rounded
DEFAULT_FRAME_RATE = 120.0  # that of CMU's files; most programs do not write the frame rate


def probe(data: bytes) -> bool:
    """Return whether `data` looks like an AMC file: comments, keywords, then a frame number."""
    head = re.sub(rb"#[^\r\n]*", b"", data[:65536].removeprefix(b"\xef\xbb\xbf"))
    return bool(re.match(rb"\s*(:[A-Za-z-]+[^\r\n]*\s+)+\d+\s*[\r\n]", head))


def read(data: bytes, *, skeleton: bytes, unit: float | None = None) -> Clip:
    """Return the clip of an AMC file and its ASF file.

    `unit` is the length of one file unit in meters, if the ASF states a wrong one.
    """
    with name_errors("skeleton"):
        bones = asf.parse(skeleton)
    meters, guessed = asf.choose_unit(bones) if unit is None else (unit, None)
    motion = _Motion(bones)
    numbers = motion.read(data)
    metadata: JsonObject = {"source": "amc"}
    if guessed:
        metadata["unit_guessed"] = guessed
    rate = choose_frame_rate(motion.frame_rate, DEFAULT_FRAME_RATE, metadata)
    if any("l" in bone.dofs for bone in bones.bones):
        bones, numbers = _expand_stretch_dofs(bones, numbers)
        motion.is_verbatim = False
    tree = asf.to_skeleton(bones, meters)
    header = ClipHeader(tree, len(numbers), 1 / rate, tree.translated_joints, meters, metadata)
    clip = from_channels(numbers, header)
    header = replace(header, skeleton=_drop_violated_limits(clip))
    channels = clip.channels if motion.is_verbatim else None
    return Clip(header, clip.rotations, clip.translations, channels)


def _drop_violated_limits(clip: Clip) -> Skeleton:
    """Return the skeleton without the joint limits that its own motion exceeds."""
    hinges = clip.skeleton.hinges
    if hinges is None:
        return clip.skeleton
    angles = clip.hinge_angles().angles
    low, high = hinges.limits.T
    is_within = (angles >= low - LIMIT_TOLERANCE) & (angles <= high + LIMIT_TOLERANCE)
    limits = np.where(is_within.all(axis=0)[:, np.newaxis], hinges.limits, [-np.inf, np.inf])
    return replace(clip.skeleton, hinges=replace(hinges, limits=limits))


def read_rest_pose(data: bytes, *, unit: float | None = None) -> Clip:
    """Return the skeleton of an ASF file as a clip of one frame."""
    bones = asf.add_stretch_joints(asf.parse(data))
    meters, guessed = asf.choose_unit(bones) if unit is None else (unit, None)
    tree = asf.to_skeleton(bones, meters)
    metadata = {"source": "asf"} | ({"unit_guessed": guessed} if guessed else {})
    header = ClipHeader(tree, 1, 1 / DEFAULT_FRAME_RATE, tree.translated_joints, meters, metadata)
    return from_dofs(np.zeros((1, tree.channel_count)), header)


def write(clip: Clip) -> bytes:
    """Return the clip as an AMC file; `write_skeleton` returns the ASF for it."""
    clip = fit(clip)
    lines = ["# Acclaim motion written by mocpack"]
    if clip.frame_time != 1 / DEFAULT_FRAME_RATE:
        lines.append(f":SAMPLES-PER-SECOND {text.format_number(_find_exact_rate(clip.frame_time))}")
    lines += [":FULLY-SPECIFIED", ":DEGREES"]
    stops = np.cumsum([len(c) for c in clip.skeleton.channels])
    bones = [
        (name, stop - len(channels), stop)
        for name, channels, stop in zip(
            (asf.ROOT, *clip.skeleton.names[1:]), clip.skeleton.channels, stops, strict=True
        )
        if channels
    ]
    for frame, line in enumerate(text.format_channels(clip).decode().splitlines(), 1):
        row = line.split()
        lines.append(str(frame))
        lines += [f"{name} {' '.join(row[a:b])}" for name, a, b in bones]
    return ("\n".join(lines) + "\n").encode()


def write_skeleton(clip: Clip) -> bytes:
    """Return the ASF file for what `write` returns."""
    clip = fit(clip)
    return asf.write(clip.skeleton, clip.unit)


def list_skeletons(folder: Path) -> list[Path]:
    """Return the ASF files in a folder."""
    return sorted(path for path in folder.iterdir() if path.suffix.lower() == ".asf")


def find_skeleton(path: Path, list_folder: Callable[[Path], list[Path]] = list_skeletons) -> Path:
    """Return the ASF file for an AMC file: 02_01.asf, 02.asf, or the only one in its folder.

    `list_folder` returns the ASF files of a folder, so that callers can cache it.
    """
    subject = path.stem.rpartition("_")[0] or path.stem.partition("_")[0]
    beside = list_folder(path.parent)
    for stem in (path.stem, subject, path.stem.partition("_")[0]):
        for candidate in beside:
            if candidate.stem.lower() == stem.lower():
                return candidate
    if len(beside) == 1:
        return beside[0]
    reason = (
        f"none of the {len(beside)} .asf files in its folder is named {path.stem}.asf or "
        f"{subject}.asf"
        if beside
        else "its folder has no .asf file"
    )
    raise FormatError(
        f"{path}: an .amc needs a skeleton, but {reason}; name one with --skeleton FILE "
        "(skeleton= in Python)"
    )


def read_frames(text: bytes, bones: Asf, *, complete: bool, start: int = 0) -> F64:
    """Return the numbers (frames, columns) of a motion, as printed in the file.

    Lines end with line feeds; `start` is the offset after the keywords. If the frames are not
    `complete`, an omitted bone keeps its numbers.
    """
    names = [bone.name.encode() for bone in bones.bones]
    columns = np.cumsum([0, *(len(bone.dofs) for bone in bones.bones)], dtype=np.uint32)
    width = int(columns[-1])
    if not width:
        raise CorruptionError("the skeleton has no degrees of freedom (dof)")
    values = np.empty((_count_frames(text, start, width, complete=complete), width))
    starts = np.cumsum([0, *(len(name) for name in names)], dtype=np.uint32)
    by_name = np.array(sorted(range(len(names)), key=names.__getitem__), np.uint32)
    status, frames, at = _core.parse_amc(
        text, start, b"".join(names), starts, by_name, columns, complete, values
    )
    if status:
        first, rest = next(iterate_lines(text, start))[1], iterate_lines(text, at)
        raise _describe_fault(_Fault(status), bones, frames, first, rest)
    if not frames:
        raise TruncatedError("expected at least 1 frame, got 0 frames")
    return values[:frames]


def _count_frames(text: bytes, start: int, width: int, *, complete: bool) -> int:
    """Return an upper bound of the frame count, so that a small file cannot request much memory."""
    frames = _core.count_amc_frames(text, start)
    # A number takes at least two bytes.
    whole = (len(text) - start) // (2 * width) + 1
    if complete:
        return min(frames, whole)
    if frames > max(whole, MAX_SPARSE_NUMBERS // width):
        raise CorruptionError(
            f"{frames} frames of {width} numbers exceed the limit for motions with incomplete "
            "frames"
        )
    return frames


@dataclass
class _Motion:
    """Reads the frames of one file; `is_verbatim` if numbers are as the file prints them."""

    bones: Asf
    frame_rate: float | None = None  # None if the file does not state it
    degrees: bool = True
    complete: bool = False
    is_verbatim: bool = True

    def read(self, data: bytes) -> F64:
        self.degrees = self.bones.degrees
        text = normalize_line_endings(data)
        start = self._parse_keywords(text)
        numbers = read_frames(text, self.bones, complete=self.complete, start=start)
        if not self.degrees:
            angles = [d.startswith("r") for bone in self.bones.bones for d in bone.dofs]
            numbers[:, angles] = np.degrees(numbers[:, angles])
            self.is_verbatim = False
        numbers.setflags(write=False)  # lets the clip keep the array without a copy
        return numbers

    def _parse_keywords(self, text: bytes) -> int:
        """Parse the lines that begin with a colon; return the offset of the first other line."""
        for start, line in iterate_lines(text):
            word = line.words[0].upper()
            if not word.startswith(b":"):
                return start
            if word in (b":DEGREES", b":RADIANS"):
                self.degrees = word == b":DEGREES"
            elif word == b":FULLY-SPECIFIED":
                self.complete = True
            elif word == b":SAMPLES-PER-SECOND":
                rate = float(line.numbers(1)[0])
                if not 1e-6 <= rate <= 1e6:
                    raise line.fault(
                        f"expected a frame rate in 1e-6..1e6 frames per second, got {rate:g}"
                    )
                self.frame_rate = rate
        return len(text)


class _Fault(Enum):
    """Status codes of the native parser (`amc.h`)."""

    NUMBER = 1
    BONE = 2
    TWICE = 3
    MISSING = 4


def _describe_fault(
    fault: _Fault, bones: Asf, frames: int, first: Line, rest: Iterator[tuple[int, Line]]
) -> FormatError:
    """Return the error for the first line of `rest`, which follows `frames` valid frames."""
    _, line = next(rest)
    if fault is _Fault.NUMBER:
        return _describe_bad_frame_number(line, first, frames)
    if fault is _Fault.TWICE:
        return line.fault(f"frame {frames + 1} lists a bone twice")
    if fault is _Fault.MISSING:
        frame = takewhile(lambda row: not _is_frame_number(row[1]), rest)
        given = {row.words[0] for _, row in frame}
        missing = next(b.name for b in bones.bones if b.dofs and b.name.encode() not in given)
        return line.fault(f"frame {frames + 1} has no values for bone {missing!r}")
    return _describe_bad_bone(line, bones)


def _describe_bad_bone(line: Line, bones: Asf) -> FormatError:
    name = line.words[0].decode("utf-8", "replace")
    bone = next((b for b in bones.bones if b.name.encode() == line.words[0]), None)
    if bone is None:
        return line.fault(f"the skeleton has no bone {name[:40]!r}")
    given, count = len(line.words) - 1, len(bone.dofs)
    if given != count:
        return line.fault(f"bone {name!r} has {count} degrees of freedom, got {given} values")
    word = next(w for w in line.words[1:] if parse_number(w) is None)
    return line.fault(f"expected a number, got {word[:40].decode('utf-8', 'replace')!r}")


def _describe_bad_frame_number(line: Line, first: Line, frames: int) -> FormatError:
    word = line.words[0]
    if not _is_frame_number(line) or len(word) > MAX_FRAME_NUMBER_DIGITS:
        return line.fault(f"expected a frame number, got {word[:40].decode('utf-8', 'replace')!r}")
    return line.fault(f"expected frame {int(first.words[0]) + frames}, got {int(word)}")


def _is_frame_number(line: Line) -> bool:
    return len(line.words) == 1 and line.words[0].isdigit()


def _expand_stretch_dofs(bones: Asf, numbers: F64) -> tuple[Asf, F64]:
    """Replace each dof "l" with three translations of an extra joint that slides along the bone."""
    columns: list[F64] = []
    at = 0
    for bone in bones.bones:
        for dof in sorted(bone.dofs, key=lambda d: d == "l"):
            column = numbers[:, [at + bone.dofs.index(dof)]]
            direction = bone.vector / max(float(np.linalg.norm(bone.vector)), 1e-300)
            columns.append(column * direction if dof == "l" else column)
        at += len(bone.dofs)
    return asf.add_stretch_joints(bones), np.hstack(columns)


def _find_exact_rate(frame_time: float) -> float:
    """Return the rate whose inverse is exactly this frame time, if there is one."""
    rate = 1 / frame_time
    near = (rate, np.nextafter(rate, np.inf), np.nextafter(rate, 0.0))
    return next((float(r) for r in near if 1 / r == frame_time), rate)
