"""Which files a command works on and where each result goes: files, folders, patterns."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

from mocpack.cli.files import PIPE
from mocpack.errors import UsageError
from mocpack.io import supported_extensions

PACKED = (".mocp",)
# Extensions of the files that are read when a folder is named. Skeletons are no motions by
# themselves; tables and pickles can be anything, unless a robot is named.
ROBOT_MOTIONS = set(supported_extensions()) - {".asf"}
MOTIONS = ROBOT_MOTIONS - {".csv", ".pkl", ".pickle", ".pt", ".motion"}


@dataclass(frozen=True)
class Source:
    """One file to read.

    Attributes
    ----------
    path : str
        As a person would name it; ``-`` for standard input.
    below : str
        Its name in an output folder: with its subfolders, if it was found in a folder.
    in_folder : bool
        Whether a folder was named and not this file.
    """

    path: str
    below: str
    in_folder: bool = False


def find_sources(words: Sequence[str], suffixes: Collection[str]) -> list[Source]:
    """Return every file that the words of a command line name, each once.

    A folder stands for all its files, in subfolders too, whose extension is one of `suffixes`;
    a pattern such as ``takes/*.bvh`` or ``takes/**/*.bvh`` for what it matches, as not every shell
    does it. A file whose own name looks like a pattern is that file.
    """
    found: dict[str, Source] = {}
    for word in words:
        for source in _sources_of(word, suffixes):
            found.setdefault(os.path.realpath(source.path) if word != PIPE else PIPE, source)
    return list(found.values())


def outputs_for(sources: Sequence[Source], output: str | None, suffix: str) -> list[str]:
    """Return where each goes: beside it, to the one named file, or into the named folder."""
    if output is None:
        return [
            s.path if s.path == PIPE else str(Path(s.path).with_suffix(suffix)) for s in sources
        ]
    several = len(sources) > 1 or sources[0].in_folder
    if output == PIPE:
        if several:
            raise UsageError("several files cannot go to one pipe")
        return [PIPE]
    if not (several or Path(output).is_dir() or output.endswith(("/", os.sep))):
        return [output]
    outputs = [str(Path(output) / Path(s.below).with_suffix(suffix)) for s in sources]
    first: dict[str, str] = {}
    for source, path in zip(sources, outputs, strict=True):
        if first.setdefault(path, source.path) != source.path:
            raise UsageError(f"{first[path]} and {source.path} would both be {path}")
    return outputs


def make_folders(output: str | None, outputs: Sequence[str]) -> None:
    """Make the named output folder, and in it those that the inputs had."""
    for path in outputs:
        parent = Path(path).parent
        if output is not None and path not in (PIPE, output):
            parent.mkdir(parents=True, exist_ok=True)


def _sources_of(word: str, suffixes: Collection[str]) -> Iterator[Source]:
    if word != PIPE and Path(word).is_dir():
        yield from _in_folder(word, suffixes)
        return
    if not has_magic(word) or os.path.lexists(word):
        yield Source(word, Path(word).name)
        return
    matches = sorted(glob(word, recursive=True))  # noqa: PTH207 - absolute patterns too
    if not matches and not {"*", "?"} & set(word):
        yield Source(word, Path(word).name)  # brackets are common in names: a file that is missing
        return
    if not matches:
        raise UsageError(f"no file matches {word!r}")
    for match in matches:
        if Path(match).is_dir():
            yield from _in_folder(match, suffixes)
        elif Path(match).is_file() or not Path(match).exists():
            yield Source(match, Path(match).name)


def _in_folder(folder: str, suffixes: Collection[str]) -> list[Source]:
    found = []
    for place, inside, names in os.walk(folder):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        for name in sorted(names):
            if Path(name).suffix.lower() in suffixes and not name.startswith("."):
                path = Path(place) / name
                if path.exists() and not path.is_file():
                    continue  # a pipe or a device: nobody named it, and reading it could block
                found.append(Source(str(path), str(path.relative_to(folder)), in_folder=True))
    if not found:
        wanted = ", ".join(sorted(suffixes))
        raise UsageError(f"{folder}: a folder without any file of: {wanted}")
    return found
