import csv
from dataclasses import replace

import numpy as np
import pytest

from mocpack import rotations
from mocpack.bench.datasets import load_clip
from mocpack.clip import Clip
from mocpack.papers.li.codec.dwt97 import Dwt97
from mocpack.papers.li.codec.fk_wavelet import FkWavelet
from mocpack.papers.li.codec.ik_predict import IkPredict
from mocpack.papers.li.codec.keyframe import Keyframe
from mocpack.papers.li.codec.last_frame import LastFrame
from mocpack.papers.li.tables import curves as li_curves
from mocpack.papers.li.tables import lines as li_lines
from mocpack.papers.li.tables import reproduce as paper_004
from mocpack.testing import walk
from naming import names

WALK = walk(1.0)


def point(entropy, error):
    errors = np.array([error])
    return paper_004.Point(entropy, entropy, entropy, errors, errors, errors)


def test_errors_between_two_settings_are_geometric_means():
    points = [point(1.0, 4.0), point(2.0, 1.0)]
    assert paper_004.at_rate(points, 1.5, "position")[0] == pytest.approx(2.0)
    assert paper_004.at_rate(points, 0.5, "position") is None


def test_all_the_papers_rows_are_there():
    for number in (1, 2, 3, 4):
        rows = li_lines._printed(number)
        assert len(rows) == 25
        named = {li_lines.ROW_OF.get(row["method"], row["method"]) for row in rows}
        assert named == set(li_lines.METHODS_COMPARED) <= set(paper_004.METHODS)


def test_rates_and_errors_are_those_of_the_codec():
    found = paper_004.measure(WALK, LastFrame(step=0.01))
    payload = LastFrame(step=0.01).encode(WALK)
    back = LastFrame(step=0.01).decode(payload, WALK.header)
    error = np.linalg.norm(back.positions() - WALK.positions(), axis=-1).mean()
    assert found.bits == pytest.approx(8 * len(payload) / (60 * 21))
    assert found.position.mean() == pytest.approx(error)
    # three angles, each off by a quarter of a step on average
    assert 0.002 < found.angle.mean() < 0.01 * 3**0.5 / 2


def test_a_setting_that_another_beats_does_not_count():
    points = [point(1.0, 4.0), point(1.5, 9.0), point(2.0, 1.0)]
    assert paper_004.at_rate(points, 1.5, "position")[0] == pytest.approx(2.0)


@pytest.mark.parametrize("codec", [IkPredict(), FkWavelet(), LastFrame(), Keyframe(), Dwt97()])
def test_the_papers_rate_leaves_ends_and_places_out(codec):
    found = paper_004.measure(WALK, codec)
    columns = codec.angle_columns(WALK)
    assert len(columns) == codec.symbols(WALK).shape[1]
    assert 0 < columns.sum() < len(columns)
    assert 0 < found.angles < found.entropy


def test_finer_ends_cost_nothing_in_the_papers_rate_and_lessen_the_error():
    coarse, fine = (
        paper_004.measure(WALK, replace(paper_004.AS_PRINTED, step=0.02 / e, joint_scale=e))
        for e in (1.0, 16.0)
    )
    assert fine.angles < 1.1 * coarse.angles
    assert fine.position.mean() < coarse.position.mean()


def test_converted_angles_of_a_turned_bone_differ_by_its_turn():
    assert li_curves.converted_errors(WALK, WALK).max() < 1e-9
    local = WALK.rotations.copy()
    head = WALK.skeleton.index("Head")
    turned = rotations.from_rotvec(np.array([0.1, 0.0, 0.0]))
    local[:, head] = rotations.multiply(local[:, head], turned)
    errors = li_curves.converted_errors(WALK, Clip(WALK.header, local, WALK.translations))
    assert (errors > 1e-6).sum() == 1
    assert 0.05 < errors.max() < 0.3


def test_figure_9_shows_both_motions():
    points = paper_004.sweep(WALK, "IKBP as printed")
    figure = paper_004.poses(WALK, points)
    assert [axes.get_title().split(",")[0] for axes in figure.axes] == ["original", "decoded"]


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


def test_every_row_of_the_arm_has_a_line_with_its_verdict():
    clip = load_clip("cmu/16_32").frames(1, 60)
    finest, coarsest = (replace(paper_004.AS_PRINTED, step=step) for step in (1e-4, 0.3))
    points = [paper_004.measure(clip, codec) for codec in (finest, coarsest)]
    curves = {"walk": dict.fromkeys(paper_004.METHODS, points)}
    times = {"IKBP": (0.001, 0.0005)}
    lines = li_lines.paper_lines(curves, {"walk": clip}, times)
    by_table = [sum(line.where == f"Table {n}" for line in lines) for n in range(1, 7)]
    assert by_table == [25, 25, 0, 0, 8, 2]
    (encoding,) = [line for line in lines if "encoding" in line.what]
    assert (encoding.printed, encoding.ours, encoding.verdict) == ("1.26", "1", "better")
    missing = next(line for line in lines if line.what == "kick, frames")
    assert missing.kind == "not made"
    assert "bandai/" in missing.verdict
    assert {line.kind for line in lines if line.where == "Table 2"} == {"different"}


def test_a_method_that_leads_at_some_rates_only_does_not_lead():
    assert li_lines.leads_everywhere(["IKBP as printed"] * 5) == "same"
    some = ["IKBP as printed", "FKBC", "DWT", "FKBC", "IBKF"]
    assert names(li_lines.leads_everywhere(some), "different: IKBP 1 5")
