"""An open .mocp file up to its payload: turns what the core parses into headers and take data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from types import MappingProxyType

import numpy as np

from mocpack import _core
from mocpack.common.frozen import build_unchecked
from mocpack.common.json_object import JsonObject
from mocpack.common.payload import Payload
from mocpack.common.source import BytesSource, PartSource, Source
from mocpack.container.file import FileContents
from mocpack.container.head import Errors, JointErrors
from mocpack.container.skel import CHANNELS
from mocpack.container.take_chunks import Chunk
from mocpack.container.track import TrackHead, track_head, track_values
from mocpack.errors import InvalidClipError, convert_errors
from mocpack.model.header import AnyHeader, ClipHeader, VertexHeader
from mocpack.model.hinges import Hinges
from mocpack.model.skeleton import Skeleton
from mocpack.model.space import HANDEDNESS, UP_AXES
from mocpack.model.take_data import NO_TAKE_DATA, WIDTHS, TakeData, Track

BYTES_PER_NUMBER = 64  # memory that decoding a value of take data may use
PART_OF_CHUNK = {
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
"""The key of each chunk in `Reader.sizes`; other chunks count as head."""
MIN_OPEN_BYTES = 1 << 20  # opening a file may always use this much
MAX_CACHED_SKELETONS = 256
MAX_CACHED_SKELETON_BYTES = 1 << 13  # chunks; larger, possibly hostile skeletons are not cached
SkeletonParts = tuple[Skeleton, tuple[int, ...], float]
HingeRow = tuple[int, Sequence[float], Sequence[float], float, str]
"""Joint, axis, limits, slide and name of a hinge."""


class Reader:
    """An open .mocp file: the header is parsed, the payload is read on demand.

    Attributes
    ----------
    header : ClipHeader or VertexHeader
    codec_id : str
    bitstream_version : int
    payload : Payload
    parsed : _core.File
        What the core has parsed.
    """

    def __init__(
        self,
        source: Source,
        *,
        partial: bool = False,
        memory_limit: int | None = None,
        like: Reader | None = None,
    ) -> None:
        """Open a file; a skeleton and metadata that equal those of `like` are not parsed again."""
        limit = None if memory_limit is None else max(memory_limit, MIN_OPEN_BYTES)
        known = None if like is None else like.parsed
        self.parsed: _core.File = _core.File(source, partial, limit, known)
        file = self.parsed
        self._source = source
        self.codec_id = file.codec_id
        self.bitstream_version = file.bitstream_version
        self.header: AnyHeader = _build_header(file, None if like is None else like.header)
        self.payload = Payload(source, *file.payload, limit)

    @property
    def needed(self) -> frozenset[str]:
        """Parameters that decoding needs."""
        return frozenset(_parse_object(self.parsed.needed))

    @property
    def params(self) -> JsonObject:
        """The stored parameters."""
        return {**_parse_object(self.parsed.params), **_parse_object(self.parsed.needed)}

    @property
    def errors(self) -> Errors:
        """The error bounds and measured errors."""
        return replace(Errors(*self.parsed.errors), joints=_joint_errors(self.parsed))

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes by part of the file, including chunk headers."""
        found = {"file": self._source.size, "head": 0} | dict.fromkeys(PART_OF_CHUNK.values(), 0)
        for tag, size in self.parsed.chunk_sizes():
            if tag == "DATA":
                found["payload"] = self.payload.size
                found["head"] += size - self.payload.size - self.payload.missing_bytes
            else:
                found[PART_OF_CHUNK.get(tag, "head")] += size
        return found

    @property
    def chunks(self) -> list[Chunk]:
        """The take data as chunks."""
        found: list[Chunk] = self.parsed.take_chunks()
        return found

    @cached_property
    def track_heads(self) -> list[TrackHead]:
        """Name, kind and size of each track, without reading its values."""
        return [track_head(found) for found in self.parsed.track_heads()]

    @cached_property
    def take_data(self) -> TakeData:
        """The data of the take besides its poses."""
        if self.parsed.is_vertices or not self.parsed.has_take_data:
            return NO_TAKE_DATA
        file, valid = self.parsed, self.parsed.valid()
        with convert_errors(InvalidClipError):
            return TakeData(
                file.moving_scales(),
                file.times(),
                None if valid is None else np.asarray(valid).view(np.bool_),
                {head.name: self._read_track(i, head) for i, head in enumerate(self.track_heads)},
            )

    def take_data_memory(self) -> int:
        """Return the memory in bytes that reading `take_data` may use."""
        if self.parsed.is_vertices or not self.parsed.has_take_data:
            return 0
        frames, joints = self.header.frame_count, self.header.point_count
        numbers = sum(head.count * WIDTHS[head.kind] for head in self.track_heads)
        numbers += frames * (3 * len(self.header.scaled_joints) + 1)
        return BYTES_PER_NUMBER * numbers + frames * joints

    def _read_track(self, index: int, head: TrackHead) -> Track:
        values, times = self.parsed.track(index)
        words = self.parsed.track_words(index) if head.kind == "label" else ()
        shown, start = (times, 0.0) if head.has_times else (None, head.start)
        samples = track_values(head.kind, values, words)
        return Track(head.kind, samples, head.frame_time, start, shown, head.bound, head.unit)


def unpack(data: bytes, *, partial: bool = False) -> FileContents:
    """Read the bytes of a .mocp file.

    With `partial`, a file truncated in its DATA chunk returns the available payload bytes.
    """
    reader = Reader(BytesSource(data), partial=partial)
    return FileContents(
        reader.header,
        reader.codec_id,
        reader.bitstream_version,
        reader.params,
        reader.payload.read_all(),
        reader.errors,
        reader.needed,
        reader.chunks,
    )


def scene_parts(source: Source) -> dict[str, Source] | None:
    """Return the clips of a scene by name, each as a source; None if the file is not a scene."""
    found = _core.scene_clips(source)
    if found is None:
        return None
    return {name: PartSource(source, offset, size) for name, offset, size in found}


def read_skeleton(
    body: bytes,
    rest: bytes | None = None,
    hinges: bytes | None = None,
    scales: bytes | None = None,
) -> SkeletonParts:
    """Return the skeleton, the translated joints and the unit in meters from chunks.

    Recent skeletons are cached, because clips of an archive share them and building one takes
    longer than decoding a window.
    """
    size = len(body) + len(rest or b"") + len(hinges or b"") + len(scales or b"")
    return (_cached_skeleton if size <= MAX_CACHED_SKELETON_BYTES else _build_skeleton)(
        body, rest, hinges, scales
    )


def _build_skeleton(
    body: bytes, rest: bytes | None, hinges: bytes | None, scales: bytes | None
) -> SkeletonParts:
    found = _core.read_skeleton(body, rest, hinges, scales)
    translated, unit = found.pop("translated_joints"), found.pop("unit")
    given = {name: value for name, value in found.items() if value is not None}
    given["channels"] = tuple(tuple(CHANNELS[c] for c in codes) for codes in given["channels"])
    with convert_errors(InvalidClipError, "header"):
        given["hinges"] = _build_hinges(given["hinges"])
        return Skeleton(**given), translated, unit


_cached_skeleton = lru_cache(MAX_CACHED_SKELETONS)(_build_skeleton)


def _build_hinges(rows: list[HingeRow]) -> Hinges | None:
    if not rows:
        return None
    joints, axes, limits, slides, names = zip(*rows, strict=True)
    return Hinges(joints, np.array(axes), np.array(limits), np.array(slides), names)


def _joint_errors(file: _core.File) -> JointErrors | None:
    bounds = file.joint_bounds()
    return None if bounds is None else JointErrors(*np.maximum(bounds, 0).T)


def _build_header(file: _core.File, like: AnyHeader | None) -> AnyHeader:
    if like is not None and file.shares_metadata:
        metadata = like.metadata
    else:
        metadata = MappingProxyType(_parse_object(file.metadata))
    if file.is_vertices:
        vertices, faces = file.mesh()
        return VertexHeader(vertices, faces, file.frame_count, file.frame_time, metadata)
    if isinstance(like, ClipHeader) and file.shares_skeleton:
        skeleton, translated, unit = like.skeleton, like.translated_joints, like.unit
    else:
        skeleton, translated, unit = read_skeleton(*file.skeleton_chunks())
    start, loop, up, left_handed, interpolated = file.playback
    header: ClipHeader = build_unchecked(
        ClipHeader,
        {
            "skeleton": skeleton,
            "frame_count": file.frame_count,
            "frame_time": file.frame_time,
            "translated_joints": translated,
            "unit": unit,
            "metadata": metadata,
            "scaled_joints": file.scaled_joints,
            "start_time": start,
            "loop": loop,
            "up": UP_AXES[up],
            "handedness": HANDEDNESS[left_handed],
            "interpolated": interpolated,
        },
    )
    return header


def _parse_object(text: bytes) -> JsonObject:
    """Parse a JSON object that the core has validated; empty text is an empty object."""
    found: JsonObject = json.loads(text) if text else {}
    return found
