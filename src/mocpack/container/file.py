"""The .mocp file: magic, version and chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mocpack import _core
from mocpack.coding.fields import deflate
from mocpack.common.json_object import MAX_METADATA, JsonObject, pack_object
from mocpack.container.head import Errors, pack_head, pack_joint_bounds
from mocpack.container.skel import pack_skeleton
from mocpack.container.take_chunks import Chunk, pack_take_data
from mocpack.model.clip import AnyHeader, ClipHeader
from mocpack.model.take_data import TakeData


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
    chunks = packed.chunks
    parts = [(b"HEAD", head)]
    if isinstance(header, ClipHeader):
        body = pack_skeleton(header.skeleton, header.translated_joints, header.unit)
        parts.append((b"SKEL", body))
        chunks = pack_take_data(header, TakeData()) if chunks is None else chunks
        width = len(header.skeleton)
    else:
        faces = np.ascontiguousarray(header.faces, np.int32)
        parts.append((b"MESH", _core.pack_mesh(header.vertex_count, faces)))
        width = header.vertex_count
    parts += [(tag.encode(), body) for tag, body in chunks or ()]
    if header.metadata:
        text = pack_object(header.metadata, "metadata", MAX_METADATA)
        parts.append((b"meta", deflate(text)))
    if packed.errors.joints is not None:
        parts.append((b"bnds", pack_joint_bounds(packed.errors.joints)))
    parts.append((b"DATA", packed.payload))
    return _core.pack_file(parts, header.frame_count, width)
