import numpy as np
import pytest

from mocpack.errors import CorruptionError
from mocpack.model.dofs import to_dofs
from mocpack.papers.li.codec.keyframe import Keyframe, monotone_cubics
from mocpack.testing import jump, still, walk


def test_the_number_of_key_frames_can_be_set():
    assert len(Keyframe(keys=9).symbols(walk(1.0))) == 8


def test_a_still_clip_needs_its_two_ends_only():
    assert len(Keyframe().symbols(still(40))) == 1


def test_the_curve_passes_through_its_keys():
    clip = jump(1.0)
    codec = Keyframe(error=0.001, keys=12)
    keys = np.concatenate([[0], np.cumsum(codec.symbols(clip)[:, 0])])
    back = codec.decode(codec.encode(clip), clip.header)
    gap = to_dofs(back)[keys] - to_dofs(clip)[keys]
    assert np.abs(gap).max() <= 0.0005 + 1e-9


def test_smaller_errors_take_more_keys_and_are_kept():
    clip = walk(2.0)
    sizes, errors = [], []
    for asked in (0.1, 0.02, 0.004, 1e-5):
        codec = Keyframe(error=asked)
        back = codec.decode(codec.encode(clip), clip.header)
        sizes.append(len(codec.symbols(clip)))
        errors.append(np.linalg.norm(back.positions() - clip.positions(), axis=-1).mean())
    assert sizes == sorted(sizes)
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-5


def test_keys_that_do_not_span_the_clip_are_corruption():
    clip = walk(0.5)
    payload = Keyframe().encode(clip)
    with pytest.raises(CorruptionError):
        Keyframe().decode(payload, clip.frames(0, clip.frame_count - 1).header)


@pytest.mark.parametrize("wrong", [{"error": 0}, {"keys": -1}, {"keys": 2.5}, {"lever": 0}])
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Keyframe(**wrong)


@pytest.mark.parametrize("keys", [2, 3, 40])
def test_monotone_cubics_are_those_of_scipy_to_the_last_bit(keys):
    scipy_interpolate = pytest.importorskip("scipy.interpolate")
    rng = np.random.default_rng(keys)
    at = np.sort(rng.choice(400, keys, replace=False)).astype(float)
    # whole numbers with repetitions: flat pieces and turns among them
    values = rng.integers(-3, 4, (keys, 12)).astype(float)
    wanted = np.arange(at[0], at[-1] + 1)
    expected = scipy_interpolate.PchipInterpolator(at, values)(wanted)
    np.testing.assert_array_equal(monotone_cubics(at, values, wanted), expected)
