"""Rows of a motion library: rounding to 16 bits, and limits of joints."""

import numpy as np
import pytest

import mocpack
from archives import write_archive
from mocpack import _core
from mocpack.errors import FormatError
from mocpack.testing import walk
from mocpack.trainers import MotionLibrary
from mocpack.trainers.rows import REPORT
from mocpack.trainers.skeletons import ANGLE, LENGTH, PLAIN, TURN

KINDS = [PLAIN, PLAIN, PLAIN, TURN, TURN, TURN, TURN, ANGLE, LENGTH]


def store(rows, *, are_halves, kinds=KINDS, low=-np.inf, high=np.inf):
    """Return the stored words of rows and their report."""
    width = rows.shape[1]
    layout = _core.RowLayout(
        columns=np.arange(width, dtype=np.int32),
        kinds=np.array(kinds, np.int32),
        low=np.broadcast_to(np.float32(low), width).copy(),
        high=np.broadcast_to(np.float32(high), width).copy(),
    )
    words = np.zeros(rows.size, np.uint16 if are_halves else np.float32)
    reports = np.zeros(1, REPORT)
    target = _core.RowStore(
        words=words.view(np.uint8),
        are_halves=are_halves,
        reports=reports.view(np.uint8).reshape(1, -1),
    )
    target.write(layout, 0, 0, np.ascontiguousarray(rows, np.float32))
    return words.reshape(rows.shape), reports[0]


def every_half():
    """Return all finite halves, the middles between them, and the floats beside these middles."""
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    middles = (halves[:-1] + halves[1:]) / 2
    beside = [np.nextafter(middles, np.float32(to)) for to in (-np.inf, np.inf)]
    extreme = np.array([0, 1e-9, 65519, 65520, 1e6, np.inf], np.float32)
    found = np.concatenate([halves, middles, *beside, extreme])
    return np.concatenate([found, -found])


def test_16_bit_numbers_are_the_nearest_halves():
    values = every_half()
    rows = np.zeros((len(values), 9), np.float32)
    rows[:, 8] = values
    words, _ = store(rows, are_halves=True)
    with np.errstate(over="ignore"):
        assert (words[:, 8] == values.astype(np.float16).view(np.uint16)).all()


def test_positions_of_the_root_are_whole_steps_within_the_clip():
    rng = np.random.default_rng(0)
    rows = np.zeros((500, 9))
    rows[:, :3] = rng.uniform([-40, 3, 0.7], [-30, 4, 0.9], (500, 3))
    rows = rows.astype(np.float32)
    words, report = store(rows, are_halves=True)
    found = report["origin"] + report["step"] * words[:, :3].view(np.int16)
    errors = np.linalg.norm(found - rows[:, :3], axis=1)
    assert report["step"] == pytest.approx(np.ptp(rows[:, :3], axis=0).max() / 65534)
    assert report["errors"][0] == pytest.approx(errors.max(), rel=0.01)
    assert errors.max() < np.sqrt(3) / 2 * report["step"] + 4e-6


def test_errors_are_the_largest_of_angles_rotations_and_lengths():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(50, 9)).astype(np.float32)
    words, report = store(rows, are_halves=True)
    apart = np.abs(words[:, 3:].view(np.float16).astype(np.float32) - rows[:, 3:])
    turn, angle, length = np.linalg.norm(apart[:, :4], axis=1), apart[:, 4], apart[:, 5]
    expected = max(angle.max(), 2 * turn.max()), length.max()
    assert report["errors"][1:] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("are_halves", [False, True])
def test_numbers_beyond_the_limits_are_reported(are_halves):
    rows = np.zeros((20, 9))
    rows[7, 7] = 1.5
    for low, high, expected in ((-2, 1.5, 0), (-2, 1.4, 1), (0, 1.5, 0), (0.1, 2, 1)):
        words, report = store(rows, are_halves=are_halves, low=low, high=high)
        assert report["is_beyond"] == expected
    if not are_halves:
        assert (words == rows).all()


def test_rows_without_their_place_in_the_store_are_refused():
    layout = _core.RowLayout(
        columns=np.arange(9, dtype=np.int32),
        kinds=np.array(KINDS, np.int32),
        low=np.zeros(9, np.float32),
        high=np.zeros(9, np.float32),
    )
    reports = np.zeros((1, REPORT.itemsize), np.uint8)
    target = _core.RowStore(words=np.zeros(72, np.uint8), are_halves=False, reports=reports)
    target.write(layout, 0, 0, np.zeros((2, 9), np.float32))
    for clip, first, count in ((1, 0, 1), (0, 1, 2), (0, 0, 3), (0, 100, 1)):
        with pytest.raises(ValueError, match="place"):
            target.write(layout, clip, first, np.zeros((count, 9), np.float32))


def test_clips_of_one_skeleton_may_differ_in_codec_and_length(tmp_path):
    clips = [walk(0.5 + 0.1 * k, seed=k) for k in range(80)]
    encoded = {
        f"walk{k:02d}": mocpack.encode(clip, codec="lossless")
        if k % 7 == 3
        else mocpack.encode(clip, max_error="2mm", effort="fast")
        for k, clip in enumerate(clips)
    }
    library = MotionLibrary(write_archive(tmp_path / "mixed.mocps", encoded), "cpu")
    assert library.frame_counts.tolist() == [clip.frame_count for clip in clips]
    last = library.frames(np.arange(80), library.frame_counts - 1)
    for k, data in enumerate(encoded.values()):
        expected = mocpack.decode(data).world()[0][-1]
        placed = np.stack([expected[:, 0], -expected[:, 2], expected[:, 1]], axis=1)
        assert last.positions[k] == pytest.approx(placed, abs=1e-5)


def test_a_damaged_clip_is_named(tmp_path):
    clips = {f"walk{k}": mocpack.encode(walk(1.0, seed=k), max_error="2mm") for k in range(3)}
    path = write_archive(tmp_path / "damaged.mocps", clips)
    whole = bytearray(path.read_bytes())
    middle = clips["walk1"][-200:-100]
    at = bytes(whole).index(middle)
    whole[at : at + 100] = bytes(100)
    path.write_bytes(whole)
    with pytest.raises(FormatError, match="walk1"):
        MotionLibrary(path, "cpu")
