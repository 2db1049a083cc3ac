"""The inputs of ``corpus pack`` and ``cluster plan``: files, folders, patterns and URLs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from mocpack.cli.inputs import (
    MOTION_EXTENSIONS,
    ROBOT_MOTION_EXTENSIONS,
    Source,
    find_sources,
    is_motion,
)
from mocpack.common.arguments import is_url
from mocpack.common.choice import list_names
from mocpack.corpora import storage
from mocpack.corpora.packing import PackOptions
from mocpack.corpora.planning import PackPlan
from mocpack.corpora.storage import FileInfo
from mocpack.errors import UsageError


@dataclass(frozen=True)
class PackInputs:
    """The motion files to pack, and how to pack them.

    Attributes
    ----------
    files : mapping of str to str
        Paths and URLs by clip name.
    packing : PackOptions
    entries : mapping of str to FileInfo
        Sizes and times of the URLs, from the listing of their store.
    """

    files: Mapping[str, str]
    packing: PackOptions
    entries: Mapping[str, FileInfo]

    def plan(self, *, absolute_paths: bool = False) -> PackPlan:
        """Hash the files and return the plan; with `absolute_paths`, it works from any folder."""
        paths = self.files.items()
        by_name = {name: storage.absolute(path) if absolute_paths else path for name, path in paths}
        return PackPlan.make(by_name, self.packing, entries=self.entries)


def find_inputs(words: Sequence[str], packing: PackOptions) -> PackInputs:
    """Return the motion files that files, folders, patterns and URLs name."""
    for word in words:
        if word.endswith(".jsonl"):
            raise UsageError(
                f"{word} is not a motion file; to pack a plan, use mocpack cluster pack {word}"
            )
    suffixes = (ROBOT_MOTION_EXTENSIONS if "robot" in packing.reading else MOTION_EXTENSIONS) | {
        ".mocp"
    }
    entries: dict[str, FileInfo] = {}
    sources = find_sources([word for word in words if not is_url(word)], suffixes)
    for url in filter(is_url, words):
        listed = storage.list_files(url)
        entries |= {one.path: one for one in listed}
        sources += _find_at_url(url, listed, suffixes)
    existing = [source for source in sources if source.path == "-" or Path(source.path).exists()]
    if not entries and not existing:
        # An empty archive would block the next run, which must not overwrite it.
        raise UsageError(f"{list_names(words)}: no such file or folder")
    return PackInputs(_index_by_name(sources), packing, entries)


def _find_at_url(url: str, listed: Sequence[FileInfo], suffixes: set[str]) -> list[Source]:
    """Return the motion files of a URL that names a folder, a pattern or one file."""
    folder = url.rstrip("/")
    sources = []
    for one in listed:
        name = storage.base_name(one.path)
        if one.path == folder or not one.path.startswith(f"{folder}/"):
            sources.append(Source(one.path, str(name)))
        elif is_motion(one.path, name.name, suffixes):
            sources.append(Source(one.path, one.path[len(folder) + 1 :], in_folder=True))
    if not sources:
        raise UsageError(f"{url}: no motion file found")
    return sources


def _index_by_name(sources: Sequence[Source]) -> dict[str, str]:
    """Return the files by clip name, which is the path below the source without extension."""
    paths: dict[str, str] = {}
    for source in sources:
        name = PurePath(source.relative_path).with_suffix("").as_posix()
        if name in paths:
            raise UsageError(
                f"{paths[name]} and {source.path} would both become clip {name!r}; rename one, or "
                "name the files by a pattern like 'takes/**/*.bvh'"
            )
        paths[name] = source.path
    return paths
