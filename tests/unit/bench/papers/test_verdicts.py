"""Lines of a printed figure and ours: the rule of their verdicts, and that files keep them."""

import pytest

from mocpack.bench.papers.verdicts import (
    NONE,
    TOLERANCES,
    Line,
    Results,
    Timing,
    compare,
    count_kinds,
    judge_claim,
    note_formula,
    read_lines,
    read_timings,
    verdict,
    write_results,
)
from naming import naming


def line(ours, printed="10", **options):
    return compare("Table 1", "size", "x", printed, literal=ours, kind="size", **options)


def test_half_a_unit_of_the_last_printed_digit_is_reproduced():
    assert verdict(7.4, "7", kind="count") == "reproduced"
    assert verdict(7.6, "7", kind="count") == "worse"
    assert verdict(7.04, "7.0", kind="count") == "reproduced"
    assert verdict(7.06, "7.0", kind="count") == "worse"


@pytest.mark.parametrize("kind", TOLERANCES)
def test_the_tolerance_is_the_same_in_both_directions(kind):
    inside, outside = 0.99 * TOLERANCES[kind], 1.01 * TOLERANCES[kind] + 1e-6
    for sign, other in ((-1, "better"), (1, "worse")):
        assert verdict(100 * (1 + sign * inside), 100.0, kind=kind) == "reproduced"
        assert verdict(100 * (1 + sign * outside), 100.0, kind=kind) == other


@pytest.mark.parametrize("ours", [5.0, 20.0])
def test_another_clip_is_not_comparable_in_either_direction(ours):
    assert line(ours, why="another clip", comparable=False).verdict == "not comparable"


@pytest.mark.parametrize("ours", [5.0, 20.0])
def test_better_and_worse_both_have_a_reason(ours):
    assert line(ours).reason
    assert line(ours, why="62 columns").reason == "62 columns"
    assert not line(10.0, why="62 columns").reason
    with pytest.raises(ValueError, match=naming("Table 1 reason")):
        Line("Table 1", "size", "x", "1", "2", NONE, "better")


def test_more_may_be_better_and_a_count_without_a_better_direction_differs():
    assert verdict(2.0, "1.0", kind="share", less_is_better=False) == "better"
    for ours in (0.5, 2.0):
        assert verdict(ours, "1.0", kind="share", less_is_better=None) == "differs"


def test_a_random_result_is_its_mean_with_its_range():
    found = line([12.0, 13.0, 20.0])
    assert (found.literal, found.verdict) == ("15[12–20]", "worse")
    assert line([10.0, 10.0]).literal == "10"


def test_a_printed_number_within_the_range_of_seeds_is_reproduced():
    assert line([8.0, 25.0]).verdict == "reproduced"
    assert line([10.5, 25.0]).verdict == "worse"


def test_a_difference_without_a_reason_is_called_unexplained():
    assert line(20.0).reason == "unexplained"


def test_the_literal_figure_is_judged_and_ours_where_there_is_none():
    both = compare("Table 1", "size", "x", "10", literal=12.0, ours=5.0, kind="size")
    assert (both.literal, both.ours, both.verdict) == ("12", "5", "worse")
    alone = compare("Table 1", "size", "x", "10", ours=5.0, kind="size")
    assert (alone.literal, alone.verdict) == (NONE, "better")


def test_a_missing_figure_is_not_measured_even_if_it_were_not_comparable():
    for comparable in (True, False):
        assert line(None, why="no clip", comparable=comparable).verdict == "not measured"


def test_a_formula_is_no_measurement_and_shows_the_real_number():
    found = note_formula("Table 1", "size", "jog", "10.9", "10.81", "12.54")
    assert (found.literal, found.ours, found.verdict) == ("10.81", "12.54", "not measured")


def test_a_statement_holds_or_fails_and_is_neither_on_another_clip():
    for holds, said in ((True, "holds"), (False, "fails")):
        found = judge_claim("Figure 7", "it falls", "x", "falls", "?", holds)
        assert (found.verdict, found.literal) == (said, "?")
        other = judge_claim(
            "Figure 7", "it falls", "x", "falls", "?", holds, why="another clip", comparable=False
        )
        assert (other.verdict, other.literal) == ("not comparable", f"{said}: ?")


def test_a_verdict_of_another_kind_is_refused():
    with pytest.raises(ValueError, match=naming("reproduced better worse 'fine'")):
        Line("Table 1", "size", "x", "1", "2", NONE, "fine")


def test_lines_and_timings_round_trip_from_their_files(tmp_path):
    lines = [
        compare("Table 1", 'a "b", c', "x", "1", ours=1.0, kind="size"),
        Line("x", "ü", "y", "–", "1 | 2", NONE, "better", "so"),
    ]
    timings = [Timing("Table 2", "decode, ms", "x", "30", "2")]
    write_results(Results(lines, timings), tmp_path)
    assert read_lines(tmp_path) == lines
    assert read_timings(tmp_path) == timings
    assert count_kinds(lines)["better"] == 1
    assert read_lines(tmp_path / "none") == []
