"""Merge archives, and repair damaged ones."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mocpack.common.choice import list_names
from mocpack.common.source import Source, open_source
from mocpack.container import (
    ClipLocation,
    Index,
    ScannedClip,
    StoredClip,
    has_intact_chunks,
    is_archive,
    read_clip_file,
    read_trailer,
    scan,
    scan_table,
    to_stored_clip,
)
from mocpack.corpora import catalog
from mocpack.corpora.catalog import Row
from mocpack.corpora.packing import RejectedFile
from mocpack.corpora.reading import open_corpus
from mocpack.corpora.writing import CorpusWriter, front_size
from mocpack.errors import (
    CorruptionError,
    FormatError,
    MocpackError,
    UnsupportedVersionError,
    UsageError,
)

if TYPE_CHECKING:
    from pyarrow import Table


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
    with ExitStack() as stack:
        parts = [stack.enter_context(open_corpus(one)) for one in paths]
        starts = [f"{Path(str(one)).stem}/" if prefix else "" for one in paths]
        tables = [part.table_with_prefix(start) for part, start in zip(parts, starts, strict=True)]
        table = catalog.concat_tables(tables)
        writer = stack.enter_context(CorpusWriter(path, shard_size=shard_size, table=table))
        for part, start in zip(parts, starts, strict=True):
            for clip in part.stored_clips():
                if clip.name in writer and not prefix:
                    raise UsageError(
                        f"clip {clip.name!r} is in two archives; --prefix (prefix=True) starts "
                        "each name with that of its archive"
                    )
                writer.add(replace(clip, name=start + clip.name))


def repair(path: str | Path, out: str | Path) -> list[RejectedFile]:
    """Save the intact clips of a damaged archive file; return the others, by name.

    Clips are found by their chunks and by the index, if it is intact. The trailer and the catalog
    are rebuilt. Columns that a user added come from the old catalog, if it is intact. If neither
    the index nor the catalog is, the number of clips is unknown, and the last item of the result
    is the archive itself.
    """
    source = open_source(str(path))
    try:
        if not is_archive(source):
            raise FormatError(f"{path}: not a .mocps archive")
        index, table = _read_index(source), scan_table(source)
        if index.files:
            shards = list_names([name for name, _ in index.files])
            raise UsageError(f"{path} holds no clips; repair its damaged shards, of {shards}")
        known = None if table is None else catalog.read_table(table)
        with CorpusWriter(out, meta=None if known is None else _user_columns(known)) as writer:
            faults, listed = _save_clips(source, index, writer), index.names
            if known is not None:
                listed = known.column(catalog.CLIP_COLUMN).to_pylist()
            for name in listed:
                if name not in writer:
                    faults.setdefault(name, "its chunk is missing")
    finally:
        source.close()
    lost = [RejectedFile(name, f"clip {name!r}: {reason}") for name, reason in faults.items()]
    if known is None and not index:
        reason = (
            f"the catalog is cut off or damaged: added columns are lost, and so is any clip that "
            f"followed these {source.size} bytes"
        )
        lost.append(RejectedFile(str(path), reason))
    return lost


def _save_clips(source: Source, index: Index, writer: CorpusWriter) -> dict[str, str]:
    """Add the intact clips to an archive; return the faults of the others by name."""
    faults: dict[str, str | None] = {}
    for scanned in scan(source):
        faults[scanned.name] = _save_clip(source, scanned, writer)
    for number, name in enumerate(index.names):
        if name not in writer:
            with suppress(UnsupportedVersionError):  # a clip of an unknown kind
                fault = _save_clip(source, ScannedClip(name, index.place(number)), writer)
                faults[name] = fault and faults.get(name, fault)
    return {name: fault for name, fault in faults.items() if fault is not None}


def _save_clip(source: Source, scanned: ScannedClip, writer: CorpusWriter) -> str | None:
    """Add a clip to an archive, or return its fault."""
    if scanned.fault is not None:
        return scanned.fault
    if scanned.name in writer:
        return "occurs twice; the first is saved"
    try:
        writer.add(*_rebuild_clip(source, scanned.name, scanned.place))
    except MocpackError as error:
        return str(error)
    return None


def _read_index(source: Source) -> Index:
    """Return the index of an archive; empty if its trailer is damaged."""
    try:
        return read_trailer(source).index
    except FormatError:
        return Index()


def _rebuild_clip(source: Source, name: str, place: ClipLocation) -> tuple[StoredClip, Row]:
    data = read_clip_file(source, place)
    if not has_intact_chunks(data):
        raise CorruptionError("its checksum is wrong")
    kept = to_stored_clip(name, data, front_size(data))
    return kept, catalog.describe_clip(name, data)


def _user_columns(table: Table) -> Table:
    own = {*catalog.COLUMN_TYPES, *catalog.NOTE_COLUMNS} - {catalog.CLIP_COLUMN}
    return table.select([name for name in table.column_names if name not in own])
