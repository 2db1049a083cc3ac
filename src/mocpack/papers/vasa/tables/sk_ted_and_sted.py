"""SkTED on joints beside STED on a surface: their correlation and their speed.

L. Váša and G. Brunnett (2014), section 4.2 and figures 2 and 3, whose bodies are not public: ours
is made of capsules, skinned by linear blending.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mocpack.bench.runner.timing import fastest
from mocpack.metrics.papers import sk_ted
from mocpack.metrics.vertices import sted, sted_temporal
from mocpack.model.clip import Clip
from mocpack.papers.vasa.codec import RdPca
from mocpack.papers.vasa.tables.capsule_body import Body, capsule_body, skin

MAX_SKINNED = 480  # frames of a clip to skin
TIMED_FRAMES = 24  # frames of a surface for timing STED, limited by memory
VERTICES = 58_000  # of the paper's surface
SIDES = 64  # vertices around a capsule of that surface


def distort(clip: Clip) -> list[tuple[float, float]]:
    """Return SkTED and the temporal part of STED of each distortion of a clip."""
    clip = clip.frames(0, min(clip.frame_count, MAX_SKINNED))
    body = capsule_body(clip.skeleton)
    surface, joints = skin(clip, body).vertices, clip.positions()
    pairs = []
    for codec in _distortions():
        decoded = codec.decode(codec.encode(clip), clip.header)
        on_surface = sted_temporal(surface, skin(decoded, body).vertices)
        pairs.append((sk_ted(joints, decoded.positions()) or 0.0, on_surface or 0.0))
    return pairs


def evaluation_times(clip: Clip) -> tuple[float, float]:
    """Return seconds per frame of SkTED on joints, and of STED on a surface."""
    clip = clip.frames(0, min(clip.frame_count, MAX_SKINNED))
    codec = RdPca()
    back = codec.decode(codec.encode(clip), clip.header)
    joints, decoded = clip.positions(), back.positions()
    body = timed_body(clip)
    few, few_back = clip.frames(0, TIMED_FRAMES), back.frames(0, TIMED_FRAMES)
    surface, surface_back = (skin(c, body).vertices for c in (few, few_back))
    on_joints = fastest(lambda: sk_ted(joints, decoded), 9) / clip.frame_count
    return on_joints, fastest(lambda: sted(surface, surface_back, body.faces), 3) / TIMED_FRAMES


def timed_body(clip: Clip) -> Body:
    """Return a body with about as many vertices as the paper's."""
    bones = len(capsule_body(clip.skeleton, rings=2, sides=3).holders) // 6
    return capsule_body(clip.skeleton, rings=round(VERTICES / bones / SIDES), sides=SIDES)


def _distortions() -> Iterator[RdPca]:
    fine = RdPca(lam=0.0005)
    for strength in (0, 1, 2, 3, 4):
        yield replace(fine, K=24 - 5 * strength)
        yield replace(fine, Q_l=4.0 * 2.5**strength, Q_g=4.0 * 2.5**strength)
        yield replace(fine, lam=0.001 * 2.2**strength)
