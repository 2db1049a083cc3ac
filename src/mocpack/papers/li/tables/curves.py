"""Rate and error of the methods that Li, Okuda and Takahashi (2008) compare, by motion.

Both rates are empirical entropies in bits per frame and turning joint. `Point.angles` is the
paper's H, "the summation of the entropies of the three angles": positions of chain ends and of the
root are not counted, so their step is swept by itself. `Point.entropy` counts every integer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mocpack.bench.papers.measuring import map_parallel
from mocpack.common.arrays import F64
from mocpack.metrics.pair import SkeletonPair
from mocpack.metrics.position import distances
from mocpack.model.clip import Clip, ClipHeader
from mocpack.model.skeleton import rotation_order
from mocpack.papers.li.codec.bodies import find_bodies, find_still
from mocpack.papers.li.codec.direction_twist import choose_frame, to_angles
from mocpack.papers.li.codec.dwt97 import Dwt97
from mocpack.papers.li.codec.fk_wavelet import FkWavelet
from mocpack.papers.li.codec.ik_predict import IkPredict
from mocpack.papers.li.codec.keyframe import Keyframe
from mocpack.papers.li.codec.last_frame import LastFrame


class CountingCodec(Protocol):
    """A codec that exposes the integers that it codes."""

    def encode(self, clip: Clip) -> bytes: ...
    def decode(self, payload: bytes, header: ClipHeader) -> Clip: ...
    def symbols(self, clip: Clip) -> npt.NDArray[np.int64]: ...
    def angle_columns(self, clip: Clip) -> npt.NDArray[np.bool_]: ...


AS_PRINTED = IkPredict.from_params({"settings": "paper"})
FKBC = FkWavelet.from_params({"settings": "paper"})
DWT = Dwt97.from_params({"settings": "paper"})
POINTS = 80  # settings per curve of the paper's methods; 14 gave wrong rankings
READING_POINTS = 40  # of the curves of other readings
POSITION_SCALES = (1.0, 4.0, 16.0, 64.0)  # ratios of the angle step to the position step


def ikbp_codecs(k: float = AS_PRINTED.k, points: int = POINTS) -> list[IkPredict]:
    """Return the paper's method at each step of directions and each finer step of chain ends."""
    steps = np.geomspace(1e-5, 0.3, points // len(POSITION_SCALES))
    return [
        replace(AS_PRINTED, k=k, step=float(q) / finer, joint_scale=finer)
        for finer in POSITION_SCALES
        for q in steps
        if q / finer >= 1e-6
    ]


def spblf_codecs(*, open_loop: bool = False, points: int = POINTS) -> list[LastFrame]:
    """Return last-frame prediction at each step of angles and each finer step of the root."""
    steps = np.geomspace(1e-5, 1.0, points // len(POSITION_SCALES))
    return [
        LastFrame(step=float(q), lever=LastFrame.lever / finer, open_loop=open_loop)
        for finer in POSITION_SCALES
        for q in steps
    ]


def _swept(
    make: Callable[[float], CountingCodec], low: float, high: float, points: int = POINTS
) -> list[CountingCodec]:
    return [make(float(q)) for q in np.geomspace(low, high, points)]


METHODS: dict[str, Sequence[CountingCodec]] = {
    "IKBP": ikbp_codecs(),
    "SPBLF": spblf_codecs(),
    "FKBC": _swept(lambda q: replace(FKBC, step=q), 1e-6, 2.0),
    "IBKF": _swept(lambda q: Keyframe(error=q), 1e-5, 1.0),
    "DWT": _swept(lambda q: replace(DWT, step=q), 1e-5, 5.0),
    "FKBC, no compensation": _swept(
        lambda q: replace(FKBC, step=q, compensate=False), 1e-6, 2.0, READING_POINTS
    ),
    "IKBP, ours": _swept(lambda q: IkPredict(step=q), 1e-5, 0.3, READING_POINTS),
    "IKBP, k = 0": ikbp_codecs(0.0, READING_POINTS),
    "IKBP, k = 1": ikbp_codecs(1.0, READING_POINTS),
    "FKBC, 2 levels": _swept(lambda q: replace(FKBC, step=q, levels=2), 1e-6, 2.0, READING_POINTS),
    "FKBC, all levels": _swept(
        lambda q: replace(FKBC, step=q, levels=0), 1e-6, 2.0, READING_POINTS
    ),
    "DWT, all levels": _swept(lambda q: Dwt97(step=q), 1e-5, 5.0, READING_POINTS),
    "SPBLF, open loop": spblf_codecs(open_loop=True, points=READING_POINTS),
}
"""By method, its codecs from fine to coarse: the paper's five, then ours and other readings."""


@dataclass(frozen=True)
class Motion:
    """A clip: its name in the paper, our clip's, and which frames of it."""

    name: str
    clip: str
    start: int = 0
    stride: int = 1


MOTIONS = (
    Motion("walk", "cmu/16_32", 1),
    Motion("ballet", "cmu/05_02", 1, 5),
    Motion("throw", "cmu/124_01", 1, 4),
    Motion("kick", "bandai/dataset-1_kick_normal_001"),
)


@dataclass(frozen=True, eq=False)
class Point:
    """One codec at one setting.

    Attributes
    ----------
    angles, entropy, bits : float
        Entropy of the angles alone, of every integer, and real bits, per frame and turning joint.
    position, angle : arrays, shape (J,)
        Errors by joint, in meters; in radians, of Euler angles.
    converted : array, shape (B,)
        Errors by turning joint of the paper's own angles φ, ϕ, ψ, in radians.
    """

    angles: float
    entropy: float
    bits: float
    position: F64
    angle: F64
    converted: F64


Curves = dict[str, dict[str, list[Point]]]
"""By motion and method, a point for each setting."""


def sweep_all(clips: Mapping[str, Clip]) -> Curves:
    """Measure every method on every clip, on all cores, under a progress bar."""
    tasks = [
        (name, method, codec)
        for name in clips
        for method, codecs in METHODS.items()
        for codec in codecs
    ]
    curves: Curves = {name: {method: [] for method in METHODS} for name in clips}
    points = map_parallel(_measure, dict(clips), tasks, "measuring")
    for (name, method, _), point in zip(tasks, points, strict=True):
        curves[name][method].append(point)
    return curves


def _measure(clips: Mapping[str, Clip], task: tuple[str, str, CountingCodec]) -> Point:
    return measure(clips[task[0]], task[2])


def to_rows(curves: Curves) -> list[dict[str, str]]:
    """Return every point as a row: rates in bits per frame and joint, mean errors."""
    rows = []
    for motion, methods in curves.items():
        for method, points in methods.items():
            for p in points:
                turned = np.degrees([p.angle.mean(), p.converted.mean()])
                numbers = {"h_angles": p.angles, "entropy": p.entropy, "bits": p.bits}
                numbers |= {"e_position_cm": 100 * float(p.position.mean())}
                numbers |= {"e_angle_deg": turned[0], "e_converted_deg": turned[1]}
                cells = {key: f"{x:.6g}" for key, x in numbers.items()}
                rows.append({"motion": motion, "method": method, **cells})
    return rows


def measure(clip: Clip, codec: CountingCodec) -> Point:
    """Measure one codec on one clip, by its real payload and by the entropy of its integers.

    Errors are those of equations (25) and (27); their means are (26) and (28).
    """
    payload = codec.encode(clip)
    symbols = codec.symbols(clip)
    back = codec.decode(payload, clip.header)
    both = SkeletonPair(clip, back)
    samples = clip.frame_count * len(find_bodies(clip.header, find_still(clip)))
    by_column = column_entropy(symbols) * len(symbols) / samples
    return Point(
        float(by_column[codec.angle_columns(clip)].sum()),
        float(by_column.sum()),
        8 * len(payload) / samples,
        distances(*both.points).mean(axis=0),
        _angle_errors(both),
        converted_errors(clip, back),
    )


def converted_errors(clip: Clip, back: Clip) -> F64:
    """Return E_angle, equation (27), over φ, ϕ and ψ of each turning joint (B,), in radians.

    The pole of each joint is one that it stays away from; the paper's is z.
    """
    bodies = find_bodies(clip.header, find_still(clip))
    worlds = bodies.world(clip)[1], bodies.world(back)[1]
    frame = choose_frame(worlds[0], bodies.axes)
    apart = np.subtract(*(to_angles(world, frame) for world in worlds))
    apart = apart - 2 * np.pi * np.round(apart / (2 * np.pi))
    return np.asarray(np.linalg.norm(apart, axis=-1).mean(axis=0))


def _angle_errors(both: SkeletonPair) -> F64:
    """Return the error of Euler angles of each joint (J,), in radians."""
    dofs = both.dofs
    assert dofs is not None
    errors, start = [], 0
    for channels in both.skeleton.channels:
        columns = [start + k for k in rotation_order(channels)[1]]
        errors.append(distances(dofs[0][:, columns], dofs[1][:, columns]).mean())
        start += len(channels)
    return np.array(errors)


def at_rate(points: list[Point], at: float, value: str, rate: str = "angles") -> F64 | None:
    """Return errors by joint at a rate, between the two settings around it; None outside.

    Settings that others beat in both rate and mean error are ignored.
    """
    best = _front(points, value, rate)
    rates = [getattr(p, rate) for p in best]
    if not rates[0] <= at <= rates[-1]:
        return None
    upper = min(max(1, int(np.searchsorted(rates, at))), len(rates) - 1)
    low, high = best[upper - 1], best[upper]
    t = (at - rates[upper - 1]) / max(rates[upper] - rates[upper - 1], 1e-12)
    a, b = (np.maximum(getattr(p, value), 1e-12) for p in (low, high))
    between: F64 = np.exp((1 - t) * np.log(a) + t * np.log(b))
    return between


def _front(points: list[Point], value: str, rate: str) -> list[Point]:
    found: list[Point] = []
    for point in sorted(points, key=lambda p: (getattr(p, rate), getattr(p, value).mean())):
        if not found or getattr(point, value).mean() < getattr(found[-1], value).mean():
            found.append(point)
    return found


def column_entropy(values: npt.ArrayLike) -> F64:
    """Return the empirical entropy of order 0 of each column of integers (rows, columns), in bits.

    >>> column_entropy([[0, 5], [1, 5], [0, 5], [1, 5]]).tolist()
    [1.0, 0.0]
    """
    plane = np.asarray(values)
    return np.array([_entropy(column) for column in plane.T]).reshape(plane.shape[1])


def _entropy(symbols: npt.NDArray[np.int64]) -> float:
    if not len(symbols):
        return 0.0
    _, counts = np.unique(symbols, return_counts=True)
    share = counts / counts.sum()
    # + 0.0: a single symbol gives -0.0
    return float(-np.sum(share * np.log2(share))) + 0.0
