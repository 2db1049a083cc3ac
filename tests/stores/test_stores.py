"""zarr's codec and Lance with the real packages; run by `make test-stores`."""

import lance
import numpy as np
import pytest
import zarr

import mocpack
from mocpack.corpora import pack
from mocpack.corpora.exporting import export
from mocpack.model.clip import measure_error
from mocpack.testing import walk
from mocpack.zarr import MocpackCodec


def rows_of(clip):
    parts = [np.asarray(a).reshape(len(clip), -1) for a in (clip.rotations, clip.translations)]
    return np.concatenate(parts, 1).astype(np.float32)


@pytest.mark.parametrize("shards", [None, (240, 87)])
def test_zarr_packs_chunks_within_the_bound_and_finds_the_codec_by_itself(tmp_path, shards):
    clip = walk(3.2)  # 192 frames: the last chunk is not full
    rows = rows_of(clip)
    array = zarr.create_array(
        tmp_path / "walk.zarr",
        shape=rows.shape,
        dtype="float32",
        chunks=(60, rows.shape[1]),
        shards=None if shards is None else (240, rows.shape[1]),
        serializer=MocpackCodec.from_header(clip.header, "1mm"),
        compressors=None,
    )
    array[:] = rows
    back = zarr.open_array(tmp_path / "walk.zarr", mode="r")[:]
    joints = len(clip.skeleton)
    turns = back[:, : 4 * joints].reshape(len(back), joints, 4).astype(float)
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    places = back[:, 4 * joints :].reshape(len(back), -1, 3).astype(float)
    found = mocpack.Clip(clip.header, turns, places)
    assert measure_error(clip, found).max <= 1.001e-3  # of float32 numbers
    chunks = [path for path in (tmp_path / "walk.zarr/c").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in chunks)
    assert 0 < size < rows.nbytes / 5


def test_a_lance_dataset_has_a_row_a_frame(tmp_path):
    (tmp_path / "a.mocp").write_bytes(mocpack.encode(walk(1.0), "raw"))
    pack({"a": tmp_path / "a.mocp"}, tmp_path / "a.mocps")
    with mocpack.open_corpus(tmp_path / "a.mocps") as corpus:
        export(corpus, tmp_path / "a.lance", "lance")
    table = lance.dataset(tmp_path / "a.lance").to_table()
    turns = np.array(table.column("rotations").to_pylist())
    assert np.allclose(turns, rows_of(walk(1.0))[:, : turns.shape[1]], atol=1e-6)
