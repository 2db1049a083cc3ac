"""The frames that packets repeat. The expected offsets are computed by hand."""

import pytest

from mocpack.live import choose_repeats

FAR = 1000  # round-trip time in frames, too long for retransmissions


@pytest.mark.parametrize(
    ("loss", "copies"),
    [
        (0.0, 0),
        (0.001, 0),  # 0.001 is allowed
        (0.002, 1),  # 0.002 ** 2 = 0.000004
        (0.03, 1),  # 0.03 ** 2 = 0.0009
        (0.04, 2),  # 0.04 ** 2 = 0.0016, 0.04 ** 3 = 0.000064
        (0.05, 2),  # 0.05 ** 3 = 0.000125
        (0.2, 4),  # 0.2 ** 4 = 0.0016, 0.2 ** 5 = 0.00032
        (0.5, 9),  # 0.5 ** 9 = 0.00195, 0.5 ** 10 = 0.00098
        (0.9, 15),  # 65 would be needed
        (1.0, 15),
    ],
)
def test_copies_follow_from_the_loss(loss, copies):
    expected = tuple(range(1, copies + 1))
    assert choose_repeats(loss, 1, 0, FAR) == expected
    assert choose_repeats(loss, 1, 60, FAR) == expected


@pytest.mark.parametrize(
    ("burst", "at_once", "waiting"),
    [
        (2, (1, 2), (1, 2)),
        (3, (1, 2, 3), (2, 3)),
        (5, (1, 2, 3, 4, 5), (3, 5)),
        (15, tuple(range(1, 16)), (8, 15)),
        (16, (8, 16), (8, 16)),  # too many for one packet
        (60, (30, 60), (30, 60)),
    ],
)
def test_copies_reach_beyond_a_run_of_losses(burst, at_once, waiting):
    assert choose_repeats(0.05, burst, burst - 1, FAR) == at_once
    assert choose_repeats(0.05, burst, burst, FAR) == waiting


@pytest.mark.parametrize("burst", range(1, 16))
@pytest.mark.parametrize("patience", [0, 60])
def test_a_run_takes_no_frame_with_all_of_its_copies(burst, patience):
    offsets = choose_repeats(0.05, burst, patience, FAR)
    for first in range(burst):  # of the run's frames, counted from its first packet
        assert any(first + offset >= burst for offset in offsets)


@pytest.mark.parametrize(
    ("loss", "burst", "round_trip", "enough"),
    [(0.05, 1, 3, 7), (0.05, 5, 3, 11), (0.005, 1, 3, 4), (0.2, 2, 10, 42), (0.05, 4, 0, 4)],
)
def test_nothing_is_repeated_where_retransmissions_come_in_time(loss, burst, round_trip, enough):
    """`enough` is the run and one round trip for each copy that the loss calls for."""
    assert choose_repeats(loss, burst, enough, round_trip) == ()
    assert choose_repeats(loss, burst, enough - 1, round_trip) != ()


@pytest.mark.parametrize(
    ("room", "expected"),
    [(5, (1, 2, 3, 4, 5)), (4, (3, 5)), (2, (3, 5)), (1, (5,)), (0, ())],
)
def test_the_bit_rate_limits_copies_and_the_last_one_still_reaches_beyond_the_run(room, expected):
    assert choose_repeats(0.05, 5, 0, FAR, room) == expected
