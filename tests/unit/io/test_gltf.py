"""glTF animations: generated files for every feature of the format, and hostile ones."""

import base64
import json
import random
import struct
from pathlib import Path

import numpy as np
import pytest
from made_gltf import Made

import mocpack
from mocpack.errors import (
    CorruptionError,
    FormatError,
    MocpackError,
    TruncatedError,
    UnsupportedVersionError,
    UsageError,
)
from mocpack.io import gltf, gltf_file, keyed_frames, write_bytes
from mocpack.io.motion_file import MotionFile
from mocpack.testing.motions import hard_clips
from naming import naming
from reading import read_bytes
from takes import take

FOX = Path(__file__).parents[2] / "samples/Fox.glb"
HALF = 0.5**0.5


def slide(kind="LINEAR", values=((0, 0, 0), (1, 0, 0), (1, 2, 0)), times=(0, 0.5, 1.0), **others):
    return Made([{"name": "a"}], **others).animate((0, "translation", times, values, kind))


def place(clip, time, joint=0):
    return clip.sample(time).positions()[0, joint]


def test_the_sample_has_three_animations_of_one_skeleton():
    clips = mocpack.read_scene(FOX)
    assert {name: clip.frame_count for name, clip in clips.items()} == {
        "Survey": 83,
        "Walk": 18,
        "Run": 140,  # its keys are 1/24 and 1/30 s apart, all of them on a grid of 1/120
    }
    assert [clip.frame_rate for clip in clips.values()] == [24, 24, 120]
    survey, *others = clips.values()
    assert all(clip.skeleton.names == survey.skeleton.names for clip in others)
    assert "PixelMannen" in survey.metadata["copyright"]
    assert survey.metadata["animation"] == "Survey"


def test_an_animation_is_chosen_by_name_or_number_and_else_the_first():
    walking = mocpack.read(FOX, clip="Walk")
    assert walking.metadata["animation"] == mocpack.read(FOX, clip="1").metadata["animation"]
    assert mocpack.read(FOX).metadata["animation"] == "Survey"
    with pytest.raises(UsageError, match=naming("Fox.glb 'Jump' Survey Walk Run")):
        mocpack.read(FOX, clip="Jump")


def test_the_frame_rate_can_be_set():
    clip = mocpack.read(FOX, clip="Run", fps=30)
    assert clip.frame_rate == 30
    np.testing.assert_allclose(
        clip.positions()[6], mocpack.read(FOX, clip="Run").sample(0.2).positions()[0], atol=1e-4
    )
    with pytest.raises(UsageError, match=naming("Fox.glb 0 100000")):
        mocpack.read(FOX, fps=0)


@pytest.mark.parametrize("name", hard_clips())
def test_written_files_round_trip_to_float32(name):
    clip = hard_clips()[name]
    back = read_bytes(write_bytes(clip, ".glb"))
    assert back.skeleton.names == clip.skeleton.names
    if clip.frame_count > 1:
        # twice the frames where a joint rotates by 180 degrees, whose direction would be ambiguous
        frames = 2 if name in ("flips of 180 degrees", "noise") else 1
        assert back.frame_time == pytest.approx(clip.frame_time / frames, rel=1e-4)
    reach = 1 + np.abs(clip.positions()).max()
    frames = [back.sample(time).positions()[0] for time in clip.times]
    np.testing.assert_allclose(frames, clip.positions(), atol=2e-5 * reach)
    np.testing.assert_allclose(back.skeleton.end_sites, clip.skeleton.end_sites, atol=1e-6 * reach)


def test_rest_scales_names_and_uneven_times_round_trip():
    clip = take(["rest", "scale", "scales", "times", "names"])
    back = read_bytes(write_bytes(clip, ".glb"))
    assert back.skeleton.names == clip.skeleton.names
    assert back.header.scaled_joints == clip.header.scaled_joints
    np.testing.assert_allclose(back.scales, clip.scales, atol=1e-6)
    np.testing.assert_allclose(back.skeleton.rest, clip.skeleton.rest, atol=1e-6)
    np.testing.assert_allclose(back.times, clip.times, atol=1e-6)
    np.testing.assert_allclose(back.positions(), clip.positions(), atol=1e-4)


def test_straight_keys_far_apart_get_frames_at_24_a_second():
    clip = gltf.read(slide().glb())
    assert (clip.frame_count, clip.frame_rate) == (25, 24)
    np.testing.assert_allclose(place(clip, 0.25), [0.5, 0, 0], atol=1e-6)
    np.testing.assert_allclose(place(clip, 0.75), [1, 1, 0], atol=1e-6)


def test_a_step_keeps_until_its_next_key():
    clip = gltf.read(slide("STEP").glb())
    for time, expected in ((0.0, [0, 0, 0]), (0.4999, [0, 0, 0]), (0.5, [1, 0, 0]), (1, [1, 2, 0])):
        np.testing.assert_allclose(place(clip, time), expected, atol=1e-6)


def test_steps_that_change_nothing_cost_no_even_times():
    clip = gltf.read(slide("STEP", ((1, 2, 3),) * 3).glb())
    assert clip.take_data.times is None


def test_a_cubic_follows_its_tangents():
    keys = np.zeros((2, 3, 3))
    keys[0, 2], keys[1, 1], keys[1, 0] = [0, 4, 0], [1, 0, 0], [0, -4, 0]
    made = slide("CUBICSPLINE", keys.reshape(6, 3), (0.0, 2.0))
    clip = gltf.read(made.glb())
    for t in np.linspace(0, 1, 41):
        bend = (t**3 - 2 * t**2 + t) * 2 * 4 + (t**3 - t**2) * 2 * -4
        expected = [3 * t**2 - 2 * t**3, bend, 0]
        np.testing.assert_allclose(place(clip, 2 * t), expected, atol=2e-4)


def test_rotations_turn_the_shorter_way():
    nodes = [{"children": [1]}, {"translation": [1, 0, 0]}]
    turned = [0, 0, -HALF, -HALF]  # a quarter turn about z, written the long way round
    made = Made(nodes, skins=[{"joints": [0, 1]}])
    made.animate((0, "rotation", (0.0, 1.0), ((0, 0, 0, 1), turned), "LINEAR"))
    clip = gltf.read(made.glb())
    np.testing.assert_allclose(place(clip, 0.5, 1), [HALF, HALF, 0], atol=1e-6)


def test_unnamed_and_repeated_names_are_kept_and_roots_may_be_several():
    made = Made([{}, {"name": "a"}, {"name": "a"}])
    values = ((0, 0, 0), (1, 0, 0))
    made.animate(*((n, "translation", (0.0, 1.0), values, "LINEAR") for n in range(3)))
    made.animate((0, "translation", (0.0, 1.0), values, "LINEAR"))
    clip = gltf.read(made.glb())
    assert clip.skeleton.names == ("", "a", "a")
    assert clip.skeleton.roots == (0, 1, 2)
    assert mocpack.clip_names(made.glb()) == ["animation 0", "animation 1"]


def test_animations_of_the_same_name_get_different_names():
    made = slide()
    for _ in range(2):
        made.animate((0, "translation", (0.0, 1.0), ((0, 0, 0), (1, 0, 0)), "LINEAR"), name="go")
    assert mocpack.clip_names(made.glb()) == ["animation 0", "go", "go_2"]


def test_a_matrix_is_taken_apart():
    matrix = [0, 2, 0, 0, -2, 0, 0, 0, 0, 0, 2, 0, 5, 6, 7, 1]  # doubled, a quarter turn about z
    made = Made([{"matrix": matrix, "children": [1]}, {"name": "hand"}])
    made.animate((1, "translation", (0.0, 1.0), ((1, 0, 0), (2, 0, 0)), "LINEAR"))
    clip = gltf.read(made.glb())
    np.testing.assert_allclose(clip.positions()[[0, -1], 1], [[5, 8, 7], [5, 10, 7]], atol=1e-6)
    np.testing.assert_allclose(clip.skeleton.scales[0], 2)


def test_constant_scales_lose_their_noise_and_moving_ones_move():
    rng = np.random.default_rng(0)
    noisy = 1 + 1e-5 * rng.normal(size=(3, 3))
    made = Made([{"children": [1]}, {"translation": [1, 0, 0]}])
    grown = ((1, 1, 1), (2, 2, 2), (3, 3, 3))
    made.animate(
        (0, "scale", (0, 0.5, 1.0), grown, "LINEAR"), (1, "scale", (0, 0.5, 1.0), noisy, "LINEAR")
    )
    clip = gltf.read(made.glb())
    assert clip.header.scaled_joints == (0,)
    np.testing.assert_allclose(place(clip, 0.25, 1), [1.5, 0, 0], atol=1e-6)


def test_normalized_integers_and_sparse_rows_are_read():
    made = Made([{}, {}])
    turns = made.array([[0, 0, 0, 32767], [0, 0, 32767, -32768]], 5122, normalized=True)
    rows = np.array([2], np.uint8)
    at = made.view(rows)
    new = made.view(np.array([[0, 3, 0]], "<f4"))
    places = made.array(np.zeros((3, 3)))
    made.document["accessors"][places]["sparse"] = {
        "count": 1,
        "indices": {"bufferView": at, "componentType": 5121},
        "values": {"bufferView": new},
    }
    made.animate(
        (0, "rotation", (0.0, 1.0), turns, "LINEAR"),
        (1, "translation", (0.0, 0.5, 1.0), places, "LINEAR"),
    )
    clip = gltf.read(made.glb())
    np.testing.assert_allclose(place(clip, 0.75, 1), [0, 1.5, 0], atol=1e-6)
    np.testing.assert_allclose(np.abs(clip.rotations[-1, 0]), [0, 0, HALF, HALF], atol=1e-4)


def test_an_accessor_without_a_view_is_zeros():
    made = slide()
    made.document["accessors"][1].pop("bufferView")
    assert not gltf.read(made.glb()).positions().any()


def test_morph_weights_are_tracks_by_the_names_of_their_targets():
    made = Made(
        [{"name": "face", "mesh": 0}], meshes=[{"extras": {"targetNames": ["smile", "frown"]}}]
    )
    made.animate(
        (0, "weights", (0.0, 0.5, 1.0), (0, 1, 0.5, 0.5, 1, 0), "LINEAR"),
        (0, "translation", (0.0, 1.0), ((0, 0, 0), (1, 0, 0)), "LINEAR"),
    )
    clip = gltf.read(made.glb())
    assert list(clip.tracks) == ["face.smile", "face.frown"]
    np.testing.assert_allclose(clip.tracks["face.smile"].values, clip.times, atol=1e-6)
    back = mocpack.decode(mocpack.encode(clip, max_error="1mm", effort="fast"))
    assert back.tracks["face.smile"].error(clip.tracks["face.smile"]) <= keyed_frames.WEIGHT_BOUND


def test_expressions_of_a_vrm_animation_are_tracks_and_no_joints():
    nodes = [{"name": "hips"}, {"name": "happy"}]
    vrm = {
        "humanoid": {"humanBones": {"hips": {"node": 0}}},
        "expressions": {"preset": {"happy": {"node": 1}}},
    }
    made = Made(nodes, extensions={"VRMC_vrm_animation": vrm})
    made.animate(
        (0, "translation", (0.0, 1.0), ((0, 1, 0), (0, 2, 0)), "LINEAR"),
        (1, "translation", (0.0, 1.0), ((0, 0, 0), (1, 0, 0)), "LINEAR"),
    )
    clip = gltf.read(made.glb())
    assert clip.skeleton.names == ("hips",)
    assert clip.metadata["vrm_humanoid"] == {"hips": "hips"}
    np.testing.assert_allclose(clip.tracks["expression.happy"].values, clip.times, atol=1e-6)


def test_text_with_its_buffer_inside_or_beside_reads_the_same(tmp_path):
    made = slide()
    inside = "data:application/octet-stream;base64," + base64.b64encode(made.body).decode()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a b.bin").write_bytes(made.body)
    (tmp_path / "x.gltf").write_bytes(made.gltf("sub/a%20b.bin"))
    whole = gltf.read(made.glb())
    for clip in (read_bytes(made.gltf(inside)), mocpack.read(tmp_path / "x.gltf")):
        np.testing.assert_array_equal(clip.positions(), whole.positions())
    with pytest.raises(FormatError, match=naming("buffers[0] 'a.bin'")):
        mocpack.read_data(made.gltf("a.bin"))


@pytest.mark.parametrize(
    "uri", ["../x.bin", "/etc/passwd", "a/../../x", "file:///etc/passwd", "https://a/b", "..\\x"]
)
def test_files_elsewhere_are_never_opened(tmp_path, uri):
    (tmp_path / "x.gltf").write_bytes(slide().gltf(uri))
    with pytest.raises(FormatError, match=naming(f"x.gltf buffers[0] {uri!r}")):
        mocpack.read(tmp_path / "x.gltf")


def test_a_file_without_motion_says_that_there_is_no_animation():
    for data in (
        Made([{"mesh": 0}]).glb(),
        Made([]).glb(),
        Made([{}]).animate().glb(),
        json.dumps({"asset": {"version": "2.0"}}).encode(),
    ):
        with pytest.raises(FormatError, match=naming("input animation")):
            read_bytes(data)


def packed_slide(**changes):
    """A file whose places are packed: three rows, all of them those of the stream's tail."""
    made = slide()
    body = b"\xa0" + bytes(12) + bytes(20) + np.array([1, 2, 3], "<f4").tobytes()
    packed = {"buffer": 0, "byteOffset": len(made.body), "byteLength": len(body)}
    packed |= {"byteStride": 12, "count": 3, "mode": "ATTRIBUTES", **changes}
    made.body += body
    made.document["bufferViews"][1]["extensions"] = {"EXT_meshopt_compression": packed}
    return made.glb()


def test_packed_views_are_read():
    np.testing.assert_array_equal(place(gltf.read(packed_slide()), 0.3), [1, 2, 3])


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"mode": "TRIANGLES"}, "bufferViews[1] 'TRIANGLES'"),
        ({"filter": "OCTAHEDRAL"}, "bufferViews[1] 'OCTAHEDRAL'"),
        ({"filter": "QUATERNION"}, "bufferViews[1].byteStride 8 QUATERNION 12"),
        ({"byteStride": 9, "count": 4}, "bufferViews[1].byteStride 4 9"),
        ({"count": 4}, "bufferViews[1] 36 4 12"),
        ({"count": 1 << 30}, "bufferViews[1].count 1073741824"),
        ({"byteLength": 46, "byteOffset": 47}, "bufferViews[1]"),
        ({"byteLength": 20}, "bufferViews[1]"),
        ({"byteLength": 1 << 20}, "bufferViews[1] 1048624 96"),
        ({"buffer": 3}, "buffers[3] 1"),
    ],
)
def test_packed_views_that_contradict_themselves_are_refused(changes, named):
    with pytest.raises(FormatError, match=naming(named)):
        gltf.read(packed_slide(**changes))


def test_packed_views_together_have_a_limit(monkeypatch):
    monkeypatch.setattr(gltf_file, "MAX_UNPACKED_BYTES", 24)
    with pytest.raises(FormatError, match=naming("bufferViews[1].count 1 2 3")):
        gltf.read(packed_slide())


def test_other_versions_are_named():
    with pytest.raises(UnsupportedVersionError, match="version 1"):
        gltf.read(slide(asset={"version": "1.0"}).glb())
    with pytest.raises(UnsupportedVersionError, match="version 3"):
        gltf.read(b"glTF" + struct.pack("<II", 3, 20) + bytes(8))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda d: d["nodes"].append({"children": [1]}), "nodes[1]"),
        (lambda d: d["nodes"].extend([{"children": [0]}] * 2), "nodes[0] parents"),
        (lambda d: d["nodes"][0].update(children=[7]), "nodes[7]"),
        (lambda d: d["nodes"][0].update(translation=[1, 2]), "3"),
        (lambda d: d["nodes"][0].update(translation=[1, 2, 10**400]), "3"),
        (lambda d: d["accessors"][0].update(count=2**40), "1"),
        (lambda d: d["accessors"][1].update(count=4), "accessors[1] bufferViews[1] 36"),
        (lambda d: d["accessors"][1].update(type="VEC4"), "3 row"),
        (lambda d: d["accessors"][1].update(byteOffset=-4), "byteOffset 0"),
        (lambda d: d["bufferViews"][0].update(byteLength=999), "bufferViews[0] 999 48"),
        (lambda d: d["animations"][0]["samplers"][0].update(interpolation="X"), "STEP LINEAR"),
        (lambda d: d["animations"][0]["samplers"][0].update(input=[]), "accessors[[]] 2"),
        (lambda d: d["animations"][0]["channels"][0].update(sampler=5), "5"),
        (lambda d: d.update(nodes={}), "nodes"),
    ],
)
def test_invalid_fields_are_a_clear_error(change, named):
    made = slide()
    change(made.document)
    with pytest.raises(FormatError, match=naming(named)):
        gltf.read(made.glb())


def test_times_that_fall_or_are_no_numbers_are_refused():
    for times in ((0, 1.0, 0.5), (0, np.nan, 1.0), (0, 1.0, 1e12)):
        with pytest.raises(CorruptionError, match=naming("times")):
            gltf.read(slide(times=times).glb())


def test_a_few_bytes_cannot_ask_for_much_memory():
    far = slide(times=(0.0, 1e-5, 9e5)).glb()
    assert gltf.read(far).frame_count <= 3
    keys = np.zeros((3, 3, 3))
    keys[:, 0], keys[:, 2] = 1, -1
    wild = slide("CUBICSPLINE", keys.reshape(9, 3), (0.0, 1e-5, 9e5)).glb()
    assert gltf.read(wild).frame_count < 1000
    many = Made([{} for _ in range(3000)])
    times = many.array(np.arange(20_000, dtype=np.float32))
    values = many.array(np.zeros((20_000, 3)))
    many.animate(*((n, "translation", times, values, "LINEAR") for n in range(3000)))
    with pytest.raises(CorruptionError, match=naming("frames 3000 joints")):
        gltf.read(many.glb())


def test_deep_nesting_is_a_clear_error():
    deep = b'{"asset": {"version": "2.0"}, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with pytest.raises(CorruptionError, match=naming("input JSON")):
        read_bytes(deep)
    chain = Made([{"children": [n + 1]} for n in range(20_000)] + [{}])
    chain.animate((20_000, "translation", (0.0, 1.0), ((0, 0, 0), (1, 0, 0)), "LINEAR"))
    assert len(gltf.read(chain.glb()).skeleton) == 20_001


def test_a_cut_file_is_truncated():
    data = slide().glb()
    for size in (12, 19, 40, len(data) - 1):
        with pytest.raises(TruncatedError):
            gltf.read(data[:size])


def test_damage_anywhere_is_a_clear_error_or_a_clip():
    rng, whole = random.Random(1), FOX.read_bytes()
    length = struct.unpack_from("<I", whole, 12)[0]
    outcomes = set()
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(20 + length)] = rng.randrange(256)
        outcomes.add(_outcome(bytes(data)))
    assert len(outcomes) > 2


def test_any_value_of_the_wrong_kind_is_a_clear_error_or_a_clip():
    rng = random.Random(2)
    odd = [None, -1, 1.5, 10**30, "x", "\ud800", [], {}, [[]], True, 1e308, [1] * 16]
    outcomes = set()
    for _ in range(400):
        made = slide(meshes=[{}], skins=[{"joints": [0]}])
        made.glb()
        holder = made.document
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            key = rng.choice(keys)
            if not isinstance(holder[key], dict | list) or not holder[key] or rng.random() < 0.3:
                break
            holder = holder[key]
        holder[key] = rng.choice(odd)
        text = json.dumps(made.document).encode()
        text += b" " * (-len(text) % 4)
        chunk = struct.pack("<I4s", len(text), b"JSON") + text
        chunk += struct.pack("<I4s", len(made.body), b"BIN\0") + made.body
        outcomes.add(_outcome(struct.pack("<4sII", b"glTF", 2, 12 + len(chunk)) + chunk))
    assert len(outcomes) > 2


def _outcome(data):
    try:
        for name in MotionFile(data, "x.glb").clip_names:
            read_bytes(data, name="x.glb", clip=name)
    except MocpackError as error:
        return type(error) if str(error).startswith("x.glb: ") else pytest.fail(str(error))
    return None
