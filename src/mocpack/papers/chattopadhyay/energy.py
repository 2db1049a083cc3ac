"""The cost of a file for a mobile client: energy of the network card, and time to decode.

Equation 11 of Chattopadhyay, Bhandarkar and Li (2007): a card that receives at bandwidth B for
S/B seconds and sleeps for the rest of the motion.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from mocpack import _api
from mocpack.bench.runner.timing import fastest
from mocpack.errors import BoundError

RECEIVING = 1.425  # watts while receiving, as measured for the cards of the paper's time
SLEEPING = 0.177  # watts while sleeping
DECODING = 2.0  # watts of a busy core of a current phone; the paper's network cards are from 1996
PAPER_FRAME_RATE = 33.0  # frames per second at which the paper plays motion recorded at 120 Hz
PAPER_KILO = 1024  # bits per Kb in the paper
DECODES = 5


@dataclass(frozen=True)
class Reception:
    """Receiving a file during its motion.

    Attributes
    ----------
    bandwidth : float
        Bits per second.
    seconds : float
        Spent receiving.
    joules : float
        Energy of the network card, from the start to the end of motion and reception.
    in_time : bool
        Whether the file arrives before its motion is over.
    """

    bandwidth: float
    seconds: float
    joules: float
    in_time: bool


def reception(
    size: int | float,
    duration: float,
    bandwidth: float,
    *,
    receiving: float = RECEIVING,
    sleeping: float = SLEEPING,
) -> Reception:
    """Return the cost of receiving `size` bytes of a motion of `duration` seconds.

    A card that receives longer than the motion lasts does not sleep at all; the paper's formula
    would give it negative sleep.
    """
    seconds = 8 * size / bandwidth
    joules = receiving * seconds + sleeping * max(0.0, duration - seconds)
    return Reception(bandwidth, seconds, joules, seconds <= duration)


def largest_size(
    joules: float,
    duration: float,
    bandwidth: float,
    *,
    receiving: float = RECEIVING,
    sleeping: float = SLEEPING,
) -> int:
    """Return the largest size in bytes whose `reception` costs at most `joules`.

    Raises
    ------
    BoundError
        If sleeping alone costs more.
    """
    if joules < sleeping * duration:
        raise BoundError(
            f"energy must be at least {1000 * sleeping * duration:.4g} mJ, which a sleeping card "
            f"needs for {duration:.4g} s of motion, got {1000 * joules:.4g} mJ"
        )
    seconds = joules / receiving
    if seconds < duration:  # the card sleeps part of the time
        seconds = (joules - sleeping * duration) / (receiving - sleeping)
    return int(bandwidth * seconds / 8)


def decode_seconds(data: bytes, *, runs: int = DECODES) -> float:
    """Return the shortest time to decode a .mocp file, of several runs."""
    return fastest(lambda: _api.decode(data), runs, clock=time.perf_counter)
