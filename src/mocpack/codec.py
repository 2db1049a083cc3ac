"""The interface every codec implements, and nothing else.

A codec is a frozen dataclass whose fields are its parameters. It turns a clip into bytes and back.
It neither opens files nor stores the skeleton: the container does both, and hands `decode` the
header it kept.

Two releases of a codec may share `codec_id` if the newer one decodes everything the older one
wrote; `bitstream_version` grows by one each time the newer one writes something the older one
cannot read. Files name only the parameters that differ from their defaults, so the default of a
parameter that `decode` looks at may not change without a new `bitstream_version`.
"""

from __future__ import annotations

import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from mocpack import _core
from mocpack._core import WindowPlan
from mocpack.arguments import check_fields
from mocpack.arrays import F32, F64
from mocpack.clip import AnyClip, Clip
from mocpack.errors import (
    BoundError,
    CorruptionError,
    FormatError,
    MocpackError,
    TruncatedError,
    UnsupportedVersionError,
    UsageError,
)
from mocpack.header import array_bytes
from mocpack.kinematics import MotionError
from mocpack.source import BytesSource, Source
from mocpack.units import parse_angle, parse_length

Read = Callable[[int, int], bytes]
"""``read(offset, size)`` returns that many bytes of the payload, or raises `TruncatedError`."""


@dataclass(frozen=True)
class Payload:
    """The bytes of a payload, read in pieces or all at once.

    Attributes
    ----------
    source : Source
        What it is a part of.
    offset, size : int
        Where in the source it stands; fewer bytes than were written where a file was cut.
    missing_bytes : int
        Bytes that a cut file lacks.
    checksum : int, optional
        CRC-32 of the DATA chunk, where it stands in a file.
    memory_limit : int, optional
        Bytes that opening it may take.
    """

    source: Source
    offset: int
    size: int
    missing_bytes: int = 0
    checksum: int | None = None
    memory_limit: int | None = None

    @classmethod
    def from_bytes(cls, data: bytes) -> Payload:
        """Return the payload of bytes in memory."""
        return cls(BytesSource(data), 0, len(data))

    @property
    def is_truncated(self) -> bool:
        """Whether bytes are missing at the end."""
        return self.missing_bytes > 0

    def read(self, offset: int, size: int) -> bytes:
        """Return `size` bytes from `offset`, unchecked, or raise `TruncatedError`."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise TruncatedError(
                f"payload of {self.size} bytes has no bytes {offset} to {offset + size}"
            )
        return self.source.read(self.offset + offset, size)

    def read_all(self) -> bytes:
        """Return all bytes, checked where the file has a checksum and was not cut."""
        data = self.source.read(self.offset, self.size)
        if self.checksum is not None and not self.missing_bytes:
            found = zlib.crc32(data, zlib.crc32(b"DATA"))
            if found != self.checksum:
                raise CorruptionError("chunk DATA fails its checksum")
        return data


@dataclass(frozen=True)
class Codec(ABC):
    """Codec abstract base class."""

    codec_id: ClassVar[str]
    bitstream_version: ClassVar[int]
    oldest_bitstream: ClassVar[int] = 1  # earlier ones were never released
    kinds: ClassVar[tuple[str, ...]] = ("skeleton",)
    """Which clips it takes: "skeleton" (`Clip`), "vertices" (`VertexClip`)."""
    lengths: ClassVar[tuple[str, ...]] = ()
    """Parameters that a spec gives with a unit, as in ``max_error=1mm``."""
    angles: ClassVar[tuple[str, ...]] = ()
    """Parameters that a spec gives with a unit of angles, as in ``max_angle=0.3deg``."""
    decoder_params: ClassVar[tuple[str, ...] | None] = None
    """Parameters that `decode` looks at, None for all: files mark them, so that a reader which
    does not know one refuses the file, and overlooks every other that it does not know."""
    decode_memory: ClassVar[float] = 10.0
    """Times the bytes of the decoded arrays, themselves included, that `decode` takes at most."""
    encoder_params: ClassVar[frozenset[str]] = frozenset()
    """Parameters that say how to encode, not what was made: files do not name them."""
    quality: ClassVar[Quality | None] = None
    """The parameter that trades size for error, by which `rate` reaches any target."""
    keeps_bounds: ClassVar[bool] = False
    """Whether the encoder keeps bounds on the error by itself, with parameters of `with_bounds`."""
    tuning_axes: ClassVar[tuple[str, str]] = ("size", "error")
    """What to draw the trials of a tuning over: two fields of the codec, or "size" and "error"."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Let every codec check the types of its parameters, beside what it checks itself."""
        super().__init_subclass__(**options)
        own = cls.__dict__.get("__post_init__")

        def check(self: Codec) -> None:
            _parse_units(self)
            try:
                if own is not None:
                    own(self)
            except MocpackError:
                raise
            except ValueError as error:
                if not any(f.name in str(error) for f in fields(self)):
                    check_fields(self.codec_id, self)  # which names the parameter
                raise UsageError(f"{self.codec_id}: {error}") from error
            except (TypeError, AttributeError, OverflowError) as error:
                check_fields(self.codec_id, self)
                raise UsageError(f"{self.codec_id}: {error}") from error
            check_fields(self.codec_id, self)

        if own is not None or "__post_init__" not in dir(cls):
            cls.__post_init__ = check  # type: ignore[attr-defined]

    @abstractmethod
    def encode(self, clip: Any) -> bytes:
        """Return the payload that `decode` turns back into `clip`, up to the codec's loss."""

    @abstractmethod
    def decode(self, payload: bytes, header: Any) -> AnyClip:
        """Return the clip that `payload` holds.

        Never trusts `payload`: bytes that end early raise `TruncatedError`, malformed ones
        `FormatError`, nothing else; and it takes no memory that the payload cannot account for.
        """

    def open(self, payload: Payload | bytes, header: Any) -> Decoder:
        """Return the decoder of one payload, which may seek."""
        return Decoder(self, as_payload(payload), header)

    def encode_verified(self, clip: Any) -> Encoded:
        """Return what `encode` returns, with what `decode` makes of these very bytes.

        A payload that the decoder refuses is a `BoundError`.
        """
        with verify_own_payload(self):
            payload = self.encode(clip)
            return Encoded(payload, self.decode(payload, clip.header))

    @property
    def error_bound(self) -> float | None:
        """Bound on the promised error, in metres, that these parameters keep; None for none."""
        return None

    @property
    def angle_bound(self) -> float | None:
        """Bound on the error of angles, in radians, that these parameters keep; None for none."""
        return None

    def with_bounds(
        self,
        *,
        max_error: float | None = None,
        mean_error: float | None = None,
        max_angle: float | None = None,
    ) -> Codec:
        """Return the codec that keeps these bounds by itself, in metres and radians."""
        raise UsageError(f"{self.codec_id} keeps no bounds by itself")

    def with_effort(self, effort: str) -> Codec:
        """Return the codec that searches so hard, where it has a parameter `effort`."""
        changed: dict[str, Any] = {"effort": effort}
        return replace(self, **changed) if "effort" in self.__dataclass_fields__ else self

    def alternatives(self) -> Sequence[Codec]:
        """Return the settings to start a search of `quality` from; the smallest file is taken."""
        return (self,)

    def tuning_rounds(self, clip: Any, goal: Goal, *, effort: str) -> Rounds | None:
        """Return the codec's search for `goal`, from this setting; None if it has none.

        `effort` is "fast", "default" or "best"; the last is exhaustive where that is possible.
        The best trial of all rounds is the result, so a search need not return it.
        """
        return None

    def expected_trials(self, clip: Any, *, effort: str) -> int | None:
        """Return about how many settings that search tries, None if it cannot tell."""
        return None

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON-compatible values; `from_params` inverts it."""
        return asdict(self)

    @classmethod
    def from_params(cls, params: dict[str, Any]) -> Self:
        """Build the codec from `params`; what is left out takes its default."""
        known = [f.name for f in fields(cls) if f.init]
        for name in params:
            if name not in known:
                raise UsageError(
                    f"{cls.codec_id} has no parameter {name!r}; "
                    f"it has: {', '.join(known) or 'none'}"
                )
        try:
            return cls(**params)
        except TypeError as error:  # a parameter without a default is missing
            raise UsageError(f"{cls.codec_id}: {error}") from error

    @classmethod
    def from_file(cls, params: dict[str, Any], needed: frozenset[str]) -> Self:
        """Build the codec that decodes a file which names `params`, and marks some as needed.

        Others that are not known here, or whose values are not, are overlooked.

        Raises
        ------
        UnsupportedVersionError
            If a needed one is not known.
        """
        known = {f.name for f in fields(cls) if f.init}
        for name in sorted(needed - known):
            raise UnsupportedVersionError(
                f"{cls.codec_id} needs its parameter {name!r}, which a newer mocpack knows"
            )
        given = {name: value for name, value in params.items() if name in known}
        try:
            return cls(**given)
        except (TypeError, ValueError):
            used = needed | (known if cls.decoder_params is None else set(cls.decoder_params))
            return cls(**{name: value for name, value in given.items() if name in used})

    @classmethod
    def needed_params(cls) -> frozenset[str]:
        """Return the names of the parameters that `decode` looks at."""
        names = cls.decoder_params
        return frozenset((f.name for f in fields(cls)) if names is None else names)


@dataclass(frozen=True)
class PayloadLayout:
    """How a payload is divided, for those who want to know where the bytes are.

    Attributes
    ----------
    groups : int
        Parts that decode by themselves.
    layers : int
        Refinements of each.
    index_bytes : int
        Bytes spent on finding and checking them.
    model_bytes : int
        Bytes of statistics or bases that the payload carries along.
    layer_errors : tuple of float
        Largest error in metres, where it is stated, of the layers but the last.
    layer_ends : tuple of int
        Bytes of the payload up to the end of each of these, where they are stated.
    """

    groups: int = 1
    layers: int = 1
    index_bytes: int = 0
    model_bytes: int = 0
    layer_errors: tuple[float, ...] = ()
    layer_ends: tuple[int, ...] = ()


class WindowWriter(Protocol):
    """Writes windows of one payload to the caller's arrays."""

    def write(self, plan: WindowPlan, start: int, stop: int, out: F32) -> None:
        """Write frames `start` to `stop` as `plan` says to `out` (rows, width)."""
        ...


class Decoder:
    """One open payload. Threads and forked processes may share it.

    The base class decodes everything once and cuts out what is asked for. A codec that can do
    better overrides what it does better, and returns its decoder from `Codec.open`.
    """

    decodes_truncated: ClassVar[bool] = False
    """Whether `partial` plays a payload that was cut."""
    is_indexed: ClassVar[bool] = False
    """Whether `byte_ranges` finds the bytes of some frames from the payload's start alone."""

    def __init__(self, codec: Codec, payload: Payload, header: Any) -> None:
        self.codec, self.payload, self.header = codec, payload, header
        self._kept: tuple[tuple[int, ...] | None, Any] | None = None

    def clip(self) -> Any:
        """Return the whole clip."""
        return self.codec.decode(self.payload.read_all(), self.header)

    def frames(self, start: int, stop: int, joints: Sequence[int] | None = None) -> Any:
        """Return frames `start` to `stop`, half-open, of `joints` and their ancestors (None: all).

        The result's skeleton is that of the joints returned.
        """
        return self._decoded(joints).frames(start, stop)

    def joints(self, joints: Sequence[int]) -> Clip:
        """Return all frames of `joints` and their ancestors."""
        found: Clip = self.clip().joints(joints)
        return found

    def arrays(self, start: int, stop: int) -> tuple[F64, F64]:
        """Return rotations (T, J, 4) and translations (T, M, 3) of frames `start` to `stop`."""
        part = self.frames(start, stop)
        return np.asarray(part.rotations), np.asarray(part.translations)

    def window_writer(self) -> WindowWriter:
        """Return what writes windows of this payload."""
        return ArrayWindows(self.arrays)

    def sample(self, at: float) -> Any:
        """Return the pose at frame `at`, which may lie between two, as a one-frame clip."""
        first = int(at)
        pair = self.frames(first, min(first + 2, self.header.frame_count))
        return pair.pose_at(at - first)

    def preview(self) -> Any:
        """Return a coarse clip quickly; the base class returns the whole clip."""
        return self._decoded(None)

    def partial(self) -> Any:
        """Return what is whole of a payload that was cut, shorter or coarser.

        Raises
        ------
        TruncatedError
            If nothing is whole, or the codec needs all of its payload.
        """
        raise TruncatedError(f"the file is cut, and {self.codec.codec_id} needs all of it")

    def layout(self) -> PayloadLayout:
        """Return how the payload is divided."""
        return PayloadLayout()

    def byte_ranges(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Return (offset, size) of every run of bytes that `frames` reads, in order.

        An index before the first range, which `open` reads, is not among them.
        """
        return [(0, self.payload.size)]

    def memory_needed(self, start: int, stop: int, joints: Sequence[int] | None = None) -> int:
        """Return about how many bytes `frames` takes; without frames, opening alone."""
        return int(self.codec.decode_memory * array_bytes(self.header)) if start < stop else 0

    def preview_memory(self) -> int:
        """Return about how many bytes `preview` takes."""
        return self.memory_needed(0, self.header.frame_count)

    def _decoded(self, joints: Sequence[int] | None) -> Any:
        """Return all frames, decoded once for as long as the same joints are asked for."""
        wanted = None if joints is None else tuple(joints)
        kept = self._kept  # another thread may put other joints here meanwhile
        if kept is not None and kept[0] == wanted:
            return kept[1]
        if kept is not None and kept[0] is None:
            return kept[1].joints(joints)
        if self.payload.is_truncated:
            part = self.partial()
            found = part if joints is None else part.joints(joints)
        else:
            found = self.clip() if joints is None else self.joints(joints)
        self._kept = wanted, found
        return found


@dataclass(frozen=True)
class ArrayWindows:
    """Writes windows by way of decoded arrays, for any codec.

    `arrays` is `Decoder.arrays`, or a function like it.
    """

    arrays: Callable[[int, int], tuple[F64, F64]]

    def write(self, plan: WindowPlan, start: int, stop: int, out: F32) -> None:
        rotations, translations = self.arrays(start, stop)
        _core.write_window_from_arrays(plan, rotations, translations, 0.0, out)


def as_payload(payload: Payload | bytes) -> Payload:
    """Return a payload, of bytes or as it is."""
    return payload if isinstance(payload, Payload) else Payload.from_bytes(payload)


@dataclass(frozen=True)
class Quality:
    """The one parameter that trades size for error.

    Attributes
    ----------
    field : str
        Name of the codec's field.
    low, high : float
        Its range. Error grows from `low` to `high` (`grows` = 1) or falls (`grows` = -1).
    integer : bool
        Whether it takes whole numbers only.
    """

    field: str
    low: float
    high: float
    grows: int = 1
    integer: bool = False


@dataclass(frozen=True)
class Encoded:
    """A payload, and the clip that the codec's own decoder made of these very bytes.

    Attributes
    ----------
    payload : bytes
    decoded : Clip or VertexClip
    error : MotionError, optional
        Of `decoded` against the clip that was encoded, where the encoder measured it.
    """

    payload: bytes
    decoded: Any
    error: MotionError | None = None


@contextmanager
def verify_own_payload(codec: Codec) -> Iterator[None]:
    """Raise `BoundError` if the decoder refuses what the encoder has just written.

    The reader's limits so hold for the writer: an encoder never raises a `FormatError`.
    """
    try:
        yield
    except FormatError as error:
        raise BoundError(
            f"{codec.codec_id} cannot encode this clip with these parameters: "
            f"its decoder refuses the payload ({error})"
        ) from error


@dataclass(frozen=True)
class Trial:
    """A setting that was tried, and what it gave.

    Attributes
    ----------
    codec : Codec
    size, payload : int
        Bytes of the whole file, and of the codec's payload in it.
    error : float
        By the goal's metric, in the metric's unit.
    """

    codec: Codec
    size: int
    payload: int
    error: float


@dataclass(frozen=True)
class Goal:
    """What a search wants: the least error within a size, or the least size within an error.

    With neither limit it wants the least product of the two.

    Attributes
    ----------
    metric : str
        Name of the error in `mocpack.metrics`.
    size : int, optional
        Largest file, in bytes.
    error : float, optional
        Largest error, in the metric's unit.
    product : bool
        Whether the least product of size and error is wanted, within the limit if there is one.
    """

    metric: str
    size: int | None = None
    error: float | None = None
    product: bool = False

    def __post_init__(self) -> None:
        if self.size is not None and self.error is not None:
            raise UsageError("give a search one goal, a size or an error, not both")

    def best(self, trials: Sequence[Trial]) -> Trial | None:
        """Return the trial that serves the goal best, or None where none keeps its limit."""
        fitting = [t for t in trials if self.objective(t.size, t.error) < math.inf]
        return min(
            fitting, key=lambda t: (self.objective(t.size, t.error), t.size, t.error), default=None
        )

    def objective(self, size: float, error: float) -> float:
        """Return what the goal wants least of, infinite for what breaks its limit."""
        if self.size is not None and size > self.size:
            return math.inf
        if self.error is not None and error > self.error:
            return math.inf
        if self.product or (self.size is None and self.error is None):
            return size * error
        return error if self.size is not None else size


Rounds = Generator[Sequence[Codec], Sequence[Trial], None]
"""Yields a round of settings to try (in parallel); is sent their trials, in the same order."""


def _parse_units(codec: Codec) -> None:
    """Replace lengths and angles that are texts with a unit by metres and radians."""
    for names, parse in ((codec.lengths, parse_length), (codec.angles, parse_angle)):
        for name in names:
            value = getattr(codec, name)
            if not isinstance(value, str):
                continue
            try:
                object.__setattr__(codec, name, parse(value))
            except UsageError as error:
                raise UsageError(f"{codec.codec_id}: {name}: {error}") from error
