import numpy as np

from mocpack.papers.li.codec.curve_simplification import key_frames


def polyline():
    x = np.interp(np.arange(31), [0, 10, 20, 30], [0, 5, -3, 0])
    return np.stack([x, 2 * x], axis=1)


def test_corners_of_a_polyline_are_its_key_frames():
    assert key_frames(polyline(), distance=1e-9) == [0, 10, 20, 30]


def test_the_farthest_frame_comes_first():
    assert key_frames(polyline(), count=3) == [0, 10, 30]


def test_a_count_beyond_the_frames_takes_them_all():
    curve = np.random.default_rng(0).normal(size=(7, 3))
    assert key_frames(curve, count=100) == list(range(7))


def test_one_frame_is_its_own_key():
    assert key_frames(np.zeros((1, 2)), distance=0.1) == [0]


def test_no_frame_strays_further_than_asked():
    rng = np.random.default_rng(3)
    curve = np.cumsum(rng.normal(size=(200, 4)), axis=0)
    keys = key_frames(curve, distance=2.0)
    line = np.stack([np.interp(np.arange(200), keys, c[keys]) for c in curve.T], axis=1)
    assert np.sqrt(np.mean((line - curve) ** 2, axis=1)).max() <= 2.0
    assert len(keys) < 100
