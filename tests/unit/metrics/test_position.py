import numpy as np
import pytest

from mocpack.metrics import compare
from mocpack.metrics.pair import pair_clips
from mocpack.model.clip import measure_error
from mocpack.testing import hard_clips

# the root moves by (3, 4, 0) mm, and with it the hand, in one of two frames: distances 0, 0, 5, 5
SHIFT = [(1, (0.003, 0.004, 0.0))]


def test_joint_errors_of_a_shifted_frame(arm):
    found = compare(arm(), arm(root=SHIFT))
    assert found["max_joint_mm"] == pytest.approx(5)
    assert found["max_error_mm"] == pytest.approx(5)
    assert found["mean_mm"] == pytest.approx(2.5)
    assert found["rms_mm"] == pytest.approx(np.sqrt(12.5))


def test_percentile_is_over_frames_and_joints(arm):
    # 100 frames of two joints, one frame off by 5 mm: 198 zeros and 2 fives, so that 99 percent
    # of the way from the first to the last of them, at 0.99 * 199 = 197.01, is 0.01 of a step
    found = compare(arm(100), arm(100, root=SHIFT))
    assert found["p99_mm"] == pytest.approx(0.05)


def test_twist_moves_nothing_but_the_skin(arm):
    # a quarter turn about the bone carries (0, 3 cm, 0) to (0, 0, 3 cm): 3 * sqrt(2) cm apart
    found = compare(arm(), arm(turns=[(1, 1, (np.pi / 2, 0, 0))]))
    assert found["max_joint_mm"] == pytest.approx(0, abs=1e-9)
    assert found["max_error_mm"] == pytest.approx(30 * np.sqrt(2))


def test_a_turned_hand_moves_its_bone_end(arm):
    # a chord of 60 degrees on a circle of 20 cm is 20 cm long; on the skin's 3 cm it is 3 cm
    found = compare(arm(), arm(turns=[(0, 1, (0, 0, np.pi / 3))]))
    assert found["max_joint_mm"] == pytest.approx(0, abs=1e-9)
    assert found["max_error_mm"] == pytest.approx(200)


@pytest.mark.parametrize("name", hard_clips())
def test_displacements_agree_with_the_promised_error(name, noisy):
    clip = hard_clips()[name]
    other = noisy(clip)
    found = pair_clips(clip, other).displacements
    promised = measure_error(clip, other)
    np.testing.assert_allclose(found.max(0), promised.joints, atol=1e-9)
    np.testing.assert_allclose(found.max(1), promised.frames, atol=1e-9)
    assert compare(clip, other)["max_error_mm"] == 1e3 * promised.max
