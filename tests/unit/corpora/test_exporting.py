"""Exported archives contain the numbers of their clips."""

import numpy as np
import pytest

import mocpack
from mocpack.corpora import open_corpus, pack
from mocpack.corpora.exporting import export, safe_path
from mocpack.errors import MissingExtraError, UsageError
from mocpack.testing import walk
from naming import naming

pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exporting")
    files = {}
    for name, seconds in (("one", 0.5), ("two", 0.4)):
        (folder / f"{name}.mocp").write_bytes(mocpack.encode(walk(seconds), "raw"))
        files[f"deep/{name}"] = folder / f"{name}.mocp"
    pack(files, folder / "all.mocps")
    return folder / "all.mocps"


@pytest.fixture
def clips(archive):
    with open_corpus(archive) as found:
        yield found


def test_files_are_named_after_their_clips(clips, tmp_path):
    assert export(clips, tmp_path / "npz", "npz") == 2
    assert export(clips, tmp_path / "bvh", "folder", suffix="bvh", fps=30) == 2
    back = mocpack.read(tmp_path / "npz/deep/one.npz")
    assert np.allclose(back.positions(), clips["deep/one"].clip().positions(), atol=1e-5)
    assert mocpack.read(tmp_path / "bvh/deep/two.bvh").frame_rate == pytest.approx(30)


def test_parquet_has_a_row_a_frame(clips, tmp_path):
    export(clips, tmp_path / "rows.parquet", "parquet", clips=[1])
    table = pq.read_table(tmp_path / "rows.parquet")
    clip = clips[1].clip()
    assert table.num_rows == len(clip)
    assert set(table.column("clip").to_pylist()) == {"deep/two"}
    turns = np.array(table.column("rotations").to_pylist()).reshape(len(clip), -1, 4)
    np.testing.assert_allclose(turns, clip.rotations, atol=1e-6)
    np.testing.assert_allclose(table.column("time").to_numpy(), clip.times)


def test_nothing_is_written_over_and_requests_are_checked(clips, tmp_path):
    (tmp_path / "there").write_text("mine")
    for path, options, named in (
        ("there", {"store": "npz"}, "there"),
        ("new", {"store": "hdf5"}, "npz folder parquet 'hdf5'"),
        ("new", {"store": "folder"}, ".bvh"),
        ("new", {"store": "npz", "clips": []}, "clip"),
    ):
        with pytest.raises(UsageError, match=naming(named)):
            export(clips, tmp_path / path, **options)
    assert (tmp_path / "there").read_text() == "mine"


def test_a_missing_package_of_a_store_is_named_with_a_clear_error(clips, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "lance", None)
    with pytest.raises(MissingExtraError, match=naming("pylance")):
        export(clips, tmp_path / "new", "lance")


@pytest.mark.parametrize("name", ["../a", "/a", "a/../b", "a\\b", "c:a", ".."])
def test_no_name_leads_out_of_the_folder(name):
    with pytest.raises(UsageError):
        safe_path("out", name, ".bvh")
