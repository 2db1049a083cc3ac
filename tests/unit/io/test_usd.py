"""USD files, written, read back and generated; usd-core computes the expected poses."""

import random
import re
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import mocpack
from mocpack.errors import CorruptionError, FormatError, MissingExtraError, MocpackError, UsageError
from mocpack.io import child, write_bytes
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.skeleton import Skeleton
from mocpack.model.take_data import Track
from mocpack.testing import walk
from naming import naming
from reading import read_bytes

pytest.importorskip("pxr")

ROUNDING = 1e-6  # meters: numbers of UsdSkel are 32-bit floats


def posed_by_usd(data, ending, path="/Clip/Skeleton"):
    """Where UsdSkel itself puts the joints (T, J, 3) at all samples, in the stage's unit."""
    from pxr import Usd, UsdSkel

    file = posed_by_usd.folder / f"posed{ending}"
    file.write_bytes(data)
    stage = Usd.Stage.Open(str(file))
    query = UsdSkel.Cache().GetSkelQuery(UsdSkel.Skeleton.Get(stage, path))
    times = query.GetAnimQuery().GetJointTransformTimeSamples()
    matrices = [query.ComputeJointSkelTransforms(time) for time in times]
    return np.array([[m.ExtractTranslation() for m in row] for row in matrices])


@pytest.fixture(autouse=True)
def _folder(tmp_path):
    posed_by_usd.folder = tmp_path


@pytest.mark.parametrize("ending", [".usda", ".usdc", ".usdz"])
def test_a_clip_round_trips_and_matches_usd(ending):
    clip = walk(0.5)
    data = write_bytes(clip, ending)
    back = read_bytes(data)
    assert back.skeleton.names == clip.skeleton.names
    assert back.skeleton.parents == clip.skeleton.parents
    assert (back.frame_count, back.frame_time) == (clip.frame_count, clip.frame_time)
    np.testing.assert_allclose(back.skeleton.end_sites, clip.skeleton.end_sites, atol=1e-12)
    np.testing.assert_allclose(back.positions(), clip.positions(), atol=ROUNDING)
    assert rotations.angle_between(back.rotations, clip.rotations).max() < 1e-6
    if ending != ".usdz":
        posed = posed_by_usd(data, ending) * clip.unit
        np.testing.assert_allclose(posed, clip.positions(), atol=2e-6)


def test_clips_are_written_with_the_numbers_that_were_read():
    once = read_bytes(write_bytes(walk(0.2), ".usdc"))
    twice = read_bytes(write_bytes(once, ".usdc"))
    assert once.header == twice.header
    assert np.array_equal(once.translations, twice.translations)
    # unit quaternions of 32 bits are unit to 1e-7, and a clip's to 1e-16
    np.testing.assert_allclose(once.rotations, twice.rotations, atol=1e-7)


def two_trees(**others):
    turns = rotations.from_rotvec(np.random.default_rng(3).normal(0, 1, (9, 4, 3)))
    skeleton = Skeleton(
        ("a:b", "", "a:b", "2nd hand"),
        (-1, 0, 0, -1),
        np.array([[1.0, 2, 3], [0, 0.5, 0], [0, 0.25, 0], [4, 5, 6]]),
        rest=turns[0],
    )
    return Clip.build(skeleton, turns, np.zeros((9, 0, 3)), translated_joints=(), **others)


def test_odd_names_several_roots_and_rests_are_kept():
    clip = two_trees(frame_rate=24)
    back = read_bytes(write_bytes(clip, ".usda"))
    assert back.skeleton.names == clip.skeleton.names
    assert back.skeleton.roots == clip.skeleton.roots
    assert rotations.angle_between(back.skeleton.rest, clip.skeleton.rest).max() < 1e-7
    np.testing.assert_allclose(back.positions(), clip.positions(), atol=ROUNDING)


def test_uneven_times_and_a_late_start_are_kept():
    times = np.array([2.0, 2.1, 2.15, 2.5, 3.0, 3.25, 3.3, 4.0, 5.0])
    back = read_bytes(write_bytes(two_trees(times=times), ".usdc"))
    np.testing.assert_allclose(back.times, times, atol=1e-9)
    late = read_bytes(write_bytes(two_trees(frame_rate=30, start_time=1.5), ".usdc"))
    assert (late.start_time, late.frame_rate, late.take_data.times) == (1.5, 30, None)


@pytest.mark.parametrize("up", ["y", "z"])
def test_the_unit_and_the_axis_of_the_source_are_those_of_the_file(up):
    clip = two_trees(frame_rate=24, unit=0.01, up=up)
    data = write_bytes(clip, ".usda")
    assert f'upAxis = "{up.upper()}"'.encode() in data
    assert b"metersPerUnit = 0.01" in data
    back = read_bytes(data)
    assert (back.header.up, back.unit) == (up, 0.01)
    np.testing.assert_allclose(back.positions(), clip.positions(), atol=ROUNDING)
    inches = read_bytes(data, unit=0.0254)
    np.testing.assert_allclose(inches.positions(), 2.54 * clip.positions(), atol=1e-5)


def test_scales_are_kept_as_16_bit_floats():
    scales = np.ones((9, 4, 3))
    scales[:, 0] = 2.0
    scales[:, 3, 1] = np.linspace(1, 2, 9)
    clip = two_trees(frame_rate=24, scales=scales)
    back = read_bytes(write_bytes(clip, ".usdc"))
    np.testing.assert_allclose(back.scales, clip.scales, atol=1e-3)
    np.testing.assert_allclose(back.positions(), clip.positions(), atol=ROUNDING)


def test_weights_of_blend_shapes_are_tracks_both_ways():
    smile = Track("scalar", np.linspace(0, 1, 9), bound=1e-4)
    clip = two_trees(frame_rate=24, tracks={"blendshape.smile": smile, "force": smile})
    back = read_bytes(write_bytes(clip, ".usdc"))
    assert list(back.tracks) == ["blendshape.smile"]
    np.testing.assert_allclose(back.tracks["blendshape.smile"].values, smile.values, atol=1e-7)


BY_HAND = """#usda 1.0
(
    upAxis = "Z"
    metersPerUnit = 0.01
    timeCodesPerSecond = 48
    framesPerSecond = 24
)
def Xform "World"
{
    double3 xformOp:translate.timeSamples = { 0: (0, 0, 0), 4: (8, 0, 0) }
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def SkelRoot "Body"
    {
        def Skeleton "Skel" (prepend apiSchemas = ["SkelBindingAPI"])
        {
            uniform token[] joints = ["hip/knee", "hip", "hip/knee/foot"]
            uniform matrix4d[] bindTransforms = [
                ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 50, 1)),
                ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 90, 1)),
                ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 10, 1)) ]
            rel skel:animationSource = </World/Body/Skel/Walk>
            def SkelAnimation "Walk"
            {
                uniform token[] joints = ["hip/knee"]
                float3[] translations = [(0, 0, -40)]
                quatf[] rotations.timeSamples = {
                    0: [(1, 0, 0, 0)], 2: [(0.70710678, 0, 0.70710678, 0)] }
                half3[] scales = [(1, 1, 1)]
            }
            def SkelAnimation "Run"
            {
                uniform token[] joints = ["hip"]
                float3[] translations.timeSamples = {
                    0: [(0, 0, 90)], 1: [(0, 0, 91)], 2: [(0, 0, 95)] }
                quatf[] rotations = [(1, 0, 0, 0)]
                half3[] scales = [(1, 1, 1)]
            }
            def SkelAnimation "Stand"
            {
                uniform token[] joints = ["hip"]
                float3[] translations = [(0, 0, 90)]
                quatf[] rotations = [(1, 0, 0, 0)]
                half3[] scales = [(1, 1, 1)]
            }
        }
    }
}
"""


def test_transforms_above_a_skeleton_are_applied():
    clip = read_bytes(BY_HAND.encode())
    assert clip.skeleton.names == ("Skel", "hip", "knee", "foot")
    np.testing.assert_allclose(clip.times, np.array([0, 2, 4]) / 48)
    first, middle, last = clip.positions()
    np.testing.assert_allclose(first[1:, 1], [0.9, 0.5, 0.1], atol=1e-7)
    np.testing.assert_allclose(middle[:, 0] - [0.04, 0.04, 0.04, 0.04], [0, 0, 0, -0.4], atol=1e-7)
    np.testing.assert_allclose(last[0], [0.08, 0, 0], atol=1e-7)


def test_animations_are_listed_and_chosen_and_sampled():
    data = BY_HAND.encode()
    assert mocpack.clip_names(data) == ["Walk", "Run"]
    run = read_bytes(data, clip="Run")
    np.testing.assert_allclose(run.positions()[:3, 1, 1], [0.9, 0.91, 0.95], atol=1e-7)
    assert read_bytes(data, clip="Run", fps=96.0).frame_count == 9
    with pytest.raises(UsageError, match=naming("input 'Fly' Walk Run")):
        read_bytes(data, clip="Fly")


def test_an_animation_without_a_skeleton_rests_in_its_first_frame():
    text = BY_HAND.replace("def Skeleton", "def Scope").replace('"hip/knee"]', '"hip/knee"]', 1)
    clip = read_bytes(text.encode(), clip="Run")
    assert clip.skeleton.names == ("hip",)
    np.testing.assert_allclose(clip.skeleton.offsets[0], [0, 0.9, 0], atol=1e-7)


def test_files_without_motion_say_so():
    still = re.sub(r'def SkelAnimation "(Walk|Run)".*?\n            }', "", BY_HAND, flags=re.S)
    with pytest.raises(FormatError, match=naming("animation")):
        read_bytes(still.encode())
    with pytest.raises(FormatError, match=naming("animation")):
        read_bytes(b'#usda 1.0\ndef Xform "Box" {}\n')


def test_files_beside_and_below_are_opened_and_no_others(tmp_path):
    (tmp_path / "parts").mkdir()
    body = BY_HAND.replace('def Xform "World"', 'def Xform "Body"').replace("/World/", "/Body/")
    (tmp_path / "parts" / "body.usda").write_text(body)
    (tmp_path / "parts" / "list.usda").write_text("#usda 1.0\n(subLayers = [@./body.usda@])\n")
    scene = "#usda 1.0\n(\n    subLayers = [@parts/list.usda@]\n    timeCodesPerSecond = 48\n)\n"
    (tmp_path / "scene.usda").write_text(scene)
    assert mocpack.read(tmp_path / "scene.usda").skeleton.names == ("Skel", "hip", "knee", "foot")
    assert list(mocpack.read_scene(tmp_path / "scene.usda")) == ["Walk", "Run"]
    with pytest.raises(FormatError, match=naming("input 'parts/list.usda'")):
        read_bytes(scene.encode())


@pytest.mark.parametrize(
    ("asset", "named"),
    [
        ("/etc/anim.usda", "--allow-outside"),
        ("../anim.usda", "--allow-outside"),
        ("gone.usdc", "'gone.usdc'"),
    ],
)
def test_files_elsewhere_and_those_that_are_missing_are_refused(tmp_path, asset, named):
    path = tmp_path / "a.usda"
    path.write_text(f'#usda 1.0\ndef "A" (references = @{asset}@) {{}}\n')
    with pytest.raises(FormatError, match=naming(named)):
        mocpack.read(path)


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("[(1, 0, 0, 0)], 2", "[(1, 0, 0, 0), (1, 0, 0, 0)], 2", "rotations 8 4"),
        ("[(1, 0, 0, 0)], 2", "[(0, 0, 0, 0)], 2", "input rotations"),
        ("0.70710678, 0)] }", "nan, 0)] }", "rotations"),
        ("metersPerUnit = 0.01", "metersPerUnit = 0", "unit 1e-09..1e+09 0.0"),
        ('"hip/knee", "hip",', '"hip/knee", "hip/knee",', "'hip/knee'"),
        ("(0, 0, 1, 0), (0, 0, 10, 1)) ]", "(0, 0, 0, 0), (0, 0, 10, 1)) ]", "matrix"),
        ('"hip/knee/foot"]', '"hip/knee/foot", "x"]', "4 3 bind"),
    ],
)
def test_impossible_values_are_a_clear_error(before, after, named):
    assert before in BY_HAND
    with pytest.raises(CorruptionError, match=naming(named)):
        read_bytes(BY_HAND.replace(before, after, 1).encode())


def test_damaged_files_are_sentences():
    rng = random.Random(8)
    damaged = [b"#usda 1.0\n" + b'def "a" {' * 3000]
    for ending in (".usdc", ".usdz", ".usda"):
        good = write_bytes(walk(0.1), ending)
        damaged.append(good[: rng.randrange(60, len(good))])
        for count in (1, 40):
            broken = bytearray(good)
            for _ in range(count):
                broken[rng.randrange(60, len(broken))] = rng.randrange(256)
            damaged.append(bytes(broken))
    for data in damaged:
        with suppress(MocpackError):
            assert np.isfinite(read_bytes(data).positions()).all()


def test_the_error_of_a_truncated_text_file_names_its_line():
    good = write_bytes(walk(0.1), ".usda")
    for size in (300, 3000):
        with pytest.raises(CorruptionError) as caught:
            read_bytes(good[:size])
        line = good[:size].count(b"\n") + 1
        assert re.search(rf"\.usda:{line}:\d+: .*[a-z]", str(caught.value))
        assert "::" not in str(caught.value)


def test_a_message_of_usd_names_neither_its_sources_nor_our_folders(tmp_path):
    (tmp_path / "a.usdc").write_bytes(b"\x98 no scene" * 100)
    with pytest.raises(CorruptionError) as caught:
        mocpack.read(tmp_path / "a.usdc")
    said = str(caught.value).removeprefix(str(tmp_path))
    assert re.fullmatch(r"/a\.usdc: .{4,30}: <mocpack-main\.usda> .{4,40}", said)


def test_without_usd_core_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(child, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=naming("USD 'mocpack[usd]'")):
        read_bytes(BY_HAND.encode())


def test_a_left_handed_source_is_written_as_it_is_inside(tmp_path):
    clip = walk(0.1)
    left = replace(clip, header=replace(clip.header, up="z", handedness="left"))
    mocpack.write(left, tmp_path / "a.usda")
    back = mocpack.read(tmp_path / "a.usda")
    assert (back.header.up, back.header.handedness) == ("y", "right")
    np.testing.assert_allclose(back.positions(), clip.positions(), atol=ROUNDING)


def test_files_are_known_by_content(tmp_path):
    mocpack.write(walk(0.1), tmp_path / "a.usdc")
    (tmp_path / "a.usdc").rename(tmp_path / "a.bin")
    assert mocpack.read(tmp_path / "a.bin").frame_count == walk(0.1).frame_count


def posed_at(data, times, name="Skel"):
    """Where UsdSkel and UsdGeom put the joints at times of the stage's clock."""
    from pxr import Usd, UsdGeom, UsdSkel

    stage = Usd.Stage.CreateInMemory()
    stage.GetRootLayer().ImportFromString(data.decode())
    skeleton = UsdSkel.Skeleton(next(p for p in stage.Traverse() if p.GetName() == name))
    query = UsdSkel.Cache().GetSkelQuery(skeleton)
    found = []
    for time in times:
        local = np.array(query.ComputeJointSkelTransforms(time))
        world = np.array(UsdGeom.XformCache(time).GetLocalToWorldTransform(skeleton.GetPrim()))
        found.append((local @ world)[:, 3, :3])
    return np.array(found), [joint.rpartition("/")[2] for joint in query.GetJointOrder()]


# UsdSkel poses only skeletons whose parents come first, from places that are relative to them
IN_ORDER = {
    '["hip/knee", "hip", ': '["hip", "hip/knee", ',
    "bindTransforms": "restTransforms",
    "(0, 0, 50, 1)": "(0, 0, 90, 1)",
    "(0, 0, 90, 1)),\n                ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 90, 1)": (
        "(0, 0, 90, 1)),\n                ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, -40, 1)"
    ),
    "(0, 0, 10, 1)": "(0, 0, -40, 1)",
}


@pytest.mark.parametrize("carried", ["straight", "turning"])
def test_samples_that_are_far_apart_are_right_at_any_time_as_usd_poses_them(carried):
    text = BY_HAND.replace("0: [(0, 0, 90)], 1: [(0, 0, 91)], 2:", "0: [(0, 0, 90)], 5:")
    if carried == "turning":
        text = text.replace(
            "double3 xformOp:translate.timeSamples = { 0: (0, 0, 0), 4: (8, 0, 0) }",
            "float3 xformOp:rotateXYZ.timeSamples = { 0: (0, 0, 0), 7: (80, 200, -60) }",
        ).replace("xformOp:translate", "xformOp:rotateXYZ")
    text = text.replace("0)], 2: [(0.7", "0)], 1.3: [(0.6, 0.8, 0, 0)], 6: [(0.7")
    for old, new in IN_ORDER.items():
        text = text.replace(old, new)
    rng = np.random.default_rng(2)
    for animation in ("Walk", "Run"):
        data = text.replace("Skel/Walk>", f"Skel/{animation}>").encode()
        clip = read_bytes(data, clip=animation)
        times = rng.uniform(0, clip.times[-1] * 48, 300)
        places, names = posed_at(data, times)
        expected = np.stack([places[..., 0], places[..., 2], -places[..., 1]], axis=-1) / 100
        columns = [clip.skeleton.index(name) for name in names]
        at = np.interp(times / 48, clip.times, np.arange(clip.frame_count))
        np.testing.assert_allclose(clip.poses_at(at).positions()[:, columns], expected, atol=2e-4)
        packed = mocpack.decode(mocpack.encode(clip, max_error="1mm", effort="fast"))
        apart = packed.poses_at(at).positions()[:, columns] - expected
        assert np.linalg.norm(apart, axis=-1).max() < 1e-3
