"""FBX files made here by the rules of the format, read by ufbx in a process of its own."""

import json
import random
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from command_line import run

import fbx_takes
import mocpack
from fbx_file import (
    CONSTANT,
    CUBIC,
    Curve,
    Model,
    Record,
    Take,
    binary,
    curve_record,
    scene,
    text,
)
from mocpack import rotations, space
from mocpack.errors import CorruptionError, FormatError, MissingExtraError, MocpackError, UsageError
from mocpack.io import child, count_ignored, fbx, list_clips_in_bytes, read_bytes
from naming import naming

pytest.importorskip("ufbx")

MOVE, TURN, SCALE = "Lcl Translation", "Lcl Rotation", "Lcl Scaling"
POSES = Path(__file__).parents[2] / "data/ufbx_poses.py"
SECOND = np.arange(31) / 30
SWING = Curve(SECOND, 40 * np.sin(3 * SECOND))


def arm(**of_second):
    """Two bones, the second 10 units from the first, and a third 5 units from that."""
    return [
        Model("Upper", properties={MOVE: (1.0, 2.0, 3.0)}),
        Model("Lower", 0, properties={MOVE: (10.0, 0.0, 0.0), **of_second}),
        Model("Hand", 1, properties={MOVE: (5.0, 0.0, 0.0)}),
    ]


def swinging(models=None, **settings):
    """A file in which the second bone turns about all axes, and the first moves."""
    layer = {
        (1, TURN, axis): Curve(SECOND, (30 - 20 * axis) * np.sin(2 * SECOND)) for axis in range(3)
    }
    layer[0, MOVE, 1] = Curve(SECOND, 2 + SECOND)
    return scene(models or arm(), [Take("Swing", [layer])], **settings)


def matrix(angles, order="xyz"):
    """The matrix of FBX's angles in degrees; the first letter's turn is done first."""
    found = np.eye(3)
    for letter in order:
        axis = "xyz".index(letter)
        about = rotations.from_rotvec(np.radians(angles[axis]) * np.eye(3)[axis])
        found = rotations.as_matrix(about) @ found
    return found


def at_frame(frame):
    t = SECOND[frame]
    return [np.float32((30 - 20 * axis) * np.sin(2 * t)) for axis in range(3)]


def test_text_and_binary_hold_the_same_motion():
    one, other = read_bytes(binary(swinging())), read_bytes(text(swinging()))
    np.testing.assert_allclose(one.positions(), other.positions(), atol=1e-9)
    assert one.skeleton.names == ("Upper", "Lower", "Hand")
    assert one.skeleton.parents == (-1, 0, 1)
    assert (one.frame_count, one.frame_rate) == (31, 30)
    assert one.metadata["animation"] == "Swing"


def test_joints_stand_where_the_angles_put_them():
    clip = read_bytes(binary(swinging()))
    for frame in (0, 7, 30):
        first = np.array([1, 2 + SECOND[frame], 3])
        second = first + np.array([10, 0, 0])
        third = second + matrix(at_frame(frame)) @ [5, 0, 0]
        expected = np.array([first, second, third]) / 100
        np.testing.assert_allclose(clip.positions()[frame], expected, atol=1e-7)


@pytest.mark.parametrize("order", range(6))
def test_every_order_of_rotations_is_that_of_the_file(order):
    letters = ("xyz", "xzy", "yzx", "yxz", "zxy", "zyx")[order]
    models = arm(RotationOrder=order, RotationActive=True)
    clip = read_bytes(binary(swinging(models)))
    found = clip.positions()[11, 2] - clip.positions()[11, 1]
    np.testing.assert_allclose(found * 100, matrix(at_frame(11), letters) @ [5, 0, 0], atol=1e-5)


def test_pivots_and_pre_and_post_rotations_are_those_of_the_format():
    given = {
        "RotationActive": True,
        "PreRotation": (20.0, -35.0, 50.0),
        "PostRotation": (10.0, 15.0, -25.0),
        "RotationOffset": (0.5, 0.25, -1.0),
        "RotationPivot": (2.0, -1.0, 3.0),
        "ScalingOffset": (0.2, 0.3, 0.4),
        "ScalingPivot": (-1.0, 1.0, 2.0),
        SCALE: (1.5, 1.5, 1.5),
    }
    clip = read_bytes(binary(swinging(arm(**given))))
    v = {name: np.array(value) for name, value in given.items()}
    turn = matrix(v["PreRotation"]) @ matrix(at_frame(13)) @ matrix(v["PostRotation"]).T

    def placed(point):
        scaled = v["ScalingPivot"] + 1.5 * (point - v["ScalingPivot"]) + v["ScalingOffset"]
        turned = v["RotationPivot"] + turn @ (scaled - v["RotationPivot"]) + v["RotationOffset"]
        return turned + np.array([11, 2 + SECOND[13], 3])

    np.testing.assert_allclose(clip.positions()[13, 1] * 100, placed(np.zeros(3)), atol=1e-5)
    np.testing.assert_allclose(
        clip.positions()[13, 2] * 100, placed(np.array([5, 0, 0])), atol=1e-5
    )


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize(("inherit", "spread"), [(0, True), (1, True), (2, False)])
def test_a_bone_may_ignore_the_scale_of_its_parent(inherit, spread, moving):
    models = [
        Model("Upper", properties={SCALE: (2.0, 2.0, 2.0)}),
        Model("Lower", 0, properties={MOVE: (10.0, 0.0, 0.0), "InheritType": inherit}),
        Model("Hand", 1, properties={MOVE: (5.0, 0.0, 0.0), "InheritType": inherit}),
    ]
    size = 2 + SECOND if moving else np.full(31, 2.0)
    layer = {(1, TURN, 2): SWING}
    if moving:
        layer |= {(0, SCALE, axis): Curve(SECOND, size) for axis in range(3)}
    clip = read_bytes(binary(scene(models, [Take("a", [layer])])))
    frame = 9
    hand = clip.skeleton.index("Hand")
    grown = size[frame] if spread else 1.0
    second = np.array([10 * size[frame], 0, 0])  # the place itself is of the parent's space
    expected = second + grown * matrix([0, 0, SWING.values[frame]]) @ [5, 0, 0]
    np.testing.assert_allclose(clip.positions()[frame, hand] * 100, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("mode", "weight"), [(0, 100.0), (0, 25.0), (1, 100.0), (2, 100.0), (2, 25.0)]
)
def test_layers_add_or_cover_by_their_weight(mode, weight):
    base = {(0, MOVE, 0): Curve([0, 1], [10, 20])}
    upper = {(0, MOVE, 0): Curve([0, 1], [3, 3])}
    properties = [{}, {"Weight": weight, "BlendMode": mode}]
    take = Take("a", [base, upper], layer_properties=properties)
    clip = read_bytes(binary(scene([Model("Hips")], [take])))
    share = weight / 100
    below = 10 + 10 * clip.times
    expected = below + share * 3 if mode == 0 else (1 - share) * below + share * 3
    np.testing.assert_allclose(clip.positions()[:, 0, 0] * 100, expected, atol=1e-5)


def test_units_and_the_axis_that_is_up_are_those_of_the_scene():
    meters = read_bytes(binary(swinging(unit=100.0)))
    np.testing.assert_allclose(meters.positions()[0, 0], [1, 2, 3], atol=1e-9)
    assert meters.unit == 1.0
    upright = read_bytes(binary(swinging(up=2)))
    np.testing.assert_allclose(upright.positions()[0, 0] * 100, [1, 3, -2], atol=1e-9)
    assert (upright.header.up, upright.unit) == ("z", 0.01)
    inches = read_bytes(binary(swinging()), unit=0.0254)
    np.testing.assert_allclose(inches.positions()[0, 0], np.array([1, 2, 3]) * 0.0254, atol=1e-9)


@pytest.mark.parametrize("hand", space.HANDEDNESS)
@pytest.mark.parametrize("up", space.UP_AXES)
def test_files_of_any_axes_are_upright_and_their_metadata_names_the_axes(up, hand):
    records = swinging()
    axes = {}
    for name, row in zip(("Coord", "Up", "Front"), space.conversion_matrix(up, hand), strict=True):
        axis = int(np.flatnonzero(row)[0])
        axes |= {f"{name}Axis": axis, f"{name}AxisSign": int(row[axis])}
    for entry in records[2].inside[0].inside:
        if entry.values[0] in axes:
            entry.values[-1] = axes[entry.values[0]]
    clip = read_bytes(binary(records))
    usual = read_bytes(binary(swinging())).positions()
    assert (clip.header.up, clip.header.handedness) == (up, hand)
    np.testing.assert_allclose(clip.positions(), space.to_internal(usual, up, hand), atol=1e-9)
    np.testing.assert_allclose(clip.source_points(), usual, atol=1e-9)


def two_takes():
    walk = Take("Walk", [{(1, TURN, 2): SWING}])
    run = Take("Run", [{(1, TURN, 0): Curve([0, 0.5], [0, 30])}])
    still = Take("Bind", [{(1, TURN, 0): Curve([0, 1], [5, 5])}])
    return binary(scene(arm(), [still, walk, run]))


def test_takes_that_move_something_are_listed_and_chosen():
    data = two_takes()
    assert list_clips_in_bytes(data) == ["Walk", "Run"]
    assert read_bytes(data).metadata["animation"] == "Walk"
    assert read_bytes(data, clip="Run").frame_count == 16
    assert read_bytes(data, clip="1").metadata["animation"] == "Run"
    with pytest.raises(UsageError, match=naming("input 'Jump' Walk Run")):
        read_bytes(data, clip="Jump")


def test_the_command_line_lists_and_writes_every_take(tmp_path):
    (tmp_path / "takes.fbx").write_bytes(two_takes())
    told = run("info", "takes.fbx", folder=tmp_path)
    assert b"Walk" in told.stdout
    assert b"Run" in told.stdout
    words = ["convert", "takes.fbx", "-o", "out/", "--each"]
    assert run(*words, folder=tmp_path).returncode == 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["Run.mocp", "Walk.mocp"]


def test_frames_are_those_of_the_scene_of_denser_keys_or_as_asked_for():
    dense = Curve(np.arange(101) / 100, np.sin(np.arange(101) / 9))
    data = binary(scene(arm(), [Take("a", [{(1, TURN, 2): dense}])]))
    assert read_bytes(data).frame_rate == 100
    assert read_bytes(data, fps=25.0).frame_count == 26
    slow = binary(scene(arm(), [Take("a", [{(1, TURN, 2): SWING}])], frame_rate=120.0))
    assert read_bytes(slow).frame_count == 121
    with pytest.raises(UsageError, match=naming("-1.0 100000")):
        read_bytes(slow, fps=-1.0)


def test_poses_between_keys_are_those_of_the_curve_and_not_of_a_line():
    arch = Curve([0, 0.5, 1], [0, 10, 0], CUBIC)
    data = binary(scene([Model("Hips")], [Take("a", [{(0, MOVE, 0): arch}])]))
    even, odd = read_bytes(data, fps=40.0), read_bytes(data, fps=37.0)
    quarter = even.positions()[10, 0, 0] * 100
    assert quarter > 6  # a line would be at 5
    nearest = np.abs(odd.times - 0.25).argmin()
    apart = np.abs(np.interp(odd.times[nearest], even.times, even.positions()[:, 0, 0]) * 100)
    assert odd.positions()[nearest, 0, 0] * 100 == pytest.approx(apart, abs=0.02)


def test_a_value_that_jumps_has_its_new_value_at_the_key():
    step = Curve([0, 0.5, 1], [1, 2, 3], CONSTANT)
    clip = read_bytes(binary(scene([Model("Hips")], [Take("a", [{(0, MOVE, 0): step}])])), fps=10.0)
    expected = [1] * 5 + [2] * 5 + [3]
    np.testing.assert_allclose(clip.positions()[:, 0, 0] * 100, expected, atol=1e-5)


def test_the_span_of_a_take_is_what_it_says_and_begins_when_it_says():
    take = Take("a", [{(1, TURN, 2): SWING}], span=(0.2, 0.6))
    clip = read_bytes(binary(scene(arm(), [take])))
    assert clip.frame_count == 13
    assert clip.start_time == pytest.approx(0.2)
    whole = read_bytes(binary(scene(arm(), [Take("a", [{(1, TURN, 2): SWING}])])))
    np.testing.assert_allclose(clip.positions(), whole.positions()[6:19], atol=1e-6)


def test_moving_nodes_are_joints_where_there_are_no_bones():
    models = [Model("Car", kind="Null"), Model("Wheel", 0, "Null"), Model("Tree", kind="Null")]
    clip = read_bytes(binary(scene(models, [Take("a", [{(1, TURN, 0): SWING}])])))
    assert clip.skeleton.names == ("Car", "Wheel")


def test_bones_that_share_what_makes_them_bones_are_read():
    records = swinging()
    wires = next(record for record in records if record.name == "Connections")
    shared = np.int64(500_000)  # what makes the first model a bone
    for model in (np.int64(1_001), np.int64(1_002)):
        wires.inside.append(Record("C", ["OO", shared, model]))
    assert len(read_bytes(binary(records)).skeleton) == 3


def test_weights_of_blend_shapes_are_tracks():
    data = binary(smiling())
    track = read_bytes(data).tracks["Smile"]
    np.testing.assert_allclose(track.values, SECOND, atol=1e-6)
    assert track.bound == 1e-4


def test_meshes_and_blend_shapes_that_a_clip_does_not_hold_are_counted():
    assert count_ignored(binary(smiling())) == {"mesh": 1, "blend shape": 1}
    assert count_ignored(binary(swinging())) == {}


def smiling():
    """The arm, and a mesh with a blend shape that grows to its whole in a second."""
    records = swinging([*arm(), Model("Face", kind="Mesh")])
    objects, wires = records[3].inside, records[4].inside
    mesh, blend, channel, shape, node, curve = (np.int64(2_000 + k) for k in range(6))
    triangle = Record("Vertices", [np.array([0, 0, 0, 1, 0, 0, 0, 1, 0], np.float64)])
    moved = [
        Record("Indexes", [np.array([0], np.int32)]),
        Record("Vertices", [np.array([0, 0, 1], np.float64)]),
    ]
    keys = Curve(SECOND, 100 * SECOND)
    layer = next(record for record in objects if record.name == "AnimationLayer").values[0]
    objects += [
        Record(
            "Geometry",
            [mesh, ("Face", "Geometry"), "Mesh"],
            [triangle, Record("PolygonVertexIndex", [np.array([0, 1, -3], np.int32)])],
        ),
        Record("Deformer", [blend, ("Face", "Deformer"), "BlendShape"]),
        Record("Deformer", [channel, ("Smile", "SubDeformer"), "BlendShapeChannel"]),
        Record("Geometry", [shape, ("Smile", "Geometry"), "Shape"], moved),
        Record("AnimationCurveNode", [node, ("DeformPercent", "AnimCurveNode"), ""]),
        curve_record(curve, keys),
    ]
    pairs = [(mesh, np.int64(1_003)), (blend, mesh), (channel, blend), (shape, channel)]
    wires += [Record("C", ["OO", *pair]) for pair in [*pairs, (node, layer)]]
    wires.append(Record("C", ["OP", node, channel, "DeformPercent"]))
    wires.append(Record("C", ["OP", curve, node, "d|DeformPercent"]))
    return records


def test_what_moves_beside_a_skeleton_is_left_out():
    models = [*arm(), Model("Camera", kind="Null")]
    layer = {(1, TURN, 2): SWING, (3, MOVE, 0): SWING}
    clip = read_bytes(binary(scene(models, [Take("a", [layer])])))
    assert clip.skeleton.names == ("Upper", "Lower", "Hand")


def test_scales_that_are_noise_are_dropped_and_no_joint_moves():
    models = arm(**{SCALE: (1.00005, 0.99996, 1.00003)})
    noisy, clean = (read_bytes(binary(swinging(m))) for m in (models, arm()))
    assert not noisy.header.is_scaled
    apart = np.abs(noisy.positions()[:, 2] - clean.positions()[:, 2]) * 100
    assert apart.max() == pytest.approx(5 * 5e-5, rel=0.05)


def test_files_without_motion_say_so():
    with pytest.raises(FormatError, match=naming("input FBX")):
        read_bytes(binary(scene(arm())))
    still = Take("Bind", [{(1, TURN, 0): Curve([0, 1], [5, 5])}])
    with pytest.raises(FormatError, match=naming("input FBX Bind")):
        read_bytes(binary(scene(arm(), [still])))


def test_a_take_without_end_is_refused_before_it_is_made():
    take = Take("Long", [{(1, TURN, 2): SWING}], span=(0.0, 1e8))
    with pytest.raises(CorruptionError, match=naming("input 'Long' 1e+08 60 3 --fps")):
        read_bytes(binary(scene(arm(), [take])))


def test_a_chain_of_many_bones_is_read():
    models = [Model(f"b{k}", k - 1, properties={MOVE: (1.0, 0.0, 0.0)}) for k in range(2000)]
    clip = read_bytes(binary(scene(models, [Take("a", [{(0, TURN, 2): SWING}])])), fps=2.0)
    assert len(clip.skeleton) == 2000
    assert clip.positions()[0, -1, 0] == pytest.approx(20.0)


def test_damaged_files_are_sentences():
    good = binary(swinging())
    rng = random.Random(5)
    damaged = [good[: rng.randrange(27, len(good))] for _ in range(6)]
    for _ in range(12):
        broken = bytearray(good)
        for _ in range(rng.choice([1, 8, 64])):
            broken[rng.randrange(23, len(broken))] = rng.randrange(256)
        damaged.append(bytes(broken))
    damaged += [b"; FBX 7.4.0 project file\n", b"Kaydara FBX Binary  \x00\x1a\x00", good[:27]]
    damaged.append(b"; FBX\n" + b"Objects: {" * 5000)
    for data in damaged:
        with suppress(MocpackError):
            assert np.isfinite(read_bytes(data).positions()).all()


def fake_ufbx(folder, code):
    """A package that takes the place of ufbx, with one file."""
    package = folder / "ufbx"
    package.mkdir()
    (package / "__init__.py").write_text(code)
    return lambda name: SimpleNamespace(origin=str(package / "__init__.py"))


def test_a_process_that_dies_costs_a_sentence(tmp_path, monkeypatch):
    code = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"
    monkeypatch.setattr(child, "find_spec", fake_ufbx(tmp_path, code))
    with pytest.raises(CorruptionError, match=naming("11 SIGSEGV")):
        read_bytes(binary(swinging()))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_a_process_that_takes_too_much_memory_costs_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(child, "find_spec", fake_ufbx(tmp_path, "hold = bytes(2 << 30)\n"))
    with pytest.raises(CorruptionError, match=naming("memory")):
        read_bytes(binary(swinging()))


def test_a_process_that_never_ends_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(child, "find_spec", fake_ufbx(tmp_path, "while True: pass\n"))
    monkeypatch.setattr(fbx, "UFBX", replace(fbx.UFBX, seconds=1))
    with pytest.raises(CorruptionError, match=r"within|signal"):
        read_bytes(binary(swinging()))


def test_without_ufbx_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(child, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mocpack\[fbx\]'"):
        read_bytes(binary(swinging()))


def test_a_take_packs_within_its_bound(tmp_path):
    (tmp_path / "arm.fbx").write_bytes(binary(swinging()))
    clip = mocpack.read(tmp_path / "arm.fbx")
    back = mocpack.decode(mocpack.encode(clip, max_error="1mm"))
    assert np.abs(back.positions() - clip.positions()).max() < 1e-3


def apart_from_ufbx(data, clip, times, folder):
    """How far joints of a clip are from where ufbx's own evaluation of the scene puts them."""
    path = folder / "asked.fbx"
    path.write_bytes(data)
    words = [sys.executable, POSES, path, json.dumps(list(times))]
    told = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    at = np.interp(times, clip.times, np.arange(clip.frame_count))
    ours = clip.poses_at(at).positions()
    worst = 0.0
    for row, nodes in enumerate(told["frames"]):
        for name, place in nodes:
            if name in clip.skeleton.names:
                there = space.to_internal(np.array(place) * told["unit"], clip.header.up)
                worst = max(worst, np.abs(ours[row, clip.skeleton.index(name)] - there).max())
    return worst


KEYS = {
    "curves": Curve([0, 0.3, 0.8, 1.6], [0, 60, -30, 20], CUBIC),
    "lines off the frames": Curve([0, 0.111, 0.456, 1.6], [0, 60, -30, 20]),
    "jumps": Curve([0, 0.4, 0.777, 1.6], [0, 60, -30, 20], CONSTANT),
    "an end off the frames": Curve([0, 0.5, 1.61], [0, 60, -30], CUBIC),
    "turns": Curve([0, 1.6], [0, 7200]),
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_a_take_of_few_keys_is_right_at_any_time(keys, tmp_path):
    other = Curve(keys.times, -0.5 * np.array(keys.values), keys.kind)
    layer = {(0, TURN, 2): keys, (1, TURN, 1): keys, (1, TURN, 0): other, (0, MOVE, 1): other}
    data = binary(scene(arm(), [Take("a", [layer])]))
    clip = read_bytes(data)
    rng = np.random.default_rng(5)
    times = np.sort(rng.uniform(0, keys.times[-1], 200))
    times = times[[np.abs(t - np.array(keys.times)).min() > 2e-5 for t in times]]
    assert apart_from_ufbx(data, clip, times, tmp_path) < 1e-4
    packed = mocpack.decode(mocpack.encode(clip, max_error="0.5mm", effort="fast"))
    assert apart_from_ufbx(data, packed, times, tmp_path) < 5e-4


def test_frames_stay_even_where_lines_follow_the_curves():
    clip = read_bytes(
        binary(scene(arm(), [Take("a", [{(1, TURN, 2): KEYS["curves"]}])], frame_rate=25.0))
    )
    assert clip.take_data.times is None
    assert clip.frame_rate % 25 == 0
    assert clip.frame_rate > 25


def test_a_jump_of_half_a_turn_needs_no_more_frames_than_a_small_one():
    counts = []
    for angle in (10, 175):
        jump = Curve([0, 0.5, 1], [0, angle, 0], CONSTANT)
        counts.append(
            read_bytes(binary(scene(arm(), [Take("a", [{(1, TURN, 2): jump}])]))).frame_count
        )
    assert counts[0] == counts[1] < 40


def test_a_recording_has_its_own_frames_and_no_others():
    noise = np.random.default_rng(1).normal(scale=20, size=(3, 31))
    layer = {(1, TURN, axis): Curve(SECOND, noise[axis], CUBIC) for axis in range(3)}
    clip = read_bytes(binary(scene(arm(), [Take("a", [layer])])))
    assert (clip.frame_count, clip.frame_rate) == (31, 30)


@pytest.mark.parametrize("name", fbx_takes.takes())
def test_whatever_places_a_bone_does_so_as_ufbx_has_it(name, tmp_path):
    data = binary(fbx_takes.takes()[name])
    clip = read_bytes(data)
    assert {"Hips", "Spine", "Neck", "Leg", "Foot"} <= set(clip.skeleton.names)
    assert apart_from_ufbx(data, clip, clip.times[::5], tmp_path) < 1e-6
    if name == "two-takes":
        assert list_clips_in_bytes(data) == ["Dance", "Sway"]
