"""Recordings: packets in a spool file, and the clips made from them."""

import numpy as np
import pytest

from mocpack import _core
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.errors import FormatError
from mocpack.live import Hello, Sender
from mocpack.live.recording import MAX_FILLED_FRAMES, MAX_GAP_S, decode_clips
from mocpack.live.spool import Spool, SpoolReader

CLIP = load_clip("cmu/49_02", COMMITTED).frames(200, 320)
RATE = 120


def stream(count=120, **options):
    """A sender and its packets."""
    sender = Sender(Hello(CLIP.header, 0.005, 3), **options)
    return sender, [sender.send(CLIP.rotations[t], CLIP.translations[t]) for t in range(count)]


def leaping(numbers):
    """A hello and whole packets with these numbers, increasing."""
    sender, (packet,) = stream(1)
    row = _core.live_unpack(sender.hello.checksum, packet, None)[4][0][2]
    pack = _core.live_pack
    return sender.hello, (
        pack(sender.hello.checksum, n, 0, True, [(0, True, row)]) for n in numbers
    )


def test_missing_frames_are_marked_in_a_recording():
    sender, packets = stream(keyframe_interval=40)
    (clip,) = decode_clips(sender.hello, packets[:50] + packets[60:])
    assert np.flatnonzero(~clip.take_data.valid.all(1)).tolist() == list(range(50, 80))


def test_nothing_received_makes_no_clip():
    assert not list(decode_clips(Hello(CLIP.header, 0.005, 3), []))


def test_a_long_gap_ends_a_clip_and_a_short_one_is_filled():
    most = int(MAX_GAP_S * RATE)
    hello, packets = leaping([0, most, 2 * most + 10])
    assert [clip.frame_count for clip in decode_clips(hello, packets)] == [most + 1, 1]


@pytest.mark.parametrize("far", [10**6, 2**40, 2**47 - 1])
def test_packets_far_apart_take_no_memory(far):
    hello, packets = leaping([0, far])
    assert [clip.frame_count for clip in decode_clips(hello, packets)] == [1, 1]


def test_a_long_recording_is_cut_into_clips_without_a_loss():
    sender, packets = stream()
    most = 50 * len(CLIP.skeleton)
    clips = list(decode_clips(sender.hello, packets, most))
    assert [clip.frame_count for clip in clips] == [50, 50, 20]
    (whole,) = decode_clips(sender.hello, packets)
    np.testing.assert_array_equal(np.concatenate([c.rotations for c in clips]), whole.rotations)


def test_gaps_cannot_make_more_frames_than_a_recording_may_have(monkeypatch):
    """Beyond that, gaps end a clip, so that every received frame is kept."""
    monkeypatch.setattr("mocpack.live.recording.MAX_FILLED_FRAMES", 5000)
    hello, packets = leaping(range(0, 100_000, 1000))
    clips = list(decode_clips(hello, packets, 2100 * len(CLIP.skeleton)))
    assert max(clip.frame_count for clip in clips) <= 2100
    assert sum(clip.valid.all(1).sum() for clip in clips) == 100
    assert sum(clip.frame_count for clip in clips) <= 5100 < MAX_FILLED_FRAMES


def test_the_frames_after_a_last_keyframe_are_kept_though_an_earlier_one_is_missing():
    sender, packets = stream(keyframe_interval=40)
    (clip,) = decode_clips(sender.hello, packets[:70] + packets[71:100])
    assert clip.frame_count == 100
    assert np.flatnonzero(~clip.take_data.valid.all(1)).tolist() == list(range(70, 80))


@pytest.fixture
def spool(tmp_path):
    """A spool file and its contents."""
    sender, packets = stream(5)
    made = Spool(tmp_path / "a.spool", sender.hello)
    for packet in packets:
        made.append(packet)
    made.close()
    return made.path, sender.hello, packets


def read(path):
    with SpoolReader(path) as reader:
        packets = list(reader.packets())
        return reader.hello, packets, reader.is_damaged


def test_a_spool_holds_hello_and_packets(spool):
    path, hello, packets = spool
    found, held, is_damaged = read(path)
    assert held == packets
    assert not is_damaged
    assert found.model == hello.model


def test_every_packet_is_on_the_disk_before_the_next_comes(tmp_path):
    sender, packets = stream(5)
    spool = Spool(tmp_path / "a.spool", sender.hello)
    for packet in packets:
        spool.append(packet)
        assert spool.path.read_bytes().endswith(packet)
    spool.close()


def test_a_truncated_or_damaged_spool_gives_its_complete_packets(spool):
    path, _, packets = spool
    data = path.read_bytes()
    ends = np.cumsum([8 + len(packet) for packet in packets])
    start = len(data) - ends[-1]
    for cut in range(start, len(data)):
        whole = int(np.searchsorted(ends, cut - start, side="right"))
        path.write_bytes(data[:cut])
        assert read(path)[1:] == (packets[:whole], cut - start not in (0, *ends))
        path.write_bytes(data[:cut] + bytes([data[cut] ^ 1]) + data[cut + 1 :])
        assert read(path)[1:] == (packets[:whole], True)


@pytest.mark.parametrize("size", [0, 3, 4, 11, 40])
def test_an_invalid_spool_is_a_format_error(spool, size):
    path = spool[0]
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(FormatError):
        SpoolReader(path)
