"""The report is one file that a browser renders without network."""

import re
from html import escape

import pytest

import mocpack
from mocpack.bench.report.page import bd_table, metric_label, write_bd_rates, write_report
from mocpack.bench.runner.measure import Setting, measure_row
from mocpack.errors import UsageError
from mocpack.testing import walk
from naming import naming


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    source = tmp_path_factory.mktemp("source") / "walk <b>.bvh"
    mocpack.write(walk(0.5), source)
    clip = mocpack.read(source)
    settings = [Setting("raw", ("max_error", "1mm")), Setting("raw", ("ratio", "99"))]
    return [measure_row(clip, s, name=source.stem, source_bytes=9) for s in settings]


@pytest.fixture(scope="module")
def report(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    return write_report(rows, folder, {"machine": "test & co"}, anchor="raw")


def test_the_report_needs_nothing_from_outside(report, rows):
    text = report.read_text()
    assert not re.search(r'(src|href)="(?!#|data:)', text)
    assert "@import" not in text
    assert "test &amp; co" in text
    assert "walk &lt;b&gt;" in text
    assert escape(rows[1]["failure"]) in text


def test_every_plot_is_there_as_svg_and_png(report):
    made = {p.name for p in report.parent.iterdir()}
    for name in ("rd_max_error_mm", "rd_mean_mm", "size"):
        assert {f"{name}.svg", f"{name}.png"} <= made
        # a standalone SVG file needs its namespace
        assert 'xmlns="http://www.w3.org/2000/svg"' in (report.parent / f"{name}.svg").read_text()


def test_the_report_renders_in_a_browser_and_its_script_runs(report, browse, tmp_path):
    assert 'data-ready="yes"' in browse(report, "--virtual-time-budget=3000", "--dump-dom")
    picture = tmp_path / "report.png"
    browse(report, f"--screenshot={picture}", "--window-size=1200,2000")
    assert picture.stat().st_size > 30_000


def test_bd_table_compares_each_codec_clip_by_clip():
    rows = [
        {"clip": "a", "codec": c, "bits_per_frame": scale / e, "max_error_mm": e, "failure": None}
        for c, scale in (("x", 10), ("y", 15))
        for e in (8.0, 4.0, 2.0, 1.0)
    ]
    table = {codec: mean for codec, mean, _ in bd_table(rows, "x", "max_error_mm")}
    assert table["x"] == pytest.approx(0)
    assert table["y"] == pytest.approx(0.5)


def test_bd_rates_exist_for_any_metric_per_clip_and_averaged(tmp_path):
    rows = [
        {"clip": clip, "codec": c, "bits_per_frame": scale / e, "sk_ted": e, "failure": None}
        for c, scale in (("x", 10), ("y", 15))
        for clip in ("a", "b", "=1+1")
        for e in (8.0, 4.0, 2.0, 1.0)
    ]
    write_bd_rates(rows, "x", ["sk_ted"], tmp_path / "bd.csv")
    lines = (tmp_path / "bd.csv").read_text().splitlines()
    assert lines[0] == "metric,codec,clip,bd_rate_against_x"
    assert {"sk_ted,y,mean,0.500000", "sk_ted,y,b,0.500000", "sk_ted,y,'=1+1,0.500000"} <= set(
        lines
    )


def test_an_unknown_metric_names_the_known_ones():
    with pytest.raises(UsageError, match=naming("'beauty' max_error_mm")):
        metric_label("beauty")
