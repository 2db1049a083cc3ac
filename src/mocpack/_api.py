"""The straight line: clip -> codec -> container -> bytes, and back."""

from __future__ import annotations

import builtins
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from mocpack import rate
from mocpack.clip import AnyClip, Clip, ClipHeader
from mocpack.codec import (
    Codec,
    Layout,
    SupportsLayout,
    SupportsPartial,
    SupportsPreview,
    SupportsSample,
    SupportsSeek,
)
from mocpack.container import MAGIC, Errors, Reader
from mocpack.errors import (
    CorruptionError,
    FormatError,
    TruncatedError,
    UnsupportedClipError,
    UnsupportedVersionError,
    UsageError,
)
from mocpack.io import read_bytes, read_file, write_file
from mocpack.registry import DEFAULT_CODEC, codec_class, parse_codec
from mocpack.units import parse_length, parse_size

EFFORTS = ("fast", "default", "best")


def read(
    path: str | Path, *, unit: str | float | None = None, skeleton: str | Path | None = None
) -> AnyClip:
    """Read a motion file of any known kind, .mocp included.

    Parameters
    ----------
    path : path
    unit : str or float, optional
        Length of one unit of the file ("cm", "5.644cm", metres), for formats that do not say.
    skeleton : path, optional
        The .asf of an .amc, where it is not the one beside it.
    """
    with builtins.open(path, "rb") as file:  # noqa: PTH123 - read by its first byte, then whole
        packed = file.read(1) == MAGIC[:1]
    if packed or Path(path).suffix == ".mocp":
        return read_data(Path(path).read_bytes(), name=str(path))
    return read_file(path, unit=None if unit is None else _unit(unit), skeleton=skeleton)


def read_data(
    data: bytes,
    *,
    name: str = "input",
    unit: str | float | None = None,
    skeleton: str | Path | None = None,
) -> AnyClip:
    """Read a motion file's bytes; `name` is for complaints and, if need be, for its extension."""
    if data[:1] == MAGIC[:1] or Path(name).suffix == ".mocp":
        try:
            return decode(data)
        except FormatError as error:
            raise type(error)(f"{name}: {error}") from error
    metres = None if unit is None else _unit(unit)
    bones = None if skeleton is None else Path(skeleton).read_bytes()
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
    max_error: str | float | None = None,
    mean_error: str | float | None = None,
    ratio: float | None = None,
    size: str | int | None = None,
    effort: str = "default",
) -> bytes:
    """Return the bytes of a .mocp file.

    Parameters
    ----------
    clip : Clip or VertexClip
    codec : Codec or str
        A codec, or its spec such as ``"raw"`` or ``"keysine:effort=best"``.
    max_error : str or float, optional
        Bound on the promised error: text with a unit ("1mm") or metres.
    mean_error : str or float, optional
        Bound on the mean joint error.
    ratio, size : optional
        Of the whole file, against float32 of the moving channels; in bytes or as "20kB".
    effort : {"fast", "default", "best"}
        How long the encoder may search, where it can.

    Raises
    ------
    BoundError
        If the target cannot be met; nothing that misses it is ever returned.
    """
    codec = parse_codec(codec) if isinstance(codec, str) else codec
    if effort not in EFFORTS:
        raise UsageError(f"effort must be one of {', '.join(EFFORTS)}, got {effort!r}")
    check_kind(codec, clip.header.kind)
    target = rate.Target(
        None if max_error is None else parse_length(max_error),
        None if mean_error is None else parse_length(mean_error),
        ratio,
        None if size is None else parse_size(size),
    )
    return rate.encode_to_target(clip, codec, target, effort=effort)


def decode(data: bytes, *, partial: bool = False) -> AnyClip:
    """Return the clip of a .mocp file's bytes.

    A file that was cut is a `TruncatedError`, unless `partial` asks for what is whole of it.
    """
    with Motion(io.BytesIO(data), len(data), partial=partial) as motion:
        return motion.clip()


def open(path: str | Path) -> Motion:
    """Open a .mocp file to read parts of it; use as a context manager."""
    file = builtins.open(path, "rb")  # noqa: SIM115, PTH123 - Motion closes it
    try:
        return Motion(file, Path(path).stat().st_size)
    except FormatError as error:
        file.close()
        raise type(error)(f"{path}: {error}") from error


class Motion:
    """An open .mocp file: reads and decodes what is asked for."""

    def __init__(
        self, file: BinaryIO, size: int, *, partial: bool = False, codec: Codec | None = None
    ) -> None:
        self._file = file
        self._reader = Reader(file, size, partial=partial)
        # a codec that the registry does not know can still be read by those who have it
        self._codec = _codec_of(self._reader) if codec is None else codec
        self._whole: AnyClip | None = None
        self._sampler: Callable[[float], AnyClip] | None = None

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
        self._file.close()

    @property
    def header(self) -> Any:
        """The `ClipHeader` or `VertexHeader`."""
        return self._reader.header

    @property
    def codec(self) -> Codec:
        return self._codec

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

    @property
    def cut(self) -> bool:
        """Whether the file ends before its payload does."""
        return self._reader.cut

    @property
    def missing(self) -> int:
        """Bytes of the payload that a cut file lacks."""
        return self._reader.missing

    def layout(self) -> Layout:
        """Return how the payload is divided."""
        if isinstance(self._codec, SupportsLayout):
            return self._codec.layout(self._reader.read, self._reader.header)
        return Layout()

    def clip(self) -> AnyClip:
        """Decode the whole clip."""
        if self._reader.cut:
            if not isinstance(self._codec, SupportsPartial):
                raise TruncatedError(
                    f"the file is cut and {self._codec.codec_id} cannot play a part of it"
                )
            return self._codec.decode_partial(self._reader.payload(), self._reader.header)
        return self._codec.decode(self._reader.payload(), self._reader.header)

    def frames(self, start: int, stop: int, joints: Sequence[str | int] | None = None) -> AnyClip:
        """Return frames `start` to `stop`, half-open, of `joints` and their ancestors."""
        header = self._reader.header
        if not 0 <= start < stop <= header.frame_count:
            raise UsageError(
                f"frames {start}:{stop} do not lie in a clip of {header.frame_count} frames"
            )
        indices = None if joints is None else self._indices(joints)
        if isinstance(self._codec, SupportsSeek) and isinstance(header, ClipHeader):
            return self._codec.decode_frames(self._reader.read, header, start, stop, indices)
        part = self._cached().frames(start, stop)
        return part.joints(indices) if indices is not None and isinstance(part, Clip) else part

    def sample(self, time: float) -> AnyClip:
        """Return the pose at `time` seconds as a one-frame clip, clamped.

        Between frames it is slerped, unless the codec itself knows the motion there.
        """
        if isinstance(self._codec, SupportsSample):
            if self._sampler is None:
                self._sampler = self._codec.sampler(self._reader.payload(), self._reader.header)
            return self._sampler(time)
        header = self._reader.header
        at = min(max(time / header.frame_time, 0.0), header.frame_count - 1.0)
        first = int(at)
        pair = self.frames(first, min(first + 2, header.frame_count))
        return pair.sample((at - first) * header.frame_time)

    def preview(self) -> AnyClip:
        """Return a coarse clip quickly, where the codec can; else the whole clip."""
        header = self._reader.header
        if isinstance(self._codec, SupportsPreview) and isinstance(header, ClipHeader):
            return self._codec.decode_preview(self._reader.read, header)
        return self._cached()

    def _cached(self) -> AnyClip:
        """A codec that cannot seek decodes everything, once."""
        if self._whole is None:
            self._whole = self.clip()
        return self._whole

    def _indices(self, joints: Sequence[str | int]) -> list[int]:
        header = self._reader.header
        if not isinstance(header, ClipHeader):
            raise UsageError("a vertex animation has no joints to choose from")
        skeleton = header.skeleton
        indices = [skeleton.index(j) if isinstance(j, str) else int(j) for j in joints]
        if not indices or not all(0 <= j < len(skeleton) for j in indices):
            raise UsageError(f"joints must be among 0..{len(skeleton) - 1}, got {list(joints)}")
        return indices


def check_kind(codec: Codec, kind: str) -> None:
    """Complain if the codec does not take this kind of clip."""
    if kind not in codec.kinds:
        raise UnsupportedClipError(
            f"{codec.codec_id} packs {' and '.join(codec.kinds)} clips, this one is of {kind}"
        )


def _codec_of(reader: Reader) -> Codec:
    cls = codec_class(reader.codec_id)
    if reader.bitstream_version < cls.oldest_bitstream:
        raise UnsupportedVersionError(
            f"{reader.codec_id} bitstream {reader.bitstream_version} was never released; "
            f"this mocpack reads {cls.oldest_bitstream} to {cls.bitstream_version}"
        )
    if reader.bitstream_version > cls.bitstream_version:
        raise UnsupportedVersionError(
            f"{reader.codec_id} bitstream {reader.bitstream_version} is newer than "
            f"{cls.bitstream_version}; a newer mocpack reads it"
        )
    if reader.header.kind not in cls.kinds:
        raise CorruptionError(f"{reader.codec_id} holds no {reader.header.kind} clips")
    try:
        return cls.from_params(reader.params)
    except (TypeError, ValueError) as error:
        raise CorruptionError(f"{reader.codec_id} parameters: {error}") from error


def _unit(unit: str | float) -> float:
    """Read "cm" as one centimetre, "5.644cm" as that length, a number as metres."""
    if isinstance(unit, str) and not unit.strip()[:1].isdigit() and not unit.startswith("."):
        return parse_length("1" + unit.strip())
    return parse_length(unit)
