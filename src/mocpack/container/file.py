"""The file as a whole: magic, version, then chunks of tag, length, checksum and body."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from mocpack.clip import AnyHeader, ClipHeader, VertexHeader
from mocpack.coding.fields import deflate, inflate
from mocpack.container.chunks import (
    ARCHIVE_MAGIC,
    FORMAT_VERSION,
    MAGIC,
    check_version,
    pack_chunk,
    read_chunk_head,
)
from mocpack.container.extras import (
    REPEATED,
    REQUIRED,
    SKIPPABLE,
    Bodies,
    Chunk,
    pack_extras,
    track_heads,
    unpack_extras,
    with_extras,
)
from mocpack.container.head import Errors, Head, pack_head, unpack_head
from mocpack.container.mesh import pack_mesh, unpack_mesh
from mocpack.container.skel import pack_skeleton, unpack_skeleton
from mocpack.container.source import BytesSource, Source
from mocpack.container.track import TrackHead
from mocpack.errors import (
    CorruptionError,
    FormatError,
    InvalidClipError,
    TruncatedError,
    UnsupportedVersionError,
)
from mocpack.json_object import MAX_METADATA, pack_object, unpack_object
from mocpack.take import WIDTHS, Extras

# so that a small file cannot ask for much memory; `pack` pads still clips up to it
FRAMES_PER_BYTE = 64
SAMPLES_PER_BYTE = 16_384
BYTES_A_NUMBER = 64  # that decoding a number beside the poses may take
PARTS = {
    "SKEL": "skeleton",
    "MESH": "skeleton",
    "REST": "skeleton",
    "HING": "skeleton",
    "SCAL": "scales",
    "TIME": "times",
    "meta": "metadata",
    "vald": "validity",
    "trak": "tracks",
    "fill": "fill",
}
"""What each chunk is counted under in `Reader.sizes`; the head where it is not here."""


@dataclass(frozen=True)
class Packed:
    """Everything a file holds, with the codec's payload still opaque.

    Attributes
    ----------
    chunks : sequence of (tag, body), optional
        What `pack_extras` makes of a take that holds more than poses; left out, that of the header
        alone.
    """

    header: AnyHeader
    codec_id: str
    bitstream_version: int
    params: dict[str, Any]
    payload: bytes
    errors: Errors = field(default_factory=Errors)
    needed: frozenset[str] = frozenset()
    """Parameters without which the payload cannot be decoded."""
    chunks: Sequence[Chunk] | None = None


def pack(packed: Packed) -> bytes:
    """Return the bytes of a .mocp file."""
    header = packed.header
    head = Head(
        header.kind,
        header.frame_count,
        header.frame_time,
        packed.codec_id,
        packed.bitstream_version,
        packed.params,
        packed.errors,
        packed.needed,
    )
    parts = [MAGIC + bytes([FORMAT_VERSION]), pack_chunk(b"HEAD", pack_head(head))]
    if isinstance(header, ClipHeader):
        body = pack_skeleton(header.skeleton, header.translated_joints, header.unit)
        parts.append(pack_chunk(b"SKEL", body))
    else:
        parts.append(pack_chunk(b"MESH", pack_mesh(header.vertex_count, header.faces)))
    chunks = packed.chunks
    if chunks is None:
        chunks = pack_extras(header, Extras()) if isinstance(header, ClipHeader) else []
    parts += [pack_chunk(tag.encode(), body) for tag, body in chunks if tag in REQUIRED]
    if header.metadata:
        text = pack_object(header.metadata, "metadata", MAX_METADATA)
        parts.append(pack_chunk(b"meta", deflate(text)))
    parts += [pack_chunk(tag.encode(), body) for tag, body in chunks if tag not in REQUIRED]
    parts.append(pack_chunk(b"DATA", packed.payload))
    missing = max(_bytes_needed(header), _bytes_for_tracks(chunks)) - sum(map(len, parts))
    if missing > 0:
        parts.insert(-1, pack_chunk(b"fill", bytes(missing)))
    return b"".join(parts)


def unpack(data: bytes, *, partial: bool = False) -> Packed:
    """Read the bytes of a .mocp file.

    With `partial`, a file cut inside its DATA chunk gives the payload bytes that there are.
    """
    reader = Reader(BytesSource(data), partial=partial)
    return Packed(
        reader.header,
        reader.codec_id,
        reader.bitstream_version,
        reader.params,
        reader.payload(),
        reader.errors,
        reader.needed,
        reader.chunks,
    )


class Reader:
    """An open .mocp file: its header at hand, its payload read on demand.

    Attributes
    ----------
    sizes : dict
        Bytes by part: ``file``, ``head``, ``skeleton``, ``scales``, ``times``, ``metadata``,
        ``validity``, ``tracks``, ``payload`` (the codec's own), ``fill``; chunk headers are counted
        with their chunk.
    cut : bool
        Whether the file ends before its DATA chunk does.
    missing : int
        Bytes that its DATA chunk lacks.
    """

    def __init__(self, source: Source, *, partial: bool = False) -> None:
        self._source, self._read = source, source.read
        self._size = size = source.size
        self._partial = partial
        self.sizes = {"file": size, "head": 0} | dict.fromkeys(PARTS.values(), 0)
        bodies = self._scan()
        head = unpack_head(bodies["HEAD"][0])
        self.codec_id = head.codec_id
        self.bitstream_version = head.bitstream_version
        self.params = head.params
        self.needed = head.needed
        self.errors = head.errors
        self.header = _header(head, bodies)
        if size + self.missing < _bytes_needed(self.header):
            raise CorruptionError(
                f"{self.header.frame_count} frames are announced, more than {size} bytes can hold"
            )

        self._bodies = bodies

    @property
    def chunks(self) -> list[Chunk]:
        """What the file holds beside its poses, as chunks."""
        tags = (*REQUIRED, *SKIPPABLE)
        return [(tag, body) for tag in tags for body in self._bodies.get(tag, ())]

    @cached_property
    def extras(self) -> Extras:
        """What the file holds beside its poses."""
        if not isinstance(self.header, ClipHeader) or not self.chunks:
            return Extras()
        try:
            return unpack_extras(self.header, self._bodies, SAMPLES_PER_BYTE * self._size)
        except InvalidClipError as error:
            raise CorruptionError(str(error)) from error

    @property
    def payload_at(self) -> int:
        """Where in the file the payload begins."""
        return self._payload_at

    def extras_memory(self) -> int:
        """Return the bytes that reading `extras` may take."""
        if not isinstance(self.header, ClipHeader) or not self.chunks:
            return 0
        frames, joints = self.header.frame_count, len(self.header.skeleton)
        numbers = sum(head.count * WIDTHS[head.kind] for head in self.track_heads())
        numbers += 3 * frames * len(self.header.scaled_joints)
        numbers += frames * ("TIME" in self._bodies)
        return BYTES_A_NUMBER * numbers + frames * joints * ("vald" in self._bodies)

    def track_heads(self) -> list[TrackHead]:
        """Return what tracks the file has, without reading them."""
        return track_heads(self._bodies, SAMPLES_PER_BYTE * self._size)

    def read(self, offset: int, size: int) -> bytes:
        """Return `size` bytes of the payload from `offset`, unchecked by the file's checksum."""
        if offset < 0 or size < 0 or offset + size > self.payload_size:
            raise TruncatedError(
                f"payload of {self.payload_size} bytes has no bytes {offset} to {offset + size}"
            )
        return self._read(self._payload_at + offset, size)

    def payload(self) -> bytes:
        """Return the whole payload, checked against its checksum."""
        data = self._read(self._payload_at, self.payload_size)
        if not self.cut and zlib.crc32(data, zlib.crc32(b"DATA")) != self._payload_crc:
            raise CorruptionError("the DATA chunk fails its checksum")
        return data

    def _scan(self) -> dict[str, list[bytes]]:
        """Read every chunk but the payload; remember where that one lies."""
        start = self._read(0, min(self._size, 5))
        if start[:4] == ARCHIVE_MAGIC:
            raise FormatError(
                "an archive of many clips (.mocps), not a .mocp file: mocpack.corpus opens it, "
                "`mocpack extract` takes clips out"
            )
        if start[:4] != MAGIC[: len(start)]:
            raise FormatError("not a .mocp file")
        if len(start) < 5:
            raise TruncatedError("file ends inside its first five bytes")
        check_version("format", start[4], FORMAT_VERSION)
        bodies: dict[str, list[bytes]] = {}
        at, self._payload_at, self.cut, self.missing = 5, -1, False, 0
        while at < self._size:
            at = self._scan_chunk(at, bodies)
        for tag in ("HEAD", "SKEL" if "MESH" not in bodies else "MESH"):
            if tag not in bodies:
                raise TruncatedError(f"file has no {tag} chunk")
        if self._payload_at < 0:
            raise TruncatedError("file has no DATA chunk")
        return bodies

    def _scan_chunk(self, at: int, bodies: dict[str, list[bytes]]) -> int:
        tag, body_at, length, crc = read_chunk_head(self._source, at)
        missing = max(0, body_at + length - self._size)
        again = tag in bodies and tag not in REPEATED
        if again or (tag == "DATA" and self._payload_at >= 0):
            raise CorruptionError(f"file has two {tag} chunks")
        if missing and not (tag == "DATA" and self._partial):
            raise TruncatedError(f"chunk {tag!r} has {length - missing} of {length} bytes")
        if tag == "DATA":
            self._payload_at, self._payload_crc, self.payload_size = body_at, crc, length - missing
            self.cut, self.missing = missing > 0, missing
            self.sizes["payload"] = length - missing
            self.sizes["head"] += body_at - at
            return body_at + length
        body = self._read(body_at, length)
        if zlib.crc32(body, zlib.crc32(tag.encode("ascii", "replace"))) != crc:
            raise CorruptionError(f"chunk {tag!r} fails its checksum")
        self.sizes[PARTS.get(tag, "head")] += body_at + length - at
        if tag in ("HEAD", "SKEL", "MESH", "meta", *REQUIRED, *SKIPPABLE):
            bodies.setdefault(tag, []).append(body)
        elif tag == "CLIP":
            raise CorruptionError("a scene's clip stands in the file of a clip")
        elif not tag[0].islower():
            raise UnsupportedVersionError(f"file needs chunk {tag!r}, which a newer mocpack reads")
        return body_at + length


def _header(head: Head, bodies: Bodies) -> AnyHeader:
    metadata: Mapping[str, Any] = {}
    if "meta" in bodies:
        text = inflate(bodies["meta"][0], MAX_METADATA, what="meta chunk")
        metadata = MappingProxyType(unpack_object(text, "meta chunk"))
    try:
        if head.kind == "vertices":
            if "MESH" not in bodies:
                raise CorruptionError("a vertex animation needs a MESH chunk")
            for tag in REQUIRED:
                if tag in bodies:
                    raise CorruptionError(f"a vertex animation has no {tag} chunk")
            vertex_count, faces = unpack_mesh(bodies["MESH"][0])
            return VertexHeader(vertex_count, faces, head.frame_count, head.frame_time, metadata)
        if "SKEL" not in bodies:
            raise CorruptionError("a skeletal clip needs a SKEL chunk")
        skeleton, translated, unit = unpack_skeleton(bodies["SKEL"][0])
        header = ClipHeader(skeleton, head.frame_count, head.frame_time, translated, unit, metadata)
        return with_extras(header, bodies)
    except InvalidClipError as error:
        raise CorruptionError(f"header: {error}") from error


def _bytes_needed(header: AnyHeader) -> int:
    width = len(header.skeleton) if isinstance(header, ClipHeader) else header.vertex_count
    return max(
        -(-header.frame_count // FRAMES_PER_BYTE),
        -(-header.frame_count * width // SAMPLES_PER_BYTE),
    )


def _bytes_for_tracks(chunks: Sequence[Chunk]) -> int:
    heads = track_heads({"trak": [body for tag, body in chunks if tag == "trak"]}, 2**62)
    return -(-sum(head.count * WIDTHS[head.kind] for head in heads) // SAMPLES_PER_BYTE)
