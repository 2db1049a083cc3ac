"""Writes what is received live, each performance to a file of its own.

Packets go to a spool beside the output as they come (`live/spool.py`). When the performer leaves,
a thread makes the file of the spool and removes it. A recorder that starts finishes the spools
that a killed one has left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

import mocpack
from mocpack.cli import files
from mocpack.cli.terminal import complain
from mocpack.clip import Clip
from mocpack.corpora import catalog
from mocpack.corpora.packing import pack
from mocpack.errors import UsageError
from mocpack.io.atomic import atomic_stream, remove_temporaries
from mocpack.live.hello import Hello
from mocpack.live.recording import decode_clips
from mocpack.live.spool import SUFFIX, Spool, SpoolReader, is_in_use

MAX_TAKES = 1000  # of one performer
MAX_PARTS = 200  # files of one recording
SHORT_WAIT_S = 1.0  # for recordings to be written, before a message says that it takes longer
MAX_NAME_LENGTH = 64  # characters of a performer's name in a file's name

Take = Callable[[bytes | None], None]
"""Takes the packets of a performance, and None at its end."""


class Recorder:
    """Writes recordings, each to a file of its own, beside those who still perform.

    Parameters
    ----------
    path : str
        ``day.mocp`` makes ``day-anna.mocp``, then ``day-anna-2.mocp``; one recording alone, at the
        end, is ``day.mocp`` itself. ``day.mocps`` is an archive of all, made at the end. A
        recording that is too long for one file goes on in ``day-anna-part2.mocp``.
    """

    def __init__(self, path: str, max_error: str | None, *, force: bool) -> None:
        files.check_free(path, force=force)
        if max_error is not None and not path.endswith((".mocp", ".mocps")):
            raise UsageError(f"--max-error is of .mocp files, not of {path}")
        self._archive = path.endswith(".mocps")
        if self._archive:
            catalog.import_parquet()  # complains before the work, not after
        self._path, self._max_error, self._force = Path(path), max_error, force
        self._suffix = ".mocp" if self._archive else self._path.suffix
        self._taken: set[Path] = set()
        self._written: list[Path] = []
        self._queue: SimpleQueue[Path | None] = SimpleQueue()
        self._thread = Thread(target=self._write_all, daemon=True)
        self._thread.start()
        for spool in self._find_spools():
            self._taken.add(_target_of(spool))
            complain(f"{spool} was left by a recorder that was killed: finishing it")
            self._queue.put(spool)

    def begin(self, name: str, hello: Hello) -> Take:
        """Begin the recording of a performer; errors of the disk are said and end it."""
        spool: Spool | None = None
        try:
            target = self._choose_target(name)
            spool = Spool(target.with_name(target.name + SUFFIX), hello)
        except (UsageError, OSError) as error:
            complain(f"{name} is not recorded: {files.describe_error(error)}")

        def take(packet: bytes | None) -> None:
            nonlocal spool
            if spool is None:
                return
            ended = packet is None
            try:
                if packet is not None and not spool.append(packet):
                    complain(f"{spool.path} is full: the rest of {name} is not recorded")
                    ended = True
            except OSError as error:
                complain(f"{spool.path}: {error.strerror or error}: the rest is not recorded")
                ended = True
            if ended:
                self._end(spool)
                spool = None

        return take

    def finish(self) -> bool:
        """Write what has ended; return whether anything was written."""
        self._queue.put(None)
        try:
            self._thread.join(SHORT_WAIT_S)
            if self._thread.is_alive():
                files.stderr().print("writing recordings; Ctrl-C leaves the rest to the next start")
            self._thread.join()
        except KeyboardInterrupt:
            complain(
                f"some recordings are not written: record to {self._path} again to finish them"
            )
            raise
        if self._archive and self._written:
            self._written = self._packed()
        elif len(self._written) == 1 and (self._force or not self._path.exists()):
            self._written = [self._written[0].replace(self._path)]
        for path in self._written:
            files.stdout().print(f"wrote {path}")
        return bool(self._written)

    def _find_spools(self) -> list[Path]:
        """Return the spools of this output that nobody writes any more."""
        start, end = f"{self._path.stem}-", self._suffix + SUFFIX
        beside = self._path.parent.iterdir()
        found = sorted(p for p in beside if p.name.startswith(start) and p.name.endswith(end))
        return [spool for spool in found if not is_in_use(spool)]

    def _choose_target(self, name: str) -> Path:
        """Return a file of a performer's next take that harms no other."""
        # a relay may give any name, and none may lead out of the folder
        safe = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:MAX_NAME_LENGTH] or "_"
        for take in range(1, MAX_TAKES + 1):
            target = self._beside(f"-{safe}" + (f"-{take}" if take > 1 else ""))
            if self._is_free(target):
                self._taken.add(target)
                return target
        raise UsageError(f"a performer has at most {MAX_TAKES} takes beside {self._path}")

    def _is_free(self, target: Path) -> bool:
        spool = target.with_name(target.name + SUFFIX)
        exists = spool.exists() or (target.exists() and not self._force)
        return target not in self._taken and not exists

    def _beside(self, tail: str) -> Path:
        return self._path.with_name(f"{self._path.stem}{tail}{self._suffix}")

    def _end(self, spool: Spool) -> None:
        spool.close()
        if spool.packet_count:
            self._queue.put(spool.path)
        else:
            spool.path.unlink(missing_ok=True)

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

    def _write_all(self) -> None:
        while (spool := self._queue.get()) is not None:
            try:
                self._write(spool)
            except Exception as error:
                sentence = files.describe_error(error)
                if sentence is None:
                    raise
                complain(f"{spool}: {sentence}")

    def _write(self, spool: Path) -> None:
        """Make the files of a spool and remove it; where that fails, it stays."""
        written = []
        with SpoolReader(spool) as reader, ExitStack() as together:
            # no file appears before all are on the disk: a kill meanwhile leaves the spool alone
            paths = self._parts_of(_target_of(spool))
            for clip in decode_clips(reader.hello, reader.packets()):
                if (path := next(paths, None)) is None:
                    break
                if path.suffix == ".mocp":
                    remove_temporaries(path)  # of a recorder that was killed while it wrote
                    together.enter_context(atomic_stream(path)).write(self._encode(clip))
                else:
                    mocpack.write(clip, path)
                written.append(path)
        if not written:
            complain(f"{_target_of(spool)}: nothing was received that could be recorded")
        spool.unlink()
        self._written += written

    def _parts_of(self, target: Path) -> Iterator[Path]:
        yield target
        for part in range(2, MAX_PARTS + 1):
            path = target.with_name(f"{target.stem}-part{part}{target.suffix}")
            if not self._is_free(path):
                raise UsageError(f"{path} exists: move it away, and record again to finish")
            yield path
        complain(f"{target} has more than {MAX_PARTS} parts: the rest is left out")

    def _encode(self, clip: Clip) -> bytes:
        if self._max_error is None:
            return mocpack.encode(clip, "lossless")
        return mocpack.encode(clip, max_error=self._max_error)


def _target_of(spool: Path) -> Path:
    return spool.with_name(spool.name.removesuffix(SUFFIX))
