"""Lines of a printed figure and ours: what may stand in them, and that files keep them."""

import pytest

from mocpack.bench.papers.verdicts import (
    Line,
    claim,
    compare,
    count_kinds,
    read_lines,
    verdict,
    write_lines,
)
from naming import naming


def test_half_a_unit_of_the_last_printed_digit_is_the_same():
    assert verdict(7.4, "7", within=0.0) == "same"
    assert verdict(7.6, "7", within=0.0) == "worse"
    assert verdict(7.04, "7.0", within=0.0) == "same"
    assert verdict(7.06, "7.0", within=0.0) == "worse"


def test_more_may_be_better_and_a_count_has_no_better():
    assert verdict(2.0, "1.0", less_is_better=False) == "better"
    assert verdict(2.0, "1.0", less_is_better=None) == "different"


def test_what_cannot_be_had_says_why():
    assert verdict(None, "3", why="no clip") == "not made: no clip"
    assert compare("Table 1", "x", None, "3").ours == "–"
    assert compare("Table 1", "x", 3.0, None).verdict == "not in the paper"


def test_a_claim_holds_or_differs():
    assert claim("Figure 7", "it falls", "falls", "falls", True, why="never said").verdict == "same"
    assert claim("Figure 7", "it falls", "falls", "grows", False).verdict == "different"


def test_a_verdict_of_another_kind_is_refused():
    with pytest.raises(ValueError, match=naming("same better worse different 'fine'")):
        Line("Table 1", "x", "1", "2", "fine")


def test_lines_come_back_from_their_file(tmp_path):
    lines = [compare("Table 1", 'a "b", c', 1.0, "1"), Line("x", "ü", "–", "1 | 2", "better: so")]
    write_lines(lines, tmp_path)
    assert read_lines(tmp_path) == lines
    assert count_kinds(lines)["better"] == 1
    assert read_lines(tmp_path / "none") == []
