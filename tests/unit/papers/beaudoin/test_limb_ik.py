import numpy as np
import pytest

from mocpack.errors import UnsupportedClipError
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.dofs import to_dofs
from mocpack.model.skeleton import Skeleton
from mocpack.papers.beaudoin.codec.limb_ik import (
    SOLVERS,
    Limb,
    check_apart,
    check_two_bone,
    find_feet,
    limb_of,
    move_ends,
    turning_order,
)
from mocpack.testing import humanoid, walk
from mocpack.testing.motions import chain
from naming import naming

LEG = ("Hips", "UpLeg", "Leg", "Foot")


def leg(knee=("Xrotation",), hip=("Zrotation", "Yrotation", "Xrotation"), bend=1.0):
    """One leg of 0.4 m thigh and shin, bent at the knee."""
    skeleton = Skeleton(
        LEG,
        (-1, 0, 1, 2),
        [[0, 0, 0], [0, 0, 0.1], [0, -0.4, 0], [0, -0.4, 0]],
        channels=(("Xposition", "Yposition", "Zposition"), hip, knee, ()),
    )
    local = np.tile(rotations.IDENTITY, (3, 4, 1))
    local[:, 2] = rotations.from_rotvec(np.array([bend, 0, 0]))
    return Clip.build(skeleton, local, np.array([[0, 1.0, 0]] * 3))


def crouching(clip):
    """The same motion with bent knees, so that every small shift is within reach."""
    local = clip.rotations.copy()
    for name, angle in (("Leg", 0.8), ("UpLeg", -0.4)):
        joints = [clip.skeleton.index(side + name) for side in ("Left", "Right")]
        bend = rotations.from_rotvec(np.array([angle, 0.0, 0.0]))
        local[:, joints] = rotations.multiply(local[:, joints], bend)
    return Clip(clip.header, local, clip.translations)


def moved(clip, shift, solver, end="Foot", count=2):
    skeleton = clip.skeleton
    limb = limb_of(skeleton, skeleton.index(end), count)
    shifts = np.tile(np.asarray(shift, float), (clip.frame_count, 1, 1))
    back = move_ends(clip, [limb], shifts, solver=solver)
    return back, back.positions()[:, limb.end] - clip.positions()[:, limb.end]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shift", [[0, 0.01, 0], [0.02, 0, -0.01], [-0.01, 0.005, 0.02]])
def test_the_foot_goes_where_it_is_sent(shift, solver):
    _, found = moved(leg(), shift, solver)
    np.testing.assert_allclose(found, [shift] * 3, atol=2e-4 if solver == "ccd" else 1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_shift_changes_nothing(solver):
    clip = leg()
    back, _ = moved(clip, [0, 0, 0], solver)
    assert rotations.angle_between(back.rotations, clip.rotations).max() < 1e-7


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_target_out_of_reach_is_approached(solver):
    # 0.8 m of leg cannot stretch to 1.8 m: it ends straight, pointing there
    back, _ = moved(leg(), [0, -1.0, 0], solver)
    hip, foot = back.positions()[0, 1], back.positions()[0, 3]
    assert np.linalg.norm(foot - hip) > (0.79 if solver == "ccd" else 0.8 - 1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_analytic_knee_angle_by_hand(solver):
    # straight down, the hip 0.8 above: raise the foot to where cosines give a knee of 60°
    clip = leg(bend=0.9)
    hip, foot = clip.positions()[0, 1], clip.positions()[0, 3]
    wanted = hip + np.array(
        [0, -0.4, 0]
    )  # thigh, shin and distance all 0.4: an equilateral triangle
    back, _ = moved(clip, wanted - foot, solver)
    angle = np.linalg.norm(rotations.as_rotvec(back.rotations[0, 2]))
    assert angle == pytest.approx(np.radians(120), abs=1e-9 if solver == "analytic" else 1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_hinge_stays_a_hinge(solver):
    back, _ = moved(leg(), [0.02, 0.01, 0.03], solver)
    to_dofs(back)  # refuses a knee that turns about another axis than its own


def test_two_axes_stay_two_axes():
    clip = leg(knee=("Xrotation", "Zrotation"))
    back, found = moved(clip, [0.01, 0.01, 0.01], "ccd")
    to_dofs(back)
    np.testing.assert_allclose(found, [[0.01] * 3] * 3, atol=2e-4)


def test_both_feet_at_once_and_nothing_else_moves():
    clip = crouching(walk(0.5))
    skeleton = clip.skeleton
    feet = find_feet(skeleton)
    assert [skeleton.names[j] for j in feet] == ["LeftFoot", "RightFoot"]
    limbs = [limb_of(skeleton, foot, 2) for foot in feet]
    shifts = np.random.default_rng(0).normal(0, 0.005, (clip.frame_count, 2, 3))
    back = move_ends(clip, limbs, shifts, solver="ccd")
    found = back.positions()[:, feet] - clip.positions()[:, feet]
    reached = np.linalg.norm(found - shifts, axis=-1)
    assert reached.max() < 1e-4
    others = [j for j in range(len(skeleton)) if "Leg" not in skeleton.names[j]]
    np.testing.assert_array_equal(back.rotations[:, others], clip.rotations[:, others])
    turned = rotations.angle_between(back.rotations, clip.rotations)
    assert turned.max() < 0.6  # near the pose it began with


def test_a_toe_needs_a_longer_chain():
    clip = walk(0.3)
    names = clip.skeleton.names
    limb = limb_of(clip.skeleton, clip.skeleton.index("LeftToe"), 3)
    assert [names[j] for j in limb.joints] == ["LeftFoot", "LeftLeg", "LeftUpLeg"]
    _, found = moved(clip, [0.004, 0.002, 0], "ccd", end="LeftToe", count=3)
    np.testing.assert_allclose(found, np.tile([0.004, 0.002, 0], (18, 1)), atol=2e-4)


def test_helper_joints_without_length_are_passed_over():
    skeleton = Skeleton(
        ("Hips", "UpLeg", "Twist", "Leg", "Foot"),
        (-1, 0, 1, 2, 3),
        [[0, 0, 0], [0.1, 0, 0], [0, -0.4, 0], [0, 0, 0], [0, -0.4, 0]],
    )
    limb = limb_of(skeleton, 4, 2)
    assert [skeleton.names[j] for j in limb.joints] == ["Leg", "UpLeg"]
    local = np.tile(rotations.IDENTITY, (1, 5, 1))
    local[0, 3] = rotations.from_rotvec(np.array([1.0, 0, 0]))
    clip = Clip.build(skeleton, local, np.zeros((1, 3)))
    shifts = np.array([[[0.01, 0.02, 0.0]]])
    for solver in SOLVERS:
        back = move_ends(clip, [limb], shifts, solver=solver)
        found = back.positions()[0, 4] - clip.positions()[0, 4]
        np.testing.assert_allclose(found, shifts[0, 0], atol=2e-4)


def test_a_skeleton_without_legs_says_so():
    assert find_feet(chain(5, 1).skeleton) == []
    with pytest.raises(UnsupportedClipError, match=naming("'Spine' 0 2")):
        limb_of(humanoid(), humanoid().index("Spine"), 2)


def test_the_closed_form_says_what_it_cannot_solve():
    skeleton = humanoid()
    with pytest.raises(UnsupportedClipError, match=naming("'LeftFoot' 'LeftLeg' 'LeftUpLeg'")):
        check_two_bone(skeleton, limb_of(skeleton, skeleton.index("LeftToe"), 3))
    hinged = leg(hip=("Xrotation",)).skeleton
    with pytest.raises(UnsupportedClipError, match=naming("'UpLeg' 1 'Leg'")):
        check_two_bone(hinged, limb_of(hinged, 3, 2))


def test_joints_turn_from_the_hip_down_limb_by_limb():
    assert turning_order([Limb(4, (3, 2)), Limb(9, (8, 7))]) == [2, 3, 7, 8]


def test_limbs_that_share_joints_are_one_and_turn_twice():
    foot, toe, arm = Limb(4, (3, 2)), Limb(5, (4, 3)), Limb(9, (8,))
    assert turning_order([toe, arm, foot]) == [2, 3, 4, 2, 3, 4, 8]


def test_a_limb_that_touches_two_others_joins_them():
    assert turning_order([Limb(3, (2,)), Limb(6, (5,)), Limb(9, (5, 2))]) == [2, 5, 2, 5]


def test_ends_above_one_another_both_reach_their_places():
    clip = crouching(walk(0.5))
    skeleton = clip.skeleton
    limbs = [limb_of(skeleton, skeleton.index(name), 2) for name in ("LeftFoot", "LeftToe")]
    wanted = crouching(crouching(walk(0.5)))
    ends = [limb.end for limb in limbs]
    shifts = wanted.positions()[:, ends] - clip.positions()[:, ends]
    found = move_ends(clip, limbs, shifts, solver="ccd")
    missed = np.linalg.norm(found.positions()[:, ends] - wanted.positions()[:, ends], axis=-1)
    assert np.linalg.norm(shifts, axis=-1).min() > 0.01
    assert missed.max() < 2e-4


def test_the_closed_form_refuses_limbs_that_share_a_joint():
    skeleton = walk(0.1).skeleton
    limbs = [limb_of(skeleton, skeleton.index(name), 2) for name in ("LeftFoot", "LeftToe")]
    with pytest.raises(UnsupportedClipError, match=naming("'LeftFoot' 'LeftToe' 'LeftLeg' ik=ccd")):
        check_apart(skeleton, limbs)
