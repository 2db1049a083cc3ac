import pytest

from mocpack.metrics import compare


def test_a_jump_of_5_mm_in_a_hundredth_of_a_second(arm):
    # three frames: 0, 5 mm, 0, so both steps of both joints are off by 5 mm * 100/s = 50 cm/s
    found = compare(arm(3), arm(3, root=[(1, (0, 0.003, 0.004))]))
    assert found["velocity_cm_s"] == pytest.approx(50)
    assert found["velocity_max_cm_s"] == pytest.approx(50)


def test_a_constant_shift_has_no_velocity_error(arm):
    found = compare(arm(2), arm(2, root=[(0, (1, 0, 0)), (1, (1, 0, 0))]))
    assert found["mean_mm"] == pytest.approx(1000)
    assert found["velocity_cm_s"] == pytest.approx(0, abs=1e-9)


def test_one_frame_has_no_velocity(arm):
    assert compare(arm(1), arm(1))["velocity_cm_s"] is None
