"""Scenes: several clips on one clock in one file."""

import pickle

import numpy as np
import pytest

import mocpack
from mocpack.container import pack_scene, scene_parts, source_of
from mocpack.errors import CorruptionError, FormatError, SceneError, TruncatedError, UsageError
from mocpack.testing import markers, take, walk
from mocpack.testing.contract import resealed


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


def test_a_scene_of_several_asks_which(data):
    with pytest.raises(SceneError, match="a scene of 'anna', 'ben', 'box'; say which"):
        mocpack.decode(data)
    with pytest.raises(SceneError, match="none is 'carl'"):
        mocpack.decode(data, clip="carl")
    with pytest.raises(SceneError, match="one clip, no scene"):
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
    with pytest.raises(UsageError, match="at least one clip"):
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


def test_what_is_no_scene_is_refused():
    clip = mocpack.encode(walk(0.1), "raw")
    with pytest.raises(CorruptionError, match="two clips 'a'"):
        scene_parts(source_of(pack_scene({"a": clip}) + pack_scene({"a": clip})[5:]))
    with pytest.raises(CorruptionError, match="stands in the file of a clip"):
        mocpack.decode(resealed(clip + b"CLIP\x03\0\0\0\0abc"))
    with pytest.raises(UsageError, match="at most 1024 bytes"):
        pack_scene({"x" * 1025: clip})
