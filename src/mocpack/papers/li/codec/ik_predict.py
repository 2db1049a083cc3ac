"""Prediction by inverse kinematics (IKBP): ends of chains come first and predict the other bones.

After "Compression of Human Motion Animation Using the Reduction of Interjoint Correlation" (Li,
Okuda, Takahashi 2008), section 5. Payload, and what we changed: docs/codecs/ik-predict.md. The
loop itself runs in the native core.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.codec import Codec, Decoder, Payload, PayloadLayout, Quality
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.coding.planes import decode_plane, encode_plane
from mocpack.common.arrays import F64, I32, I64
from mocpack.errors import (
    InvalidClipError,
    TruncatedError,
    UnsupportedClipError,
    UsageError,
    convert_errors,
)
from mocpack.model import rotations
from mocpack.model.clip import Clip, ClipHeader
from mocpack.papers.li.codec.bodies import Bodies, Still, find_bodies, find_still
from mocpack.papers.li.codec.bone_steps import direction_steps, joint_weights, twist_steps
from mocpack.papers.li.codec.chains import find_chains
from mocpack.papers.li.codec.channel_fit import clip_of_bodies
from mocpack.papers.li.codec.channel_grid import to_grid
from mocpack.papers.li.codec.columns import read_row, write_row
from mocpack.papers.li.codec.still_fields import read_still, write_still

ACCELERATION = 10.0  # meters per second squared, typical of limbs
FOLLOW = 0.17  # weight of the newest change if the acceleration per frame equals the step
SLOWEST = 0.01
Directions = Literal["arcs", "spherical"]


@dataclass(frozen=True)
class IkPredict(Codec[Clip, ClipHeader]):
    """Closed-loop prediction by inverse kinematics, frame by frame, with no look-ahead.

    Parameters
    ----------
    step : float, meters
        Quantizer step of the ends of chains and of translations.
    joint_scale : float
        Factor of the step of all other bones.
    twist_scale : float
        Additional factor of the twist step where twist moves no joint.
    k : float
        Share of the last change of a bone's direction that is predicted to continue: 1 minimizes
        its acceleration, 0 its velocity; the paper prints 2.
    memory : float, optional
        Smoothing of predictions: 0 uses only the last change, as in the paper; larger values use
        an exponential mean of all changes, which is less sensitive to rounding. By default it is
        chosen by step and frame rate.
    damping : float
        Damping of the pseudo-inverse, relative to its trace.
    rounding : float
        Rounding offset of the quantizer: 0.5 rounds to the nearest step, smaller values round
        small changes to zero.
    chains : {"auto", "none"}
        Whether chains of bones are coded together, or every bone separately.
    twist : bool
        Whether twist that moves no joint is stored; otherwise bones follow their parents.
    compensate : bool
        Whether a bone is aimed at the original position of its far end from its decoded near end.
    extrapolate : bool
        Whether ends of chains, translations and twist are predicted to keep their velocity;
        otherwise to stay, as in the paper.
    directions : {"arcs", "spherical"}
        What is coded of a bone's direction: arcs on the sphere, which have no pole, or the paper's
        angles φ from the z axis and ϕ about it.
    weights : str
        Factors of the steps of some joints' bones, ``LeftForeArm=0.5;Head=2``.
    """

    codec_id = "ik-predict"
    bitstream_version = 1
    paper_settings = MappingProxyType(
        {
            "directions": "spherical",
            "k": 2.0,
            "memory": 0.0,
            "damping": 0.0,
            "rounding": 0.5,
            "compensate": False,
            "extrapolate": False,
        }
    )
    quality: ClassVar[Quality] = Quality("step", 1e-6, 1.0)

    step: float = 0.001
    joint_scale: float = 2.0
    twist_scale: float = 1.0
    k: float = 1.0
    memory: float | None = None
    damping: float = 1e-3
    rounding: float = 0.3
    chains: Literal["auto", "none"] = "auto"
    twist: bool = True
    compensate: bool = True
    extrapolate: bool = True
    weights: str = ""
    directions: Directions = "arcs"

    def __post_init__(self) -> None:
        self.check_range("step", 1e-6, 1.0)
        self.check_range("joint_scale", 0.01, 100)
        self.check_range("twist_scale", 0.01, 100)
        self.check_range("k", 0, 2)
        self.check_range("damping", 0, 1)
        self.check_range("rounding", 0.1, 0.5)
        self.check_range("memory", 0, 0.999)
        self.check_choice("chains", ("auto", "none"))
        self.check_choice("directions", get_args(Directions))

    def encode(self, clip: Clip) -> bytes:
        still = find_still(clip)
        first, places, twists, classes = self._quantize(clip, still)
        out = FieldWriter()
        write_still(out, clip.header, still)
        write_row(out, first)
        out.sized(encode_plane(places, classes))
        if self.twist:
            out.sized(encode_plane(twists))
        return out.bytes()

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        return self._decode(payload, header, cut=False)

    def decode_partial(self, payload: bytes, header: ClipHeader) -> Clip:
        """Decode a payload whose twist may be missing."""
        return self._decode(payload, header, cut=True)

    def open(self, payload: Payload | bytes, header: ClipHeader) -> IkPredictDecoder:
        return IkPredictDecoder(self, payload, header)

    def symbols(self, clip: Clip) -> I64:
        """Return the integers that are entropy coded, shape (T - 1, columns)."""
        _, places, twists, _ = self._quantize(clip, find_still(clip))
        return np.concatenate([places, twists], axis=1).astype(np.int64)

    def angle_columns(self, clip: Clip) -> npt.NDArray[np.bool_]:
        """Return which columns of `symbols` are angles: neither ends nor translations."""
        _, _, twists, classes = self._quantize(clip, find_still(clip))
        return np.concatenate([classes < 2, np.ones(twists.shape[1], bool)])

    def stream(self, header: ClipHeader, still: Still) -> BodyStream:
        """Return the loop that turns frames into integers and back, before its first frame."""
        return BodyStream(self, header, still)

    def _quantize(self, clip: Clip, still: Still) -> tuple[I64, I32, I32, npt.NDArray[np.uint16]]:
        """Return the intra frame, the rows of other frames (joints, other twist), and classes."""
        stream = self.stream(clip.header, still)
        first = stream.intra_row(clip.rotations[0], clip.translations[0])
        stream.restart(first)
        places, twists = stream.encode(clip.rotations[1:], clip.translations[1:])
        return first, places, twists, stream.classes

    def _decode(self, payload: bytes, header: ClipHeader, *, cut: bool) -> Clip:
        read = FieldReader(payload, "ik-predict payload")
        with convert_errors((InvalidClipError, UsageError), "ik-predict payload"):
            still = read_still(read, header)
            stream = self.stream(header, still)
            first, rows = read_row(read, stream.intra_count), header.frame_count - 1
            places = decode_plane(read.sized(), rows, len(stream.classes), stream.classes)
            twists = _read_twists(read, rows, stream.twist_count, cut=cut) if self.twist else None
            if not cut:
                read.end()
            stream.restart(first)
            start, rest = stream.decoded(), stream.decode(places, twists)
            world, slides = (
                np.concatenate([a[np.newaxis], b]) for a, b in zip(start, rest, strict=True)
            )
            return clip_of_bodies(header, still, stream.bodies, world, slides)


class IkPredictDecoder(Decoder[Clip, ClipHeader]):
    """Decodes payloads whose twist may be missing."""

    codec: IkPredict
    decodes_truncated = True

    def partial(self) -> Clip:
        return self.codec.decode_partial(self.payload.read_all(), self.header)

    def layout(self) -> PayloadLayout:
        """Twist refines the positions of joints."""
        return PayloadLayout(layer_count=2 if self.codec.twist else 1)


class BodyStream:
    """The prediction loop of one stream: its native state and the layout of its integers.

    Attributes
    ----------
    bodies : Bodies
    classes : array, shape (A,)
        Statistics that the integers of a row share: directions, twists, translations, ends.
    intra_count, twist_count : int
        Integers of an intra frame; twists that move no joint.
    """

    def __init__(self, codec: IkPredict, header: ClipHeader, still: Still) -> None:
        self.bodies = bodies = find_bodies(header, still)
        weights = joint_weights(codec.weights, header.skeleton, bodies)
        coarse = codec.joint_scale * codec.step
        directions = direction_steps(bodies, coarse, weights)
        twists = twist_steps(bodies, coarse, weights, codec.twist_scale)
        segments = _segments(bodies, find_chains(bodies) if codec.chains == "auto" else [])
        self._sliding = np.flatnonzero(~still.translations)
        self._header, self._still = header, still
        self._turn_steps = np.minimum(directions, twists)[:, np.newaxis]
        self._step = codec.step
        steps = directions, twists
        self._native = _native_stream(codec, header, bodies, self._sliding, steps, segments)
        self.classes = np.asarray(self._native.classes())
        self.intra_count = 3 * len(bodies) + 3 * len(self._sliding)
        self.twist_count = self._native.twist_count()

    def intra_row(self, local: F64, translations: F64) -> I64:
        """Return the integers of an intra frame: rotation vectors of bodies, translations."""
        header = replace(self._header, frame_count=1)
        pose = Clip(header, local[np.newaxis], translations[np.newaxis])
        world = self.bodies.world(pose)[1][0]
        turns = to_grid(rotations.as_rotvec(world), self._turn_steps)
        places = to_grid(translations[self._sliding], np.array(self._step))
        return np.concatenate([turns.ravel(), places.ravel()])

    def restart(self, row: I64) -> None:
        """Set the state to that of an intra frame."""
        count = 3 * len(self.bodies)
        turns = row[:count].reshape(-1, 3).astype(np.float64) * self._turn_steps
        places = self._still.places.copy()
        places[self._sliding] = row[count:].reshape(-1, 3) * self._step
        self._native.reset(rotations.from_rotvec(turns), places)

    def encode(self, local: F64, translations: F64) -> tuple[I32, I32]:
        """Return the rows of frames (T, J, 4) and (T, M, 3): joints, then other twist."""
        with convert_errors(ValueError, to=UnsupportedClipError):
            places, twists = self._native.encode(local, translations)
        return np.asarray(places), np.asarray(twists)

    def decode(self, places: I32, twists: I32 | None) -> tuple[F64, F64]:
        """Return world rotations (T, B, 4) and sliding translations (T, K, 3) of such rows."""
        world, moves = self._native.decode(places, twists)
        return np.asarray(world), np.asarray(moves)[:, self._sliding]

    def decoded(self) -> tuple[F64, F64]:
        """Return world rotations (B, 4) and sliding translations (K, 3) of the last frame."""
        world, moves = self._native.decoded()
        return np.asarray(world), np.asarray(moves)[self._sliding]


def _segments(bodies: Bodies, chains: list[list[int]]) -> list[list[int]]:
    """Return chains and single bodies, parents first."""
    first = {chain[0]: chain for chain in chains}
    inside = {b for chain in chains for b in chain[1:]}
    return [first.get(b, [b]) for b in range(len(bodies)) if b not in inside]


def _native_stream(
    codec: IkPredict,
    header: ClipHeader,
    bodies: Bodies,
    sliding: npt.NDArray[np.intp],
    steps: tuple[F64, F64],
    segments: list[list[int]],
) -> _core.IkStream:
    # the core numbers all translations of a pose, the bodies only the sliding ones
    slides = np.append(sliding, -1)[bodies.slides].astype(np.int32)
    return _core.IkStream(
        joint_count=len(header.skeleton),
        translated_count=len(header.translated_joints),
        joints=bodies.joints,
        parents=bodies.parents,
        frames=bodies.frames,
        attachments=bodies.attachments,
        slides=slides,
        axes=bodies.axes,
        lengths=bodies.lengths,
        direction_steps=steps[0],
        twist_steps=steps[1],
        twist_places=bodies.twist_places.astype(np.uint8),
        segment_sizes=np.array([len(segment) for segment in segments], np.int32),
        order=np.array([b for segment in segments for b in segment], np.int32),
        effector_step=codec.step,
        slide_step=codec.step,
        k=codec.k,
        memory=_memory(codec, header.frame_time),
        damping=codec.damping,
        rounding=codec.rounding,
        compensate=codec.compensate,
        extrapolate=codec.extrapolate,
        spherical=codec.directions == "spherical",
        twist=codec.twist,
    )


def _memory(codec: IkPredict, frame_time: float) -> float:
    """Return the smoothing of predictions; it grows with the step."""
    if codec.memory is not None:
        return codec.memory
    bend = ACCELERATION * frame_time**2 / codec.step
    return 1 - min(max(FOLLOW * math.sqrt(bend), SLOWEST), 1.0)


def _read_twists(read: FieldReader, rows: int, count: int, *, cut: bool) -> I32 | None:
    try:
        return decode_plane(read.sized(), rows, count)
    except TruncatedError:
        if not cut:
            raise
        return None
