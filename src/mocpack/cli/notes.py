"""Notes for users about what a reader assumed or fitted, from the metadata of a clip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mocpack.io.amass import STAND_IN_BONES
from mocpack.texts import count_of
from mocpack.units import format_length

if TYPE_CHECKING:
    from mocpack.corpora import Corpus

MIN_FIT_ERROR_MM = 1.0  # smaller ones are rounding
STAND_IN_NOTE = (
    "the file has no bones, so those of a default adult stand in; errors are measured on them. "
    "Pass --body-model for the subject's bones"
)


def describe_assumptions(metadata: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each assumption that affects positions or errors."""
    notes = [STAND_IN_NOTE] if metadata.get("bones") == STAND_IN_BONES else []
    if isinstance(unit := metadata.get("unit_guessed"), str):
        notes.append(f"guessed length unit: {unit}; use --unit to set it")
    error = metadata.get("fit_error_mm")
    if isinstance(error, int | float) and error > MIN_FIT_ERROR_MM:
        notes.append(
            "rigid bones were fitted to joint positions whose distances change; joints moved by up "
            f"to {format_length(error / 1000)}"
        )
    return notes


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
