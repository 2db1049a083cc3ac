"""BVH files: all common layouts are read, and invalid ones give a clear error."""

from dataclasses import replace

import numpy as np
import pytest

import mocpack
from mocpack.bench.datasets import CHECKOUT, COMMITTED, load_clip
from mocpack.errors import FormatError, TruncatedError, UnsupportedClipError
from mocpack.io import bvh, write_bytes
from mocpack.io.text import choose_decimals
from mocpack.model.clip import Clip
from mocpack.model.rotations import from_euler, rotate
from mocpack.model.skeleton import Skeleton
from mocpack.testing.motions import hard_clips, walk
from naming import naming
from reading import read_bytes

ORIGINALS = CHECKOUT / "tests" / "originals"
# every joint has its own layout; 1 unit is 1 meter by default
BVH = b"""HIERARCHY
ROOT Hips
{
  OFFSET 9 9 9
  CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
  JOINT Left Leg
  {
    OFFSET 0 -1 0
    CHANNELS 3 Xrotation Zrotation Yrotation
    JOINT Helper
    {
      OFFSET 0 0 1
      JOINT Toe
      {
        OFFSET 0 0 2
        CHANNELS 1 Xrotation
        End Site
        {
          OFFSET 0 0 3
        }
      }
    }
  }
  JOINT Slider
  {
    OFFSET 5 6 7
    CHANNELS 1 Yposition
    End Site
    {
      OFFSET 1 0 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.0083333
1 2 3 0 0 0 0 0 0 0 6
1 2 3 90 0 0 90 90 0 90 8
"""


def read(data: bytes = BVH) -> Clip:
    return bvh.read(data, unit=1.0)


def joint(clip: Clip, name: str, frame: int) -> np.ndarray:
    return clip.positions()[frame, clip.skeleton.index(name)]


def test_channel_layouts_are_kept_joint_by_joint():
    assert read().skeleton.channels == (
        ("Xposition", "Yposition", "Zposition", "Zrotation", "Yrotation", "Xrotation"),
        ("Xrotation", "Zrotation", "Yrotation"),
        (),
        ("Xrotation",),
        ("Yposition",),
    )


def test_names_may_have_spaces():
    assert read().skeleton.names == ("Hips", "Left Leg", "Helper", "Toe", "Slider")


def test_position_channels_replace_the_offset():
    np.testing.assert_allclose(joint(read(), "Hips", 0), [1, 2, 3])


def test_missing_position_channels_leave_the_offset():
    np.testing.assert_allclose(joint(read(), "Slider", 0), [1 + 5, 2 + 6, 3 + 7])
    # the root has turned by 90 degrees about z: (5, 8, 7) becomes (-8, 5, 7)
    np.testing.assert_allclose(joint(read(), "Slider", 1), [1 - 8, 2 + 5, 3 + 7])


def test_rotation_order_is_the_joints_own():
    _, world = read().world()
    # Rz(90) of the root, then Rx(90) Rz(90) of the leg: z to -y by the leg's x, to x by the root
    np.testing.assert_allclose(rotate(world[1, 1], np.array([0.0, 0, 1])), [1, 0, 0], atol=1e-12)
    # x to y by the leg's z, to z by its x, and the root leaves it there
    np.testing.assert_allclose(rotate(world[1, 1], np.array([1.0, 0, 0])), [0, 0, 1], atol=1e-12)


def test_a_joint_without_channels_follows_its_parent():
    clip = read()
    _, world = clip.world()
    np.testing.assert_allclose(world[1, 2], world[1, 1])
    step = joint(clip, "Helper", 1) - joint(clip, "Left Leg", 1)
    np.testing.assert_allclose(step, [1, 0, 0], atol=1e-12)


def test_end_sites_belong_to_their_joints():
    skeleton = read().skeleton
    assert skeleton.end_site_joints == (3, 4)
    np.testing.assert_array_equal(skeleton.end_sites, [[0, 0, 3], [1, 0, 0]])


def test_frame_time_is_kept_exactly():
    assert read().frame_time == 0.0083333
    assert read(write_bytes(read(), ".bvh")).frame_time == 0.0083333


@pytest.mark.parametrize("ending", [b"\r\n", b"\r", b"\n\n", b" \t\r\n"])
def test_line_endings_do_not_matter(ending):
    assert _same(read(BVH.replace(b"\n", ending)), read())


def test_mixed_line_endings_do_not_matter():
    lines = BVH.split(b"\n")
    mixed = b"".join(line + (b"\n", b"\r\n", b"\r")[i % 3] for i, line in enumerate(lines))
    assert _same(read(mixed), read())


def test_a_byte_order_mark_does_not_matter():
    assert _same(read_bytes(b"\xef\xbb\xbf" + BVH, unit=1.0), read())


def test_case_of_keywords_does_not_matter():
    lower = BVH
    for word in (b"HIERARCHY", b"ROOT", b"JOINT", b"OFFSET", b"CHANNELS", b"MOTION", b"End Site"):
        lower = lower.replace(word, word.lower())
    lower = lower.replace(b"Xrotation", b"XROTATION").replace(b"Frames", b"FRAMES")
    assert _same(read_bytes(lower, unit=1.0), read())


def test_braces_and_colons_need_no_space():
    tight = BVH.replace(b"Helper\n    {", b"Helper{").replace(b"End Site\n        {", b"End Site{")
    tight = tight.replace(b"OFFSET 0 0 3\n        }", b"OFFSET 0 0 3}")
    tight = tight.replace(b"Frames: 2", b"Frames:2").replace(b"Frame Time: ", b"Frame Time :")
    assert _same(read(tight), read())


def test_a_name_may_be_on_the_next_line():
    assert _same(read(BVH.replace(b"ROOT Hips", b"ROOT\n Hips")), read())


def test_writing_and_reading_gives_the_same_numbers():
    clip = read()
    back = read(write_bytes(clip, ".bvh"))
    assert _same(back, clip)
    assert back.header.skeleton == clip.header.skeleton


@pytest.mark.parametrize("name", list(hard_clips()))
def test_any_clip_survives_a_bvh(name):
    clip = hard_clips()[name]
    back = bvh.read(bvh.write(clip), unit=1.0)
    np.testing.assert_allclose(back.positions(), clip.positions(), atol=1e-6)
    assert back.frame_time == clip.frame_time
    again = bvh.read(bvh.write(back), unit=1.0)
    assert _same(again, back)


def test_joints_that_are_not_depth_first_are_written_in_the_order_of_their_columns():
    skeleton = Skeleton(
        ("root", "a", "b", "a1", "b1"),
        (-1, 0, 0, 1, 2),
        np.array([[0, 0, 0], [1, 0, 0], [-1, 0, 0], [1, 0.5, 0], [-1, 0.5, 0]]),
        np.array([[1.0, 0, 0], [2.0, 0, 0]]),
        (3, 4),
    )
    rng = np.random.default_rng(1)
    local = mocpack.rotations.from_rotvec(rng.normal(size=(3, 5, 3)))
    clip = Clip.build(skeleton, local, np.zeros((3, 3)), frame_rate=30)
    back = bvh.read(bvh.write(clip), unit=1.0)
    assert back.skeleton.names == ("root", "a", "a1", "b", "b1")
    order = [skeleton.names.index(n) for n in back.skeleton.names]
    np.testing.assert_allclose(back.positions(), clip.positions()[:, order], atol=1e-6)


def test_names_that_would_break_the_file_are_changed():
    clip = walk(0.05)
    s = clip.skeleton
    names = ("Hips{", "a\nb", " c ", "a_b", *s.names[4:])
    skeleton = Skeleton(names, s.parents, s.offsets, s.end_sites, s.end_site_joints)
    back = bvh.read(
        bvh.write(Clip(replace(clip.header, skeleton=skeleton), clip.rotations, clip.translations))
    )
    assert back.skeleton.names[:4] == ("Hips_", "a_b", "_c_", "a_b_2")


def test_written_in_the_unit_of_its_source():
    inches = bvh.read(BVH, unit=0.0254)
    assert inches.unit == 0.0254
    assert b"OFFSET 0 -1 0\n" in bvh.write(inches)
    np.testing.assert_array_equal(
        bvh.read(bvh.write(inches), unit=0.0254).channels, inches.channels
    )


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (b"MOTION", b"ROOT Second\n{", "line 34"),
        (b"Frames: 2", b"Frames: 3", "line 35 3 11"),
        (b"Frames: 2", b"Frames: 1", "line 38 1 11"),
        (b"Frames: 2", b"Frames: 1000000000", "line 35 1000000000"),
        (b"Frames: 2", b"Frames: 0", "line 35 1 '0'"),
        (b"Frames: 2", b"Frames: -2", "line 35 1 '-2'"),
        (b"Frames: 2", b"Frames: two", "line 35 1 'two'"),
        (b"Frame Time: 0.0083333", b"Frame Time: 0", "line 36 0"),
        (b"Frame Time: 0.0083333", b"Frame Time: nan", "line 36 'nan'"),
        (b"Frame Time:", b"Time:", "line 36 Frame Time: 'Time:'"),
        (b"90 8", b"90 nan", "line 38 frame 1 channel 10 'nan'"),
        (b"90 8", b"90 inf", "line 38 frame 1 channel 10 'inf'"),
        (b"90 8", b"90 1e999", "line 38 '1e999'"),
        (b"90 8", b"90 0x10", "line 38 '0x10'"),
        (b"90 8", b"90 1,5", "line 38 '1,5'"),
        (b"JOINT Toe", b"JOINT Hips", "line 13 'Hips'"),
        (b"JOINT Toe", b"JOINT", "line 14"),
        (b"JOINT Toe", b"JOINT " + b"x" * 300, "line 13 255"),
        (b"OFFSET 0 0 2", b"OFFSET 0 0", "line 16 'CHANNELS'"),
        (b"OFFSET 0 0 2", b"OFFSET 0 0 nan", "line 15 'nan'"),
        (b"OFFSET 0 0 2", b"OFFSET 0 0 2 OFFSET 1 1 1", "line 15 'Toe' OFFSET"),
        (b"        OFFSET 0 0 2\n", b"", "line 20 'Toe' OFFSET"),
        (b"CHANNELS 1 Xrotation", b"CHANNELS 1 Wrotation", "line 16 'Wrotation'"),
        (b"CHANNELS 1 Xrotation", b"CHANNELS 2 Xrotation Xrotation", "line 16 Xrotation"),
        (b"CHANNELS 1 Xrotation", b"CHANNELS 7 Xrotation", "line 16 6 '7'"),
        (b"CHANNELS 1 Xrotation", b"CHANNELS 2 Xrotation", "line 17 'End'"),
        (b"End Site", b"End Effector", "line 17 SITE 'Effector'"),
        (b"HIERARCHY", b"HIERARCHIE", "line 1 HIERARCHY 'HIERARCHIE'"),
        (b"ROOT", b"JOINT", "line 2 ROOT 'JOINT'"),
    ],
)
def test_bad_files_name_the_line(old, new, named):
    with pytest.raises(FormatError, match=naming(named)):
        read(BVH.replace(old, new, 1))


def test_data_that_ends_early_names_the_line_where_it_ends():
    short = BVH.replace(b"Frames: 2", b"Frames: 3").replace(b"90 8", b"90 8." + b"0" * 60)
    with pytest.raises(TruncatedError, match=naming("line 39 3 2")):
        read(short)


def test_lines_are_counted_with_any_ending():
    for ending in (b"\r", b"\r\n"):
        with pytest.raises(FormatError, match=naming("line 38 'nan'")):
            read(BVH.replace(b"90 8", b"90 nan").replace(b"\n", ending))


def test_a_file_cut_at_any_byte_is_a_format_error():
    whole = BVH.rstrip()
    for size in range(len(whole) - 1):
        with pytest.raises(FormatError):
            read(whole[:size])


def test_a_truncated_file_is_recognized_where_possible():
    for part in (b"OFFSET 0 -1", b"CHANNELS 3 Xrot", b"MOTION", b"Frames:", b"1 2 3 90 0 0"):
        cut = BVH[: BVH.index(part) + len(part)]
        with pytest.raises(FormatError) as caught:
            read(cut.rsplit(b" ", 1)[0] if part != b"MOTION" else cut)
        assert isinstance(caught.value, TruncatedError)


def test_junk_with_the_name_of_a_bvh_is_a_clear_error(tmp_path):
    junk = np.random.default_rng(0).integers(0, 256, 5000, np.uint8).tobytes()
    (tmp_path / "junk.bvh").write_bytes(junk)
    with pytest.raises(FormatError, match=naming("junk.bvh line 1 HIERARCHY")) as caught:
        mocpack.read(tmp_path / "junk.bvh")
    assert len(str(caught.value)) < 500
    (tmp_path / "empty.bvh").write_bytes(b"")
    with pytest.raises(TruncatedError, match=naming("empty.bvh empty")):
        mocpack.read(tmp_path / "empty.bvh")


def test_a_bvh_by_another_name_is_read():
    assert _same(read_bytes(BVH, name="motion.txt", unit=1.0), read())


def test_damaged_files_raise_nothing_but_format_errors():
    rng = np.random.default_rng(5)
    for at, value in zip(rng.integers(0, len(BVH), 2000), rng.integers(0, 256, 2000), strict=True):
        damaged = bytearray(BVH)
        damaged[at] = value
        try:
            assert isinstance(bvh.read(bytes(damaged)), Clip)
        except FormatError:
            continue


def test_deep_nesting_is_refused_without_overflow():
    deep = b"HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\n" + b"".join(
        b"JOINT j%d\n{\nOFFSET 0 0 0\n" % i for i in range(10_001)
    )
    with pytest.raises(FormatError, match=naming("line 30003 10000")):
        read(deep)


def test_a_long_chain_is_written_and_read():
    clip = mocpack.testing.motions.chain(1200, 2, scale=0.001)
    back = bvh.read(bvh.write(clip), unit=1.0)
    np.testing.assert_allclose(back.positions(), clip.positions(), atol=1e-4)


def test_real_clips_round_trip_number_for_number():
    original = mocpack.read(ORIGINALS / "cmu" / "09_01.bvh")
    for clip in (original, load_clip("cmu/135_02", COMMITTED).frames(0, 500)):
        back = mocpack.read_data(bvh.write(clip))
        assert _same(back, clip)
        assert back.skeleton == clip.skeleton


def _same(a: Clip, b: Clip) -> bool:
    return (
        a.skeleton.names == b.skeleton.names
        and np.array_equal(a.channels, b.channels)
        and np.array_equal(a.positions(), b.positions())
        and a.frame_time == b.frame_time
    )


def test_the_sign_of_zero_is_written():
    signed = BVH.replace(b"OFFSET 0 -1 0", b"OFFSET -0 -1 0").replace(
        b"1 2 3 0 0 0", b"1 2 3 0 -0 0"
    )
    again = write_bytes(read(signed), ".bvh")
    assert b"OFFSET -0 -1 0" in again
    assert b"\n1 2 3 0 -0 0 " in again
    np.testing.assert_array_equal(
        np.signbit(read(again).channels), np.signbit(read(signed).channels)
    )


def test_the_sign_of_zero_survives_the_lossless_codec():
    clip = read(BVH.replace(b"1 2 3 0 0 0", b"1 2 3 0 -0 0"))
    back = mocpack.decode(mocpack.encode(clip, "lossless"))
    assert write_bytes(back, ".bvh") == write_bytes(clip, ".bvh")


def test_more_end_sites_than_a_file_can_hold_are_refused_with_their_line():
    site = b"End Site { OFFSET 1 0 0 }\n"
    many = BVH.replace(b"    End Site\n    {\n      OFFSET 1 0 0\n    }\n", site * 70_001)
    with pytest.raises(FormatError, match=naming("line 65562 65535")):
        read(many)


def far_arm(bone, seed=0):
    """A chain of four bones of that length in meters, which turn at random."""
    rng = np.random.default_rng(seed)
    offsets = np.array([[0.0, 0, 0]] + [[bone, 0, 0]] * 3)
    skeleton = Skeleton(tuple("abcd"), (-1, 0, 1, 2), offsets, offsets[1:2], (3,))
    turns = from_euler(rng.uniform(-1.2, 1.2, (20, 4, 3)), "ZYX")
    return Clip.build(skeleton, turns, rng.normal(size=(20, 3)))


@pytest.mark.parametrize("bone", [0.3, 30.0, 16_000.0])
@pytest.mark.parametrize("suffix", [".bvh", ".amc"])
def test_text_moves_no_joint_by_a_micrometer_however_long_its_lever(bone, suffix):
    clip = far_arm(bone)
    skeleton = {".bvh": None, ".amc": write_bytes(clip, ".asf")}[suffix]
    back = read_bytes(write_bytes(clip, suffix), unit=1.0, skeleton=skeleton)
    joints = [back.skeleton.index(name) for name in clip.skeleton.names[1:]]
    off = np.linalg.norm(back.positions()[:, joints] - clip.positions()[:, 1:], axis=-1)
    assert off.max() < 1e-6


def test_a_body_is_printed_with_no_more_digits_than_before():
    clip = Clip(walk(0.2).header, walk(0.2).rotations, walk(0.2).translations)
    assert set(choose_decimals(clip)) == {7}


def test_a_chain_of_thousands_of_joints_is_no_file_of_tabs():
    count = 5000
    chain = Skeleton(
        tuple(f"j{i}" for i in range(count)), tuple(range(-1, count - 1)), np.ones((count, 3))
    )
    clip = Clip.build(chain, np.tile([0, 0, 0, 1.0], (1, count, 1)), np.zeros((1, 3)))
    assert len(write_bytes(clip, ".bvh")) < 1000 * count


def test_places_near_the_farthest_round_trip_from_every_codec():
    clip = walk(0.2)
    far = clip.translations - clip.translations.max() + 9_999_999.9999
    clip = Clip(clip.header, clip.rotations, far)
    for codec in ("raw", "keysine", "lossless", "wavelet"):
        assert mocpack.decode(mocpack.encode(clip, codec)).frame_count == clip.frame_count


def test_places_beyond_the_farthest_are_refused_when_read_and_when_packed():
    with pytest.raises(FormatError, match=naming("input 10000001 1e+07")):
        read_bytes(BVH.replace(b"1 2 3 0", b"10000001 2 3 0"), unit=1.0)
    clip = walk(0.2)
    far = Clip(clip.header, clip.rotations, clip.translations + 1e7)
    with pytest.raises(UnsupportedClipError, match=naming("10000001 1e+07")):
        mocpack.encode(far, "raw")


@pytest.mark.parametrize("number", [b"1e308", b"-1e308", b"1e200"])
def test_numbers_that_no_body_has_are_clear_errors_and_not_a_warning(number):
    with pytest.raises(FormatError, match=naming("offsets 1e6")):
        read_bytes(BVH.replace(b"OFFSET 0 -1 0", b"OFFSET 0 %s 0" % number))
    with pytest.raises(FormatError, match=naming("translations 2e+07")):
        read_bytes(BVH.replace(b"1 2 3 0", b"%s 2 3 0" % number))
