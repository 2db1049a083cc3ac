"""The hello of a stream: skeleton, frame time and error bound (docs/live-packets.md).

The first part, the model, is for the native core and browsers. The second part holds chunks as in
files, from which Python restores the exact header.
"""

from __future__ import annotations

import secrets
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mocpack import _core
from mocpack.coding.fields import FieldReader, FieldWriter, deflate, inflate
from mocpack.common.arguments import check_integer, check_number
from mocpack.common.source import BytesSource
from mocpack.container import FORMAT_VERSION, Errors, Reader, pack_skeleton, pack_take_data
from mocpack.container import MAGIC as FILE_MAGIC
from mocpack.container.chunks import pack_chunk
from mocpack.container.head import pack_head
from mocpack.errors import CorruptionError, UnsupportedClipError, UsageError, name_errors
from mocpack.live.rate_control import MAX_ERROR_M, MIN_ERROR_M
from mocpack.model import rotations
from mocpack.model.clip import ClipHeader
from mocpack.model.skeleton import ROTATION_CHANNELS, channel_hinges
from mocpack.model.take_data import TakeData

MAGIC = b"mlh1"
MODEL = b"mlv1"
ROOT = 0xFFFF
MAX_JOINTS = 1024
MAX_HELLO_BYTES = 1 << 20  # bytes, inflated
MAX_GAIN = 65535 / 65536  # the largest that 16 bits hold
VELOCITY_GAIN, VELOCITY_DECAY = 0.4, 0.0  # per frame; see `Hello`


@dataclass(frozen=True)
class Hello:
    """Skeleton and error bound of a stream.

    Attributes
    ----------
    header : ClipHeader
        Its frame count has no meaning.
    max_error : float
        Largest error of any joint, end site or skin point in meters. Rate control can raise it.
    session : int
        32 bits that distinguish a restarted sender from its previous run.
    velocity_gain, velocity_decay : float
        Share of a prediction error that is added to the velocity, and share of the velocity that
        is lost per frame.
    """

    header: ClipHeader
    max_error: float = 0.005
    session: int = 0
    velocity_gain: float = VELOCITY_GAIN
    velocity_decay: float = VELOCITY_DECAY

    def __post_init__(self) -> None:
        if self.header.is_scaled:
            raise UnsupportedClipError(
                "live streams do not transmit scales, and this skeleton has some: apply them with "
                "clip.bake_scales()"
            )
        check_number("max_error, in meters,", self.max_error, MIN_ERROR_M, MAX_ERROR_M)
        check_integer("session", self.session, 0, (1 << 32) - 1)
        for name in ("velocity_gain", "velocity_decay"):
            check_number(name, getattr(self, name), 0, MAX_GAIN)
        if len(self.header.skeleton) > MAX_JOINTS:
            raise UsageError(
                f"a live stream can have at most {MAX_JOINTS} joints, "
                f"got {len(self.header.skeleton)}"
            )

    @classmethod
    def new(cls, header: ClipHeader, max_error: float = 0.005) -> Hello:
        """Return the hello of a new stream, with a random session."""
        return cls(header, max_error, secrets.randbits(32))

    @cached_property
    def model(self) -> bytes:
        """Part that the native core reads."""
        return _pack_model(self)

    @cached_property
    def checksum(self) -> int:
        """CRC-32 of the model; the checksum of every packet includes it."""
        return zlib.crc32(self.model)

    @property
    def bound_um(self) -> int:
        """`max_error` in micrometers, rounded down."""
        return max(1, int(self.max_error * 1e6 + 1e-6))

    def to_bytes(self) -> bytes:
        skeleton, header = self.header.skeleton, self.header
        chunks = [("SKEL", pack_skeleton(skeleton, header.translated_joints, header.unit))]
        chunks += pack_take_data(replace(header, start_time=0.0), TakeData())
        body = FieldWriter()
        body.sized(self.model)
        for name, chunk in chunks:
            body.raw(name.encode())
            body.sized(chunk)
        return MAGIC + deflate(body.bytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> Hello:
        """Parse a hello; raise `FormatError` if it is invalid."""
        if not is_hello(data):
            raise CorruptionError(f"hello: it must start with {MAGIC!r}, got {data[:4]!r}")
        read = FieldReader(inflate(data[4:], MAX_HELLO_BYTES, what="hello"), "hello")
        model = read.sized(MAX_HELLO_BYTES)
        joints, moving, checksum, max_error, frame_time = _core.live_shape(model)
        chunks = []
        while read.left:
            chunks.append((read.raw(4), read.sized(MAX_HELLO_BYTES)))
        header = _build_header(chunks, frame_time)
        counts = len(header.skeleton), len(header.translated_joints)
        if counts != (joints, moving):
            raise CorruptionError(
                f"hello: its SKEL chunk has {counts[0]} joints and {counts[1]} translations, "
                f"its model {joints} and {moving}"
            )
        session, velocity_gain, velocity_decay = struct.unpack_from("<4xI4x8xHH", model)
        hello = cls(header, max_error, session, velocity_gain / 65536, velocity_decay / 65536)
        hello.__dict__["model"] = model
        hello.__dict__["checksum"] = checksum
        return hello


def _build_header(chunks: Sequence[tuple[bytes, bytes]], frame_time: float) -> ClipHeader:
    """Return the header in chunks, by reading them as a file with one frame."""
    head = pack_head("skeleton", 1, frame_time, "live", 1, {}, Errors())
    parts = [(b"HEAD", head), *chunks, (b"DATA", b"")]
    start = FILE_MAGIC + bytes([FORMAT_VERSION])
    data = start + b"".join(pack_chunk(tag, body) for tag, body in parts)
    with name_errors("hello"):
        header = Reader(BytesSource(data)).header
    if not isinstance(header, ClipHeader):
        raise CorruptionError("hello: it describes vertices, expected a skeleton")
    return header


def is_hello(data: bytes) -> bool:
    """Whether these bytes are a hello, not a packet."""
    return data[:4] == MAGIC


def _pack_model(hello: Hello) -> bytes:
    header, skeleton = hello.header, hello.header.skeleton
    hinges = skeleton.hinges or channel_hinges(skeleton)
    rows = list(hinges.by_joint) if hinges else []
    hinged = {hinges.joints[h] for h in rows if not hinges.slides[h]} if hinges else set()
    free = [
        j not in hinged and any(c in ROTATION_CHANNELS for c in skeleton.channels[j])
        for j in range(len(skeleton))
    ]
    gains = (round(hello.velocity_gain * 65536), round(hello.velocity_decay * 65536))
    counts = (len(skeleton), len(skeleton.end_site_joints), len(header.translated_joints))
    head = (hello.session, hello.bound_um, header.frame_time, *gains, *counts, len(rows))
    out = [MODEL, struct.pack("<IIdHHHHHH", *head)]
    parents = [parent if parent >= 0 else ROOT for parent in skeleton.parents]
    out.append(np.array(parents, "<u2").tobytes())
    out.append(np.array(free, np.uint8).tobytes())
    out.append(skeleton.offsets.astype("<f4").tobytes())
    moved = {hinges.joints[h] for h in rows} if hinges else set()
    rest = np.tile(rotations.IDENTITY, (len(skeleton), 1))
    rest[sorted(moved)] = skeleton.rest[sorted(moved)]  # free joints have no rest rotation
    out.append(rest.astype("<f8").tobytes())
    for joint, site in zip(skeleton.end_site_joints, skeleton.end_sites, strict=True):
        out.append(struct.pack("<H3f", joint, *site))
    out.append(np.array(header.translated_joints, "<u2").tobytes())
    for h in rows:
        assert hinges is not None
        out.append(struct.pack("<H?3d", hinges.joints[h], hinges.slides[h], *hinges.axes[h]))
    for name in skeleton.unique_names:
        encoded = name.encode()[:255]
        out.append(bytes([len(encoded)]) + encoded)
    return b"".join(out)
