"""Every example runs, and the one in C reads what Python reads."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mocpack
from mocpack.testing import hard_clips, markers, take, walk

CHECKOUT = Path(__file__).parents[2]
EXAMPLES = sorted((CHECKOUT / "examples").glob("*.py"))
SPECS = ("keysine:max_error=1mm", "keysine:max_error=0.2mm,mode=grid", "keysine:layers=3")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_the_example_runs_and_says_something(path):
    found = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert found.stdout.strip()


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("name", ["walk", "one frame", "every joint translates", "full turns"])
def test_the_reader_in_c_reads_what_python_reads(frames, tmp_path, name, spec):
    clip = hard_clips()[name]
    path = tmp_path / "clip.mocp"
    path.write_bytes(mocpack.encode(clip, spec))
    for start, count in ((0, clip.frame_count), (clip.frame_count // 2, 1)):
        found = subprocess.run(
            [frames, path, str(start), str(count)], capture_output=True, text=True, check=True
        )
        rows = [line.split(" ")[-3:] for line in found.stdout.splitlines()]
        expected = mocpack.decode(path.read_bytes()).positions()[start : start + count]
        np.testing.assert_allclose(np.array(rows, float), expected.reshape(-1, 3), atol=1e-8)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data[:40], "ends too early"),
        (lambda data: b"RIFF" + data[4:], "not a .mocp file"),
        (lambda data: data[:-9] + bytes(9), "a checksum is wrong"),
    ],
)
def test_the_reader_in_c_says_what_is_wrong(frames, tmp_path, change, said):
    path = tmp_path / "clip.mocp"
    path.write_bytes(change(mocpack.encode(hard_clips()["walk"], max_error="1mm")))
    found = subprocess.run([frames, path, "0", "1"], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert said in found.stderr


@pytest.mark.parametrize(
    "clip",
    [
        take(["roots", "rest", "names"], frames=30),
        take(["times", "tracks", "valid", "space"], frames=30),
        markers(),
    ],
    ids=["roots and rest", "times and tracks", "markers"],
)
def test_the_reader_in_c_reads_takes(frames, tmp_path, clip):
    path = tmp_path / "take.mocp"
    path.write_bytes(mocpack.encode(clip, max_error="1mm"))
    found = subprocess.run(
        [frames, path, "2", "5"], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(" ")[-3:] for line in found.splitlines()]
    expected = mocpack.read(path).positions()[2:7]
    np.testing.assert_allclose(np.array(rows, float), expected.reshape(-1, 3), atol=1e-8)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: mocpack.encode(take(["scale"])), "chunk SCAL: joints with scales"),
        (lambda: mocpack.encode(take(["scales"])), "chunk SCAL: joints with scales"),
        (lambda: mocpack.encode_scene({"a": walk(0.2)}), "chunk CLIP: a scene of several clips"),
    ],
    ids=["scale", "scales", "scene"],
)
def test_what_the_reader_in_c_cannot_pose_it_refuses_by_name(frames, tmp_path, make, sentence):
    path = tmp_path / "take.mocp"
    path.write_bytes(make())
    found = subprocess.run([frames, path, "0", "1"], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert sentence in found.stderr
