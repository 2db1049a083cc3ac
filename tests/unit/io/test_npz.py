"""npz files: clips are restored exactly, and hostile files are rejected."""

import io
import zipfile

import numpy as np
import pytest

import mocpack
from mocpack.errors import FormatError, UsageError
from mocpack.io import clip_npz, npz, write_bytes
from mocpack.model.clip import Clip
from mocpack.testing.motions import hard_clips, vertex_wave, walk
from naming import naming
from reading import read_bytes
from takes import FEATURES, take


@pytest.mark.parametrize("name", list(hard_clips()))
def test_any_clip_round_trips(name):
    clip = hard_clips()[name]
    back = read_bytes(write_bytes(clip, ".npz"))
    assert back.header == clip.header
    np.testing.assert_array_equal(back.rotations, clip.rotations)
    np.testing.assert_array_equal(back.translations, clip.translations)
    assert back.channels is None


def test_own_numbers_of_the_source_travel_along():
    clip = mocpack.read_data(write_bytes(walk(0.1), ".bvh"))
    back = read_bytes(write_bytes(clip, ".npz"))
    np.testing.assert_array_equal(back.channels, clip.channels)
    assert back.header == clip.header


def test_the_least_that_another_program_writes_is_enough():
    clip = walk(0.1)
    data = npz.pack(
        {
            "rotations": clip.rotations.astype(np.float32),
            "translations": clip.translations[:, 0].astype(np.float32),
            "parents": np.array(clip.skeleton.parents),
            "offsets": clip.skeleton.offsets,
            "frame_rate": np.float32(60),
        }
    )
    back = read_bytes(data)
    assert back.frame_rate == 60
    assert back.skeleton.names[:2] == ("joint0", "joint1")
    np.testing.assert_allclose(back.positions(), clip.positions(), atol=1e-6)


def test_quaternions_with_w_first_are_turned_round():
    clip = walk(0.1)
    arrays = _arrays(clip) | {
        "rotations": np.roll(clip.rotations, 1, axis=2),
        "quaternion_order": "wxyz",
    }
    np.testing.assert_array_equal(read_bytes(npz.pack(arrays)).rotations, clip.rotations)


def test_arrays_in_fortran_order_are_read():
    clip = walk(0.1)
    arrays = _arrays(clip) | {"rotations": np.asfortranarray(clip.rotations)}
    np.testing.assert_array_equal(read_bytes(npz.pack(arrays)).rotations, clip.rotations)


def test_a_unit_scales_lengths():
    clip = walk(0.1)
    back = clip_npz.read(npz.pack(_arrays(clip)), unit=0.01)
    np.testing.assert_allclose(back.positions(), 0.01 * clip.positions())


def test_the_same_clip_gives_the_same_bytes():
    assert clip_npz.write(walk(0.1)) == clip_npz.write(walk(0.1))


def test_vertex_animation_round_trips():
    clip = vertex_wave()
    back = read_bytes(write_bytes(clip, ".npz"))
    np.testing.assert_array_equal(back.vertices, clip.vertices)
    np.testing.assert_array_equal(back.faces, clip.faces)
    assert back.frame_time == clip.frame_time


def test_vertices_alone_are_a_vertex_animation():
    back = read_bytes(npz.pack({"vertices": np.zeros((2, 3, 3), np.float32)}))
    assert (back.frame_count, back.faces.shape, back.frame_rate) == (2, (0, 3), 30)


def test_a_vertex_animation_is_no_bvh():
    with pytest.raises(UsageError, match=naming("vertices '.bvh' .npz")):
        write_bytes(vertex_wave(), ".bvh")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"rotations": np.zeros((3, 4))}, "rotations (3, 4)"),
        ({"rotations": np.full((6, 21, 4), np.nan)}, "'Hips' frame 0"),
        ({"parents": np.arange(21)}, "root"),
        ({"parents": np.zeros(3, int)}, "21 parents 3"),
        ({"offsets": np.full((21, 3), np.inf)}, "offsets"),
        ({"translations": np.full((6, 1, 3), np.inf)}, "translations"),
        ({"frame_rate": 0.0}, "frame_time"),
        ({"frame_rate": np.zeros(3)}, "frame_rate (3,)"),
        ({"frame_rate": "fast"}, "'frame_rate' <U4"),
        ({"quaternion_order": "zyxw"}, "quaternion_order xyzw wxyz 'zyxw'"),
        ({"translated_joints": np.array([500])}, "translated_joints"),
        ({"channel_names": np.array(["Qrotation"] * 21)}, "'Hips' Qrotation"),
        ({"metadata": "[1]"}, "metadata"),
        ({"metadata": "{"}, "metadata"),
    ],
)
def test_bad_arrays_are_a_format_error(changes, named):
    arrays = _arrays(walk(0.1)) | changes
    with pytest.raises(FormatError, match=naming(named)):
        read_bytes(npz.pack(arrays))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"vertices": np.zeros((2, 3))}, "vertices (2, 3)"),
        ({"vertices": np.full((2, 3, 3), np.nan)}, "vertices 2e+07"),
        ({"faces": np.array([[0, 1, 5]])}, "faces 0..2"),
        ({"faces": np.array([[0, 1, 2**40]])}, "faces 0..2"),
        ({"faces": np.array([[0, 1]])}, "faces (1, 2)"),
        ({"faces": np.array([[0.5, 1, 2]])}, "'faces' float64"),
        ({"frame_rate": -1.0}, "frame_time"),
    ],
)
def test_bad_vertex_animations_are_a_format_error(changes, named):
    arrays = {"vertices": np.zeros((2, 3, 3)), "faces": np.array([[0, 1, 2]])} | changes
    with pytest.raises(FormatError, match=naming(named)):
        read_bytes(npz.pack(arrays))


def test_pickled_arrays_are_refused():
    file = io.BytesIO()
    np.savez(file, vertices=np.array([{"any": "thing"}], dtype=object))
    with pytest.raises(FormatError, match=naming("'vertices'")):
        read_bytes(file.getvalue())


def test_a_zip_bomb_is_refused_before_it_is_read(monkeypatch):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("vertices.npy", _header((300_000, 1, 3)) + bytes(7_200_000))
    assert read_bytes(file.getvalue()).frame_count == 300_000
    monkeypatch.setattr(npz, "MIN_EXPANSION_LIMIT_BYTES", 1 << 20)
    with pytest.raises(FormatError, match=naming("bomb.npz memory")):
        read_bytes(file.getvalue(), name="bomb.npz")


def test_a_header_that_declares_too_much_takes_no_memory():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("vertices.npy", _header((10**12, 1, 3)) + bytes(24))
    with pytest.raises(FormatError, match=naming("'vertices' 24")):
        read_bytes(file.getvalue())


def test_a_cut_or_damaged_file_is_a_format_error():
    data = clip_npz.write(walk(0.05))
    rng = np.random.default_rng(0)
    for size in rng.integers(0, len(data), 100):
        with pytest.raises(FormatError):
            read_bytes(data[:size], name="cut.npz")
    for at, bit in zip(rng.integers(0, len(data), 400), rng.integers(0, 8, 400), strict=True):
        damaged = bytearray(data)
        damaged[at] ^= 1 << bit
        try:
            assert isinstance(read_bytes(bytes(damaged), name="damaged.npz"), Clip)
        except FormatError:
            continue


def test_an_archive_without_motion_names_the_missing_array():
    with pytest.raises(FormatError, match=naming("'rotations' poses")):
        read_bytes(npz.pack({"poses": np.zeros(3)}), name="other.npz")


def _header(shape: tuple[int, ...]) -> bytes:
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def _arrays(clip: Clip) -> dict[str, object]:
    return {
        "rotations": clip.rotations,
        "translations": clip.translations,
        "names": np.array(clip.skeleton.names),
        "parents": np.array(clip.skeleton.parents),
        "offsets": clip.skeleton.offsets,
        "frame_rate": clip.frame_rate,
    }


@pytest.mark.parametrize("name", FEATURES)
def test_take_data_is_read_back_from_npz(tmp_path, name):
    clip = take([name]) if name != "scale" else take()
    path = tmp_path / "take.npz"
    mocpack.write(clip, path)
    back = mocpack.read(path)
    assert back.header == clip.header
    assert back.take_data == clip.take_data


def test_tracks_that_make_no_sense_are_a_format_error():
    arrays = _arrays(take(["tracks"]))
    for bad in ("{", "{}", "[1]", '[{"name": "a"}]'):
        with pytest.raises(FormatError, match="tracks"):
            mocpack.read_data(npz.pack(arrays | {"tracks": bad}), name="take.npz")
