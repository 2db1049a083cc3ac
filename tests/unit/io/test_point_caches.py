"""PC2 and MDD point caches: bytes written by hand, and hostile ones."""

import struct
from dataclasses import replace

import numpy as np
import pytest

import mocpack
from mocpack.errors import CorruptionError, InvalidClipError, TruncatedError
from mocpack.io import mdd, pc2
from mocpack.testing.motions import vertex_wave
from naming import naming
from reading import read_bytes


def test_a_pc2_file_made_by_hand_is_read():
    points = struct.pack("<6f", 1, 2, 3, 4, 5, 6)
    data = b"POINTCACHE2\0" + struct.pack("<iiffi", 1, 1, 0.0, 1.0, 2) + points
    clip = pc2.read(data)
    assert clip.vertices.tolist() == [[[1, 2, 3]], [[4, 5, 6]]]
    assert pc2.write(clip) == data


def test_an_mdd_file_made_by_hand_is_read():
    data = struct.pack(">ii", 2, 1) + struct.pack(">2f", 0, 0.5) + struct.pack(">6f", *range(6))
    clip = mdd.read(data)
    assert clip.frame_time == 0.5
    assert clip.vertices.tolist() == [[[0, 1, 2]], [[3, 4, 5]]]
    assert mdd.write(clip) == data


@pytest.mark.parametrize("suffix", [".pc2", ".mdd", ".npz"])
def test_vertices_go_through_a_file(tmp_path, suffix):
    clip = vertex_wave()
    mocpack.write(clip, tmp_path / f"wave{suffix}")
    back = mocpack.read(tmp_path / f"wave{suffix}")
    np.testing.assert_allclose(back.vertices, clip.vertices, atol=1e-7)
    assert back.frame_count == clip.frame_count


@pytest.mark.parametrize("module", [pc2, mdd])
def test_every_cut_of_a_cache_is_a_truncated_error(module):
    data = module.write(vertex_wave(3, 2))
    for end in range(len(data)):
        with pytest.raises((TruncatedError, CorruptionError)):
            module.read(data[:end])


@pytest.mark.parametrize("module", [pc2, mdd])
def test_a_billion_frames_in_a_small_cache_are_refused(module):
    data = bytearray(module.write(vertex_wave(3, 2)))
    at = 28 if module is pc2 else 0
    data[at : at + 4] = struct.pack("<i" if module is pc2 else ">i", 10**9)
    with pytest.raises(TruncatedError, match="1000000000 frames"):
        module.read(bytes(data))


def test_unevenly_timed_frames_are_refused():
    data = bytearray(mdd.write(vertex_wave(3, 2)))
    data[12:16] = struct.pack(">f", 0.9)
    with pytest.raises(CorruptionError, match=naming("frames")):
        mdd.read(bytes(data))


def test_values_that_are_not_finite_are_refused():
    data = bytearray(pc2.write(vertex_wave(3, 2)))
    data[-4:] = struct.pack("<f", float("nan"))
    with pytest.raises(CorruptionError, match=naming("vertices 2e+07")):
        read_bytes(bytes(data))


def test_metadata_that_is_no_number_is_an_error_that_names_it():
    clip = vertex_wave(3, 2)
    named = replace(clip, header=replace(clip.header, metadata={"pc2_step": "fast"}))
    with pytest.raises(InvalidClipError, match="pc2_step"):
        pc2.write(named)
