from dataclasses import replace

import numpy as np
import pytest

from mocpack.bench.datasets import load_clip
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.papers.li.codec.dwt97 import Dwt97
from mocpack.papers.li.codec.fk_wavelet import FkWavelet
from mocpack.papers.li.codec.ik_predict import IkPredict
from mocpack.papers.li.codec.keyframe import Keyframe
from mocpack.papers.li.codec.last_frame import LastFrame
from mocpack.papers.li.tables import curves as li_curves
from mocpack.papers.li.tables import lines as li_lines
from mocpack.testing import walk

WALK = walk(1.0)


def point(entropy, error):
    errors = np.array([error])
    return li_curves.Point(entropy, entropy, entropy, errors, errors, errors)


def test_errors_between_two_settings_are_geometric_means():
    points = [point(1.0, 4.0), point(2.0, 1.0)]
    assert li_curves.at_rate(points, 1.5, "position")[0] == pytest.approx(2.0)
    assert li_curves.at_rate(points, 0.5, "position") is None


def test_all_rows_of_the_paper_are_present():
    for number in (1, 2, 3, 4):
        rows = li_lines._printed(number)
        assert len(rows) == 25
        named = {row["method"] for row in rows}
        assert named == set(li_lines.METHODS_COMPARED) <= set(li_curves.METHODS)


def test_rates_and_errors_are_those_of_the_codec():
    found = li_curves.measure(WALK, LastFrame(step=0.01))
    payload = LastFrame(step=0.01).encode(WALK)
    back = LastFrame(step=0.01).decode(payload, WALK.header)
    error = np.linalg.norm(back.positions() - WALK.positions(), axis=-1).mean()
    assert found.bits == pytest.approx(8 * len(payload) / (60 * 21))
    assert found.position.mean() == pytest.approx(error)
    # three angles, each off by a quarter of a step on average
    assert 0.002 < found.angle.mean() < 0.01 * 3**0.5 / 2


def test_a_setting_that_another_beats_does_not_count():
    points = [point(1.0, 4.0), point(1.5, 9.0), point(2.0, 1.0)]
    assert li_curves.at_rate(points, 1.5, "position")[0] == pytest.approx(2.0)


@pytest.mark.parametrize("codec", [IkPredict(), FkWavelet(), LastFrame(), Keyframe(), Dwt97()])
def test_the_papers_rate_leaves_ends_and_places_out(codec):
    found = li_curves.measure(WALK, codec)
    columns = codec.angle_columns(WALK)
    assert len(columns) == codec.symbols(WALK).shape[1]
    assert 0 < columns.sum() < len(columns)
    assert 0 < found.angles < found.entropy


def test_finer_ends_cost_nothing_in_the_papers_rate_and_lessen_the_error():
    coarse, fine = (
        li_curves.measure(WALK, replace(li_curves.AS_PRINTED, step=0.02 / e, joint_scale=e))
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


def test_entropy_is_near_the_real_bits_of_a_long_clip():
    found = li_curves.measure(walk(10.0), IkPredict())
    assert 0.7 < found.bits / found.entropy < 1.2


def test_each_point_of_a_curve_is_a_row():
    (row,) = li_curves.to_rows({"walk": {"SPBLF": [point(1.0, 0.5)]}})
    assert (row["motion"], row["method"], row["e_position_cm"]) == ("walk", "SPBLF", "50")
    assert float(row["e_angle_deg"]) == pytest.approx(np.degrees(0.5), rel=1e-4)


def test_every_curve_of_the_papers_methods_has_eighty_points_or_nearly():
    for method, codecs in li_curves.METHODS.items():
        least = 70 if method in li_lines.METHODS_COMPARED else 35
        assert least <= len(codecs) <= 80, method
    levers = {codec.lever for codec in li_curves.spblf_codecs()}
    assert len(levers) == 4


def test_every_row_of_the_arm_has_a_line_with_its_verdict():
    clip = load_clip("cmu/16_32").frames(1, 60)
    finest, coarsest = (replace(li_curves.AS_PRINTED, step=step) for step in (1e-4, 0.3))
    points = [li_curves.measure(clip, codec) for codec in (finest, coarsest)]
    curves = {"walk": dict.fromkeys(li_curves.METHODS, points)}
    extras = li_lines.Extras({"walk": (3.0, 2.0, 2.5)}, {"walk": [(3.0, 2.0), (1.0, 0.9)]})
    lines = li_lines.paper_lines(curves, {"walk": clip}, extras)
    by_table = [sum(line.what.startswith(f"Table {n}") for line in lines) for n in range(1, 5)]
    assert by_table == [25, 25, 0, 0]
    claims = [line for line in lines if "Section" in line.where]
    assert [line.verdict for line in claims if "k = 2" in line.claim] == ["fails"]
    assert [line.verdict for line in claims if "cut files" in line.what] == ["holds"]


@pytest.mark.parametrize(
    ("claim", "ours", "said"),
    [
        ("walk: IBKF, cm", 200.0, "reproduced"),
        ("walk: IBKF, cm", 0.5, "better"),
        ("ballet: IBKF, cm", 0.5, "not comparable"),
    ],
)
def test_an_error_above_the_papers_scale_is_reproduced_only_above_it(claim, ours, said):
    row = li_lines.ArmRow("IBKF", 0.7, [ours], None, [np.inf])
    line = li_lines._arm_line("Table 1", claim, "x", row, of_angles=False)
    assert (line.printed, line.verdict) == ("above 100", said)


def test_angle_errors_below_the_printed_floor_say_why():
    row = li_lines.ArmRow("DWT", 4.0, [0.1], None, [1.0])
    line = li_lines._arm_line("Table 2", "walk: DWT", "x", row, of_angles=True)
    assert (line.verdict, line.reason) == ("better", li_lines.FLOOR)


def test_statements_on_other_motions_have_no_verdict():
    points = {m: [point(0.5, 2.0), point(5.0, 1.0)] for m in li_lines.METHODS_COMPARED}
    lines = [*li_lines._leader_lines({"kick": points})]
    assert {line.verdict for line in lines} == {"not comparable"}


def test_every_reading_is_a_row_at_both_rates():
    points = {m: [point(0.5, 2.0), point(5.0, 1.0)] for m in li_curves.METHODS}
    rows = li_lines.reading_rows({"walk": points})
    assert {row["reading"] for row in rows} >= set(li_curves.METHODS)
    assert {row["rate"] for row in rows} == {"H", "every integer"}


def test_times_stand_beside_table_6():
    encode, decode = li_lines.paper_timings({"IKBP": (0.001, 0.0005)})
    assert (encode.printed, encode.ours) == ("1.26", "1")
    assert (decode.printed, decode.ours) == ("1.32", "0.5")


def test_a_method_that_leads_at_some_rates_only_does_not_lead():
    points = {m: [point(0.5, 2.0), point(5.0, 1.0)] for m in li_lines.METHODS_COMPARED}
    points["FKBC"] = [point(0.5, 1.5), point(5.0, 1.4)]
    lines = [*li_lines._leader_lines({"walk": points})]
    assert lines[0].verdict == "fails"
    assert lines[0].literal == "at 2 of 5 rates"
