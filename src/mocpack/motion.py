"""An open .mocp file: windows, poses and previews, read and decoded on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from mocpack.codec import ArrayWindows, Codec, Decoder, Layer, PayloadLayout, WindowWriter
from mocpack.codecs.registry import codec_class
from mocpack.common.arguments import check_integer
from mocpack.common.arrays import F64
from mocpack.common.choice import find_index
from mocpack.common.json_object import JsonObject
from mocpack.common.source import BytesSource, Openable, PathSource, Source, open_source
from mocpack.common.units import format_angle, format_length
from mocpack.container import (
    DEFAULT_LIMIT,
    Errors,
    MemoryLimit,
    Reader,
    TrackHead,
    check_version,
    is_archive,
    read_clip_file,
    read_trailer,
    scene_parts,
)
from mocpack.errors import (
    CorruptionError,
    FormatError,
    InvalidClipError,
    SceneError,
    UnsupportedVersionError,
    UsageError,
    convert_errors,
)
from mocpack.model.clip import AnyHeader, Clip, ClipHeader
from mocpack.model.codec_clip import codec_header, restore_take_data
from mocpack.model.display import summarize
from mocpack.model.header import (
    check_frames,
    frame_to_time,
    parse_selection,
    pose_header,
    sample_take_data,
    slice_header,
    slice_take_data,
    time_to_frame,
)
from mocpack.model.take_data import TakeData

Reopen = Callable[[Source, bool, Codec | None, int | None], "Motion"]
"""How pickle opens a motion again."""


class Motion:
    """An open .mocp file, read and decoded on demand.

    Methods are typed to return a `Clip`, because nearly every file holds one; a file of vertices
    returns a `VertexClip`.
    """

    def __init__(
        self,
        source: Openable | Source,
        *,
        partial: bool = False,
        codec: Codec | None = None,
        clip: str | None = None,
        memory_limit: str | int | MemoryLimit | None = DEFAULT_LIMIT,
        like: Motion | None = None,
    ) -> None:
        self._limit = MemoryLimit.parse(memory_limit)
        self._source = open_source(source)
        self._options = partial, codec
        try:
            self._source = select_clip(self._source, clip)
            self._reader: Reader = Reader(
                self._source,
                partial=partial,
                memory_limit=self._limit.max_bytes,
                like=None if like is None else like._reader,
            )
            # the caller can pass a codec that is not registered
            reader = self._reader
            self._class = (
                type(codec)
                if codec
                else _codec_class(reader.codec_id, reader.bitstream_version, reader.header.kind)
            )
            if reader.parsed.needed:
                self.codec  # noqa: B018 - raises for unknown parameters
        except BaseException:
            self._source.close()
            raise

    def __reduce__(self) -> tuple[Reopen, tuple[Source, bool, Codec | None, int | None]]:
        return _reopen, (self._source, *self._options, self._limit.max_bytes)

    def __repr__(self) -> str:
        header = self.header
        what = [f"{self._reader.codec_id}, {self._source.size} bytes"]
        if self.errors.declared is not None:
            what.append(f"every point within {format_length(self.errors.declared)}")
        if self.errors.declared_angle is not None:
            what.append(f"every angle within {format_angle(self.errors.declared_angle)}")
        if header.kind == "vertices":
            first = f"{header.frame_count} frames of {header.vertex_count} vertices"
            return f"Motion of {first}\n  {'; '.join(what)}"
        first, joints, _ = summarize(header, TakeData())
        return f"Motion of {first}\n  {joints}\n  {'; '.join(what)}"

    def __len__(self) -> int:
        """Return the number of frames."""
        return self.frame_count

    def __getitem__(self, key: Any) -> Clip:
        """Return some frames, some joints with their ancestors, or both, as `Clip` does.

        ``motion[120:240]`` and ``motion[120:240, "LeftFoot"]`` decode only what they need.

        >>> from mocpack import encode, open
        >>> from mocpack.testing import walk
        >>> with open(encode(walk(), max_error="5mm")) as motion:
        ...     len(motion), motion[20:50].positions().shape, len(motion[::4])
        (120, (30, 21, 3), 30)
        """
        start, stop, step, joints = parse_selection(key, self._reader.header.frame_count)
        part = self._decode(start, stop, joints)
        return part if step == 1 else part[::step]

    def __iter__(self) -> Iterator[Clip]:
        """Yield windows of about one second; the last may be shorter."""
        return self.windows(max(1, round(self._reader.header.frame_rate)))

    def windows(self, frames: int, *, stride: int | None = None) -> Iterator[Clip]:
        """Yield windows of `frames` frames, decoded one at a time.

        Parameters
        ----------
        frames : int
            Length of a window.
        stride : int, optional
            Frames between the starts of consecutive windows. With it, all windows have the same
            length. Without it, windows do not overlap and the last may be shorter.

        >>> from mocpack import encode, open
        >>> from mocpack.testing import walk
        >>> with open(encode(walk(), max_error="5mm")) as motion:
        ...     [len(window) for window in motion.windows(50)]
        [50, 50, 20]
        """
        check_integer("frames", frames, 1)
        if stride is not None:
            check_integer("stride", stride, 1)
        last = len(self) if stride is None else len(self) - frames + 1
        for start in range(0, last, stride or frames):
            yield self.frames(start, min(start + frames, len(self)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, unless it is a file object of the caller."""
        self._source.close()

    @property
    def header(self) -> Any:
        """The `ClipHeader` or `VertexHeader`."""
        return self._reader.header

    @cached_property
    def codec(self) -> Codec:
        """The codec of the file, with the parameters that the file stores."""
        given = self._options[1]
        return _codec_of(self._reader, self._class) if given is None else given

    @property
    def params(self) -> JsonObject:
        """The codec's parameters, including stored ones that this version does not know."""
        return {**self.codec.params(), **self._reader.params}

    @property
    def errors(self) -> Errors:
        """The error bound of the file and the error that its encoder measured."""
        return self._reader.errors

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes by part of the file."""
        return self._reader.sizes

    @property
    def frame_count(self) -> int:
        return self._reader.header.frame_count

    @property
    def bitstream_version(self) -> int:
        return self._reader.bitstream_version

    @property
    def is_truncated(self) -> bool:
        """Whether the file ends before the end of its payload."""
        return self._reader.payload.is_truncated

    @property
    def missing_bytes(self) -> int:
        """Bytes of the payload that are missing in a truncated file."""
        return self._reader.payload.missing_bytes

    @cached_property
    def take_data(self) -> TakeData:
        """The data of the take besides its poses: scales, times, gaps, tracks."""
        needed = self._reader.take_data_memory()
        self._limit.check(needed, self._reader.header, "the take data")
        return self._reader.take_data

    @property
    def span(self) -> tuple[float, float]:
        """Times of the first and last frame in seconds."""
        header, times = self.header, self.take_data.times
        last = header.frame_count - 1
        return header.start_time, frame_to_time(last, header, times)

    @property
    def track_heads(self) -> list[TrackHead]:
        """Name, kind and size of each track, without reading its values."""
        return self._reader.track_heads

    @cached_property
    def decoder(self) -> Decoder:
        """The decoder of the payload; it returns the codec's clip without take data."""
        reader, codec = self._reader, self._options[1]
        default, used = _default_codec(self._class)
        if codec is None and (not used or used.isdisjoint(reader.params)):
            codec = default  # the stored parameters matter only to the encoder
        return (codec or self.codec).open(reader.payload, self.codec_header)

    @cached_property
    def codec_header(self) -> Any:
        """The header that the codec uses."""
        header = self._reader.header
        try:
            return codec_header(header)
        except InvalidClipError as error:
            raise CorruptionError(f"header: {error}") from error

    def layout(self) -> PayloadLayout:
        """Return the layout of the payload."""
        self._check_memory("the index", 0, 0)
        return self.decoder.layout()

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The quality layers: where each ends, and the errors of a file cut there or later.

        Version 0.1.0 stated errors without scales. Errors are None in a file that shows it, because
        it measured larger ones.
        """
        payload, measured, header = self._reader.payload, self.errors, self._reader.header
        # a mean in a payload counts the joint at the origin of several roots
        share = self.codec_header.point_count / header.point_count
        layers = [
            replace(layer, mean_error=layer.mean_error and share * layer.mean_error)
            for layer in self.layout().layers
        ]
        if layers and header.is_scaled and _is_exceeded(layers[-1], measured, header):
            layers = [replace(layer, max_error=None, mean_error=None) for layer in layers]
        end = payload.size + payload.missing_bytes
        layers[-1:] = [Layer(end, measured.max, measured.mean)]
        for coarse in reversed(range(len(layers) - 1)):
            layers[coarse] = _hold_to_end(layers[coarse], layers[coarse + 1])
        return tuple(replace(layer, end=payload.offset + layer.end) for layer in layers)

    def byte_ranges(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Return (offset in the file, size) of the bytes that frames `start` to `stop` need."""
        at = self._reader.payload.offset
        found = self.decoder.byte_ranges(start, stop)
        return [(at + offset, length) for offset, length in found if length]

    def verify_checksum(self) -> None:
        """Raise `CorruptionError` if the checksum of the payload is wrong."""
        self._reader.payload.read_all()

    def clip(self) -> Clip:
        """Decode the whole clip."""
        try:
            self._check_memory("all", 0, self._reader.header.frame_count)
        except FormatError:
            # report a wrong checksum first, because it explains the other error
            self._reader.payload.read_all()
            raise
        if self._reader.payload.is_truncated:
            return self._restore_coarse(self.decoder.partial())
        found = self.decoder.clip()
        return self._restore(found, 0, found.frame_count)

    def frames(self, start: int, stop: int, joints: Sequence[str | int] | None = None) -> Clip:
        """Return frames `start` to `stop`, half-open, of `joints` and their ancestors.

        Other frames and joints are not decoded where the codec can skip them.
        """
        check_frames(start, stop, self.frame_count)
        return self._decode(start, stop, joints)

    def _decode(self, start: int, stop: int, joints: Sequence[str | int] | None) -> Clip:
        if joints is None and self._is_plain:
            plain: Clip = self.decoder.frames(start, stop)
            return plain
        indices = None if joints is None else self._indices(joints)
        self._check_memory(f"frames {start}:{stop}", start, stop, indices)
        wanted = None if indices is None else self._codec_joints(indices)
        return self._restore(self.decoder.frames(start, stop, wanted), start, stop, indices)

    def arrays(self, start: int, stop: int) -> tuple[F64, F64]:
        """Return rotations (T, J, 4) and translations (T, M, 3) of frames `start` to `stop`."""
        if self._has_own_arrays:
            check_frames(start, stop, self.frame_count)
            return self.decoder.arrays(start, stop)
        part = self.frames(start, stop)
        return np.asarray(part.rotations), np.asarray(part.translations)

    @cached_property
    def window_writer(self) -> WindowWriter:
        """The writer of windows of this file."""
        return self.decoder.window_writer() if self._has_own_arrays else ArrayWindows(self.arrays)

    @cached_property
    def window_opener(self) -> Callable[[bytes], WindowWriter | None] | None:
        """A function that returns the writer of windows of another file with the same skeleton.

        It costs less than opening the other file, and returns None if the files differ in more than
        motion. None if the codec has no such function, or if this file's payload is damaged.
        """
        try:
            own_arrays = self._has_own_arrays
            return self.decoder.window_opener(self._reader.parsed) if own_arrays else None
        except FormatError:
            return None

    @cached_property
    def row_storer(self) -> Callable[..., list[int]] | None:
        """A function that stores the rows of many files with the same skeleton; see `RowStore`.

        It returns the indices of files that differ in more than motion. None as for
        `window_opener`.
        """
        opener = self.window_opener
        return None if opener is None else self.decoder.row_storer(self._reader.parsed)

    @cached_property
    def _is_plain(self) -> bool:
        """Whether the codec's clips are those of the file, and all fit into the memory limit."""
        has_more = self._reader.parsed.has_take_data or self._reader.header is not self.codec_header
        return not has_more and self._fits_in_memory

    @property
    def _is_codec_clip(self) -> bool:
        """Whether the codec's clips are those of the file."""
        return self._reader.header is self.codec_header and not self.take_data

    @cached_property
    def _has_own_arrays(self) -> bool:
        """Whether the codec's arrays equal the clip's and fit into the memory limit."""
        header = self.header
        same = header.kind == "skeleton" and self.codec_header.skeleton is header.skeleton
        return same and self._fits_in_memory

    def sample(self, time: float) -> Clip:
        """Return the pose at `time` seconds as a one-frame clip, clamped.

        Between frames it is interpolated by slerp, unless the codec stores a continuous curve.
        """
        at = time_to_frame(time, self._reader.header, self.take_data.times)
        first = int(at)
        self._check_memory(f"frame {first}", first, min(first + 2, self.frame_count))
        pose: Clip = self.decoder.sample(at)
        if self._is_codec_clip:
            return pose
        header = pose_header(self.header, at, self.take_data.times)
        return _restore(pose, header, sample_take_data(self.take_data, at))

    def preview(self) -> Clip:
        """Return a coarse clip quickly if the codec supports it, else the whole clip."""
        self._limit.check(self.decoder.preview_memory(), self._reader.header, "a preview")
        return self._restore_coarse(self.decoder.preview())

    def _check_memory(
        self, what: str, start: int, stop: int, joints: Sequence[int] | None = None
    ) -> None:
        """Raise if decoding frames would exceed the memory limit."""
        if not self._fits_in_memory:
            needed = self._memory(start, stop, joints)
            self._limit.check(needed, self._reader.header, what)

    @cached_property
    def _fits_in_memory(self) -> bool:
        """Whether the whole clip fits into the memory limit, so that parts need no check."""
        most = self._limit.max_bytes
        return most is None or self._memory(0, self._reader.header.frame_count) <= most

    def _memory(self, start: int, stop: int, joints: Sequence[int] | None = None) -> int:
        """Return the bytes of memory that decoding frames needs."""
        wanted = None if joints is None else self._codec_joints(joints)
        needed = self.decoder.memory_needed(start, stop, wanted)
        return needed + (self._reader.take_data_memory() if start < stop else 0)

    def _restore(
        self, found: Clip, start: int, stop: int, joints: Sequence[int] | None = None
    ) -> Clip:
        """Add take data and the file's header to decoded frames."""
        if self._is_codec_clip:
            return found
        header, take_data = self.header, self.take_data
        part = slice_header(header, start, stop, take_data)
        return _restore(found, part, slice_take_data(take_data, header, start, stop), joints)

    def _restore_coarse(self, found: Clip) -> Clip:
        """Add take data and the file's header to a preview, or to the first frames."""
        header = self.header
        if self._is_codec_clip or found.frame_time == header.frame_time:
            return self._restore(found, 0, found.frame_count)
        coarse = replace(header, frame_count=found.frame_count, frame_time=found.frame_time)
        at = np.rint(np.arange(found.frame_count) * found.frame_time / header.frame_time)
        at = np.minimum(at, header.frame_count - 1)
        return _restore(found, coarse, self.take_data.at(at.astype(np.intp)))

    def _codec_joints(self, joints: Sequence[int]) -> list[int]:
        """Return the indices of joints in the codec's skeleton."""
        shift = self.codec_header.point_count - self.header.point_count
        return [j + shift for j in joints]

    def _indices(self, joints: Sequence[str | int]) -> list[int]:
        indices = self._reader.header.indices(joints)
        if not indices:
            raise UsageError("joints must name at least one joint, got none")
        return indices


def _is_exceeded(last: Layer, measured: Errors, header: AnyHeader) -> bool:
    """Return whether a file measured larger errors than its last layer states."""
    rounding = 1.001  # of measured errors
    pairs = [(measured.mean, last.mean_error)]
    if not header.interpolated:  # else the maximum also holds between frames
        pairs.append((measured.max, last.max_error))
    return any(a is not None and b is not None and a > rounding * b for a, b in pairs)


def _hold_to_end(layer: Layer, finer: Layer) -> Layer:
    """Return a layer whose errors also hold for files that are cut after the next one."""

    def larger(own: float | None, other: float | None) -> float | None:
        return None if own is None else max(own, other or 0.0)

    return replace(
        layer,
        max_error=larger(layer.max_error, finer.max_error),
        mean_error=larger(layer.mean_error, finer.mean_error),
    )


def _restore(
    found: Clip, header: ClipHeader, take_data: TakeData, joints: Sequence[int] | None = None
) -> Clip:
    with convert_errors(InvalidClipError):
        return restore_take_data(found, header, take_data, joints)


def select_clip(source: Source, name: str | None) -> Source:
    """Return the source of one clip: the file itself, or a clip of a scene or an archive."""
    if is_archive(source):
        return _read_archived_clip(source, name)
    parts = scene_parts(source)
    if parts is not None:
        return list(parts.values())[find_index(list(parts), name, required=True)]
    if name is not None:
        raise SceneError(f"the file holds one motion, so clip {name!r:.80} cannot be chosen")
    return source


def extract_clip(source: Openable, name: str | None = None) -> bytes:
    """Return one clip of a scene or an archive as a .mocp file; other .mocp files as they are."""
    with closing(open_source(source)) as file, closing(select_clip(file, name)) as found:
        return found.read(0, found.size)


def list_packed_clips(source: Source) -> list[str]:
    """Return the names of the clips of a scene or an archive; none of other .mocp files."""
    if is_archive(source):
        return list(read_trailer(source).index.names)
    return list(scene_parts(source) or ())


def _read_archived_clip(source: Source, name: str | None) -> Source:
    """Return one clip of an archive, read as a whole, and close the archive."""
    index = read_trailer(source).index
    place = index.place(find_index(index.names, name, required=True))
    file = source
    if place.file:
        shard = index.files[place.file - 1][0]
        if not isinstance(source, PathSource):
            raise UsageError(f"the clip is in the file {shard!r}; open the archive by its path")
        file = open_source(Path(source.path).with_name(shard))
    with closing(source), closing(file):
        return BytesSource(read_clip_file(file, place))


def _reopen(source: Source, partial: bool, codec: Codec | None, limit: int | None) -> Motion:
    return Motion(source, partial=partial, codec=codec, memory_limit=limit)


@cache
def _default_codec(cls: type[Codec]) -> tuple[Codec, frozenset[str]]:
    """Return the codec with its default parameters, and the names of those that decoding needs."""
    return cls(), cls.needed_params()


@lru_cache(64)
def _codec_class(codec_id: str, bitstream_version: int, kind: str) -> type[Codec]:
    """Return the codec class of files; raise if it cannot read their version."""
    cls = codec_class(codec_id)
    check_version(f"{codec_id} bitstream", bitstream_version, cls.bitstream_version)
    if kind not in cls.kinds:
        raise CorruptionError(f"codec {codec_id} cannot hold {kind} clips (file is corrupt)")
    return cls


def _codec_of(reader: Reader, cls: type[Codec]) -> Codec:
    try:
        return cls.from_file(reader.params, reader.needed)
    except UnsupportedVersionError:
        raise
    except (TypeError, ValueError) as error:
        raise CorruptionError(f"{reader.codec_id} parameters: {error}") from error
