"""``mocpack tune`` as a user sees it."""

import json
import os
import subprocess
import sys

import command_line
import pytest

import mocpack
from child_processes import start
from mocpack.testing import walk
from naming import names

CLIP = walk(0.5)
DURATION = CLIP.frame_count / CLIP.frame_rate


def run(*words, folder):
    return command_line.run("tune", *words, folder=folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tune")
    mocpack.write(CLIP, folder / "walk.bvh")
    return folder


def test_tune_prints_the_best_setting_and_writes_its_file(folder):
    words = ["rd-pca", "walk.bvh", "--size", "2kB", "--effort", "fast", "-j", "1"]
    result = run(*words, "-o", "best.mocp", folder=folder)
    assert result.returncode == 0, result.stderr.decode()
    assert (folder / "best.mocp").stat().st_size <= 2000
    text = result.stdout.decode()
    assert "rd-pca:" in text


def test_tune_prints_json_with_every_trial(folder):
    words = ["rd-pca", "walk.bvh", "--size-fraction", "0.05", "--effort", "fast", "-j", "1"]
    result = run(*words, "--metric", "skted", "--json", folder=folder)
    (found,) = json.loads(result.stdout)
    assert found["best"] in found["trials"]
    assert found["best"]["codec"].startswith("rd-pca:lam=")
    assert mocpack.parse_codec(found["best"]["codec"]).codec_id == "rd-pca"


def test_a_bandwidth_gives_a_file_that_arrives_in_time(folder):
    words = ["bap-index", "walk.bvh", "--bandwidth", "64kbps", "--effort", "fast", "-j", "2"]
    (found,) = json.loads(run(*words, "--json", folder=folder).stdout)
    assert found["best"]["bytes"] <= 64_000 * DURATION / 8
    assert found["reception"]["in_time"]
    assert found["reception"]["seconds"] == found["best"]["bytes"] * 8 / 64_000


def test_an_energy_limit_gives_the_setting_with_the_lowest_error(folder):
    words = ["bap-index", "walk.bvh", "--bandwidth", "128kbps", "--effort", "fast", "-j", "1"]
    (found,) = json.loads(run(*words, "--energy", "400mJ", "--json", folder=folder).stdout)
    assert found["reception"]["joules"] <= 0.4
    # equation 11 by hand: 0.177 W asleep, 1.425 W receiving, for half a second
    most = 128_000 / 8 * (0.4 - 0.177 * DURATION) / (1.425 - 0.177)
    fitting = [t for t in found["trials"] if t["bytes"] <= most]
    assert found["best"]["error"] == min(t["error"] for t in fitting)
    assert len(fitting) < len(found["trials"])
    result = run(*words, "--energy", "400mJ", folder=folder)
    assert names(result.stdout.decode(), "0.5 s mJ")


def refused(result, named, code=2):
    assert result.returncode == code
    text = result.stderr.decode()
    assert names(text, named)
    assert "Traceback" not in text


def test_an_unreachable_size_exits_with_1(folder):
    words = ["rd-pca", "walk.bvh", "--size", "100B", "--effort", "fast", "-j", "1"]
    refused(run(*words, folder=folder), "100 B", 1)


def test_a_codec_without_a_search_exits_with_2(folder):
    refused(run("raw", "walk.bvh", "--size", "2kB", folder=folder), "raw")


def test_two_size_limits_are_rejected(folder):
    words = ["rd-pca", "walk.bvh", "--size", "2kB", "--size-fraction", "0.5"]
    refused(run(*words, folder=folder), "--size --size-fraction")


@pytest.mark.parametrize("share", ["inf", "nan", "0", "-0.5"])
def test_a_bad_size_fraction_is_rejected(folder, share):
    words = ["rd-pca", "walk.bvh", "--size-fraction", share]
    refused(run(*words, folder=folder), f"--size-fraction {share}")


def test_an_energy_without_a_bandwidth_is_rejected(folder):
    words = ["bap-index", "walk.bvh", "--energy", "1J"]
    refused(run(*words, folder=folder), "--energy --bandwidth")


def test_a_bandwidth_and_a_size_are_rejected(folder):
    words = ["bap-index", "walk.bvh", "--size", "2kB", "--bandwidth", "128kbps"]
    refused(run(*words, folder=folder), "--size --bandwidth")


def test_less_energy_than_sleep_needs_exits_with_1(folder):
    words = ["bap-index", "walk.bvh", "--bandwidth", "128kbps", "--energy", "1mJ"]
    refused(run(*words, folder=folder), "0.5 1 mJ", 1)


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_tune_shows_the_time_left_on_a_terminal(folder):
    words = ["bap-index", "walk.bvh", "--size-fraction", "0.5", "-j", "1"]
    assert b"left" in on_a_terminal(*words, folder=folder)


def on_a_terminal(*words, folder):
    """Return the standard error of a run on a terminal."""
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "mocpack", "tune", *words]
    process = start(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        written += part
    os.close(ours)
    assert process.wait() == 0
    return written


def test_keysine_meets_a_bandwidth_and_an_energy_by_the_search_of_compress(folder):
    words = ["keysine", "walk.bvh", "--bandwidth", "16kbps", "--energy", "300mJ", "--json"]
    result = run(*words, "-o", "budget.mocp", folder=folder)
    (found,) = json.loads(result.stdout)
    size = (folder / "budget.mocp").stat().st_size
    assert size == found["best"]["bytes"] <= 16_000 * DURATION / 8
    assert found["reception"]["in_time"]
    assert found["reception"]["joules"] <= 0.3
    command_line.run("compress", "walk.bvh", "-o", "size.mocp", "--size", f"{size}B", folder=folder)
    assert (folder / "size.mocp").stat().st_size <= size
    refused(run("keysine", "walk.bvh", "--error", "1", folder=folder), "keysine size bandwidth")
