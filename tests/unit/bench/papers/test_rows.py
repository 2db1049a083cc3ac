"""Rows of the page: several lines of one claim summed up, without hiding any verdict."""

import pytest

from mocpack.bench.papers.rows import claims_table, row_verdict, timing_rows
from mocpack.bench.papers.verdicts import Results, Timing, compare, judge_claim, write_results


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
    (row,) = claims_table(sizes(*range(7, 18))).splitlines()[2:]
    assert "| 10 | 7 to 17 |" in row


def test_up_to_ten_numbers_are_listed_by_fives():
    (row,) = claims_table(sizes(*range(7, 14))).splitlines()[2:]
    assert "| 10 | 7/8/9/10/11 12/13 |" in row


def test_statements_are_counted():
    lines = [judge_claim("Figure 7", "falls", str(n), "falls", f"r {n}", n > 0) for n in range(5)]
    (row,) = claims_table(lines).splitlines()[2:]
    assert "| falls | holds in 4 of 5 | – | holds (4; 1 fails) |" in row


def test_statements_on_other_clips_are_counted_too():
    lines = [
        judge_claim("Figure 7", "falls", str(n), "falls", f"r {n}", n > 0, comparable=n > 3)
        for n in range(5)
    ]
    (row,) = claims_table(lines).splitlines()[2:]
    assert "| falls | holds in 4 of 5 | – | not comparable (4; 1 holds) |" in row


def test_a_row_lists_every_reason_with_its_lines():
    other = compare("Table 1", "size, KB", "c", "10", literal=5.0, kind="size", why="fewer frames")
    lines = [*sizes(20, 20), other]
    (row,) = claims_table(lines).splitlines()[2:]
    assert "| ×0.5–2; channels (2); fewer frames (1) |" in row


def test_means_with_ranges_are_listed_and_count_for_the_ratio():
    lines = [
        compare("Table 2", "steps", n, "10", literal=[20.0, 30.0], kind="count", why="random")
        for n in "ab"
    ]
    (row,) = claims_table(lines).splitlines()[2:]
    assert "| 25[20–30]/25[20–30] |" in row or "| 25[20–30] |" in row
    assert "×2.5; random" in row


def test_a_few_statements_are_listed():
    lines = [judge_claim("Section 5", "jog", p, p, f"{p}!", False) for p in ("it grows", "no")]
    (row,) = claims_table(lines).splitlines()[2:]
    assert "| it grows; no | it grows!; no! | – | fails |" in row


def test_timings_have_no_verdict(tmp_path):
    times = [
        Timing("Table 2", "decode, ms", name, "30", ours) for name, ours in (("a", "1"), ("b", "2"))
    ]
    write_results(Results([], times), tmp_path)
    assert timing_rows(tmp_path) == [["Table 2: decode, ms", "30", "1/2"]]
