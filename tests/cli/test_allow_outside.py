"""Files outside a folder, and pipes in it, on the command line."""

import base64
import json
import os

import pytest
from command_line import run

import mocpack
from mocpack.cli.inputs import find_sources
from mocpack.testing import walk


@pytest.fixture
def outside(tmp_path):
    """A glTF with a buffer outside its folder."""
    (tmp_path / "inside").mkdir()
    path = tmp_path / "inside" / "walk.gltf"
    mocpack.write(walk(0.1), path)
    document = json.loads(path.read_text())
    uri = document["buffers"][0]["uri"]
    (tmp_path / "walk.bin").write_bytes(base64.b64decode(uri.partition(",")[2]))
    document["buffers"][0]["uri"] = "../walk.bin"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("command", ["compress", "convert"])
def test_a_buffer_outside_the_folder_is_read_if_that_is_allowed(outside, command, tmp_path):
    words = [command, str(outside), "-o", str(tmp_path / "a.mocp")]
    refused = run(*words)
    assert refused.returncode == 2
    said = refused.stderr.decode()
    assert "--allow-outside" in said
    assert "walk.gltf" in said
    allowed = run(*words, "--allow-outside")
    assert allowed.returncode == 0, allowed.stderr
    assert (tmp_path / "a.mocp").exists()


def test_info_reads_outside_the_folder_if_that_is_allowed(outside):
    assert run("info", str(outside)).returncode == 2
    assert run("info", str(outside), "--allow-outside").returncode == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes by name")
def test_pipes_in_a_folder_are_no_motions_of_it(tmp_path):
    mocpack.write(walk(0.1), tmp_path / "walk.bvh")
    os.mkfifo(tmp_path / "pipe.bvh")
    for words in ([str(tmp_path)], [str(tmp_path / "*.bvh")]):
        found = [source.path for source in find_sources(words, {".bvh"})]
        assert found == [str(tmp_path / "walk.bvh")]
