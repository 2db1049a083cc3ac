"""The package's own tests, run by node on files written here.

`MOCPACK_DAMAGED` says how many damaged files are opened; 10,000 where node runs them alone.
"""

import os
import subprocess
from importlib.util import find_spec

import numpy as np
import pytest

import mocpack
from damaged_archives import damaged_indexes, with_kind
from mocpack.common.source import open_source
from mocpack.container import read_trailer
from mocpack.container.skel import DICTIONARY
from mocpack.corpora import pack
from mocpack.errors import CorruptionError, TruncatedError
from mocpack.testing.motions import hard_clips, vertex_wave, walk
from takes import take

HARD = {
    "walk": "walk",
    "one frame": "one_frame",
    "every joint translates": "translating",
    "joints with fewer axes": "few_axes",
    "noise": "noise",
    "full turns": "turns",
}
KINDS = {TruncatedError: "truncated", CorruptionError: "corrupt"}
TAKES = {
    "roots": ["roots", "rest", "names"],
    "times": ["times"],
    "start": ["space"],
    "scales": ["scale", "scales"],
    "tracks": ["tracks"],
}


def sliding_hips():
    """A walk below a root on the ground, so that a joint below another has the places."""
    clip = walk(0.5)
    skeleton = clip.skeleton
    offsets = np.concatenate([np.zeros((1, 3)), skeleton.offsets])
    offsets[1] = clip.translations[0, 0]
    built = mocpack.Skeleton(
        ("Ground", *skeleton.names), (-1, *(p + 1 for p in skeleton.parents)), offsets
    )
    rest = np.zeros((clip.frame_count, 1, 4))
    rest[..., 3] = 1
    turns = np.concatenate([rest, clip.rotations], axis=1)
    return mocpack.Clip.build(built, turns, clip.translations, translated_joints=(1,))


def write_damaged(folder):
    """Archives with a wrong index, and the kind of error that Python gives."""
    for name in ("all", "many"):
        data = (folder / f"{name}.mocps").read_bytes()
        for number, case in enumerate(damaged_indexes(data, 13, 150)):
            try:
                read_trailer(open_source(case))
                kind = "ok"
            except tuple(KINDS) as error:
                kind = KINDS[type(error)]
            (folder / f"damaged-{name}{number}-{kind}.mocps").write_bytes(case)


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
    for number, layer in enumerate(mocpack.open(layers).layers, 1):
        with mocpack.open(layers[: layer.end], partial=True) as cut:
            (folder / f"layers-{number}.rotations").write_bytes(cut.clip().rotations.tobytes())
    layers = mocpack.encode(walk(60.0), "keysine:max_error=0.1mm,effort=fast,layers=4")
    (folder / "long_layers.mocp").write_bytes(layers)
    (folder / "lossless.mocp").write_bytes(mocpack.encode(walk(0.2), "lossless"))
    (folder / "wavelet.mocp").write_bytes(mocpack.encode(walk(0.2), "wavelet"))
    (folder / "raw.mocp").write_bytes(mocpack.encode(walk(20.0), "raw"))
    grid = mocpack.encode(walk(0.5), "keysine:max_error=0.1mm,mode=grid")
    (folder / "grid.mocp").write_bytes(grid)
    for name, features in TAKES.items():
        data = mocpack.encode(take(features, frames=60), "keysine:max_error=1mm,effort=fast")
        (folder / f"{name}.mocp").write_bytes(data)
    scene = {name: clips[name] for name in ("walk", "full turns")}
    scene["turns"] = scene.pop("full turns")
    (folder / "scene.mocp").write_bytes(mocpack.encode_scene(scene, max_error="5mm"))
    (folder / "hips.mocp").write_bytes(mocpack.encode(sliding_hips(), "keysine:max_error=1mm"))
    minutes = mocpack.encode(walk(600.0, frame_rate=30), "keysine:max_error=20mm,effort=fast")
    (folder / "ten_minutes.mocp").write_bytes(minutes)
    if find_spec("pyarrow"):  # needed to write archives, not to read them
        packed = {name: folder / f"{name}.mocp" for name in ("walk", "turns", "long", "lossless")}
        pack(packed, folder / "all.mocps")
        pack(packed, folder / "many.mocps", shard_size=1000)
        pack({"walk": packed["walk"], "again": packed["walk"]}, folder / "twice.mocps")
        (folder / "newer.mocps").write_bytes(with_kind((folder / "twice.mocps").read_bytes(), 0, 9))
        write_damaged(folder)
    (folder / "skeletons.dictionary").write_bytes(DICTIONARY)
    (folder / "vertices.mocp").write_bytes(mocpack.encode(vertex_wave(), "raw"))
    return folder


@pytest.mark.parametrize(
    "name", ["open", "range", "layers", "bvh", "three", "worker", "damaged", "archive"]
)
def test_node_finds_no_fault(package, files, name):
    found = subprocess.run(
        ["node", "--test", str(package / f"test/{name}.test.mjs")],
        env={"MOCPACK_DAMAGED": "2000"} | os.environ | {"MOCPACK_FIXTURES": str(files)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert found.returncode == 0, found.stdout[-6000:] + found.stderr[-2000:]
    assert "# skipped 0" in found.stdout
