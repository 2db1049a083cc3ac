import numpy as np
import pytest

from mocpack import _core
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.errors import InvalidClipError, UsageError
from mocpack.live import Hello, Mode, PacketStatus, RateControl, Receiver, Report, Sender
from mocpack.model import rotations
from mocpack.model.kinematics import measure_error
from mocpack.model.skeleton import rotation_order
from mocpack.testing import hard_clips, walk
from naming import naming

WALK = walk(4.0)


def stream(clip=WALK, max_error=0.005, **options):
    sender = Sender(Hello(clip.header, max_error, 7), **options)
    frames = zip(clip.rotations, clip.translations, strict=True)
    return sender, [sender.send(*frame) for frame in frames]


def error_of(clip, poses, frames=None):
    frames = [pose.frame_number for pose in poses] if frames is None else frames
    return measure_error(
        clip.skeleton,
        (np.ascontiguousarray(clip.rotations[frames]), clip.translations[frames].copy()),
        (np.array([p.rotations for p in poses]), np.array([p.translations for p in poses])),
        clip.header.translated_joints,
    ).max


def received(receiver, packets):
    return [pose for packet in packets for pose in receiver.receive(packet)]


def rows_of(sender, packet):
    """The contents of a packet of the sender's newest frames: offset, intra flag, bytes."""
    return _core.live_unpack(sender.hello.checksum, packet, (sender.frame_count - 1, 0))[4]


@pytest.mark.parametrize("bound", [0.0005, 0.005, 0.05])
def test_every_frame_keeps_the_bound(bound):
    clip = load_clip("cmu/49_02", COMMITTED).frames(200, 440)
    sender, packets = stream(clip, bound)
    poses = received(Receiver(sender.hello.to_bytes()), packets)
    assert [pose.frame_number for pose in poses] == list(range(240))
    assert error_of(clip, poses) <= bound * (1 + 1e-6)


def test_the_sender_knows_the_error_of_each_frame():
    sender = Sender(Hello(WALK.header, 0.005, 7))
    receiver = Receiver(sender.hello)
    for t in range(60):
        (pose,) = receiver.receive(sender.send(WALK.rotations[t], WALK.translations[t]))
        assert sender.error == pytest.approx(error_of(WALK, [pose]), abs=2e-7)


@pytest.mark.parametrize("name", [n for n, c in hard_clips().items() if len(c.skeleton.roots) == 1])
def test_hard_clips_keep_the_bound(name):
    clip = hard_clips()[name]
    sender, packets = stream(clip)
    poses = received(Receiver(sender.hello.to_bytes()), packets)
    assert len(poses) == clip.frame_count
    assert error_of(clip, poses) <= 0.005 * (1 + 1e-6)


def test_both_ends_hold_the_same_numbers_after_every_frame():
    sender = Sender(Hello(WALK.header, 0.005, 7), keyframe_interval=50)
    receiver = Receiver(sender.hello.to_bytes())
    for local, places in zip(WALK.rotations, WALK.translations, strict=True):
        (pose,) = receiver.receive(sender.send(local, places))
        assert sender.checksum() == receiver.checksum()
        np.testing.assert_array_equal(pose.rotations, sender.pose()[0])


def test_joints_with_few_axes_stay_on_them():
    clip = hard_clips()["joints with fewer axes"]
    sender, packets = stream(clip)
    poses = received(Receiver(sender.hello.to_bytes()), packets)
    for j, channels in enumerate(clip.skeleton.channels):
        turning = rotation_order(channels)[0]
        if len(turning) == 1:
            axis = rotations.rotate(clip.skeleton.axes[j], np.eye(3)["XYZ".index(turning)])
            across = np.cross(np.array([p.rotations[j, :3] for p in poses]), axis)
            assert np.abs(across).max() < 1e-9
        elif not turning:
            assert all((p.rotations[j] == rotations.IDENTITY).all() for p in poses)


def test_a_jump_becomes_a_keyframe():
    clip = WALK
    sender = Sender(Hello(clip.header, 0.005, 7))
    receiver = Receiver(sender.hello)
    receiver.receive(sender.send(clip.rotations[0], clip.translations[0]))
    turned = rotations.multiply(np.array([0.0, 1.0, 0.0, 0.0]), clip.rotations[5])
    (pose,) = receiver.receive(sender.send(turned, clip.translations[5] + 40))
    off = np.abs(pose.translations - clip.translations[5] - 40).max()
    assert off < 0.005
    assert rotations.angle_between(pose.rotations, turned).max() < 0.4


def test_an_invalid_pose_is_refused_and_the_stream_continues():
    sender = Sender(Hello(WALK.header, 0.005, 7))
    receiver = Receiver(sender.hello)
    receiver.receive(sender.send(WALK.rotations[0], WALK.translations[0]))
    with pytest.raises(InvalidClipError, match="frame 1"):
        sender.send(np.full_like(WALK.rotations[0], np.nan), WALK.translations[0])
    (pose,) = receiver.receive(sender.send(WALK.rotations[1], WALK.translations[1]))
    assert error_of(WALK, [pose]) <= 0.005 * (1 + 1e-6)


@pytest.mark.parametrize("start", [0.0, 1e6, 1.8e9])
def test_times_are_those_of_the_sender(start):
    sender = Sender(Hello(WALK.header, 0.005, 7), keyframe_interval=10)
    receiver = Receiver(sender.hello)
    clock = np.cumsum(np.random.default_rng(1).uniform(0.004, 0.02, 100)) + start
    for t, now in enumerate(clock):
        (pose,) = receiver.receive(sender.send(WALK.rotations[t], WALK.translations[t], now))
        assert pose.time == pytest.approx(now, abs=2.6e-4)


def test_a_duplicate_changes_nothing():
    sender, packets = stream()
    receiver = Receiver(sender.hello)
    for packet in packets[:20]:
        receiver.receive(packet)
        assert receiver.receive(packet) == []
    assert receiver.counts == {PacketStatus.NEW: 20, PacketStatus.REDUNDANT: 20}
    assert [p.frame_number for p in receiver.receive(packets[20])] == [20]


def test_a_late_packet_does_not_lose_the_stream():
    sender, packets = stream(repeat=(1,))
    receiver = Receiver(sender.hello)
    poses = received(receiver, [*packets[:5], *packets[6:9], packets[5], *packets[9:12]])
    assert [pose.frame_number for pose in poses] == list(range(12))
    assert receiver.counts[PacketStatus.REDUNDANT] == 1


def test_packets_out_of_order_are_put_in_order():
    sender, packets = stream()
    receiver = Receiver(sender.hello)
    order = [0, 1, 3, 2, 6, 5, 4, 7]
    poses = received(receiver, [packets[t] for t in order])
    assert [pose.frame_number for pose in poses] == list(range(8))
    assert error_of(WALK, poses) <= 0.005 * (1 + 1e-6)


def test_a_lost_packet_costs_nothing_where_the_next_repeats_it():
    sender, packets = stream(repeat=(1,))
    receiver = Receiver(sender.hello)
    poses = received(receiver, [p for t, p in enumerate(packets) if t % 3 != 1])
    assert [pose.frame_number for pose in poses] == list(range(240))


def test_a_lost_packet_loses_frames_up_to_the_next_keyframe():
    sender, packets = stream(keyframe_interval=30)
    receiver = Receiver(sender.hello, patience=4)
    poses = received(receiver, packets[:40] + packets[41:])
    assert [p.frame_number for p in poses] == [t for t in range(240) if not 40 <= t < 60]
    assert error_of(WALK, poses) <= 0.005 * (1 + 1e-6)


def test_a_late_receiver_waits_for_a_keyframe():
    sender, packets = stream(keyframe_interval=30)
    receiver = Receiver(sender.hello)
    assert received(receiver, packets[10:30]) == []
    assert receiver.counts == {PacketStatus.NEEDS_KEYFRAME: 20}
    assert receiver.predict() is None
    assert [p.frame_number for p in received(receiver, packets[30:32])] == [30, 31]


@pytest.mark.parametrize("gap", [1, 2, 127, 128, 129, 255, 256, 4096, 65535, 65536, 65537, 131072])
def test_a_gap_of_any_length_is_recognized(gap):
    """The sender's frame numbers continue; after the gap only keyframes are accepted."""
    sender, packets = stream(keyframe_interval=1000)
    check = sender.hello.checksum
    later = []
    for t in range(20, 40):
        _, number, time, full, rows = _core.live_unpack(check, packets[t], (t, 0))
        later.append(_core.live_pack(check, number + gap, time, full, rows))
    receiver = Receiver(sender.hello, patience=0)
    assert len(received(receiver, packets[:20])) == 20
    assert received(receiver, later) == []
    assert receiver.waiting or gap >= 32768
    sender.request_keyframe()
    whole = sender.send(WALK.rotations[9], WALK.translations[9])
    _, number, time, _, rows = _core.live_unpack(check, whole, None)
    (pose,) = receiver.receive(_core.live_pack(check, number + gap, time, True, rows))
    assert pose.frame_number == number + gap
    assert error_of(WALK, [pose], [9]) <= 0.005 * (1 + 1e-6)


def test_a_restarted_sender_is_recognized():
    first, packets = stream(WALK)
    second = Sender(Hello(WALK.header, 0.005, 8))
    receiver = Receiver(first.hello)
    received(receiver, packets[:5])
    again = [second.send(WALK.rotations[t], WALK.translations[t]) for t in range(5)]
    assert received(receiver, again) == []
    assert receiver.counts[PacketStatus.OTHER_STREAM] == 5
    assert [p.frame_number for p in receiver.receive(packets[5])] == [5]


def test_a_receiver_with_another_bound_is_recognized():
    _sender, packets = stream(max_error=0.005)
    other = Receiver(Hello(WALK.header, 0.006, 7))
    assert received(other, packets) == []
    assert other.counts[PacketStatus.OTHER_STREAM] == len(packets)


def test_an_id_that_is_equal_by_chance_is_caught_by_the_checksum():
    _sender, packets = stream()
    receiver = Receiver(Hello(WALK.header, 0.006, 7))
    wrong = receiver.hello.checksum & 0xFFFF
    forged = [p[:1] + wrong.to_bytes(2, "little") + p[3:] for p in packets]
    assert received(receiver, forged) == []
    assert receiver.counts[PacketStatus.DAMAGED] + receiver.counts[
        PacketStatus.NEEDS_KEYFRAME
    ] == len(packets)


def test_every_single_flipped_bit_is_noticed():
    sender, packets = stream(repeat=(1,))
    for chosen in (0, 1, 7):
        for bit in range(8 * len(packets[chosen])):
            receiver = Receiver(sender.hello)
            received(receiver, packets[:chosen])
            bad = bytearray(packets[chosen])
            bad[bit // 8] ^= 1 << bit % 8
            assert receiver.receive(bytes(bad)) == []
            assert not receiver.counts[PacketStatus.NEW] - chosen


def test_rows_of_any_bytes_with_a_good_checksum_do_no_harm():
    """Packets of a hostile sender decode to some pose or to none."""
    sender, packets = stream()
    rng = np.random.default_rng(8)
    for trial in range(400):
        receiver = Receiver(sender.hello, patience=0)
        first = trial % 2 == 0
        if not first:
            receiver.receive(packets[0])
        data = rng.integers(0, 256, rng.integers(1, 300), np.uint8).tobytes()
        if first:
            data = b"\x88\x27\x01\x08" + data
        rows = [(0, first, data)]
        packet = _core.live_pack(sender.hello.checksum, 1, 0, True, rows)
        for pose in receiver.receive(packet):
            assert np.isfinite(pose.rotations).all()
            assert np.isfinite(pose.translations).all()


def test_an_extrapolated_pose_continues_the_motion_and_is_marked():
    clip = load_clip("cmu/49_02", COMMITTED).frames(200, 300)
    sender, packets = stream(clip)
    receiver = Receiver(sender.hello)
    received(receiver, packets[:60])
    predict = receiver.predict(2)
    assert (predict.frame_number, predict.is_exact) == (61, False)
    held = receiver.last
    assert error_of(clip, [predict]) < error_of(clip, [held], [61])


def test_the_bound_can_change_at_keyframes():
    clip = load_clip("cmu/49_02", COMMITTED).frames(200, 440)
    sender = Sender(Hello(clip.header, 0.005, 7))
    receiver = Receiver(sender.hello)
    sizes = {0.005: 0, 0.02: 0}
    for t in range(240):
        bound = 0.005 if t < 120 else 0.02
        sender.mode = Mode(bound)
        packet = sender.send(clip.rotations[t], clip.translations[t])
        sizes[bound] += len(packet)
        (pose,) = receiver.receive(packet)
        assert receiver.max_error == bound
        assert error_of(clip, [pose]) <= bound * (1 + 1e-6)
    assert sizes[0.02] < 0.85 * sizes[0.005]


def test_without_twist_joints_stay_within_the_bound():
    clip = load_clip("cmu/49_02", COMMITTED).frames(200, 440)
    sender = Sender(Hello(clip.header, 0.005, 7))
    sender.mode = Mode(0.005, twist=False)
    receiver = Receiver(sender.hello)
    packets = [sender.send(*f) for f in zip(clip.rotations, clip.translations, strict=True)]
    poses = received(receiver, packets)
    found = measure_error(
        clip.skeleton,
        (clip.rotations, clip.translations),
        (np.array([p.rotations for p in poses]), np.array([p.translations for p in poses])),
        clip.header.translated_joints,
    )
    assert found.joint_max <= 0.005 * (1 + 1e-6)
    assert sum(map(len, packets)) < sum(map(len, stream(clip)[1]))


def test_half_the_frames_can_be_left_out():
    sender = Sender(Hello(WALK.header, 0.005, 7))
    sender.mode = Mode(0.005, frame_step=2)
    receiver = Receiver(sender.hello)
    sent = [sender.send(*f) for f in zip(WALK.rotations, WALK.translations, strict=True)]
    assert [packet is None for packet in sent[:6]] == [False, True, False, True, False, True]
    poses = received(receiver, [packet for packet in sent if packet])
    assert receiver.frame_step == 2
    assert poses[3].time == pytest.approx(6 * WALK.header.frame_time, abs=3e-4)
    assert error_of(WALK, poses, [2 * p.frame_number for p in poses]) <= 0.005 * (1 + 1e-6)


def test_reports_determine_which_frames_are_repeated():
    sender, packets = stream()
    receiver = Receiver(sender.hello, patience=2)
    received(receiver, [p for t, p in enumerate(packets) if t % 20 not in (7, 8, 9)])
    report = receiver.report()
    assert report.loss == pytest.approx(0.15, abs=0.02)
    assert report.burst == 3
    sender.apply_report(report)
    assert sender.repeat == (1, 2, 3)


def test_the_first_packet_after_a_run_fills_the_gap():
    sender, packets = stream(repeat=(1, 2, 3, 4, 5))
    receiver = Receiver(sender.hello, patience=0)
    received(receiver, packets[:100])
    assert [p.frame_number for p in receiver.receive(packets[105])] == list(range(100, 106))


def test_initial_repeats_stay_until_a_thousand_frames_show_that_nothing_is_lost():
    sender = Sender(Hello(WALK.header, 0.005, 7), repeat=(1, 2))
    for t in range(1000):
        assert sender.repeat == (1, 2)
        k = t % WALK.frame_count
        sender.send(WALK.rotations[k], WALK.translations[k])
        sender.apply_report(Report(newest=t, patience=1))
    assert sender.repeat == ()


def test_a_guess_after_a_leap_does_not_fly_on():
    far = WALK.translations[20] + 40
    sender = Sender(Hello(WALK.header, 0.005, 7))
    receiver = Receiver(sender.hello)
    for t in range(20):
        receiver.receive(sender.send(WALK.rotations[t], WALK.translations[t]))
    (pose,) = receiver.receive(sender.send(WALK.rotations[20], far))
    assert np.abs(receiver.predict(5).translations - pose.translations).max() < 0.5


def test_a_report_brings_missing_frames_again():
    sender, packets = stream()
    receiver = Receiver(sender.hello)
    received(receiver, [*packets[:230], *packets[232:]])
    assert receiver.report().missing[:2] == (230, 231)
    sender.apply_report(Report(0.0, 0, receiver.report().missing))
    poses = receiver.receive(sender.send(WALK.rotations[0], WALK.translations[0]))
    assert [p.frame_number for p in poses] == list(range(230, 241))


def test_a_receiver_without_the_first_packet_asks_for_a_keyframe():
    sender, packets = stream()
    receiver = Receiver(sender.hello)
    assert not receiver.report().lost
    assert received(receiver, packets[1:5]) == []
    assert receiver.report().lost
    sender.apply_report(receiver.report())
    (pose,) = receiver.receive(sender.send(WALK.rotations[0], WALK.translations[0]))
    assert pose.frame_number == 240


def test_nothing_is_repeated_for_a_receiver_that_waits_for_retransmissions():
    sender, _ = stream(repeat=(1, 2))
    sender.apply_report(Report(0.05, 1, newest=sender.frame_count - 3, patience=12))
    assert sender.repeat == ()
    sender.apply_report(Report(0.05, 1, newest=sender.frame_count - 3, patience=2))
    assert sender.repeat == (1, 2)
    sender.apply_report(Report(0.05, 1, newest=sender.frame_count - 30, patience=12))
    assert sender.repeat == (1, 2)


@pytest.mark.parametrize(("kbits", "repeat"), [(50, (5,)), (60, (3, 5)), (80, (1, 2, 3, 4, 5))])
def test_repeats_use_the_remaining_bit_rate_and_coarsen_no_frame(kbits, repeat):
    clip = load_clip("cmu/79_17", COMMITTED).frames(0, 600)  # 44 kbit/s without repeats
    sender = Sender(clip.header, rate_control=RateControl(1000 * kbits), repeat=(1, 2, 3))
    size = 0
    for t in range(clip.frame_count):
        size += len(sender.send(clip.rotations[t], clip.translations[t])) + 28
        sender.apply_report(Report(0.05, 5, newest=t, patience=1))
        assert sender.mode == Mode(0.005)
    assert 8 * size <= 1000 * kbits * clip.frame_count * clip.header.frame_time
    assert sender.repeat == repeat


def test_initial_repeats_keep_the_bit_rate_too():
    clip = load_clip("cmu/79_17", COMMITTED).frames(0, 600)
    sender = Sender(clip.header, rate_control=RateControl(50_000), repeat=(1, 2, 3))
    packets = [sender.send(*f) for f in zip(clip.rotations, clip.translations, strict=True)]
    size = sum(len(packet) + 28 for packet in packets)
    assert 8 * size <= 50_000 * clip.frame_count * clip.header.frame_time
    assert sender.mode == Mode(0.005)


def test_rows_that_follow_one_another_need_no_offsets():
    sender, packets = stream(repeat=(1, 2))
    for packet, expected in ((packets[5], 7 + 2 + 4), (packets[200], 7 + 2 + 4)):
        rows = rows_of(sender, packet)
        assert [row[0] for row in rows] == [0, 1, 2]
        assert len(packet) == expected + sum(len(row[2]) for row in rows)
    sender, packets = stream(repeat=(3, 6))
    rows = rows_of(sender, packets[20])
    assert [row[0] for row in rows] == [0, 3, 6]
    assert len(packets[20]) == 7 + 6 + 4 + sum(len(row[2]) for row in rows)


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 40])
def test_any_number_of_rows_is_read_as_it_was_written(count):
    rows = [(k, k % 3 == 0, bytes([k]) * (k * 7 % 90)) for k in range(count)]
    packet = _core.live_pack(77, 70000, 5_000_000, True, rows)
    assert _core.live_unpack(77, packet, None) == (PacketStatus.NEW, 70000, 5_000_000, True, rows)


def test_frames_that_wait_behind_a_gap_are_not_reported_missing():
    _, packets = stream()
    receiver = Receiver(stream()[0].hello)
    received(receiver, [*packets[:50], packets[52], packets[53], packets[56]])
    assert receiver.report().missing == (50, 51, 54, 55)


@pytest.mark.parametrize("offsets", [(0,), (64,), (-1,)])
def test_repeats_out_of_range_are_named(offsets):
    with pytest.raises(UsageError, match=naming("1 63")):
        Sender(WALK.header, repeat=offsets)


def test_arrays_of_another_skeleton_are_refused():
    with pytest.raises(ValueError, match=naming("rotations (J, 4) translations (M, 3)")):
        Sender(WALK.header).send(WALK.rotations[0, :5], WALK.translations[0])
