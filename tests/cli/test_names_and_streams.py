"""Hostile names and closed streams: terminals get printable text only, JSON keeps all names."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import command_line
import numpy as np
import pytest

import mocpack
from child_processes import start
from mocpack.cli.terminal import printable
from mocpack.testing import walk
from naming import names

RED = "\x1b[31mred\x07"


def run(folder, *words, **streams):
    if not streams:
        return command_line.run(*words, folder=folder)
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    call = [sys.executable, "-m", "mocpack", *words]
    return subprocess.run(call, cwd=folder, timeout=120, **settings)


def in_shell(folder, command, **settings):
    """Run a shell command; the word MOCPACK is replaced by the program."""
    command = command.replace("MOCPACK", f"{sys.executable} -m mocpack")
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, timeout=120, capture_output=True, **settings
    )


@pytest.fixture
def folder(tmp_path):
    mocpack.write(walk(0.2), tmp_path / "walk.bvh")
    return tmp_path


@pytest.mark.parametrize("name", ["take[final]", "d[/x]", "[bold red]x", "say:smile:", "a\\[b]"])
def test_brackets_in_names_are_not_markup(folder, name):
    source = folder / f"{name.replace('/', '_')}.bvh"
    (folder / "walk.bvh").rename(source)
    for words in (["--json"], []):
        result = run(folder, "compress", source.name, "--codec", "raw", "-f", *words)
        assert result.returncode == 0, result.stderr
        assert source.with_suffix(".mocp").name in result.stdout.decode() or words
    (row,) = json.loads(
        run(folder, "compress", source.name, "--codec", "raw", "-f", "--json").stdout
    )
    assert (row["input"], row["output"]) == (source.name, source.with_suffix(".mocp").name)
    for path in (row["input"], row["output"]):
        assert path in run(folder, "info", path).stdout.decode()


def test_a_closing_tag_in_a_folder_does_not_crash(folder):
    (folder / "d[").mkdir()
    (folder / "walk.bvh").rename(folder / "d[" / "x].bvh")
    result = run(folder, "compress", "d[/x].bvh", "--codec", "raw")
    assert result.returncode == 0, result.stderr
    assert "d[/x].mocp" in result.stdout.decode()
    facts = run(folder, "info", "d[/x].mocp")
    assert "d[/x].mocp" in facts.stdout.decode()


def test_no_control_character_of_a_file_name_reaches_the_terminal(folder):
    name = f"{RED}\n.bvh"
    (folder / "walk.bvh").rename(folder / name)
    result = run(folder, "compress", name, "--codec", "raw")
    assert result.returncode == 0, result.stderr
    assert b"\\x1b[31mred\\x07" in result.stdout
    assert b"\x1b" not in result.stdout + result.stderr
    missing = run(folder, "compress", f"no{name}")
    assert missing.stderr == b"mocpack: no\\x1b[31mred\\x07\\n.bvh: No such file or directory\n"
    (row,) = json.loads(run(folder, "compress", name, "--codec", "raw", "-f", "--json").stdout)
    assert row["input"] == name


def test_no_control_character_of_a_joint_reaches_the_terminal(folder):
    text = (folder / "walk.bvh").read_text()
    joint = mocpack.read(folder / "walk.bvh").skeleton.names
    (folder / "bad.bvh").write_text(text.replace(f" {joint[0]}\n", f" {RED}\n", 1))
    run(folder, "compress", "bad.bvh", "--codec", "raw")
    for words in (["info", "bad.mocp"], ["compare", "bad.bvh", "bad.mocp"]):
        result = run(folder, *words)
        assert result.returncode == 0, result.stderr
        assert not {b"\x1b", b"\x07"} & {bytes([b]) for b in result.stdout + result.stderr}


def test_an_undecodable_file_name_is_escaped_and_kept_in_json(folder):
    name = os.fsdecode(b"w\xffalk.bvh")
    try:
        (folder / "walk.bvh").rename(folder / name)
    except OSError:
        pytest.skip("this file system takes only text")
    result = run(folder, "compress", name, "--codec", "raw")
    assert result.returncode == 0, result.stderr
    assert rb"w\udcffalk.mocp" in result.stdout
    (row,) = json.loads(run(folder, "compress", name, "--codec", "raw", "-f", "--json").stdout)
    assert os.fsencode(row["input"]) == b"w\xffalk.bvh"


def test_printable_keeps_every_script_and_no_control():
    assert printable("骨 é 𝕁 naïve") == "骨 é 𝕁 naïve"
    assert printable("\u202eabc\x9b1m\x7f\r\t") == "\\u202eabc\\x9b1m\\x7f\\r\\t"
    assert printable("two\nlines") == "two\nlines"


NEEDS_SHELL = pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs bash")


@NEEDS_SHELL
@pytest.mark.parametrize(
    ("words", "closed"),
    [
        ("compress walk.bvh --codec raw", "<&-"),
        ("compress walk.bvh --codec raw", ">&-"),
        ("compress walk.bvh --codec raw", "2>&-"),
        ("compress walk.bvh --codec raw", "<&- >&- 2>&-"),
        ("codecs", ">&-"),
        ("--help", ">&-"),
    ],
)
def test_closed_standard_streams_do_not_fail(folder, words, closed):
    result = in_shell(folder, f"MOCPACK {words} {closed}")
    assert result.returncode == 0, result.stderr
    assert result.stderr == b""
    if words.startswith("compress"):
        assert mocpack.read(folder / "walk.mocp").frame_count == 12


@pytest.mark.parametrize("command", ["compress", "convert", "decompress"])
def test_standard_input_has_no_name_for_a_file_in_a_folder(folder, command):
    done = run(folder, command, "-", "-o", "out/", input=b"HIERARCHY")
    assert done.returncode == 2
    assert names(done.stderr.decode(), "-o input")
    assert not (folder / "out").exists()


@NEEDS_SHELL
@pytest.mark.parametrize(
    "command",
    ["decompress walk.mocp -o -", "convert walk.bvh --to bvh -o -", "info walk.mocp", "formats"],
)
def test_a_reader_that_stops_early_is_no_error(folder, command):
    assert in_shell(folder, "MOCPACK compress walk.bvh --codec raw").returncode == 0
    result = in_shell(folder, f"MOCPACK {command} | true; exit ${{PIPESTATUS[0]}}")
    assert (result.returncode, result.stderr) == (0, b"")


@NEEDS_SHELL
def test_using_a_closed_stream_is_an_error(folder):
    result = in_shell(folder, "MOCPACK compress walk.bvh --codec raw -o - >&-")
    assert (result.returncode, result.stderr.count(b"\n")) == (2, 1)
    assert names(result.stderr.decode(), "mocpack: walk.bvh output")
    result = in_shell(folder, "MOCPACK compress - --codec raw -o x.mocp <&-")
    assert (result.returncode, result.stderr.count(b"\n")) == (2, 1)
    assert names(result.stderr.decode(), "mocpack: standard input")
    assert in_shell(folder, "MOCPACK compress nowhere.bvh 2>&-").returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_unwritable_output_is_a_clear_error(folder):
    with Path("/dev/full").open("wb") as full:
        result = run(folder, "codecs", stdout=full)
    assert result.returncode == 2
    assert names(result.stderr.decode(), f"output {os.strerror(errno.ENOSPC)}")
    assert len(result.stderr.splitlines()) == 1


@NEEDS_SHELL
def test_process_substitutions_are_read_from_their_first_byte(folder):
    result = in_shell(folder, "MOCPACK compress <(cat walk.bvh) --codec raw -o out.mocp")
    assert result.returncode == 0, result.stderr
    assert mocpack.read(folder / "out.mocp").frame_count == 12
    result = in_shell(folder, "MOCPACK compare <(cat walk.bvh) <(cat out.mocp) --json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)[0]["max_error_mm"] < 1e-2


@NEEDS_SHELL
def test_a_process_substitution_is_written_through(folder):
    result = in_shell(folder, "MOCPACK compress walk.bvh --codec raw -o >(cat > copy); wait")
    assert result.returncode == 0, result.stderr
    assert (folder / "copy").read_bytes()[:4] == b"\x93MOC"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_read_once_and_whole(folder):
    os.mkfifo(folder / "pipe.bvh")
    call = [sys.executable, "-c", "import mocpack; print(mocpack.read('pipe.bvh').frame_count)"]
    process = start(call, cwd=folder, stdout=subprocess.PIPE)
    (folder / "pipe.bvh").write_bytes((folder / "walk.bvh").read_bytes())
    assert process.communicate(timeout=60)[0] == b"12\n"


@pytest.mark.parametrize("words", [("compress",), ("corpus", "pack", "-o", "a.mocps")])
def test_an_empty_error_is_not_taken_for_none(folder, words):
    result = run(folder, *words, "walk.bvh", "--max-error", "")
    assert result.returncode == 2
    assert names(result.stderr.decode(), "max_error ''")


@pytest.mark.parametrize("ratio", ["nan", "inf", "-inf", "-3", "0"])
def test_a_bad_ratio_is_an_error(folder, ratio):
    result = run(folder, "compress", "walk.bvh", "--ratio", ratio)
    assert (result.returncode, result.stderr.count(b"\n")) == (2, 1)
    assert names(result.stderr.decode(), f"mocpack: ratio {float(ratio):g}")


def test_a_lone_surrogate_is_not_a_joint_name(tmp_path):
    one = {"rotations": [[[0.0, 0, 0, 1]]], "translations": [[0.0, 0, 0]], "parents": [-1]}
    np.savez(tmp_path / "half.npz", **one, offsets=[[0.0, 0, 0]], names=["a\ud800"])
    result = run(tmp_path, "compress", "half.npz")
    assert (result.returncode, result.stderr.count(b"\n")) == (2, 1)
    assert names(result.stderr.decode(), r"mocpack: half.npz joint 'a\ud800'")
