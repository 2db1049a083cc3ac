"""What a batch has done, a line of JSON for each step, so that it can be taken up again.

It lies beside the files that were made. A file counts as done only if it still has the bytes that
were written, from sources that still have the bytes that were read, with the same settings.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mocpack.file_errors import add_path_to_errors

NAME = ".mocpack-batch.jsonl"

Entry = Mapping[str, Any]
"""``output``, a name; if it was finished also ``settings``, ``sources`` and ``made`` (SHA-256 by
full name) and ``result``, the figures of the table."""


class Journal:
    """The journals of the folders that a batch writes to; lines are appended as things happen."""

    def __init__(self, outputs: Sequence[str]) -> None:
        self._paths = sorted({_journal_of(output) for output in outputs})
        self._entries = {key: entry for path in self._paths for key, entry in _entries(path)}

    def entry(self, output: str) -> Entry | None:
        """Return the last that is known of an output, None if no batch has touched it."""
        return self._entries.get(_key(output))

    def begin(self, output: str) -> None:
        """Say that an output is ours from now on, whatever happens next."""
        self._append(output, {})

    def finish(self, output: str, finished: Entry) -> None:
        """Say that an output is whole; `finished` is what `finished_entry` made of it."""
        self._append(output, finished)

    def remove(self) -> None:
        """Forget everything: there is nothing left to do."""
        for path in self._paths:
            path.unlink(missing_ok=True)

    def _append(self, output: str, entry: Entry) -> None:
        line = json.dumps({"output": Path(output).name, **entry}).encode() + b"\n"
        path = _journal_of(output)
        with add_path_to_errors(path), path.open("a+b") as file:
            if file.tell():
                file.seek(-1, 2)
                # the last line of a run that was killed may have no end
                line = line if file.read(1) == b"\n" else b"\n" + line
            file.write(line)


def finished_entry(
    settings: Any, sources: Mapping[str, str], outputs: Sequence[Path], result: Any
) -> Entry:
    """Return what the journal keeps of an output that was made from files of these digests."""
    return {
        "settings": settings,
        "sources": dict(sources),
        "made": digests(outputs),
        "result": result,
    }


def is_done(
    entry: Entry | None, settings: Any, sources: Sequence[Path], outputs: Sequence[Path]
) -> bool:
    """Whether what was made is there, bit for bit, and would be made the same way again."""
    if entry is None or not entry.get("made"):
        return False
    made = digests(outputs)
    return (
        len(made) == len(outputs)
        and made == entry["made"]
        and json.loads(json.dumps(settings)) == entry.get("settings")  # tuples are lists there
        and digests(sources) == entry.get("sources")
    )


def digests(paths: Sequence[Path]) -> dict[str, str]:
    """Return the SHA-256 of each file by its full name; pipes and what cannot be read have none."""
    found = {}
    for path in filter(Path.is_file, paths):
        with path.open("rb") as file:
            found[str(path.absolute())] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _journal_of(output: str) -> Path:
    return Path(output).parent / NAME


def _key(output: str | Path) -> str:
    return str(Path(output).absolute())


def _entries(path: Path) -> list[tuple[str, Entry]]:
    """Read a journal; a line that is none, as one that was cut is, says nothing."""
    found: list[tuple[str, Entry]] = []
    for line in path.read_bytes().splitlines() if path.is_file() else []:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict) and isinstance(entry.get("output"), str):
            found.append((_key(path.parent / entry["output"]), entry))
    return found
