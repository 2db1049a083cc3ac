"""The energy of receiving a file: the paper's figures, and cases it does not cover."""

import pytest

import mocpack
from mocpack.common.units import parse_bandwidth
from mocpack.errors import BoundError, UsageError
from mocpack.papers.chattopadhyay.energy import (
    PAPER_FRAME_RATE,
    PAPER_KILO,
    decode_seconds,
    largest_size,
    reception,
)
from mocpack.papers.chattopadhyay.tables.motions import MOTIONS
from mocpack.samples import JUMP
from naming import naming


@pytest.mark.parametrize("motion", MOTIONS, ids=lambda m: m.name)
def test_energies_are_the_papers_to_rounding(motion):
    for size, printed, rounding in (
        (motion.mpeg4_kb, motion.mpeg4_mj, 0.0),
        (motion.sparsed_kb, motion.sparsed_mj, 0.05),  # KB, as printed
    ):
        for text, energy in zip(("128kbps", "1Mbps", "4Mbps"), printed, strict=True):
            bandwidth = parse_bandwidth(text, kilo=PAPER_KILO)
            found = reception(1024 * size, motion.frames / PAPER_FRAME_RATE, bandwidth)
            unsure = 0.5 + rounding * 1248 * 8 * 1024 / bandwidth
            assert 1000 * found.joules == pytest.approx(energy, abs=unsure + 0.01)


def test_a_card_that_receives_longer_than_the_motion_lasts_does_not_sleep():
    found = reception(1000, 1.0, 4000.0)
    assert found.seconds == 2.0
    assert found.joules == pytest.approx(2 * 1.425)
    assert not found.in_time


def test_other_cards_have_other_powers():
    assert reception(100, 10.0, 800.0, receiving=2.0, sleeping=0.5).joules == pytest.approx(6.5)


def test_bandwidths_have_units():
    assert parse_bandwidth("128kbps") == 128_000
    assert parse_bandwidth("4Mbps", kilo=1024) == 4 * 1024**2
    with pytest.raises(UsageError, match=naming("'5 miles' bandwidth '128kbps' kbps")):
        parse_bandwidth("5 miles")
    with pytest.raises(UsageError, match=naming("bandwidth 0 '0kbps'")):
        parse_bandwidth("0kbps")


def test_decode_time_is_positive():
    assert decode_seconds(mocpack.encode(mocpack.read(JUMP), "raw"), runs=1) > 0


@pytest.mark.parametrize("joules", [1.8, 4.0, 14.24, 14.26, 30.0])
def test_the_largest_size_is_the_last_that_keeps_the_energy(joules):
    # ten seconds of motion: asleep 1.77 J, receiving all the time 14.25 J
    size = largest_size(joules, 10.0, 128_000)
    assert reception(size, 10.0, 128_000).joules <= joules + 1e-9
    assert reception(size + 1, 10.0, 128_000).joules > joules


def test_less_energy_than_sleep_takes_is_refused_by_name():
    with pytest.raises(BoundError, match=naming("10 1770 1700")):
        largest_size(1.7, 10.0, 128_000)
