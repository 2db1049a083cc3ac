"""Every format restores every clip; readers raise proper errors for any bytes."""

import contextlib

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mocpack.errors import FormatError
from mocpack.io import amc, asf, asf_fit, bvh, clip_npz, vertices_npz
from mocpack.io.text import format_number, parse_number
from mocpack.model import rotations
from mocpack.model.clip import Clip, ClipHeader, VertexClip
from mocpack.model.dofs import from_channels
from mocpack.model.skeleton import Skeleton
from reading import read_bytes

QUICK = settings(max_examples=40)

UNITS = st.sampled_from([1.0, 0.01, 0.001, 0.0254, 0.0254 / 0.45, 0.3048])
lengths = st.floats(-500, 500).map(lambda v: round(v, 4))
angles = st.floats(-720, 720).map(lambda v: round(v, 3))
names = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="{}#(),:"),
    min_size=1,
    max_size=12,
).filter(lambda s: len(s.encode()) < 60)


@st.composite
def layouts(draw, style):
    """Channels of one joint: any positions and rotations, in any order."""
    every = {
        "bvh": ["Xposition", "Yposition", "Zposition", "Xrotation", "Yrotation", "Zrotation"],
        "asf": ["tx", "ty", "tz", "rx", "ry", "rz"],
    }[style]
    return tuple(draw(st.lists(st.sampled_from(every), unique=True, max_size=6)))


@st.composite
def skeletons(draw, style="bvh"):
    """A tree with parents before children, not always depth first."""
    joints = draw(st.integers(1, 7))
    parents = [-1, *(draw(st.integers(0, j - 1)) for j in range(1, joints))]
    chosen = draw(st.lists(names, min_size=joints, max_size=joints, unique_by=str.lower))
    offsets = [[draw(lengths) for _ in range(3)] for _ in range(joints)]
    carriers = sorted(draw(st.lists(st.integers(0, joints - 1), max_size=4)))
    ends = [[draw(lengths) for _ in range(3)] for _ in carriers]
    channels = [draw(layouts(style)) for _ in range(joints)]
    if not any(channels):
        channels[0] = ("Xrotation",) if style == "bvh" else ("rx",)
    tilts = np.zeros((joints, 3))
    if style == "asf":
        tilts = np.array([[draw(angles) for _ in range(3)] for _ in range(joints)])
    return Skeleton(
        tuple(chosen),
        tuple(parents),
        np.array(offsets) / 100,
        np.array(ends).reshape(-1, 3) / 100,
        tuple(carriers),
        tuple(channels),
        rotations.from_euler(np.radians(tilts), "ZYX"),
    )


@st.composite
def clips(draw, style="bvh"):
    """A clip with its source's own numbers, as a reader makes it."""
    skeleton = draw(skeletons(style))
    frames = draw(st.integers(1, 4))
    unit = draw(UNITS)
    row = [
        angles if "r" in (c[0], c[1]) else st.floats(-90, 90).map(lambda v: round(v, 4))
        for joint in skeleton.channels
        for c in joint
    ]
    numbers = np.array([[draw(value) for value in row] for _ in range(frames)])
    frame_time = draw(st.floats(1e-4, 2.0))
    header = ClipHeader(skeleton, frames, frame_time, skeleton.translated_joints, unit)
    return from_channels(numbers, header)


def without_numbers(clip: Clip) -> Clip:
    return Clip(clip.header, clip.rotations, clip.translations)


@QUICK
@given(clips())
def test_bvh_keeps_own_numbers(clip):
    back = bvh.read(bvh.write(clip), unit=clip.unit)
    order = [clip.skeleton.names.index(name) for name in back.skeleton.names]
    assert back.frame_time == clip.frame_time
    assert back.skeleton.channels == tuple(clip.skeleton.channels[j] for j in order)
    np.testing.assert_allclose(back.positions(), clip.positions()[:, order], atol=1e-9)
    again = bvh.read(bvh.write(back), unit=back.unit)
    np.testing.assert_array_equal(again.channels, back.channels)
    np.testing.assert_array_equal(again.positions(), back.positions())


@QUICK
@given(st.one_of(clips(), clips("asf")))
def test_bvh_keeps_positions_of_clips_without_numbers(clip):
    back = bvh.read(bvh.write(without_numbers(clip)), unit=clip.unit)
    order = [clip.skeleton.names.index(name) for name in back.skeleton.names]
    np.testing.assert_allclose(back.positions(), clip.positions()[:, order], atol=3e-6)


@QUICK
@given(st.one_of(clips(), clips("asf")), st.booleans())
def test_acclaim_files_keep_positions(clip, own_numbers):
    clip = clip if own_numbers else without_numbers(clip)
    back = amc.read(amc.write(clip), skeleton=amc.write_skeleton(clip))
    assert back.frame_time == pytest.approx(clip.frame_time, rel=1e-15)
    order = [0] + [back.skeleton.names.index(n) for n in asf_names(clip)[1:]]
    np.testing.assert_allclose(back.positions()[:, order], clip.positions(), atol=3e-6)


@QUICK
@given(clips("asf"))
def test_acclaim_files_of_acclaim_clips_settle(clip):
    """Clips from Acclaim files are written with the same numbers and skeleton."""
    first = amc.read(amc.write(clip), skeleton=amc.write_skeleton(clip))
    second = amc.read(amc.write(first), skeleton=amc.write_skeleton(first))
    assert second.skeleton.names == first.skeleton.names
    assert second.skeleton.channels == first.skeleton.channels
    if first.channels is not None and second.unit == first.unit:
        np.testing.assert_array_equal(second.channels, first.channels)
    np.testing.assert_allclose(second.positions(), first.positions(), atol=1e-6)


@QUICK
@given(st.one_of(clips(), clips("asf")), st.booleans())
def test_npz_keeps_everything(clip, own_numbers):
    clip = clip if own_numbers else without_numbers(clip)
    back = clip_npz.read(clip_npz.write(clip))
    assert back.header == clip.header
    np.testing.assert_array_equal(back.rotations, clip.rotations)
    np.testing.assert_array_equal(back.translations, clip.translations)
    assert (back.channels is None) == (clip.channels is None)


@QUICK
@given(
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(0, 4),
    st.floats(1e-3, 1e4),
    st.integers(0, 2**32 - 1),
)
def test_npz_of_vertices_keeps_everything(frames, count, triangles, rate, seed):
    rng = np.random.default_rng(seed)
    faces = rng.integers(0, count, (triangles, 3))
    clip = VertexClip.build(rng.normal(size=(frames, count, 3)), faces, frame_rate=rate)
    back = vertices_npz.read(vertices_npz.write(clip))
    np.testing.assert_array_equal(back.vertices, clip.vertices)
    np.testing.assert_array_equal(back.faces, clip.faces)
    assert back.frame_time == clip.frame_time


@QUICK
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_printed_is_the_number_read(value):
    text = format_number(value)
    assert parse_number(text.encode()) == value
    assert "e" not in text


@QUICK
@given(st.text("0123456789+-.eE", max_size=30))
def test_numbers_are_read_as_python_reads_them(text):
    found = parse_number(text.encode())
    try:
        expected = float(text)
    except ValueError:
        expected = None
    assume(expected is None or np.isfinite(expected))
    assert found == expected


@QUICK
@given(st.binary(max_size=200), st.sampled_from([".bvh", ".amc", ".asf", ".npz", ".txt"]))
def test_any_bytes_are_a_clip_or_a_format_error(data, suffix):
    with contextlib.suppress(FormatError):
        read_bytes(data, name=f"file{suffix}", skeleton=b":root")


@QUICK
@given(st.data())
def test_damaged_text_is_a_clip_or_a_format_error(data):
    clip = data.draw(clips())
    text = bytearray(data.draw(st.sampled_from([bvh.write, amc.write, amc.write_skeleton]))(clip))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with contextlib.suppress(FormatError):
        read_bytes(bytes(text), name="file.bvh", skeleton=amc.write_skeleton(clip))


def asf_names(clip: Clip) -> tuple[str, ...]:
    """The names that the joints have in Acclaim files."""
    return asf_fit.to_acclaim_names(clip.skeleton.names)


def test_strategies_cover_the_interesting_cases():
    """The examples of these properties cover all interesting cases."""
    seen = set()

    @settings(max_examples=80)
    @given(clips("asf"))
    def look(clip):
        seen.add(len(clip.skeleton) > 2)
        seen.add(asf.bone_vectors(clip.skeleton).any())
        seen.update(len(c) for c in clip.skeleton.channels)

    look()
    assert {True, 0, 2, 3, 6} <= seen
