"""SkTED on joints beside STED on a surface: do they agree, and how much faster is the first?

L. Váša and G. Brunnett (2014), section 4.2 and figures 2 and 3, whose bodies are not public: ours
is made of capsules, skinned by linear blending. STED is that of `mocpack.metrics`, of which the
paper describes both parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mocpack.bench.runner.timing import fastest
from mocpack.clip import Clip
from mocpack.metrics.papers import sk_ted
from mocpack.metrics.vertices import sted, sted_temporal
from mocpack.papers.vasa.codec import RdPca
from mocpack.papers.vasa.tables.capsule_body import capsule_body, skin

MAX_SKINNED = 480  # frames of a clip to skin
TIMED_FRAMES = 24  # frames of a surface that STED is timed on: memory for no more
VERTICES = 58_000  # of the paper's surface
SIDES = 64  # of a capsule as fine as that

Points = dict[str, tuple[list[float], list[float]]]


@dataclass(frozen=True)
class EvaluationTimes:
    """Microseconds a frame: of the metrics alone, and with joints and skin made from motions."""

    vertices: int
    sk_ted: float
    sted: float
    sted_temporal: float
    sk_ted_made: float
    sted_made: float


def correlations(clip: Clip) -> tuple[dict[str, float], float, Points]:
    """Return Pearson's correlation of both, by kind of distortion and over all, and the points."""
    points = _both_teds(clip.frames(0, min(clip.frame_count, MAX_SKINNED)))
    sk, st = (np.array(values) for values in zip(*points.values(), strict=True))
    by_kind = {kind: _pearson(*pair) for kind, pair in points.items()}
    return by_kind, _pearson(sk.ravel(), st.ravel()), points


def evaluation_times(clip: Clip) -> EvaluationTimes:
    """Time both metrics on a clip and its like, decoded from a small file."""
    clip = clip.frames(0, min(clip.frame_count, MAX_SKINNED))
    codec = RdPca()
    back = codec.decode(codec.encode(clip), clip.header)
    joints, decoded = clip.positions(), back.positions()
    body = capsule_body(clip.skeleton, rings=_rings(clip), sides=SIDES)
    few, few_back = clip.frames(0, TIMED_FRAMES), back.frames(0, TIMED_FRAMES)
    surface, surface_back = (skin(c, body).vertices for c in (few, few_back))
    on_joints = fastest(lambda: sk_ted(joints, decoded), 9)
    on_surface = fastest(lambda: sted(surface, surface_back, body.faces), 3)
    temporal = fastest(lambda: sted_temporal(surface, surface_back), 3)
    with_joints = fastest(lambda: [_afresh(c).positions() for c in (clip, back)], 9)
    with_skin = fastest(lambda: [skin(_afresh(c), body) for c in (few, few_back)], 3)
    per_frame, per_few = 1e6 / clip.frame_count, 1e6 / TIMED_FRAMES
    return EvaluationTimes(
        len(body.holders),
        per_frame * on_joints,
        per_few * on_surface,
        per_few * temporal,
        per_frame * (on_joints + with_joints),
        per_few * (on_surface + with_skin),
    )


def _rings(clip: Clip) -> int:
    """Return how many rings a capsule needs for the body to have the paper's vertices."""
    bones = len(capsule_body(clip.skeleton, rings=2, sides=3).holders) // 6
    return round(VERTICES / bones / SIDES)


def _afresh(clip: Clip) -> Clip:
    """Return the clip without what it may remember of its positions."""
    return Clip(clip.header, clip.rotations, clip.translations)


def _both_teds(clip: Clip) -> dict[str, tuple[list[float], list[float]]]:
    """Return SkTED and STED's temporal part, by kind of distortion, at growing strength."""
    body = capsule_body(clip.skeleton)
    surface, joints = skin(clip, body).vertices, clip.positions()
    out: dict[str, tuple[list[float], list[float]]] = {}
    for kind, codec in _distortions():
        decoded = codec.decode(codec.encode(clip), clip.header)
        sk = sk_ted(joints, decoded.positions())
        st = sted_temporal(surface, skin(decoded, body).vertices)
        assert sk is not None
        assert st is not None
        sks, sts = out.setdefault(kind, ([], []))
        sks.append(sk)
        sts.append(st)
    return out


def _distortions() -> Iterator[tuple[str, RdPca]]:
    fine = RdPca(lam=0.0005)
    for strength in (0, 1, 2, 3, 4):
        yield "dimension", replace(fine, K=24 - 5 * strength)
        yield "bases", replace(fine, Q_l=4.0 * 2.5**strength, Q_g=4.0 * 2.5**strength)
        yield "coefficients", replace(fine, lam=0.001 * 2.2**strength)


def _pearson(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    return float(np.corrcoef(np.asarray(a), np.asarray(b))[0, 1])
