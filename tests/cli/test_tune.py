"""``mocpack tune`` as a user meets it."""

import json
import subprocess
import sys

import pytest

import mocpack
from mocpack.testing import walk


def run(*words, folder):
    return subprocess.run(
        [sys.executable, "-m", "mocpack", "tune", *map(str, words)],
        capture_output=True,
        cwd=folder,
        timeout=120,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tune")
    mocpack.write(walk(0.5), folder / "walk.bvh")
    return folder


def test_tune_prints_the_best_setting_and_writes_its_file_and_picture(folder):
    words = ["rd-pca", "walk.bvh", "--size", "2kB", "--effort", "fast", "-j", "1"]
    result = run(*words, "-o", "best.mocp", "--picture", "trials.png", folder=folder)
    assert result.returncode == 0, result.stderr.decode()
    assert (folder / "best.mocp").stat().st_size <= 2000
    assert (folder / "trials.png").read_bytes()[1:4] == b"PNG"
    text = result.stdout.decode()
    assert "rd-pca:" in text
    assert "◆" in text


def test_tune_speaks_json_with_every_trial(folder):
    words = ["rd-pca", "walk.bvh", "--size-fraction", "0.05", "--effort", "fast", "-j", "1"]
    result = run(*words, "--metric", "skted", "--json", folder=folder)
    (found,) = json.loads(result.stdout)
    assert found["best"] in found["trials"]
    assert found["best"]["codec"].startswith("rd-pca:lam=")
    assert mocpack.parse_codec(found["best"]["codec"]).codec_id == "rd-pca"


def refused(result, sentence, code=2):
    assert result.returncode == code
    text = result.stderr.decode()
    assert sentence in text
    assert "Traceback" not in text


def test_a_size_that_no_setting_reaches_leaves_with_1(folder):
    words = ["rd-pca", "walk.bvh", "--size", "100B", "--effort", "fast", "-j", "1"]
    refused(run(*words, folder=folder), "no setting packs this clip into 100 B", 1)


def test_a_codec_without_a_search_leaves_with_2(folder):
    refused(run("raw", "walk.bvh", "--size", "2kB", folder=folder), "raw has no search")


def test_two_sizes_are_one_too_many(folder):
    words = ["rd-pca", "walk.bvh", "--size", "2kB", "--size-fraction", "0.5"]
    refused(run(*words, folder=folder), "not both")
