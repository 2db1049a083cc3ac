"""A motion file of any format, .mocp included: opened once, recognized once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Unpack

from mocpack.common.arguments import check_path, did_you_mean, is_url
from mocpack.common.choice import match_clip
from mocpack.common.source import BytesSource
from mocpack.common.units import LENGTHS, Length, parse_length_argument
from mocpack.container import DEFAULT_LIMIT, is_packed
from mocpack.errors import FormatError, MemoryLimitError, SceneError, UsageError, name_errors
from mocpack.io.external_files import external_file_reader, read_external_file
from mocpack.io.reading import FormatOptions, parse_bytes, read_file_bytes, sample_evenly
from mocpack.io.table import Format, find_format
from mocpack.model.clip import AnyClip
from mocpack.motion import Motion, extract_clip, list_packed_clips


class ReadOptions(FormatOptions, total=False):
    """The options of `mocpack.read`."""

    unit: str | Length | None
    skeleton: str | Path | None
    clip: str | None
    memory_limit: str | int | None
    allow_outside: bool


PACKED_OPTIONS = {"unit", "skeleton", "clip", "memory_limit", "allow_outside", "fps"}
"""Options that a .mocp file takes, or that say only what files of other formats do not state."""


@dataclass(frozen=True)
class MotionFile:
    """A motion file of any format.

    Attributes
    ----------
    data : bytes
        The file. Of an archive opened by its path, only the .mocp file of the chosen clip.
    name : str
        Errors start with it. Its extension names the format if the content does not.
    options : ReadOptions
        How to read it; `clip` is the motion to read if the file holds several.
    path : Path, optional
        Where it is, to find the files that it refers to.
    external_reader : callable, optional
        Returns the bytes of a file that it refers to, if that is not a file beside `path`.
    """

    data: bytes
    name: str = "input"
    options: ReadOptions = field(default_factory=ReadOptions)
    path: Path | None = None
    external_reader: Callable[[str], bytes] | None = None

    @classmethod
    def open(cls, path: str | Path, **options: Unpack[ReadOptions]) -> MotionFile:
        """Open a file by its path or URL."""
        check_path("path", path, may_be_url=True)
        place = None if is_url(str(path)) else Path(path)
        if not is_archive_name(path):
            return cls(read_file_bytes(path), str(path), options, place)
        with name_errors(path):
            data = extract_clip(path, options.pop("clip", None))
        return cls(data, str(path), options, place)

    @cached_property
    def is_packed(self) -> bool:
        """Whether the file is a .mocp file or an archive."""
        return is_packed(self.data) or Path(self.name).suffix == ".mocp"

    @cached_property
    def format(self) -> Format:
        """The format of a file that is not a .mocp file."""
        return find_format(self.data, self.name)

    @cached_property
    def clip_names(self) -> Sequence[str]:
        """The names of its motions; empty if it holds one motion without a name."""
        with name_errors(self.name):
            if self.is_packed:
                return list_packed_clips(BytesSource(self.data))
            list_clips = self.format.list_clips
            return [] if list_clips is None else list_clips(self.data, **self._external_option())

    @property
    def clip(self) -> str | None:
        """The motion to read, if the file holds several and one was chosen."""
        return self.options.get("clip")

    @property
    def allow_outside(self) -> bool:
        """Whether it may refer to files outside its folder."""
        return self.options.get("allow_outside", False)

    @property
    def read_external(self) -> Callable[[str], bytes] | None:
        """The function that reads the files that it refers to; None if their place is unknown."""
        if self.external_reader is not None or self.path is None:
            return self.external_reader
        return external_file_reader(self.path, allow_outside=self.allow_outside)

    def choose(self, clip: str | None) -> MotionFile:
        """Return the file with a motion chosen, or without a choice."""
        return replace(self, options={**self.options, "clip": clip})

    def read(self, clip: str | None = None) -> AnyClip:
        """Read the named motion, or else the chosen one; errors name the file."""
        unit = self.check_options()
        chosen = self.clip if clip is None else clip
        return self._decode(chosen) if self.is_packed else self._parse(chosen, unit)

    def check_options(self) -> float | None:
        """Raise `UsageError` for options that do not exist; return the unit in meters."""
        unit = _parse_unit(self.options.get("unit"))
        if unknown := self.options.keys() - ReadOptions.__annotations__.keys():
            close = did_you_mean(min(unknown), ReadOptions.__annotations__)
            raise UsageError(f"{self.name}: unknown option {min(unknown)!r}{close}")
        if self.is_packed:
            others = {k: v for k, v in self.options.items() if k not in PACKED_OPTIONS}
            refuse_options(self.name, ".mocp files do not support", others)
        return unit

    def extract(self, clip: str | None = None) -> bytes:
        """Return the named motion of a .mocp file, or else the chosen one, as a .mocp file."""
        with name_errors(self.name):
            return extract_clip(self.data, self.clip if clip is None else clip)

    def count_ignored(self) -> dict[str, int]:
        """Count the meshes, materials, blend shapes and so on that clips do not hold, by noun."""
        if self.is_packed or self.format.count_ignored is None:
            return {}
        with name_errors(self.name):
            counts = self.format.count_ignored(self.data, **self._external_option())
        return {word: count for word, count in counts.items() if count}

    def list_external_files(self) -> list[str]:
        """Return the names of the files that it refers to."""
        if self.is_packed or self.format.list_external_files is None:
            return []
        return self.format.list_external_files(self.data, self.read_external)

    def _external_option(self) -> dict[str, Callable[[str], bytes] | None]:
        has_option = "read_external" in self.format.options
        return {"read_external": self.read_external} if has_option else {}

    def _decode(self, clip: str | None) -> AnyClip:
        limit = self.options.get("memory_limit", DEFAULT_LIMIT)
        with name_errors(self.name, FormatError, MemoryLimitError, UsageError):
            with Motion(self.data, clip=clip, memory_limit=limit) as motion:
                found = motion.clip()
            return sample_evenly(found, self.options.get("fps"))

    def _parse(self, clip: str | None, unit: float | None) -> AnyClip:
        options: ReadOptions = {**self.options, "clip": clip}
        name, bones = self.name, None
        if self.format.find_skeleton is not None:
            name, bones = self._read_skeleton(self.format.find_skeleton, options.get("skeleton"))
        return parse_bytes(
            self.data,
            self.format,
            options,
            name=name,
            unit=unit,
            skeleton=bones,
            read_external=self.read_external,
            allow_outside=self.allow_outside,
        )

    def _read_skeleton(
        self, find: Callable[[Path], Path], given: str | Path | None
    ) -> tuple[str, bytes | None]:
        """Return the name of both files, and the skeleton file, if its place is known."""
        if given is not None:
            return f"{self.name} (skeleton {given})", read_file_bytes(given)
        if self.path is None:
            return self.name, None
        found = find(self.path)
        with name_errors(self.name):
            data = read_external_file(self.path, found.name, allow_outside=self.allow_outside)
        return f"{self.name} (skeleton {found})", data


def match_versions(files: Sequence[MotionFile]) -> list[MotionFile]:
    """Return files that hold the same motion, each with the clip to choose in it.

    A clip is chosen in those files that hold several; it is an error if none does.
    """
    matched, unused = [], []
    for file in files:
        if file.clip is None:
            matched.append(file)
            continue
        with name_errors(file.name):
            clip = match_clip(file.clip_names, file.clip)
        matched.append(file.choose(clip))
        unused += [file] * (clip is None)
    if len(unused) == len(files):
        names = ", ".join(file.name for file in files)
        raise SceneError(
            f"{names}: the file holds one motion, so clip {files[0].clip!r} cannot be chosen"
        )
    return matched


def is_archive_name(path: str | Path) -> bool:
    """Return whether a path has the extension of archives."""
    return str(path).endswith(".mocps")


def refuse_options(path: str | Path, why: str, options: Mapping[str, object]) -> None:
    """Raise `UsageError` if an option is given that a file does not take."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise UsageError(f"{path}: {why} {', '.join(given)}")


def _parse_unit(unit: str | Length | None) -> float | None:
    """Return the length in meters; "cm" without a number is one centimeter."""
    if unit is None:
        return None
    if isinstance(unit, str) and unit.strip() in LENGTHS:
        return LENGTHS[unit.strip()]
    return parse_length_argument("unit", unit)
