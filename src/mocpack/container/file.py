"""The .mocp file: magic, version and chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mocpack.coding.fields import FieldWriter, deflate
from mocpack.common.json_object import MAX_METADATA, JsonObject, pack_object
from mocpack.container.chunks import FORMAT_VERSION, MAGIC, pack_chunk
from mocpack.container.head import Errors, pack_head, pack_joint_bounds
from mocpack.container.skel import pack_skeleton
from mocpack.container.take_chunks import REQUIRED, Chunk, pack_take_data
from mocpack.container.track import read_track_head
from mocpack.model.clip import AnyHeader, ClipHeader, VertexHeader
from mocpack.model.take_data import WIDTHS, TakeData

# limits the memory that a small file can request; `pack` pads still clips to these sizes
FRAMES_PER_BYTE = 64
SAMPLES_PER_BYTE = 16_384


@dataclass(frozen=True)
class FileContents:
    """The contents of a file, with the codec's payload as bytes.

    Attributes
    ----------
    chunks : sequence of (tag, body), optional
        The chunks of take data, from `pack_take_data`; default: those of the header.
    """

    header: AnyHeader
    codec_id: str
    bitstream_version: int
    params: JsonObject
    payload: bytes
    errors: Errors = field(default_factory=Errors)
    needed: frozenset[str] = frozenset()
    """Parameters that decoding needs."""
    chunks: Sequence[Chunk] | None = None


def pack(packed: FileContents) -> bytes:
    """Return the bytes of a .mocp file."""
    header = packed.header
    head = pack_head(
        header.kind,
        header.frame_count,
        header.frame_time,
        packed.codec_id,
        packed.bitstream_version,
        packed.params,
        packed.errors,
        packed.needed,
    )
    parts = [MAGIC + bytes([FORMAT_VERSION]), pack_chunk(b"HEAD", head)]
    if isinstance(header, ClipHeader):
        body = pack_skeleton(header.skeleton, header.translated_joints, header.unit)
        parts.append(pack_chunk(b"SKEL", body))
    else:
        parts.append(pack_chunk(b"MESH", _pack_mesh(header)))
    chunks = packed.chunks
    if chunks is None:
        chunks = pack_take_data(header, TakeData()) if isinstance(header, ClipHeader) else []
    parts += [pack_chunk(tag.encode(), body) for tag, body in chunks if tag in REQUIRED]
    if header.metadata:
        text = pack_object(header.metadata, "metadata", MAX_METADATA)
        parts.append(pack_chunk(b"meta", deflate(text)))
    parts += [pack_chunk(tag.encode(), body) for tag, body in chunks if tag not in REQUIRED]
    if packed.errors.joints is not None:
        parts.append(pack_chunk(b"bnds", pack_joint_bounds(packed.errors.joints)))
    parts.append(pack_chunk(b"DATA", packed.payload))
    missing = max(_bytes_needed(header), _bytes_for_tracks(chunks)) - sum(map(len, parts))
    if missing > 0:
        parts.insert(-1, pack_chunk(b"fill", bytes(missing)))
    return b"".join(parts)


def _pack_mesh(header: VertexHeader) -> bytes:
    """Return the MESH chunk: the vertex count and the triangles of a vertex animation."""
    out = FieldWriter()
    out.varint(header.vertex_count)
    out.varint(len(header.faces))
    # differences are small, because neighbors in the list are neighbors on the mesh
    steps = np.diff(header.faces.astype(np.int64).ravel(), prepend=0)
    out.raw(deflate(steps.astype("<i4").tobytes()))
    return out.bytes()


def _bytes_needed(header: AnyHeader) -> int:
    width = len(header.skeleton) if isinstance(header, ClipHeader) else header.vertex_count
    return max(
        -(-header.frame_count // FRAMES_PER_BYTE),
        -(-header.frame_count * width // SAMPLES_PER_BYTE),
    )


def _bytes_for_tracks(chunks: Sequence[Chunk]) -> int:
    numbers = 0
    for tag, body in chunks:
        if tag == "trak":
            head = read_track_head(body)
            numbers += head.count * WIDTHS[head.kind]
    return -(-numbers // SAMPLES_PER_BYTE)
