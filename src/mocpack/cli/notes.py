"""Notes for users about archives and batches of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mocpack.common.texts import count_of
from mocpack.io.assumptions import describe_assumptions

if TYPE_CHECKING:
    from mocpack.corpora import Corpus


def describe_archive(found: Corpus) -> list[str]:
    """Return the notes of an archive's clips, from its catalog."""
    from mocpack.corpora import catalog

    columns = [name for name in catalog.NOTE_COLUMNS if name in found.columns]
    values = zip(*(found.table.column(name).to_pylist() for name in columns), strict=True)
    clips = [dict(zip(columns, row, strict=True)) for row in values]
    return join_notes([{"notes": describe_assumptions(clip)} for clip in clips], "clips")


def archive_facts(found: Corpus) -> dict[str, Any]:
    """Return the counts and notes of an archive, for tables and JSON."""
    index = found.index
    return {
        "shards": len(index.files),
        "skeletons": index.skeleton_count,
        "frames": int(index.frame_counts.sum()),
        "seconds": float((index.frame_counts * index.frame_times).sum()),
        "notes": describe_archive(found),
    }


def describe_length(facts: Mapping[str, Any]) -> str:
    """Return the length of the motion of `archive_facts`, as text."""
    seconds = facts["seconds"]
    time = f"{seconds / 60:.1f} minutes" if seconds >= 60 else f"{seconds:.1f} seconds"
    return f"{count_of(facts['frames'], 'frame')}, {time}"


def join_notes(rows: Sequence[Mapping[str, Any]], what: str = "files") -> list[str]:
    """Return the notes of several files, each once with the number of its files."""
    counts: dict[str, int] = {}
    for row in rows:
        for note in row.get("notes", ()):
            counts[note] = counts.get(note, 0) + 1
    return [
        note if len(rows) == 1 else f"{count} of {len(rows)} {what}: {note}"
        for note, count in counts.items()
    ]
