"""The codec people come for: the smallest file that keeps every point within a stated distance.

Joints are coded from the root outwards, each relative to what was decoded above it and turned so
that what it carries lands where it should: key poses, straight lines between them, and a sine
series on top, quantized by a search that knows the bound. The native core does all of it
(`core/src/keysine/encode/encode_clip.h`); `docs/codecs/keysine.md` has the bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar, Self

from mocpack import _core, progress
from mocpack.codec import (
    EFFORTS,
    Codec,
    Encoded,
    Measure,
    Payload,
    Quality,
    verify_own_payload,
)
from mocpack.codecs.keysine.decoding import KeysineDecoder, thread_count
from mocpack.common.arrays import F64
from mocpack.common.units import format_angle, format_length
from mocpack.errors import BoundError, UsageError
from mocpack.model.clip import Clip, ClipHeader

# in the order of mocpack_KeysineMode, as EFFORTS are in that of mocpack_KeysineEffort
MODES = ("auto", "transform", "grid")
GROUP_S, LAYERED_GROUP_S = 1.0, 2.0  # default distances of seek points


@dataclass(frozen=True)
class Keysine(Codec[Clip, ClipHeader]):
    """Key poses and sine series, within a promised error.

    Parameters
    ----------
    max_error : float or str
        Bound on the displacement of joints, bone ends and shell points: meters, or text ("1mm").
    mean_error : float or str, optional
        Bound on the mean displacement of joints; takes the place of `max_error`.
    step : float or str, optional
        Step of the quantizer, about the displacement that its rounding may cause: takes the place
        of both bounds, and promises nothing.
    max_angle : float or str, optional
        Bound on the error of the angle of every hinge, and of the local rotation of every other
        joint, beside `max_error`: radians, or text ("0.3deg").
    effort : {"fast", "default", "best"}
        How long the encoder may search.
    mode : {"auto", "transform", "grid"}
        Key poses and sine series; or whole numbers on a grid in time, for tight bounds; or
        whichever is smaller. A grid is not tried by `fast`, nor without a bound on `max_error`.
    group_seconds : float, optional
        Largest distance of seek points; by default 1 s, with several layers 2 s.
    block_seconds : float, optional
        Distance of key poses; by default chosen by group. At most `group_seconds`.
    layers : int
        Parts of the file that refine one another; cut after any of them, it plays at a stated,
        coarser error. Fewer are made if a layer would change nothing.
    streamed : bool
        Write the payload in the order in which an encoder could write it in one pass: a player that
        downloads it needs the key poses of what it plays, not of the whole clip. One layer.
    threads : int
        Threads of encoder and decoder; 0: one per core that it may use, for long clips.
    joint_errors, joint_angles : tuple of float, optional
        The bounds of each joint, in place of `max_error` and `max_angle`: meters and radians, an
        angle of 0 for none. `mocpack.encode` makes them from patterns of names.
    """

    codec_id = "keysine"
    bitstream_version = 1
    is_frozen = True
    decoder_params = ()
    keeps_bounds = True
    keeps_joint_bounds = True
    quality: ClassVar[Quality] = Quality("max_error", 1e-5, 1.0)
    lengths: ClassVar[tuple[str, ...]] = ("max_error", "mean_error", "step")
    angles: ClassVar[tuple[str, ...]] = ("max_angle",)
    encoder_params: ClassVar[frozenset[str]] = frozenset(
        {
            "effort",
            "threads",
            "max_error",
            "max_angle",
            "joint_errors",
            "joint_angles",
            "streamed",
        }
    )

    max_error: float = 1e-3
    mean_error: float | None = None
    step: float | None = None
    effort: str = "default"
    mode: str = "auto"
    group_seconds: float | None = None
    block_seconds: float | None = None
    layers: int = 1
    streamed: bool = False
    threads: int = 0
    max_angle: float | None = None
    joint_errors: tuple[float, ...] | None = None
    joint_angles: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.max_angle is not None and (self.mean_error is not None or self.step is not None):
            raise ValueError(
                "max_angle can be combined with max_error only, not with mean_error or step"
            )
        self._check_joint_bounds()
        self.check_choice("effort", EFFORTS)
        self.check_choice("mode", MODES)
        if self.mode == "grid" and (self.mean_error is not None or self.step is not None):
            raise ValueError("mode=grid supports max_error only, not mean_error or step")
        if self.mode == "grid" and self.layers > 1:
            raise ValueError(f"mode=grid does not support layers, got layers={self.layers}")
        for name in ("group_seconds", "block_seconds"):
            seconds = getattr(self, name)
            if seconds is not None and not 0 < seconds < 1e6:
                raise ValueError(f"{name} must be in 0..1e6, got {seconds}")
        self.check_range("layers", 1, _core.KEYSINE_MAX_LAYERS)
        if self.streamed and self.layers > 1:
            raise ValueError(f"a streamed payload has one layer, got layers={self.layers}")
        self.check_range("threads", 0, 256)

    def _check_joint_bounds(self) -> None:
        for name, least in (("joint_errors", 1e-300), ("joint_angles", 0.0)):
            bounds = getattr(self, name)
            if bounds is None:
                continue
            if not isinstance(bounds, tuple):
                raise ValueError(f"{name} must be a tuple with a bound per joint, got {bounds!r}")
            if not all(least <= bound < 1e6 for bound in bounds):
                raise ValueError(f"{name} must be positive and below 1e6, got {bounds}")
            if self.mean_error is not None or self.step is not None:
                raise ValueError(
                    f"{name} can be combined with max_error only, not with mean_error or step"
                )

    @property
    def error_bound(self) -> float | None:
        """`max_error`, unless the encoder keeps another bound."""
        return self.max_error if self.mean_error is None and self.step is None else None

    def with_bounds(
        self,
        *,
        max_error: float | None = None,
        mean_error: float | None = None,
        max_angle: float | None = None,
        joint_errors: tuple[float, ...] | None = None,
        joint_angles: tuple[float, ...] | None = None,
    ) -> Self:
        """Return the codec that keeps these bounds; without one on the error, its own."""
        bound = self.max_error if max_error is None else max_error
        return replace(
            self,
            max_error=bound,
            mean_error=mean_error,
            max_angle=max_angle,
            step=None,
            joint_errors=joint_errors,
            joint_angles=joint_angles,
        )

    @property
    def angle_bound(self) -> float | None:
        """`max_angle`."""
        return self.max_angle

    def encode(self, clip: Clip) -> bytes:
        return self.encode_verified(clip).payload

    def encode_verified(self, clip: Clip, measure: Measure[Clip] | None = None) -> Encoded[Clip]:
        """Return the payload and the clip decoded from it."""
        with verify_own_payload(self):
            return encode_natively(self, clip, measure=measure)

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        return self.open(payload, header).clip()

    def open(self, payload: Payload | bytes, header: ClipHeader) -> KeysineDecoder:
        return KeysineDecoder(self, payload, header)


def encode_natively(
    codec: Keysine,
    clip: Clip,
    constants: Mapping[str, float | tuple[float, ...]] | None = None,
    measure: Measure[Clip] | None = None,
) -> Encoded[Clip]:
    """Encode a clip with the core.

    Parameters
    ----------
    constants : mapping, optional
        Constants of the encoder by name, in place of those of the core's table: for tools and
        tests. `_core.keysine_constants` lists them.
    measure : callable, optional
        Measures the errors that the payload states, of the key poses alone and of layers.

    Raises
    ------
    BoundError
        If nothing keeps the target.
    """
    for name in ("joint_errors", "joint_angles"):
        bounds = getattr(codec, name)
        if bounds is not None and len(bounds) != len(clip.skeleton):
            raise UsageError(
                f"keysine: {name} must have one bound for each of the {len(clip.skeleton)} joints, "
                f"got {len(bounds)}"
            )

    def measure_arrays(turns: F64, places: F64) -> tuple[F64, F64]:
        assert measure is not None
        return measure(Clip.from_decoded(clip.header, turns, places))

    channels = 4 * len(clip.skeleton) + 3 * len(clip.translated_joints)
    most = _core.KEYSINE_MAX_GRID_CHANNELS
    if codec.mode == "grid" and channels > most:
        raise BoundError(f"mode=grid supports at most {most} channels")
    made, work_share = _core.keysine_encode(
        skeleton=clip.skeleton.to_core(clip.translated_joints),
        names=clip.skeleton.names,
        rotations=clip.rotations,
        translations=clip.translations,
        frame_rate=clip.header.frame_rate,
        max_error=codec.max_error,
        mean_error=codec.mean_error or 0.0,
        step=codec.step or 0.0,
        max_angle=codec.max_angle or 0.0,
        effort=EFFORTS.index(codec.effort),
        mode=MODES.index(codec.mode),
        group_seconds=codec.group_seconds or (LAYERED_GROUP_S if codec.layers > 1 else GROUP_S),
        block_seconds=codec.block_seconds or 0.0,
        layers=codec.layers,
        streamed=codec.streamed,
        joint_errors=codec.joint_errors or (),
        joint_angles=codec.joint_angles or (),
        threads=thread_count(codec, clip.frame_count),
        progress=progress.reporter(),
        constants=list_constants(constants) if constants else (),
        measure=measure and measure_arrays,
    )
    if made is None:
        raise BoundError(describe_missed_target(codec), work_share=work_share)
    payload, rotations, translations = made
    decoded = Clip.from_decoded(clip.header, rotations, translations)
    return Encoded(payload, decoded, work_share=work_share)


def list_constants(changed: Mapping[str, float | tuple[float, ...]]) -> list[float]:
    """Return all constants in the core's order, some of them changed."""
    rows = {name: values for name, _, values in _core.keysine_constants()}
    for name, value in changed.items():
        values = list(value) if isinstance(value, tuple) else [value]
        if len(values) != len(rows[name]):
            raise ValueError(f"constant {name} has {len(rows[name])} values, got {len(values)}")
        rows[name] = values
    return list(chain.from_iterable(rows.values()))


def describe_missed_target(codec: Keysine) -> str:
    """Return which target no payload keeps."""
    if codec.step is not None:
        return f"a step of {format_length(codec.step)} is too fine for this clip"
    if codec.mean_error is not None:
        return f"keysine cannot keep this clip's mean within {format_length(codec.mean_error)}"
    if codec.joint_errors is not None:
        return "keysine cannot keep the bounds of this clip's joints"
    angles = f" and its angles within {format_angle(codec.max_angle)}" if codec.max_angle else ""
    return f"keysine cannot keep this clip within {format_length(codec.max_error)}{angles}"
