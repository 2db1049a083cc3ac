"""Record live motion, each performance to a file of its own.

Packets are appended to a spool file next to the output (`live/spool.py`). When the performer
leaves, a thread converts the spool to the output and removes it. If this fails, the spool stays. A
new recorder also converts the spools that an earlier recorder left behind.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from shutil import rmtree
from threading import Thread

import mocpack
from mocpack.cli import files
from mocpack.cli.terminal import print_error
from mocpack.corpora import catalog
from mocpack.corpora.packing import pack
from mocpack.errors import UsageError, describe_bug, name_errors
from mocpack.io import files_to_write
from mocpack.live.hello import Hello
from mocpack.live.recording import decode_clips
from mocpack.live.spool import SUFFIX, Spool, SpoolReader, is_in_use
from mocpack.model.clip import Clip

DAMAGED_SUFFIX = ".damaged"  # of a spool that could not be read to its end
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

    Attributes
    ----------
    is_complete : bool
        Whether everything received so far was recorded and could be written.
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
        self.is_complete = True
        self._takes: dict[str, int] = {}  # last take of each performer
        self._reserved: set[Path] = set()
        self._written: list[Path] = []
        self._queue: SimpleQueue[Path | None] = SimpleQueue()
        self._thread = Thread(target=self._write_all, daemon=True)
        self._thread.start()
        for spool in self._find_spools():
            self._reserved.add(_target_path(spool))
            print_error(f"{spool}: finishing the recording of an earlier recorder")
            self._queue.put(spool)

    def begin(self, name: str, hello: Hello) -> PacketWriter:
        """Start the recording of a performer. Disk errors are printed and end it."""
        spool: Spool | None = None
        try:
            target = self._choose_target(name)
            spool = Spool(target.with_name(target.name + SUFFIX), hello)
        except (UsageError, OSError) as error:
            self._fail(f"{name} is not recorded: {files.describe_error(error)}")

        def take(packet: bytes | None) -> None:
            nonlocal spool
            if spool is None:
                return
            try:
                if packet is not None:
                    spool.append(packet)
                    return
            except OSError as error:
                self._fail(
                    f"{spool.path}: {error.strerror or error}; the rest of {name} is not recorded"
                )
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
            renames = zip(*map(files_to_write, (self._written[0], self._path)), strict=True)
            self._written = [old.replace(new) for old, new in renames][-1:]
        for path in self._written:
            files.stdout().print(f"wrote {path}")
        return bool(self._written)

    def _find_spools(self) -> list[Path]:
        """Return the spools of this output that no recorder uses."""
        start, end = f"{self._path.stem}-", self._suffix + SUFFIX
        beside = self._path.parent.iterdir()
        spools = sorted(p for p in beside if p.name.startswith(start) and p.name.endswith(end))
        return [spool for spool in spools if not is_in_use(spool)]

    def _choose_target(self, name: str) -> Path:
        """Return an unused file name for the next take of a performer."""
        # A relay may send any name; it must not lead out of the folder.
        safe = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:MAX_NAME_LENGTH] or "_"
        for take in count(self._takes.get(safe, 1)):
            tail = f"-{take}" if take > 1 else ""
            target = self._path.with_name(f"{self._path.stem}-{safe}{tail}{self._suffix}")
            if self._is_free(target):
                break
        self._takes[safe] = take
        self._reserved.add(target)
        return target

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
        rejected = {one.path: one.reason for one in pack(clips, self._path)}
        for path, reason in rejected.items():
            self._fail(f"{path} is not in the archive: {reason}")
        for path in names:
            if path not in rejected:
                Path(path).unlink()
        return [self._path, *map(Path, sorted(rejected))]

    def _fail(self, message: str) -> None:
        """Print an error that keeps something from being recorded or written."""
        self.is_complete = False
        print_error(message)

    def _write_all(self) -> None:
        while (spool := self._queue.get()) is not None:
            try:
                self._write(spool)
            except Exception as error:
                message = files.describe_error(error) or describe_bug(error)
                self._fail(f"{spool} is kept: {message}")

    def _write(self, spool: Path) -> None:
        """Convert a spool to its files and remove it. If this fails, the spool stays."""
        target = _target_path(spool)
        # Files appear only when all are complete, so a kill leaves only the spool.
        folder = target.with_name(f".{target.name}.parts")
        rmtree(folder, ignore_errors=True)  # left by a recorder that was killed while writing
        folder.mkdir()
        try:
            parts = []
            with SpoolReader(spool) as reader:
                for number, clip in enumerate(decode_clips(reader.hello, reader.packets()), 1):
                    parts.append(self._part_path(target, number))
                    self._write_part(clip, folder / parts[-1].name)
            for path in parts:
                for file in files_to_write(path):
                    (folder / file.name).replace(file)
        finally:
            rmtree(folder)
        if not parts:
            print_error(f"{target}: received no complete frame; wrote no file")
        self._written += parts
        if reader.is_damaged:
            kept = spool.replace(f"{spool}{DAMAGED_SUFFIX}")
            self._fail(f"{target} ends where its spool is damaged; {kept} keeps all packets")
        else:
            spool.unlink()

    def _part_path(self, target: Path, number: int) -> Path:
        """Return the file of a part; raise if another recording has it."""
        if number == 1:
            return target
        path = target.with_name(f"{target.stem}-part{number}{target.suffix}")
        if not self._is_free(path):
            raise UsageError(f"{path} exists; move it and record again to finish")
        self._reserved.add(path)
        return path

    def _write_part(self, clip: Clip, path: Path) -> None:
        if path.suffix != ".mocp":
            mocpack.write(clip, path)
        elif self._max_error is None:
            mocpack.write(clip, path, codec="lossless")
        else:
            mocpack.write(clip, path, max_error=self._max_error)


def _target_path(spool: Path) -> Path:
    return spool.with_name(spool.name.removesuffix(SUFFIX))
