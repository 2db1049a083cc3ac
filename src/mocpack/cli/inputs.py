"""Find the input files that files, folders and patterns name, and choose their output paths."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

from mocpack.cli.files import NAMELESS_INPUT, PIPE, names_folder
from mocpack.cli.terminal import print_error
from mocpack.common.arguments import check_path, is_url
from mocpack.errors import UsageError
from mocpack.io import supported_extensions

PACKED_EXTENSIONS = (".mocp",)
# Extensions of the files to read in a folder. Skeleton files contain no motion. Tables and
# pickles can contain anything, so they count only with --robot.
ROBOT_MOTION_EXTENSIONS = set(supported_extensions()) - {".asf"}
STATISTICS = {"Mean.npy", "Std.npy"}  # files of HumanML3D that are not motions
MOTION_EXTENSIONS = ROBOT_MOTION_EXTENSIONS - {".csv", ".pkl", ".pickle", ".pt", ".motion"}


@dataclass(frozen=True)
class Source:
    """One file to read.

    Attributes
    ----------
    path : str
        The path as given or found; ``-`` for standard input.
    relative_path : str
        The path inside an output folder, with subfolders if the file was found in a folder.
    in_folder : bool
        Whether the file was found in a named folder.
    """

    path: str
    relative_path: str
    in_folder: bool = False


def find_sources(words: Sequence[str], suffixes: Collection[str]) -> list[Source]:
    """Return every file that the arguments name, without duplicates.

    A folder means all files in it and its subfolders whose extension is in `suffixes`. A
    pattern such as ``takes/*.bvh`` or ``takes/**/*.bvh`` is expanded here, because not every shell
    does it. An existing file whose name looks like a pattern is taken literally.
    """
    sources: dict[str, Source] = {}
    for word in words:
        for source in _find_sources(word, suffixes):
            sources.setdefault(os.path.realpath(source.path) if word != PIPE else PIPE, source)
    return list(sources.values())


def is_motion(path: str, name: str, suffixes: Collection[str]) -> bool:
    """Return whether to read this file of a folder; print a note if it holds statistics."""
    if Path(name).suffix.lower() not in suffixes or name.startswith("."):
        return False
    if name in STATISTICS:
        print_error(f"skipped {path}: statistics of HumanML3D, not a motion")
    return name not in STATISTICS


def output_paths(sources: Sequence[Source], output: str | None, suffix: str) -> list[str]:
    """Return the output path of each source: next to it, the named file, or in the named folder."""
    several = len(sources) > 1 or sources[0].in_folder
    if output == PIPE:
        if several:
            raise UsageError(
                f"-o - writes one file to standard output, got {len(sources)} inputs; name a folder"
            )
        return [PIPE]
    paths = [source.path for source in sources]
    for path in paths + [output] * (output is not None):
        check_path("path", path, may_be_url=path is not output)
    if output is None and (urls := list(filter(is_url, paths))):
        raise UsageError(f"{urls[0]} is a URL; name an output file or folder with -o")
    if output and not names_folder(output):
        if not several:
            return [output]
        if Path(output).suffix.lower() in {".mocp", ".mocps", *supported_extensions()}:
            raise UsageError(
                f"{output} is the name of a file, but the inputs ({len(sources)}) need a folder; "
                "mocpack scene and mocpack corpus pack write several clips to one file"
            )
    if output is not None and paths == [PIPE]:
        raise UsageError(NAMELESS_INPUT)
    outputs = [_output_path(source, output, suffix) for source in sources]
    first: dict[str, str] = {}
    for source, path in zip(sources, outputs, strict=True):
        if first.setdefault(path, source.path) != source.path:
            raise UsageError(f"{first[path]} and {source.path} would both be written to {path}")
    return outputs


def _output_path(source: Source, folder: str | None, suffix: str) -> str:
    if folder is not None:
        return str(Path(folder) / Path(source.relative_path).with_suffix(suffix))
    return PIPE if source.path == PIPE else str(Path(source.path).with_suffix(suffix))


def _find_sources(word: str, suffixes: Collection[str]) -> Iterator[Source]:
    if word != PIPE and Path(word).is_dir():
        yield from _find_in_folder(word, suffixes)
        return
    if not has_magic(word) or os.path.lexists(word) or is_url(word):
        yield Source(word, Path(word).name)
        return
    matches = sorted(glob(word, recursive=True))  # noqa: PTH207 - absolute patterns too
    if not matches and not {"*", "?"} & set(word):
        yield Source(word, Path(word).name)  # a missing file with brackets in its name
        return
    if not matches:
        raise UsageError(f"no file matches {word!r}")
    for match in matches:
        if Path(match).is_dir():
            yield from _find_in_folder(match, suffixes)
        elif Path(match).is_file() or not Path(match).exists():
            yield Source(match, Path(match).name)


def _find_in_folder(folder: str, suffixes: Collection[str]) -> list[Source]:
    def refuse(error: OSError) -> None:
        raise error  # os.walk would skip a folder that it cannot list

    sources = []
    for place, inside, names in os.walk(folder, onerror=refuse):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        for name in sorted(names):
            path = Path(place) / name
            if is_motion(str(path), name, suffixes):
                if path.exists() and not path.is_file():
                    continue  # reading a named pipe or a device could block
                sources.append(Source(str(path), str(path.relative_to(folder)), in_folder=True))
    if not sources:
        needs_robot = suffixes == MOTION_EXTENSIONS
        hint = "; tables and pickles of robots need --robot" if needs_robot else ""
        expected = ", ".join(sorted(suffixes))
        raise UsageError(f"{folder}: the folder has no file with {expected}{hint}")
    return sources
