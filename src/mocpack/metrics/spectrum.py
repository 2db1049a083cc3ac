"""Energy of a motion above a frequency, to detect jitter within the error bound."""

from __future__ import annotations

import numpy as np

from mocpack.common.arguments import check_number
from mocpack.common.arrays import F64
from mocpack.model.clip import Clip

SEGMENT_FRAMES = 256
MIN_FRAMES = 16  # shorter clips have no useful spectrum
JITTER_FREQUENCY_HZ = 30.0
MAX_ENERGY_RATIO = 1.05  # decoded over source energy
ALLOWED_JITTER = 0.05  # RMS jitter of a joint that is always allowed, relative to the error bound


def energy_above(points: F64, frame_rate: float, hertz: float) -> float | None:
    """Return the energy of points (T, P, 3) above `hertz`, summed over points and axes, in m².

    None if the frame rate is too low for that frequency, or the clip too short.
    """
    if frame_rate <= 2 * hertz or len(points) < MIN_FRAMES:
        return None
    frequencies, density = welch(points.reshape(len(points), -1), frame_rate)
    step = frequencies[1] - frequencies[0]
    return float(density[frequencies > hertz].sum() * step)


def welch(signals: F64, frame_rate: float) -> tuple[F64, F64]:
    """Return frequencies (K,) and one-sided power density (K, N) of signals (T, N).

    Welch's method with the defaults of scipy.signal: Hann windows of 256 frames that overlap by
    half, with their mean removed. Implemented here because importing scipy.signal is slow.
    """
    length = min(SEGMENT_FRAMES, len(signals))
    step = length - length // 2
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)
    total = np.zeros((length // 2 + 1, signals.shape[1]))
    starts = range(0, len(signals) - length + 1, step)
    for start in starts:
        part = signals[start : start + length]
        spectrum = np.fft.rfft((part - part.mean(0)) * window[:, np.newaxis], axis=0)
        total += spectrum.real**2 + spectrum.imag**2
    total /= len(starts) * frame_rate * np.sum(window**2)
    total[1 : (length + 1) // 2] *= 2  # all except the mean and, for an even length, the last
    return np.asarray(np.fft.rfftfreq(length, 1 / frame_rate), np.float64), total


def jitter(original: Clip, decoded: Clip, max_error: float) -> float:
    """Return the ratio of E30 of `decoded` to the allowed E30; above 1, it jitters.

    Allowed is 1.05 times E30 of the source plus (0.05 · `max_error`)² per joint. 0 if the frame
    rate is at most 60 or the clip too short, since E30 is then undefined.
    """
    check_number("max_error", max_error, 0)
    found = energy_above(decoded.positions(), original.frame_rate, JITTER_FREQUENCY_HZ)
    source = energy_above(original.positions(), original.frame_rate, JITTER_FREQUENCY_HZ)
    if found is None or source is None:
        return 0.0
    free = len(original.skeleton) * (ALLOWED_JITTER * max_error) ** 2
    return found / (MAX_ENERGY_RATIO * source + free)


def has_jitter(original: Clip, decoded: Clip, max_error: float) -> bool:
    """Return whether `decoded` jitters more than allowed for `max_error` in meters."""
    return jitter(original, decoded, max_error) > 1
