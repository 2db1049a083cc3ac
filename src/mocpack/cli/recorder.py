"""Writes what was received live, each performance to a file of its own."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import mocpack
from mocpack.cli import files
from mocpack.errors import UsageError
from mocpack.io.atomic import write_atomically
from mocpack.live.recording import Recording


class Recorder:
    """Writes recordings, each to a file of its own, beside those who still perform.

    Parameters
    ----------
    path : str
        ``day.mocp`` makes ``day-anna.mocp``, then ``day-anna-2.mocp``; one recording alone, at the
        end, is ``day.mocp`` itself.
    """

    def __init__(self, path: str, max_error: str | None, *, force: bool) -> None:
        if path.endswith(".mocps"):
            raise UsageError("recordings are .mocp files; `mocpack pack` makes a corpus of them")
        files.check_free(path, force=force)
        if max_error is not None and not path.endswith(".mocp"):
            raise UsageError(f"--max-error is of .mocp files, not of {path}")
        self._path, self._max_error, self._force = Path(path), max_error, force
        self._takes: dict[str, int] = {}
        self._threads: list[Thread] = []
        self._written: list[Path] = []

    def add(self, name: str, recording: Recording) -> None:
        """Write a recording that has ended, while others go on."""
        if not len(recording):
            return
        take = self._takes[name] = self._takes.get(name, 0) + 1
        tail = f"-{name}" + (f"-{take}" if take > 1 else "")
        path = self._path.with_name(f"{self._path.stem}{tail}{self._path.suffix}")
        thread = Thread(target=self._write, args=(recording, path))
        thread.start()
        self._threads.append(thread)

    def finish(self) -> bool:
        """Wait for what is being written; return whether anything was."""
        for thread in self._threads:
            thread.join()
        if len(self._written) == 1 and (self._force or not self._path.exists()):
            self._written = [self._written[0].replace(self._path)]
        for path in self._written:
            files.stdout().print(f"wrote {path}")
        if not self._written:
            files.stderr().print("nothing was received")
        return bool(self._written)

    def _write(self, recording: Recording, path: Path) -> None:
        try:
            clip = recording.clip()
            if path.suffix == ".mocp" and self._max_error is None:
                write_atomically(mocpack.encode(clip, "lossless"), str(path))
            elif path.suffix == ".mocp":
                write_atomically(mocpack.encode(clip, max_error=self._max_error), str(path))
            else:
                mocpack.write(clip, path)
            self._written.append(path)
        except Exception as error:
            sentence = files.describe_error(error)
            if sentence is None:
                raise
            files.stderr().print(f"{path}: {sentence}")
