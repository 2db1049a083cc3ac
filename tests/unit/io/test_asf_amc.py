"""Acclaim files: joint positions, and written files that read back the same."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import mocpack
from mocpack.bench.datasets import CHECKOUT, COMMITTED, load_clip
from mocpack.errors import FormatError, TruncatedError, UsageError
from mocpack.io import amc, asf, write_bytes, write_file
from mocpack.io.asf_fit import to_acclaim_names
from mocpack.model import kinematics
from mocpack.model.clip import Clip
from mocpack.testing.motions import hard_clips, walk
from naming import names, naming
from reading import read_bytes
from reference import amc as reference

ORIGINALS = CHECKOUT / "tests" / "originals"
ASF = b""":version 1.10
:name test
:units
  mass 1.0
  length 0.45
  angle deg
:documentation
  (anything, # even this) :root is not a section here
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name hip
    direction 0 -2 0   # not of unit length: it is a direction
    length 3
    axis 0 0 0 XYZ
  end
  begin
    id 2
    name thigh
    direction 0 -1 0
    length 10
    axis 0 0 90 XYZ
    dof rx rz
    limits (0 0)
           (-inf inf)
  end
  begin
    id 3
    name shin
    direction 0 0 1
    length 8
    axis 0 0 0 XYZ
    dof ry
    limits (0.0 0.0)
  end
:hierarchy
  begin
    root hip
    hip thigh
    thigh shin
  end
"""
AMC = b"""#!OML:ASF somewhere
:FULLY-SPECIFIED
:DEGREES
1
root 1 2 3 0 0 0
thigh 0 0
shin 0
2
root 1 2 3 0 90 0
thigh 90 0
shin 90
"""
UNIT = 0.0254 / 0.45


def read(motion: bytes = AMC, skeleton: bytes = ASF) -> Clip:
    return amc.read(motion, skeleton=skeleton)


def joint(clip: Clip, name: str, frame: int) -> np.ndarray:
    return clip.positions()[frame, clip.skeleton.index(name)] / UNIT


def test_rest_pose_is_the_bones_end_to_end():
    clip = read()
    assert clip.skeleton.names == ("root", "hip", "thigh", "shin")
    np.testing.assert_allclose(joint(clip, "root", 0), [1, 2, 3])
    np.testing.assert_allclose(joint(clip, "hip", 0), [1, 2, 3])
    np.testing.assert_allclose(joint(clip, "thigh", 0), [1, -1, 3])
    np.testing.assert_allclose(joint(clip, "shin", 0), [1, -11, 3])
    np.testing.assert_allclose(clip.skeleton.end_sites / UNIT, [[0, 0, 8]], atol=1e-6)


def test_a_bone_turns_in_its_axis_frame():
    # the root turns 90 degrees about y; the thigh's x axis, turned 90 degrees about z, is y
    clip = read()
    np.testing.assert_allclose(joint(clip, "thigh", 1), [1, -1, 3], atol=1e-9)
    np.testing.assert_allclose(joint(clip, "shin", 1), [1, -11, 3], atol=1e-9)
    _, world = clip.world()
    # 90 + 90 + 90 degrees about y: the shin's z axis points to -x
    np.testing.assert_allclose(
        mocpack.rotations.rotate(world[1, 3], np.array([0.0, 0, 1])), [-1, 0, 0], atol=1e-9
    )


def test_limits_of_zero_lose_no_degree_of_freedom():
    clip = read()
    assert clip.skeleton.channels == (
        ("tx", "ty", "tz", "rx", "ry", "rz"),
        (),
        ("rx", "rz"),
        ("ry",),
    )
    np.testing.assert_array_equal(clip.channels[1], [1, 2, 3, 0, 90, 0, 90, 0, 90])


def test_order_of_dofs_is_the_order_of_turns_about_fixed_axes():
    skeleton = ASF.replace(b"RX RY RZ", b"RZ RX RY")
    motion = AMC.replace(b"root 1 2 3 0 90 0", b"root 1 2 3 90 90 0")
    clip = read(motion, skeleton)
    # first 90 degrees about z, then 90 about x: y goes to -x and stays there
    turned = mocpack.rotations.rotate(clip.rotations[1, 0], np.array([0.0, 1, 0]))
    np.testing.assert_allclose(turned, [-1, 0, 0], atol=1e-9)
    # x goes to y, then to z
    turned = mocpack.rotations.rotate(clip.rotations[1, 0], np.array([1.0, 0, 0]))
    np.testing.assert_allclose(turned, [0, 0, 1], atol=1e-9)


def test_columns_may_be_in_any_order():
    skeleton = ASF.replace(b"TX TY TZ RX RY RZ", b"rx ty rz tx tz ry")
    motion = AMC.replace(b"root 1 2 3 0 90 0", b"root 0 2 0 1 3 90")
    np.testing.assert_allclose(joint(read(motion, skeleton), "root", 1), [1, 2, 3])


def test_axis_order_is_respected():
    xyz = read(AMC, ASF.replace(b"axis 0 0 90 XYZ", b"axis 90 0 90 XYZ"))
    zyx = read(AMC, ASF.replace(b"axis 0 0 90 XYZ", b"axis 90 0 90 ZYX"))
    # x first about itself, then about z: x points along y; z first, then about x: along z
    np.testing.assert_allclose(
        mocpack.rotations.rotate(xyz.skeleton.axes[2], np.array([1.0, 0, 0])), [0, 1, 0], atol=1e-9
    )
    np.testing.assert_allclose(
        mocpack.rotations.rotate(zyx.skeleton.axes[2], np.array([1.0, 0, 0])), [0, 0, 1], atol=1e-9
    )


def test_root_position_is_added_to_the_motion():
    clip = read(skeleton=ASF.replace(b"position 0 0 0", b"position 0 5 0"))
    np.testing.assert_allclose(joint(clip, "root", 0), [1, 7, 3])


def test_translation_moves_a_bone_from_its_rest_place_in_its_axis_frame():
    skeleton = ASF.replace(b"dof rx rz", b"dof tx rx rz")
    motion = AMC.replace(b"thigh 0 0", b"thigh 2 0 0").replace(b"thigh 90 0", b"thigh 0 90 0")
    clip = read(motion, skeleton)
    # the thigh's x axis is the world's y
    np.testing.assert_allclose(joint(clip, "thigh", 0), [1, 1, 3], atol=1e-9)
    np.testing.assert_allclose(mocpack.read_data(_bvh(clip)).positions(), clip.positions())


def test_stretch_slides_the_children_along_the_bone():
    skeleton = ASF.replace(b"dof rx rz", b"dof rx l rz")
    motion = AMC.replace(b"thigh 0 0", b"thigh 0 5 0").replace(b"thigh 90 0", b"thigh 90 -1 0")
    clip = read(motion, skeleton)
    np.testing.assert_allclose(joint(clip, "shin", 0), [1, -16, 3], atol=1e-6)
    np.testing.assert_allclose(joint(clip, "shin", 1), [1, -10, 3], atol=1e-6)


def test_unit_comes_from_the_length_in_inches():
    assert read().unit == UNIT
    assert read(skeleton=ASF.replace(b"length 0.45", b"length 2.54")).unit == 0.01
    assert amc.read(AMC, skeleton=ASF, unit=0.5).unit == 0.5


def test_a_length_factor_of_one_that_makes_a_giant_is_not_believed():
    big = ASF.replace(b"length 0.45", b"length 1").replace(b"length 10", b"length 160")
    clip = read(skeleton=big)
    assert clip.unit == 0.01
    assert clip.metadata["unit_guessed"] == "cm"


def test_radians_are_read_as_angles_but_not_kept_as_own_numbers():
    skeleton = ASF.replace(b"angle deg", b"angle rad").replace(b"0 90 XYZ", b"0 1.570796327 XYZ")
    motion = AMC.replace(b":DEGREES", b":RADIANS").replace(b"90", b"1.5707963267948966")
    clip = read(motion, skeleton)
    assert clip.channels is None
    np.testing.assert_allclose(clip.positions(), read().positions(), atol=1e-8)


def test_frame_time_is_cmus_unless_the_file_says_otherwise():
    assert read().frame_time == 1 / 120
    motion = AMC.replace(b":DEGREES", b":DEGREES\n:SAMPLES-PER-SECOND 60")
    assert read(motion).frame_time == 1 / 60


def test_bones_left_out_stay_put_unless_the_file_claims_to_be_complete():
    motion = AMC.replace(b":FULLY-SPECIFIED\n", b"").replace(b"shin 90\n", b"")
    assert read(motion).channels[1, -1] == 0
    with pytest.raises(FormatError, match=naming("line 8 frame 2 'shin'")):
        read(AMC.replace(b"shin 90\n", b""))


@pytest.mark.parametrize("ending", [b"\r\n", b"\r"])
def test_line_endings_do_not_matter(ending):
    clip = amc.read(AMC.replace(b"\n", ending), skeleton=ASF.replace(b"\n", ending))
    np.testing.assert_array_equal(clip.channels, read().channels)


def test_a_byte_order_mark_does_not_matter():
    clip = read_bytes(b"\xef\xbb\xbf" + AMC, skeleton=b"\xef\xbb\xbf" + ASF)
    np.testing.assert_array_equal(clip.channels, read().channels)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (b"shin 90", b"shin 90 1", "line 11 'shin' 1 2"),
        (b"shin 90", b"shin nan", "line 11 'nan'"),
        (b"shin 90", b"shin 1e999", "line 11 '1e999'"),
        (b"shin 90", b"toe 90", "line 11 'toe'"),
        (b"shin 90", b"thigh 1 2", "line 8 frame 2"),
        (b"\n2\n", b"\n4\n", "line 8 frame 2 4"),
        (b"\n1\n", b"\nx\n", "line 4 'x'"),
    ],
)
def test_bad_motion_names_its_line(old, new, named):
    with pytest.raises(FormatError, match=naming(named)):
        read(AMC.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (b"dof ry", b"dof ry ry", "line 38 'ry ry'"),
        (b"dof ry", b"dof rq", "line 38 'rq'"),
        (b"hip thigh", b"hip nobody", "line 44 'nobody'"),
        (b"thigh shin", b"thigh hip", "line 45 'hip'"),
        (b"root hip", b"shin hip", "'hip' root"),
        (b"name shin", b"name thigh", "line 32 'thigh'"),
        (b"length 8", b"length inf", "line 36 'length'"),
        (b"length 0.45", b"length -1", "line 5 -1"),
        (b"0 0 90 XYZ", b"0 0 90 XXZ", "line 27 XYZ 'XXZ'"),
        (b"direction 0 0 1", b"direction 0 0 0", "line 35 'shin' direction"),
        (b"    name shin\n", b"", "line 32"),
        (b":hierarchy", b":nothing", ":hierarchy"),
    ],
)
def test_a_bad_skeleton_is_a_clear_error(old, new, named):
    with pytest.raises(FormatError, match=naming("skeleton " + named)):
        read(skeleton=ASF.replace(old, new))


def test_a_cut_file_is_a_format_error_or_a_shorter_motion():
    for size in range(len(AMC)):
        try:
            assert read(AMC[:size]).frame_count <= 2
        except FormatError:
            continue
    for size in range(len(ASF) - 8):
        with pytest.raises(FormatError):
            read(skeleton=ASF[:size])


def test_a_motion_without_frames_is_truncated():
    with pytest.raises(TruncatedError, match=naming("frames")):
        read(b":FULLY-SPECIFIED\n:DEGREES\n")


def test_the_skeleton_is_found_beside_the_motion(tmp_path):
    (tmp_path / "02_01.amc").write_bytes(AMC)
    with pytest.raises(FormatError, match=naming("02_01.amc .asf --skeleton")):
        mocpack.read(tmp_path / "02_01.amc")
    (tmp_path / "any.ASF").write_bytes(ASF)
    assert mocpack.read(tmp_path / "02_01.amc").frame_count == 2
    (tmp_path / "other.asf").write_bytes(b"")
    with pytest.raises(FormatError, match=naming("2 02_01.asf 02.asf")):
        mocpack.read(tmp_path / "02_01.amc")
    assert mocpack.read(tmp_path / "02_01.amc", skeleton=tmp_path / "any.ASF").frame_count == 2
    (tmp_path / "02.asf").write_bytes(ASF)
    assert mocpack.read(tmp_path / "02_01.amc").frame_count == 2
    (tmp_path / "02_01.asf").write_bytes(ASF.replace(b"0.45", b"2.54"))
    assert mocpack.read(tmp_path / "02_01.amc").unit == 0.01


def test_a_skeleton_alone_is_its_rest_pose(tmp_path):
    (tmp_path / "body.asf").write_bytes(ASF)
    clip = mocpack.read(tmp_path / "body.asf")
    assert clip.frame_count == 1
    np.testing.assert_allclose(joint(clip, "shin", 0), [0, -13, 0])


def test_writing_a_motion_writes_its_skeleton_too(tmp_path):
    mocpack.write(read(), tmp_path / "out.amc")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.amc", "out.asf"]
    back = mocpack.read(tmp_path / "out.amc")
    np.testing.assert_array_equal(back.channels, read().channels)
    assert back.skeleton.channels == read().skeleton.channels
    np.testing.assert_allclose(back.positions(), read().positions(), atol=1e-9)
    with pytest.raises(UsageError, match=naming("out.asf out.amc")):
        mocpack.write(read(), tmp_path / "out.asf")


def test_when_the_motion_cannot_be_written_the_skeleton_is_not_either(tmp_path):
    (tmp_path / "out.amc").mkdir()
    (tmp_path / "out.asf").write_bytes(b"precious")
    with pytest.raises(OSError, match=r"out\.amc"):
        write_file(read(), tmp_path / "out.amc")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.amc", "out.asf"]


@pytest.mark.parametrize("name", list(hard_clips()))
def test_any_clip_survives_acclaim_files(name):
    clip = hard_clips()[name]
    back = _through_acclaim(clip)
    assert back.frame_time == clip.frame_time
    np.testing.assert_allclose(
        _positions(back, clip.skeleton.names), _positions(clip, clip.skeleton.names), atol=1e-6
    )


def test_bvh_to_acclaim_and_back_keeps_positions():
    clip = mocpack.read_data(_bvh(walk(0.5)))
    back = mocpack.read_data(_bvh(_through_acclaim(clip)))
    np.testing.assert_allclose(
        _positions(back, clip.skeleton.names), _positions(clip, clip.skeleton.names), atol=1e-6
    )


def test_angles_that_mean_the_same_are_carried_over_exactly():
    clip = mocpack.read_data(_bvh(walk(0.2)))
    back = _through_acclaim(clip)
    k = back.skeleton.index("LeftLeg")
    start = sum(len(c) for c in back.skeleton.channels[:k])
    j = clip.skeleton.index("LeftLeg")
    old = sum(len(c) for c in clip.skeleton.channels[:j])
    np.testing.assert_array_equal(
        back.channels[:, start : start + 3], clip.channels[:, old : old + 3][:, ::-1]
    )


def test_names_that_acclaim_files_cannot_hold_are_changed():
    clip = walk(0.1)
    names = ("Hips", "Left leg", "Left_leg", "end", "root", "12", *clip.skeleton.names[6:])
    header = replace(clip.header, skeleton=_renamed(clip, names))
    back = _through_acclaim(Clip(header, clip.rotations, clip.translations))
    assert {"Left_leg", "Left_leg_2", "end_", "root_2", "12_"} <= set(back.skeleton.names)


def test_a_small_body_in_inches_keeps_its_size():
    clip = walk(0.1)
    tiny = Clip(replace(clip.header, unit=0.0254), clip.rotations, clip.translations)
    small = Clip(
        replace(tiny.header, skeleton=_scaled(tiny, 0.01)), tiny.rotations, 0.01 * tiny.translations
    )
    back = _through_acclaim(small)
    np.testing.assert_allclose(
        _positions(back, clip.skeleton.names), _positions(small, clip.skeleton.names), atol=1e-6
    )


def test_cmu_skeleton_has_62_columns():
    clip = mocpack.read(ORIGINALS / "asfamc" / "02_03.amc")
    assert (clip.frame_count, clip.skeleton.channel_count, len(clip.skeleton)) == (173, 62, 31)
    assert clip.unit == UNIT


def test_acclaim_and_bvh_of_the_same_motion_agree():
    """The BVH drops the bones at which the body branches; given those back, joints coincide."""
    motion = load_clip("asfamc/02_01", COMMITTED)
    bvh = load_clip("cmu/02_01", COMMITTED).frames(1, 344)
    dropped = {"Neck", "LeftShoulder", "RightShoulder"}
    dropped |= {side + part for side in ("Left", "Right") for part in ("FingerBase",)}
    dropped |= {"LThumb", "RThumb"}
    offsets = bvh.skeleton.offsets.copy()
    for j, name in enumerate(bvh.skeleton.names):
        if name in dropped:
            assert not offsets[j].any()
            offsets[j] = motion.skeleton.offsets[j]
    skeleton = mocpack.Skeleton(bvh.skeleton.names, bvh.skeleton.parents, offsets)
    whole = Clip(replace(bvh.header, skeleton=skeleton), bvh.rotations, bvh.translations)
    # the BVH's numbers have four decimals, 2.8 micrometers
    assert np.abs(whole.positions() - motion.positions()).max() < 1e-5


@pytest.mark.parametrize("name", ["cmu/02_01", "cmu/135_02"])
def test_real_bvh_survives_acclaim_files(name):
    clip = load_clip(name, COMMITTED).frames(0, 100)
    back = _through_acclaim(clip)
    np.testing.assert_allclose(
        _positions(back, clip.skeleton.names), _positions(clip, clip.skeleton.names), atol=1e-6
    )


def test_real_acclaim_file_round_trips_number_for_number():
    clip = load_clip("asfamc/01_08", COMMITTED)
    back = _through_acclaim(clip)
    np.testing.assert_array_equal(back.channels, clip.channels)
    assert back.skeleton.names == clip.skeleton.names
    np.testing.assert_allclose(back.positions(), clip.positions(), atol=1e-8)


def _through_acclaim(clip: Clip) -> Clip:
    return amc.read(amc.write(clip), skeleton=amc.write_skeleton(clip))


def _bvh(clip: Clip) -> bytes:
    return write_bytes(clip, ".bvh")


def _positions(clip: Clip, names: tuple[str, ...]) -> np.ndarray:
    """Positions of the named joints (Acclaim calls the first one root) and of bone ends.

    Ends of no length are left out: they are the joint, and Acclaim files have no word for them.
    """
    own = [0, *(clip.skeleton.index(name) for name in names[1:])]
    positions, world = clip.world()
    ends = kinematics.end_positions(clip.skeleton, positions, world)
    ends = ends[:, clip.skeleton.end_sites.any(axis=1)]
    order = np.lexsort(np.round(ends[0], 4).T)
    return np.concatenate([positions[:, own], ends[:, order]], axis=1)


def _renamed(clip: Clip, names: tuple[str, ...]) -> mocpack.Skeleton:
    s = clip.skeleton
    return mocpack.Skeleton(
        names, s.parents, s.offsets, s.end_sites, s.end_site_joints, s.channels, s.axes
    )


def _scaled(clip: Clip, scale: float) -> mocpack.Skeleton:
    s = clip.skeleton
    return mocpack.Skeleton(
        s.names, s.parents, scale * s.offsets, scale * s.end_sites, s.end_site_joints, s.channels
    )


def test_probe_distinguishes_acclaim_files():
    assert amc.probe(AMC)
    assert asf.probe(ASF)
    assert not amc.probe(ASF)
    assert not asf.probe(AMC)
    assert not amc.probe(b"HIERARCHY\nROOT Hips")
    assert not asf.probe(b"HIERARCHY\nROOT Hips")


BONES = 20_000
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (12, 12))  # seconds of the processor, not of the clock
import mocpack
clip = mocpack.read(sys.argv[1])
mocpack.write(clip, sys.argv[2])
print(len(clip.skeleton))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits a process")
def test_twenty_thousand_bones_are_read_and_written_in_time_that_grows_with_them(tmp_path):
    head, _, _ = ASF.decode().partition(":bonedata")
    bone = "begin\nid {0}\nname b{0}\ndirection 0 1 0\nlength 0.1\naxis 0 0 0 XYZ\ndof rx\nend\n"
    bones = "".join(bone.format(i) for i in range(BONES))
    # each carries two, at one place, so that the tree is wide and deep
    tree = "".join(f"b{i} b{2 * i + 1} b{2 * i + 2}\n" for i in range(BONES // 2 - 1))
    tree += f"b{BONES // 2 - 1} b{BONES - 1}\n"
    text = f"{head}:bonedata\n{bones}:hierarchy\nbegin\nroot b0\n{tree}end\n"
    (tmp_path / "many.asf").write_text(text)
    call = [sys.executable, "-c", LIMITED, tmp_path / "many.asf", tmp_path / "out.amc"]
    done = subprocess.run(call, capture_output=True, timeout=500)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, b"%d" % (BONES + 1), b"")


def test_a_thousand_names_that_become_one_word_are_numbered():
    names = ("root", *(f"a{' ' * i}b" for i in range(1, 200)), "a_b_7")
    words = to_acclaim_names(names)
    assert words[1:4] == ("a_b", "a_b_2", "a_b_3")
    assert len(set(words)) == len(names)


def _frames_or_message(read_frames, motion: bytes, *, complete: bool) -> object:
    try:
        return read_frames(motion, asf.parse(ASF), complete=complete).tolist()
    except FormatError as error:
        return str(error)


def test_native_frames_are_those_of_the_python_reader():
    folder = ORIGINALS / "asfamc"
    motion, bones = (folder / "02_03.amc").read_bytes(), asf.parse((folder / "02.asf").read_bytes())
    text = motion.replace(b"\r\n", b"\n")
    native = amc.read_frames(text, bones, complete=True, start=text.index(b"\n1\n"))
    np.testing.assert_array_equal(native, reference.read_frames(text, bones, complete=True))


@pytest.mark.slow
@pytest.mark.parametrize("complete", [True, False])
def test_native_and_python_readers_say_the_same_of_changed_files(complete):
    rng = np.random.default_rng(5)
    whole = AMC.partition(b":DEGREES\n")[2] + b"3\n# a remark\nroot 1 1 1 1 1 1#\nshin -.5\n"
    pieces = [
        b"#",
        b"\n",
        b" ",
        b"\t",
        b"1",
        b"-",
        b"e5",
        b".",
        b"shin",
        b"hip",
        b"\x0b",
        b"\0",
        b"",
    ]
    for _ in range(1500):
        motion = whole
        for _ in range(rng.integers(1, 4)):
            at, width = rng.integers(0, len(motion)), rng.integers(0, 3)
            motion = motion[:at] + pieces[rng.integers(len(pieces))] + motion[at + width :]
        native = _frames_or_message(amc.read_frames, motion, complete=complete)
        python = _frames_or_message(reference.read_frames, motion, complete=complete)
        if python == []:
            assert names(native, "frames")
        else:
            assert native == python, motion


def test_frames_that_say_nothing_take_no_memory():
    wide = ASF.replace(b"dof rx rz", b"dof tx ty tz rx ry rz")
    empty = b"\n".join(b"%d" % n for n in range(1, 5_000_000))
    with pytest.raises(FormatError, match=naming("4999999 13")):
        read(b":DEGREES\n" + empty, wide)
    with pytest.raises(FormatError, match=naming("line 3 frame 1 'root'")):
        read(b":FULLY-SPECIFIED\n:DEGREES\n" + empty, wide)


def test_limits_of_a_bone_are_those_of_its_hinges_where_the_motion_keeps_them():
    limited = ASF.replace(b"limits (0 0)\n           (-inf inf)", b"limits (-10 100)\n  (-5.5, 20)")
    limited = limited.replace(b"limits (0.0 0.0)", b"limits (-45 45)")
    hinges = read(skeleton=limited).skeleton.hinges
    limits = dict(zip(hinges.names, np.degrees(hinges.limits), strict=True))
    np.testing.assert_allclose(limits["thigh.rx"], [-10, 100], atol=0.01)
    np.testing.assert_allclose(limits["thigh.rz"], [-5.5, 20], atol=0.01)
    # the shin rotates by 90 degrees, beyond the limits of the file
    np.testing.assert_array_equal(limits["shin.ry"], [-np.inf, np.inf])


@pytest.mark.parametrize("words", [b"limits (0 0)", b"limits (5", b"limits (a b)", b"limits"])
def test_limits_that_say_nothing_are_none(words):
    said = ASF.replace(b"limits (0.0 0.0)", words)
    hinges = read(skeleton=said).skeleton.hinges
    assert not np.isfinite(hinges.limits).any()
