"""The native window writer gives the frames of the decoder, and requests no others."""

from types import SimpleNamespace

import numpy as np
import pytest

import mocpack
from mocpack.codec import Payload
from mocpack.codecs.keysine.codec import Keysine
from mocpack.corpora.features import window_plan
from mocpack.errors import CorruptionError, TruncatedError
from mocpack.testing import walk
from naming import naming
from robots import hinged_motion, hinged_skeleton
from takes import take

PLAIN = ("quaternion", "translations")


def opened(clip, **params):
    return mocpack.open(mocpack.encode(clip, Keysine(**{"effort": "fast", **params})))


def window(motion, start, stop, features=PLAIN, **options):
    plan = window_plan(motion.header, features, **options)
    out = np.full((stop - start, plan.width), np.nan, np.float32)
    motion.window_writer.write(plan, start, stop, out)
    return out


def rows_of(motion, start, stop):
    turns, places = motion.arrays(start, stop)
    count = stop - start
    return np.concatenate([turns.reshape(count, -1), places.reshape(count, -1)], 1)


@pytest.fixture(scope="module")
def made():
    clip = walk(4.0, seed=3)
    return {
        "transform": opened(clip, max_error="5mm"),
        "tight": opened(clip, max_error="0.5mm"),
        "grid": opened(clip, max_error="0.2mm", mode="grid", effort="default"),
        "layers": opened(clip, max_error="1mm", layers=2),
        "shared references": opened(clip, max_error="1mm", layers=2, effort="default"),
        "short groups": opened(clip, max_error="5mm", group_seconds=0.1),
        "one frame": opened(clip[0:1], max_error="5mm"),
    }


@pytest.mark.parametrize(
    "kind",
    ["transform", "tight", "grid", "layers", "shared references", "short groups", "one frame"],
)
def test_windows_anywhere_are_the_frames_themselves_in_single_precision(made, kind):
    motion, chance = made[kind], np.random.default_rng(5)
    count = len(motion)
    spans = [(0, count), (0, 1), (count - 1, count)]
    spans += [tuple(sorted(chance.choice(count + 1, 2, replace=False))) for _ in range(20)]
    for start, stop in spans if count > 1 else spans[:1]:
        expected = rows_of(motion, int(start), int(stop))
        found = window(motion, int(start), int(stop))
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("features", [["space"], ["times"], ["roots", "rest", "names"], ["hinges"]])
def test_takes_that_hold_more_give_the_frames_of_their_clips(features):
    made = (
        take(features, frames=60) if features != ["hinges"] else hinged_motion(hinged_skeleton(2))
    )
    with mocpack.open(mocpack.encode(made, Keysine(max_error=1e-3, effort="fast"))) as motion:
        found, clip = window(motion, 7, 31), motion[7:31]
    joints = len(clip.skeleton)
    turns = found[:, : 4 * joints].reshape(24, joints, 4)
    dots = np.abs((turns * np.asarray(clip.rotations)).sum(-1))
    np.testing.assert_allclose(dots, 1.0, atol=1e-5)
    places = np.asarray(clip.translations).reshape(24, -1)
    np.testing.assert_allclose(found[:, 4 * joints :], places, atol=1e-5)


def test_a_part_of_the_frames_is_decoded_as_the_whole_is(made):
    for motion in made.values():
        turns, places = motion.arrays(0, len(motion))
        start, stop = len(motion) // 3, max(1, len(motion) * 2 // 3)
        part = motion.arrays(start, stop)
        np.testing.assert_allclose(part[0], turns[start:stop], atol=1e-12)
        np.testing.assert_allclose(part[1], places[start:stop], atol=1e-12)


def test_rotations_alone_are_the_first_columns_of_a_row(made):
    motion = made["transform"]
    both, alone = window(motion, 40, 90), window(motion, 40, 90, ("quaternion",))
    np.testing.assert_array_equal(alone, both[:, : alone.shape[1]])


def test_mirrored_windows_and_features_come_by_way_of_doubles(made):
    motion = made["transform"]
    clip = motion[30:80].mirror()
    found = window(motion, 30, 80, ("positions",), mirror=True)
    np.testing.assert_allclose(found, clip.positions().reshape(50, -1), atol=1e-5)


def test_turns_beyond_what_floats_are_used_for_keep_their_precision():
    clip = walk(2.0, seed=1)
    angle = np.linspace(0, 2 * np.pi, len(clip))
    spin = np.stack([np.sin(angle / 2), 0 * angle, 0 * angle, np.cos(angle / 2)], 1)
    turns = np.array(clip.rotations)
    turns[:, 5] = spin
    motion = opened(clip.replace(rotations=turns), max_error="1mm")
    found = window(motion, 10, 110)
    np.testing.assert_allclose(found, rows_of(motion, 10, 110), atol=1e-6)


def writer_of(motion, read):
    """Return a window writer for a motion whose payload comes from `read`."""
    size = motion._reader.payload.size
    source = SimpleNamespace(size=size, data=None, start=b"", read=read)
    return motion.codec.open(Payload(source, 0, size), motion.header).window_writer()


def test_only_the_bytes_of_the_window_are_read(made):
    motion = made["transform"]
    asked = []
    read = motion._reader.payload.read
    writer = writer_of(motion, lambda at, size: asked.append(size) or read(at, size))
    asked.clear()
    plan = window_plan(motion.header, PLAIN)
    out = np.empty((10, plan.width), np.float32)
    writer.write(plan, 5, 15, out)
    first = sum(asked)
    asked.clear()
    writer.write(plan, 15, 25, out)
    assert 0 < sum(asked) < first < motion._reader.payload.size / 2


def test_frames_that_are_not_there_are_refused(made):
    for start, stop in ((0, 10**6), (5, 5), (7, 3)):
        motion = made["transform"]
        plan = window_plan(motion.header, PLAIN)
        out = np.empty((3, plan.width), np.float32)
        with pytest.raises(ValueError, match=naming("frames")):
            motion.window_writer.write(plan, start, stop, out)


def test_a_plan_of_another_skeleton_is_refused(made):
    plan = window_plan(walk(1.0).joints([0, 1]).header, PLAIN)
    with pytest.raises(ValueError, match=naming("skeleton")):
        made["transform"].window_writer.write(plan, 0, 3, np.empty((3, plan.width), np.float32))


def test_damaged_groups_are_corrupt_and_short_reads_truncated(made):
    motion = made["transform"]
    plan = window_plan(motion.header, PLAIN)
    out = np.empty((100, plan.width), np.float32)
    read, groups = motion._reader.payload.read, motion.decoder.byte_ranges(0, 100)[-1]

    def flipped(at, size):
        data = bytearray(read(at, size))
        if at == groups[0]:
            data[size // 2] ^= 0x40
        return bytes(data)

    writer = writer_of(motion, flipped)
    with pytest.raises(CorruptionError, match="keysine group"):
        writer.write(plan, 0, 100, out)
    writer = writer_of(motion, lambda at, size: read(at, size)[: size - (at == groups[0])])
    with pytest.raises(TruncatedError):
        writer.write(plan, 0, 100, out)
