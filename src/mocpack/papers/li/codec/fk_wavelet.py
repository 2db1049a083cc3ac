"""Wavelet and forward kinematics (FKBC): 9/7 wavelets of bone angles, corrected along the chain.

After "Compression of Human Motion Animation Using the Reduction of Interjoint Correlation" (Li,
Okuda, Takahashi 2008), sections 3.2 and 4. Payload, and what we changed: docs/codecs/fk-wavelet.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mocpack.codec import (
    Codec,
    Decoder,
    Encoded,
    Layer,
    Measure,
    Payload,
    PayloadLayout,
    Quality,
    verify_own_payload,
)
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.coding.planes import encode_plane
from mocpack.common.arrays import F64, I64, U8, Mask
from mocpack.errors import CorruptionError, InvalidClipError, UsageError, convert_errors
from mocpack.model import rotations
from mocpack.model.clip import Clip, ClipHeader, measure_error
from mocpack.model.contacts import find_planted
from mocpack.papers.li.codec import wavelet97
from mocpack.papers.li.codec.bit_planes import (
    MAX_SHIFTS,
    choose_shift,
    coarse,
    lacking_bits,
    middle,
    read_layers,
    read_plane,
    segment_order,
    write_layers,
)
from mocpack.papers.li.codec.bodies import Bodies, Still, find_bodies, find_still
from mocpack.papers.li.codec.bone_steps import direction_steps, joint_weights, twist_steps
from mocpack.papers.li.codec.channel_fit import clip_of_bodies
from mocpack.papers.li.codec.channel_grid import check_plane, to_grid
from mocpack.papers.li.codec.columns import read_row, write_row
from mocpack.papers.li.codec.constraints import (
    effectors,
    given_frames,
    joint_ranges,
    on_the_way,
    ranged_joints,
    within_ranges,
)
from mocpack.papers.li.codec.direction_twist import (
    REFERENCES,
    AngleFrame,
    choose_frame,
    from_angles,
    shortest_turn,
    to_angles,
)
from mocpack.papers.li.codec.still_fields import read_still, write_still

Columns = slice | npt.NDArray[np.intp]

SINES = 255  # scale of the stored sines of polar angles
STATED = np.dtype([("error", "<f4"), ("end", "<u4")])  # meters; end of the layer in bytes
LEAD = 0.75  # share of a bone's influence, in bits, by which its bits come earlier
NEAREST = 0.1  # fraction of a bone's length; targets nearer than this define no direction


@dataclass(frozen=True)
class FkWavelet(Codec[Clip, ClipHeader]):
    """Code bone angles with 9/7 wavelets; each bone is aimed from its decoded parent.

    Parameters
    ----------
    step : float, meters
        Distance that one quantizer step of a bone's direction moves its far end.
    twist_scale : float
        Factor of the twist step where twist moves no joint.
    twist : bool
        Whether twist that moves no joint is stored; otherwise it stays as in the first frame.
    weights : str
        Factors of the steps of some joints' bones, ``LeftForeArm=0.5;Head=2``.
    compensate : bool
        Whether a bone is aimed at the original position of its far end from its decoded near end.
    levels : int
        Number of levels; 0 halves the low band while it has more than four rows.
    roi : str
        Region of interest: "none", "contacts" (frames in which a hand or foot is planted), or
        frames, ``100:160;300:320``. Its coefficients come first, with a smaller step.
    roi_joints : str
        The joints of the region, ``LeftFoot;RightFoot``; all hands and feet by default.
    roi_bits : int
        How many times the step of the region is halved.
    ranges : str
        Joints whose decoded rotations stay within their range in the clip: "auto" (elbows and
        knees, by name), or names, ``LeftForeArm;LeftLeg``.
    first_layer : float
        Maximum share of the coarsest layer in the bytes of directions, from 0.02; 1 for one layer.
    """

    codec_id = "fk-wavelet"
    bitstream_version = 1
    decoder_params = (
        "step",
        "twist_scale",
        "twist",
        "weights",
        "levels",
        "roi_bits",
        "ranges",
    )
    # the number of levels is not printed: 3 gives the errors of FKBC on CMU 16_32 at low rates
    paper_settings = MappingProxyType({"levels": 3, "first_layer": 1.0})
    quality: ClassVar[Quality] = Quality("step", 1e-7, 10.0)

    step: float = 0.002
    twist_scale: float = 2.0
    twist: bool = True
    weights: str = ""
    compensate: bool = True
    levels: int = 0
    roi: str = "none"
    roi_joints: str = ""
    roi_bits: int = 3
    ranges: str = ""
    first_layer: float = 0.09

    def __post_init__(self) -> None:
        self.check_range("step", 1e-7, 10)
        self.check_range("twist_scale", 0.01, 100)
        self.check_range("levels", 0, 32)
        self.check_range("roi_bits", 0, 16)
        self.check_range("first_layer", 0.02, 1)

    def encode(self, clip: Clip) -> bytes:
        return self._encode(clip, lambda decoded: measure_error(clip, decoded).max)

    def encode_verified(self, clip: Clip, measure: Measure[Clip] | None = None) -> Encoded[Clip]:
        if measure is None:
            return super().encode_verified(clip)
        with verify_own_payload(self):
            payload = self._encode(clip, lambda decoded: float(measure(decoded)[0].max()))
            return Encoded(payload, self.decode(payload, clip.header))

    def _encode(self, clip: Clip, largest_error: Callable[[Clip], float]) -> bytes:
        rig = _rig_of(clip)
        ranged = ranged_joints(self.ranges, clip.skeleton)
        rig = replace(rig, ranges=joint_ranges(clip.rotations[:, ranged]))
        first, coefficients, region = self._quantize(clip, rig)
        body = FieldWriter()
        _write_rig(body, clip.header, rig)
        body.raw(rig.ranges.astype("<f4").tobytes())
        write_row(body, first)
        body.u8(int(region.any()))
        order = self._order(clip.header)
        groups = _layers(rig, twist=self.twist)
        shift, ends = 0, [0]
        for turn, columns in enumerate(groups):
            classes = _classes(rig)[columns]
            inside, values = region[:, columns], coefficients[:, columns]
            if region.any():  # max-shift: the shifted-up bit planes of the region come first
                body.sized(encode_plane(np.where(inside, values, 0), classes))
            rest = np.where(inside, 0, values)
            if turn == 0:
                lead = _lead(rig)[columns]
                shift = choose_shift(rest, classes, order, lead, share=self.first_layer)
                ends = write_layers(body, rest, classes, order, shift, lead)
            else:
                write_layers(body, rest, classes, order, 0, _lead(rig)[columns])
        errors = self._layer_errors(clip, rig, (first, coefficients, region), shift, largest_error)
        return _with_layers(shift, errors, ends, body.bytes())

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        read = FieldReader(payload, "fk-wavelet payload")
        return self._decode(read, header, cut=False)

    def decode_partial(self, payload: bytes, header: ClipHeader) -> Clip:
        """Decode the first part of a payload: coarse to fine, directions before twist."""
        read = FieldReader(payload, "fk-wavelet payload")
        return self._decode(read, header, cut=True)

    def open(self, payload: Payload | bytes, header: ClipHeader) -> FkWaveletDecoder:
        return FkWaveletDecoder(self, payload, header)

    def symbols(self, clip: Clip) -> I64:
        """Return the integers that are entropy coded, shape (T, signals)."""
        rig = _rig_of(clip)
        columns = np.concatenate(_layers(rig, twist=self.twist))
        return self._quantize(clip, rig)[1][:, columns]

    def angle_columns(self, clip: Clip) -> Mask:
        """Return which columns of `symbols` are angles."""
        rig = _rig_of(clip)
        columns = np.concatenate(_layers(rig, twist=self.twist))
        return np.asarray(_classes(rig)[columns] < 2)

    def _quantize(self, clip: Clip, rig: _Rig) -> tuple[I64, I64, Mask]:
        """Return the quantized first frame, all coefficients (T, S), and the mask of the region."""
        steps = self._steps(rig, clip.header)
        region = self._region(clip, rig)
        levels = wavelet97.level_count(clip.frame_count, self.levels)
        first = np.zeros(rig.signal_count, np.int64)
        coefficients = np.zeros((clip.frame_count, rig.signal_count), np.int64)

        def code(signals: F64, columns: Columns) -> F64:
            """Quantize signals (T, n) of these columns and return the decoded signals."""
            fine = steps[columns] * np.where(region[:, columns], 0.5**self.roi_bits, 1.0)
            first[columns] = to_grid(signals[0], steps[columns])
            base = first[columns] * steps[columns]
            bands = wavelet97.forward(signals - base, levels)
            coefficients[:, columns] = check_plane(to_grid(bands, fine))
            return base + wavelet97.inverse(coefficients[:, columns] * fine, levels)

        _code_bodies(clip, rig, code, compensate=self.compensate)
        return first, coefficients, region

    def _order(self, header: ClipHeader) -> npt.NDArray[np.intp]:
        levels = wavelet97.level_count(header.frame_count, self.levels)
        return segment_order(header.frame_count, levels, header.frame_time)

    def _layer_errors(
        self,
        clip: Clip,
        rig: _Rig,
        quantized: tuple[I64, I64, Mask],
        shift: int,
        largest_error: Callable[[Clip], float],
    ) -> list[float]:
        """Return the largest error in meters after each layer but the last."""
        first, coefficients, region = quantized
        columns = _layers(rig, twist=False)[0]
        scale = self._steps(rig, clip.header) * np.where(region, 0.5**self.roi_bits, 1.0)
        lead = _lead(rig)[columns]
        errors = []
        for k in range(shift, -1 if self.twist else 0, -1):
            known = np.zeros(coefficients.shape)
            shifts = lacking_bits(k, lead)
            known[:, columns] = middle(coarse(coefficients[:, columns], shifts), shifts)
            known[region] = coefficients[region]
            # twist that moves no joint comes last, also in a region
            known[:, np.setdiff1d(np.arange(rig.signal_count), columns)] = 0.0
            coarse_clip = self._clip(clip.header, rig, first, known * scale)
            errors.append(largest_error(coarse_clip))
        return errors

    def _clip(self, header: ClipHeader, rig: _Rig, first: I64, bands: F64) -> Clip:
        """Return the motion of coefficients (T, S) in meters and radians."""
        levels = wavelet97.level_count(header.frame_count, self.levels)
        signals = first * self._steps(rig, header) + wavelet97.inverse(bands, levels)
        angles = signals[:, : 3 * len(rig.bodies)].reshape(len(signals), -1, 3)
        world = from_angles(angles, rig.frame)
        slides = signals[:, rig.slide_columns].reshape(header.frame_count, -1, 3)
        clip = clip_of_bodies(header, rig.still, rig.bodies, world, slides)
        ranged = ranged_joints(self.ranges, header.skeleton)
        if not ranged:
            return clip
        local = clip.rotations.copy()
        local[:, ranged] = within_ranges(local[:, ranged], rig.ranges)
        return Clip.from_owned_arrays(header, local, clip.translations.copy())

    def _decode(self, read: FieldReader, header: ClipHeader, *, cut: bool) -> Clip:
        with convert_errors((InvalidClipError, UsageError), "fk-wavelet payload"):
            shift = _check_shift(read.u8())
            read.raw(STATED.itemsize * (shift + int(self.twist)))
            rig = _read_rig(read, header)
            count = len(ranged_joints(self.ranges, header.skeleton))
            ranges = np.frombuffer(read.raw(24 * count), "<f4").astype(np.float64)
            if not np.isfinite(ranges).all() or (np.abs(ranges) > 4).any():
                raise CorruptionError(
                    "fk-wavelet payload: joint ranges must be within ±4 radians (file is corrupt)"
                )
            rig = replace(rig, ranges=ranges.reshape(count, 2, 3))
            first = read_row(read, rig.signal_count)
            bands = self._read_bands(read, rig, header, shift, cut=cut)
            return self._clip(header, rig, first, bands)

    def _read_bands(
        self, read: FieldReader, rig: _Rig, header: ClipHeader, shift: int, *, cut: bool
    ) -> F64:
        """Return the coefficients (T, S); missing ones of a cut payload are zero."""
        rows, steps, order = header.frame_count, self._steps(rig, header), self._order(header)
        bands = np.zeros((rows, rig.signal_count))
        with_region = read.u8() if read.left or not cut else 0
        if with_region > 1:
            raise CorruptionError(
                f"fk-wavelet payload: region flag must be 0 or 1, got {with_region} (file is "
                "corrupt)"
            )
        for turn, columns in enumerate(_layers(rig, twist=self.twist)):
            if cut and not read.left:
                break
            classes = _classes(rig)[columns]
            inside = np.zeros((rows, len(columns)))
            if with_region:
                plane = read_plane(read, rows, classes, cut=cut)
                inside[: len(plane)] = plane * 0.5**self.roi_bits
            layers = 0 if turn else shift
            values, lacking = read_layers(
                read, classes, order, layers, _lead(rig)[columns], cut=cut
            )
            # max-shift: coefficients of the region are larger than all others
            found = np.where(inside != 0, inside, middle(values, lacking))
            bands[:, columns] = found * steps[columns]
        if not cut:
            read.end()
        return bands

    def _steps(self, rig: _Rig, header: ClipHeader) -> F64:
        """Return the quantizer step of each signal (S,)."""
        bodies = rig.bodies
        weights = joint_weights(self.weights, header.skeleton, bodies)
        polar = direction_steps(bodies, self.step, weights)
        steps = np.full(rig.signal_count, self.step)
        steps[0 : 3 * len(bodies) : 3] = polar
        steps[1 : 3 * len(bodies) : 3] = polar * SINES / np.maximum(rig.sines, 1)
        steps[2 : 3 * len(bodies) : 3] = twist_steps(bodies, self.step, weights, self.twist_scale)
        return steps

    def _region(self, clip: Clip, rig: _Rig) -> Mask:
        """Return which coefficients (T, S) affect the region of interest."""
        region = np.zeros((clip.frame_count, rig.signal_count), bool)
        if self.roi == "none":
            return region
        skeleton = clip.skeleton
        named = [skeleton.index(name.strip()) for name in filter(None, self.roi_joints.split(";"))]
        joints = named or effectors(skeleton)
        if self.roi == "contacts":
            frames = find_planted(clip.positions()[:, joints], clip.frame_rate)
        else:
            frames = np.tile(given_frames(self.roi, clip.frame_count)[:, np.newaxis], len(joints))
        levels = wavelet97.level_count(clip.frame_count, self.levels)
        for b, mask in enumerate(on_the_way(frames, joints, skeleton, rig.bodies).T):
            touched = wavelet97.touched(mask, levels)[:, np.newaxis]
            region[:, 3 * b : 3 * b + 3] = touched
            if rig.bodies.slides[b] >= 0:
                start = 3 * len(rig.bodies) + 3 * int(rig.bodies.slides[b])
                region[:, start : start + 3] = touched
        return region


class FkWaveletDecoder(Decoder[Clip, ClipHeader]):
    """Decodes the complete bit planes, directions before twist."""

    codec: FkWavelet
    decodes_truncated = True

    def partial(self) -> Clip:
        return self.codec.decode_partial(self.payload.read_all(), self.header)

    def layout(self) -> PayloadLayout:
        """Return the largest error after each layer but the last: bit planes, then twist."""
        read = self.payload.read
        stated = _check_shift(read(0, 1)[0]) + int(self.codec.twist)
        table = np.frombuffer(read(1, STATED.itemsize * stated), STATED)
        layers = [Layer(int(end), float(error)) for end, error in table[["end", "error"]].tolist()]
        last = Layer(self.payload.size + self.payload.missing_bytes, None)
        return PayloadLayout(
            layer_count=stated + 1,
            layers=(*layers, last) if layers else (),
            index_bytes=1 + STATED.itemsize * stated,
        )


@dataclass(frozen=True, eq=False)
class _Rig:
    """The moving parts, the references of their angles and the ranges of joints.

    The signals are three angles per body, then the sliding translations.
    """

    still: Still
    bodies: Bodies
    frame: AngleFrame
    sines: U8
    ranges: F64 = field(default_factory=lambda: np.zeros((0, 2, 3)))

    @property
    def slide_columns(self) -> slice:
        return slice(3 * len(self.bodies), None)

    @property
    def signal_count(self) -> int:
        return 3 * len(self.bodies) + 3 * int((~self.still.translations).sum())


def _rig_of(clip: Clip) -> _Rig:
    still = find_still(clip)
    bodies = find_bodies(clip.header, still)
    world = bodies.world(clip)[1]
    frame = choose_frame(world, bodies.axes)
    along = rotations.rotate(world, frame.axes)[:, np.arange(len(bodies)), frame.poles]
    sines = np.sqrt(np.clip(1 - np.mean(along**2, axis=0), 0, 1))
    return _Rig(still, bodies, frame, np.clip(np.ceil(SINES * sines), 1, 255).astype(np.uint8))


def _write_rig(out: FieldWriter, header: ClipHeader, rig: _Rig) -> None:
    write_still(out, header, rig.still)
    out.raw((rig.frame.poles * len(REFERENCES) + rig.frame.references).tobytes())
    out.raw(rig.sines.tobytes())


def _read_rig(read: FieldReader, header: ClipHeader) -> _Rig:
    still = read_still(read, header)
    bodies = find_bodies(header, still)
    codes = np.frombuffer(read.raw(len(bodies)), np.uint8)
    if codes.max() >= 3 * len(REFERENCES):
        raise CorruptionError(
            f"fk-wavelet payload: unknown angle reference {codes.max()} (file is corrupt)"
        )
    frame = AngleFrame(bodies.axes, codes // len(REFERENCES), codes % len(REFERENCES))
    return _Rig(still, bodies, frame, np.frombuffer(read.raw(len(bodies)), np.uint8))


def _check_shift(shift: int) -> int:
    if shift > MAX_SHIFTS:
        raise CorruptionError(
            f"fk-wavelet payload: at most {MAX_SHIFTS} layers are allowed, got {shift} "
            "(file is corrupt)"
        )
    return shift


def _layers(rig: _Rig, *, twist: bool) -> list[npt.NDArray[np.intp]]:
    """Return the signals of each layer: those that move joints, then optionally the other twist."""
    places = np.ones(rig.signal_count, bool)
    places[2 : 3 * len(rig.bodies) : 3] = rig.bodies.twist_places
    return [np.flatnonzero(places), np.flatnonzero(~places)][: 2 if twist else 1]


def _classes(rig: _Rig) -> npt.NDArray[np.uint16]:
    """Return the statistics class of each signal: directions, twists, translations."""
    classes = np.full(rig.signal_count, 2, np.uint16)
    classes[: 3 * len(rig.bodies)] = np.tile([0, 0, 1], len(rig.bodies))
    return classes


def _lead(rig: _Rig) -> I64:
    """Return how many bits earlier each signal (S,) is coded than a bone without descendants.

    In a coarse layer, bones do not compensate the errors of their ancestors. A bone with many
    descendants is therefore coded first. The lead is the movement of all joints by one step of the
    signal, as a power of two.
    """
    bodies = rig.bodies
    squares, counts = np.zeros(len(bodies)), np.ones(len(bodies))
    # Python numbers are faster here than numpy scalars
    steps = [float(np.linalg.norm(attachment)) for attachment in bodies.attachments]
    parents = [int(parent) for parent in bodies.parents]
    for b, length in enumerate(map(float, bodies.lengths)):
        away, carrier = 0.0, b
        while carrier >= 0:
            end = away + length
            squares[carrier] += away * away + end * end
            counts[carrier] += carrier != b
            away += steps[carrier]
            carrier = parents[carrier]
    reach = np.sqrt(np.stack([squares / bodies.levers**2, squares / bodies.twist_levers**2]))
    sliding = np.flatnonzero(bodies.slides >= 0)
    carried = np.ones(int((~rig.still.translations).sum()))
    carried[bodies.slides[sliding]] = np.sqrt(2 * counts[sliding])
    turns = np.stack([reach[0], reach[0], reach[1]], axis=-1).ravel()
    weights = np.concatenate([turns, np.repeat(carried, 3)])
    bits = np.floor(LEAD * np.log2(np.maximum(weights, 1.0)) + 1e-9)
    return np.asarray(np.clip(bits, 0, 12), np.int64)


def _code_bodies(
    clip: Clip, rig: _Rig, code: Callable[[F64, Columns], F64], *, compensate: bool
) -> None:
    """Code translations, then bodies from the root down, each relative to its decoded parent."""
    bodies, frame = rig.bodies, rig.frame
    positions, world = bodies.world(clip)
    moving = clip.translations[:, ~rig.still.translations].reshape(clip.frame_count, -1)
    slides = code(moving, rig.slide_columns).reshape(clip.frame_count, -1, 3)
    placed, decoded = np.empty_like(positions), np.empty_like(world)
    for level in _levels(bodies):
        for b in level:
            placed[:, b] = bodies.place(b, placed, decoded, slides)
        turn = world[:, level]
        if compensate:
            tip = bodies.lengths[level, np.newaxis] * rotations.rotate(turn, bodies.axes[level])
            better = aimed(turn, tip, positions[:, level] - placed[:, level])
            turn = np.where(bodies.twist_places[level, np.newaxis], turn, better)
        some = AngleFrame(frame.axes[level], frame.poles[level], frame.references[level])
        columns = (3 * np.array(level)[:, np.newaxis] + np.arange(3)).ravel()
        angles = code(to_angles(turn, some).reshape(clip.frame_count, -1), columns)
        decoded[:, level] = from_angles(angles.reshape(clip.frame_count, -1, 3), some)


def _levels(bodies: Bodies) -> list[list[int]]:
    """Return the bodies by their depth in the tree; those of one level do not interact."""
    depth: list[int] = []
    for parent in bodies.parents:
        depth.append(depth[parent] + 1 if parent >= 0 else 0)
    return [[b for b, d in enumerate(depth) if d == level] for level in range(max(depth) + 1)]


def aimed(turn: F64, tip: F64, shift: F64) -> F64:
    """Return rotations (..., 4), corrected by the smallest rotation that aims at the original end.

    Parameters
    ----------
    turn : array, shape (..., 4)
        Original rotations of the bone.
    tip : array, shape (..., 3)
        Vector from its original near end to its original far end, in the world.
    shift : array, shape (..., 3)
        Vector from its decoded to its original near end.
    """
    aim = tip + shift
    length = np.linalg.norm(tip, axis=-1, keepdims=True)
    distance = np.linalg.norm(aim, axis=-1, keepdims=True)
    near = (distance <= NEAREST * length) | (length == 0)
    aim = np.where(near, tip, aim)
    distance = np.where(near, length, distance)
    safe = np.maximum(distance, 1e-12), np.maximum(length, 1e-12)
    turned = rotations.multiply(shortest_turn(tip / safe[1], aim / safe[0]), turn)
    return np.where(length > 0, turned, turn)


def _with_layers(shift: int, errors: list[float], ends: list[int], body: bytes) -> bytes:
    """Return the payload: the table of layers, errors in it rounded up, and the rest."""
    table = np.zeros(len(errors), STATED)
    table["error"] = np.nextafter(np.array(errors, np.float32), np.float32(np.inf))
    table["end"] = np.array(ends[: len(errors)]) + 1 + table.nbytes
    return bytes([shift]) + table.tobytes() + body
