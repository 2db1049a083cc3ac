import csv

import numpy as np
import pytest

from mocpack.bench.papers import li as paper_004
from mocpack.codecs.kinematic.ik_predict import IkPredict
from mocpack.codecs.kinematic.keyframe import Keyframe
from mocpack.codecs.kinematic.last_frame import LastFrame
from mocpack.testing import walk

WALK = walk(1.0)


def point(entropy, error):
    return paper_004.Point(entropy, entropy, np.array([error]), np.array([error]))


def test_errors_between_two_settings_are_geometric_means():
    points = [point(1.0, 4.0), point(2.0, 1.0)]
    assert paper_004.at_entropy(points, 1.5, "position")[0] == pytest.approx(2.0)
    assert paper_004.at_entropy(points, 0.5, "position") is None


def test_all_the_papers_rows_are_there():
    for number in (1, 2, 3, 4):
        rows = paper_004._printed(number)
        assert len(rows) == 25
        assert {row["method"] for row in rows} == set(paper_004.LIKE_THE_PAPER)


def test_rates_and_errors_are_those_of_the_codec():
    found = paper_004.measure(WALK, LastFrame(step=0.01))
    payload = LastFrame(step=0.01).encode(WALK)
    back = LastFrame(step=0.01).decode(payload, WALK.header)
    error = np.linalg.norm(back.positions() - WALK.positions(), axis=-1).mean()
    assert found.bits == pytest.approx(8 * len(payload) / (60 * 21))
    assert found.position.mean() == pytest.approx(error)
    # three angles, each off by a quarter of a step on average
    assert 0.002 < found.angle.mean() < 0.01 * 3**0.5 / 2


def test_entropy_by_the_key_is_larger_by_the_frames_between():
    by_frame = paper_004.measure(WALK, Keyframe(keys=7))
    by_key = paper_004.measure(WALK, Keyframe(keys=7), per_key=True)
    assert by_key.entropy == pytest.approx(10 * by_frame.entropy)


def test_entropy_is_near_the_real_bits_of_a_long_clip():
    found = paper_004.measure(walk(10.0), IkPredict())
    assert 0.7 < found.bits / found.entropy < 1.2


def test_curves_are_written(tmp_path):
    path = tmp_path / "curves.csv"
    paper_004.write_curves({"walk": {"SPBLF": [point(1.0, 0.5)]}}, path)
    row = next(csv.DictReader(path.read_text().splitlines()))
    assert row["e_position_cm"] == "50"
    assert float(row["e_angle_deg"]) == pytest.approx(np.degrees(0.5), rel=1e-4)
    figure = paper_004.plot({"walk": {"SPBLF": [point(1.0, 0.5)]}}, "position", "cm")
    assert figure.axes[0].get_title() == "walk"
