"""`--max-angle`: in degrees and radians, with a maximum error, and in tables and JSON."""

import json
from math import degrees

import numpy as np
import pytest
from command_line import run

import mocpack
from mocpack.metrics.angles import largest_angle
from mocpack.testing import walk
from naming import names


def info_of(path):
    said = json.loads(run("info", path, "--json").stdout)
    return said[0] if isinstance(said, list) else said


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("angles") / "walk.bvh"
    mocpack.write(walk(0.5), path)
    return path


@pytest.mark.parametrize(("told", "bound"), [("0.3deg", 0.3), ("0.005rad", degrees(0.005))])
def test_the_angle_bound_is_kept_declared_and_measured(source, tmp_path, told, bound):
    packed = tmp_path / "walk.mocp"
    made = run(
        "compress", source, "-o", packed, "--max-error", "5mm", "--max-angle", told, "--json"
    )
    assert made.returncode == 0, made.stderr
    [row] = json.loads(made.stdout)
    assert row["angle_bound_deg"] == pytest.approx(bound)
    assert 0 < row["max_angle_deg"] <= bound
    said = info_of(packed)["angle_deg"]
    assert said["declared"] == pytest.approx(bound, rel=1e-6)
    # a file states its errors in two bytes, rounded up
    assert said["max"] == pytest.approx(row["max_angle_deg"], rel=1e-3)
    own = degrees(largest_angle(mocpack.read(source), mocpack.read(packed)))
    assert own == pytest.approx(row["max_angle_deg"], rel=1e-6)


def test_without_an_angle_bound_the_angle_error_is_larger(source, tmp_path):
    packed = tmp_path / "walk.mocp"
    assert run("compress", source, "-o", packed, "--max-error", "5mm").returncode == 0
    assert largest_angle(mocpack.read(source), mocpack.read(packed)) > np.radians(0.3)
    assert info_of(packed)["angle_deg"]["declared"] is None


def test_table_and_info_name_the_angle(source, tmp_path):
    packed = tmp_path / "walk.mocp"
    made = run("compress", source, "-o", packed, "--max-error", "5mm", "--max-angle", "0.3deg")
    assert "angle" in made.stdout.decode()
    assert "0.3°" in run("info", packed).stdout.decode()


@pytest.mark.parametrize("told", ["0.3", "-1deg", "0rad", "3mm", "nandeg"])
def test_a_bad_angle_is_rejected_with_a_clear_error(source, tmp_path, told):
    made = run(
        "compress", source, "-o", tmp_path / "x.mocp", "--max-error", "5mm", f"--max-angle={told}"
    )
    text = made.stderr.decode()
    assert made.returncode == 2
    assert text.startswith("mocpack: ")
    assert "Traceback" not in text
    assert names(text, f"angle '{told}'")
    assert not (tmp_path / "x.mocp").exists()


def test_an_angle_bound_with_a_mean_error_is_rejected(source, tmp_path):
    made = run(
        *("compress", source, "-o", tmp_path / "x.mocp"),
        *("--mean-error", "1mm", "--max-angle", "1deg"),
    )
    assert made.returncode == 2
    assert b"Traceback" not in made.stderr
