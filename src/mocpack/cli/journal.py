"""The journal of a batch, one line of JSON per step, which lets ``--resume`` continue it.

The journal is stored in the output folder. An output counts as done only if its bytes, the bytes of
its inputs and the settings are all unchanged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from mocpack.common.file_errors import add_path_to_errors

JOURNAL_NAME = ".mocpack-batch.jsonl"

Entry = Mapping[str, object]
"""``output``, a file name. A finished output also has ``settings``, ``sources`` and ``made``
(SHA-256 by absolute path) and ``result``, the numbers that the command prints."""


class Journal:
    """The journals of the folders that a batch writes to. Each step appends a line."""

    def __init__(self, outputs: Sequence[str]) -> None:
        self._paths = sorted({_journal_path(output) for output in outputs})
        self._entries = {key: entry for path in self._paths for key, entry in _read_entries(path)}

    def entry(self, output: str) -> Entry | None:
        """Return the latest entry of an output, None if no batch has written it."""
        return self._entries.get(_key(output))

    def remove(self) -> None:
        """Delete the journals."""
        for path in self._paths:
            path.unlink(missing_ok=True)

    def append(self, output: str, entry: Entry) -> None:
        """Record an output: with an empty entry, that this batch writes it and may replace it."""
        line = json.dumps({"output": Path(output).name, **entry}).encode() + b"\n"
        path = _journal_path(output)
        with add_path_to_errors(path), path.open("a+b") as file:
            if file.tell():
                file.seek(-1, 2)
                # The last line of a killed run may lack its line break.
                line = line if file.read(1) == b"\n" else b"\n" + line
            file.write(line)


def is_done(
    entry: Entry | None, settings: object, sources: Sequence[Path], outputs: Sequence[Path]
) -> bool:
    """Whether the outputs, inputs and settings are all the same as in the journal entry."""
    if entry is None or not entry.get("made"):
        return False
    made = hash_files(outputs)
    return (
        len(made) == len(outputs)
        and made == entry["made"]
        and json.loads(json.dumps(settings))
        == entry.get("settings")  # JSON turns tuples into lists
        and hash_files(sources) == entry.get("sources")
    )


def hash_files(paths: Sequence[Path]) -> dict[str, str]:
    """Return the SHA-256 of each regular file that can be read, by absolute path."""
    digests = {}
    for path in filter(Path.is_file, paths):
        with suppress(OSError), path.open("rb") as file:
            digests[str(path.absolute())] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def _journal_path(output: str) -> Path:
    return Path(output).parent / JOURNAL_NAME


def _key(output: str | Path) -> str:
    return str(Path(output).absolute())


def _read_entries(path: Path) -> list[tuple[str, Entry]]:
    """Read a journal. Skip truncated or invalid lines."""
    entries: list[tuple[str, Entry]] = []
    for line in path.read_bytes().splitlines() if path.is_file() else []:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict) and isinstance(entry.get("output"), str):
            entries.append((_key(path.parent / entry["output"]), entry))
    return entries
