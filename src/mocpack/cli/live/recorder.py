"""Record live motion, each performance to a file of its own.

Packets are appended to a spool file next to the output (`live/spool.py`). When the performer
leaves, a thread converts the spool to the output and removes it. A new recorder also converts the
spools that a killed recorder left behind.
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
from mocpack.cli.terminal import print_error
from mocpack.clip import Clip
from mocpack.corpora import catalog
from mocpack.corpora.packing import pack
from mocpack.errors import UsageError, name_errors
from mocpack.io.atomic import atomic_stream, remove_temporaries
from mocpack.live.hello import Hello
from mocpack.live.recording import decode_clips
from mocpack.live.spool import SUFFIX, Spool, SpoolReader, is_in_use

MAX_TAKES = 1000  # per performer
MAX_PARTS = 200  # files per recording
SHORT_WAIT_S = 1.0  # before a message says that recordings are still being written
MAX_NAME_LENGTH = 64  # characters of a performer's name in a file name

PacketWriter = Callable[[bytes | None], None]
"""Call it with each packet of a performance, and with None at its end."""


class Recorder:
    """Writes each recording to a file of its own, while other performers continue.

    Parameters
    ----------
    path : str
        ``day.mocp`` writes ``day-anna.mocp``, then ``day-anna-2.mocp``; if there is only one
        recording, it becomes ``day.mocp``. ``day.mocps`` writes one archive at the end. A recording
        that is too long for one file continues in ``day-anna-part2.mocp``.
    """

    def __init__(self, path: str, max_error: str | None, *, force: bool) -> None:
        files.check_output(path, force=force)
        if max_error is not None and not path.endswith((".mocp", ".mocps")):
            raise UsageError(f"--max-error needs a .mocp or .mocps output, got {path}")
        self._archive = path.endswith(".mocps")
        if not self._archive:
            with name_errors(path, UsageError):  # before the recording, which could not be written
                files.check_extension(Path(path).suffix)
        else:
            catalog.import_parquet()  # raises before the recording if the package is missing
        self._path, self._max_error, self._force = Path(path), max_error, force
        self._suffix = ".mocp" if self._archive else self._path.suffix
        self._reserved: set[Path] = set()
        self._written: list[Path] = []
        self._queue: SimpleQueue[Path | None] = SimpleQueue()
        self._thread = Thread(target=self._write_all, daemon=True)
        self._thread.start()
        for spool in self._find_spools():
            self._reserved.add(_target_path(spool))
            print_error(f"{spool}: finishing the recording of a recorder that was killed")
            self._queue.put(spool)

    def begin(self, name: str, hello: Hello) -> PacketWriter:
        """Start the recording of a performer. Disk errors are printed and end it."""
        spool: Spool | None = None
        try:
            target = self._choose_target(name)
            spool = Spool(target.with_name(target.name + SUFFIX), hello)
        except (UsageError, OSError) as error:
            print_error(f"{name} is not recorded: {files.describe_error(error)}")

        def take(packet: bytes | None) -> None:
            nonlocal spool
            if spool is None:
                return
            ended = packet is None
            try:
                if packet is not None and not spool.append(packet):
                    print_error(
                        f"{spool.path} reached its maximum size; the rest of {name} is not recorded"
                    )
                    ended = True
            except OSError as error:
                print_error(
                    f"{spool.path}: {error.strerror or error}; the rest of {name} is not recorded"
                )
                ended = True
            if ended:
                self._close_spool(spool)
                spool = None

        return take

    def finish(self) -> bool:
        """Wait until all recordings are written; return whether there are any."""
        self._queue.put(None)
        try:
            self._thread.join(SHORT_WAIT_S)
            if self._thread.is_alive():
                files.stderr().print(
                    "writing recordings; Ctrl-C leaves the rest to the next recorder"
                )
            self._thread.join()
        except KeyboardInterrupt:
            print_error(
                f"some recordings are not written yet; record to {self._path} again to finish them"
            )
            raise
        if self._archive and self._written:
            self._written = self._pack_archive()
        elif len(self._written) == 1 and (self._force or not self._path.exists()):
            self._written = [self._written[0].replace(self._path)]
        for path in self._written:
            files.stdout().print(f"wrote {path}")
        return bool(self._written)

    def _find_spools(self) -> list[Path]:
        """Return the spools of this output that no recorder uses."""
        start, end = f"{self._path.stem}-", self._suffix + SUFFIX
        beside = self._path.parent.iterdir()
        found = sorted(p for p in beside if p.name.startswith(start) and p.name.endswith(end))
        return [spool for spool in found if not is_in_use(spool)]

    def _choose_target(self, name: str) -> Path:
        """Return an unused file name for the next take of a performer."""
        # A relay may send any name; it must not lead out of the folder.
        safe = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:MAX_NAME_LENGTH] or "_"
        for take in range(1, MAX_TAKES + 1):
            tail = f"-{take}" if take > 1 else ""
            target = self._path.with_name(f"{self._path.stem}-{safe}{tail}{self._suffix}")
            if self._is_free(target):
                self._reserved.add(target)
                return target
        raise UsageError(f"{self._path}: {name} already has {MAX_TAKES} takes, the maximum")

    def _is_free(self, target: Path) -> bool:
        spool = target.with_name(target.name + SUFFIX)
        exists = spool.exists() or (target.exists() and not self._force)
        return target not in self._reserved and not exists

    def _close_spool(self, spool: Spool) -> None:
        spool.close()
        if spool.packet_count:
            self._queue.put(spool.path)
        else:
            spool.path.unlink(missing_ok=True)

    def _pack_archive(self) -> list[Path]:
        """Pack the recordings into the archive; rejected files stay next to it."""
        start = len(self._path.stem) + 1
        names = {str(path): path.stem[start:] for path in sorted(self._written)}
        clips = {name: path for path, name in names.items()}
        rejected = {one.path for one in pack(clips, self._path)}
        for path in names:
            if path not in rejected:
                Path(path).unlink()
        return [self._path, *map(Path, sorted(rejected))]

    def _write_all(self) -> None:
        while (spool := self._queue.get()) is not None:
            try:
                self._write(spool)
            except Exception as error:
                message = files.describe_error(error)
                if message is None:
                    raise
                print_error(f"{spool}: {message}")

    def _write(self, spool: Path) -> None:
        """Convert a spool to its files and remove it. If this fails, the spool stays."""
        written = []
        with SpoolReader(spool) as reader, ExitStack() as together:
            # Files appear only when all are complete, so a kill leaves only the spool.
            paths = self._part_paths(_target_path(spool))
            for clip in decode_clips(reader.hello, reader.packets()):
                if (path := next(paths, None)) is None:
                    break
                if path.suffix == ".mocp":
                    remove_temporaries(path)  # left by a recorder that was killed while writing
                    together.enter_context(atomic_stream(path)).write(self._encode(clip))
                else:
                    mocpack.write(clip, path)
                written.append(path)
        if not written:
            print_error(f"{_target_path(spool)}: received no complete frame; wrote no file")
        spool.unlink()
        self._written += written

    def _part_paths(self, target: Path) -> Iterator[Path]:
        yield target
        for part in range(2, MAX_PARTS + 1):
            path = target.with_name(f"{target.stem}-part{part}{target.suffix}")
            if not self._is_free(path):
                raise UsageError(f"{path} exists; move it and record again to finish")
            yield path
        print_error(f"{target} has more than {MAX_PARTS} parts; the rest is not written")

    def _encode(self, clip: Clip) -> bytes:
        if self._max_error is None:
            return mocpack.encode(clip, "lossless")
        return mocpack.encode(clip, max_error=self._max_error)


def _target_path(spool: Path) -> Path:
    return spool.with_name(spool.name.removesuffix(SUFFIX))
