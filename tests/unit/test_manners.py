"""Clips and open files in interactive use: indexing, derived clips, display."""

import copy
import pickle

import numpy as np
import pytest

import mocpack
from mocpack.errors import UsageError
from mocpack.model import rotations
from mocpack.model.take_data import Track
from mocpack.testing import jump, walk
from mocpack.testing.motions import humanoid, vertex_wave
from naming import names, naming
from takes import all_takes, markers, take


@pytest.fixture
def clip():
    return walk(1.0)


def test_length_duration_and_rate_agree(clip):
    assert len(clip) == 60
    assert clip.fps == pytest.approx(60.0)
    assert clip.duration == pytest.approx(1.0)


def test_a_slice_of_a_clip_is_its_frames(clip):
    part = clip[10:20]
    np.testing.assert_array_equal(part.rotations, clip.rotations[10:20])
    np.testing.assert_array_equal(clip[-1].rotations[0], clip.rotations[-1])
    np.testing.assert_array_equal(clip[:].translations, clip.translations)


def test_a_slice_with_a_step_has_a_lower_rate(clip):
    part = clip[::4]
    assert len(part) == 15
    assert part.fps == pytest.approx(15.0)
    np.testing.assert_array_equal(part.rotations, clip.rotations[::4])


def test_a_name_gives_the_joint_and_its_ancestors(clip):
    foot = clip["LeftFoot"]
    assert foot.skeleton.names[-1] == "LeftFoot"
    at = clip.skeleton.index("LeftFoot")
    np.testing.assert_allclose(foot.positions()[:, -1], clip.positions()[:, at])
    both = clip[5:9, ["LeftFoot", "Head"]]
    assert len(both) == 4
    assert {"LeftFoot", "Head"} <= set(both.skeleton.names)


@pytest.mark.parametrize("key", [1.5, slice(5, 5), slice(9, 2), slice(None, None, -1), None])
def test_a_key_that_means_nothing_is_a_usage_error(clip, key):
    with pytest.raises(UsageError):
        clip[key]


def test_a_frame_beyond_the_end_is_an_index_error(clip):
    with pytest.raises(IndexError, match=naming("frame 60")):
        clip[60]
    assert sum(1 for _ in clip) == 60  # iteration ends by it


def test_an_unknown_joint_is_an_error_that_lists_the_joints(clip):
    with pytest.raises(UsageError, match=naming("'Tail' LeftFoot")):
        clip["Tail"]
    with pytest.raises(UsageError, match=naming("joints 20 21")):
        clip.joints([21])


def test_names_are_taken_wherever_indices_are(clip):
    skeleton = clip.skeleton
    assert skeleton.children("Hips") == skeleton.children(0)
    assert skeleton.with_ancestors(["Head"]) == skeleton.with_ancestors([skeleton.index("Head")])
    built = mocpack.Clip.build(
        skeleton, clip.rotations, clip.translations, frame_rate=60, translated_joints=["Hips"]
    )
    assert built.translated_joints == (0,)


def test_arrays_of_a_clip_are_read_only_and_their_copies_are_not(clip):
    with pytest.raises(ValueError, match="read-only"):
        clip.rotations[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        np.multiply(clip.translations, 2, out=clip.translations)
    changed = clip.translations.copy()
    changed[:, 0, 1] += 1
    changed *= 1.0
    assert clip.replace(translations=changed).positions()[0, 0, 1] == pytest.approx(
        clip.positions()[0, 0, 1] + 1
    )


def test_arrays_computed_from_a_clip_are_plain_numpy_arrays(clip):
    assert type(clip.rotations * 2) is np.ndarray
    assert type(np.add(clip.rotations, clip.rotations)) is np.ndarray
    assert type(np.asarray(clip.rotations)) is np.ndarray


def test_copies_and_other_processes_get_arrays_as_read_only(clip):
    for same in (copy.deepcopy(clip), pickle.loads(pickle.dumps(clip))):
        with pytest.raises(ValueError, match="read-only"):
            same.rotations[0] = 0


def test_velocities_are_those_of_the_positions():
    moving = walk(1.0)
    seconds = moving.times[:, np.newaxis, np.newaxis]
    placed = moving.replace(translations=(seconds * [0.5, 0.0, 2.0]))
    np.testing.assert_allclose(
        placed.velocities()[:, 0], np.tile([0.5, 0, 2.0], (60, 1)), atol=1e-9
    )
    assert not walk(1.0)[0].velocities().any()


def test_angular_velocities_are_those_of_an_even_turn():
    skeleton = humanoid()
    times = np.arange(50) / 50
    turns = np.tile(rotations.IDENTITY, (50, len(skeleton), 1))
    turns[:, 0] = rotations.from_rotvec(times[:, np.newaxis] * [0.0, 1.5, 0.0])
    spun = mocpack.Clip.build(skeleton, turns, np.zeros((50, 3)), frame_rate=50)
    np.testing.assert_allclose(
        spun.angular_velocities(), np.tile([0.0, 1.5, 0.0], (50, len(skeleton), 1)), atol=1e-9
    )


def test_two_columns_give_the_rotation_back(clip):
    back = rotations.from_6d(clip.rotations_6d())
    assert rotations.angle_between(back, np.asarray(clip.rotations)).max() < 1e-7


@pytest.mark.parametrize("order", ["ZYX", "XYZ", "YXZ"])
def test_euler_angles_give_the_rotation_back_and_do_not_jump(order):
    clip = walk(2.0)
    angles = clip.as_euler(order)
    back = rotations.from_euler(angles, order)
    assert rotations.angle_between(back, np.asarray(clip.rotations)).max() < 1e-7
    assert np.abs(np.diff(angles, axis=0)).max() < 1.0
    with pytest.raises(UsageError, match=naming("order 'ZYX' 'ZZX'")):
        clip.as_euler("ZZX")


def test_resampling_keeps_frames_that_both_rates_have(clip):
    half = clip.resample(30)
    np.testing.assert_allclose(half.positions(), clip.positions()[::2], atol=1e-9)
    twice = clip.resample(120)
    assert len(twice) == 119
    np.testing.assert_allclose(twice.positions()[::2], clip.positions(), atol=1e-9)
    with pytest.raises(UsageError, match="fps"):
        clip.resample(0)


def test_resampling_uneven_times_makes_them_even(clip):
    times = clip.times + 0.3 * clip.frame_time * np.sin(np.arange(len(clip)))
    uneven = clip.replace(times=times)
    even = uneven.resample(60)
    assert even.take_data.times is None
    assert even.start_time == times[0]
    np.testing.assert_allclose(
        even.sample(times[0] + 0.2).positions(),
        uneven.sample(times[0] + 0.2).positions(),
        atol=2e-3,
    )


def test_a_mirror_exchanges_the_sides_and_twice_gives_the_clip_back():
    clip = jump(1.0)
    seen = clip.mirror()
    left, right = (clip.skeleton.index(n) for n in ("LeftHand", "RightHand"))
    np.testing.assert_allclose(
        seen.positions()[:, right], clip.positions()[:, left] * (-1, 1, 1), atol=1e-9
    )
    np.testing.assert_allclose(seen.mirror().positions(), clip.positions(), atol=1e-9)


def test_a_mirror_takes_local_frames_that_are_no_mirror_images():
    clip = walk(0.5)
    rng = np.random.default_rng(4)
    frames = rotations.normalize(rng.normal(size=(len(clip.skeleton), 4)))
    turned = _in_other_frames(clip, frames)
    np.testing.assert_allclose(turned.positions(), clip.positions(), atol=1e-9)
    np.testing.assert_allclose(turned.mirror().positions(), clip.mirror().positions(), atol=1e-9)


def _in_other_frames(clip, frames):
    """Return the same motion of a skeleton whose joints have these frames (J, 4) at rest."""
    skeleton, parents = clip.skeleton, clip.skeleton.parents
    above = np.array([frames[p] if p >= 0 else rotations.IDENTITY for p in parents])
    back = rotations.conjugate(above)
    rest = rotations.multiply(back, frames)
    ends = rotations.rotate(
        rotations.conjugate(frames[list(skeleton.end_site_joints)]), skeleton.end_sites
    )
    other = mocpack.Skeleton(
        skeleton.names,
        parents,
        rotations.rotate(back, skeleton.offsets),
        ends,
        skeleton.end_site_joints,
        rest=rest,
    )
    local = rotations.multiply(rotations.multiply(back, np.asarray(clip.rotations)), frames)
    return mocpack.Clip.build(other, local, clip.translations, frame_time=clip.frame_time)


def test_a_mirror_without_pairs_says_how_to_name_them():
    skeleton = mocpack.Skeleton(["a", "b", "c"], [-1, 0, 0], [[0, 0, 0], [1, 0, 0], [-1, 0, 0]])
    turns = np.tile(rotations.IDENTITY, (2, 3, 1))
    clip = mocpack.Clip.build(skeleton, turns, np.ones((2, 3)), frame_rate=30)
    with pytest.raises(UsageError, match="pairs="):
        clip.mirror()
    seen = clip.mirror(pairs=[("b", "c")])
    np.testing.assert_allclose(seen.positions()[0], [[-1, 1, 1], [0, 1, 1], [-2, 1, 1]])


def test_bones_that_are_no_mirror_images_are_refused():
    skeleton = mocpack.Skeleton(["r", "L", "R"], [-1, 0, 0], [[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    turns = np.tile(rotations.IDENTITY, (2, 3, 1))
    with pytest.raises(UsageError, match=naming("'L' 'R' 1.41")):
        mocpack.Clip.build(skeleton, turns, np.ones((2, 3)), frame_rate=30).mirror()


def test_concatenated_clips_follow_one_another(clip):
    other = jump(0.5)
    both = clip.concat(other)
    assert len(both) == len(clip) + len(other)
    np.testing.assert_array_equal(both.rotations[:60][5], clip.rotations[5])
    assert (
        rotations.angle_between(np.asarray(both.rotations[60:]), np.asarray(other.rotations)).max()
        < 1e-7
    )
    with pytest.raises(UsageError, match=naming("clip 2 frame_time")):
        clip.concat(other.resample(30))


def test_concatenated_tracks_continue(clip):
    grip = Track("scalar", np.arange(60.0), bound=0.1)
    one = clip.replace(tracks={"grip": grip})
    both = one.concat(one)
    assert len(both.tracks["grip"]) == 120
    assert both.tracks["grip"].times is None
    gapped = one.concat(clip, one)
    seconds = gapped.tracks["grip"].seconds(clip.frame_time)
    assert seconds[60] == pytest.approx(2.0)


def test_every_take_can_be_cut_joined_and_sampled_again():
    for name, held in all_takes(most=2):
        again = held[: len(held) // 2].concat(held[len(held) // 2 :])
        assert len(again) == len(held), name
        assert len(held.resample(held.fps / 2)) >= len(held) // 2 - 1, name
        assert repr(held).count("\n") == 2, name
        assert "<svg" in held._repr_html_() or held.skeleton.is_points, name


def test_replacing_a_pose_drops_the_sources_numbers_and_nothing_else():
    held = take()
    same = held.replace()
    assert same.header == held.header
    np.testing.assert_array_equal(same.rotations, held.rotations)
    assert same.take_data == held.take_data
    with pytest.raises(UsageError, match=naming("'rotation' skeleton rotations")):
        held.replace(rotation=1)


def test_a_clip_says_what_it_is_in_three_lines(clip):
    first, second, third = repr(clip).splitlines()
    assert names(first, "Clip 60 frames 60 fps 1.000 s")
    assert names(second, "21 joints Hips, Spine, Chest … RightToe")
    assert names(third, "translated Hips")


def test_a_notebook_shows_a_picture_with_safe_names(clip):
    names = ["<b>", *clip.skeleton.names[1:]]
    skeleton = mocpack.Skeleton(
        names,
        clip.skeleton.parents,
        clip.skeleton.offsets,
        clip.skeleton.end_sites,
        clip.skeleton.end_site_joints,
    )
    shown = clip.replace(skeleton=skeleton)._repr_html_()
    assert shown.count("<line") == 20 + len(clip.skeleton.end_site_joints)
    assert "&lt;b&gt;" in shown


def test_markers_show_the_share_that_was_not_seen():
    points = markers()
    assert f"{1 - points.take_data.valid.mean():.1%} not seen" in repr(points)


def test_mirrored_markers_exchange_places_and_gaps():
    points = markers()
    pairs = [("M1", "M4"), ("M2", "M3")]
    exchanged = [0, 4, 3, 2, 1, 5]
    seen = points.mirror(axis="x", pairs=pairs)
    np.testing.assert_array_equal(seen.positions(), points.positions()[:, exchanged] * (-1, 1, 1))
    np.testing.assert_array_equal(seen.take_data.valid, points.take_data.valid[:, exchanged])
    np.testing.assert_array_equal(
        seen.mirror(axis="x", pairs=pairs).positions(), points.positions()
    )


def test_a_plot_has_the_bones_of_five_poses(clip):
    pytest.importorskip("matplotlib")
    axes = clip.plot()
    bones = 20 + len(clip.skeleton.end_site_joints)
    assert len(axes.lines) == 5 * bones + 1


@pytest.fixture
def motion(clip):
    with mocpack.open(mocpack.encode(clip, max_error="5mm")) as opened:
        yield opened


def test_an_open_file_is_indexed_like_its_clip(motion):
    whole = motion.clip()
    assert len(motion) == 60
    np.testing.assert_array_equal(motion[12:24].rotations, whole.rotations[12:24])
    np.testing.assert_array_equal(motion[-1].rotations, whole[-1].rotations)
    assert motion[12:24, "LeftFoot"].skeleton.names[-1] == "LeftFoot"
    assert motion[::6].fps == pytest.approx(10.0)
    with pytest.raises(IndexError):
        motion[60]
    with pytest.raises(UsageError):
        motion[5:5]


def test_an_open_file_goes_by_in_windows(motion):
    assert [len(w) for w in motion.windows(25)] == [25, 25, 10]
    assert [len(w) for w in motion.windows(25, stride=10)] == [25, 25, 25, 25]
    assert [len(w) for w in motion] == [60]
    with pytest.raises(UsageError, match="stride"):
        next(motion.windows(10, stride=0))


def test_an_open_file_has_a_readable_repr(motion):
    first, second, third = repr(motion).splitlines()
    assert names(first, "Motion 60 frames 60 fps 1.000 s")
    assert second.startswith("  21 joints")
    assert "keysine" in third
    assert names(third, "5 mm")


def test_read_checks_the_kind_that_is_requested(tmp_path, clip):
    path = tmp_path / "walk.bvh"
    mocpack.write(clip, path)
    assert mocpack.read(path, kind="skeleton").frame_count == 60
    with pytest.raises(UsageError, match=naming("walk.bvh skeleton vertices")):
        mocpack.read(path, kind="vertices")


def test_a_vertex_animation_has_the_manners_of_a_clip():
    mesh = vertex_wave(frames=30)
    assert len(mesh) == 30
    assert mesh.fps == pytest.approx(30.0)
    assert mesh.duration == pytest.approx(1.0)
    np.testing.assert_array_equal(mesh[5:9].vertices, mesh.vertices[5:9])
    np.testing.assert_array_equal(mesh[-1].vertices[0], mesh.vertices[-1])
    assert mesh[::3].fps == pytest.approx(10.0)
    assert len(mesh.times) == 30
    lines = repr(mesh).splitlines()
    assert names(lines[0], "VertexClip 30 frames 30 fps 1.000 s")
    assert lines[1] == "  36 vertices, 50 triangles"
    assert len(lines) == 3


def test_a_vertex_animation_has_no_joints_to_pick():
    with pytest.raises(UsageError, match=naming("'LeftFoot'")):
        vertex_wave()["LeftFoot"]


@pytest.mark.parametrize("key", [1.5, slice(5, 5), slice(9, 2), slice(None, None, -1), None])
def test_a_key_that_means_nothing_to_a_vertex_animation_is_a_usage_error(key):
    with pytest.raises(UsageError):
        vertex_wave(frames=12)[key]


def test_a_resampled_vertex_animation_keeps_its_ends_and_interpolates():
    mesh = vertex_wave(frames=31)
    finer, coarser = mesh.resample(60), mesh.resample(15)
    np.testing.assert_allclose(finer.vertices[::2], mesh.vertices)
    np.testing.assert_allclose(finer.vertices[1], mesh.vertices[:2].mean(0))
    np.testing.assert_allclose(coarser.vertices, mesh.vertices[::2])
    assert len(mesh[:1].resample(60)) == 1


def test_vertex_animations_of_other_meshes_do_not_join():
    mesh = vertex_wave(frames=4)
    joined = mesh.concat(mesh[1:])
    np.testing.assert_array_equal(joined.vertices[4:], mesh.vertices[1:])
    with pytest.raises(UsageError, match=naming("clip 2 faces")):
        mesh.concat(vertex_wave(frames=4, side=5))
    with pytest.raises(UsageError, match=naming("clip 2 frame_time")):
        mesh.concat(mesh[::2])


def test_vertices_move_as_fast_as_they_are_differenced():
    mesh = vertex_wave(frames=5)
    expected = (mesh.vertices[2] - mesh.vertices[0]) * mesh.fps / 2
    np.testing.assert_allclose(mesh.velocities()[1], expected)
    assert not mesh[0].velocities().any()


def test_an_open_file_knows_its_size(clip):
    data = mocpack.encode(clip, max_error="5mm", effort="fast")
    with mocpack.open(data) as motion:
        assert names(repr(motion), f"keysine {len(data)} bytes 5 mm")
