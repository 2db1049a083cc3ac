"""Tables of Beaudoin, Poulin and van de Panne: both readings of eps_x, gzip, and feet."""

import re
from dataclasses import replace

import numpy as np

import mocpack
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.metrics import measure
from mocpack.papers.beaudoin.codec.wavelet import Wavelet
from mocpack.papers.beaudoin.codec.wavelet_opt import WaveletOpt
from mocpack.papers.beaudoin.tables import claims as beaudoin_claims
from mocpack.papers.beaudoin.tables import reproduce as beaudoin
from mocpack.papers.beaudoin.tables.eps_x_curves import Point, curve

RUNNING = load_clip("cmu/09_01", COMMITTED).frames(1, 149)


def fake_points(scale=1.0):
    """Return points that reach all errors of Table 1, at sizes of `scale` times 10 KB cm."""
    return [
        Point(clip, technique, 1, round(scale * 10 * 1024 / e), 10.0, e, None)
        for clip in beaudoin.TABLE_1
        for technique in beaudoin.KNOBS
        for e in (0.04, 1.5)
    ]


def test_each_size_of_table_1_is_one_line_judged_as_printed():
    lines = beaudoin.table_1_lines(fake_points(0.1), [fake_points()])
    assert len(lines) == 30
    by_what = {(line.claim, line.what): line for line in lines}
    worse = by_what["wavelet, KB", "49_02 at 0.05 cm"]
    assert (worse.printed, worse.literal, worse.ours) == ("135", "200", "20")
    assert (worse.verdict, worse.reason) == ("worse", "unexplained")
    assert by_what["PCA, KB", "49_02 at 0.67 cm"].verdict == "better"


def test_channels_are_the_reason_only_as_far_as_they_explain():
    assert beaudoin._why_another_size(1.2, 1.0) == beaudoin.CHANNELS
    for ours in (0.8, 1.3, None):
        assert beaudoin._why_another_size(ours, 1.0) == "unexplained"


def test_sizes_of_a_random_search_are_means_over_its_seeds():
    lines = beaudoin.table_1_lines([], [fake_points(), fake_points(1.1)])
    optimized = next(line for line in lines if line.claim == "optimized, KB")
    assert re.fullmatch(r"7\.5\[7\.14–7\.86\]", optimized.literal), optimized.literal


def test_the_settings_as_printed_are_the_codecs_own():
    for name, codec in beaudoin.LITERAL.items():
        assert codec == mocpack.parse_codec(f"{name}:settings=paper")


def test_errors_that_the_knob_does_not_reach_are_not_measured():
    lines = beaudoin.table_1_lines([], [[]])
    assert {line.verdict for line in lines} == {"not measured"}


def test_a_curve_uses_the_requested_reading_of_the_metric():
    ends, centers = (
        curve("09_01", RUNNING, "wavelet", Wavelet(), [15], metric)[0]
        for metric in ("eps_x_cm", beaudoin.CENTERS)
    )
    assert ends.size == centers.size
    assert centers.eps_x < 0.95 * ends.eps_x


def test_the_fewest_bits_within_the_allowance_are_chosen():
    centers = WaveletOpt(metric="eps_x_center_cm", ratio=20)
    few, all_ = (
        measure(centers.metric, RUNNING, c.decode(c.encode(RUNNING), RUNNING.header))
        for c in (centers, replace(centers, bits=16))
    )
    assert few < 1.021 * all_


def test_gzip_gains_on_sixteen_bit_words_what_the_paper_says():
    gain, share = beaudoin_claims.gain_and_share(
        Wavelet(ratio=15, bits=16, deflate=False), 15, RUNNING
    )
    assert 1.1 <= gain <= 1.5
    assert 0.5 < share < 0.7


def test_gzip_gains_next_to_nothing_on_raw_files():
    assert 1.0 < beaudoin_claims.raw_gain(RUNNING) < 1.15


def test_the_section_on_gzip_prints_each_remark_as_a_claim():
    lines = beaudoin_claims.gzip_lines({"09_01": RUNNING})
    assert [line.printed for line in lines] == ["1.1–1.5", "0.6", "1.1"]
    assert [line.verdict for line in lines] == ["not comparable"] * 3
    assert lines[0].literal.startswith("holds: ")


def test_shares_that_spread_widely_are_not_about_the_printed_one():
    *_, share, _ = beaudoin_claims.judge_gzip([1.2, 1.4], [0.37, 0.67], 1.07)
    assert "0.37 to 0.67" in share.reason


def test_feet_that_slide_as_before_are_no_reduction():
    before = Point("09_01", "none", 30, 1000, 40.0, 0.5, 20.0)
    for skate, said in ((11.0, "holds"), (18.0, "fails")):
        after = Point("09_01", "ccd", 30, 1000, 40.0, 0.6, skate)
        feet = beaudoin_claims.Feet(before, after, [40.0], 10.0, 3.0, 9.0, 2.0)
        assert beaudoin_claims.feet_lines(feet)[0].verdict == said


def test_feet_of_other_clips_have_no_verdict():
    one = Point("02_01", "none", 30, 1000, 40.0, 0.5, 20.0)
    lines = beaudoin_claims.feet_lines(beaudoin_claims.Feet(one, one, [40.0], 10.0, 3.0, 9.0, 2.0))
    assert {line.verdict for line in lines} == {"not comparable"}


def test_the_order_of_figure_2_is_judged_at_each_ratio():
    def points(opt):
        errors = {"pca": 5.0, "wavelet": 0.5, "wavelet-opt": opt}
        return [
            Point(clip, technique, 1, 100, ratio, error, None)
            for clip in beaudoin.NAMES
            for technique, error in errors.items()
            for ratio in (5.0, 60.0)
        ]

    assert beaudoin.order_line(points(0.3), 20).literal == "holds: 0.30 < 0.50 < 5.00"
    assert beaudoin.order_line(points(0.7), 20).literal == "fails: 0.70 < 0.50 < 5.00"


def test_quaternions_that_are_smaller_contradict_the_paper():
    assert beaudoin.quaternion_line("a", 100.0, 110.0, comparable=True).verdict == "holds"
    assert beaudoin.quaternion_line("a", 100.0, 90.0, comparable=True).verdict == "fails"


def test_the_ratios_of_table_1_are_those_of_the_papers_float_arrays():
    assert np.isclose(148 * 62 * 4 / 1024, 35.8, atol=0.05)
    assert RUNNING.frame_count == 148
