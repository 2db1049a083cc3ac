"""An open .mocp file: windows, poses and previews, read and decoded as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property
from types import TracebackType
from typing import Any, Self, cast

import numpy as np

from mocpack._core import WindowPlan
from mocpack.arrays import F32, F64
from mocpack.clip import AnyClip, AnyHeader, Clip, ClipHeader
from mocpack.codec import ArrayWindows, Codec, Decoder, PayloadLayout, WindowWriter
from mocpack.codec_clip import codec_header, restore_take_data
from mocpack.container import (
    DEFAULT_LIMIT,
    Errors,
    MemoryLimit,
    Reader,
    TrackHead,
    check_version,
    scene_parts,
)
from mocpack.display import summarize
from mocpack.errors import (
    CorruptionError,
    FormatError,
    InvalidClipError,
    SceneError,
    UnsupportedVersionError,
    UsageError,
)
from mocpack.header import (
    check_frames,
    parse_selection,
    pose_header,
    sample_take_data,
    slice_header,
    slice_take_data,
    time_to_frame,
)
from mocpack.registry import codec_class
from mocpack.source import Openable, Source, open_source
from mocpack.take_data import TakeData
from mocpack.units import format_angle, format_length


class Motion:
    """An open .mocp file: reads and decodes what is asked for.

    What it gives is said to be a `Clip`, as nearly every file holds; one of vertices gives a
    `VertexClip`.
    """

    def __init__(
        self,
        source: Openable | Source,
        *,
        partial: bool = False,
        codec: Codec | None = None,
        clip: str | None = None,
        memory_limit: str | int | None = DEFAULT_LIMIT,
    ) -> None:
        self._limit = MemoryLimit.parse(memory_limit)
        self._source = open_source(source)
        self._options = partial, codec
        try:
            self._source = select_clip(self._source, clip)
            self._reader = Reader(self._source, partial=partial, memory_limit=self._limit.max_bytes)
            # a codec that the registry does not know can still be read by those who have it
            self._class = _codec_class(self._reader) if codec is None else type(codec)
            if self._reader.needed:
                self.codec  # noqa: B018 - a parameter that is not known keeps the file from opening
        except BaseException:
            self._source.close()
            raise
        self._writer: WindowWriter | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._source, *self._options, self._limit.max_bytes)

    def __repr__(self) -> str:
        header = self._reader.header
        what = [f"{self._reader.codec_id}, {self._source.size} bytes"]
        if self.errors.declared is not None:
            what.append(f"every point within {format_length(self.errors.declared)}")
        if self.errors.declared_angle is not None:
            what.append(f"every angle within {format_angle(self.errors.declared_angle)}")
        if not isinstance(header, ClipHeader):
            first = f"{header.frame_count} frames of {header.vertex_count} vertices"
            return f"Motion of {first}\n  {'; '.join(what)}"
        first, joints, _ = summarize(header, TakeData())
        return f"Motion of {first}\n  {joints}\n  {'; '.join(what)}"

    def __len__(self) -> int:
        """Return the number of frames."""
        return self.frame_count

    def __getitem__(self, key: Any) -> Clip:
        """Return some frames, some joints with their ancestors, or both, as `Clip` does.

        ``motion[120:240]`` decodes no more than it needs; so does ``motion[120:240, "LeftFoot"]``.

        >>> from mocpack import encode, open
        >>> from mocpack.testing import walk
        >>> with open(encode(walk(), max_error="5mm")) as motion:
        ...     len(motion), motion[20:50].positions().shape, len(motion[::4])
        (120, (30, 21, 3), 30)
        """
        start, stop, step, joints = parse_selection(key, len(self))
        part = self.frames(start, stop, joints)
        return part if step == 1 else part[::step]

    def __iter__(self) -> Iterator[Clip]:
        """Go through the clip in windows of about a second; the last may be shorter."""
        return self.windows(max(1, round(self._reader.header.frame_rate)))

    def windows(self, frames: int, *, stride: int | None = None) -> Iterator[Clip]:
        """Go through the clip in windows of so many frames, each decoded when it is asked for.

        Parameters
        ----------
        frames : int
            Of each window.
        stride : int, optional
            From the start of one window to that of the next. With it all windows have the same
            length; without it they follow one another, and the last may be shorter.

        >>> from mocpack import encode, open
        >>> from mocpack.testing import walk
        >>> with open(encode(walk(), max_error="5mm")) as motion:
        ...     [len(window) for window in motion.windows(50)]
        [50, 50, 20]
        """
        if frames < 1 or (stride is not None and stride < 1):
            raise UsageError(f"frames and stride must be 1 or above, got {frames} and {stride}")
        last = len(self) if stride is None else len(self) - frames + 1
        for start in range(0, last, stride or frames):
            yield self.frames(start, min(start + frames, len(self)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, unless it is an object that the caller opened."""
        self._source.close()

    @property
    def header(self) -> Any:
        """The `ClipHeader` or `VertexHeader`."""
        return self._reader.header

    @cached_property
    def codec(self) -> Codec:
        """The codec that made the file, as far as the file names its parameters."""
        given = self._options[1]
        return _codec_of(self._reader, self._class) if given is None else given

    @property
    def params(self) -> dict[str, Any]:
        """The codec's parameters, with those that the file names and this version does not know."""
        return {**self.codec.params(), **self._reader.params}

    @property
    def errors(self) -> Errors:
        """The error that the file declares and that its encoder measured."""
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
        """Whether the file ends before its payload does."""
        return self._reader.payload.is_truncated

    @property
    def missing_bytes(self) -> int:
        """Bytes of the payload that a cut file lacks."""
        return self._reader.payload.missing_bytes

    @cached_property
    def take_data(self) -> TakeData:
        """What the file holds beside its poses."""
        needed = self._reader.take_data_memory()
        self._limit.check(needed, self._reader.header, "what stands beside the poses")
        return self._reader.take_data

    @property
    def span(self) -> tuple[float, float]:
        """When the first and the last frame are, in seconds of the file's clock."""
        header = self.header
        start = header.start_time if isinstance(header, ClipHeader) else 0.0
        if isinstance(header, ClipHeader) and self.take_data.times is not None:
            return start, float(self.take_data.times[-1])
        return start, start + (header.frame_count - 1) * header.frame_time

    @property
    def track_heads(self) -> list[TrackHead]:
        """What tracks the file has, without reading them."""
        return self._reader.track_heads

    @cached_property
    def decoder(self) -> Decoder:
        """The open payload; it knows the codec's own clip, without what stands beside the poses."""
        reader, codec = self._reader, self._options[1]
        if codec is None and self._class.needed_params().isdisjoint(reader.params):
            codec = _default_codec(self._class)  # what the file names is the encoder's alone
        return (codec or self.codec).open(reader.payload, self.codec_header)

    @cached_property
    def codec_header(self) -> Any:
        """The header that the codec gets."""
        header = self._reader.header
        try:
            return codec_header(header) if isinstance(header, ClipHeader) else header
        except InvalidClipError as error:
            raise CorruptionError(f"header: {error}") from error

    def layout(self) -> PayloadLayout:
        """Return how the payload is divided."""
        self._check_memory("the index", 0, 0)
        return self.decoder.layout()

    def byte_ranges(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Return (place in the file, size) of the bytes that frames `start` to `stop` need."""
        at = self._reader.payload.offset
        found = self.decoder.byte_ranges(start, stop)
        return [(at + offset, length) for offset, length in found if length]

    def check(self) -> None:
        """Hold the whole payload against its checksum."""
        self._reader.payload.read_all()

    def clip(self) -> Clip:
        """Decode the whole clip."""
        try:
            self._check_memory("all", 0, self._reader.header.frame_count)
        except FormatError:
            self._reader.payload.read_all()  # a wrong checksum is the first fault of a damaged payload
            raise
        if self._reader.payload.is_truncated:
            return self._restore_coarse(self.decoder.partial())
        found = self.decoder.clip()
        return self._restore(found, 0, found.frame_count)

    def frames(self, start: int, stop: int, joints: Sequence[str | int] | None = None) -> Clip:
        """Return frames `start` to `stop`, half-open, of `joints` and their ancestors.

        What the codec can leave undecoded of other frames and joints stays undecoded.
        """
        check_frames(start, stop, self.frame_count)
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

    def write_window(self, plan: WindowPlan, start: int, stop: int, out: F32) -> None:
        """Write frames `start` to `stop` as a plan says, as `WindowWriter.write` does."""
        if self._writer is None:
            plain = self._has_own_arrays
            self._writer = self.decoder.window_writer() if plain else ArrayWindows(self.arrays)
        self._writer.write(plan, start, stop, out)

    @cached_property
    def _has_own_arrays(self) -> bool:
        """Whether the codec's arrays are the clip's, and all of them fit into memory."""
        header = self.header
        same = isinstance(header, ClipHeader) and self.codec_header.skeleton is header.skeleton
        return same and self._fits_in_memory

    def sample(self, time: float) -> Clip:
        """Return the pose at `time` seconds as a one-frame clip, clamped.

        Between frames it is slerped, unless the codec itself knows the motion there.
        """
        at = self._time_to_frame(time)
        first = int(at)
        self._check_memory(f"frame {first}", first, min(first + 2, self.frame_count))
        found = self.decoder.sample(at)
        if not isinstance(found, Clip):
            return cast(Clip, found)
        header = pose_header(self.header, at, self.take_data.times)
        return _restore(found, header, sample_take_data(self.take_data, at))

    def preview(self) -> Clip:
        """Return a coarse clip quickly, where the codec can; else the whole clip."""
        self._limit.check(self.decoder.preview_memory(), self._reader.header, "a preview")
        return self._restore_coarse(self.decoder.preview())

    def _check_memory(
        self, what: str, start: int, stop: int, joints: Sequence[int] | None = None
    ) -> None:
        """Complain if frames would take too much, before they take any."""
        if not self._fits_in_memory:
            needed = self._memory(start, stop, joints)
            self._limit.check(needed, self._reader.header, what)

    @cached_property
    def _fits_in_memory(self) -> bool:
        """Whether all frames at once are within the limit, so that no part need be asked for."""
        most = self._limit.max_bytes
        return most is None or self._memory(0, self.frame_count) <= most

    def _memory(self, start: int, stop: int, joints: Sequence[int] | None = None) -> int:
        """Return the bytes that decoding frames takes."""
        wanted = None if joints is None else self._codec_joints(joints)
        needed = self.decoder.memory_needed(start, stop, wanted)
        return needed + (self._reader.take_data_memory() if start < stop else 0)

    def _restore(
        self, found: AnyClip, start: int, stop: int, joints: Sequence[int] | None = None
    ) -> Clip:
        """Return what a codec decoded of some frames as the file's clip has them."""
        header, take_data = self._reader.header, self.take_data
        if not isinstance(found, Clip) or not isinstance(header, ClipHeader):
            return cast(Clip, found)
        if header is self.codec_header and not take_data:
            return found
        part = slice_header(header, start, stop, take_data)
        return _restore(found, part, slice_take_data(take_data, header, start, stop), joints)

    def _restore_coarse(self, found: AnyClip) -> Clip:
        """Return a clip of fewer frames, or of the first, as the file's clip has them."""
        header = self._reader.header
        same = found.frame_time == header.frame_time
        if same or not isinstance(found, Clip) or not isinstance(header, ClipHeader):
            return self._restore(found, 0, found.frame_count)
        if header is self.codec_header and not self.take_data:
            return found
        coarse = replace(header, frame_count=found.frame_count, frame_time=found.frame_time)
        at = np.rint(np.arange(found.frame_count) * found.frame_time / header.frame_time)
        at = np.minimum(at, header.frame_count - 1)
        return _restore(found, coarse, self.take_data.at(at.astype(np.intp)))

    def _codec_joints(self, joints: Sequence[int]) -> list[int]:
        """Return which joints of the codec's skeleton these are."""
        shift = len(self.codec_header.skeleton) - len(self.header.skeleton)
        return [j + shift for j in joints]

    def _time_to_frame(self, time: float) -> float:
        """Return the frame, with its fraction, at a time in seconds, clamped."""
        header: AnyHeader = self._reader.header
        if isinstance(header, ClipHeader):
            return time_to_frame(time, header, self.take_data.times)
        return min(max(time / header.frame_time, 0.0), header.frame_count - 1.0)

    def _indices(self, joints: Sequence[str | int]) -> list[int]:
        header = self._reader.header
        if not isinstance(header, ClipHeader):
            raise UsageError("a vertex animation has no joints to choose from")
        indices = header.skeleton.indices(joints)
        if not indices:
            raise UsageError("joints must name at least one joint, got none")
        return indices


def _restore(
    found: Clip, header: ClipHeader, take_data: TakeData, joints: Sequence[int] | None = None
) -> Clip:
    try:
        return restore_take_data(found, header, take_data, joints)
    except InvalidClipError as error:
        raise CorruptionError(str(error)) from error


def select_clip(source: Source, name: str | None) -> Source:
    """Return the source of one clip: the file itself, or a part of a scene."""
    parts = scene_parts(source)
    if parts is None:
        if name is not None:
            raise SceneError(f"the file is one clip, no scene with a clip {name!r}")
        return source
    if name is None and len(parts) == 1:
        return next(iter(parts.values()))
    if name not in parts:
        asked = "say which" if name is None else f"none is {name!r}"
        raise SceneError(f"the file is a scene of {', '.join(map(repr, parts))}; {asked}")
    return parts[name]


def _reopen(source: Source, partial: bool, codec: Codec | None, limit: int | None) -> Motion:
    return Motion(source, partial=partial, codec=codec, memory_limit=limit)


@cache
def _default_codec(cls: type[Codec]) -> Codec:
    return cls()


def _codec_class(reader: Reader) -> type[Codec]:
    """Return the class of the codec that a file names, if it reads the file's version."""
    cls = codec_class(reader.codec_id)
    check_version(f"{reader.codec_id} bitstream", reader.bitstream_version, cls.bitstream_version)
    if reader.bitstream_version < cls.oldest_bitstream:
        raise UnsupportedVersionError(
            f"{reader.codec_id} bitstream {reader.bitstream_version} was never released; "
            f"this mocpack reads {cls.oldest_bitstream} to {cls.bitstream_version}"
        )
    if reader.header.kind not in cls.kinds:
        raise CorruptionError(f"{reader.codec_id} holds no {reader.header.kind} clips")
    return cls


def _codec_of(reader: Reader, cls: type[Codec]) -> Codec:
    try:
        return cls.from_file(reader.params, reader.needed)
    except UnsupportedVersionError:
        raise
    except (TypeError, ValueError) as error:
        raise CorruptionError(f"{reader.codec_id} parameters: {error}") from error
