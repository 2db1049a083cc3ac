"""Every example runs, and the one in C reads what Python reads."""

import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mocpack
from mocpack.coding.fields import FieldWriter, deflate, inflate
from mocpack.container.skel import DICTIONARY, pack_skeleton
from mocpack.errors import CorruptionError
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


def test_the_reader_in_c_refuses_a_name_that_is_not_utf8(frames, tmp_path):
    clip = hard_clips()["walk"]
    names = ("a\u0800", *clip.skeleton.names[1:])
    header = clip.with_header(skeleton=replace(clip.skeleton, names=names))
    data = mocpack.encode(replace(clip, header=header), max_error="1mm")
    body = pack_skeleton(header.skeleton, header.translated_joints, header.unit)
    fields = inflate(body, 1 << 20, dictionary=DICTIONARY, what="SKEL chunk")
    half = fields.replace("\u0800".encode(), "\ud800".encode("utf-8", "surrogatepass"))
    bad = data.replace(chunk(body), chunk(deflate(half, dictionary=DICTIONARY)))
    assert bad != data
    (tmp_path / "good.mocp").write_bytes(data)
    (tmp_path / "bad.mocp").write_bytes(bad)
    call = [frames, tmp_path / "good.mocp", "0", "1"]
    assert subprocess.run(call, capture_output=True, check=False).returncode == 0
    call = [frames, tmp_path / "bad.mocp", "0", "1"]
    found = subprocess.run(call, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (1, "frames: corrupt: a name is not UTF-8\n")
    with pytest.raises(CorruptionError, match="SKEL chunk: a name is not UTF-8"):
        mocpack.decode(bad)


def chunk(body):
    """Return a SKEL chunk of that body."""
    out = FieldWriter()
    out.raw(b"SKEL")
    out.varint(len(body))
    out.raw(zlib.crc32(body, zlib.crc32(b"SKEL")).to_bytes(4, "little"))
    return out.bytes() + body


def test_a_program_that_packs_and_unpacks_ends_without_a_word():
    code = (
        "import mocpack\n"
        "from mocpack.testing import walk\n"
        "mocpack.decode(mocpack.encode(walk(0.2), 'lossless'))\n"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == result.stderr == ""
