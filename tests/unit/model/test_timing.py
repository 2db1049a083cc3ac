"""Clips cut in seconds, played at another speed, and closed to loops."""

import numpy as np
import pytest

from mocpack import Track
from mocpack.errors import UsageError
from mocpack.model import rotations
from mocpack.testing import walk
from naming import naming


def seam(clip):
    """Return how far joints jump from the last frame to the first, beyond their last step."""
    positions = clip.positions()
    step = positions[-1] - positions[-2]
    return float(np.linalg.norm(positions[0] - positions[-1] - step, axis=1).max())


def test_a_cut_in_seconds_counts_from_the_first_frame():
    clip = walk(2.0, frame_rate=60).replace(start_time=100.0)
    part = clip.cut(0.5, 1.0)
    np.testing.assert_array_equal(part.rotations, clip.rotations[30:60])
    assert part.start_time == 100.5


def test_a_cut_in_seconds_follows_uneven_times():
    clip = walk(1.0, frame_rate=4).replace(times=[0.0, 0.1, 0.5, 2.0])
    np.testing.assert_array_equal(clip.cut(0.1, 2.0).times, [0.1, 0.5])


def test_a_cut_without_an_end_goes_to_the_last_frame():
    assert len(walk(2.0, frame_rate=60).cut(1.5)) == 30


def test_a_cut_that_holds_no_frame_is_a_usage_error():
    with pytest.raises(UsageError, match=naming("2")):
        walk(2.0).cut(3, 5)


@pytest.mark.parametrize("speed", [0.5, 2.0])
def test_another_speed_keeps_the_frame_rate_and_scales_the_duration(speed):
    clip = walk(2.0, frame_rate=60)
    changed = clip.change_speed(speed)
    assert changed.fps == pytest.approx(clip.fps)
    assert changed.duration == pytest.approx(clip.duration / speed, abs=2 / 60)
    for time in (0.0, 0.5, 0.8):
        expected = clip.sample(time * speed).positions()
        np.testing.assert_allclose(changed.sample(time).positions(), expected, atol=1e-9)


def test_tracks_follow_the_speed():
    clip = walk(2.0, frame_rate=60)
    tracks = {
        "per frame": Track("scalar", np.arange(120.0)),
        "slow": Track("scalar", np.arange(5.0), frame_time=0.5, start=0.2),
        "marks": Track("label", ["a", "b"], times=np.array([0.5, 1.5])),
    }
    changed = clip.replace(tracks=tracks, start_time=0.1).change_speed(0.5)
    found = {name: one.seconds(changed.frame_time) for name, one in changed.tracks.items()}
    np.testing.assert_allclose(found["slow"], 0.1 + 2 * (np.arange(5) * 0.5 + 0.1))
    np.testing.assert_allclose(found["marks"], [0.9, 2.9])
    np.testing.assert_allclose(np.diff(found["per frame"]), 2 / 60)


def test_resampled_clips_keep_the_times_of_tracks_that_had_a_sample_per_frame():
    clip = walk(2.0, frame_rate=60).replace(tracks={"a": Track("scalar", np.arange(120.0))})
    for changed in (clip.resample(30), clip[::2]):
        found = changed.tracks["a"].seconds(changed.frame_time)
        np.testing.assert_allclose(found, np.arange(120) / 60)


def test_a_closed_loop_goes_on_from_its_last_frame_to_its_first():
    clip = walk(1.0, frame_rate=60)[3:50]
    assert seam(clip) > 0.1
    closed = clip.close_loop()
    assert closed.header.loop
    assert len(closed) == len(clip)
    assert seam(closed) < 5e-3  # steps in world space curve


def test_a_closed_walk_stays_on_the_spot():
    clip = walk(2.0)
    closed = clip.close_loop()
    before, after = (np.ptp(one.translations[:, 0, 2]) for one in (clip, closed))
    assert before > 1
    assert after < 0.1


def test_a_motion_that_is_a_loop_stays_as_it_is():
    turns = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    clip = walk(1.0, frame_rate=60)
    still = np.tile(clip.translations[:1], (60, 1, 1))
    spin = rotations.from_rotvec(np.stack([0 * turns, turns, 0 * turns], axis=1))
    poses = np.tile(clip.rotations[:1], (60, 1, 1))
    poses[:, 0] = spin
    loop = clip.replace(rotations=poses, translations=still)
    np.testing.assert_allclose(loop.close_loop().positions(), loop.positions(), atol=1e-9)


def test_one_frame_cannot_be_a_loop():
    with pytest.raises(UsageError, match=naming("2 frames")):
        walk()[0].close_loop()
