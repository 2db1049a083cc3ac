"""Writes what was received live, each performance to a file of its own."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import mocpack
from mocpack.cli import files
from mocpack.corpora import catalogue
from mocpack.corpora.packing import pack
from mocpack.errors import UsageError
from mocpack.io.atomic import write_atomically
from mocpack.live.recording import Recording


class Recorder:
    """Writes recordings, each to a file of its own, beside those who still perform.

    Parameters
    ----------
    path : str
        ``day.mocp`` makes ``day-anna.mocp``, then ``day-anna-2.mocp``; one recording alone, at the
        end, is ``day.mocp`` itself. ``day.mocps`` is an archive of all, made at the end.
    """

    def __init__(self, path: str, max_error: str | None, *, force: bool) -> None:
        files.check_free(path, force=force)
        if max_error is not None and not path.endswith((".mocp", ".mocps")):
            raise UsageError(f"--max-error is of .mocp files, not of {path}")
        self._archive = path.endswith(".mocps")
        if self._archive:
            catalogue.parquet()  # complains before the work, not after
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
        suffix = ".mocp" if self._archive else self._path.suffix
        path = self._path.with_name(f"{self._path.stem}{tail}{suffix}")
        thread = Thread(target=self._write, args=(recording, path))
        thread.start()
        self._threads.append(thread)

    def finish(self) -> bool:
        """Wait for what is being written; return whether anything was."""
        for thread in self._threads:
            thread.join()
        if self._archive and self._written:
            self._written = self._packed()
        elif len(self._written) == 1 and (self._force or not self._path.exists()):
            self._written = [self._written[0].replace(self._path)]
        for path in self._written:
            files.stdout().print(f"wrote {path}")
        if not self._written:
            files.stderr().print("nothing was received")
        return bool(self._written)

    def _packed(self) -> list[Path]:
        """Put the recordings into the archive, as they are; what could not be stays beside it."""
        start = len(self._path.stem) + 1
        names = {str(path): path.stem[start:] for path in sorted(self._written)}
        clips = {name: path for path, name in names.items()}
        refused = {one.path for one in pack(clips, self._path)}
        for path in names:
            if path not in refused:
                Path(path).unlink()
        return [self._path, *map(Path, sorted(refused))]

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
