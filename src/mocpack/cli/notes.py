"""Notes for users about what a reader assumed or fitted, from the metadata of a clip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mocpack.io.amass import STAND_IN_BONES
from mocpack.units import format_length

MIN_FIT_ERROR_MM = 1.0  # smaller ones are rounding
STAND_IN_NOTE = (
    "the file has no bones, so those of a default adult stand in; errors are measured on them. "
    "Pass --body-model for the subject's bones"
)


def describe_assumptions(metadata: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each assumption that affects positions or errors."""
    notes = [STAND_IN_NOTE] if metadata.get("bones") == STAND_IN_BONES else []
    error = metadata.get("fit_error_mm")
    if isinstance(error, int | float) and error > MIN_FIT_ERROR_MM:
        notes.append(
            "rigid bones were fitted to joint positions whose distances change; joints moved by up "
            f"to {format_length(error / 1000)}"
        )
    return notes


def stand_in_note(count: int, clips: int) -> str:
    """Return the note about stand-in bones of some clips of an archive."""
    return f"{count} of {clips} clips: {STAND_IN_NOTE}"


def join_notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the notes of several files, each once with the number of its files."""
    counts: dict[str, int] = {}
    for row in rows:
        for note in row.get("notes", ()):
            counts[note] = counts.get(note, 0) + 1
    return [
        note if len(rows) == 1 else f"{count} of {len(rows)} files: {note}"
        for note, count in counts.items()
    ]
