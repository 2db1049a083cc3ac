"""`serve`, `send` and `receive` as programs of their own."""

import json
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

import mocpack
from mocpack.kinematics import promised_error
from mocpack.testing import walk

pytest.importorskip("websockets")


def start(*words, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "mocpack", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.fixture
def relay(tmp_path):
    """A relay that records, and its address."""
    process = start("serve", "--port", 0, "--record", "day.mocp", "--no-page", cwd=tmp_path)
    line = process.stdout.readline()
    address = re.search(r"ws://127\.0\.0\.1:\d+", line)
    assert address, process.stderr.read()
    yield process, address[0]
    process.kill()
    process.communicate()


def error_of(clip, other):
    return promised_error(
        clip.skeleton,
        (clip.rotations, clip.translations),
        (other.rotations, other.translations),
        clip.header.translated_joints,
    ).max


def test_a_file_is_sent_relayed_recorded_and_received(relay, tmp_path):
    process, address = relay
    clip = walk(0.5)
    mocpack.write(clip, tmp_path / "walk.bvh")
    clip = mocpack.read(tmp_path / "walk.bvh")
    receiver = start("receive", f"{address}/stage", "-o", "got.mocp", cwd=tmp_path)
    lines = start("receive", f"{address}/stage", "-o", "-", cwd=tmp_path)
    words = ("walk.bvh", "--to", f"{address}/stage/anna", "--max-error", "5mm", "--speed", "0.25")
    sender = start("send", *words, cwd=tmp_path)
    assert sender.wait(60) == 0, sender.stderr.read()
    told, complaint = receiver.communicate(timeout=60)
    assert (receiver.returncode, told.strip()) == (0, "wrote got.mocp"), complaint
    out, complaint = lines.communicate(timeout=60)
    messages = [json.loads(line) for line in out.splitlines()]
    assert messages[0]["skeleton"]["names"] == list(clip.skeleton.names), complaint
    process.send_signal(signal.SIGINT)
    told, complaint = process.communicate(timeout=60)
    assert (process.returncode, told.strip()) == (0, "wrote day.mocp"), complaint
    day = mocpack.decode((tmp_path / "day.mocp").read_bytes())
    assert day.frame_count == clip.frame_count
    assert error_of(clip, day) <= 0.005 * (1 + 1e-6)
    got = mocpack.decode((tmp_path / "got.mocp").read_bytes())
    late = clip.frame_count - got.frame_count  # whoever comes later has the later frames
    assert late < clip.frame_count - 5
    np.testing.assert_array_equal(got.rotations[-1], day.rotations[-1])


def test_ctrl_c_finishes_the_file(relay, tmp_path):
    _, address = relay
    mocpack.write(walk(0.5), tmp_path / "walk.bvh")
    sender = start("send", "walk.bvh", "--to", f"{address}/stage/anna", "--loop", cwd=tmp_path)
    lines = start("receive", f"{address}/stage", "-o", "-", cwd=tmp_path)
    receiver = start("receive", f"{address}/stage", "-o", "got.mocp", cwd=tmp_path)
    for _ in range(200):
        assert lines.stdout.readline()
    lines.kill()
    receiver.send_signal(signal.SIGINT)
    told, complaint = receiver.communicate(timeout=60)
    sender.kill()
    sender.communicate()
    lines.communicate()
    if told:  # it may have been interrupted before its first frame
        assert told.strip() == "wrote got.mocp", complaint
        assert mocpack.decode((tmp_path / "got.mocp").read_bytes()).frame_count > 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["serve", "--host", "0.0.0.0"], "give it a certificate"),
        (["send", "walk.bvh", "--to", "ws://example.org/stage/anna"], "write wss://"),
        (["send", "walk.bvh", "--to", "ws://127.0.0.1:9/stage"], "needs a name"),
        (["send", "walk.bvh", "--to", "ftp://x/y"], "ws://, wss:// or udp://"),
        (["receive", "ws://127.0.0.1:9/stage/anna", "-o", "-"], "a whole stage"),
        (["receive", "ws://127.0.0.1:9/stage", "-o", "day.mocps"], "mocpack pack"),
        (["serve", "--tls", "walk.bvh"], "no certificate"),
    ],
)
def test_what_cannot_be_is_a_sentence(tmp_path, words, sentence):
    mocpack.write(walk(0.2), tmp_path / "walk.bvh")
    process = start(*words, cwd=tmp_path)
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 2
    assert sentence in " ".join(complaint.split())
    assert "Traceback" not in complaint
