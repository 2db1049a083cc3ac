"""The package's own tests, run by node on files written here."""

import os
import subprocess

import pytest

import mocpack
from mocpack.testing.motions import hard_clips, vertex_wave, walk

HARD = {
    "walk": "walk",
    "one frame": "one_frame",
    "every joint translates": "translating",
    "joints with fewer axes": "few_axes",
    "noise": "noise",
    "full turns": "turns",
}


@pytest.fixture(scope="module")
def files(package, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    clips = hard_clips()
    for name, short in HARD.items():
        data = mocpack.encode(clips[name], "keysine:max_error=1mm,effort=fast")
        (folder / f"{short}.mocp").write_bytes(data)
    long = mocpack.encode(walk(120.0), "keysine:max_error=0.1mm,effort=fast")
    (folder / "long.mocp").write_bytes(long)
    layers = mocpack.encode(clips["walk"], "keysine:max_error=1mm,effort=fast,layers=3")
    (folder / "layers.mocp").write_bytes(layers)
    (folder / "lossless.mocp").write_bytes(mocpack.encode(walk(0.2), "lossless"))
    grid = mocpack.encode(walk(0.5), "keysine:max_error=0.1mm,mode=grid")
    (folder / "grid.mocp").write_bytes(grid)
    (folder / "vertices.mocp").write_bytes(mocpack.encode(vertex_wave(), "raw"))
    return folder


@pytest.mark.parametrize("name", ["open", "range", "bvh", "fields", "damaged"])
def test_node_finds_no_fault(package, files, name):
    found = subprocess.run(
        ["node", "--test", str(package / f"test/{name}.test.mjs")],
        env=os.environ | {"MOCPACK_FIXTURES": str(files)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert found.returncode == 0, found.stdout[-6000:] + found.stderr[-2000:]
    assert "# skipped 0" in found.stdout
