"""Motion as it happens: `ik-predict` frame by frame, one small packet each, with no look-ahead.

    encoder = live.Encoder(header, IkPredict(intra=60))
    decoder = live.Decoder(header, IkPredict(intra=60))
    packet = encoder.encode(rotations, translations)      # bytes, to send
    pose = decoder.decode(packet)                         # (rotations, translations)

A packet that is lost or damaged costs the frames up to the next intra frame. The twist of bones
may be cut off any packet on the way (`without_twist`); positions stay what they were.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mocpack.arrays import F64
from mocpack.clip import Clip, ClipHeader
from mocpack.codecs.kinematic.bodies import Still, find_still, unknown_still
from mocpack.codecs.kinematic.channel_fit import clip_of_bodies
from mocpack.codecs.kinematic.columns import read_row, write_row
from mocpack.codecs.kinematic.ik_predict import IkPredict
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.errors import CorruptionError, FormatError, UsageError
from mocpack.plain import check_plain

Pose = tuple[F64, F64]
"""Local rotations (J, 4) and translations (M, 3) of one frame."""

INTRA = 128  # set in the first byte of a packet that stands by itself
COUNT = 128  # the other bits count the packets


def still_of(clip: Clip) -> Still:
    """Return what does not move in a clip of the same performer, to spend nothing on it live."""
    return find_still(clip)


class Encoder:
    """Turns frames into packets, as they come.

    Parameters
    ----------
    header : ClipHeader
        Skeleton and translated joints; its frame count does not matter.
    codec : IkPredict
        Its `intra` says how often a packet stands by itself.
    still : Still, optional
        What is known never to move; by default only joints without rotation channels.
    """

    def __init__(
        self, header: ClipHeader, codec: IkPredict | None = None, *, still: Still | None = None
    ) -> None:
        check_plain(header, "a live stream")
        self._codec = codec or IkPredict(intra=60)
        self._stream = self._codec.stream(header, still or unknown_still(header))
        self._count = 0

    def encode(self, rotations: F64, translations: F64) -> bytes:
        """Return the packet of the next frame, local rotations (J, 4), translations (M, 3)."""
        every = self._codec.intra
        number = self._count % COUNT
        intra = self._count == 0 or (every > 0 and self._count % every == 0)
        self._count += 1
        if intra:
            row = self._stream.intra_row(rotations, translations)
            self._stream.restart(row)
            out = FieldWriter()
            out.u8(INTRA | number)
            write_row(out, row)
            return out.bytes()
        return self._stream.encode_frame(number, rotations, translations)

    def restart(self) -> None:
        """Make the next packet stand by itself, for a receiver that has just joined."""
        self._count = 0

    def decoded(self) -> Pose:
        """Return the bodies' world rotations and translations that the decoder now has."""
        return self._stream.decoded()


class Decoder:
    """Turns packets into frames; the same header, codec and `still` as the encoder's.

    Attributes
    ----------
    waiting : bool
        Whether it waits for an intra frame: before the first one, and after a loss.
    """

    def __init__(
        self, header: ClipHeader, codec: IkPredict | None = None, *, still: Still | None = None
    ) -> None:
        check_plain(header, "a live stream")
        self._header = replace(header, frame_count=1)
        self._still = still or unknown_still(header)
        self._stream = (codec or IkPredict(intra=60)).stream(header, self._still)
        self._expected = 0
        self.waiting = True

    def decode(self, packet: bytes) -> Pose | None:
        """Return the frame of a packet; None while one that it needs is missing.

        A damaged packet is a `FormatError`; the decoder then waits for the next intra frame.
        """
        if not packet:
            raise CorruptionError("a packet is empty")
        number, intra = packet[0] % INTRA, packet[0] >= INTRA
        self.waiting = not intra and (self.waiting or number != self._expected)
        self._expected = (number + 1) % COUNT
        if self.waiting:
            return None
        try:
            if intra:
                read = FieldReader(packet[1:], "packet")
                self._stream.restart(read_row(read, self._stream.intra_count))
                read.end()
            else:
                self._stream.decode_frame(packet)
            return self._pose()
        except FormatError:
            self.waiting = True
            raise

    def decoded(self) -> Pose:
        """Return the bodies' world rotations and translations as they stand."""
        return self._stream.decoded()

    def _pose(self) -> Pose:
        if self._stream.free:
            return self._stream.pose()
        world, slides = self._stream.decoded()
        clip = clip_of_bodies(
            self._header, self._still, self._stream.bodies, world[np.newaxis], slides[np.newaxis]
        )
        return clip.rotations[0], clip.translations[0]


def without_twist(packet: bytes) -> bytes:
    """Return the packet without the twist that moves no joint; intra packets stay whole."""
    if not packet:
        raise UsageError("a packet is empty")
    if packet[0] >= INTRA:
        return packet
    read = FieldReader(packet[1:], "packet")
    places = read.sized()
    out = FieldWriter()
    out.u8(packet[0])
    out.sized(places)
    return out.bytes()
