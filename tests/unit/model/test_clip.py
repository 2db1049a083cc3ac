"""Clips: validation, cutting, sampling and resampling."""

import inspect
import pickle

import numpy as np
import pytest

from mocpack import Clip, ClipHeader, Skeleton, VertexClip, VertexHeader
from mocpack.errors import InvalidClipError, UsageError
from mocpack.model.rotations import IDENTITY, angle_between, from_rotvec
from mocpack.testing import walk
from mocpack.testing.motions import vertex_wave
from naming import naming

PAIR = Skeleton(("a", "b"), (-1, 0), [[0, 0, 0], [1, 0, 0]])


def still(frames=3):
    return np.tile(IDENTITY, (frames, 2, 1)), np.zeros((frames, 1, 3))


def with_value(array, at, value):
    array = array.copy()
    array[at] = value
    return array


def test_numbers_that_make_no_motion_say_why():
    header = ClipHeader(PAIR, 3)
    local, places = still()
    refused = [
        ((local[:2], places), "rotations (3, 2, 4) (2,"),
        ((local, places[:, :0]), "translations (3, 1, 3) 0,"),
        ((with_value(local, (1, 1), [0, 0, 0, 0]), places), "'b' frame 1"),
        ((with_value(local, (2, 0, 1), np.nan), places), "'a' frame 2"),
        ((with_value(local, (0, 0, 3), np.inf), places), "'a' frame 0"),
        ((local * 1.1, places), "'a' frame 0 1.1]"),
        ((local, with_value(places, 0, np.nan)), "translations 2e+07"),
        ((local, with_value(places, 0, 2e7)), "translations 2e+07"),
        ((local, places, np.zeros((3, 5))), "channels (3, 9) 5)"),
        ((local, places, np.full((3, 9), np.nan)), "channels (3, 9)"),
    ]
    for arrays, named in refused:
        with pytest.raises(InvalidClipError, match=naming(named)):
            Clip(header, *arrays)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"frame_count": 0}, "frame_count 0"),
        ({"frame_time": 0.0}, "frame_time 0.0"),
        ({"frame_time": float("nan")}, "frame_time 1e-06 1e+06 nan"),
        ({"unit": 0.0}, "unit 1e-09 0.0"),
        ({"unit": float("inf")}, "unit 1e+09 inf"),
        ({"translated_joints": (1, 0)}, "translated_joints"),
        ({"translated_joints": (0, 0)}, "translated_joints"),
        ({"translated_joints": (2,)}, "translated_joints"),
    ],
)
def test_a_header_that_makes_no_sense_says_why(changes, named):
    with pytest.raises(InvalidClipError, match=naming(named)):
        ClipHeader(**{"skeleton": PAIR, "frame_count": 1, **changes})


def test_quaternions_are_made_unit_and_continuous():
    local, places = still(4)
    local[1] *= -1.0004
    local[3] *= -1
    clip = Clip(ClipHeader(PAIR, 4), local, places)
    np.testing.assert_allclose(clip.rotations, np.tile(IDENTITY, (4, 2, 1)), atol=1e-15)


def test_a_clip_cannot_be_changed():
    local, places = still()
    clip = Clip(ClipHeader(PAIR, 3, metadata={"take": 1}), local, places)
    local[0], places[0] = 0, 7
    assert clip.rotations[0, 0, 3] == 1
    assert clip.translations[0, 0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        clip.rotations[0] = 0
    with pytest.raises(TypeError):
        clip.metadata["take"] = 2


def test_build_takes_a_rate_or_a_time():
    local, places = still()
    assert Clip.build(PAIR, local, places[:, 0]).frame_time == 1 / 120
    assert Clip.build(PAIR, local, places, frame_rate=50).frame_time == 1 / 50
    assert Clip.build(PAIR, local, places, frame_time=0.0083333).frame_time == 0.0083333


def test_frames_are_half_open_and_keep_the_sources_numbers():
    local, places = still()
    numbers = np.arange(27.0).reshape(3, 9)
    part = Clip(ClipHeader(PAIR, 3), local, places, numbers).frames(1, 3)
    assert part.frame_count == 2
    np.testing.assert_array_equal(part.channels, numbers[1:])


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (1, 1), (2, 1), (0, 46)])
def test_frames_that_are_not_there_are_refused(start, stop):
    with pytest.raises(UsageError, match=naming(f"frames {start}:{stop} 45")):
        walk(0.75).frames(start, stop)


def test_joints_come_with_their_ancestors_and_stand_where_they_did():
    clip = walk(0.5)
    foot = clip.skeleton.index("LeftFoot")
    leg = clip.joints([foot])
    assert leg.skeleton.names == ("Hips", "LeftUpLeg", "LeftLeg", "LeftFoot")
    np.testing.assert_allclose(leg.positions()[:, 3], clip.positions()[:, foot], atol=1e-12)


def test_a_sample_lies_between_frames_and_is_clamped():
    # b turns by 90 degrees and a moves by 1 m from the first frame to the second, in half a second
    local, places = still(2)
    local[1, 1] = from_rotvec(np.array([0, 0, np.pi / 2]))
    places[1, 0] = [1, 0, 0]
    clip = Clip.build(PAIR, local, places, frame_rate=2)
    pose = clip.sample(0.125)
    assert pose.frame_count == 1
    assert np.degrees(angle_between(pose.rotations[0, 1], IDENTITY)) == pytest.approx(22.5)
    np.testing.assert_allclose(pose.translations, [[[0.25, 0, 0]]])
    for time, frame in ((-3, 0), (0, 0), (0.5, 1), (99, 1)):
        np.testing.assert_allclose(clip.sample(time).translations[0], places[frame])


def test_headers_are_equal_in_every_part():
    def header(**changes):
        parts = {"skeleton": PAIR, "frame_count": 3, "metadata": {"a": 1}}
        return ClipHeader(**{**parts, **changes})

    assert header() == header()
    for changes in (
        {"frame_count": 4}, {"frame_time": 0.5}, {"translated_joints": ()}, {"unit": 2.0},
        {"metadata": {}}, {"skeleton": Skeleton(("a", "c"), (-1, 0), PAIR.offsets)},
    ):  # fmt: skip
        assert header(**changes) != header()


@pytest.mark.parametrize(
    ("vertices", "faces", "named"),
    [
        (np.zeros((2, 3)), None, "vertices (T, V, 3) (2,"),
        (np.zeros((2, 4, 2)), None, "vertices (2, 4, 3) 2)"),
        (np.full((1, 4, 3), np.nan), None, "vertices 2e+07"),
        (np.zeros((0, 4, 3)), None, "frame_count 0"),
        (np.zeros((2, 0, 3)), None, "vertex_count 1 16777216 0"),
        (np.zeros((2, 4, 3)), [[0, 1, 4]], "faces vertices 3"),
        (np.zeros((2, 4, 3)), [[0, 1, -1]], "faces vertices 3"),
        (np.zeros((2, 4, 3)), [[0, 1]], "faces (F, 3) (1, 2)"),
    ],
)
def test_numbers_that_make_no_mesh_in_motion_say_why(vertices, faces, named):
    with pytest.raises(InvalidClipError, match=naming(named)):
        VertexClip.build(vertices, faces)


def test_vertices_are_cut_and_sampled():
    clip = VertexClip.build(np.arange(3.0)[:, None, None] * np.ones((3, 4, 3)), frame_rate=10)
    np.testing.assert_allclose(clip.sample(0.05).vertices, np.full((1, 4, 3), 0.5))
    np.testing.assert_allclose(clip.sample(9).vertices, np.full((1, 4, 3), 2.0))
    np.testing.assert_allclose(clip.frames(1, 2).vertices, np.ones((1, 4, 3)))
    with pytest.raises(UsageError, match=naming("frames 1:4 3")):
        clip.frames(1, 4)
    assert VertexHeader(4, np.zeros((0, 3), np.int32), 3, 0.1).frame_rate == pytest.approx(10)


def test_frozen_settled_rotations_are_shared_and_others_copied():
    clip = walk().frames(0, 8)
    again = Clip(clip.header, clip.rotations, clip.translations)
    assert again.rotations is clip.rotations
    flipped = clip.rotations.copy()
    flipped[3] *= -1
    flipped.setflags(write=False)
    settled = Clip(clip.header, flipped, clip.translations)
    assert settled.rotations is not flipped
    np.testing.assert_array_equal(settled.rotations, clip.rotations)


@pytest.mark.parametrize("clip", [walk(0.2), vertex_wave()], ids=["skeleton", "vertices"])
def test_a_clip_that_was_sent_to_another_process_is_the_same_and_as_frozen(clip):
    back = pickle.loads(pickle.dumps(clip))
    assert type(back) is type(clip)
    name = "rotations" if isinstance(clip, Clip) else "vertices"
    assert np.array_equal(getattr(back, name), getattr(clip, name))
    with pytest.raises(ValueError, match="read-only"):
        getattr(back, name)[0] = 0
    with pytest.raises(TypeError):
        back.header.metadata["x"] = 1
    if isinstance(clip, Clip):
        assert back.skeleton == clip.skeleton


def test_adopted_arrays_are_settled_where_they_are():
    clip = walk().frames(0, 8)
    turns, places = clip.rotations.copy(), clip.translations.copy()
    turns[3] *= -1
    own = Clip.from_owned_arrays(clip.header, turns, places)
    assert own.rotations is turns
    assert not turns.flags.writeable
    np.testing.assert_array_equal(own.rotations, clip.rotations)


@pytest.mark.parametrize("header", [walk().skeleton, None])
def test_a_clip_made_from_a_skeleton_names_the_call_that_takes_one(header):
    clip = walk(0.2)
    with pytest.raises(InvalidClipError, match=naming("ClipHeader Clip.build")):
        Clip(header, clip.rotations, clip.translations)


def test_the_help_of_clips_says_how_they_are_made():
    text = inspect.getdoc(Clip)
    for name in ("Clip.build", "Clip.from_angles", "Clip.from_points"):
        assert name in text
