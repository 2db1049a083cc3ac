import numpy as np
import pytest

from mocpack.metrics import compare

THIRD = (0, 0, np.pi / 3)


def test_a_turned_hand_is_one_of_four_rotations(arm):
    found = compare(arm(), arm(turns=[(1, 1, THIRD)]))
    assert found["rotation_deg_max"] == pytest.approx(60)
    assert found["rotation_deg_mean"] == pytest.approx(60 / 4)
    assert found["local_rotation_deg_max"] == pytest.approx(60)
    assert found["local_rotation_deg_mean"] == pytest.approx(60 / 4)


def test_a_turned_root_turns_the_hand_in_the_world_only(arm):
    found = compare(arm(), arm(turns=[(1, 0, THIRD)]))
    assert found["rotation_deg_mean"] == pytest.approx(2 * 60 / 4)
    assert found["local_rotation_deg_mean"] == pytest.approx(60 / 4)


def test_a_full_turn_is_no_error(arm):
    found = compare(arm(), arm(turns=[(1, 1, (0, 2 * np.pi, 0))]))
    assert found["rotation_deg_max"] == pytest.approx(0, abs=1e-9)
