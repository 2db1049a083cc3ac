"""What a file costs a mobile client: its network card's energy, and the time to decode it.

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
SLEEPING = 0.177  # watts while not
DECODING = 2.0  # watts of a core at work, as a telephone's of today; the paper's cards are of 1996
PAPER_FRAME_RATE = 33.0  # the paper plays frames recorded at 120 Hz so
PAPER_KILO = 1024  # bits of the paper's Kb
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
        Of the network card, from the start to the end of motion and reception.
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
    """Return what receiving `size` bytes of a motion of `duration` seconds costs.

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
    """Return the most bytes whose `reception` costs no more than `joules`.

    Raises
    ------
    BoundError
        If the card's sleep alone costs more.
    """
    if joules < sleeping * duration:
        raise BoundError(
            f"energy must be at least {1000 * sleeping * duration:.4g} mJ, which a sleeping card "
            f"needs for {duration:.4g} s of motion, got {1000 * joules:.4g} mJ"
        )
    seconds = joules / receiving
    if seconds < duration:  # then there is time to sleep
        seconds = (joules - sleeping * duration) / (receiving - sleeping)
    return int(bandwidth * seconds / 8)


def decode_seconds(data: bytes, *, runs: int = DECODES) -> float:
    """Return the least time that decoding a .mocp file took in several runs."""
    return fastest(lambda: _api.decode(data), runs, clock=time.perf_counter)
