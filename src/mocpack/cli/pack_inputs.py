"""The inputs of ``corpus pack`` and ``cluster plan``: files, folders, patterns and addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from mocpack.cli.inputs import MOTIONS, ROBOT_MOTIONS, Source, find_sources
from mocpack.corpora import storage
from mocpack.corpora.packing import PackOptions
from mocpack.corpora.planning import FileHashes, Plan
from mocpack.corpora.remote import is_url
from mocpack.corpora.storage import FileInfo
from mocpack.errors import UsageError


@dataclass(frozen=True)
class PackInputs:
    """What the words of the command line name.

    Attributes
    ----------
    files : mapping of str to str
        Paths and URLs by their clips' names.
    packing : Packing
    entries : mapping of str to Entry
        What stores have said of URLs.
    """

    files: Mapping[str, str]
    packing: PackOptions
    entries: Mapping[str, FileInfo]

    def plan(
        self, known: Sequence[str] = (), *, everywhere: bool = False
    ) -> tuple[Plan, FileHashes]:
        """Return the plan, and the hashes that it has taken of files.

        Parameters
        ----------
        known : sequence of str
            Files of hashes that were taken before, by whomever.
        everywhere : bool
            Whether paths are to mean the same from any folder.
        """
        paths = self.files.items()
        named = {name: storage.absolute(path) if everywhere else path for name, path in paths}
        listed = Plan.listed(named, self.packing, entries=self.entries)
        hashes = FileHashes(self.packing, known, self.entries)
        return replace(listed, files=hashes.add_hashes(listed.files)), hashes


def find_inputs(words: Sequence[str], packing: PackOptions) -> PackInputs:
    """Return the motion files that files, folders, patterns and addresses stand for."""
    for word in words:
        if word.endswith(".jsonl"):
            raise UsageError(
                f"{word} is not a motion file; if it is a plan, use mocpack cluster pack {word}"
            )
    suffixes = (ROBOT_MOTIONS if "robot" in packing.reading else MOTIONS) | {".mocp"}
    entries: dict[str, FileInfo] = {}
    sources = find_sources([word for word in words if not is_url(word)], suffixes)
    for url in filter(is_url, words):
        listed = storage.list_files(url)
        entries |= {one.path: one for one in listed}
        sources += _sources_at(url, listed, suffixes)
    there = [source for source in sources if source.path == "-" or Path(source.path).exists()]
    if not entries and not there:
        # an archive of no clip would stand in the way of the next try
        raise UsageError(f"{', '.join(words)[:200]}: there is no such file or folder")
    return PackInputs(_by_name(sources), packing, entries)


def _sources_at(url: str, listed: Sequence[FileInfo], suffixes: set[str]) -> list[Source]:
    """Return the motion files of a URL: of a folder, of a pattern, or itself."""
    folder = url.rstrip("/")
    found = []
    for one in listed:
        name = storage.base_name(one.path)
        if one.path == folder or not one.path.startswith(f"{folder}/"):
            found.append(Source(one.path, str(name)))
        elif name.suffix.lower() in suffixes and not name.name.startswith("."):
            found.append(Source(one.path, one.path[len(folder) + 1 :], in_folder=True))
    if not found:
        raise UsageError(f"{url}: no motion file is there")
    return found


def _by_name(sources: Sequence[Source]) -> dict[str, str]:
    """Return the files by the names of their clips: their paths in the source without suffix."""
    found: dict[str, str] = {}
    for source in sources:
        name = PurePath(source.below).with_suffix("").as_posix()
        if name in found:
            raise UsageError(f"{found[name]} and {source.path} would both be clip {name!r}")
        found[name] = source.path
    return found
