"""Skeletons: valid ones, and the errors of invalid ones."""

import pickle

import numpy as np
import pytest

from mocpack import Skeleton
from mocpack.common.frozen import freeze_array
from mocpack.errors import InvalidClipError, UsageError
from mocpack.model.skeleton import MAX_JOINTS, position_axes, rotation_order
from mocpack.testing import humanoid
from naming import naming


def make(**changes):
    parts = {"names": ("a", "b", "c"), "parents": (-1, 0, 1), "offsets": np.ones((3, 3))}
    return Skeleton(**{**parts, **changes})


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"names": (), "parents": (), "offsets": np.zeros((0, 3))}, "joints 1 65535 0"),
        ({"parents": (-1, 0)}, "parents 3 2"),
        ({"parents": (0, 0, 1)}, "root parent 0"),
        ({"parents": (-1, 2, 1)}, "joint 1 'b' parent 2"),
        ({"parents": (-1, 1, 1)}, "joint 1 'b' parent"),
        ({"parents": (-1, 0, -2)}, "joint 2 'c' parent -2"),
        ({"names": ("a", "ü" * 128, "c")}, "255 '" + "ü" * 40),
        ({"rest": np.ones((3, 4))}, "rest"),
        ({"scales": np.full((3, 3), np.nan)}, "scales 1e6"),
        ({"scales": np.ones((2, 3))}, "scales (3, 3) (2,"),
        ({"names": ("a", "b\ud800", "c")}, r"joint 'b\ud800'"),
        (
            {"end_sites": np.ones((65_536, 3)), "end_site_joints": (1,) * 65_536},
            "65535 65536",
        ),
        ({"offsets": np.ones((2, 3))}, "offsets (3, 3) (2,"),
        ({"offsets": np.full((3, 3), np.nan)}, "offsets 1e6"),
        ({"offsets": np.full((3, 3), 2e6)}, "offsets 1e6"),
        ({"end_sites": np.ones((1, 3))}, "end_sites (0, 3) (1,"),
        (
            {"end_sites": np.full((1, 3), np.inf), "end_site_joints": (0,)},
            "end_sites 1e6",
        ),
        (
            {"end_sites": np.ones((2, 3)), "end_site_joints": (2, 1)},
            "end_site_joints",
        ),
        (
            {"end_sites": np.ones((1, 3)), "end_site_joints": (3,)},
            "end_site_joints",
        ),
        ({"axes": np.ones((3, 4))}, "axes"),
        ({"axes": np.ones((1, 4))}, "axes (3, 4) (1,"),
        ({"channels": [()]}, "channels 3 1"),
        ({"channels": [(), ("Wrotation",), ()]}, "'b' channels Wrotation"),
        (
            {"channels": [(), ("Xrotation", "Xrotation"), ()]},
            "'b' channels Xrotation",
        ),
        (
            {"channels": [("tx", "Xrotation"), (), ()]},
            "'a' tx Xrotation",
        ),
    ],
)
def test_invalid_skeletons_are_clear_errors(changes, named):
    with pytest.raises(InvalidClipError, match=naming(named)):
        make(**changes)


def test_too_many_joints_are_refused():
    count = MAX_JOINTS + 1
    names = tuple(map(str, range(count)))
    with pytest.raises(InvalidClipError, match=naming("joints 1 65535 65536")):
        Skeleton(names, tuple(range(-1, count - 1)), np.zeros((count, 3)))


def test_a_skeleton_cannot_be_changed():
    offsets = np.ones((3, 3))
    skeleton = make(offsets=offsets)
    offsets[0, 0] = 5
    assert skeleton.offsets[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        skeleton.offsets[0, 0] = 5


def test_a_view_that_cannot_be_written_but_its_base_can_is_copied():
    base = np.ones((4, 3))
    view = base[:3]
    view.setflags(write=False)
    kept = freeze_array(view)
    base[0, 0] = 5
    assert kept[0, 0] == 1


def test_without_channels_it_is_the_most_common_bvh():
    skeleton = make()
    assert skeleton.channel_count == 6 + 3 + 3
    assert (
        skeleton.channels[0][3:] == skeleton.channels[1] == ("Zrotation", "Yrotation", "Xrotation")
    )
    assert skeleton.translated_joints == (0,)


def test_equal_is_equal_in_every_part():
    assert make() == make()
    others = [
        make(names=("a", "b", "d")),
        make(parents=(-1, 0, 0)),
        make(offsets=np.zeros((3, 3))),
        make(end_sites=np.ones((1, 3)), end_site_joints=(1,)),
        make(channels=[(), (), ()]),
        make(axes=np.tile([0, 0, 1.0, 0], (3, 1))),
    ]
    assert not any(other == make() for other in others)
    assert make() != "a"


def test_joints_are_found_by_name():
    assert make().index("c") == 2
    with pytest.raises(UsageError, match=naming("'z' a b c")):
        make().index("z")


def test_children_and_ancestors():
    body = humanoid()
    assert [body.names[j] for j in body.children(body.index("Chest"))] == [
        "Neck",
        "LeftShoulder",
        "RightShoulder",
    ]
    kept = body.with_ancestors([body.index("LeftFoot"), body.index("Neck")])
    assert [body.names[j] for j in kept] == [
        "Hips",
        "Spine",
        "Chest",
        "Neck",
        "LeftUpLeg",
        "LeftLeg",
        "LeftFoot",
    ]


def test_a_subset_keeps_tree_ends_and_channels():
    body = humanoid()
    kept = body.with_ancestors([body.index("LeftToe")])
    leg = body.subset(kept)
    assert leg.names == ("Hips", "LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToe")
    assert leg.parents == (-1, 0, 1, 2, 3)
    np.testing.assert_array_equal(leg.offsets, body.offsets[kept])
    assert leg.end_site_joints == (4,)
    np.testing.assert_array_equal(leg.end_sites, [[0, 0, 0.07]])
    assert leg.channels == tuple(body.channels[j] for j in kept)


def test_channels_of_position_and_rotation():
    names = ("Zposition", "Yrotation", "Xposition", "Xrotation")
    assert rotation_order(names) == ("YX", [1, 3])
    assert position_axes(names) == [(2, 0), (0, 2)]
    assert rotation_order(("tz", "rx", "rz")) == ("ZX", [2, 1])
    assert position_axes(("tz", "rx", "tx")) == [(2, 0), (0, 2)]
    assert rotation_order(()) == ("", [])


def test_the_native_form_is_made_once_for_the_same_translated_joints():
    skeleton = humanoid()
    assert skeleton.to_core((0,)) is skeleton.to_core([0])
    assert skeleton.to_core((0, 1)) is not skeleton.to_core((0,))


def test_other_processes_make_a_native_form_of_their_own():
    skeleton = humanoid()
    native = skeleton.to_core((0,))
    again = pickle.loads(pickle.dumps(skeleton))
    assert again == skeleton
    assert again.to_core((0,)) is not native
