"""Hypothesis strategies: skeletons, motions and meshes of every shape that mocpack takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mocpack.common.arrays import F64
from mocpack.model import rotations
from mocpack.model.clip import Clip, ClipHeader, VertexClip, VertexHeader
from mocpack.model.dofs import from_dofs
from mocpack.model.hinges import Hinges
from mocpack.model.skeleton import MAX_NAME, Skeleton
from mocpack.model.space import HANDEDNESS, UP_AXES
from mocpack.model.take_data import KINDS, WIDTHS, Track

Draw = Callable[[st.SearchStrategy[Any]], Any]

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(
    lambda name: len(name.encode()) <= MAX_NAME
)
PLAIN_NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,11}", fullmatch=True)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(-1e308, 1e308, exclude_min=True, exclude_max=True)
    | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
    max_leaves=8,
)
METADATA = st.dictionaries(st.text(max_size=10), JSON, max_size=4)
# decimal fractions as files have them, and anything else
LENGTHS = st.integers(-(10**6), 10**6).map(lambda n: n / 10**5) | st.floats(-10, 10)
# poles and full turns more often than chance would have them
ANGLES = st.floats(-10, 10) | st.integers(-6, 6).map(lambda k: k * np.pi / 2)
UNITS = st.sampled_from([1.0, 0.01, 0.001, 0.0254, 0.0254 / 0.45]) | st.floats(1e-9, 1e9)
FRAME_TIMES = st.sampled_from([1 / 120, 0.0083333, 1 / 30, 0.04]) | st.floats(1e-6, 1e6)
TRACK_NUMBERS = st.floats(-1e6, 1e6) | st.integers(-999, 999).map(lambda n: n / 100)
TURNS = arrays(np.float64, 3, elements=st.floats(-3, 3)).map(rotations.from_rotvec)


def _layouts(position: str, rotation: str, letters: str) -> st.SearchStrategy[tuple[str, ...]]:
    """Channels of a joint: some positions, then some rotations, in any order."""
    some = st.lists(st.sampled_from(letters), max_size=3, unique=True)
    return st.builds(
        lambda p, r: tuple([position.format(a) for a in p] + [rotation.format(a) for a in r]),
        some,
        some,
    )


BVH_LAYOUTS = _layouts("{}position", "{}rotation", "XYZ")
ASF_LAYOUTS = _layouts("t{}", "r{}", "xyz")


@st.composite
def skeletons(
    draw: Draw,
    *,
    names: st.SearchStrategy[str] = NAMES,
    layouts: st.SearchStrategy[tuple[str, ...]] = BVH_LAYOUTS | ASF_LAYOUTS,
    axes: bool = True,
    lengths: st.SearchStrategy[float] = LENGTHS,
) -> Skeleton:
    """Trees of up to five joints; with `axes`, some have frames of their own as ASF's bones do."""
    chosen = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    count = len(chosen)
    carriers = sorted(draw(st.lists(st.integers(0, count - 1), max_size=3)))
    turned = axes and draw(st.booleans())
    return Skeleton(
        tuple(chosen),
        (-1, *(draw(st.integers(0, j - 1)) for j in range(1, count))),
        draw(arrays(np.float64, (count, 3), elements=lengths)),
        draw(arrays(np.float64, (len(carriers), 3), elements=lengths)),
        tuple(carriers),
        tuple(draw(layouts) for _ in chosen),
        np.array([draw(TURNS) for _ in chosen]) if turned else np.zeros((0, 4)),
    )


@st.composite
def hinges(draw: Draw, joints: int) -> Hinges:
    """Hinge rows in any order for that many joints: one or two axes, and sliders."""
    rows: list[tuple[int, bool, Any]] = []
    for joint in draw(st.sets(st.integers(0, joints - 1), min_size=1, max_size=3)):
        frame = rotations.as_matrix(draw(TURNS)) if draw(st.booleans()) else np.eye(3)
        slides, turns = draw(st.integers(0, 3)), draw(st.integers(0, 2))
        rows += [(joint, True, frame[k]) for k in range(slides)]
        rows += [(joint, False, -frame[k]) for k in range(turns or not slides)]
    # rows of several joints may stand between one another, those of one keep their order
    mixed = draw(st.permutations([row[0] for row in rows]))
    queues = {joint: [row for row in rows if row[0] == joint] for joint in mixed}
    rows = [queues[joint].pop(0) for joint in mixed]
    lowest = st.just(-np.inf) | st.integers(-400, 0).map(lambda n: n / 100) | st.floats(-9, 0)
    limits = [(draw(lowest), -draw(lowest) + 0.0) for _ in rows]
    return Hinges(
        tuple(row[0] for row in rows),
        np.array([row[2] for row in rows]),
        np.array(limits),
        np.array([row[1] for row in rows]),
        tuple(draw(st.text(max_size=5)) for _ in rows),
    )


@st.composite
def tracks(draw: Draw) -> Track:
    """Series of every kind, exact or bounded, even or not."""
    kind, count = draw(st.sampled_from(KINDS)), draw(st.integers(0, 12))
    shape = (count,) if WIDTHS[kind] == 1 else (count, WIDTHS[kind])
    if kind == "label":
        values: Any = draw(st.lists(st.text(max_size=8), min_size=count, max_size=count))
    elif kind == "flag":
        values = draw(arrays(np.bool_, shape))
    elif kind == "quaternion":
        values = np.array([draw(TURNS) for _ in range(count)]).reshape(shape)
    else:
        values = draw(arrays(np.float64, shape, elements=TRACK_NUMBERS))
    bounds = st.just(0.0) if kind in ("flag", "label") else st.just(0.0) | st.floats(1e-9, 10)
    return Track(
        kind,
        values,
        draw(st.none() | st.floats(1e-6, 10)),
        draw(st.floats(-1e6, 1e6)),
        draw(times(count)) if draw(st.booleans()) else None,
        draw(bounds),
        draw(st.text(max_size=4)),
    )


@st.composite
def times(draw: Draw, count: int) -> F64:
    """Seconds that increase, as decimals or any numbers."""
    start = draw(st.integers(-1000, 1000).map(lambda n: n / 1000) | st.floats(-1e3, 1e3))
    steps = draw(arrays(np.float64, (max(count - 1, 0),), elements=st.floats(1e-4, 10)))
    found = start + np.concatenate([[0.0], np.cumsum(np.round(steps, draw(st.integers(4, 15))))])
    return np.asarray(found[:count])


@st.composite
def takes(draw: Draw) -> Clip:
    """Clips with any kinds of take data."""
    base, frames = draw(skeletons(names=st.text(max_size=4))), draw(st.integers(1, 6))
    count = len(base)
    parents = [p if p < 0 or draw(st.integers(0, 3)) else -1 for p in base.parents]
    sizes = st.sampled_from([1.0, 1.0, 100.0, 0.01, 0.5, -1.0]) | st.floats(0.01, 10)
    skeleton = replace(
        base,
        parents=tuple(parents),
        rest=np.array([draw(TURNS) for _ in range(count)]) if draw(st.booleans()) else base.rest,
        scales=draw(arrays(np.float64, (count, 3), elements=sizes))
        if draw(st.booleans())
        else base.scales,
        hinges=draw(st.none() | hinges(count)),
    )
    sliding = set(skeleton.hinges.sliding_joints) if skeleton.hinges else set()
    moving = sorted(draw(st.sets(st.integers(0, count - 1))) | sliding)
    scaled = sorted(draw(st.sets(st.integers(0, count - 1), max_size=2)))
    turns = draw(arrays(np.float64, (frames, count, 3), elements=ANGLES))
    return Clip.build(
        skeleton,
        rotations.from_euler(turns, "ZYX"),
        draw(arrays(np.float64, (frames, len(moving), 3), elements=LENGTHS)),
        frame_time=draw(FRAME_TIMES),
        translated_joints=moving,
        scaled_joints=scaled,
        scales=draw(arrays(np.float64, (frames, len(scaled), 3), elements=st.floats(-10, 10)))
        if scaled
        else None,
        times=draw(times(frames)) if draw(st.booleans()) else None,
        start_time=draw(st.sampled_from([0.0, 0.0417]) | st.floats(-1e6, 1e6)),
        valid=draw(arrays(np.bool_, (frames, count))) if draw(st.booleans()) else None,
        tracks=draw(st.dictionaries(st.text(max_size=6), tracks(), max_size=2)),
        loop=draw(st.booleans()),
        up=draw(st.sampled_from(UP_AXES)),
        handedness=draw(st.sampled_from(HANDEDNESS)),
    )


@st.composite
def clip_headers(draw: Draw) -> ClipHeader:
    """Headers of clips of up to a million frames."""
    skeleton = draw(skeletons())
    moving = draw(st.sets(st.integers(0, len(skeleton) - 1)))
    frames, time = draw(st.integers(1, 10**6)), draw(FRAME_TIMES)
    return ClipHeader(skeleton, frames, time, tuple(sorted(moving)), draw(UNITS), draw(METADATA))


@st.composite
def dof_motions(
    draw: Draw, of: st.SearchStrategy[Skeleton], *, unit: float = 0.01
) -> tuple[ClipHeader, F64]:
    """Headers with a matrix (T, C) of degrees of freedom, in meters and radians."""
    skeleton, frames = draw(of), draw(st.integers(1, 6))
    matrix = draw(arrays(np.float64, (frames, skeleton.channel_count), elements=ANGLES))
    moving = skeleton.translated_joints
    return ClipHeader(skeleton, frames, draw(FRAME_TIMES), moving, unit), matrix


def clips_of_channels(of: st.SearchStrategy[Skeleton]) -> st.SearchStrategy[Clip]:
    """Clips that their skeleton's channels can express exactly."""
    return dof_motions(of).map(lambda motion: from_dofs(motion[1], motion[0]))


@st.composite
def clips(draw: Draw, of: st.SearchStrategy[Skeleton] | None = None) -> Clip:
    """Clips in which every joint turns and any joint moves, whatever its channels say."""
    skeleton = draw(skeletons() if of is None else of)
    moving = tuple(sorted(draw(st.sets(st.integers(0, len(skeleton) - 1)))))
    frames = draw(st.integers(1, 5))
    turns = draw(arrays(np.float64, (frames, len(skeleton), 3), elements=ANGLES))
    places = draw(arrays(np.float64, (frames, len(moving), 3), elements=LENGTHS))
    return Clip.build(
        skeleton,
        rotations.from_euler(turns, "ZYX"),
        places,
        frame_time=draw(FRAME_TIMES),
        translated_joints=moving,
        unit=draw(UNITS),
        metadata=draw(METADATA),
    )


@st.composite
def vertex_headers(draw: Draw) -> VertexHeader:
    """Headers of meshes of up to fifty vertices, with or without faces."""
    vertices, count = draw(st.integers(1, 50)), draw(st.integers(0, 20))
    faces = draw(arrays(np.int32, (count, 3), elements=st.integers(0, vertices - 1)))
    frames, time = draw(st.integers(1, 10**6)), draw(FRAME_TIMES)
    return VertexHeader(vertices, faces, frames, time, draw(METADATA))


@st.composite
def vertex_clips(draw: Draw) -> VertexClip:
    """Meshes in motion."""
    frames, vertices = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    count = draw(st.integers(0, 5))
    faces = draw(arrays(np.int32, (count, 3), elements=st.integers(0, vertices - 1)))
    places = draw(arrays(np.float64, (frames, vertices, 3), elements=LENGTHS))
    return VertexClip.build(places, faces, frame_rate=1 / draw(FRAME_TIMES))


FRAME_RATES = st.sampled_from([1.0, 10.0, 15.0, 24.0, 25.0, 30.0, 50.0, 60.0, 100.0, 120.0, 240.0])
MANNERS = ("still", "sway", "wander", "shake", "jump", "spin")


@st.composite
def motions(draw: Draw, *, joints: int = 16, frames: int = 150) -> Clip:
    """Clips that a camera might have seen, and some that none has: see `motion_of`."""
    return motion_of(
        np.random.default_rng(draw(st.integers(0, 2**32))),
        joints=draw(st.integers(1, joints)),
        frames=draw(st.integers(1, frames)),
        frame_rate=draw(FRAME_RATES),
        manners=tuple(sorted(draw(st.sets(st.sampled_from(MANNERS), min_size=1)))),
    )


def motion_of(
    rng: np.random.Generator,
    *,
    joints: int,
    frames: int,
    frame_rate: float,
    manners: tuple[str, ...],
) -> Clip:
    """Return a chain, a star or any tree in motion, each joint after one of the manners."""
    branching = rng.choice([0.0, 0.3, 1.0])  # of a chain, of something like a body, of any tree
    parents = [-1] + [
        int(rng.integers(0, j)) if rng.random() < branching else j - 1 for j in range(1, joints)
    ]
    lengths = 10 ** rng.uniform(-3, 0.3) * rng.uniform(0, 1, (joints, 1)) * (rng.random() > 0.05)
    ends = np.flatnonzero(rng.random(joints) < 0.4)
    skeleton = Skeleton(
        tuple(f"Joint{j}" for j in range(joints)),
        tuple(parents),
        lengths * rng.normal(size=(joints, 3)),
        0.1 * rng.normal(size=(len(ends), 3)),
        tuple(map(int, ends)),
    )
    moving = sorted({0, *map(int, np.flatnonzero(rng.random(joints) < rng.choice([0.0, 0.5])))})
    time = np.arange(frames) / frame_rate
    turns = np.stack([_curves(rng, str(rng.choice(manners)), time) for _ in range(joints)], 1)
    places = np.stack([_curves(rng, str(rng.choice(manners)), time) for _ in moving], 1)
    start = 10 ** rng.uniform(-2, 3) * rng.normal(size=3)
    return Clip.build(
        skeleton,
        rotations.from_rotvec(turns),
        places + start,
        frame_rate=frame_rate,
        translated_joints=moving,
    )


@st.composite
def any_motions(draw: Draw) -> Clip:
    """Motions, also of several roots, with constant or moving scales, and of markers."""
    clip: Clip = draw(motions())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["one root", "roots", "scales", "moving scales", "markers"]))
    skeleton, count = clip.skeleton, len(clip.skeleton)
    if kind == "one root":
        return clip
    if kind == "markers":
        return Clip.from_points(clip.positions(), skeleton.names, frame_rate=clip.frame_rate)
    if kind == "roots":
        parents = tuple(-1 if rng.random() < 0.3 else parent for parent in skeleton.parents)
        return clip.replace(skeleton=replace(skeleton, parents=parents))
    scales = np.ones((count, 3))
    scales[rng.integers(0, count, 2)] = 10 ** rng.uniform(-0.5, 0.5, (2, 3))
    clip = clip.replace(skeleton=replace(skeleton, scales=scales))
    if kind == "scales":
        return clip
    time = np.arange(clip.frame_count)[:, np.newaxis, np.newaxis] / clip.frame_rate
    moving = 2 ** np.sin(time * rng.uniform(0, 5, (1, 1, 3)))
    return clip.replace(scales=moving, scaled_joints=[int(rng.integers(0, count))])


def _curves(rng: np.random.Generator, manner: str, time: F64) -> F64:
    """Return three numbers by time, (T, 3): radians, or meters."""
    size = 10 ** rng.uniform(-4, 0.5) * rng.normal(size=3)
    rest = rng.normal(size=3)
    shape = (len(time), 3)
    if manner == "still":
        return np.tile(rest, (len(time), 1))
    if manner == "sway":
        return np.asarray(rest + size * np.sin(np.outer(time, rng.uniform(0, 20, 3)) + rest))
    if manner == "wander":
        return np.asarray(rest + size * np.cumsum(rng.normal(size=shape), 0) / 10)
    if manner == "shake":
        return np.asarray(rest + size * rng.normal(size=shape))
    if manner == "jump":
        return np.asarray(rest + size * np.cumsum(rng.random(shape) < 0.05, 0))
    return np.asarray(rest + np.outer(time, rng.uniform(-30, 30, 3)))
