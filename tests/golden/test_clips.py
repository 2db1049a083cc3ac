"""The clips in benchmarks/clips were packed once: every later mocpack reads the same numbers."""

import csv
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import mocpack
from mocpack.bench.datasets import COMMITTED, CONTENTS, find_clip

HERE = Path(__file__).parent
ORIGINALS = HERE.parent / "originals"
ROWS = list(csv.DictReader((COMMITTED / CONTENTS).read_text().splitlines()))
# container version 1, as the first release wrote it
VERSION_1 = {
    "lossless": "696c4b3512d8e106ea1ef55c12275e869e73c308d03e2e13806b58958cba7c8c",
    "raw": "a14696a4dd746221fb2ef32c897d1b7a7aeba9e6cc91558ffe688e0fc6c021c5",
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["clip"])
def test_a_packed_clip_decodes_to_the_numbers_of_its_original(row):
    data = find_clip(row["clip"], COMMITTED).read_bytes()
    assert (len(data), data[4]) == (int(row["bytes"]), 1)
    clip = mocpack.decode(data)
    assert clip.frame_count == int(row["frames"])
    assert sha256(clip.channels.astype("<f8").tobytes()).hexdigest() == row["channels_sha256"]


def test_every_packed_clip_has_its_row():
    found = {
        p.relative_to(COMMITTED).with_suffix("").as_posix() for p in COMMITTED.glob("*/*.mocp")
    }
    assert found == {row["clip"] for row in ROWS}
    assert len([name for name in found if name.startswith("cmu/")]) == 36


@pytest.mark.parametrize("path", ["cmu/09_01.bvh", "asfamc/02_03.amc"])
def test_a_lossless_clip_equals_its_original_bit_for_bit(path):
    original = mocpack.read(ORIGINALS / path)
    name = path.partition(".")[0]
    (row,) = (row for row in ROWS if row["clip"] == name)
    assert sha256((ORIGINALS / path).read_bytes()).hexdigest() == row["source_sha256"]
    packed = mocpack.read(find_clip(name, COMMITTED))
    read_later = {"frame_rate_assumed"}  # of readers after these files were packed
    metadata = {k: v for k, v in original.metadata.items() if k not in read_later}
    assert packed.header == replace(original.header, metadata=metadata)
    for field in ("rotations", "translations", "channels"):
        assert getattr(packed, field).tobytes() == getattr(original, field).tobytes()
    for field in ("offsets", "end_sites", "axes"):
        # equal and not the same bits: a skeleton's decimals have no sign of zero
        np.testing.assert_array_equal(
            getattr(packed.skeleton, field), getattr(original.skeleton, field)
        )


@pytest.mark.parametrize("codec", VERSION_1)
def test_container_version_1_stays_readable(codec):
    data = (HERE / codec / "v1" / "file.mocp").read_bytes()
    assert sha256(data).hexdigest() == VERSION_1[codec]  # the very file, never written again
    assert data[:5] == b"\x93MOC\x01"
    clip = mocpack.decode(data)
    with np.load(HERE / codec / "v1" / "decoded.npz") as expected:
        for name in ("rotations", "translations"):
            np.testing.assert_allclose(getattr(clip, name), expected[name], rtol=0, atol=1e-12)
