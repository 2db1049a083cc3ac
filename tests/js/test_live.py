"""Live streams received in node, by the same core as WebAssembly."""

import gzip
import json
import shutil
import struct
import subprocess

import numpy as np
import pytest
from in_node import PACKAGE

from live_network import Network
from mocpack import _core
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.live import Hello, Receiver, Sender
from mocpack.testing import hard_clips

CLIPS = {
    "free joints": load_clip("cmu/49_02", COMMITTED).frames(200, 440),
    "few axes": hard_clips()["joints with fewer axes"],
}


@pytest.fixture(scope="module")
def package():
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    built = [PACKAGE / "dist" / name for name in ("live/index.js", "live.wasm")]
    if not all(path.exists() for path in built):
        pytest.skip("the JavaScript package is not built; `make js` builds it")
    return PACKAGE


def in_node(package, folder, hello, packets):
    (folder / "hello").write_bytes(hello)
    (folder / "packets").write_bytes(b"".join(struct.pack("<I", len(p)) + p for p in packets))
    command = ["node", package / "test/live_dump.mjs", "hello", "packets", "out"]
    return subprocess.run(
        list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("name", CLIPS)
def test_node_receives_the_same_frames_bit_for_bit(package, tmp_path, name):
    clip = CLIPS[name]
    sender = Sender(Hello(clip.header, 0.005, 3), repeat=(1,), keyframe_interval=50)
    network = Network(seed=2, loss=0.1, reordered=0.1, doubled=0.1, flipped=0.2)
    for t, frame in enumerate(zip(clip.rotations, clip.translations, strict=True)):
        network.send(sender.send(*frame), t * clip.header.frame_time)
    packets = [packet for _, packet in network.arrivals(1e9)]
    receiver = Receiver(sender.hello, patience=2)
    poses = [pose for packet in packets for pose in receiver.receive(packet)]
    done = in_node(package, tmp_path, sender.hello.to_bytes(), packets)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["numbers"] == [pose.frame_number for pose in poses]
    assert len(poses) > 0.2 * clip.frame_count
    assert told["counts"]["damaged"] == receiver.counts[3] > 0
    assert (told["names"], told["maxError"]) == (list(clip.skeleton.unique_names), 0.005)
    joints = len(clip.skeleton)
    found = np.fromfile(tmp_path / "out", "<f8").reshape(len(poses), 7 * joints)
    turns = found[:, : 4 * joints].reshape(-1, joints, 4)
    places = found[:, 4 * joints :].reshape(-1, joints, 3)[:, list(clip.translated_joints)]
    # hinges are turned by sines of another library; all else is whole numbers and square roots
    allowed = 0 if name == "free joints" else 1e-14
    assert np.abs(turns - np.array([p.rotations for p in poses])).max() <= allowed
    assert np.abs(places - np.array([p.translations for p in poses])).max() <= allowed
    predicted, expected = told["predicted"], receiver.predict(3)
    assert predicted["isExact"] is False
    assert np.abs(expected.rotations - poses[-1].rotations).max() > 1e-3
    assert np.abs(np.reshape(predicted["rotations"], (-1, 4)) - expected.rotations).max() < 1e-9
    places = np.reshape(predicted["translations"], (-1, 3))[list(clip.translated_joints)]
    assert np.abs(places - expected.translations).max() < 1e-9


def test_a_leap_in_numbers_costs_node_nothing(package, tmp_path):
    clip, furthest = CLIPS["free joints"], 2**47 - 1
    sender = Sender(Hello(clip.header, 0.005, 3))
    first = sender.send(clip.rotations[0], clip.translations[0])
    row = [(0, False, b"\x00" * 20)]
    far = _core.live_pack(sender.hello.checksum, furthest, 1 << 60, True, row)
    done = in_node(package, tmp_path, sender.hello.to_bytes(), [first, far, first])
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)["report"]
    assert report["newest"] == furthest
    assert 0 < len(report["missing"]) <= 63


@pytest.mark.parametrize("hello", [b"", b"mlh1", b"mlh1junk", b"MOCP" * 10])
def test_an_invalid_hello_is_a_mocpack_error(package, tmp_path, hello):
    done = in_node(package, tmp_path, hello, [])
    assert done.returncode == 1
    assert "MocpackError" in done.stderr


def test_the_receiver_is_small(package):
    data = (package / "dist/live.wasm").read_bytes()
    assert len(data) < 24_000
    assert len(gzip.compress(data)) < 12_000
