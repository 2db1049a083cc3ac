"""Conversions of rotations: exact round trips, including poles and full turns."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mocpack.model import rotations

ORDERS = ["".join(order) for order in itertools.permutations("XYZ")]
QUARTERS = st.integers(-8, 8).map(lambda k: k * np.pi / 2)
NEAR_QUARTERS = st.builds(lambda q, e: q + e, QUARTERS, st.sampled_from([1e-12, -1e-9, 1e-7, 1e-5]))
ANGLES = st.floats(-13, 13) | QUARTERS | NEAR_QUARTERS


def angle_arrays(columns, frames=st.integers(1, 8)):
    return frames.flatmap(lambda n: arrays(np.float64, (n, columns), elements=ANGLES))


def turns(angles, order):
    return rotations.from_euler(angles, order)


def assert_same_rotation(a, b, tolerance=1e-11):
    assert rotations.angle_between(a, b).max(initial=0) < tolerance


def axis_matrix(letter, angle):
    i = "XYZ".index(letter)
    j, k = (i + 1) % 3, (i + 2) % 3
    m = np.eye(3)
    m[j, j] = m[k, k] = np.cos(angle)
    m[k, j], m[j, k] = np.sin(angle), -np.sin(angle)
    return m


@given(angle_arrays(3, st.just(1)), st.sampled_from(ORDERS))
def test_euler_angles_are_the_product_of_their_matrices_left_to_right(angles, order):
    expected = np.linalg.multi_dot(
        [axis_matrix(a, x) for a, x in zip(order, angles[0], strict=True)]
    )
    np.testing.assert_allclose(rotations.as_matrix(turns(angles[0], order)), expected, atol=1e-12)


@given(angle_arrays(3), st.sampled_from(ORDERS))
def test_euler_angles_there_and_back(angles, order):
    q = turns(angles, order)
    back = rotations.as_euler(q, order)
    assert_same_rotation(turns(back, order), q)
    assert (np.abs(back[:, 1]) <= np.pi / 2 + 1e-12).all()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("pole", [-np.pi / 2, np.pi / 2])
def test_at_a_pole_the_first_angle_takes_the_whole_turn(order, pole):
    back = rotations.as_euler(turns(np.array([0.4, pole, 0.3]), order), order)
    assert back[1] == pytest.approx(pole, abs=1e-12)
    assert back[2] == 0


def shortest_step(before, triple):
    """The length of the shortest step to any equivalent of `triple`, by trying them."""
    a, b, c = triple
    full_turns = 2 * np.pi * np.arange(-20, 21)[:, np.newaxis]
    lengths = [
        np.linalg.norm(np.abs(np.array(same) + full_turns - before).min(axis=0))
        for same in ((a, b, c), (a + np.pi, np.pi - b, c + np.pi))
    ]
    return min(lengths)


@given(angle_arrays(3, st.integers(1, 5)), st.sampled_from(ORDERS))
def test_nearest_euler_takes_the_shortest_steps(angles, order):
    near = rotations.unwrap_euler(angles)
    assert_same_rotation(turns(near, order), turns(angles, order))
    np.testing.assert_array_equal(near[0], angles[0])
    for before, after, raw in zip(near[:-1], near[1:], angles[1:], strict=True):
        shortest = shortest_step(before, raw)
        assert np.linalg.norm(after - before) == pytest.approx(shortest, abs=1e-9)


@given(angle_arrays(3), st.sampled_from(ORDERS))
def test_euler_near_finds_back_to_the_angles_it_is_near(angles, order):
    q = turns(angles, order)
    near = rotations.align_euler(rotations.as_euler(q, order), angles)
    assert_same_rotation(turns(near, order), q)
    away_from_poles = np.abs(np.cos(angles[:, 1])) > 1e-3
    np.testing.assert_allclose(near[away_from_poles], angles[away_from_poles], atol=1e-9)


def test_a_smooth_motion_through_a_pole_and_full_turns_round_trips():
    time = np.linspace(0, 1, 200)[:, np.newaxis]
    angles = np.concatenate([14 * time, 3 * time - 0.4, -9 * time + 1], axis=1)
    for order in ORDERS:
        back = rotations.unwrap_euler(rotations.as_euler(turns(angles, order), order))
        np.testing.assert_allclose(back, angles, atol=1e-12)


quaternions = angle_arrays(3).map(lambda a: rotations.from_euler(a, "ZYX"))


@given(quaternions)
def test_matrices_there_and_back(q):
    m = rotations.as_matrix(q)
    assert_same_rotation(rotations.from_matrix(m), q)
    np.testing.assert_allclose(
        m @ np.swapaxes(m, -1, -2), np.tile(np.eye(3), (len(q), 1, 1)), atol=1e-12
    )


@given(quaternions)
def test_rotation_vectors_there_and_back(q):
    v = rotations.as_rotvec(q)
    assert_same_rotation(rotations.from_rotvec(v), q)
    assert (np.linalg.norm(v, axis=-1) <= np.pi + 1e-12).all()


@given(arrays(np.float64, 3, elements=st.floats(-20, 20) | st.floats(-1e-9, 1e-9)))
def test_a_rotation_vector_turns_about_itself(v):
    q = rotations.from_rotvec(v)
    assert np.linalg.norm(q) == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(rotations.rotate(q, v), v, atol=1e-9)
    length = np.linalg.norm(v)
    turned = abs((length + np.pi) % (2 * np.pi) - np.pi)
    assert rotations.angle_between(q, rotations.IDENTITY) == pytest.approx(turned, abs=1e-9)


@given(quaternions, quaternions)
def test_rotating_is_multiplying_and_matrices_agree(a, b):
    n = min(len(a), len(b))
    a, b = a[:n], b[:n]
    v = np.array([1.0, -2.0, 3.0])
    both = rotations.multiply(a, b)
    np.testing.assert_allclose(
        rotations.rotate(both, v),
        rotations.rotate(a, rotations.rotate(b, np.tile(v, (n, 1)))),
        atol=1e-12,
    )
    np.testing.assert_allclose(rotations.rotate(a, v), rotations.as_matrix(a) @ v, atol=1e-12)
    np.testing.assert_allclose(
        rotations.rotate(rotations.conjugate(a), rotations.rotate(a, v)),
        np.tile(v, (n, 1)),
        atol=1e-12,
    )


@given(quaternions, quaternions, st.floats(0, 1))
def test_slerp_goes_the_shorter_way_at_constant_speed(a, b, t):
    a, b = a[0], b[0]
    angle = rotations.angle_between(a, b)
    middle = rotations.slerp(a, b, t)
    assert rotations.angle_between(a, middle) == pytest.approx(t * angle, abs=1e-8)
    assert rotations.angle_between(middle, b) == pytest.approx((1 - t) * angle, abs=1e-8)
