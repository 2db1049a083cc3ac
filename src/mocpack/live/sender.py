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
from mocpack.live.repeats import MAX_REPEATS, MAX_UNREPAIRED, choose_repeats
from mocpack.live.report import Report

KEYFRAME_INTERVAL = 120  # frames
MAX_OFFSET = 63  # frames, of which the encoder keeps the rows
MAX_RESENT = 16  # of one packet
MAX_TIME_US = 1 << 60  # microseconds
PACKET_OVERHEAD_BYTES = 11  # bytes of a packet beside its rows


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
    keyframe_interval : int
        Every how many frames one stands by itself.
    rate_control : RateControl, optional
        Coarsens the stream where it would exceed a bit rate. Repeats take what the rate leaves.

    Attributes
    ----------
    hello : Hello
        What receivers must have first.
    frame_count : int
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
        keyframe_interval: int = KEYFRAME_INTERVAL,
        rate_control: RateControl | None = None,
    ) -> None:
        self.hello = stream if isinstance(stream, Hello) else Hello.new(stream, max_error)
        if keyframe_interval < 1:
            raise UsageError(f"keyframe_interval must be at least 1 frame, got {keyframe_interval}")
        self.repeat = tuple(repeat)
        self.frame_count = 0
        self.error = 0.0
        self._keyframe_interval = keyframe_interval
        self._rate_control = rate_control
        self._encoder = _core.LiveEncoder(self.hello.model)
        self._mode = self._next_mode = Mode(self.hello.max_error)
        self._frames_since_keyframe = 0  # frames since the last intra one
        self._source_frames = 0  # frames of the source
        self._resend_frames: list[int] = []
        self._keyframe_requested = True
        self._row_sizes: deque[int] = deque(maxlen=MAX_OFFSET + 1)  # bytes, the last at the end

    @property
    def repeat(self) -> tuple[int, ...]:
        return self._repeat

    @repeat.setter
    def repeat(self, offsets: Sequence[int]) -> None:
        if any(not 1 <= offset <= MAX_OFFSET for offset in offsets):
            raise UsageError(f"repeated frames must be 1 to {MAX_OFFSET} before, got {offsets}")
        self._repeat = tuple(sorted(set(offsets)))

    @property
    def mode(self) -> Mode:
        """How the last frame was coded; a new one holds from the next frame on, an intra one."""
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        if not 1e-6 <= mode.max_error <= 1 or not 1 <= mode.frame_step <= 255:
            raise UsageError(f"max_error is in 1e-6..1 m and every in 1..255, got {mode}")
        self._next_mode = mode

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
        given, self._source_frames = self._source_frames, self._source_frames + 1
        if given % self._mode.frame_step and not self._keyframe_requested:
            return None
        seconds = given * self.hello.header.frame_time if time is None else time
        is_keyframe = (
            self._keyframe_requested
            or self._next_mode != self._mode
            or self._frames_since_keyframe >= self._keyframe_interval
        )
        self._encode(rotations, translations, round(1e6 * seconds), is_keyframe)
        if self._rate_control is None:
            return self._packet(self._repeat)
        repeat = self._repeat[: self._max_repeats()]
        packet = self._packet(repeat)
        # repeats take what the rate leaves, so they are no reason to coarsen frames
        repeated = sum(self._row_sizes[-1 - k] for k in repeat if k < len(self._row_sizes))
        self.mode = self._rate_control.update(len(packet) - repeated, seconds, self.hello.max_error)
        return packet

    def request_keyframe(self) -> None:
        """Make the next frame stand by itself, for a receiver that has lost the thread."""
        self._keyframe_requested = True

    def resend(self, numbers: Iterable[int]) -> None:
        """Say these frames again with the next packet, as far as they are still kept."""
        self._resend_frames = [*dict.fromkeys([*self._resend_frames, *numbers])][-MAX_RESENT:]

    def apply_report(self, report: Report) -> None:
        """Follow a receiver's report: choose what packets repeat, send missing frames again.

        If the receiver can no longer decode, the next frame is an intra one.
        """
        # fewer frames cannot show that less than MAX_UNREPAIRED of them is lost
        if report.loss > MAX_UNREPAIRED or self.frame_count >= 1 / MAX_UNREPAIRED:
            trip = max(0, self.frame_count - report.newest)
            self.repeat = choose_repeats(
                report.loss, report.burst, report.patience, trip, self._max_repeats()
            )
        kept = self.frame_count - MAX_OFFSET
        if report.lost or (report.missing and report.missing[0] < kept):
            self.request_keyframe()
        else:
            self.resend(report.missing)

    def pose(self) -> tuple[F64, F64]:
        """Return rotations (J, 4) and translations (M, 3) that receivers have of the last frame."""
        return self._encoder.pose()

    def checksum(self) -> int:
        """Return a checksum of the state, equal to that of a receiver of the same frames."""
        return self._encoder.checksum()

    def _encode(self, rotations: F64, translations: F64, micros: int, is_keyframe: bool) -> None:
        mode = self._next_mode if is_keyframe else self._mode
        turns = np.ascontiguousarray(rotations, np.float64)
        places = np.ascontiguousarray(translations, np.float64)
        time = min(max(0, micros), MAX_TIME_US)
        bound = max(1, int(mode.max_error * 1e6 + 1e-6))
        made = self._encoder.encode(
            turns, places, time, is_keyframe, bound, mode.frame_step, mode.twist
        )
        if made is None:
            raise InvalidClipError(
                f"frame {self.frame_count}: its numbers are no pose, or its joints leave their hinges "
                f"by more than {1000 * mode.max_error:g} mm"
            )
        self._mode = mode
        self.error, stands, row_size = made
        self._row_sizes.append(row_size)
        self._keyframe_requested = False
        self.frame_count += 1
        self._frames_since_keyframe = 1 if stands else self._frames_since_keyframe + 1

    def _packet(self, repeat: Sequence[int]) -> bytes:
        newest, full = self.frame_count - 1, self._frames_since_keyframe == 1
        again = {newest - n for n in self._resend_frames if 0 < newest - n <= MAX_OFFSET}
        self._resend_frames = []
        return self._encoder.packet(newest, [0, *sorted(again.union(repeat))], full)

    def _max_repeats(self) -> int:
        """Return how many frames each packet may repeat within the bit rate."""
        if self._rate_control is None or not self._row_sizes:
            return MAX_REPEATS
        period = self._mode.frame_step * self.hello.header.frame_time
        row = sum(self._row_sizes) / len(self._row_sizes)
        spare = (
            self._rate_control.bitrate * period / 8
            - self._rate_control.overhead
            - PACKET_OVERHEAD_BYTES
            - row
        )
        return min(max(0, int(spare / (row + 1))), MAX_REPEATS)
