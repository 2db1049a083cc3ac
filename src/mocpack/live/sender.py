"""Frames into packets, each within its bound, with as much repeated as the network loses."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from mocpack import _core
from mocpack.arrays import F64
from mocpack.clip import ClipHeader
from mocpack.errors import InvalidClipError, UsageError
from mocpack.live.hello import Hello
from mocpack.live.mode import Mode
from mocpack.live.rate_control import RateControl
from mocpack.live.repeats import MAX_REPEATS, MAX_UNREPAIRED, repeats_for
from mocpack.live.report import Report

INTRA = 120  # frames
MOST_OFFSET = 63  # frames, of which the encoder keeps the rows
MOST_REPAIRS = 16  # of one packet
LATEST = 1 << 60  # microseconds
FRAMING = 11  # bytes of a packet beside its rows


class Sender:
    """Turns frames into packets, as they come, with no delay of its own.

    Parameters
    ----------
    stream : Hello or ClipHeader
        A header begins a new stream within `max_error`.
    max_error : float
        Metres that no joint, end site or point of the skin may leave the truth by.
    repeat : sequence of int
        Which earlier frames each packet repeats until reports tell the loss: ``(3, 5)`` those of
        three and five before. TCP loses nothing and needs none.
    intra : int
        Every how many frames one stands by itself.
    control : RateControl, optional
        Coarsens the stream where it would exceed a bit rate. Repeats take what the rate leaves.

    Attributes
    ----------
    hello : Hello
        What receivers must have first.
    number : int
        Frames sent so far.
    error : float
        Metres that the last frame was off by.
    """

    def __init__(
        self,
        stream: Hello | ClipHeader,
        max_error: float = 0.005,
        *,
        repeat: Sequence[int] = (),
        intra: int = INTRA,
        control: RateControl | None = None,
    ) -> None:
        self.hello = stream if isinstance(stream, Hello) else Hello.new(stream, max_error)
        if intra < 1:
            raise UsageError(f"intra must be at least 1 frame, got {intra}")
        self.repeat = tuple(repeat)
        self.number = 0
        self.error = 0.0
        self._intra = intra
        self._control = control
        self._encoder = _core.LiveEncoder(self.hello.model)
        self._mode = self._wanted = Mode(self.hello.max_error)
        self._since = 0  # frames since the last intra one
        self._given = 0  # frames of the source
        self._repairs: list[int] = []
        self._restart = True
        self._row_sizes: deque[int] = deque(maxlen=MOST_OFFSET + 1)  # bytes, the last at the end

    @property
    def repeat(self) -> tuple[int, ...]:
        return self._repeat

    @repeat.setter
    def repeat(self, offsets: Sequence[int]) -> None:
        if any(not 1 <= offset <= MOST_OFFSET for offset in offsets):
            raise UsageError(f"repeated frames must be 1 to {MOST_OFFSET} before, got {offsets}")
        self._repeat = tuple(sorted(set(offsets)))

    @property
    def mode(self) -> Mode:
        """How the last frame was coded; a new one holds from the next frame on, an intra one."""
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        if not 1e-6 <= mode.max_error <= 1 or not 1 <= mode.every <= 255:
            raise UsageError(f"max_error is in 1e-6..1 m and every in 1..255, got {mode}")
        self._wanted = mode

    def send(self, rotations: F64, translations: F64, time: float | None = None) -> bytes | None:
        """Return the packet of the next frame; None where the frame rate is cut and it is left out.

        Parameters
        ----------
        rotations : array, shape (J, 4)
            Local.
        translations : array, shape (M, 3)
        time : float, optional
            Seconds on the sender's clock, at least 0; by default frames follow evenly.
        """
        given, self._given = self._given, self._given + 1
        if given % self._mode.every and not self._restart:
            return None
        seconds = given * self.hello.header.frame_time if time is None else time
        intra = self._restart or self._wanted != self._mode or self._since >= self._intra
        self._encode(rotations, translations, round(1e6 * seconds), intra)
        if self._control is None:
            return self._packet(self._repeat)
        repeat = self._repeat[: self._room()]
        packet = self._packet(repeat)
        # repeats take what the rate leaves, so they are no reason to coarsen frames
        repeated = sum(self._row_sizes[-1 - k] for k in repeat if k < len(self._row_sizes))
        self.mode = self._control.after(len(packet) - repeated, seconds, self.hello.max_error)
        return packet

    def restart(self) -> None:
        """Make the next frame stand by itself, for a receiver that has lost the thread."""
        self._restart = True

    def repair(self, numbers: Iterable[int]) -> None:
        """Say these frames again with the next packet, as far as they are still kept."""
        self._repairs = [*dict.fromkeys([*self._repairs, *numbers])][-MOST_REPAIRS:]

    def heed(self, report: Report) -> None:
        """Follow a receiver's report: choose what packets repeat, send missing frames again.

        If the receiver can no longer decode, the next frame is an intra one.
        """
        # fewer frames cannot show that less than MAX_UNREPAIRED of them is lost
        if report.loss > MAX_UNREPAIRED or self.number >= 1 / MAX_UNREPAIRED:
            trip = max(0, self.number - report.newest)
            self.repeat = repeats_for(
                report.loss, report.burst, report.patience, trip, self._room()
            )
        kept = self.number - MOST_OFFSET
        if report.lost or (report.missing and report.missing[0] < kept):
            self.restart()
        else:
            self.repair(report.missing)

    def pose(self) -> tuple[F64, F64]:
        """Return rotations (J, 4) and translations (M, 3) that receivers have of the last frame."""
        return self._encoder.pose()

    def checksum(self) -> int:
        """Return a checksum of the state, equal to that of a receiver of the same frames."""
        return self._encoder.checksum()

    def _encode(self, rotations: F64, translations: F64, micros: int, intra: bool) -> None:
        mode = self._wanted if intra else self._mode
        turns = np.ascontiguousarray(rotations, np.float64)
        places = np.ascontiguousarray(translations, np.float64)
        time = min(max(0, micros), LATEST)
        bound = max(1, int(mode.max_error * 1e6 + 1e-6))
        made = self._encoder.encode(turns, places, time, intra, bound, mode.every, mode.twist)
        if made is None:
            raise InvalidClipError(
                f"frame {self.number}: its numbers are no pose, or its joints leave their hinges "
                f"by more than {1000 * mode.max_error:g} mm"
            )
        self._mode = mode
        self.error, stands, row_size = made
        self._row_sizes.append(row_size)
        self._restart = False
        self.number += 1
        self._since = 1 if stands else self._since + 1

    def _packet(self, repeat: Sequence[int]) -> bytes:
        newest, full = self.number - 1, self._since == 1
        again = {newest - n for n in self._repairs if 0 < newest - n <= MOST_OFFSET}
        self._repairs = []
        return self._encoder.packet(newest, [0, *sorted(again.union(repeat))], full)

    def _room(self) -> int:
        """Return how many frames each packet may repeat within the bit rate."""
        if self._control is None or not self._row_sizes:
            return MAX_REPEATS
        period = self._mode.every * self.hello.header.frame_time
        row = sum(self._row_sizes) / len(self._row_sizes)
        spare = self._control.bits * period / 8 - self._control.overhead - FRAMING - row
        return min(max(0, int(spare / (row + 1))), MAX_REPEATS)
