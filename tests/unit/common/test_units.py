"""Parsing and formatting of lengths, angles and sizes."""

import numpy as np
import pytest

import mocpack
from mocpack.common.units import (
    format_angle,
    format_angles,
    format_length,
    format_size,
    parse_angle,
    parse_length,
    parse_size,
)
from mocpack.errors import UsageError
from mocpack.testing import walk
from naming import naming


@pytest.mark.parametrize(
    ("text", "meters"),
    [
        ("1mm", 0.001),
        ("0.5 cm", 0.005),
        (" .5m ", 0.5),
        ("2e1um", 2e-5),
        ("3µm", 3e-6),
        ("1inch", 0.0254),
        ("2in", 0.0508),
        (0.25, 0.25),
        (2, 2.0),
    ],
)
def test_lengths(text, meters):
    assert parse_length(text) == pytest.approx(meters)


@pytest.mark.parametrize(
    "text", ["1", "mm", "1 parsec", "1,5mm", "", "1mm2", "--1mm", "nan", "infm"]
)
def test_a_length_without_number_or_unit_says_how_to_write_it(text):
    with pytest.raises(UsageError, match=naming("'1mm' m cm mm")):
        parse_length(text)


@pytest.mark.parametrize("value", ["0mm", "-1mm", 0, -0.5, float("nan"), float("inf"), "1e9m"])
def test_a_length_is_above_nothing_and_below_a_thousand_kilometers(value):
    with pytest.raises(UsageError, match=naming("0 1e6 m")):
        parse_length(value)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("20kB", 20_000),
        ("2KiB", 2048),
        ("1.5MB", 1_500_000),
        ("1MiB", 1 << 20),
        ("1GB", 10**9),
        ("7B", 7),
        ("300", 300),
        (500, 500),
    ],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["20kb", "kB", "1 TB", "-"])
def test_a_size_without_number_or_unit_says_how_to_write_it(text):
    with pytest.raises(UsageError, match=naming("'20kB' B kB")):
        parse_size(text)


@pytest.mark.parametrize(
    "value", [0, -5, "0kB", "0.1B", "1e999kB", "1e18B", "9" * 5000, 10**400, float("nan")]
)
def test_a_size_is_between_one_byte_and_the_limit(value):
    with pytest.raises(UsageError, match=naming("1e18")):
        parse_size(value)


@pytest.mark.parametrize(
    ("meters", "text"),
    [
        (1.75, "1.75 m"),
        (0.02, "2 cm"),
        (0.019, "19 mm"),
        (0.001, "1 mm"),
        (0.000999, "999 µm"),
        (1.23e-5, "12.3 µm"),
        (0.0, "0 µm"),
        (1e-33, "<1 pm"),
    ],
)
def test_lengths_are_written_as_a_person_would(meters, text):
    assert format_length(meters) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (20_480, "20.5 kB"), (3_200_000, "3.20 MB")],
)
def test_sizes_are_written_in_powers_of_1000(size, text):
    assert format_size(size) == text


@pytest.mark.parametrize("number", [1, 0.001, True, np.float64(0.001), -1])
def test_a_bare_number_is_no_length_for_callers(number):
    clip = walk(0.2)
    with pytest.raises(UsageError, match=naming("max_error= max_error='1mm'")):
        mocpack.encode(clip, max_error=number)
    with pytest.raises(UsageError, match=naming("mean_error=")):
        mocpack.encode(clip, mean_error=number)


def test_a_bare_number_is_no_unit_of_a_file(tmp_path):
    mocpack.write(walk(0.2), tmp_path / "walk.bvh")
    with pytest.raises(UsageError, match=r"mocpack\.mm\(1\)"):
        mocpack.read(tmp_path / "walk.bvh", unit=0.01)
    assert mocpack.read(tmp_path / "walk.bvh", unit=mocpack.cm(1)).unit == 0.01


@pytest.mark.parametrize("name", ["max_error", "mean_error", "step"])
def test_a_bare_number_is_no_length_in_a_spec(name):
    with pytest.raises(UsageError, match=naming(f"keysine {name}=1 {name}=1mm")):
        mocpack.parse_codec(f"keysine:{name}=1")


def test_lengths_with_their_unit_are_those_of_text():
    assert (mocpack.mm(1), mocpack.cm(1), mocpack.m(1)) == (0.001, 0.01, 1.0)
    clip = walk(0.3)
    spec = "keysine:effort=fast"
    assert mocpack.encode(clip, spec, max_error=mocpack.mm(5)) == mocpack.encode(
        clip, spec, max_error="5mm"
    )


@pytest.mark.parametrize("unit", ["parsec", "-1cm", "", "1"])
def test_a_unit_that_is_none_is_quoted_as_it_was_written(unit, tmp_path):
    mocpack.write(walk(0.1), tmp_path / "a.bvh")
    with pytest.raises(UsageError, match=naming(f"'{unit}'")):
        mocpack.read(tmp_path / "a.bvh", unit=unit)


def test_a_length_must_be_finite_and_positive():
    with pytest.raises(UsageError, match=naming("nan")):
        mocpack.mm(float("nan"))
    with pytest.raises(UsageError, match=naming("0 1e6 Length(0.0)")):
        mocpack.encode(walk(0.2), max_error=mocpack.mm(0))


def test_arithmetic_forgets_the_unit():
    assert type(mocpack.mm(1) * 2) is float


@pytest.mark.parametrize(
    ("text", "radians"),
    [
        ("0.3deg", np.radians(0.3)),
        ("90 °", np.pi / 2),
        ("0.005rad", 0.005),
        ("5mrad", 0.005),
        (0.25, 0.25),
        (mocpack.deg(180), np.pi),
        (mocpack.rad(1), 1.0),
    ],
)
def test_angles(text, radians):
    assert parse_angle(text) == pytest.approx(radians)


@pytest.mark.parametrize("text", ["0.3", "deg", "1mm", "1grad", ""])
def test_an_angle_without_number_or_unit_says_how_to_write_it(text):
    with pytest.raises(UsageError, match=naming("'0.3deg' deg rad")):
        parse_angle(text)


@pytest.mark.parametrize("value", ["0deg", "-1deg", 0, float("nan"), "1e9rad"])
def test_an_angle_is_above_nothing_and_below_a_thousand_radians(value):
    with pytest.raises(UsageError, match=naming("0 1000 rad")):
        parse_angle(value)


def test_a_bare_number_is_no_angle():
    with pytest.raises(UsageError, match=naming("max_angle=0.3 mocpack.deg(0.3)")):
        mocpack.encode(walk(0.1), max_angle=0.3)
    with pytest.raises(UsageError, match=naming("max_angle=0.3 max_angle=0.3deg")):
        mocpack.parse_codec("keysine:max_angle=0.3")


def test_angles_of_codecs_take_text_with_a_unit():
    assert mocpack.parse_codec("keysine:max_angle=5mrad").max_angle == pytest.approx(0.005)


def test_angles_are_printed_in_degrees():
    assert format_angle(np.radians(0.3)) == "0.3°"
    assert format_angles(0.005, 0.0050001) == ("0.286479°", "0.286485°")
