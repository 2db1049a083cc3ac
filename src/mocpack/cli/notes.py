"""Notes for users about archives and batches of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from mocpack.common.texts import count_of
from mocpack.io.assumptions import describe_assumptions

if TYPE_CHECKING:
    from mocpack.corpora import Corpus


class ArchiveFacts(TypedDict):
    """The counts and notes of an archive, for tables and JSON."""

    shards: int
    skeletons: int
    frames: int
    seconds: float
    notes: list[str]


def archive_facts(archive: Corpus) -> ArchiveFacts:
    """Count what an archive contains, and collect the notes of its clips."""
    from mocpack.corpora import catalog

    index = archive.index
    columns = [name for name in catalog.NOTE_COLUMNS if name in archive.columns]
    values = zip(*(archive.table.column(name).to_pylist() for name in columns), strict=True)
    notes = [describe_assumptions(dict(zip(columns, row, strict=True))) for row in values]
    return {
        "shards": len(index.files),
        "skeletons": index.skeleton_count,
        "frames": int(index.frame_counts.sum()),
        "seconds": float((index.frame_counts * index.frame_times).sum()),
        "notes": join_notes(notes, "clips"),
    }


def describe_length(frames: int, seconds: float) -> str:
    """Return the length of a motion as text."""
    time = f"{seconds / 60:.1f} minutes" if seconds >= 60 else f"{seconds:.1f} seconds"
    return f"{count_of(frames, 'frame')}, {time}"


def join_notes(notes: Sequence[Sequence[str]], what: str = "files") -> list[str]:
    """Return the notes of several files, each once with the number of its files."""
    counts = Counter(note for of_file in notes for note in of_file)
    return [
        note if len(notes) == 1 else f"{count} of {len(notes)} {what}: {note}"
        for note, count in counts.items()
    ]
