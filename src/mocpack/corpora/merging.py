"""Merge archives, and repair damaged ones."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from mocpack.container import (
    ClipLocation,
    StoredClip,
    is_archive,
    read_clip_file,
    scan,
    scan_table,
    to_stored_clip,
)
from mocpack.corpora import catalog
from mocpack.corpora.catalog import Row
from mocpack.corpora.packing import RejectedFile
from mocpack.corpora.reading import open_corpus
from mocpack.corpora.writing import CorpusWriter, front_size
from mocpack.errors import FormatError, MocpackError, UsageError
from mocpack.motion import Motion
from mocpack.source import Source, open_source
from mocpack.units import parse_size


def merge(
    paths: Sequence[str | Path],
    path: str | Path,
    *,
    prefix: bool = False,
    shard_size: str | int | None = None,
) -> None:
    """Merge archives into one without encoding again.

    With `prefix`, each clip's name starts with the name of its archive and a slash.
    """
    size = None if shard_size is None else parse_size(shard_size)
    with ExitStack() as stack:
        parts = [stack.enter_context(open_corpus(one)) for one in paths]
        starts = [f"{Path(str(one)).stem}/" if prefix else "" for one in paths]
        tables = [part.table_with_prefix(start) for part, start in zip(parts, starts, strict=True)]
        table = catalog.concat_tables(tables)
        writer = stack.enter_context(CorpusWriter(path, shard_size=size, table=table))
        for part, start in zip(parts, starts, strict=True):
            for clip in part.stored_clips():
                if clip.name in writer and not prefix:
                    raise UsageError(
                        f"clip {clip.name!r} is in two archives; --prefix (prefix=True) starts "
                        "each name with that of its archive"
                    )
                writer.add(replace(clip, name=start + clip.name))


def repair(path: str | Path, out: str | Path) -> list[RejectedFile]:
    """Save the intact clips of a damaged archive file; return the others.

    Clips are found by their chunks, and the trailer and the catalog are rebuilt. Columns that a
    user added come from the old catalog, if it is intact.
    """
    lost = []
    source = open_source(str(path))
    try:
        if not is_archive(source):
            raise FormatError(f"{path}: not a .mocps archive")
        meta = _user_columns(scan_table(source))
        with CorpusWriter(out, meta=meta) as writer:
            for found in scan(source):
                reason = found.fault
                if reason is None and found.name in writer:
                    reason = "occurs twice"
                if reason is None:
                    try:
                        writer.add(*_rebuild_clip(source, found.name, found.place))
                        continue
                    except MocpackError as error:
                        reason = str(error)
                lost.append(RejectedFile(found.name, f"clip {found.name!r}: {reason}"))
    finally:
        source.close()
    return lost


def _rebuild_clip(source: Source, name: str, place: ClipLocation) -> tuple[StoredClip, Row]:
    data = read_clip_file(source, place)
    with Motion(data, memory_limit=None) as motion:
        motion.verify_checksum()
    kept = to_stored_clip(name, data, front_size(data))
    return kept, catalog.describe_clip(name, data)


def _user_columns(table: bytes | None) -> Any:
    if table is None:
        return None
    found = catalog.read_table(table)
    own = {*catalog.COLUMN_TYPES, *catalog.NOTE_COLUMNS} - {catalog.CLIP_COLUMN}
    return found.select([name for name in found.column_names if name not in own])
