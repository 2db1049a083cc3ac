"""Scenes: several clips on one clock in one file."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import mocpack
from mocpack.common.source import open_source
from mocpack.container import pack_scene, scene_parts
from mocpack.errors import (
    CorruptionError,
    FormatError,
    MemoryLimitError,
    SceneError,
    TruncatedError,
    UsageError,
)
from mocpack.model.scene import merge_clips
from mocpack.testing import walk
from mocpack.testing.contract import fix_checksums
from mocpack.testing.motions import vertex_wave
from mocpack.viewing.motions import select
from naming import naming
from takes import FEATURES, markers, take


def clips():
    """Two actors and a prop; the second actor comes later."""
    late = take(["space"])
    return {"anna": walk(0.5), "ben": late, "box": markers(20, 3)}


@pytest.fixture(scope="module")
def data():
    return mocpack.encode_scene(clips(), max_error="1mm")


def test_a_scene_gives_every_clip_back_by_name(tmp_path, data):
    path = tmp_path / "both.mocp"
    path.write_bytes(data)
    found = mocpack.read_scene(path)
    assert list(found) == ["anna", "ben", "box"]
    for name, clip in clips().items():
        assert found[name].header == clip.header
        assert mocpack.compare(clip, found[name])["max_error_mm"] <= 1.0
    assert found["ben"].start_time == 2.5


def test_one_clip_of_a_scene_is_opened_by_its_name(tmp_path, data):
    path = tmp_path / "both.mocp"
    path.write_bytes(data)
    assert mocpack.clip_names(path) == ["anna", "ben", "box"]
    with mocpack.open(path, clip="ben") as motion:
        again = pickle.loads(pickle.dumps(motion))
        np.testing.assert_array_equal(motion.frames(2, 5).rotations, again.frames(2, 5).rotations)
        again.close()
    assert mocpack.read(path, clip="box").skeleton.is_points


def test_a_scene_of_several_clips_needs_a_name(data):
    with pytest.raises(SceneError, match=naming("anna ben box")):
        mocpack.decode(data)
    with pytest.raises(SceneError, match=naming("anna ben box 'carl'")):
        mocpack.decode(data, clip="carl")
    with pytest.raises(SceneError, match=naming("'anna'")):
        mocpack.decode(mocpack.encode(walk(0.2)), clip="anna")


def test_a_scene_of_one_is_read_as_a_clip():
    data = mocpack.encode_scene({"anna": walk(0.2)}, "raw")
    assert mocpack.decode(data).frame_count == 12


def test_any_motion_file_is_a_scene_of_one(tmp_path):
    path = tmp_path / "walk.bvh"
    mocpack.write(walk(0.2), path)
    assert list(mocpack.read_scene(path)) == ["walk"]
    packed = tmp_path / "hop.mocp"
    packed.write_bytes(mocpack.encode(walk(0.2)))
    assert list(mocpack.read_scene(packed)) == ["hop"]


def test_writing_a_scene_takes_what_encode_takes(tmp_path):
    path = tmp_path / "two.mocp"
    mocpack.write_scene({"a": walk(0.2), "b": walk(0.3)}, path, codec="raw")
    assert mocpack.clip_names(path) == ["a", "b"]
    with pytest.raises(UsageError, match=naming("clip")):
        mocpack.write_scene({}, path)


def test_every_truncation_of_a_scene_is_a_truncated_error():
    data = mocpack.encode_scene({"a": walk(0.1), "b": walk(0.1)}, "raw")
    whole = {5 + len(pack_scene({"a": mocpack.encode(walk(0.1), "raw")})) - 5}
    for end in range(0, len(data), 7):
        if end in whole:
            continue
        with pytest.raises(TruncatedError):
            mocpack.decode_scene(data[:end])


def test_flips_in_a_scene_are_format_errors():
    data = mocpack.encode_scene({"a": walk(0.1), "b": walk(0.1)}, "raw")
    rng = np.random.default_rng(5)
    for bit in rng.integers(40, 8 * len(data), 200):
        bad = bytearray(data)
        bad[bit // 8] ^= 1 << (bit % 8)
        with pytest.raises(FormatError):
            mocpack.decode_scene(bytes(bad))


def test_invalid_scenes_are_refused():
    clip = mocpack.encode(walk(0.1), "raw")
    with pytest.raises(CorruptionError, match=naming("'a'")):
        scene_parts(open_source(pack_scene({"a": clip}) + pack_scene({"a": clip})[5:]))
    with pytest.raises(CorruptionError, match="CLIP"):
        mocpack.decode(fix_checksums(clip + b"CLIP\x03\0\0\0\0abc"))
    with pytest.raises(UsageError, match=naming(f"1024 '{'x' * 40}'")):
        pack_scene({"x" * 1025: clip})
    half_a_character = pack_scene({"a\u00e9": clip}).replace("a\u00e9".encode(), b"a\xc3a")
    with pytest.raises(CorruptionError):
        mocpack.decode_scene(fix_checksums(half_a_character))


def test_merged_clips_have_their_own_poses_at_each_time():
    scene = clips()
    both = merge_clips(scene)
    assert both.skeleton.names[0] == "anna/Hips"
    assert both.start_time == 0.0
    assert both.times[-1] == pytest.approx(scene["ben"].times[-1], abs=both.frame_time)
    at, positions = 0, both.positions()
    for clip in scene.values():
        joints = slice(at, at + len(clip.skeleton))
        for frame in (0, 20, both.frame_count - 1):
            there = clip.sample(both.times[frame]).positions()[0]
            np.testing.assert_allclose(positions[frame, joints], there, atol=1e-9)
        at += len(clip.skeleton)
    with pytest.raises(UsageError, match=naming("clip")):
        merge_clips({})
    late = replace(scene["anna"], header=replace(scene["anna"].header, start_time=1e8))
    with pytest.raises(UsageError, match=naming("6000000030 1000000")):
        merge_clips({"anna": scene["anna"], "late": late})


def test_the_viewer_shows_all_clips_of_a_scene(tmp_path, data):
    path = tmp_path / "both.mocp"
    path.write_bytes(data)
    (shown,) = select(str(path)).versions
    assert shown.codec == "scene"
    assert len(shown.clip.skeleton) == sum(len(clip.skeleton) for clip in clips().values())
    assert shown.data is None


@pytest.mark.parametrize("codec", ["raw", "keysine"])
def test_take_data_in_a_scene_equals_that_of_single_files(codec):
    takes = {feature: take([feature]) for feature in FEATURES} | {"all": take(), "m": markers()}
    alone = {name: mocpack.encode(clip, codec, **fast(codec)) for name, clip in takes.items()}
    scene = mocpack.encode_scene(takes, codec, **fast(codec))
    for name, clip in mocpack.decode_scene(scene).items():
        expected = mocpack.decode(alone[name])
        assert clip.header == expected.header
        assert clip.take_data == expected.take_data
        np.testing.assert_array_equal(clip.rotations, expected.rotations)
        np.testing.assert_array_equal(clip.translations, expected.translations)
    together = merge_clips(mocpack.decode_scene(scene))
    assert len(together.skeleton) == sum(len(clip.skeleton) for clip in takes.values())
    assert np.isfinite(together.positions()).all()


def fast(codec):
    return {"max_error": "1mm", "effort": "fast"} if codec == "keysine" else {}


def test_a_scene_may_hold_a_vertex_animation(tmp_path):
    wave = vertex_wave()
    data = pack_scene({"a": mocpack.encode(walk(0.2), "raw"), "w": mocpack.encode(wave, "raw")})
    found = mocpack.decode_scene(data)
    assert np.abs(found["w"].vertices - wave.vertices).max() < 1e-6
    path = tmp_path / "both.mocp"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=naming("both.mocp")):
        select(str(path))


def test_the_clips_of_a_scene_share_the_memory_limit():
    clip = walk(4)
    data = mocpack.encode_scene({f"clip {n}": clip for n in range(40)}, "raw")
    one = clip.rotations.nbytes + clip.translations.nbytes
    with pytest.raises(MemoryLimitError, match=naming("'clip 501.1")):
        mocpack.decode_scene(data, memory_limit=12 * one)
    assert len(mocpack.decode_scene(data, memory_limit=60 * one)) == 40


def test_damage_to_any_clip_of_a_scene_is_reported():
    data = bytearray(mocpack.encode_scene({"all": take(), "m": markers(20, 3)}, "raw"))
    rng = np.random.default_rng(3)
    for at in rng.integers(5, len(data), 200):
        damaged = bytearray(data)
        damaged[at] ^= 1 << int(rng.integers(8))
        with pytest.raises((FormatError, MemoryLimitError)):
            mocpack.decode_scene(bytes(damaged))


def test_a_scene_in_a_scene_is_refused():
    inner = mocpack.encode_scene({"a": walk(0.1)}, "raw")
    outer = pack_scene({"b": inner})
    with pytest.raises(CorruptionError, match=naming("'b' scene")):
        mocpack.decode_scene(outer)


def test_read_scene_samples_the_clips_of_a_mocp_file_and_refuses_unknown_options(tmp_path):
    path = tmp_path / "pair.mocp"
    mocpack.write_scene({"a": walk(1.0), "b": walk(0.5)}, path, effort="fast")
    assert {clip.frame_rate for clip in mocpack.read_scene(path, fps=30).values()} == {30}
    with pytest.raises(UsageError, match=naming("pair.mocp 'fsp' fps")):
        mocpack.read_scene(path, fsp=30)
    with pytest.raises(UsageError, match=naming("pair.mocp robot")):
        mocpack.read_scene(path, robot="arm.urdf")
