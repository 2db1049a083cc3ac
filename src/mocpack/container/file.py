"""The file as a whole: magic, version, then chunks of tag, length, checksum and body."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import Any

from mocpack.clip import AnyHeader, ClipHeader, VertexHeader
from mocpack.coding.fields import MAX_VARINT_BYTES, FieldReader, FieldWriter, deflate, inflate
from mocpack.container.head import Errors, Head, pack_head, unpack_head
from mocpack.container.mesh import pack_mesh, unpack_mesh
from mocpack.container.skel import pack_skeleton, unpack_skeleton
from mocpack.container.source import BytesSource, Source
from mocpack.errors import (
    CorruptionError,
    FormatError,
    InvalidClipError,
    TruncatedError,
    UnsupportedVersionError,
)

# the first byte is not ASCII, so that a file mangled as text is noticed at once
MAGIC = b"\x93MOC"
FORMAT_VERSION = 1
MAX_METADATA = 1 << 24
MAX_CHUNK_HEADER = 4 + MAX_VARINT_BYTES + 4
# so that a small file cannot ask for much memory; `pack` pads still clips up to it
FRAMES_PER_BYTE = 64
SAMPLES_PER_BYTE = 16_384


@dataclass(frozen=True)
class Packed:
    """Everything a file holds, with the codec's payload still opaque."""

    header: AnyHeader
    codec_id: str
    bitstream_version: int
    params: dict[str, Any]
    payload: bytes
    errors: Errors = field(default_factory=Errors)
    needed: frozenset[str] = frozenset()
    """Parameters without which the payload cannot be decoded."""


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
    parts = [MAGIC + bytes([FORMAT_VERSION]), _chunk(b"HEAD", pack_head(head))]
    if isinstance(header, ClipHeader):
        body = pack_skeleton(header.skeleton, header.translated_joints, header.unit)
        parts.append(_chunk(b"SKEL", body))
    else:
        parts.append(_chunk(b"MESH", pack_mesh(header.vertex_count, header.faces)))
    if header.metadata:
        text = json.dumps(dict(header.metadata), separators=(",", ":"), sort_keys=True)
        parts.append(_chunk(b"meta", deflate(text.encode())))
    parts.append(_chunk(b"DATA", packed.payload))
    missing = _bytes_needed(header) - sum(map(len, parts))
    if missing > 0:
        parts.insert(-1, _chunk(b"fill", bytes(missing)))
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
    )


class Reader:
    """An open .mocp file: its header at hand, its payload read on demand.

    Attributes
    ----------
    sizes : dict
        Bytes by part: ``file``, ``head``, ``skeleton``, ``metadata``, ``payload`` (the codec's
        own), ``fill``; chunk headers are counted with their chunk.
    cut : bool
        Whether the file ends before its DATA chunk does.
    missing : int
        Bytes that its DATA chunk lacks.
    """

    def __init__(self, source: Source, *, partial: bool = False) -> None:
        self._read = source.read
        self._size = size = source.size
        self._partial = partial
        self.sizes = {"file": size, "head": 0, "skeleton": 0, "metadata": 0, "fill": 0}
        bodies = self._scan()
        head = unpack_head(bodies["HEAD"])
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

    def _scan(self) -> dict[str, bytes]:
        """Read every chunk but the payload; remember where that one lies."""
        start = self._read(0, min(self._size, 5))
        if start[:4] != MAGIC[: len(start)]:
            raise FormatError("not a .mocp file")
        if len(start) < 5:
            raise TruncatedError("file ends inside its first five bytes")
        check_version("format", start[4], FORMAT_VERSION)
        bodies: dict[str, bytes] = {}
        at, self._payload_at, self.cut, self.missing = 5, -1, False, 0
        while at < self._size:
            at = self._scan_chunk(at, bodies)
        for tag in ("HEAD", "SKEL" if "MESH" not in bodies else "MESH"):
            if tag not in bodies:
                raise TruncatedError(f"file has no {tag} chunk")
        if self._payload_at < 0:
            raise TruncatedError("file has no DATA chunk")
        return bodies

    def _scan_chunk(self, at: int, bodies: dict[str, bytes]) -> int:
        read = FieldReader(self._read(at, min(MAX_CHUNK_HEADER, self._size - at)), "chunk header")
        tag = read.raw(4).decode("ascii", "replace")
        length = read.varint()
        crc = int.from_bytes(read.raw(4), "little")
        body_at = at + read.at
        missing = max(0, body_at + length - self._size)
        if tag in bodies or (tag == "DATA" and self._payload_at >= 0):
            raise CorruptionError(f"file has two {tag} chunks")
        if missing and not (tag == "DATA" and self._partial):
            raise TruncatedError(f"chunk {tag!r} has {length - missing} of {length} bytes")
        if tag == "DATA":
            self._payload_at, self._payload_crc, self.payload_size = body_at, crc, length - missing
            self.cut, self.missing = missing > 0, missing
            self.sizes["payload"] = length - missing
            self.sizes["head"] += read.at
            return body_at + length
        body = self._read(body_at, length)
        if zlib.crc32(body, zlib.crc32(tag.encode("ascii", "replace"))) != crc:
            raise CorruptionError(f"chunk {tag!r} fails its checksum")
        part = {"SKEL": "skeleton", "MESH": "skeleton", "meta": "metadata", "fill": "fill"}
        self.sizes[part.get(tag, "head")] += read.at + length
        if tag in ("HEAD", "SKEL", "MESH", "meta"):
            bodies[tag] = body
        elif not tag[0].islower():
            raise UnsupportedVersionError(f"file needs chunk {tag!r}, which a newer mocpack reads")
        return body_at + length


def check_version(what: str, found: int, newest: int) -> None:
    """Complain about a version that is not read here; they count from 1."""
    if found < 1:
        raise CorruptionError(f"{what} version {found}: versions count from 1")
    if found > newest:
        raise UnsupportedVersionError(
            f"{what} version {found} is newer than {newest}; a newer mocpack reads it"
        )


def _header(head: Head, bodies: dict[str, bytes]) -> AnyHeader:
    metadata = _metadata(bodies["meta"]) if "meta" in bodies else {}
    try:
        if head.kind == "vertices":
            if "MESH" not in bodies:
                raise CorruptionError("a vertex animation needs a MESH chunk")
            vertex_count, faces = unpack_mesh(bodies["MESH"])
            return VertexHeader(vertex_count, faces, head.frame_count, head.frame_time, metadata)
        if "SKEL" not in bodies:
            raise CorruptionError("a skeletal clip needs a SKEL chunk")
        skeleton, translated, unit = unpack_skeleton(bodies["SKEL"])
        return ClipHeader(skeleton, head.frame_count, head.frame_time, translated, unit, metadata)
    except InvalidClipError as error:
        raise CorruptionError(f"header: {error}") from error


def _metadata(body: bytes) -> dict[str, Any]:
    try:
        metadata = json.loads(inflate(body, MAX_METADATA, what="meta chunk"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise CorruptionError(f"meta chunk: {error}") from error
    if not isinstance(metadata, dict):
        raise CorruptionError("meta chunk: not an object")
    return metadata


def _chunk(tag: bytes, body: bytes) -> bytes:
    out = FieldWriter()
    out.raw(tag)
    out.varint(len(body))
    out.raw(zlib.crc32(body, zlib.crc32(tag)).to_bytes(4, "little"))
    return out.bytes() + body


def _bytes_needed(header: AnyHeader) -> int:
    width = len(header.skeleton) if isinstance(header, ClipHeader) else header.vertex_count
    return max(
        -(-header.frame_count // FRAMES_PER_BYTE),
        -(-header.frame_count * width // SAMPLES_PER_BYTE),
    )
