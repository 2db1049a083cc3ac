"""Streams over a simulated network that loses, reorders, delays and damages packets."""

import numpy as np
import pytest

from live_damage import damage
from live_network import Network
from live_run import run_live
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.live import Hello, PacketStatus, Player, RateControl, Receiver, Sender, StreamBuffer
from mocpack.testing import walk

CLIP = load_clip("cmu/49_02", COMMITTED).frames(0, 900)


def test_nothing_is_lost_where_nothing_is_lost():
    run = run_live(CLIP, Network())
    assert run.received == 1
    assert run.false == 0


@pytest.mark.parametrize(
    ("burst", "repeat", "behind", "kbits"),
    [(1, (1, 2), 2, 80), (1, (), 12, 55), (5, (3, 5), 7, 85), (5, (), 16, 55)],
)
def test_at_five_per_cent_loss_nearly_all_frames_are_shown(burst, repeat, behind, kbits):
    network = Network(seed=2, loss=0.05, burst=burst)
    run = run_live(CLIP, network, repeat=repeat, behind=behind, report_every=6)
    assert network.lost > 0.03 * network.sent
    assert run.within >= 0.99
    assert run.false == 0
    assert run.kbits <= kbits


@pytest.mark.parametrize("burst", [1, 5])
def test_reports_alone_find_what_to_repeat(burst):
    network = Network(seed=3, loss=0.05, burst=burst)
    run = run_live(CLIP, network, behind=8, report_every=12)
    assert run.within >= 0.95
    assert run.false == 0


@pytest.mark.parametrize(("burst", "kbits"), [(1, 80), (5, 120)])
def test_without_delay_every_packet_that_comes_is_shown(burst, kbits):
    network = Network(seed=4, loss=0.05, burst=burst)
    run = run_live(CLIP, network, repeat=range(1, burst + 1), report_every=6)
    lost = network.lost / network.sent
    assert lost > 0.03
    assert run.received >= 1 - lost - 0.005
    assert run.within >= run.received
    assert run.false == 0
    assert run.kbits <= kbits


def test_a_rate_is_kept_by_coarser_steps():
    free = run_live(CLIP, Network())
    rate_control = RateControl(47_000, coarsest=0.02)
    run = run_live(CLIP, Network(), rate_control=rate_control)
    assert free.kbits > 48
    assert run.kbits < 47
    assert run.errors.max() <= 0.02 * (1 + 1e-6)


def test_a_rate_that_steps_cannot_keep_takes_twist_and_then_frames():
    rate_control = RateControl(20_000, coarsest=0.02)
    sender = Sender(Hello(CLIP.header, 0.005, 5), rate_control=rate_control)
    sizes = []
    for t in range(CLIP.frame_count):
        packet = sender.send(CLIP.rotations[t], CLIP.translations[t])
        sizes.append(len(packet) + 28 if packet else 0)
    assert (sender.mode.twist, sender.mode.frame_step) == (False, 4)
    assert 8 * 120 / 300 * sum(sizes[-300:]) < 20_000


def test_no_damaged_packet_is_ever_shown():
    found = damage(CLIP.frames(0, 240), seed=6, rounds=20)
    assert found.false == 0
    assert found.packets > 4500
    assert found.answers["damaged"] > 1500
    assert found.answers["other_stream"] > 50
    assert found.answers["new"] > 500


def test_a_long_stream_neither_drifts_nor_grows():
    resource = pytest.importorskip("resource")
    clip = walk(1.0)
    sender, ends = Sender(Hello(clip.header, 0.005, 5)), []
    receiver = Receiver(sender.hello)
    order = [*range(clip.frame_count), *range(clip.frame_count - 2, 0, -1)]
    for lap in range(40):
        for t in order:
            (pose,) = receiver.receive(sender.send(clip.rotations[t], clip.translations[t]))
        assert sender.checksum() == receiver.checksum()
        np.testing.assert_array_equal(pose.rotations, sender.pose()[0])
        if lap >= 10:
            ends.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert ends[-1] - ends[0] < 2048


def test_a_store_gives_a_late_joiner_the_newest_frame_at_once():
    sender = Sender(Hello(CLIP.header, 0.005, 5), keyframe_interval=100)
    store = StreamBuffer(sender.hello)
    assert store.snapshot() is None
    always = Receiver(sender.hello)
    for t in range(350):
        packet = sender.send(CLIP.rotations[t], CLIP.translations[t])
        assert store.add(packet) is PacketStatus.NEW
        always.receive(packet)
    late = Receiver(sender.hello)
    poses = late.receive(store.snapshot())
    assert [pose.frame_number for pose in poses] == list(range(300, 350))
    assert late.checksum() == always.checksum()
    packet = sender.send(CLIP.rotations[350], CLIP.translations[350])
    assert [pose.frame_number for pose in late.receive(packet)] == [350]


def test_a_buffer_without_keyframes_stays_small_and_requests_one():
    sender = Sender(Hello(CLIP.header, 0.005, 5), keyframe_interval=10_000)
    store = StreamBuffer(sender.hello)
    for t in range(800):
        store.add(sender.send(CLIP.rotations[t], CLIP.translations[t]))
        assert store.is_ready == (t < 480)
    assert len(store._rows) <= 480
    assert store.snapshot() is None
    sender.request_keyframe()
    store.add(sender.send(CLIP.rotations[0], CLIP.translations[0]))
    assert store.is_ready
    assert [p.frame_number for p in Receiver(sender.hello).receive(store.snapshot())] == [800]


def test_a_store_that_misses_a_frame_is_ready_again_when_it_comes():
    sender = Sender(Hello(CLIP.header, 0.005, 5))
    store = StreamBuffer(sender.hello)
    packets = [sender.send(CLIP.rotations[t], CLIP.translations[t]) for t in range(10)]
    for t in (0, 1, 2, 4, 5):
        store.add(packets[t])
    assert not store.is_ready
    assert [p.frame_number for p in Receiver(sender.hello).receive(store.snapshot())] == [0, 1, 2]
    store.add(packets[3])
    assert store.is_ready


def test_a_store_checks_packets():
    sender = Sender(Hello(CLIP.header, 0.005, 5))
    store = StreamBuffer(sender.hello)
    packet = sender.send(CLIP.rotations[0], CLIP.translations[0])
    assert store.add(packet[:-1]) is PacketStatus.DAMAGED
    assert store.add(packet[:20] + b"x" + packet[21:]) is PacketStatus.DAMAGED
    assert store.add(packet) is PacketStatus.NEW
    assert store.add(packet) is PacketStatus.REDUNDANT


def test_a_player_waits_as_long_as_arrivals_spread():
    sender = Sender(Hello(CLIP.header, 0.005, 5))
    player = Player(Receiver(sender.hello))
    network = Network(seed=1, delay=0.03, jitter=0.02)
    is_exact = []
    for t in range(400):
        now = t * CLIP.header.frame_time
        network.send(sender.send(CLIP.rotations[t], CLIP.translations[t]), now)
        for came, packet in network.arrivals(now):
            player.receive(packet, came)
        pose = player.at(now)
        is_exact.append(pose is not None and pose.is_exact)
    assert player.delay == pytest.approx(0.0273, abs=0.004)
    assert 0.9 < np.mean(is_exact[100:]) <= 1
    assert pose.time == pytest.approx(now - 0.03 - player.delay, abs=0.004)


def test_a_player_without_delay_shows_the_newest_then_guesses_and_then_stays():
    sender = Sender(Hello(CLIP.header, 0.005, 5))
    player = Player(Receiver(sender.hello), delay=0.0)
    assert player.at(0.0) is None
    for t in range(50):
        player.receive(
            sender.send(CLIP.rotations[t], CLIP.translations[t]), t * CLIP.header.frame_time
        )
    assert player.at(49 * CLIP.header.frame_time).frame_number == 49
    assert player.at(49 * CLIP.header.frame_time).is_exact
    assert not player.at(51.5 * CLIP.header.frame_time).is_exact
    late, later = player.at(5.0), player.at(9.0)
    np.testing.assert_allclose(late.rotations, later.rotations, atol=1e-12)
