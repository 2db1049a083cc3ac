"""Packing in parts: the bytes that one run makes, whoever packs what, in whatever order."""

import json
import os

import pytest

import mocpack
from mocpack.corpora import Packing, corpus, pack
from mocpack.corpora.planning import Plan, bad_path, join, pack_part, parts_found, shares
from mocpack.errors import UsageError
from mocpack.testing import walk

pa = pytest.importorskip("pyarrow")
FAST = Packing(target={"max_error": "5mm", "effort": "fast"})


@pytest.fixture
def takes(tmp_path):
    folder = tmp_path / "takes"
    folder.mkdir()
    for number in range(5):
        mocpack.write(walk(0.4, seed=number), folder / f"take{number}.bvh")
    (folder / "bad.bvh").write_text("no motion")
    return {path.stem: path for path in sorted(folder.iterdir())}


def test_parts_packed_in_any_order_join_to_the_bytes_of_one_run(takes, tmp_path):
    meta = pa.table({"clip": ["take1"], "mood": ["glad"]})
    ending = {"meta": meta, "name_pattern": r"(?P<number>\d)"}
    refused = pack(takes, tmp_path / "one.mocps", FAST, **ending)
    for parts in (1, 3, 6, 9):
        plan = Plan.make(takes, FAST)
        folder = tmp_path / f"parts{parts}"
        for part in reversed(range(1, parts + 1)):
            assert pack_part(plan, part, parts, folder)
            assert not pack_part(plan, part, parts, folder)
        assert parts_found(plan, folder) == parts
        assert join(plan, parts, folder, tmp_path / "joined.mocps", **ending) == refused
        assert (tmp_path / "joined.mocps").read_bytes() == (tmp_path / "one.mocps").read_bytes()


def test_a_part_that_was_cut_or_half_written_is_packed_anew(takes, tmp_path):
    plan, folder = Plan.make(takes, FAST), tmp_path / "parts"
    pack_part(plan, 1, 2, folder)
    path = plan.part_path(1, 2, folder)
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    assert pack_part(plan, 1, 2, folder)
    assert path.read_bytes() == whole
    bad_path(path).unlink()
    assert pack_part(plan, 1, 2, folder)


def test_what_is_missing_is_told_by_its_number(takes, tmp_path):
    plan, folder = Plan.make(takes, FAST), tmp_path / "parts"
    pack_part(plan, 2, 3, folder)
    with pytest.raises(UsageError, match="2 of 3 parts are not packed yet: 1, 3"):
        join(plan, 3, folder, tmp_path / "joined.mocps")
    assert not (tmp_path / "joined.mocps").exists()
    with pytest.raises(UsageError, match="no part of these files"):
        parts_found(Plan.make(takes, Packing()), folder)
    with pytest.raises(UsageError, match="1 to 3"):
        pack_part(plan, 4, 3, folder)


def test_whatever_changes_the_result_changes_the_plan(takes, tmp_path):
    first = Plan.make(takes, FAST)
    assert Plan.make(dict(reversed(takes.items())), FAST).digest == first.digest
    assert Plan.make(takes, Packing(target={"max_error": "1mm"})).digest != first.digest
    assert Plan.make(takes, Packing(target=FAST.target, keys=True)).digest != first.digest
    mocpack.write(walk(0.4, seed=9), takes["take1"])
    assert Plan.make(takes, FAST).digest != first.digest
    moved = tmp_path / "moved"
    takes["take1"].parent.rename(moved)
    there = {name: moved / path.name for name, path in takes.items()}
    assert Plan.make(there, FAST).digest != first.digest  # take1 was changed
    mocpack.write(walk(0.4, seed=1), there["take1"])
    assert Plan.make(there, FAST).digest == first.digest  # where files stand does not matter


def test_files_that_were_hashed_are_not_read_again(takes, tmp_path, monkeypatch):
    known = tmp_path / "parts/hashes.json"
    first = Plan.make(takes, FAST, known=known)
    rows = json.loads(known.read_text())
    assert len(rows) == len(takes)
    rows[str(takes["take1"])][2] = "as known"
    known.write_text(json.dumps(rows))
    second = Plan.make(takes, FAST, known=known)
    assert second.digest != first.digest
    os.utime(takes["take1"], ns=(1, 1))
    assert Plan.make(takes, FAST, known=known).digest == first.digest
    known.write_text("nonsense")
    assert Plan.make(takes, FAST, known=known).digest == first.digest


def test_parts_are_small_enough_to_lose_one():
    assert shares(1, 8) == 1
    assert shares(10_000, 4) == 79
    assert shares(0, 1) == 1


def test_refused_files_are_listed_with_each_part(takes, tmp_path):
    plan, folder = Plan.make(takes, FAST), tmp_path / "parts"
    for part in (1, 2):
        pack_part(plan, part, 2, folder)
    lines = bad_path(plan.part_path(1, 2, folder)).read_text().splitlines()
    assert [json.loads(line)["input"] for line in lines] == [str(takes["bad"])]
    (refused,) = join(plan, 2, folder, tmp_path / "joined.mocps", shard_size=300)
    assert refused.path == str(takes["bad"])
    with corpus(tmp_path / "joined.mocps") as found:
        assert len(found) == 5
        assert len(found.index.files) > 1
