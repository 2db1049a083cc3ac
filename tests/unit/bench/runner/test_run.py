"""The bench: complete rows, failures that do not stop it, and runs that can be continued."""

import csv
import json
from pathlib import Path

import pytest

import mocpack
from mocpack.bench.datasets import COMMITTED
from mocpack.bench.peers.table import PEERS, parse_any_codec
from mocpack.bench.runner import run as bench_run
from mocpack.bench.runner.measure import Setting, measure_row, parse_targets
from mocpack.bench.runner.run import find_clips, run_bench, write_tables
from mocpack.errors import UnknownCodecError, UsageError
from mocpack.model.clip import measure_error
from mocpack.testing import walk
from mocpack.workers import LostJob
from naming import names, naming


@pytest.fixture
def clip_file(tmp_path):
    path = tmp_path / "walk.bvh"
    mocpack.write(walk(0.5), path)
    return path


def test_a_row_has_three_sizes_every_metric_and_speeds(clip_file):
    row = measure_row(mocpack.read(clip_file), Setting("raw", ("max_error", "1mm")))
    assert row["failure"] is None
    assert row["payload_bytes"] < row["file_bytes"] <= row["with_model_bytes"]
    assert row["bits_per_frame"] == 8 * row["file_bytes"] / 30
    assert row["max_error_mm"] < 1e-3
    assert row["encode_fps"] > 0
    assert row["decode_fps"] > 0


def test_a_codec_that_fails_gives_a_row_that_says_why(clip_file):
    row = measure_row(mocpack.read(clip_file), Setting("raw", ("ratio", "1000")))
    assert names(row["failure"], "raw B")


def test_a_second_run_measures_nothing_again(clip_file, tmp_path, monkeypatch):
    settings = [Setting("raw", None)]
    first = run_bench([clip_file], settings, tmp_path / "out")

    def no_work(_, jobs, **__):
        assert not jobs
        return iter(())

    monkeypatch.setattr(bench_run, "run_each", no_work)
    assert run_bench([clip_file], settings, tmp_path / "out") == first


def test_changed_code_or_a_changed_clip_is_measured_again(clip_file, tmp_path, monkeypatch):
    run_bench([clip_file], [Setting("raw", None)], tmp_path)
    monkeypatch.setattr(bench_run, "fingerprint", lambda: "other")
    run_bench([clip_file], [Setting("raw", None)], tmp_path)
    mocpack.write(walk(0.6), clip_file)
    run_bench([clip_file], [Setting("raw", None)], tmp_path)
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 3


def test_a_row_that_is_lost_has_failed_and_says_why(clip_file, tmp_path, monkeypatch):
    def lose(_, jobs, **__):
        return ((number, LostJob("out of time")) for number in range(len(jobs)))

    monkeypatch.setattr(bench_run, "run_each", lose)
    row = run_bench([clip_file], [Setting("raw", ("ratio", "2"))], tmp_path)[0]
    assert row["failure"] == "out of time"
    assert (row["clip"], row["target"]) == ("walk", "ratio=2")
    assert not (tmp_path / "rows.jsonl").exists()  # so that the next run tries it again


def test_namesakes_in_two_folders_are_two_clips(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        mocpack.write(walk(0.1), tmp_path / folder / "walk.bvh")
    rows = run_bench(find_clips([tmp_path]), [Setting("raw", None)], tmp_path / "out", timed=False)
    assert [r["clip"] for r in rows] == ["a/walk.bvh", "b/walk.bvh"]
    assert "encode_fps" not in rows[0]


def test_a_commit_made_during_a_run_loses_no_row(clip_file, tmp_path, monkeypatch):
    commits = iter(f"c{i}" for i in range(100))
    monkeypatch.setattr(bench_run, "commit_of_code", lambda: next(commits))
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


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@A1", "\t=1"])
def test_no_clip_name_is_a_formula_in_a_spreadsheet(tmp_path, name):
    write_tables([{"clip": name, "bits": -1.5, "failure": None}], tmp_path)
    with (tmp_path / "bench.csv").open(newline="") as file:
        row = next(csv.DictReader(line for line in file if not line.startswith("#")))
    assert row == {"clip": f"'{name}", "bits": "-1.5", "failure": ""}


def test_an_unreadable_clip_is_a_failed_row(tmp_path):
    bad = tmp_path / "bad.bvh"
    bad.write_bytes(b"HIERARCHY nonsense")
    row = run_bench([bad], [Setting("raw", None)], tmp_path / "out")[0]
    assert "expected ROOT" in row["failure"]


def test_targets_are_read_as_people_write_them():
    assert parse_targets("max-error=1mm,5mm") == [("max_error", "1mm"), ("max_error", "5mm")]
    assert len(parse_targets("sweep")) > 5
    with pytest.raises(UsageError, match=naming("max_error=1mm,5mm ratio=20,40 'quality=3'")):
        parse_targets("quality=3")


def test_no_clips_is_a_clear_error(tmp_path):
    with pytest.raises(UsageError, match=naming("motion files")):
        find_clips([tmp_path])
    with pytest.raises(UsageError, match=naming("nowhere")):
        find_clips([Path("nowhere")])


def test_a_clip_of_the_repository_is_held_against_its_original_file():
    source = bench_run.BenchClip(COMMITTED / "cmu" / "02_03.mocp", "02_03", "1:30", False)
    row = bench_run.measure(source, Setting("raw", None))
    assert row["ratio_source"] * row["file_bytes"] == pytest.approx(135_012)  # the BVH's bytes


def test_packed_files_of_a_folder_count_only_where_their_sources_are_not(clip_file, tmp_path):
    (tmp_path / "walk.mocp").write_bytes(mocpack.encode(walk(0.5), "raw"))
    assert find_clips([tmp_path]) == [clip_file]
    clip_file.unlink()
    assert find_clips([tmp_path]) == [tmp_path / "walk.mocp"]


def test_an_unknown_codec_names_ours_and_the_peers():
    with pytest.raises(UnknownCodecError, match=naming("'nope' raw zfp")):
        parse_any_codec("nope")


@pytest.mark.parametrize("name", PEERS)
def test_peers_decode_within_their_bounds(name):
    clip = walk(0.5)
    codec = parse_any_codec(name)
    try:
        payload = codec.encode(clip)
    except UsageError as missing:
        pytest.skip(str(missing))
    assert measure_error(clip, codec.decode(payload, clip.header)).max < 0.02


def test_the_modules_that_decide_a_row_are_where_the_stamp_looks_for_them():
    assert all((bench_run.PACKAGE / place).is_file() for place in bench_run.DECISIVE)
