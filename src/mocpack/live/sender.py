"""Encode frames into packets within an error bound, with repeats against packet loss."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from mocpack import _core
from mocpack.common.arguments import check_integer, check_integers, check_number
from mocpack.common.arrays import F64
from mocpack.errors import InvalidClipError
from mocpack.live.hello import Hello
from mocpack.live.rate_control import Mode, RateControl
from mocpack.live.repeats import MAX_REPEATS, MAX_UNREPAIRED, choose_repeats
from mocpack.live.report import Report
from mocpack.model.clip import ClipHeader

KEYFRAME_INTERVAL = 120  # frames
MAX_OFFSET = 63  # frames back: the encoder keeps their rows
MAX_RESENT = 16  # frames per packet
MAX_TIME_US = 1 << 60
PACKET_OVERHEAD_BYTES = 11  # of a packet besides its rows


class Sender:
    """Encodes each frame into a packet, without delay.

    Parameters
    ----------
    stream : Hello or ClipHeader
        A header starts a new stream with `max_error`.
    max_error : float
        Largest error of any joint, end site or skin point, in meters.
    repeat : sequence of int
        Earlier frames that each packet repeats until a report tells the loss: ``(3, 5)`` repeats
        the frames three and five before. TCP needs no repeats.
    keyframe_interval : int
        Frames from one keyframe to the next.
    rate_control : RateControl, optional
        Lowers the quality to stay below a bit rate. Repeats use what the frames leave of it.

    Attributes
    ----------
    hello : Hello
        Receivers need it before the first packet.
    frame_count : int
        Frames sent so far.
    error : float
        Error of the last frame, in meters.
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
        check_integer("keyframe_interval", keyframe_interval, 1)
        self.repeat = tuple(repeat)
        self.frame_count = 0
        self.error = 0.0
        self._keyframe_interval = keyframe_interval
        self._rate_control = rate_control
        self._encoder = _core.LiveEncoder(self.hello.model)
        self._mode = self._next_mode = Mode(self.hello.max_error)
        self._frames_since_keyframe = 0
        self._source_frames = 0
        self._resend_frames: list[int] = []
        self._keyframe_requested = True
        self._row_sizes: deque[int] = deque(maxlen=MAX_OFFSET + 1)  # bytes, newest last

    @property
    def repeat(self) -> tuple[int, ...]:
        return self._repeat

    @repeat.setter
    def repeat(self, offsets: Sequence[int]) -> None:
        given = check_integers("the repeat offsets", offsets, 1, MAX_OFFSET)
        self._repeat = tuple(sorted(set(given)))

    @property
    def mode(self) -> Mode:
        """Mode of the last frame. A new mode applies from the next frame on, a keyframe."""
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._next_mode = mode

    def send(self, rotations: F64, translations: F64, time: float | None = None) -> bytes | None:
        """Return the packet of the next frame; None if rate control drops the frame.

        Parameters
        ----------
        rotations : array, shape (J, 4)
            Local.
        translations : array, shape (M, 3)
        time : float, optional
            Seconds on the sender's clock, at least 0. The default follows from the frame time.
        """
        if time is not None:
            check_number("time", time, 0)
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
        # Repeats use only what frames leave of the bit rate, so they must not lower the quality.
        repeated = sum(self._row_sizes[-1 - k] for k in repeat if k < len(self._row_sizes))
        self.mode = self._rate_control.update(len(packet) - repeated, seconds, self.hello.max_error)
        return packet

    def request_keyframe(self) -> None:
        """Make the next frame a keyframe, for a receiver that can no longer decode."""
        self._keyframe_requested = True

    def resend(self, numbers: Iterable[int]) -> None:
        """Add these frames to the next packet, if the encoder still has them."""
        self._resend_frames = [
            *dict.fromkeys([*self._resend_frames, *check_integers("numbers", numbers, 0)])
        ][-MAX_RESENT:]

    def apply_report(self, report: Report) -> None:
        """Adapt to a receiver's report: choose repeats and resend missing frames.

        If the receiver can no longer decode, the next frame is a keyframe.
        """
        # a loss below MAX_UNREPAIRED can only be measured over at least 1 / MAX_UNREPAIRED frames
        if report.loss > MAX_UNREPAIRED or self.frame_count >= 1 / MAX_UNREPAIRED:
            round_trip = max(0, self.frame_count - report.newest)
            self.repeat = choose_repeats(
                report.loss, report.burst, max(0, report.patience), round_trip, self._max_repeats()
            )
        oldest = self.frame_count - MAX_OFFSET
        if report.lost or (report.missing and report.missing[0] < oldest):
            self.request_keyframe()
        else:
            self.resend(n for n in report.missing if n >= 0)

    def pose(self) -> tuple[F64, F64]:
        """Return rotations (J, 4) and translations (M, 3) of the last frame, as decoded."""
        return self._encoder.pose()

    def checksum(self) -> int:
        """Return a checksum of the encoder state, equal to the receiver's after the same frame."""
        return self._encoder.checksum()

    def _encode(self, rotations: F64, translations: F64, micros: int, is_keyframe: bool) -> None:
        mode = self._next_mode if is_keyframe else self._mode
        rotations = np.ascontiguousarray(rotations, np.float64)
        translations = np.ascontiguousarray(translations, np.float64)
        time = min(max(0, micros), MAX_TIME_US)
        bound = max(1, int(mode.max_error * 1e6 + 1e-6))
        encoded = self._encoder.encode(
            rotations, translations, time, is_keyframe, bound, mode.frame_step, mode.twist
        )
        if encoded is None:
            raise InvalidClipError(
                f"frame {self.frame_count}: the pose is invalid, or its joints are more than "
                f"{1000 * mode.max_error:g} mm away from what their hinges allow"
            )
        self._mode = mode
        self.error, is_keyframe, row_size = encoded
        self._row_sizes.append(row_size)
        self._keyframe_requested = False
        self.frame_count += 1
        self._frames_since_keyframe = 1 if is_keyframe else self._frames_since_keyframe + 1

    def _packet(self, repeat: Sequence[int]) -> bytes:
        newest, full = self.frame_count - 1, self._frames_since_keyframe == 1
        again = {newest - n for n in self._resend_frames if 0 < newest - n <= MAX_OFFSET}
        self._resend_frames = []
        return self._encoder.packet(newest, [0, *sorted(again.union(repeat))], full)

    def _max_repeats(self) -> int:
        """Return how many frames each packet can repeat within the bit rate."""
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
