"""Archives made of archives: of several, or of what is left of a damaged one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from mocpack.container import (
    Place,
    Stored,
    is_archive,
    restored,
    scan,
    scan_table,
    stored,
)
from mocpack.corpora import catalogue
from mocpack.corpora.catalogue import Row
from mocpack.corpora.packing import Refused
from mocpack.corpora.reading import corpus
from mocpack.corpora.writing import CorpusWriter, front_size
from mocpack.errors import FormatError, MocpackError
from mocpack.motion import Motion
from mocpack.source import Source, source_of
from mocpack.units import parse_size


def merge(
    paths: Sequence[str | Path],
    path: str | Path,
    *,
    prefix: bool = False,
    shard_size: str | int | None = None,
) -> None:
    """Make one archive of several, nothing coded anew.

    With `prefix` each clip's name begins with that of its archive and a slash.
    """
    size = None if shard_size is None else parse_size(shard_size)
    with ExitStack() as stack:
        parts = [stack.enter_context(corpus(one)) for one in paths]
        starts = [f"{Path(str(one)).stem}/" if prefix else "" for one in paths]
        tables = [part.renamed_table(start) for part, start in zip(parts, starts, strict=True)]
        table = catalogue.concatenated(tables)
        writer = stack.enter_context(CorpusWriter(path, shard_size=size, table=table))
        for part, start in zip(parts, starts, strict=True):
            for clip in part.stored():
                writer.add(_renamed(clip, start + clip.name))


def repair(path: str | Path, out: str | Path) -> list[Refused]:
    """Save what is whole of an archive file that was cut or damaged; return what is not.

    The clips are found by their own chunks, and trailer and catalogue made anew. A user's columns
    come from the old catalogue, if it is whole.
    """
    lost = []
    source = source_of(str(path))
    try:
        if not is_archive(source):
            raise FormatError(f"{path}: not a .mocps archive")
        meta = _users_columns(scan_table(source))
        with CorpusWriter(out, meta=meta) as writer:
            for found in scan(source):
                why = found.fault
                if why is None and found.name in writer:
                    why = "is there twice"
                if why is None:
                    try:
                        writer.add(*_anew(source, found.name, found.place))
                        continue
                    except MocpackError as error:
                        why = str(error)
                lost.append(Refused(found.name, f"clip {found.name!r}: {why}"))
    finally:
        source.close()
    return lost


def _anew(source: Source, name: str, place: Place) -> tuple[Stored, Row]:
    data = restored(source, place)
    with Motion(data, memory_limit=None) as motion:
        motion.check()
    kept = stored(name, data, front_size(data, keys=False))
    return kept, catalogue.describe(name, data, kept.base)


def _users_columns(table: bytes | None) -> Any:
    if table is None:
        return None
    found = catalogue.read_table(table)
    own = set(catalogue.TYPES) - {catalogue.KEY}
    return found.select([name for name in found.column_names if name not in own])


def _renamed(clip: Stored, name: str) -> Stored:
    return replace(clip, name=name)
