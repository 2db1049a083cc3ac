"""Rows of the page: several lines of one claim summed up, without hiding any verdict."""

import pytest

from mocpack.bench.papers.rows import claims_table, row_verdict, timings_table
from mocpack.bench.papers.verdicts import Timing, compare, judge_claim


def sizes(*ours, printed="10"):
    return [
        compare("Table 1", "size, KB", f"clip {n}", printed, literal=x, kind="size", why="channels")
        for n, x in enumerate(ours)
    ]


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        ((10, 10, 20), "reproduced"),
        ((5, 5, 20), "better"),
        ((5, 20), "worse"),
        ((10, 20), "worse"),
        ((5, 10), "reproduced"),
    ],
)
def test_a_row_has_the_verdict_of_most_lines_and_of_a_tie_the_less_favorable(ours, said):
    assert row_verdict(sizes(*ours)) == said


def test_a_row_counts_the_lines_of_other_verdicts_and_gives_the_range_of_ratios():
    (row,) = claims_table(sizes(10, 10, 20, 5)).splitlines()[2:]
    assert "| 10/10/20/5 | – | reproduced (2; 1 better, 1 worse) | ×0.5–2; channels |" in row


def test_many_numbers_become_a_range():
    (row,) = claims_table(sizes(*range(7, 17))).splitlines()[2:]
    assert "| 10 | 7 to 16 |" in row


def test_statements_are_counted():
    lines = [judge_claim("Figure 7", "falls", str(n), "falls", f"r {n}", n > 0) for n in range(3)]
    (row,) = claims_table(lines).splitlines()[2:]
    assert "| falls | – | holds in 2 of 3 | reproduced (2; 1 worse) |" in row


def test_timings_have_no_verdict():
    times = [
        Timing("Table 2", "decode, ms", name, "30", ours) for name, ours in (("a", "1"), ("b", "2"))
    ]
    assert timings_table(times).splitlines()[2] == "| Table 2 | decode, ms | 30 | 1/2 |"
