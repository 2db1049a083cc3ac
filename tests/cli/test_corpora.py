"""``mocpack corpus``: commands on archives."""

import json

import pytest
from command_line import run as run_bytes
from command_line import run_text as run

import mocpack
from mocpack.cli.tables import format_columns
from mocpack.testing import walk
from naming import names

pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of takes, and the archive that `corpus pack` wrote from it."""
    place = tmp_path_factory.mktemp("corpora")
    (place / "takes/s2").mkdir(parents=True)
    mocpack.write(walk(1.0), place / "takes/one.bvh")
    mocpack.write(walk(1.5, seed=2), place / "takes/s2/two.bvh")
    (place / "labels.csv").write_text("clip,mood\none,sad\ns2/two,glad\n")
    words = ["corpus", "pack", "takes", "-o", "all.mocps", "--max-error", "5mm", "--effort", "fast"]
    made = run(*words, "--meta", "labels.csv", "--json", folder=place)
    assert made.returncode == 0, made.stderr
    (facts,) = json.loads(made.stdout)
    assert (facts["clips"], facts["skeletons"]) == (2, 1)
    return place


def test_columns_are_aligned_and_names_cannot_control_the_terminal():
    lines = format_columns(
        {"clip": ["歩く", "a\x1b[31m\nb"], "frames": ["7", "120"]}, left=["clip"]
    )
    assert lines.split("\n") == [
        "clip          frames",
        "歩く               7",
        "a\\x1b[31m\\nb     120",
    ]


def test_ls_lists_the_clips_that_match_a_condition(folder):
    rows = json.loads(run("corpus", "ls", "all.mocps", "--json", folder=folder).stdout)
    assert [row["clip"] for row in rows] == ["one", "s2/two"]
    assert [row["source"] for row in rows] == ["one.bvh", "s2/two.bvh"]
    assert all(row["max_error_mm"] <= 5 for row in rows)
    chosen = run(
        "corpus", "ls", "all.mocps", "--where", "mood = 'glad' and seconds > 1", folder=folder
    )
    assert "s2/two" in chosen.stdout
    assert "one" not in chosen.stdout
    wrong = run("corpus", "ls", "all.mocps", "--where", "mod = 1", folder=folder)
    assert wrong.returncode == 2
    assert wrong.stderr.count("\n") == 1
    assert run("corpus", "ls", "all.mocps", "--columns", "clip,mad", folder=folder).returncode == 2


def test_cat_and_extract_give_the_same_file(folder):
    shown = run_bytes("corpus", "cat", "all.mocps", "s2/two", folder=folder)
    taken = run("corpus", "extract", "all.mocps", "-o", "out", folder=folder)
    assert taken.returncode == 0, taken.stderr
    assert (folder / "out/s2/two.mocp").read_bytes() == shown.stdout
    again = run("corpus", "extract", "all.mocps", "-o", "out", folder=folder)
    assert again.returncode == 2
    assert names(again.stderr, "-f")
    for number, words in enumerate((["one"], ["--clip", "one"])):
        words = ["all.mocps", *words, "-o", f"single{number}", "--json"]
        one = run("corpus", "extract", *words, folder=folder)
        assert [row["clip"] for row in json.loads(one.stdout)] == ["one"]
    named = run_bytes("corpus", "cat", "all.mocps", "--clip", "s2/two", folder=folder)
    assert named.stdout == shown.stdout


def test_cat_needs_one_name_and_lists_the_clips(folder):
    none = run("corpus", "cat", "all.mocps", folder=folder)
    two = run("corpus", "cat", "all.mocps", "one", "--clip", "s2/two", folder=folder)
    assert (none.returncode, two.returncode) == (2, 2)
    assert names(none.stderr, "all.mocps --clip one s2/two")
    assert names(two.stderr, "one s2/two")


@pytest.mark.parametrize("option", ["--quiet", "--resume"])
def test_an_archive_is_not_written_if_all_files_are_rejected(folder, option):
    (folder / "broken.bvh").write_text("HIERARCHY")
    made = run("corpus", "pack", "broken.bvh", "-o", "none.mocps", option, folder=folder)
    assert made.returncode == 2
    assert names(made.stderr, "none.mocps broken.bvh")
    assert not (folder / "none.mocps").exists()


def test_pack_samples_compressed_files_at_another_rate(folder):
    (folder / "one.mocp").write_bytes(mocpack.encode(walk(1.0), max_error="1mm", effort="fast"))
    made = run("corpus", "pack", "one.mocp", "-o", "slow.mocps", "--fps", "12", folder=folder)
    assert made.returncode == 0, made.stderr
    assert mocpack.read(folder / "slow.mocps", clip="one").frame_rate == 12


def test_a_name_that_leads_out_of_the_folder_is_not_extracted(folder):
    from mocpack.corpora import pack

    pack({"../evil": folder / "takes/one.bvh"}, folder / "evil.mocps")
    taken = run("corpus", "extract", "evil.mocps", "-o", "safe", folder=folder)
    assert taken.returncode == 2
    assert names(taken.stderr, "'../evil' safe")
    assert not (folder / "evil.mocp").exists()


def test_one_clip_that_cannot_be_extracted_stops_no_other(folder, tmp_path):
    from mocpack.corpora import pack

    takes = dict.fromkeys(("a", "a//b", "a/b", "n" * 300, "z"), folder / "takes/one.bvh")
    pack(takes, tmp_path / "x.mocps")
    made = run("corpus", "extract", "x.mocps", "-o", "out", "--json", folder=tmp_path)
    assert made.returncode == 2
    rows = json.loads(made.stdout)
    assert [row["clip"] for row in rows] == list(takes)
    assert [row["ok"] for row in rows] == [True, True, False, False, True]
    assert names(rows[2]["error"], "x.mocps 'a/b' a/b.mocp")
    assert names(rows[3]["error"], f"x.mocps {'n' * 300}")
    assert made.stderr.splitlines() == [f"mocpack: {row['error']}" for row in rows if row["error"]]
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.mocp")}
    assert files == {row["output"] for row in rows if row["ok"]}
    told = run("corpus", "extract", "x.mocps", "-o", "again", folder=tmp_path)
    assert names(told.stdout, "3 5 clips again")


def test_a_missing_shard_costs_its_clips_alone(folder, tmp_path):
    from mocpack.corpora import pack

    takes = {"one": folder / "takes/one.bvh", "two": folder / "takes/s2/two.bvh"}
    pack(takes, tmp_path / "x.mocps", shard_size=100)
    (tmp_path / "x-00000.mocps").unlink()
    for words in (["extract", "x.mocps", "-o", "out"], ["verify", "x.mocps"]):
        made = run("corpus", *words, "--json", folder=tmp_path)
        assert made.returncode == 2
        assert [row["ok"] for row in json.loads(made.stdout)] == [False, True]
        assert names(made.stderr, "'one' x-00000.mocps")
        assert made.stderr.count("\n") == 1
    assert (tmp_path / "out/two.mocp").is_file()


def test_verify_info_repair_and_merge_report_the_clips(folder):
    whole = run("corpus", "verify", "all.mocps", "--decode", folder=folder)
    assert whole.returncode == 0
    assert names(whole.stdout, "2 clips")
    info = run("info", "all.mocps", folder=folder).stdout
    assert names(info, "2 1")
    assert "mood" in info
    data = bytearray((folder / "all.mocps").read_bytes())
    (folder / "cut.mocps").write_bytes(data[: data.rfind(b"CLIP") + 50])
    cut = run("corpus", "ls", "cut.mocps", folder=folder)
    assert cut.returncode == 2
    assert "mocpack corpus repair" in cut.stderr
    saved = run("corpus", "repair", "cut.mocps", "-o", "saved.mocps", folder=folder)
    assert names(saved.stdout, "1 2 saved.mocps")
    assert saved.returncode == 2
    assert names(saved.stderr, "'s2/two' cut.mocps catalog")
    again = run("corpus", "repair", "all.mocps", "-o", "saved.mocps", "-f", folder=folder)
    assert (again.returncode, again.stderr) == (0, "")
    assert names(again.stdout, "2 saved.mocps")
    data[data.find(b"DATA") + 100] ^= 1
    (folder / "bad.mocps").write_bytes(data)
    bad = run("corpus", "verify", "bad.mocps", folder=folder)
    assert bad.returncode == 2
    assert names(bad.stderr, "bad.mocps 'one'")
    both = run(
        "corpus", "merge", "all.mocps", "saved.mocps", "-o", "m.mocps", "--prefix", folder=folder
    )
    assert "4 clips" in both.stdout


def test_rejected_files_are_errors_and_the_rest_is_packed(folder):
    (folder / "some").mkdir()
    (folder / "some/bad.bvh").write_text("no motion")
    mocpack.write(walk(0.3), folder / "some/good.bvh")
    made = run("corpus", "pack", "some", "-o", "some.mocps", "-j", "2", folder=folder)
    assert made.returncode == 2
    assert "some/bad.bvh: " in made.stderr
    assert "Traceback" not in made.stderr
    rows = json.loads(run("corpus", "ls", "some.mocps", "--json", folder=folder).stdout)
    assert [row["clip"] for row in rows] == ["good"]
    again = run("corpus", "pack", "some", "-o", "some.mocps", folder=folder)
    assert names(again.stderr, "some.mocps -f")


def test_a_missing_folder_leaves_no_archive(folder):
    refused = run("corpus", "pack", "typo", "-o", "typo.mocps", folder=folder)
    assert refused.returncode == 2
    assert names(refused.stderr, "typo")
    assert not (folder / "typo.mocps").exists()


def test_append_adds_clips_and_rejects_duplicate_names(folder):
    mocpack.write(walk(0.4), folder / "three.bvh")
    words = ["corpus", "pack", "takes/one.bvh", "-o", "grown.mocps", "--effort", "fast"]
    assert run(*words, folder=folder).returncode == 0
    added = run("corpus", "pack", "three.bvh", "-o", "grown.mocps", "--append", folder=folder)
    assert added.returncode == 0, added.stderr
    rows = json.loads(run("corpus", "ls", "grown.mocps", "--json", folder=folder).stdout)
    assert [row["clip"] for row in rows] == ["one", "three"]
    (folder / "other").mkdir()
    mocpack.write(walk(0.4), folder / "other/three.bvh")
    twice = run("corpus", "pack", "three.bvh", "other", "-o", "y.mocps", folder=folder)
    assert twice.returncode == 2
    assert names(twice.stderr, "three.bvh other/three.bvh 'three'")


def test_shards_of_many_machines_join_to_the_bytes_of_one(folder):
    how = ["--max-error", "5mm", "--effort", "fast"]
    planned = run("cluster", "plan", "takes", "-o", "plan.jsonl", *how, folder=folder)
    assert planned.returncode == 0, planned.stderr
    words = ["plan.jsonl", "-o", "parted.mocps"]
    for shard in ("2/2", "1/2"):
        done = run("cluster", "pack", *words, "--shard", shard, folder=folder)
        assert done.returncode == 0, done.stderr
    joined = run("cluster", "join", *words, "--meta", "labels.csv", folder=folder)
    assert joined.returncode == 0, joined.stderr
    assert (folder / "parted.mocps").read_bytes() == (folder / "all.mocps").read_bytes()
    assert not (folder / "parted.mocps.parts").exists()
    early = run("cluster", "join", *words, "-f", folder=folder)
    assert early.returncode == 2
    assert names(early.stderr, "2 2 1, 2")


def test_resume_writes_the_same_archive_and_reports_rejected_files(folder):
    words = [
        "corpus",
        "pack",
        "takes",
        "-o",
        "resumed.mocps",
        "--max-error",
        "5mm",
        "--effort",
        "fast",
    ]
    made = run(*words, "--meta", "labels.csv", "--resume", "--report", "bad.jsonl", folder=folder)
    assert made.returncode == 0, made.stderr
    assert (folder / "resumed.mocps").read_bytes() == (folder / "all.mocps").read_bytes()
    assert (folder / "bad.jsonl").read_text() == ""
    both = run(*words, "-f", "--resume", "--append", folder=folder)
    assert both.returncode == 2


def test_pack_keeps_the_frames_that_frames_names(folder):
    words = ["corpus", "pack", "takes", "-o", "cut.mocps", "--effort", "fast", "-f"]
    counts = {}
    for extra in ((), ("--resume",)):
        done = run(*words, *extra, "--frames", "1:30", folder=folder)
        assert done.returncode == 0, done.stderr
        with mocpack.open_corpus(folder / "cut.mocps") as found:
            counts[extra] = [found[name].frame_count for name in found.names]
            apart = found["one"].clip().positions() - walk(1.0)[1:30].positions()
            assert abs(apart).max() < 2e-3
    assert list(counts.values()) == [[29, 29]] * 2
    wrong = run(*words, "--frames", "1", folder=folder)
    assert wrong.returncode == 2
    assert names(wrong.stderr, "'1'")


def test_pack_limits_angles(folder):
    words = ["corpus", "pack", "takes/one.bvh", "-o", "angles.mocps", "--effort", "fast"]
    assert run(*words, "--max-error", "5mm", "--max-angle", "0.3deg", folder=folder).returncode == 0
    with mocpack.open_corpus(folder / "angles.mocps") as found:
        assert found["one"].errors.max_angle <= found["one"].errors.declared_angle


@pytest.mark.parametrize("words", ["--to npz", "--to bvh", "--as folder --format .bvh"])
def test_export_writes_a_file_per_clip(folder, tmp_path, words):
    made = run(
        "corpus", "export", "all.mocps", "-o", tmp_path / "out", *words.split(), folder=folder
    )
    assert made.returncode == 0, made.stderr
    suffix = ".npz" if "npz" in words else ".bvh"
    assert sorted(path.suffix for path in tmp_path.rglob("*.*")) == [suffix, suffix]


def test_export_to_an_unknown_format_names_the_known_ones(folder, tmp_path):
    made = run(
        "corpus", "export", "all.mocps", "-o", tmp_path / "out", "--to", "bhv", folder=folder
    )
    assert made.returncode == 2
    assert names(made.stderr, "'.bhv' .bvh")
    assert not (tmp_path / "out").exists()
