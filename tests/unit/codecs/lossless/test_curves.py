import numpy as np

from mocpack.codecs.lossless.curves import Curve, evaluate, find_curves, residual
from mocpack.model import rotations
from reference.lossless import follow


def hinge(frames=400, tilt=0.4):
    """Return Euler angles in 1/10000 of a degree of a joint that turns about one tilted axis."""
    angle = 0.9 + 0.6 * np.sin(np.linspace(0, 9, frames)) + 0.2 * np.sin(np.linspace(0, 31, frames))
    axis = np.array([np.cos(tilt), np.sin(tilt), 0.1])
    axis /= np.linalg.norm(axis)
    turned = rotations.from_rotvec(angle[:, None] * axis)
    return np.rint(np.degrees(rotations.as_euler(turned, "ZYX")) * 1e4).astype(np.int64)


def test_chebyshev_polynomials_are_summed():
    # 2 T0 + 3 T1 + T2 at -1, 0, 1: 2 - 3 + 1, 2 - 1, 2 + 3 + 1
    curve = Curve(1, (0,), (0,), (20,), np.array([[32], [48], [16]]))
    columns = np.array([[0, 0], [10, 0], [20, 0]])
    assert evaluate(curve, columns).tolist() == [0, 1, 6]


def test_two_drivers_are_multiplied():
    # 2 x y + y² with T2 = 2 y² - 1
    coefficients = np.zeros((3, 3), np.int64)
    coefficients[1, 1], coefficients[0, 2], coefficients[0, 0] = 32, 8, 8
    curve = Curve(2, (0, 1), (-1, -1), (1, 1), coefficients)
    columns = np.array([[1, 1, 0], [-1, 1, 0], [0, -1, 0], [1, 0, 0]])
    assert evaluate(curve, columns).tolist() == [3, -1, 1, 0]


def test_a_tilted_hinge_is_one_column_and_two_curves():
    columns = hinge()
    curves = find_curves(columns, [[0, 1, 2]])
    assert len(curves) == 2
    for curve in curves:
        rest = residual(curve, columns)
        assert np.abs(rest).max() <= 2
        assert np.array_equal(follow(curve, columns, rest), columns[:, curve.column])


def test_noise_has_no_curve():
    noise = np.random.default_rng(0).integers(-9000, 9000, (300, 3)).cumsum(axis=0)
    assert find_curves(noise, [[0, 1, 2], [0, 1], [2], []]) == []


def test_two_frames_have_no_curve():
    assert find_curves(hinge()[:2], [[0, 1, 2]]) == []


def test_a_column_of_one_whole_number_is_in_no_curve():
    still = np.full((400, 1), 7)
    assert find_curves(np.concatenate([still, still], axis=1), [[0, 1]]) == []
    columns = np.concatenate([hinge(), still], axis=1)
    expected = find_curves(columns, [[0, 1, 2]])
    found = find_curves(columns, [[0, 1, 2, 3]])
    assert [(c.column, c.drivers) for c in found] == [(c.column, c.drivers) for c in expected]
