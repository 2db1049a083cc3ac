"""The guessed up axis: files that are z up are turned, files that are y up never are."""

import warnings

import numpy as np
import pytest
from command_line import run_text as run

import mocpack
from mocpack.bench.datasets import COMMITTED, collection, load_clip
from mocpack.errors import FormatWarning, UsageError
from mocpack.io import write_bytes
from mocpack.io.up_axis import turn_to_y_up
from mocpack.model import rotations, space
from mocpack.testing import walk
from mocpack.testing.motions import vertex_wave
from naming import names, naming


def lying(clip):
    """Return a clip whose axes are those of a z-up program: the world and every joint's frame."""
    back = rotations.conjugate(rotations.from_matrix(space.conversion_matrix("z", "right")))
    skeleton = mocpack.Skeleton(
        clip.skeleton.names,
        clip.skeleton.parents,
        space.from_internal(clip.skeleton.offsets, "z"),
        space.from_internal(clip.skeleton.end_sites, "z"),
        clip.skeleton.end_site_joints,
        clip.skeleton.channels,
    )
    turns = rotations.multiply(rotations.multiply(back, clip.rotations), rotations.conjugate(back))
    places = space.from_internal(clip.translations, "z")
    return clip.replace(skeleton=skeleton, rotations=turns, translations=places)


def read(data, name="a.bvh", **options):
    """Return the clip, and the text of the warnings about its axis."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clip = mocpack.read_data(data, name=name, **options)
    assert all(one.category is FormatWarning for one in caught)
    said = [str(one.message) for one in caught]
    return clip, "\n".join(text for text in said if "up" in text)


@pytest.fixture(scope="module")
def jump():
    return load_clip("cmu/49_02", COMMITTED).frames(1, 600)


def test_a_z_up_bvh_is_turned_and_says_so(jump):
    clip, said = read(write_bytes(lying(jump), ".bvh"))
    np.testing.assert_allclose(clip.positions(), jump.positions(), atol=1e-6)
    assert (clip.header.up, clip.metadata["up_guessed"]) == ("z", "z")
    assert names(said, "a.bvh z --up")
    np.testing.assert_allclose(
        clip.source_points(), space.from_internal(jump.positions(), "z"), atol=1e-6
    )


def test_a_y_up_bvh_is_not_turned_and_says_nothing(jump):
    clip, said = read(write_bytes(jump, ".bvh"))
    assert (clip.header.up, said) == ("y", "")
    assert "up_guessed" not in clip.metadata
    assert clip.channels is not None


def test_the_user_overrules_the_guess(jump):
    data = write_bytes(lying(jump), ".bvh")
    clip, said = read(data, up="y")
    np.testing.assert_allclose(clip.positions(), lying(jump).positions(), atol=1e-6)
    assert said == ""
    for up in ("x", "z"):
        clip, said = read(write_bytes(jump, ".bvh"), up=up)
        turned = space.to_internal(jump.positions(), up)
        np.testing.assert_allclose(clip.positions(), turned, atol=1e-6)
        assert (said, clip.header.up) == ("", up)
    with pytest.raises(UsageError, match=naming("a.bvh up 'w' x y z")):
        read(data, up="w")


def test_a_doubtful_axis_is_said_and_not_turned(jump):
    # the rest pose stands along y, the motion along z
    only_motion = turn_to_y_up(turn_to_y_up(turn_to_y_up(jump, "z"), "z"), "z")
    assert only_motion.positions()[..., 2].max() > 1
    clip, said = read(write_bytes(only_motion, ".bvh"))
    np.testing.assert_allclose(clip.positions(), only_motion.positions(), atol=1e-6)
    assert clip.metadata["up_doubtful"] == "z"
    assert names(said, "a.bvh z --up")


def test_a_turned_clip_can_be_packed_and_written(jump, tmp_path):
    clip, _ = read(write_bytes(lying(jump.frames(0, 180)), ".bvh"))
    for codec in ("keysine:effort=fast", "lossless"):
        back = mocpack.decode(mocpack.encode(clip, codec, max_error=None))
        assert back.header.up == "z"
        assert np.abs(back.positions() - clip.positions()).max() < 2e-3
    again, said = read(write_bytes(clip, ".bvh"))
    np.testing.assert_allclose(again.positions(), clip.positions(), atol=1e-6)
    assert said == ""


def test_a_root_with_few_channels_is_turned():
    text = """HIERARCHY
ROOT base
{
 OFFSET 0 0 3
 CHANNELS 1 Zrotation
 JOINT arm
 {
  OFFSET 0 0 40
  CHANNELS 3 Zrotation Yrotation Xrotation
  End Site
  {
   OFFSET 30 0 0
  }
 }
}
MOTION
Frames: 2
Frame Time: 0.1
10 0 0 0
20 5 0 0
"""
    plain, _ = read(text.encode(), up="y")
    clip, _ = read(text.encode(), up="z")
    turned = space.to_internal(plain.positions(), "z")
    np.testing.assert_allclose(clip.positions(), turned, atol=1e-9)
    np.testing.assert_allclose(clip.angles, plain.angles, atol=1e-9)
    again, _ = read(write_bytes(clip, ".bvh"))
    np.testing.assert_allclose(again.positions(), clip.positions(), atol=1e-6)


@pytest.mark.parametrize("suffix", [".npz", ".pc2", ".mdd", ".trc", ".c3d"])
def test_every_format_that_states_no_axis_takes_one(tmp_path, suffix):
    markers = mocpack.Clip.from_points(walk(0.5).positions(), walk(0.5).skeleton.names)
    clip = vertex_wave() if suffix in (".pc2", ".mdd") else markers
    path = tmp_path / f"a{suffix}"
    mocpack.write(clip, path)
    points = clip.positions() if isinstance(clip, mocpack.Clip) else clip.vertices
    for up in ("x", "y", "z"):
        back, said = read(path.read_bytes(), path.name, up=up)
        found = back.positions() if isinstance(back, mocpack.Clip) else back.vertices
        np.testing.assert_allclose(found, space.to_internal(points, up), atol=1e-5)
        assert said == ""


def test_an_acclaim_motion_takes_an_axis(tmp_path):
    mocpack.write(walk(0.3), tmp_path / "a.amc")
    plain = mocpack.read(tmp_path / "a.amc")
    back = mocpack.read(tmp_path / "a.amc", up="z")
    turned = space.to_internal(plain.positions(), "z")
    np.testing.assert_allclose(back.positions(), turned, atol=1e-5)


def test_formats_that_state_their_axis_refuse_one(tmp_path):
    for name in ("a.glb", "a.mocp"):
        mocpack.write(walk(0.3), tmp_path / name)
        with pytest.raises(UsageError, match=naming(f"{name} up")):
            mocpack.read(tmp_path / name, up="z")


def test_the_command_line_says_it_and_has_the_option(jump, tmp_path):
    path = tmp_path / "z.bvh"
    path.write_bytes(write_bytes(lying(jump.frames(0, 300)), ".bvh"))
    done = run("convert", path, tmp_path / "a.glb")
    assert done.returncode == 0
    assert names(done.stderr, "z.bvh z --up")
    done = run("compress", path, "-o", tmp_path / "a.mocp", "--effort", "fast")
    assert names(done.stdout, "z --up")
    done = run("convert", path, tmp_path / "b.glb", "--up", "y")
    assert (done.returncode, done.stderr) == (0, "")
    highest = mocpack.read(tmp_path / "b.glb").positions()[..., 1].max()
    assert highest < mocpack.read(tmp_path / "a.glb").positions()[..., 1].max()


@pytest.mark.slow
def test_real_clips_are_guessed_right():
    found = []
    for path in [*collection("cmu", COMMITTED), *collection("asfamc", COMMITTED)]:
        whole = mocpack.read(path)
        clip = whole[1 :: 1 + whole.frame_count // 300]
        upright, _ = read(write_bytes(clip, ".bvh"))
        assert upright.header.up == "y", path
        found.append(read(write_bytes(lying(clip), ".bvh"))[0])
    assert all("up_guessed" in clip.metadata or "up_doubtful" in clip.metadata for clip in found)
    assert np.mean([clip.header.up == "z" for clip in found]) > 0.9
