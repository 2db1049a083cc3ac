"""Sizes and errors of every codec match the committed table, so that a change is a visible diff."""

import importlib.util
from pathlib import Path

import pytest

from mocpack.codecs.registry import codec_ids

spec = importlib.util.spec_from_file_location("sizes", Path(__file__).with_name("sizes.py"))
sizes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sizes)

SLACK = 0.005  # where floating point decides, another machine may round another way


@pytest.mark.parametrize("codec_id", codec_ids())
def test_sizes_and_errors_are_those_of_the_table(codec_id):
    expected = {row["clip"]: row for row in sizes.load() if row["codec"] == codec_id}
    found = {row["clip"]: row for row in sizes.measure(codec_id)}
    assert found.keys() == expected.keys(), "make sizes"
    for clip, row in found.items():
        size, error = int(expected[clip]["bytes"]), float(expected[clip]["max_error_mm"])
        assert row["bytes"] == pytest.approx(size, rel=SLACK, abs=2), f"{clip}: make sizes"
        assert float(row["max_error_mm"]) == pytest.approx(error, rel=0.02, abs=1e-6), clip
