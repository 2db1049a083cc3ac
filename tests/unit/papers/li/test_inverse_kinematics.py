"""The paper's equations of inverse kinematics, and the native loop beside them."""

import numpy as np
import pytest

from mocpack.model.rotations import rotate
from mocpack.papers.li.codec.bodies import find_bodies, find_still
from mocpack.papers.li.codec.chains import find_chains
from mocpack.papers.li.codec.ik_predict import IkPredict
from mocpack.testing import walk
from reference.inverse_kinematics import (
    end_position,
    jacobian,
    predict_change,
    pseudo_inverse,
)

THETA = np.array([[0.4, 1.1], [1.3, -2.0], [2.2, 0.3]])
LENGTHS = np.array([0.3, 0.25, 0.2])


def angles_of(directions):
    """Return φ and ϕ (..., 2) of unit vectors."""
    x, y, z = np.moveaxis(directions, -1, 0)
    return np.stack([np.arctan2(np.hypot(x, y), z), np.arctan2(y, x)], axis=-1)


def test_the_jacobian_is_the_derivative_of_the_end():
    found = jacobian(THETA, LENGTHS)
    for column, change in enumerate(1e-6 * np.eye(THETA.size)):
        moved = THETA + change.reshape(THETA.shape)
        slope = (end_position(moved, LENGTHS) - end_position(THETA, LENGTHS)) / 1e-6
        np.testing.assert_allclose(found[:, column], slope, atol=1e-6)


def test_the_pseudo_inverse_solves_for_the_end_with_the_least_change():
    j, target = jacobian(THETA, LENGTHS), np.array([0.01, -0.02, 0.015])
    found = pseudo_inverse(j) @ target
    np.testing.assert_allclose(j @ found, target, atol=1e-12)
    np.testing.assert_allclose(found, np.linalg.lstsq(j, target, rcond=None)[0], atol=1e-12)


def test_the_prediction_moves_the_end_as_it_was_told_whatever_k():
    change = np.array([0.01, -0.02, 0.015])
    for k in (0.0, 1.0, 2.0):
        found = predict_change(THETA, 0.1 * np.cos(THETA), change, LENGTHS, k)
        np.testing.assert_allclose(jacobian(THETA, LENGTHS) @ found.ravel(), change, atol=1e-12)


@pytest.mark.parametrize("k", [0.0, 1.0, 2.0])
def test_the_native_loop_predicts_by_these_equations(k):
    clip = walk(0.5)
    codec = IkPredict.from_params({"settings": "paper", "k": k, "step": 1e-4})
    still = find_still(clip)
    bodies = find_bodies(clip.header, still)
    stream = codec.stream(clip.header, still)
    stream.restart(stream.intra_row(clip.rotations[10], clip.translations[10]))
    start = stream.decoded()[0]
    places, twists = stream.encode(clip.rotations[11:13], clip.translations[11:13])
    stream.restart(stream.intra_row(clip.rotations[10], clip.translations[10]))
    first = stream.decode(places[:1], twists[:1])[0][0]
    # a row that moves the ends of chains and corrects no angle
    ends = np.where(stream.classes == 3, places[1:], 0).astype(np.int32)
    second = stream.decode(ends, np.zeros_like(twists[1:]))[0][0]
    moved = ends[0][stream.classes == 3].reshape(-1, 3) * codec.step
    compared = 0
    for chain, change in zip(find_chains(bodies), moved, strict=True):
        axes, lengths = bodies.axes[chain], bodies.lengths[chain]
        before, now, after = (
            angles_of(rotate(world[chain], axes)) for world in (start, first, second)
        )
        velocity = now - before
        velocity[:, 1] -= 2 * np.pi * np.round(velocity[:, 1] / (2 * np.pi))
        wanted = now + predict_change(now, velocity, change, lengths, k)
        # the last bone points at the decoded end instead
        for found, theta in zip(after[:-1], wanted[:-1], strict=True):
            sine, cosine = np.sin(theta), np.cos(theta)
            direction = [sine[0] * cosine[1], sine[0] * sine[1], cosine[0]]
            np.testing.assert_allclose(angles_of(np.array(direction)), found, atol=2e-6)
            compared += 1
    assert compared >= 4
