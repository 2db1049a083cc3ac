"""Real recordings and bodies, written in the format that they were read from."""

import numpy as np
import pytest

import mocpack
from mocpack.io import npz


@pytest.fixture
def other(data):
    def find(name):
        if not (data / name).is_file():
            pytest.skip(f"{name} is not in the folder that MOCPACK_DATA names")
        return data / name

    return find


def test_a_recording_written_back_is_the_same_to_the_last_bit(other, tmp_path):
    path = other("c3d/markers_analogs.c3d")
    scene = mocpack.read_scene(path)
    mocpack.write_scene(scene, tmp_path / "back.c3d")
    back = mocpack.read_scene(tmp_path / "back.c3d")
    assert list(back) == list(scene)
    for name, clip in scene.items():
        assert np.array_equal(back[name].source_points(), clip.source_points(), equal_nan=True)
        assert back[name].header == clip.header
        assert back[name].tracks.keys() == clip.tracks.keys()
        assert all(back[name].tracks[t] == track for t, track in clip.tracks.items())


def test_another_reader_finds_the_same_recording_in_both_files(other, tmp_path):
    ezc3d = pytest.importorskip("ezc3d")
    path = other("c3d/markers_analogs.c3d")
    mocpack.write_scene(mocpack.read_scene(path), tmp_path / "back.c3d")
    one, two = ezc3d.c3d(str(path)), ezc3d.c3d(str(tmp_path / "back.c3d"))
    labels = [found["parameters"]["POINT"]["LABELS"]["value"] for found in (one, two)]
    order = [labels[1].index(label) for label in labels[0]]
    points = two["data"]["points"][:3, order]
    seen = np.isfinite(points) & np.isfinite(one["data"]["points"][:3])
    assert np.array_equal(np.isnan(points), np.isnan(one["data"]["points"][:3]))
    assert np.array_equal(points[seen], one["data"]["points"][:3][seen])
    assert np.array_equal(two["data"]["analogs"], one["data"]["analogs"])


def test_a_body_round_trips_within_its_bound(other, tmp_path):
    path = other("amass/sample.npz")
    clip = mocpack.read(path)
    packed = mocpack.encode(clip, max_error="1mm", effort="fast")
    mocpack.write(mocpack.decode(packed), tmp_path / "back.npz", dialect="amass")
    back = mocpack.read(tmp_path / "back.npz")
    assert np.linalg.norm(back.positions() - clip.positions(), axis=-1).max() <= 1e-3
    given, found = (npz.Arrays(p.read_bytes()) for p in (path, tmp_path / "back.npz"))
    assert np.array_equal(found.read("betas"), given.read("betas"))
    assert found.read("gender", kinds="U") == given.read("gender", kinds="U")
    assert np.abs(found.read("dmpls") - given.read("dmpls")).max() <= 1e-3
    assert found.read("poses").shape == given.read("poses").shape
    # clips that were not compressed differ only by rounding
    mocpack.write(clip, tmp_path / "same.npz", dialect="amass")
    same = mocpack.read(tmp_path / "same.npz")
    assert np.abs(same.positions() - clip.positions()).max() < 1e-9
