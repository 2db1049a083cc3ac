"""The interface that every codec implements.

A codec is a frozen dataclass whose fields are its parameters. It converts a clip to bytes and back.
The container stores the skeleton and passes the header to `decode`.

`bitstream_version` increases by one whenever a new release writes payloads that the previous one
cannot read; a new release reads all older payloads. Files store only parameters that differ from
their defaults, so changing the default of a parameter that `decode` uses needs a new
`bitstream_version`.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self

import numpy as np

from mocpack import _core
from mocpack._core import WindowPlan
from mocpack.common.arguments import check_fields, check_number, did_you_mean
from mocpack.common.arrays import F32, F64
from mocpack.common.json_object import Json, JsonObject
from mocpack.common.payload import Payload as Payload
from mocpack.common.units import parse_angle, parse_length
from mocpack.errors import (
    BoundError,
    FormatError,
    MocpackError,
    TruncatedError,
    UnsupportedVersionError,
    UsageError,
    name_errors,
)
from mocpack.model.clip import AnyHeader, require_skeleton
from mocpack.model.header import BaseClip

if TYPE_CHECKING:  # type checkers know defaults of TypeVar, Python from 3.13
    from typing_extensions import TypeVar

    C = TypeVar("C", bound=BaseClip, default=Any)
    H = TypeVar("H", bound=AnyHeader, default=Any)
else:
    from typing import TypeVar

    C = TypeVar("C")
    H = TypeVar("H")

EFFORTS = ("fast", "default", "best")
Measure = Callable[[C], tuple[F64, F64]]
"""Returns the errors of a decoded clip in its file, where scales apply, in meters: the largest of
each frame (T,) and the mean of each frame (T,), over all joints of the codec."""
Read = Callable[[int, int], bytes]
"""``read(offset, size)`` returns `size` bytes of the payload, or raises `TruncatedError`."""


@dataclass(frozen=True)
class Codec(ABC, Generic[C, H]):
    """Abstract base class of codecs, for the clips `C` with headers `H`.

    ``Codec[Clip, ClipHeader]`` encodes motions of skeletons. Without types, a codec may be of any
    kind, and `kinds` says which.
    """

    codec_id: ClassVar[str]
    bitstream_version: ClassVar[int]
    is_frozen: ClassVar[bool] = False
    """Whether every later release reads its files (docs/promise.md); experimental otherwise."""
    kinds: ClassVar[tuple[str, ...]] = ("skeleton",)
    """Kinds of clips that it encodes: "skeleton" (`Clip`), "vertices" (`VertexClip`)."""
    lengths: ClassVar[tuple[str, ...]] = ()
    """Parameters that are lengths; a spec needs a unit, as in ``max_error=1mm``."""
    angles: ClassVar[tuple[str, ...]] = ()
    """Parameters that are angles; a spec needs a unit, as in ``max_angle=0.3deg``."""
    decoder_params: ClassVar[tuple[str, ...] | None] = None
    """Parameters that `decode` uses, None for all. Files mark them as required: a reader rejects a
    file with an unknown required parameter and ignores other unknown parameters."""
    decode_memory: ClassVar[float] = 10.0
    """Peak memory of `decode`, as a multiple of the size of the decoded arrays."""
    encoder_params: ClassVar[frozenset[str]] = frozenset()
    """Parameters that only guide the encoder; files do not store them."""
    quality: ClassVar[Quality | None] = None
    """The parameter that trades size for error; `rate` searches it to meet a target."""
    keeps_bounds: ClassVar[bool] = False
    """Whether the encoder meets error bounds without a search; see `with_bounds`."""
    keeps_joint_bounds: ClassVar[bool] = False
    """Whether `with_bounds` also takes the bounds of each joint."""
    paper_settings: ClassVar[Mapping[str, bool | float | str] | None] = None
    """The codec as its paper has it: the parameters that differ from the defaults; None without a
    paper. ``settings=paper`` stands for them."""

    def __init_subclass__(cls) -> None:
        """Parse lengths and angles and check types around the codec's own `__post_init__`."""
        super().__init_subclass__()
        own = cls.__dict__.get("__post_init__")

        def check(self: Codec) -> None:
            try:
                for name in (*self.lengths, *self.angles):
                    parse = parse_length if name in self.lengths else parse_angle
                    if (value := getattr(self, name)) is not None:
                        with name_errors(f"{self.codec_id}: {name}", UsageError):
                            object.__setattr__(self, name, parse(value))
                if own is not None:
                    own(self)
            except MocpackError:
                raise
            except ValueError as error:
                if not any(f.name in str(error) for f in fields(self)):
                    check_fields(self.codec_id, self)  # its error names the parameter
                raise UsageError(f"{self.codec_id}: {error}") from error
            except (TypeError, AttributeError, OverflowError) as error:
                check_fields(self.codec_id, self)
                raise UsageError(f"{self.codec_id}: {error}") from error
            check_fields(self.codec_id, self)
            if not isinstance(self.quality, Quality | None):
                raise UsageError(
                    f"codec {self.codec_id}: quality must be a Quality, got {self.quality!r:.80}"
                )
            if self.quality is not None:
                self.quality.check_codec(self)

        if own is not None or "__post_init__" not in dir(cls):
            cls.__post_init__ = check  # type: ignore[attr-defined]

    def check_range(self, name: str, low: float, high: float = sys.float_info.max) -> None:
        """Raise `ValueError` if a parameter is outside `low` to `high`; None passes."""
        value = getattr(self, name)
        if value is not None and not low <= value <= high:
            least, most = (
                f"{x:.10g}".replace("e+0", "e").replace("e-0", "e-") for x in (low, high)
            )
            limits = f"in {least}..{most}" if high < sys.float_info.max else f"at least {least}"
            raise ValueError(f"{name} must be {limits}, got {value!r}")

    def check_choice(self, name: str, choices: Sequence[str]) -> None:
        """Raise `ValueError` if a parameter is not one of `choices`."""
        if getattr(self, name) not in choices:
            raise ValueError(
                f"{name} must be one of {', '.join(choices)}, got {getattr(self, name)!r}"
            )

    @abstractmethod
    def encode(self, clip: C) -> bytes:
        """Compress a clip to a payload."""

    @abstractmethod
    def decode(self, payload: bytes, header: H) -> C:
        """Decode a payload.

        Payloads are untrusted: truncated bytes raise `TruncatedError`, malformed bytes another
        `FormatError`, and nothing else. Memory must be proportional to what the payload can hold.
        """

    def open(self, payload: Payload | bytes, header: H) -> Decoder[C, H]:
        """Return a decoder of one payload, for random access."""
        return Decoder(self, payload, header)

    def encode_verified(self, clip: C, measure: Measure[C] | None = None) -> Encoded[C]:
        """Encode a clip and decode the result.

        A payload that the decoder rejects is a `BoundError`. `measure` is for codecs whose payloads
        state errors, of layers for example: without it, the errors of `clip`.
        """
        with verify_own_payload(self):
            payload = self.encode(clip)
            return Encoded(payload, self.decode(payload, clip.header))

    @property
    def error_bound(self) -> float | None:
        """Maximum error in meters that these parameters guarantee; None without a guarantee."""
        return None

    @property
    def angle_bound(self) -> float | None:
        """Maximum angle error in radians that these parameters guarantee; None without one."""
        return None

    def with_bounds(
        self,
        *,
        max_error: float | None = None,
        mean_error: float | None = None,
        max_angle: float | None = None,
        joint_errors: tuple[float, ...] | None = None,
        joint_angles: tuple[float, ...] | None = None,
    ) -> Self:
        """Return the codec with these error bounds, in meters and radians.

        `joint_errors` and `joint_angles` (0: none) hold the bounds of each joint, for codecs with
        `keeps_joint_bounds`.
        """
        raise UsageError(f"{self.codec_id} does not support error bounds")

    def with_effort(self, effort: str) -> Self:
        """Return the codec with another `effort`, or unchanged if it has no such parameter."""
        check_effort(effort)
        changed = {"effort": effort} if "effort" in self.__dataclass_fields__ else {}
        return replace(self, **changed)

    def alternatives(self) -> Sequence[Codec[C, H]]:
        """Return the settings from which to search `quality`; the smallest file wins."""
        return (self,)

    def tuning_rounds(self, clip: C, goal: Goal, *, effort: str) -> Rounds | None:
        """Return the codec's parameter search for `goal`; None if the codec has none.

        `effort` is "fast", "default" or "best"; "best" is exhaustive where possible. The result
        of the search is the best trial of all rounds.
        """
        return None

    def expected_trials(self, clip: C, *, effort: str) -> int | None:
        """Return about how many settings the search tries; None if unknown."""
        return None

    def params(self) -> JsonObject:
        """Return the parameters as JSON-compatible values; `from_params` inverts it."""
        return asdict(self)

    @classmethod
    def from_params(cls, params: Mapping[str, Json]) -> Self:
        """Build the codec from parameters; missing ones take their defaults.

        ``settings="paper"`` stands for `paper_settings`; parameters beside it take precedence.
        """
        known = [f.name for f in fields(cls) if f.init]
        if "settings" in params and "settings" not in known:
            named = params["settings"]
            if cls.paper_settings is None:
                raise UsageError(f"{cls.codec_id} has no named settings, got settings={named}")
            if named != "paper":
                raise UsageError(f"{cls.codec_id}: settings must be paper, got {named!r}")
            given = {name: value for name, value in params.items() if name != "settings"}
            params = {**cls.paper_settings, **given}
        for name in params:
            if name not in known:
                raise UsageError(
                    f"{cls.codec_id} has no parameter {name!r}; "
                    f"it has: {', '.join(known) or 'none'}{did_you_mean(name, known)}"
                )
        try:
            return cls(**params)
        except TypeError as error:  # a parameter without a default is missing
            raise UsageError(f"{cls.codec_id}: {error}") from error

    @classmethod
    def from_file(cls, params: Mapping[str, Json], needed: frozenset[str]) -> Self:
        """Build the codec from the parameters of a file; `needed` are those marked as required.

        Unknown parameters and unknown values are ignored unless they are required.

        Raises
        ------
        UnsupportedVersionError
            If a required parameter is unknown.
        """
        known = {f.name for f in fields(cls) if f.init}
        for name in sorted(needed - known):
            raise UnsupportedVersionError(
                f"{cls.codec_id}: the file requires parameter {name!r}, which needs a newer mocpack"
            )
        given = {name: value for name, value in params.items() if name in known}
        try:
            return cls(**given)
        except (TypeError, ValueError):
            used = needed | (known if cls.decoder_params is None else set(cls.decoder_params))
            return cls(**{name: value for name, value in given.items() if name in used})

    @classmethod
    def needed_params(cls) -> frozenset[str]:
        """Return the names of the parameters that `decode` uses."""
        names = cls.decoder_params
        return frozenset((f.name for f in fields(cls)) if names is None else names)


@dataclass(frozen=True)
class Layer:
    """A quality layer; a file truncated after it plays up to it.

    Attributes
    ----------
    end : int
        End of the layer in bytes, from the start of the payload or file.
    max_error, mean_error : float or None
        Upper bounds in meters on the maximum and mean error of every payload truncated at `end` or
        later; None if not stated.
    """

    end: int
    max_error: float | None
    mean_error: float | None = None


@dataclass(frozen=True)
class PayloadLayout:
    """The structure of a payload, for `mocpack info`.

    Attributes
    ----------
    groups : int
        Parts that decode independently.
    layer_count : int
        Quality layers that refine one another.
    index_bytes : int
        Bytes of index and checksums.
    model_bytes : int
        Bytes of statistics or bases in the payload.
    layers : tuple of Layer
        The layers, if there are several and the payload states where they end.
    """

    groups: int = 1
    layer_count: int = 1
    index_bytes: int = 0
    model_bytes: int = 0
    layers: tuple[Layer, ...] = ()


class WindowWriter(Protocol):
    """Decodes windows of one payload into the caller's arrays."""

    def write(self, plan: WindowPlan, start: int, stop: int, out: F32) -> None:
        """Write features of frames `start` to `stop`, as `plan` selects, to `out` (rows, width)."""
        ...


class Decoder(Generic[C, H]):
    """One open payload. Threads and forked processes may share it.

    The base class decodes the whole payload once and returns parts of it. A codec with random
    access overrides these methods and returns its decoder from `Codec.open`.
    """

    decodes_truncated: ClassVar[bool] = False
    """Whether `partial` can decode a truncated payload."""
    is_indexed: ClassVar[bool] = False
    """Whether `byte_ranges` locates frames after reading only the start of the payload."""

    def __init__(self, codec: Codec[C, H], payload: Payload | bytes, header: H) -> None:
        self.codec, self.header = codec, header
        self.payload = Payload.from_bytes(payload) if isinstance(payload, bytes) else payload
        self._kept: tuple[tuple[int, ...] | None, C] | None = None

    def clip(self) -> C:
        """Return the whole clip."""
        return self.codec.decode(self.payload.read_all(), self.header)

    def frames(self, start: int, stop: int, joints: Sequence[int] | None = None) -> C:
        """Return frames `start` to `stop`, half-open, of `joints` and their ancestors (None: all).

        The skeleton of the result contains only these joints.
        """
        return self._decode_all(joints).frames(start, stop)

    def joints(self, joints: Sequence[int]) -> C:
        """Return all frames of `joints` and their ancestors."""
        return self.clip().joints(joints)

    def arrays(self, start: int, stop: int) -> tuple[F64, F64]:
        """Return rotations (T, J, 4) and translations (T, M, 3) of frames `start` to `stop`."""
        part = self.frames(start, stop)
        clip = require_skeleton(part, "rotations")
        return np.asarray(clip.rotations), np.asarray(clip.translations)

    def window_writer(self) -> WindowWriter:
        """Return a writer of windows of this payload."""
        return ArrayWindows(self.arrays)

    def window_opener(self, own_file: _core.File) -> Callable[[bytes], WindowWriter | None] | None:
        """Return a function that opens other files with the skeleton and codec of this payload.

        It returns the writer of their windows, or None for a file that differs in more than motion.
        `own_file` is the file of this payload. The base class returns no function.
        """
        return None

    def row_storer(self, own_file: _core.File) -> Callable[..., list[int]] | None:
        """Return a function that stores the rows of many such files; see `_core.RowStore`."""
        return None

    def sample(self, at: float) -> C:
        """Return the pose at a frame index, which may be fractional, as a one-frame clip."""
        first = int(at)
        pair = self.frames(first, min(first + 2, self.header.frame_count))
        return pair.pose_at(at - first)

    def preview(self) -> C:
        """Return a coarse version of the clip quickly; the base class returns the whole clip."""
        return self._decode_all(None)

    def partial(self) -> C:
        """Return the decodable part of a truncated payload, shorter or coarser than the clip.

        Raises
        ------
        TruncatedError
            If nothing can be decoded.
        """
        raise TruncatedError(
            f"the file is truncated, and {self.codec.codec_id} cannot decode a part of its payload"
        )

    def layout(self) -> PayloadLayout:
        """Return the structure of the payload."""
        return PayloadLayout()

    def byte_ranges(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Return (offset, size) of every byte range that `frames` reads, in order.

        The index at the start of the payload, which `open` reads, is not included.
        """
        return [(0, self.payload.size)]

    def memory_needed(self, start: int, stop: int, joints: Sequence[int] | None = None) -> int:
        """Return the approximate memory of `frames` in bytes; for no frames, of opening."""
        return int(self.codec.decode_memory * self.header.array_bytes()) if start < stop else 0

    def preview_memory(self) -> int:
        """Return the approximate memory of `preview` in bytes."""
        return self.memory_needed(0, self.header.frame_count)

    def _decode_all(self, joints: Sequence[int] | None) -> C:
        """Return all frames of some joints; the last result is cached."""
        wanted = None if joints is None else tuple(joints)
        kept = self._kept  # one read: another thread may replace it
        if kept is not None and kept[0] == wanted:
            return kept[1]
        if kept is not None and kept[0] is None and joints is not None:
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
    """Writes windows from decoded arrays, for any codec.

    `arrays` is `Decoder.arrays` or a function with the same signature.
    """

    arrays: Callable[[int, int], tuple[F64, F64]]

    def write(self, plan: WindowPlan, start: int, stop: int, out: F32) -> None:
        rotations, translations = self.arrays(start, stop)
        _core.write_window_from_arrays(plan, rotations, translations, 0.0, out)


def check_effort(effort: object) -> None:
    """Raise `UsageError` for an unknown effort."""
    if not isinstance(effort, str) or effort not in EFFORTS:
        raise UsageError(f"effort must be one of {', '.join(EFFORTS)}, got {effort!r}")


@dataclass(frozen=True)
class Quality:
    """The parameter that trades size for error.

    Attributes
    ----------
    field : str
        Name of the codec's field.
    low, high : float
        Its range. From `low` to `high`, the error increases (`error_sign` = 1) or decreases (-1).
    integer : bool
        Whether it must be an integer.
    """

    field: str
    low: float
    high: float
    error_sign: int = 1
    integer: bool = False

    def __post_init__(self) -> None:
        low = check_number("low of a quality", self.low, 0)
        high = check_number("high of a quality", self.high, 0)
        if not low < high:
            raise UsageError(f"low of a quality must be below high, got {low:g} and {high:g}")
        if self.error_sign not in (1, -1):
            raise UsageError(
                f"error_sign of a quality must be 1 or -1, got {self.error_sign!r:.80}"
            )

    def check_codec(self, codec: Codec) -> None:
        """Raise `UsageError` if a codec has no such parameter."""
        names = [one.name for one in fields(codec)]
        if self.field not in names:
            raise UsageError(
                f"codec {codec.codec_id}: its quality names the parameter {self.field!r:.80}, but "
                f"it has {', '.join(names) or 'none'}"
            )


@dataclass(frozen=True)
class Encoded(Generic[C]):
    """A payload, and the clip that the decoder returned for these bytes.

    Attributes
    ----------
    payload : bytes
    decoded : Clip or VertexClip
    work_share : float
        Share of the encoder's budget of work that was spent; 0 if it has none.
    """

    payload: bytes
    decoded: C
    work_share: float = 0.0


@contextmanager
def verify_own_payload(codec: Codec) -> Iterator[None]:
    """Turn a `FormatError` from decoding our own payload into a `BoundError`.

    An encoder therefore never raises `FormatError`, and never writes a file beyond the reader's
    limits.
    """
    try:
        yield
    except FormatError as error:
        raise BoundError(
            f"{codec.codec_id} cannot encode this clip with these parameters: "
            f"the decoder rejects the payload ({error})"
        ) from error


@dataclass(frozen=True)
class Trial:
    """A setting that was tried, and its result.

    Attributes
    ----------
    codec : Codec
    size, payload : int
        Bytes of the whole file, and of the codec's payload in it.
    error : float
        Value of the goal's metric, in its unit.
    """

    codec: Codec
    size: int
    payload: int
    error: float


@dataclass(frozen=True)
class Goal:
    """The goal of a search: minimum error within a size, or minimum size within an error.

    Without a limit, the goal is the minimum product of both.

    Attributes
    ----------
    metric : str
        Name of the error in `mocpack.metrics`.
    size : int, optional
        Maximum file size in bytes.
    error : float, optional
        Maximum error, in the unit of the metric.
    product : bool
        Whether to minimize the product of size and error, within the limit if there is one.
    """

    metric: str
    size: int | None = None
    error: float | None = None
    product: bool = False

    def __post_init__(self) -> None:
        if self.size is not None and self.error is not None:
            raise UsageError("a search takes a size or an error as its goal, got both")

    def best(self, trials: Sequence[Trial]) -> Trial | None:
        """Return the best trial, or None if none is within the limit."""
        fitting = [t for t in trials if self.objective(t.size, t.error) < math.inf]
        return min(
            fitting, key=lambda t: (self.objective(t.size, t.error), t.size, t.error), default=None
        )

    def objective(self, size: float, error: float) -> float:
        """Return the value to minimize; infinite beyond the limit."""
        if self.size is not None and size > self.size:
            return math.inf
        if self.error is not None and error > self.error:
            return math.inf
        if self.product or (self.size is None and self.error is None):
            return size * error
        return error if self.size is not None else size


Rounds = Generator[Sequence[Codec], Sequence[Trial], None]
"""Yields settings to try in parallel; receives their trials in the same order."""
