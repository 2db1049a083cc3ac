"""The bench: rows that say everything, failures that stop nothing, runs that can go on."""

import csv
import json
from pathlib import Path

import pytest

import mocpack
from mocpack.bench import run as bench_run
from mocpack.bench.measure import Setting, measure_row, parse_targets
from mocpack.bench.peers import PEERS, parse_any_codec
from mocpack.bench.run import find_clips, run_bench, write_tables
from mocpack.clip import promised_error
from mocpack.errors import UnknownCodecError, UsageError
from mocpack.testing import walk


@pytest.fixture
def clip_file(tmp_path):
    path = tmp_path / "walk.bvh"
    mocpack.write(walk(0.5), path)
    return path


def test_a_row_has_three_sizes_every_metric_and_speeds(clip_file):
    row = measure_row(clip_file, mocpack.read(clip_file), Setting("raw", ("max_error", "1mm")))
    assert row["failure"] is None
    assert row["payload_bytes"] < row["file_bytes"] <= row["with_model_bytes"]
    assert row["bits_per_frame"] == 8 * row["file_bytes"] / 30
    assert row["max_error_mm"] < 1e-3
    assert row["encode_fps"] > 0
    assert row["decode_fps"] > 0
    assert len(row["detail"]["error_by_joint_mm"]) == 21


def test_a_codec_that_fails_gives_a_row_that_says_why(clip_file):
    row = measure_row(clip_file, mocpack.read(clip_file), Setting("raw", ("ratio", "1000")))
    assert "cannot pack this clip" in row["failure"]


def test_a_second_run_measures_nothing_again(clip_file, tmp_path, monkeypatch):
    settings = [Setting("raw", None)]
    first = run_bench([clip_file], settings, tmp_path / "out")

    class NoPool:
        def __init__(self, *_, **__):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def submit(self, *_):
            raise AssertionError("measured again")

    monkeypatch.setattr(bench_run, "worker_pool", NoPool)
    assert run_bench([clip_file], settings, tmp_path / "out") == first


def test_a_commit_made_during_a_run_loses_no_row(clip_file, tmp_path, monkeypatch):
    commits = iter(f"c{i}" for i in range(100))
    monkeypatch.setattr(bench_run, "_commit", lambda: next(commits))
    rows = run_bench([clip_file], [Setting("raw", None)], tmp_path / "out")
    assert rows[0]["failure"] is None


def test_a_line_cut_by_a_crash_is_measured_again(clip_file, tmp_path):
    rows = tmp_path / "out" / "rows.jsonl"
    rows.parent.mkdir()
    rows.write_text('{"key": "walk|1|')
    assert run_bench([clip_file], [Setting("raw", None)], tmp_path / "out")[0]["failure"] is None


def test_tables_carry_the_machine_in_their_head(clip_file, tmp_path):
    rows = run_bench([clip_file], [Setting("raw", None)], tmp_path)
    write_tables(rows, tmp_path)
    text = (tmp_path / "bench.csv").read_text()
    assert "# machine: " in text
    assert "# calibration: zlib inflates" in text
    table = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    assert int(next(table)["file_bytes"]) == rows[0]["file_bytes"]
    assert json.loads((tmp_path / "bench.json").read_text())["head"]["python"]


def test_an_unreadable_clip_is_a_failed_row(tmp_path):
    bad = tmp_path / "bad.bvh"
    bad.write_bytes(b"HIERARCHY nonsense")
    row = run_bench([bad], [Setting("raw", None)], tmp_path / "out")[0]
    assert "expected ROOT" in row["failure"]


def test_targets_are_read_as_people_write_them():
    assert parse_targets("max-error=1mm,5mm") == [("max_error", "1mm"), ("max_error", "5mm")]
    assert len(parse_targets("sweep")) > 5
    with pytest.raises(UsageError, match="write a target as"):
        parse_targets("quality=3")


def test_no_clips_is_a_sentence(tmp_path):
    with pytest.raises(UsageError, match="no motion files"):
        find_clips([tmp_path])
    with pytest.raises(UsageError, match="there is no"):
        find_clips([Path("nowhere")])


def test_an_unknown_codec_names_ours_and_the_peers():
    with pytest.raises(UnknownCodecError, match=r"installed: .*raw.*peers: .*zfp"):
        parse_any_codec("nope")


@pytest.mark.parametrize("name", PEERS)
def test_peers_give_the_motion_back_within_what_they_promise(name):
    clip = walk(0.5)
    codec = parse_any_codec(name)
    try:
        payload = codec.encode(clip)
    except UsageError as missing:
        pytest.skip(str(missing))
    assert promised_error(clip, codec.decode(payload, clip.header)).max < 0.02
