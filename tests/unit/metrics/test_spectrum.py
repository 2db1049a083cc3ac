import numpy as np
import pytest

from mocpack import Clip, Skeleton
from mocpack.metrics import compare, has_jitter, jitter
from mocpack.metrics.spectrum import welch
from mocpack.model.rotations import IDENTITY

DOT = Skeleton(("dot",), (-1,), [[0, 0, 0]])
FRAMES = 2048


def wave(amplitude, hertz, frame_rate=120.0, frames=FRAMES):
    """A point that swings along z."""
    places = np.zeros((frames, 3))
    places[:, 2] = amplitude * np.sin(2 * np.pi * hertz * np.arange(frames) / frame_rate)
    return Clip.build(DOT, np.tile(IDENTITY, (frames, 1, 1)), places, frame_rate=frame_rate)


@pytest.mark.parametrize(("hertz", "e15", "e30"), [(5, 0, 0), (20, 0.5, 0), (45, 0.5, 0.5)])
def test_a_swing_of_1_mm_has_half_a_square_millimeter_of_energy(hertz, e15, e30):
    found = compare(wave(0, 0), wave(0.001, hertz))
    assert found["e15"] == pytest.approx(e15, rel=1e-6, abs=1e-6)
    assert found["e30"] == pytest.approx(e30, rel=1e-6, abs=1e-6)
    assert found["e30_source"] == 0


def test_a_clip_that_trembles_within_its_bound_shows():
    # 0.4 mm at 45 Hz: E30 is 0.08 mm²; a bound of 1 mm allows (0.05 mm)² = 0.0025 mm²
    still, trembling = wave(0, 0), wave(0.0004, 45)
    assert compare(still, trembling)["max_error_mm"] < 1
    assert jitter(still, trembling, 0.001) == pytest.approx(0.08 / 0.0025, rel=1e-6)
    assert has_jitter(still, trembling, 0.001)
    assert not has_jitter(still, wave(0.0004, 10), 0.001)


def test_a_source_that_trembles_may_be_kept_so():
    # 0.5 mm² of its own, so 0.525 + 0.0025 mm² are allowed: an amplitude of 1.0271 mm
    source = wave(0.001, 45)
    assert not has_jitter(source, source, 0.001)
    assert not has_jitter(source, wave(0.001027, 45), 0.001)
    assert has_jitter(source, wave(0.001028, 45), 0.001)


def test_the_allowance_is_for_each_joint():
    two = Skeleton(("a", "b"), (-1, 0), [[0, 0, 0], [0, 0, 0]])

    def doubled(clip):
        local = np.tile(IDENTITY, (FRAMES, 2, 1))
        return Clip.build(two, local, clip.translations, frame_rate=120)

    one = jitter(wave(0, 0), wave(0.0001, 45), 0.001)
    assert jitter(doubled(wave(0, 0)), doubled(wave(0.0001, 45)), 0.001) == pytest.approx(one)


def test_frequencies_that_the_frame_rate_cannot_hold_are_null():
    found = compare(wave(0, 0, 60), wave(0.001, 20, 60))
    assert found["e15"] == pytest.approx(0.5, rel=1e-6)
    assert found["e30"] is None
    assert compare(wave(0, 0, 30), wave(0, 0, 30))["e15"] is None
    assert not has_jitter(wave(0, 0, 60), wave(0.001, 20, 60), 0.001)


def test_a_few_frames_have_no_spectrum():
    assert compare(wave(0, 0, frames=15), wave(0, 0, frames=15))["e30"] is None
    assert compare(wave(0, 0, frames=16), wave(0, 0, frames=16))["e30"] == 0


def test_welch_is_scipys():
    signal = pytest.importorskip("scipy.signal")

    for frames in (16, 255, 256, 257, 383, 384, 1000):
        signals = np.random.default_rng(frames).normal(size=(frames, 5)).cumsum(0)
        frequencies, density = welch(signals, 120.0)
        expected = signal.welch(signals, 120.0, nperseg=min(256, frames), axis=0)
        np.testing.assert_allclose(frequencies, expected[0])
        np.testing.assert_allclose(density, expected[1], rtol=1e-9, atol=1e-12)
