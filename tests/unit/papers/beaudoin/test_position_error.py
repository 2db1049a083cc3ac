import numpy as np
import pytest

from mocpack.model.kinematics import end_positions
from mocpack.papers.beaudoin.codec.position_error import CountedError, PositionError, phases_of
from mocpack.papers.beaudoin.codec.selection import analyze
from mocpack.papers.beaudoin.codec.signals import ROTATIONS, from_signals, layout, to_signals
from mocpack.testing import hard_clips

CLIPS = hard_clips()
SOME = ("walk", "joints with fewer axes", "every joint translates", "full turns", "one frame")


def points(clip):
    positions, world = clip.world()
    return np.concatenate([positions, end_positions(clip.skeleton, positions, world)], axis=1)


def squared_error(clip, plan, weights, signals):
    """The error by its definition: decode, place every point, sum."""
    gaps = points(from_signals(signals, clip.header, plan)) - points(clip)
    return float(np.sum(np.sum(gaps**2, axis=-1) @ weights))


def disturbed(clip, rotation, seed=0):
    rng = np.random.default_rng(seed)
    plan = layout(clip.header, rotation)
    signals = to_signals(clip, plan)
    weights = rng.random(len(clip.skeleton) + len(clip.skeleton.end_site_joints))
    return plan, signals + rng.normal(0, 0.1, signals.shape), weights, rng


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("name", SOME)
def test_the_error_is_that_of_the_decoded_clip(name, rotation):
    plan, signals, weights, _ = disturbed(CLIPS[name], rotation)
    expected = squared_error(CLIPS[name], plan, weights, signals)
    assert PositionError(CLIPS[name], plan, weights).of(signals) == pytest.approx(expected)


@pytest.mark.parametrize("rotation", ROTATIONS)
@pytest.mark.parametrize("name", SOME)
def test_every_change_is_exact_however_large(name, rotation):
    clip = CLIPS[name]
    plan, signals, weights, rng = disturbed(clip, rotation)
    steps = rng.normal(0, 0.5, signals.shape)
    values = np.ascontiguousarray(signals.T)
    base, changes = PositionError(clip, plan, weights).changes(
        values, phases_of(values), np.ascontiguousarray(steps.T)
    )
    for i in rng.choice(len(plan), 8, replace=False):
        changed = signals.copy()
        changed[i] += steps[i]
        expected = squared_error(clip, plan, weights, changed)
        assert base + changes[i] == pytest.approx(expected, rel=1e-9)


def test_more_and_fewer_coefficients_change_the_error_as_counted():
    clip = CLIPS["walk"]
    found = analyze(clip, rotation="euler", update="4-4")
    weights = np.ones(len(clip.skeleton) + 5)
    error = CountedError(PositionError(clip, found.plan, weights), found.ranking)
    counts = found.standard_counts(6.0)
    donor = int(np.argmax(counts))
    base, more = error.with_more(counts, 3)
    _, fewer = error.with_fewer(counts, 3)
    for change, sign in ((more, 1), (fewer, -1)):
        other = counts.copy()
        other[donor] += 3 * sign
        assert base + change[donor] == pytest.approx(error.with_more(other, 1)[0])


def test_a_stride_evaluates_every_nth_frame():
    clip = CLIPS["walk"]
    plan, signals, weights, _ = disturbed(clip, "euler")
    thin = PositionError(clip, plan, weights, stride=4).of(signals)
    gaps = points(from_signals(signals, clip.header, plan)) - points(clip)
    assert thin == pytest.approx(np.sum(np.sum(gaps[::4] ** 2, axis=-1) @ weights))
