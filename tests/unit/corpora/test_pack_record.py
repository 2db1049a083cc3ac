"""Packing recognizes a finished archive by the record of its inputs."""

import os

import pytest

import mocpack
from mocpack.corpora import PackOptions
from mocpack.corpora.pack_record import (
    has_record,
    read_rejected,
    remove_record,
    write_record,
)
from mocpack.corpora.packing import RejectedFile
from mocpack.corpora.parts import join, pack_parts
from mocpack.corpora.planning import PackPlan
from mocpack.testing import walk

pa = pytest.importorskip("pyarrow")
FAST = PackOptions(target={"max_error": "5mm", "effort": "fast"})
ENDING = {"meta": None, "name_pattern": None, "shard_size": None}
BAD = [RejectedFile("bad.bvh", "bad.bvh: no motion")]


def here(work, jobs, told):
    for place, job in enumerate(jobs):
        yield place, work(*job)


@pytest.fixture
def files(tmp_path):
    for number in range(2):
        mocpack.write(walk(0.1, seed=number), tmp_path / f"take{number}.bvh")
    return {path.stem: path for path in tmp_path.glob("*.bvh")}


@pytest.fixture
def archive(files, tmp_path):
    return made(files, str(tmp_path / "all.mocps"), ENDING)


def made(files, archive, ending):
    plan = PackPlan.make(files, FAST)
    pack_parts(plan.parts, f"{archive}.parts", here)
    join(plan.parts, f"{archive}.parts", archive, **ending)
    write_record(plan.parts, archive, ending, BAD)
    return archive


def parts(files, packing=FAST):
    return PackPlan.make(files, packing).parts


def test_an_archive_of_the_same_files_is_recognized_with_its_rejected_files(files, archive):
    assert read_rejected(parts(files), archive, ENDING) == BAD
    assert read_rejected(parts(files), archive) == BAD
    for path in files.values():
        os.utime(path, ns=(1, 1))  # touched, and the same
    assert read_rejected(parts(files), archive, ENDING) == BAD


def test_other_files_and_other_packing_make_another_archive(files, archive, tmp_path):
    assert (
        read_rejected(
            parts(files, PackOptions(target=FAST.target, reading={"unit": "cm"})), archive
        )
        is None
    )
    assert read_rejected(parts({"take0": files["take0"]}), archive) is None
    mocpack.write(walk(0.1, seed=9), files["take1"])
    assert read_rejected(parts(files), archive) is None


@pytest.mark.parametrize(
    "ending",
    [
        {"meta": pa.table({"clip": ["take1"], "mood": ["glad"]})},
        {"name_pattern": r"(?P<number>\d)"},
        {"shard_size": 1000},
    ],
)
def test_another_catalogue_or_other_shards_make_another_archive(files, archive, ending):
    assert read_rejected(parts(files), archive, ENDING | ending) is None


def test_a_changed_or_removed_archive_is_not_recognized(files, archive, tmp_path):
    data = (tmp_path / "all.mocps").read_bytes()
    (tmp_path / "all.mocps").write_bytes(data + b" ")
    assert read_rejected(parts(files), archive) is None
    (tmp_path / "all.mocps").unlink()
    assert read_rejected(parts(files), archive) is None


def test_a_lost_shard_is_noticed(files, tmp_path):
    ending = ENDING | {"shard_size": 1}
    archive = made(files, str(tmp_path / "cut.mocps"), ending)
    assert read_rejected(parts(files), archive, ending) == BAD
    (tmp_path / "cut-00001.mocps").unlink()
    assert read_rejected(parts(files), archive, ending) is None


@pytest.mark.parametrize("data", [b"", b"[]", b'{"refused": 3}', b'{"refused": []}', b"[" * 10_000])
def test_a_record_that_is_none_says_nothing(files, archive, tmp_path, data):
    (tmp_path / ".all.mocps.packed").write_bytes(data)
    assert has_record(archive)
    assert read_rejected(parts(files), archive) is None
    remove_record(archive)
    assert not has_record(archive)
