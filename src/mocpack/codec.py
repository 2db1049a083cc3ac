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
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from mocpack._core import WindowPlan
from mocpack.arguments import check_fields
from mocpack.arrays import F32, F64
from mocpack.clip import AnyClip, Clip, ClipHeader
from mocpack.errors import MocpackError, UnsupportedVersionError, UsageError
from mocpack.units import parse_angle, parse_length

Read = Callable[[int, int], bytes]
"""``read(offset, size)`` returns that many bytes of the payload, or raises `TruncatedError`."""


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

    def __init_subclass__(cls, **options: Any) -> None:
        """Let every codec check the types of its parameters, beside what it checks itself."""
        super().__init_subclass__(**options)
        own = cls.__dict__.get("__post_init__")

        def check(self: Codec) -> None:
            _read_units(self)
            try:
                if own is not None:
                    own(self)
            except MocpackError:
                raise
            except ValueError as error:
                if not any(f.name in str(error) for f in fields(self)):
                    _check_types(self)  # which names the parameter
                raise UsageError(f"{self.codec_id}: {error}") from error
            except (TypeError, AttributeError, OverflowError) as error:
                _check_types(self)
                raise UsageError(f"{self.codec_id}: {error}") from error
            _check_types(self)

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
        return cls(**params)

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


@runtime_checkable
class SupportsSeek(Protocol):
    """A codec that can decode some frames without decoding all the ones before."""

    def decode_frames(
        self, read: Read, header: ClipHeader, start: int, stop: int, joints: Sequence[int] | None
    ) -> Clip:
        """Return frames `start` to `stop`, half-open, of `joints` and their ancestors (None: all).

        The result's skeleton is that of the joints returned.
        """
        ...


@runtime_checkable
class SupportsArrays(Protocol):
    """A codec that gives frames as bare arrays, for many windows a second."""

    def decode_arrays(
        self, read: Read, header: ClipHeader, start: int, stop: int
    ) -> tuple[F64, F64]:
        """Return rotations (T, J, 4) and translations (T, M, 3), as `decode_frames` has them."""
        ...


class WindowWriter(Protocol):
    """What writes windows of one payload."""

    def write(self, plan: WindowPlan, start: int, stop: int, out: F32) -> None:
        """Write frames `start` to `stop` as `plan` says to `out` (rows, width)."""
        ...


@runtime_checkable
class SupportsWindows(Protocol):
    """A codec that writes windows to the caller's array, a native call each."""

    def window_writer(self, read: Read, header: ClipHeader) -> WindowWriter:
        """Return what writes windows of a payload."""
        ...


@runtime_checkable
class SupportsByteRanges(Protocol):
    """A codec that can say which bytes of its payload some frames need, from its start alone."""

    def byte_ranges(
        self, read: Read, header: ClipHeader, start: int, stop: int
    ) -> list[tuple[int, int]]:
        """Return (offset, size) of every run of bytes that `decode_frames` reads, in order.

        What stands before the first of them for all frames is the payload's own index.
        """
        ...


@runtime_checkable
class SupportsJoints(Protocol):
    """A codec that can decode some joints, over all frames, without decoding the others."""

    def decode_joints(self, payload: bytes, header: ClipHeader, joints: Sequence[int]) -> Clip:
        """Return `joints` and their ancestors; the result's skeleton is that of these."""
        ...


@runtime_checkable
class SupportsBudget(Protocol):
    """A codec that can say, by a glance at its payload, what memory parts of it take."""

    def memory_needed(
        self, read: Read, header: ClipHeader, start: int, stop: int, joints: Sequence[int] | None
    ) -> int:
        """Return about how many bytes `decode_frames` takes; without frames, opening alone."""
        ...

    def preview_memory(self, read: Read, header: ClipHeader) -> int:
        """Return about how many bytes `decode_preview` takes."""
        ...


@runtime_checkable
class SupportsPartial(Protocol):
    """A codec that can play what is whole of a payload that was cut."""

    def decode_partial(self, payload: bytes, header: Any) -> AnyClip:
        """Return a shorter or coarser clip; `TruncatedError` if nothing is whole."""
        ...


@runtime_checkable
class SupportsSample(Protocol):
    """A codec that knows the motion at any time, not only at its frames."""

    def sampler(self, payload: bytes, header: Any) -> Callable[[float], AnyClip]:
        """Return a function from seconds to the one-frame clip at that time, clamped."""
        ...


@runtime_checkable
class SupportsPreview(Protocol):
    """A codec that can give a coarse clip for a fraction of the work."""

    def decode_preview(self, read: Read, header: ClipHeader) -> Clip: ...


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


@runtime_checkable
class SupportsLayout(Protocol):
    """A codec whose payload has parts."""

    def layout(self, read: Read, header: Any) -> PayloadLayout: ...


@runtime_checkable
class SupportsAlternatives(Protocol):
    """A codec that may reach a target better with other parameters than its knob's alone."""

    def alternatives(self) -> Sequence[Codec]: ...


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


@runtime_checkable
class SupportsQuality(Protocol):
    """A codec with a quality knob, so that `rate` can reach any target with it."""

    quality: ClassVar[Quality]


@runtime_checkable
class SupportsBound(Protocol):
    """A codec that keeps a bound on the error by itself, by better means than one knob."""

    @property
    def promised(self) -> float | None:
        """Bound on the promised error, in metres, that this setting keeps; None for none."""
        ...

    def with_bound(self, *, max_error: float | None, mean_error: float | None) -> Codec:
        """Return the codec that keeps these bounds, in metres."""
        ...


@runtime_checkable
class SupportsAngleBound(Protocol):
    """A codec that keeps a bound on the error of angles by itself, beside one on the error."""

    @property
    def promised_angle(self) -> float | None:
        """Bound on the error of angles, in radians, that this setting keeps; None for none."""
        ...

    def with_max_angle(self, max_angle: float | None) -> Codec:
        """Return the codec that keeps this bound, in radians."""
        ...


@runtime_checkable
class SupportsEffort(Protocol):
    """A codec that searches as long as it is allowed to."""

    def with_effort(self, effort: str) -> Codec:
        """Return the codec that searches so hard: "fast", "default" or "best"."""
        ...


@dataclass(frozen=True)
class Encoded:
    """A payload, and the clip that the codec's own decoder made of these very bytes."""

    payload: bytes
    decoded: Any


@runtime_checkable
class SupportsVerifiedEncode(Protocol):
    """A codec whose encoder ends by decoding what it made, so that nobody need do it again."""

    def encode_verified(self, clip: Any) -> Encoded:
        """Return what `encode` returns, with what `decode` returns for it."""
        ...


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
        fitting = [t for t in trials if self.merit(t.size, t.error) < math.inf]
        return min(
            fitting, key=lambda t: (self.merit(t.size, t.error), t.size, t.error), default=None
        )

    def merit(self, size: float, error: float) -> float:
        """Return what the goal wants least of, infinite for what breaks its limit."""
        if self.size is not None and size > self.size:
            return math.inf
        if self.error is not None and error > self.error:
            return math.inf
        if self.product or (self.size is None and self.error is None):
            return size * error
        return error if self.size is not None else size


Candidates = Generator[Sequence[Codec], Sequence[Trial], None]
"""Yields a round of settings to try (in parallel); is sent their trials, in the same order."""


@runtime_checkable
class SupportsTuning(Protocol):
    """A codec that knows how to search its own parameters; `tuning.py` runs the search."""

    tuning_axes: ClassVar[tuple[str, str]]
    """Two numbers to draw the trials over: fields of the codec, or "size" and "error"."""

    def candidates(self, clip: Any, goal: Goal, *, effort: str) -> Candidates:
        """Return the search for `goal` that starts from this setting.

        `effort` is "fast", "default" or "best"; the last is exhaustive where that is possible.
        The best trial of all rounds is the result, so a search need not return it.
        """
        ...

    def expected_trials(self, clip: Any, *, effort: str) -> int:
        """Return about how many settings that search tries, for those who wait for it."""
        ...


def _read_units(codec: Codec) -> None:
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


def _check_types(codec: Codec) -> None:
    given = [f for f in fields(codec) if f.init]
    values = {f.name: getattr(codec, f.name) for f in given}
    check_fields(codec.codec_id, values, {f.name: f.type for f in given})
