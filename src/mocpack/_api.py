"""The straight line: clip -> codec -> container -> bytes, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from mocpack import rate
from mocpack.clip import (
    AnyClip,
    AnyHeader,
    Clip,
    ClipHeader,
    check_reach,
    frame_at,
    frames_extras,
    frames_header,
    pose_extras,
    pose_header,
)
from mocpack.codec import (
    Codec,
    PayloadLayout,
    SupportsBudget,
    SupportsLayout,
    SupportsPartial,
    SupportsPreview,
    SupportsSample,
    SupportsSeek,
)
from mocpack.container import (
    DEFAULT_LIMIT,
    MAGIC,
    Errors,
    MemoryLimit,
    Openable,
    Reader,
    Source,
    TrackHead,
    check_version,
    clip_bytes,
    pack_scene,
    scene_parts,
    source_of,
)
from mocpack.errors import (
    CorruptionError,
    FormatError,
    InvalidClipError,
    MemoryLimitError,
    SceneError,
    TruncatedError,
    UnsupportedClipError,
    UnsupportedVersionError,
    UsageError,
)
from mocpack.io import contents, read_bytes, read_file, write_file
from mocpack.io.atomic import write_atomically
from mocpack.plain import dressed, plain_header
from mocpack.presets import preset_bound
from mocpack.registry import BUILTIN, DEFAULT_CODEC, codec_class, parse_codec
from mocpack.take import Extras
from mocpack.units import Length, length_argument, parse_length, parse_size

EFFORTS = ("fast", "default", "best")


def read(
    path: str | Path,
    *,
    unit: str | Length | None = None,
    skeleton: str | Path | None = None,
    clip: str | None = None,
    memory_limit: str | int | None = DEFAULT_LIMIT,
) -> AnyClip:
    """Read a motion file of any known kind, .mocp included.

    Parameters
    ----------
    path : path
    unit : str or Length, optional
        Length of one unit of the file ("cm", "5.644cm", `mocpack.mm(1)`), for formats that do not
        say.
    skeleton : path, optional
        The .asf of an .amc, where it is not the one beside it.
    clip : str, optional
        Which clip of a scene; needed where it has several.
    memory_limit : str or int, optional
        Of a .mocp file, as in `open`.
    """
    return read_contents(
        contents(path), path, unit=unit, skeleton=skeleton, clip=clip, memory_limit=memory_limit
    )


def read_contents(
    data: bytes,
    path: str | Path,
    *,
    unit: str | Length | None = None,
    skeleton: str | Path | None = None,
    clip: str | None = None,
    memory_limit: str | int | None = DEFAULT_LIMIT,
) -> AnyClip:
    """Read a motion file of these bytes; what belongs to it is looked for beside `path`."""
    if data[:1] == MAGIC[:1] or Path(path).suffix == ".mocp":
        return read_data(data, name=str(path), clip=clip, memory_limit=memory_limit)
    metres = None if unit is None else _unit(unit)
    return read_file(path, unit=metres, skeleton=skeleton, data=data)


def read_data(
    data: bytes,
    *,
    name: str = "input",
    unit: str | Length | None = None,
    skeleton: str | Path | None = None,
    clip: str | None = None,
    memory_limit: str | int | None = DEFAULT_LIMIT,
) -> AnyClip:
    """Read a motion file's bytes; `name` is for complaints and, if need be, for its extension."""
    if data[:1] == MAGIC[:1] or Path(name).suffix == ".mocp":
        try:
            return decode(data, clip=clip, memory_limit=memory_limit)
        except (FormatError, MemoryLimitError, SceneError) as error:
            raise type(error)(f"{name}: {error}") from error
    metres = None if unit is None else _unit(unit)
    bones = None if skeleton is None else contents(skeleton)
    return read_bytes(data, name=name, unit=metres, skeleton=bones)


def write(clip: AnyClip, path: str | Path) -> None:
    """Write a clip, atomically, in the format that the path's extension names.

    An .amc comes with its .asf beside it.
    """
    write_file(clip, path)


def encode(
    clip: AnyClip,
    codec: Codec | str = DEFAULT_CODEC,
    *,
    max_error: str | Length | None = None,
    mean_error: str | Length | None = None,
    ratio: float | None = None,
    size: str | int | None = None,
    preset: str | None = None,
    effort: str | None = None,
) -> bytes:
    """Return the bytes of a .mocp file.

    Without a target the codec runs with its own parameters.

    Parameters
    ----------
    clip : Clip or VertexClip
    codec : Codec or str
        A codec, or its spec such as ``"raw"`` or ``"keysine:effort=best"``.
    max_error : str or Length, optional
        Bound on the promised error: text with a unit ("1mm"), or `mocpack.mm(1)`.
    mean_error : str or Length, optional
        Bound on the mean joint error.
    ratio, size : optional
        Of the whole file, against float32 of the moving channels; in bytes or as "20kB".
    preset : {"archive", "edit", "train", "game", "web"}, optional
        A bound on the promised error by purpose (docs/cli.md), in place of the others.
    effort : {"fast", "default", "best"}, optional
        How long the encoder may search, where it can; by default as the codec's own parameter
        says.

    Raises
    ------
    BoundError
        If the target cannot be met; nothing that misses it is ever returned.
    """
    return encode_measured(
        clip,
        codec,
        max_error=max_error,
        mean_error=mean_error,
        ratio=ratio,
        size=size,
        preset=preset,
        effort=effort,
    ).data


def encode_measured(
    clip: AnyClip,
    codec: Codec | str = DEFAULT_CODEC,
    *,
    max_error: str | Length | None = None,
    mean_error: str | Length | None = None,
    ratio: float | None = None,
    size: str | int | None = None,
    preset: str | None = None,
    effort: str | None = None,
) -> rate.Attempt:
    """Do as `encode` does, and return the file with its measured errors and its codec."""
    codec = parse_codec(codec) if isinstance(codec, str) else codec
    if effort is not None and effort not in EFFORTS:
        raise UsageError(f"effort must be one of {', '.join(EFFORTS)}, got {effort!r}")
    check_kind(codec, clip.header.kind)
    check_reach(clip)
    if preset is not None:
        if not (max_error is mean_error is ratio is size is None):
            raise UsageError(f"preset {preset!r} is a target itself: give no other beside it")
        max_error = preset_bound(preset, clip)
    target = parse_target(max_error=max_error, mean_error=mean_error, ratio=ratio, size=size)
    return rate.encode_to_target(clip, codec, target, effort=effort)


def parse_target(
    *,
    max_error: str | Length | None = None,
    mean_error: str | Length | None = None,
    ratio: float | None = None,
    size: str | int | None = None,
) -> rate.Target:
    """Return the target that `encode` is asked for; what makes none is a `UsageError`."""
    return rate.Target(
        None if max_error is None else length_argument("max_error", max_error),
        None if mean_error is None else length_argument("mean_error", mean_error),
        ratio,
        None if size is None else parse_size(size),
    )


def read_scene(
    path: str | Path, *, memory_limit: str | int | None = DEFAULT_LIMIT, **reading: Any
) -> dict[str, AnyClip]:
    """Read every clip of a file, by name: those of a scene, or the one of any other motion file.

    The clips of a scene share a clock: `start_time` of each says when it begins. `reading` is what
    `read` takes for other formats.
    """
    data = contents(path)
    if data[:1] != MAGIC[:1]:
        return {Path(path).stem: read_contents(data, path, **reading)}
    try:
        return decode_scene(data, name=Path(path).stem, memory_limit=memory_limit)
    except (FormatError, MemoryLimitError) as error:
        raise type(error)(f"{path}: {error}") from error


def write_scene(clips: Mapping[str, AnyClip], path: str | Path, **target: Any) -> None:
    """Write a scene as a .mocp file, atomically; `target` is what `encode` takes."""
    write_atomically(encode_scene(clips, **target), path)


def encode_scene(
    clips: Mapping[str, AnyClip], codec: Codec | str = DEFAULT_CODEC, **target: Any
) -> bytes:
    """Return the bytes of a .mocp file of several clips, each encoded as `encode` does."""
    return pack_scene({name: encode(clip, codec, **target) for name, clip in clips.items()})


def decode_scene(
    data: bytes, *, name: str = "clip", memory_limit: str | int | None = DEFAULT_LIMIT
) -> dict[str, AnyClip]:
    """Return every clip of a .mocp file's bytes; one that is no scene has one, named `name`."""
    source = source_of(data)
    parts = scene_parts(source) or {name: source}
    found = {}
    for part, inside in parts.items():
        with Motion(inside, memory_limit=memory_limit) as motion:
            found[part] = motion.clip()
    return found


def clip_names(source: Openable) -> list[str]:
    """Return the names of a scene's clips; none of a file that is no scene."""
    opened = source_of(source)
    try:
        return list(scene_parts(opened) or ())
    finally:
        opened.close()


def decode(
    data: bytes,
    *,
    partial: bool = False,
    clip: str | None = None,
    memory_limit: str | int | None = DEFAULT_LIMIT,
) -> AnyClip:
    """Return the clip of a .mocp file's bytes, or the named one of a scene's.

    A file that was cut is a `TruncatedError`, unless `partial` asks for what is whole of it.
    `memory_limit` is that of `open`.
    """
    with Motion(data, partial=partial, clip=clip, memory_limit=memory_limit) as motion:
        return motion.clip()


def open(
    source: Openable,
    *,
    clip: str | None = None,
    memory_limit: str | int | None = DEFAULT_LIMIT,
) -> Motion:
    """Open a .mocp file to read parts of it; use as a context manager.

    Parameters
    ----------
    source : path, bytes or file object
        Any threads and forked processes may read from what is open. A motion that was opened by
        its path can be sent to another process, which opens the file again.
    clip : str, optional
        Which clip of a scene; needed where it has several.
    memory_limit : str or int, optional
        The most memory that any one call may take, in bytes or as "2GB"; None for no limit. What
        would take more is a `MemoryLimitError`, before any of it is taken. By default 1 GB.
    """
    if not isinstance(source, str | Path):
        return Motion(source, clip=clip, memory_limit=memory_limit)
    try:
        return Motion(source, clip=clip, memory_limit=memory_limit)
    except (FormatError, MemoryLimitError, SceneError) as error:
        raise type(error)(f"{source}: {error}") from error


class Motion:
    """An open .mocp file: reads and decodes what is asked for."""

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
        self._source = source_of(source)
        self._given = partial, codec
        try:
            self._source = _clip_source(self._source, clip)
            self._reader = Reader(self._source, partial=partial)
            # a codec that the registry does not know can still be read by those who have it
            self._codec = _codec_of(self._reader) if codec is None else codec
        except BaseException:
            self._source.close()
            raise
        self._whole: AnyClip | None = None
        self._sampler: Callable[[float], AnyClip] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self._source, *self._given, self._limit.most)

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

    @property
    def codec(self) -> Codec:
        return self._codec

    @property
    def params(self) -> dict[str, Any]:
        """The codec's parameters, with those that the file names and this version does not know."""
        return {**self._codec.params(), **self._reader.params}

    @property
    def errors(self) -> Errors:
        """The error that the file declares and that its encoder measured."""
        return self._reader.errors

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes by part of the file."""
        return dict(self._reader.sizes)

    @property
    def frame_count(self) -> int:
        return self._reader.header.frame_count

    @property
    def bitstream_version(self) -> int:
        return self._reader.bitstream_version

    @cached_property
    def extras(self) -> Extras:
        """What the file holds beside its poses."""
        needed = self._reader.extras_memory()
        self._limit.check(needed, self._reader.header, "what stands beside the poses")
        return self._reader.extras

    @property
    def track_heads(self) -> list[TrackHead]:
        """What tracks the file has, without reading them."""
        return self._reader.track_heads()

    @cached_property
    def plain_header(self) -> Any:
        """The header that the codec gets."""
        header = self._reader.header
        try:
            return plain_header(header) if isinstance(header, ClipHeader) else header
        except InvalidClipError as error:
            raise CorruptionError(f"header: {error}") from error

    def layout(self) -> PayloadLayout:
        """Return how the payload is divided."""
        if isinstance(self._codec, SupportsLayout):
            self._check_memory("the index", 0, 0)
            return self._codec.layout(self._reader.read, self.plain_header)
        return PayloadLayout()

    def clip(self) -> AnyClip:
        """Decode the whole clip."""
        self._check_memory("all", 0, self._reader.header.frame_count)
        if self._reader.cut:
            if not isinstance(self._codec, SupportsPartial):
                raise TruncatedError(
                    f"the file is cut and {self._codec.codec_id} cannot play a part of it"
                )
            return self._coarse(
                self._codec.decode_partial(self._reader.payload(), self.plain_header)
            )
        found = self._codec.decode(self._reader.payload(), self.plain_header)
        return self._dressed(found, 0, found.frame_count)

    def frames(self, start: int, stop: int, joints: Sequence[str | int] | None = None) -> AnyClip:
        """Return frames `start` to `stop`, half-open, of `joints` and their ancestors."""
        header = self._reader.header
        if not 0 <= start < stop <= header.frame_count:
            raise UsageError(
                f"frames {start}:{stop} do not lie in a clip of {header.frame_count} frames"
            )
        indices = None if joints is None else self._indices(joints)
        if isinstance(self._codec, SupportsSeek) and isinstance(header, ClipHeader):
            self._check_memory(f"frames {start}:{stop}", start, stop, indices)
            wanted = None if indices is None else self._plain_indices(indices)
            found = self._codec.decode_frames(
                self._reader.read, self.plain_header, start, stop, wanted
            )
            return self._dressed(found, start, stop, indices)
        part = self._cached().frames(start, stop)
        return part.joints(indices) if indices is not None and isinstance(part, Clip) else part

    def sample(self, time: float) -> AnyClip:
        """Return the pose at `time` seconds as a one-frame clip, clamped.

        Between frames it is slerped, unless the codec itself knows the motion there.
        """
        if isinstance(self._codec, SupportsSample):
            if self._sampler is None:
                self._sampler = self._codec.sampler(self._reader.payload(), self.plain_header)
            at = self._frame_at(time)
            found = self._sampler(at * self.header.frame_time)
            if not isinstance(found, Clip):
                return found
            header = pose_header(self.header, at, self.extras.times)
            return _dressed(found, header, pose_extras(self.extras, at))
        at = self._frame_at(time)
        first = int(at)
        pair = self.frames(first, min(first + 2, self.frame_count))
        if isinstance(pair, Clip):
            return pair.pose_at(at - first)
        return pair.sample((at - first) * self.header.frame_time)

    def preview(self) -> AnyClip:
        """Return a coarse clip quickly, where the codec can; else the whole clip."""
        header = self._reader.header
        if isinstance(self._codec, SupportsPreview) and isinstance(header, ClipHeader):
            if isinstance(self._codec, SupportsBudget):
                needed = self._codec.preview_memory(self._reader.read, self.plain_header)
                self._limit.check(needed, header, "a preview")
            return self._coarse(self._codec.decode_preview(self._reader.read, self.plain_header))
        return self._cached()

    def _check_memory(
        self, what: str, start: int, stop: int, joints: Sequence[int] | None = None
    ) -> None:
        """Complain if frames would take too much, before they take any."""
        header, codec = self.plain_header, self._codec
        if isinstance(codec, SupportsBudget) and isinstance(header, ClipHeader):
            wanted = None if joints is None else self._plain_indices(joints)
            needed = codec.memory_needed(self._reader.read, header, start, stop, wanted)
        else:
            needed = int(codec.decode_memory * clip_bytes(header)) if start < stop else 0
        if start < stop:
            needed += self._reader.extras_memory()
        self._limit.check(needed, self._reader.header, what)

    def _cached(self) -> AnyClip:
        """A codec that cannot seek decodes everything, once."""
        if self._whole is None:
            self._whole = self.clip()
        return self._whole

    def _dressed(
        self, found: AnyClip, start: int, stop: int, joints: Sequence[int] | None = None
    ) -> AnyClip:
        """Return what a codec decoded of some frames as the file's clip has them."""
        header, extras = self._reader.header, self.extras
        if not isinstance(found, Clip) or not isinstance(header, ClipHeader):
            return found
        if header is self.plain_header and not extras:
            return found
        part = frames_header(header, start, stop, extras)
        return _dressed(found, part, frames_extras(extras, header, start, stop), joints)

    def _coarse(self, found: AnyClip) -> AnyClip:
        """Return a clip of fewer frames, or of the first, as the file's clip has them."""
        header = self._reader.header
        same = found.frame_time == header.frame_time
        if same or not isinstance(found, Clip) or not isinstance(header, ClipHeader):
            return self._dressed(found, 0, found.frame_count)
        if header is self.plain_header and not self.extras:
            return found
        coarse = replace(header, frame_count=found.frame_count, frame_time=found.frame_time)
        at = np.rint(np.arange(found.frame_count) * found.frame_time / header.frame_time)
        at = np.minimum(at, header.frame_count - 1)
        return _dressed(found, coarse, self.extras.at(at.astype(np.intp)))

    def _plain_indices(self, joints: Sequence[int]) -> list[int]:
        """Return which joints of the codec's skeleton these are."""
        shift = len(self.plain_header.skeleton) - len(self.header.skeleton)
        return [j + shift for j in joints]

    def _frame_at(self, time: float) -> float:
        """Return the frame, with its fraction, at a time in seconds, clamped."""
        header: AnyHeader = self._reader.header
        if isinstance(header, ClipHeader):
            return frame_at(time, header, self.extras.times)
        return min(max(time / header.frame_time, 0.0), header.frame_count - 1.0)

    def _indices(self, joints: Sequence[str | int]) -> list[int]:
        header = self._reader.header
        if not isinstance(header, ClipHeader):
            raise UsageError("a vertex animation has no joints to choose from")
        skeleton = header.skeleton
        indices = [skeleton.index(j) if isinstance(j, str) else int(j) for j in joints]
        if not indices or not all(0 <= j < len(skeleton) for j in indices):
            raise UsageError(f"joints must be among 0..{len(skeleton) - 1}, got {list(joints)}")
        return indices


def _dressed(
    found: Clip, header: ClipHeader, extras: Extras, joints: Sequence[int] | None = None
) -> Clip:
    try:
        return dressed(found, header, extras, joints)
    except InvalidClipError as error:
        raise CorruptionError(str(error)) from error


def _clip_source(source: Source, name: str | None) -> Source:
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


def check_kind(codec: Codec, kind: str) -> None:
    """Complain if the codec does not take this kind of clip."""
    if kind not in codec.kinds:
        able = [i for i in BUILTIN if kind in codec_class(i).kinds]
        raise UnsupportedClipError(
            f"{codec.codec_id} packs {' and '.join(codec.kinds)} clips, this one is of {kind}; "
            f"{kind} are packed by: {', '.join(able)}"
        )


def _reopened(source: Source, partial: bool, codec: Codec | None, limit: int | None) -> Motion:
    return Motion(source, partial=partial, codec=codec, memory_limit=limit)


def _codec_of(reader: Reader) -> Codec:
    cls = codec_class(reader.codec_id)
    check_version(f"{reader.codec_id} bitstream", reader.bitstream_version, cls.bitstream_version)
    if reader.header.kind not in cls.kinds:
        raise CorruptionError(f"{reader.codec_id} holds no {reader.header.kind} clips")
    try:
        return cls.from_file(reader.params, reader.needed)
    except UnsupportedVersionError:
        raise
    except (TypeError, ValueError) as error:
        raise CorruptionError(f"{reader.codec_id} parameters: {error}") from error


def _unit(unit: str | Length) -> float:
    """Read "cm" as one centimetre, "5.644cm" as that length."""
    if isinstance(unit, str) and not unit.strip()[:1].isdigit() and not unit.startswith("."):
        return parse_length("1" + unit.strip())
    return length_argument("unit", unit)
