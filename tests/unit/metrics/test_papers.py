import numpy as np
import pytest

from mocpack import Clip, Skeleton
from mocpack.metrics import compare
from mocpack.metrics.papers import e_d, sk_ted, temporal_edges, windowed_mean
from mocpack.model.rotations import from_euler

THIRD = (0, 0, np.pi / 3)  # its chord is as long as the radius


def test_eps_x_of_a_turned_hand(arm):
    # bones: 0.4 m to the hand, which stays, and 0.2 m to its end, which moves by 0.2 m;
    # sqrt(0 * 0.4/0.6 + 0.04 * 0.2/0.6) = 0.115470 m. The joint centers do not move at all.
    found = compare(arm(1), arm(1, turns=[(0, 1, THIRD)]))
    assert found["eps_x_cm"] == pytest.approx(11.5470, abs=1e-4)
    assert found["eps_x_center_cm"] == pytest.approx(0, abs=1e-9)


def test_eps_x_of_a_turned_root(arm):
    # hand moves 0.4 m, end 0.6 m: sqrt(0.16 * 2/3 + 0.36 * 1/3) = 0.476095 m;
    # at centers: root 0, hand 0.4 m, which drives the short bone: sqrt(0.16 / 3) = 0.230940 m
    found = compare(arm(1), arm(1, turns=[(0, 0, THIRD)]))
    assert found["eps_x_cm"] == pytest.approx(47.6095, abs=1e-4)
    assert found["eps_x_center_cm"] == pytest.approx(23.0940, abs=1e-4)


def test_eps_x_is_a_root_of_the_mean_over_frames(arm):
    # one of four frames shifted by 2 cm: sqrt(4 / 4) = 1 cm
    found = compare(arm(4), arm(4, root=[(2, (0, 0, 0.02))]))
    assert found["eps_x_cm"] == pytest.approx(1)


def test_eps_x_needs_bones():
    dot = Skeleton(("dot",), (-1,), [[0, 0, 0]])
    clip = Clip.build(dot, [[[0, 0, 0, 1]]], [[1, 2, 3]])
    assert compare(clip, clip)["eps_x_cm"] is None


def test_def_sums_joints_and_averages_frames(arm):
    # two joints off by 5 mm in one of two frames: (0 + 10) / 2 = 5 mm; a tenth of a unit of 5 cm
    found = compare(arm(unit=0.05), arm(unit=0.05, root=[(1, (0.003, 0, 0.004))]))
    assert found["def_cm"] == pytest.approx(0.5)
    assert found["def_units"] == pytest.approx(0.1)
    assert found["me_cm"] == pytest.approx(0.25)
    assert found["e_position_cm"] == pytest.approx(0.25)


def test_e_d_is_error_over_movement_in_percent():
    # 0, 2 move by 1 about their mean; an error of 1: 100 * sqrt(1 / 2)
    assert e_d(np.array([[0.0], [2.0]]), np.array([[0.0], [3.0]])) == pytest.approx(70.7107)


def test_e_d_of_a_still_clip_is_null(arm):
    assert compare(arm(), arm(root=[(0, (1, 0, 0))]))["e_d"] is None


def test_e_d_takes_all_joints_together(arm):
    # root and hand go from 0 to 2 cm: four squares of 1 cm²; both are off by 1 cm in one frame
    found = compare(arm(root=[(1, (0, 0.02, 0))]), arm(root=[(1, (0, 0.03, 0))]))
    assert found["e_d"] == pytest.approx(100 * np.sqrt(2 / 4))
    # as degrees of freedom the root's height alone moves: 1 / 2
    assert found["e_d_dofs"] == pytest.approx(100 * np.sqrt(1 / 2))


def test_sk_ted_by_hand():
    # x goes 0, 3, 6 and d is 4, so both edges are 5; the decoded 0, 0, 6 has 4 and sqrt(52)
    original, decoded = (np.array(x)[:, None, None] * [1.0, 0, 0] for x in ([0, 3, 6], [0, 0, 6]))
    assert sk_ted(original, decoded, d=4.0) == pytest.approx((1 / 5 + (52**0.5 - 5) / 5) / 2)


def test_sk_ted_divides_by_the_speed_around():
    assert windowed_mean(np.array([[1.0], [2.0], [6.0]]), 1)[:, 0] == pytest.approx([1.5, 3, 4])


def test_sk_ted_takes_half_a_millimeter_for_the_time_between_frames(arm):
    # still, against a root that jumps 1.2 mm: sqrt(1.2² + 0.5²) = 1.3, so (1.3 - 0.5) / 0.5
    found = compare(arm(), arm(root=[(1, (0, 0, 0.0012))]))
    assert found["sk_ted"] == pytest.approx(1.6)
    assert temporal_edges(np.zeros((2, 1, 3)), 0.0005) == pytest.approx(0.0005)


def test_sk_ted_is_null_for_one_frame(arm):
    assert compare(arm(1), arm(1))["sk_ted"] is None


def test_e_angle_is_the_length_of_the_angle_error(arm):
    # off by 3 and 4 degrees at one of two joints, in one of two frames: 5 / 4
    angles = np.radians(np.array([[10.0, 20.0, 30.0], [13.0, 24.0, 30.0]]))
    local = from_euler(angles, "ZYX")
    original, decoded = arm().rotations.copy(), arm().rotations.copy()
    original[:, 1], decoded[0, 1], decoded[1, 1] = local[0], local[0], local[1]
    place = np.zeros((2, 3))
    found = compare(
        Clip.build(arm.skeleton, original, place), Clip.build(arm.skeleton, decoded, place)
    )
    assert found["e_angle_deg"] == pytest.approx(5 / 4)


def test_e_angle_does_not_count_another_way_to_write_the_same_pose(arm):
    # the source's own numbers wind past a pole; its rotations, read again, take the other branch
    triple = np.array([[170.0, 100.0, 190.0]])
    local = arm(1).rotations.copy()
    local[:, 1] = from_euler(np.radians(triple), "ZYX")
    numbers = np.concatenate([np.zeros((1, 6)), triple], axis=1)
    source = Clip.build(arm.skeleton, local, np.zeros((1, 3)), channels=numbers)
    found = compare(source, Clip.build(arm.skeleton, local, np.zeros((1, 3))))
    assert found["e_angle_deg"] == pytest.approx(0, abs=1e-6)


def test_e_angle_uses_the_channels_of_the_original(arm):
    # the same turn of 60 degrees about z, written by one file as ZYX and by the other as XYZ
    other = Skeleton(
        ("root", "hand"),
        (-1, 0),
        arm.skeleton.offsets,
        arm.skeleton.end_sites,
        (1,),
        channels=[("Xrotation", "Yrotation", "Zrotation")] * 2,
    )
    found = compare(arm(1), arm(1, skeleton=other, turns=[(0, 1, THIRD)]))
    assert found["e_angle_deg"] == pytest.approx(60 / 2)


def test_clips_that_channels_cannot_express_have_no_e_angle(arm):
    stiff = Skeleton(
        ("root", "hand"), (-1, 0), [[0, 0, 0], [0.4, 0, 0]], channels=(("Zrotation",), ())
    )
    found = compare(arm(skeleton=stiff), arm(skeleton=stiff, turns=[(1, 1, THIRD)]))
    assert found["e_angle_deg"] is None
    assert found["rotation_deg_max"] == pytest.approx(60)
