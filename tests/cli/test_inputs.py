"""Folders and patterns as input, dry runs, presets, and the shape of JSON output."""

import json
import os
import re
import sys

import numpy as np
import pytest
from command_line import run_text as run

import mocpack
from child_processes import start
from mocpack.cli.inputs import find_sources, output_paths
from mocpack.errors import UsageError
from mocpack.testing import walk
from naming import names, naming

SUFFIXES = {".bvh"}


def write_takes(folder):
    (folder / "takes/day two").mkdir(parents=True)
    for number, name in enumerate(["takes/a.bvh", "takes/b.BVH", "takes/day two/a.bvh"]):
        mocpack.write(walk(0.2, seed=number), folder / "one.bvh")
        (folder / "one.bvh").rename(folder / name)
    (folder / "takes/notes.txt").write_text("not a motion")
    (folder / "takes/.hidden.bvh").write_text("not a motion")


@pytest.fixture
def folder(tmp_path):
    """Takes in a folder and a subfolder, with other files among them."""
    write_takes(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def packed_takes(tmp_path_factory):
    """Takes, one of them compressed to a file and an archive; tests must not change them."""
    folder = tmp_path_factory.mktemp("packed")
    write_takes(folder)
    takes = folder / "takes"
    (takes / "link.mocp").symlink_to("a.bvh")
    run("compress", "a.bvh", "--codec", "raw", folder=takes)
    run("corpus", "pack", "a.bvh", "-o", "a.mocps", "--codec", "raw", folder=takes)
    return takes


def made(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*.mocp"))


def test_a_folder_is_packed_into_a_folder_of_the_same_shape(folder):
    result = run("compress", "takes/", "-o", "packed/", "--codec", "raw", folder=folder)
    assert result.returncode == 0, result.stderr
    assert made(folder) == ["packed/a.mocp", "packed/b.mocp", "packed/day two/a.mocp"]


def test_a_subfolder_that_cannot_be_listed_is_an_error(folder, monkeypatch):
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("day two"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(PermissionError, match=naming("day two")):
        find_sources([str(folder)], SUFFIXES)


def test_a_folder_without_output_is_packed_beside_its_files(folder):
    assert run("compress", "takes", "--codec", "raw", folder=folder).returncode == 0
    assert made(folder) == ["takes/a.mocp", "takes/b.mocp", "takes/day two/a.mocp"]


def test_packed_folders_are_unpacked_again(folder):
    run("compress", "takes", "-o", "packed", "--codec", "raw", folder=folder)
    result = run("decompress", "packed", "-o", "back", "--to", "npz", folder=folder)
    assert result.returncode == 0, result.stderr
    assert sorted(p.name for p in (folder / "back").rglob("*.npz")) == ["a.npz", "a.npz", "b.npz"]


def test_patterns_are_expanded_where_the_shell_does_not(folder):
    words = [str(folder / "takes/*.bvh"), str(folder / "takes/**/a.bvh")]
    found = [s.path for s in find_sources(words, SUFFIXES)]
    assert found == [str(folder / "takes/a.bvh"), str(folder / "takes/day two/a.bvh")]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(folder):
    odd = folder / "take[1].bvh"
    mocpack.write(walk(0.2), odd)
    assert [s.path for s in find_sources([str(odd)], SUFFIXES)] == [str(odd)]


def test_a_file_that_is_named_twice_is_done_once(folder):
    words = [str(folder / "takes"), str(folder / "takes/a.bvh")]
    assert len(find_sources(words, SUFFIXES)) == 3


@pytest.mark.parametrize(
    ("word", "named"), [("takes/*.c3d", "'takes/*.c3d'"), ("empty", "empty .bvh")]
)
def test_inputs_without_files_are_errors(folder, word, named):
    (folder / "empty").mkdir()
    result = run("compress", word, "-o", "out", folder=folder)
    assert result.returncode == 2
    assert names(result.stderr, named)
    assert not (folder / "out").exists()


@pytest.mark.parametrize("output", ["all.mocp", "all.mocps", "all.BVH"])
def test_several_inputs_do_not_make_a_folder_with_the_name_of_a_file(folder, output):
    result = run("compress", "takes", "-o", output, folder=folder)
    assert result.returncode == 2
    assert names(result.stderr, f"{output} 3")
    assert not (folder / output).exists()
    (folder / "v1.mocp").mkdir()
    packed = run("compress", "takes", "-o", "v1.mocp", "--codec", "raw", folder=folder)
    assert packed.returncode == 0, packed.stderr


def test_two_inputs_with_the_same_output_are_rejected(folder):
    words = [str(folder / "takes/a.bvh"), str(folder / "takes/day two/a.bvh")]
    with pytest.raises(UsageError, match=naming("a.bvh two/a.bvh a.mocp")):
        output_paths(find_sources(words, SUFFIXES), "out", ".mocp")
    words[1] = str(folder / "takes/a.npz")
    for output in (None, "out"):
        with pytest.raises(UsageError, match=naming("a.bvh a.npz a.mocp")):
            output_paths(find_sources(words, SUFFIXES), output, ".mocp")


@pytest.mark.parametrize(
    "words",
    [
        "compress a.bvh -o a.bvh",
        "compress a.bvh -o ../takes/a.bvh",
        "compress a.bvh -o link.mocp",
        "compress a.bvh -o a.bvh --dry-run",
        "compress a.mocp --max-error 5mm",
        "decompress a.bvh",
        "decompress a.mocp -o a.mocp --to bvh",
        "convert a.bvh a.bvh",
        "scene a.bvh b.BVH -o b.BVH",
        "corpus pack a.bvh -o a.bvh",
        "corpus pack a.mocp -o a.mocp",
        "tune wavelet a.bvh --size 2kB -o a.bvh",
        "corpus repair a.mocps -o a.mocps",
    ],
)
def test_no_input_is_overwritten(packed_takes, words):
    takes = packed_takes
    before = {path.name: path.read_bytes() for path in takes.iterdir() if path.is_file()}
    assert {"a.mocp", "a.mocps", "link.mocp"} < before.keys()
    for force in ([], ["-f"]):
        result = run(*words.split(), *force, folder=takes)
        assert result.returncode == 2
        assert result.stderr.count("\n") == 1
        assert names(result.stderr, "mocpack: input output")
    assert before == {path.name: path.read_bytes() for path in takes.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    "words",
    [
        "compress URL/a.bvh",
        "compress a.bvh -o URL/",
        "compress a.bvh -o URL/a.mocp",
        "decompress a.mocp -o URL/",
        "convert URL/a.bvh",
        "decompress URL/a.mocp",
        "convert a.bvh URL/a.npz",
        "convert a.bvh URL/ --each",
        "scene a.bvh -o URL/a.mocp",
        "corpus extract a.mocps -o URL",
        "corpus export a.mocps -o URL --to npz",
    ],
)
def test_only_archives_are_written_to_urls(packed_takes, words):
    before = list(packed_takes.rglob("*"))
    url = "file:///nowhere"
    done = run(*words.replace("URL", url).split(), folder=packed_takes)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert names(done.stderr, f"mocpack: {url}")
    assert list(packed_takes.rglob("*")) == before


def test_commands_read_files_from_urls(packed_takes, tmp_path):
    pytest.importorskip("fsspec")
    url = packed_takes.as_uri()
    shown = run("info", f"{url}/a.mocp", "--json", folder=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)[0]["frames"] == 12
    for words, output in (
        (f"decompress {url}/a.mocp -o one.bvh", "one.bvh"),
        (f"decompress {url}/a.mocp -o folder/ --resume", "folder/a.bvh"),
        (f"decompress {url}/a.mocps -o three.bvh --clip a", "three.bvh"),
        (f"convert {url}/a.bvh four.npz", "four.npz"),
        (f"compress {url}/a.bvh -o five.mocp --codec raw", "five.mocp"),
    ):
        done = run(*words.split(), folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert len(mocpack.read(tmp_path / output)) == 12
    assert run("compare", f"{url}/a.bvh", f"{url}/a.mocp", folder=tmp_path).returncode == 0


def test_a_url_without_a_file_is_an_error_that_names_it(packed_takes):
    pytest.importorskip("fsspec")
    for command in ("info", "decompress -o back.bvh", "view --export a.html"):
        url = f"{packed_takes.as_uri()}/missing.mocp"
        done = run(*command.split(), url, folder=packed_takes)
        assert done.returncode == 2
        assert names(done.stderr, url), done.stderr


def test_archives_are_merged_and_repaired_into_urls(packed_takes, tmp_path):
    for command in ("merge", "repair"):
        url = (tmp_path / f"{command}.mocps").as_uri()
        for expected in (0, 2):  # the second must not overwrite the first
            done = run("corpus", command, "a.mocps", "-o", url, folder=packed_takes)
            assert done.returncode == expected, done.stderr
        assert names(done.stderr, f"{url} -f")
        assert run("corpus", "verify", url, folder=packed_takes).returncode == 0


def test_a_dry_run_lists_the_outputs_and_writes_nothing(folder):
    result = run("compress", "takes", "-o", "packed", "--dry-run", folder=folder)
    assert result.returncode == 0, result.stderr
    assert "packed/day two/a.mocp" in result.stdout
    assert not (folder / "packed").exists()


def test_a_dry_run_reports_the_errors_of_a_run(folder):
    (folder / "takes/a.mocp").write_bytes(b"precious")
    result = run("compress", "takes", "--dry-run", "--json", folder=folder)
    assert result.returncode == 2
    rows = {row["input"]: row for row in json.loads(result.stdout)}
    assert names(rows["takes/a.bvh"]["error"], "takes/a.mocp -f")
    assert rows["takes/b.BVH"]["ok"]
    assert made(folder) == ["takes/a.mocp"]


def shaped(result):
    """Check the shape of the rows of --json and return them."""
    rows = json.loads(result.stdout)
    assert isinstance(rows, list)
    for row in rows:
        assert list(row)[:2] == ["ok", "error"]
        assert isinstance(row["ok"], bool)
        assert (row["error"] is None) == row["ok"]
    return rows


def test_json_of_one_file_is_a_list(folder):
    result = run("compress", "takes/a.bvh", "--codec", "raw", "--json", folder=folder)
    (row,) = shaped(result)
    assert (row["input"], row["output"], row["ok"]) == ("takes/a.bvh", "takes/a.mocp", True)


def test_json_of_several_files_has_the_failing_ones_too(folder):
    (folder / "takes/broken.bvh").write_text("HIERARCHY\nnonsense")
    result = run("compress", "takes", "-o", "out", "--codec", "raw", "--json", folder=folder)
    assert result.returncode == 2
    rows = shaped(result)
    assert [row["ok"] for row in rows] == [True, True, False, True]
    assert "broken.bvh" in rows[2]["error"]
    assert rows[2]["error"] in result.stderr


def test_json_of_a_failing_file_is_a_list_too(folder):
    result = run("compress", "nowhere.bvh", "--json", folder=folder)
    assert result.returncode == 2
    (row,) = shaped(result)
    assert names(row["error"], "nowhere.bvh")


def test_json_of_a_bad_request_is_a_list_too(folder):
    result = run("compress", "takes/a.bvh", "--max-error", "1", "--json", folder=folder)
    assert result.returncode == 2
    (row,) = shaped(result)
    assert names(row["error"], "'1' '1mm'")


@pytest.mark.parametrize("how", [[], ["--energy"]])
def test_info_shows_each_file(folder, how):
    run("compress", "takes", "-o", "packed", "--codec", "raw", folder=folder)
    (folder / "packed/cut.mocp").write_bytes((folder / "packed/a.mocp").read_bytes()[:-9])
    result = run("info", "packed", *how, "--json", folder=folder)
    assert result.returncode == 2
    assert [row["ok"] for row in shaped(result)] == [True, True, False, True]
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "takes/a.bvh", "packed/a.mocp"],
        ["decompress", "packed/a.mocp", "-o", "back.bvh"],
        ["tune", "rd-pca", "takes/a.bvh", "--size", "2kB", "--effort", "fast", "-j", "1"],
        ["codecs", "raw"],
    ],
)
def test_every_json_has_the_shape(folder, words):
    run("compress", "takes", "-o", "packed", "--codec", "raw", folder=folder)
    result = run(*words, "--json", folder=folder)
    assert result.returncode == 0, result.stderr
    assert len(shaped(result)) == 1


def test_compare_starts_with_a_verdict(folder):
    words = ["takes/a.bvh", "-o", "a.mocp", "--preset", "game", "--effort", "fast"]
    packed = run("compress", *words, folder=folder)
    assert packed.returncode == 0, packed.stderr
    assert names(packed.stdout, "game 3 mm keysine")
    result = run("compare", "takes/a.bvh", "a.mocp", folder=folder)
    first = result.stdout.splitlines()[0]
    assert re.search(r"\b[\d.]+ [µm]m\b.*\b3 mm\b", first)


def test_a_preset_is_a_target_like_the_others(folder):
    words = ["compress", "takes/a.bvh", "--preset"]
    both = run(*words, "web", "--max-error", "1mm", folder=folder)
    assert names(both.stderr, "--preset --max-error")
    unknown = run(*words, "film", folder=folder)
    assert names(unknown.stderr, "preset archive edit train game web 'film'")
    assert not made(folder)


def test_progress_is_for_terminals(folder):
    result = run("compress", "takes", "-o", "out", "--codec", "raw", folder=folder)
    assert result.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals")
@pytest.mark.parametrize("quiet", [False, True])
def test_progress_with_the_time_left_is_shown_on_a_terminal(folder, quiet):
    text = on_a_terminal("compress", "takes", "-o", "out", "--codec", "raw", *["-q"] * quiet,
                         folder=folder)  # fmt: skip
    assert ("compressing" in text) == (not quiet)
    assert ("left" in text) == (not quiet)


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals")
def test_no_color_is_respected(folder):
    colored = on_a_terminal("codecs", "--help", folder=folder)
    plain = on_a_terminal("codecs", "--help", folder=folder, NO_COLOR="1")
    foreground = re.compile(r"\x1b\[(\d+;)*(3[0-8]|9[0-7])[;m]")
    assert foreground.search(colored)
    assert not foreground.search(plain)


def on_a_terminal(*words, folder, **variables):
    """Return the terminal output of a command."""
    import pty

    ours, theirs = pty.openpty()
    process = start(
        [sys.executable, "-m", "mocpack", *words],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, close_fds=True,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", **variables},
    )  # fmt: skip
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    os.close(ours)
    assert process.wait(60) == 0
    return text.decode("utf-8", "replace")


def test_the_statistics_of_humanml3d_are_skipped_and_reported(tmp_path):
    (tmp_path / "set").mkdir()
    mocpack.write(walk(0.2), tmp_path / "set/walk.bvh")
    for name in ("Mean.npy", "Std.npy"):
        np.save(tmp_path / "set" / name, np.zeros(263))
    made = run("corpus", "pack", "set", "-o", "set.mocps", "--effort", "fast", folder=tmp_path)
    assert made.returncode == 0, made.stderr
    assert names(made.stderr, "set/Mean.npy set/Std.npy")
    alone = run("info", "set/Mean.npy", folder=tmp_path)
    assert alone.returncode == 2
