import numpy as np
import pytest

from mocpack import Clip, live, rotations
from mocpack.codecs.kinematic.ik_predict import IkPredict
from mocpack.errors import FormatError
from mocpack.testing import hard_clips, walk

WALK = walk(2.0)
CODEC = IkPredict(intra=30)


def sent(clip, codec=CODEC, **known):
    encoder = live.Encoder(clip.header, codec, **known)
    frames = zip(clip.rotations, clip.translations, strict=True)
    return [encoder.encode(*frame) for frame in frames]


def off_by(pose, clip, frame):
    return rotations.angle_between(pose[0], clip.rotations[frame]).max()


def test_frames_come_back_one_by_one():
    decoder = live.Decoder(WALK.header, CODEC)
    for frame, packet in enumerate(sent(WALK)):
        pose = decoder.decode(packet)
        assert off_by(pose, WALK, frame) < 0.2
        assert np.abs(pose[1] - WALK.translations[frame]).max() < 0.001


def test_both_sides_hold_the_same_numbers_after_every_frame():
    encoder, decoder = live.Encoder(WALK.header, CODEC), live.Decoder(WALK.header, CODEC)
    for local, places in zip(WALK.rotations, WALK.translations, strict=True):
        decoder.decode(encoder.encode(local, places))
        for a, b in zip(encoder.decoded(), decoder.decoded(), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_lost_packet_costs_the_frames_up_to_the_next_intra_frame():
    packets = sent(WALK)
    decoder = live.Decoder(WALK.header, CODEC)
    poses = [decoder.decode(p) if t != 40 else None for t, p in enumerate(packets)]
    assert [t for t, pose in enumerate(poses) if pose is None] == list(range(40, 60))
    assert off_by(poses[-1], WALK, -1) < 0.2


def test_packets_out_of_order_wait_too():
    packets = sent(WALK)
    decoder = live.Decoder(WALK.header, CODEC)
    order = [0, 1, 3, 2, 4, *range(30, 40)]
    poses = [decoder.decode(packets[t]) for t in order]
    assert [pose is None for pose in poses] == [False, False, True, True, True] + [False] * 10


def test_who_joins_late_waits_for_an_intra_frame():
    packets = sent(WALK)
    decoder = live.Decoder(WALK.header, CODEC)
    assert decoder.decode(packets[10]) is None
    assert decoder.waiting
    assert decoder.decode(packets[30]) is not None
    assert not decoder.waiting


def test_a_receiver_can_ask_for_an_intra_frame():
    encoder = live.Encoder(WALK.header, IkPredict())
    frames = list(zip(WALK.rotations, WALK.translations, strict=True))
    encoder.encode(*frames[0])
    encoder.encode(*frames[1])
    encoder.restart()
    assert live.Decoder(WALK.header, IkPredict()).decode(encoder.encode(*frames[2])) is not None


def test_twist_can_be_cut_off_on_the_way():
    packets = sent(WALK)
    whole, part = live.Decoder(WALK.header, CODEC), live.Decoder(WALK.header, CODEC)
    shorter = [live.without_twist(p) for p in packets]
    assert sum(map(len, shorter)) < sum(map(len, packets))
    bodies = whole._stream.bodies
    for packet, short in zip(packets, shorter, strict=True):
        whole.decode(packet)
        part.decode(short)
        a, b = (rotations.rotate(d.decoded()[0], bodies.axes) for d in (whole, part))
        np.testing.assert_allclose(a, b, atol=1e-8)


def test_twist_that_was_missed_once_is_ignored_until_the_next_intra_frame():
    packets = sent(WALK)
    whole, part = live.Decoder(WALK.header, CODEC), live.Decoder(WALK.header, CODEC)
    for t, packet in enumerate(packets):
        whole.decode(packet)
        part.decode(live.without_twist(packet) if t == 10 else packet)
        same = np.array_equal(whole.decoded()[0], part.decoded()[0])
        assert same == (t not in range(10, 30))


def test_what_is_known_to_be_still_costs_nothing():
    local = WALK.rotations.copy()
    ends = [
        WALK.skeleton.index(f"{side}{part}")
        for side in ("Left", "Right")
        for part in ("Hand", "Toe")
    ]
    local[:, ends] = local[:1, ends]
    clip = Clip(WALK.header, local, WALK.translations)
    known = live.still_of(clip)
    packets = sent(clip, still=known)
    assert sum(map(len, packets)) < sum(map(len, sent(clip)))
    decoder = live.Decoder(clip.header, CODEC, still=known)
    pose = [decoder.decode(p) for p in packets][-1]
    assert off_by(pose, clip, -1) < 0.2
    np.testing.assert_allclose(pose[0][ends], local[0, ends], atol=1e-12)


def test_hinges_stay_hinges():
    clip = hard_clips()["joints with fewer axes"]
    decoder = live.Decoder(clip.header, CODEC)
    for packet in sent(clip):
        pose = decoder.decode(packet)
    np.testing.assert_array_equal(pose[0][3], rotations.IDENTITY)


@pytest.mark.parametrize("kind", ["intra", "other"])
def test_damaged_packets_are_format_errors_or_poses(kind):
    packets = sent(WALK)
    rng = np.random.default_rng(4)
    for _ in range(200):
        decoder = live.Decoder(WALK.header, CODEC)
        if kind == "other":
            decoder.decode(packets[0])
        bad = bytearray(packets[0 if kind == "intra" else 1])
        bad[rng.integers(1, len(bad))] ^= 1 << rng.integers(8)
        cut = bytes(bad[: rng.integers(1, len(bad) + 1)])
        try:
            pose = decoder.decode(cut)
        except FormatError:
            assert decoder.waiting
        else:
            assert pose is None or np.isfinite(pose[0]).all()
