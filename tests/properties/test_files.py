"""Files of other formats: written clips are read back, and readers survive any bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mocpack.errors import FormatError
from mocpack.io import write_bytes
from mocpack.model.dofs import from_channels
from mocpack.testing import walk
from mocpack.testing.motions import vertex_wave
from reading import read_bytes
from strategies import (
    ASF_LAYOUTS,
    BVH_LAYOUTS,
    LENGTHS,
    PLAIN_NAMES,
    clips,
    clips_of_channels,
    dof_motions,
    skeletons,
    vertex_clips,
)

BVH = skeletons(names=PLAIN_NAMES, layouts=BVH_LAYOUTS, axes=False).filter(
    lambda skeleton: skeleton.channel_count > 0
)
ANY = skeletons(names=PLAIN_NAMES, layouts=BVH_LAYOUTS | ASF_LAYOUTS, lengths=LENGTHS)
CLOSE = 1e-6  # meters


def positions_by_name(clip, names):
    places = clip.positions()
    return places[:, [clip.skeleton.index(name) for name in names]]


@given(dof_motions(BVH))
def test_a_bvh_keeps_every_number_of_its_source(motion):
    header, numbers = motion
    clip = from_channels(numbers, header)
    back = read_bytes(write_bytes(clip, ".bvh"), unit=header.unit, up="y")
    assert sorted(back.skeleton.names) == sorted(clip.skeleton.names)
    assert back.frame_time == clip.frame_time
    order = [clip.skeleton.index(name) for name in back.skeleton.names]
    starts = np.cumsum([0, *map(len, clip.skeleton.channels)])
    columns = [c for j in order for c in range(starts[j], starts[j + 1])]
    np.testing.assert_array_equal(back.channels, clip.channels[:, columns])


@given(clips_of_channels(BVH))
def test_a_bvh_puts_every_joint_where_it_was(clip):
    back = read_bytes(write_bytes(clip, ".bvh"), unit=clip.unit, up="y")
    names = clip.skeleton.names
    np.testing.assert_allclose(
        positions_by_name(back, names), positions_by_name(clip, names), atol=CLOSE
    )


@given(clips(ANY))
def test_npz_keeps_everything(clip):
    back = read_bytes(write_bytes(clip, ".npz"), name="x.npz")
    assert back.header == clip.header
    np.testing.assert_array_equal(back.rotations, clip.rotations)
    np.testing.assert_array_equal(back.translations, clip.translations)


@given(vertex_clips())
def test_npz_keeps_a_mesh(clip):
    back = read_bytes(write_bytes(clip, ".npz"), name="x.npz")
    np.testing.assert_array_equal(back.vertices, clip.vertices)
    np.testing.assert_array_equal(back.faces, clip.faces)
    assert back.frame_time == pytest.approx(clip.frame_time, rel=1e-12)


SMALL = walk(0.1).joints([1])
FILES = {
    ".bvh": (write_bytes(SMALL, ".bvh"), None),
    ".amc": (write_bytes(SMALL, ".amc"), write_bytes(SMALL, ".asf")),
    ".npz": (write_bytes(SMALL, ".npz"), None),
    "vertices.npz": (write_bytes(vertex_wave(2, 3), ".npz"), None),
}
WORDS = b" |\n|{|}|-1|1e309|nan|999999999|JOINT|:|\xff\0|".split(b"|")


@st.composite
def damaged(draw, data):
    """The bytes with a few pieces cut out, doubled or replaced."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        stop = draw(st.integers(start, min(len(data), start + 40)))
        piece = draw(st.sampled_from([*WORDS, data[start:stop] * 2]) | st.binary(max_size=8))
        data = data[:start] + piece + data[stop:]
    return data


def read_error(data, **how):
    """Return the reader's error message, or "" if it accepts the data; other errors propagate."""
    try:
        read_bytes(data, **how)
    except FormatError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", FILES)
@given(st.data())
def test_a_damaged_file_is_a_clip_or_a_clear_error(name, data):
    file, skeleton = FILES[name]
    said = read_error(data.draw(damaged(file)), name=f"damaged{name}", skeleton=skeleton)
    assert "\n" not in said


@given(st.data())
def test_a_damaged_skeleton_file_is_a_clip_or_a_clear_error(data):
    motion, skeleton = FILES[".amc"]
    said = read_error(motion, name="x.amc", skeleton=data.draw(damaged(skeleton)))
    assert "\n" not in said
