"""Frames into packets, each within its bound, with as much repeated as the network loses."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from mocpack import _core
from mocpack.arrays import F64
from mocpack.clip import ClipHeader
from mocpack.errors import InvalidClipError, UsageError
from mocpack.live.guard import FEW_LOST, Guard
from mocpack.live.hello import Hello
from mocpack.live.mode import Mode
from mocpack.live.rate_control import RateControl
from mocpack.live.report import Report

INTRA = 120  # frames
MOST_OFFSET = 63  # frames, of which the encoder keeps the rows
MOST_REPAIRS = 16  # of one packet
LATEST = 1 << 60  # microseconds
MANY_LOST = 0.01
CAUTIOUS = 240  # frames for which `repeat` stays, though nothing was lost yet
MOST_AT_ONCE = 8  # frames repeated for a receiver that hardly waits
REMEMBERED = 16  # reports
TRIPS = 3  # that asking for a frame and having it may take, one of them lost on the way


class Sender:
    """Turns frames into packets, as they come, with no delay of its own.

    Parameters
    ----------
    stream : Hello or ClipHeader
        A header begins a new stream within `max_error`.
    max_error : float
        Metres that no joint, end site or point of the skin may leave the truth by.
    repeat : sequence of int
        Which earlier frames each packet says again: ``(3, 6)`` those of three and six before.
        On a network that loses nothing (TCP) none need be.
    intra : int
        Every how many frames one stands by itself.
    control : RateControl, optional
        Coarsens the stream where it would exceed a bit rate.
    guard : Guard, optional
        What receivers get beyond repeats that show at once and lose packets.

    Attributes
    ----------
    hello : Hello
        What receivers must have first.
    number : int
        Frames sent so far.
    error : float
        Metres that the last frame was off by.
    packets : tuple of bytes
        What the last frame is worth sending, in this order. Often one; where a receiver reported
        losses that shows at once, a packet of the frame alone may go before the one that `send`
        returns.
    """

    def __init__(
        self,
        stream: Hello | ClipHeader,
        max_error: float = 0.005,
        *,
        repeat: Sequence[int] = (),
        intra: int = INTRA,
        control: RateControl | None = None,
        guard: Guard | None = None,
    ) -> None:
        self.hello = stream if isinstance(stream, Hello) else Hello.new(stream, max_error)
        if intra < 1:
            raise UsageError(f"intra must be at least 1 frame, got {intra}")
        self.repeat = tuple(repeat)
        self.number = 0
        self.error = 0.0
        self.packets: tuple[bytes, ...] = ()
        self._intra = intra
        self._control = control
        self._guard = guard or Guard()
        if control is not None:
            self._guard.bits = min(self._guard.bits, control.bits)
            self._guard.bits_in_runs = min(self._guard.bits_in_runs, control.bits)
        self._encoder = _core.LiveEncoder(self.hello.model)
        self._mode = self._wanted = Mode(self.hello.max_error)
        self._since = 0  # frames since the last intra one
        self._given = 0  # frames of the source
        self._repairs: list[int] = []
        self._sent: deque[int] = deque(maxlen=2 * MOST_OFFSET)  # frames of the last packets
        self._trips: deque[int] = deque(maxlen=REMEMBERED)  # frames that reports were behind
        self._restart = True
        self._row_size = 0  # bytes, of the last frame

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
        self.packets = ()
        if given % self._mode.every and not self._restart:
            return None
        seconds = given * self.hello.header.frame_time if time is None else time
        intra = self._restart or self._wanted != self._mode or self._since >= self._intra
        self._encode(rotations, translations, round(1e6 * seconds), intra)
        self.packets = self._packets()
        sizes = [len(packet) for packet in self.packets]
        self._guard.sent(sizes, self._row_size, seconds)
        if self._control is not None:
            for size in sizes:
                self.mode = self._control.after(size, seconds, self.hello.max_error)
        return self.packets[-1]

    def restart(self) -> None:
        """Make the next frame stand by itself, for a receiver that has lost the thread."""
        self._restart = True

    def repair(self, numbers: Iterable[int]) -> None:
        """Say these frames again with the next packet, as far as they are still kept."""
        self._repairs = [*dict.fromkeys([*self._repairs, *numbers])][-MOST_REPAIRS:]

    def heed(self, report: Report) -> None:
        """Follow a receiver's report: repeat what it needs, restart if it has lost the thread.

        Where it waits long enough for what is missing to be sent again, nothing is repeated
        beforehand. Where it hardly waits, every packet has all that a run of losses took.
        """
        expected = max(self.repeat, default=0) if self.number < CAUTIOUS else 0
        self._guard.heed(report, self.number, expected)
        self._trips.append(max(0, self.number - 1 - report.newest))
        apart = report.burst + TRIPS * max(self._trips)
        waits = report.newest >= 0 and report.patience >= apart
        if report.loss >= FEW_LOST or self.number > CAUTIOUS:
            self.repeat = () if waits else repeats_for(report.loss, report.burst, report.patience)
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

        def encoded(share: float, intra: bool) -> tuple[float, bool, int] | None:
            bound = max(1, int(share * mode.max_error * 1e6 + 1e-6))
            return self._encoder.encode(turns, places, time, intra, bound, mode.every, mode.twist)

        finer = mode.max_error <= self.hello.max_error  # else bits are short
        made = encoded(self._guard.share() if finer and intra else 1.0, intra)
        if made is None:  # it may have been asked to be finer than the bound
            made = encoded(1.0, True)
        if made is None:
            raise InvalidClipError(
                f"frame {self.number}: its numbers are no pose, or its joints leave their hinges "
                f"by more than {1000 * mode.max_error:g} mm"
            )
        self._mode = mode
        self.error, stands, self._row_size = made
        self._restart = False
        self.number += 1
        self._since = 1 if stands else self._since + 1

    def _packets(self) -> tuple[bytes, ...]:
        newest, full = self.number - 1, self._since == 1
        again = {newest - n for n in self._repairs if 0 < newest - n <= MOST_OFFSET}
        self._repairs = []
        if not self._guard.on:
            self._sent.append(newest)
            offsets = sorted(again.union(self._repeat)) if again or self._repeat else ()
            return (self._encoder.packet(newest, [0, *offsets], full),)
        off = self._encoder.guess_error() / self._mode.max_error
        alone = self._encoder.packet(newest, [0], full)
        # alone first: if a run of losses ends between the two, the second still mends all
        first = (alone,) if self._guard.twice(len(alone), off) else ()
        self._sent.extend(newest for _ in first)
        again.update(endangered(self._sent, newest, self._guard.run))
        self._sent.append(newest)
        return (*first, self._encoder.packet(newest, [0, *sorted(again)], full))


def endangered(sent: Sequence[int], newest: int, run: int) -> set[int]:
    """Return how far before `newest` frames are of which a run of losses has taken all packets.

    `sent` has the frames of the packets before this one, `run` packets are lost in a row. The frame
    before is always one of them.

    >>> sorted(endangered([1, 2, 3, 4, 5], 6, 3)), sorted(endangered([3, 3, 4, 4, 5, 5, 6], 6, 5))
    ([1, 2, 3], [1, 2])
    """
    lost, before = [*sent][-run:], set([*sent][:-run])
    frames = {newest - n for n in lost if n != newest and n not in before}
    return {1, *(offset for offset in frames if offset <= MOST_AT_ONCE)}


def repeats_for(loss: float, burst: int, patience: int = MOST_OFFSET) -> tuple[int, ...]:
    """Return which earlier frames to repeat where this share of packets is lost, in such runs.

    Of a frame's copies, the distance between two is such that a run of `burst` lost packets leaves
    one. A receiver that waits for `patience` frames only, too few for that, finds all that a
    run took in the first packet after it.

    >>> repeats_for(0.0, 0), repeats_for(0.005, 1), repeats_for(0.05, 1), repeats_for(0.05, 5)
    ((), (1,), (1, 2), (3, 6))
    >>> repeats_for(0.05, 1, patience=1), repeats_for(0.05, 5, patience=4)
    ((1,), (1, 2, 3, 4, 5))
    """
    if loss < FEW_LOST:
        return ()
    apart = min(max(1, math.ceil(burst / 2)), MOST_OFFSET // 2)
    if patience <= 1 or (burst > 1 and patience <= 2 * apart):
        return tuple(range(1, min(max(1, burst), MOST_AT_ONCE) + 1))
    if loss < MANY_LOST:
        return (min(max(1, burst), MOST_OFFSET),)
    return (apart, 2 * apart)
