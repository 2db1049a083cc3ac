"""Pictures of the papers' figures: valid SVG, from the tables that the papers' folders keep."""

import importlib.util
import sys
from xml.etree import ElementTree

import pytest

import mocpack
from mocpack.bench.datasets import CHECKOUT
from mocpack.bench.papers.verdicts import Results, compare, write_results

SVG = "{http://www.w3.org/2000/svg}"


def script(name):
    """Return a script of `benchmarks` as a module."""
    folder = CHECKOUT / "benchmarks"
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def figures():
    return script("papers_figures")


def test_a_picture_is_svg_with_lines_dots_and_names(figures):
    curves = [
        figures.Curve("ours & more", [(1.0, 10.0), (10.0, 1.0)]),
        figures.Curve("printed", [(2.0, 5.0)], is_printed=True),
    ]
    text = figures.picture([figures.Panel("walk", "bits", "cm", curves)])
    root = ElementTree.fromstring(text)
    words = {node.text for node in root.iter(f"{SVG}text")}
    assert {"walk", "bits", "cm", "ours & more", "printed"} <= words
    assert len(root.findall(f".//{SVG}circle")) == 2  # the point and its legend
    assert text == figures.picture([figures.Panel("walk", "bits", "cm", curves)])


def test_points_lie_where_their_values_are(figures):
    ends = figures.Curve("a", [(1.0, 1.0), (100.0, 100.0)])
    middle = figures.Curve("b", [(10.0, 10.0)], is_printed=True)
    root = ElementTree.fromstring(figures.picture([figures.Panel("", "", "", [ends, middle])]))
    line = next(
        node for node in root.iter(f"{SVG}polyline") if node.get("stroke") == figures.COLORS[0]
    )
    (x0, y0), (x1, y1) = (map(float, pair.split(",")) for pair in line.get("points").split())
    dot = root.find(f".//{SVG}circle")
    assert float(dot.get("cx")) == pytest.approx((x0 + x1) / 2, abs=0.11)
    assert float(dot.get("cy")) == pytest.approx((y0 + y1) / 2, abs=0.11)
    assert y1 < y0  # larger values are higher up


def test_figures_are_drawn_from_a_papers_folder_and_unfinished_ones_are_not(figures, tmp_path):
    report, out = tmp_path / "report", tmp_path / "pictures"
    rows = [
        {"motion": "jog", "FDF": f, "n_d": n, "bytes": 900 * f, "DEF": 9 - f}
        for f in (1, 2, 3)
        for n in (30, 60, 90, 120)
    ]
    (report / "001").mkdir(parents=True)
    line = compare("Table 1", "size, KB", "walk", "24", literal=24.0, kind="size")
    write_results(Results([line], (), {"surfaces": rows}), report / "001")
    (report / "001" / "finished.json").write_text("{}")
    assert figures.main([str(report), str(out)]) == 0
    assert {path.name for path in out.iterdir()} == {
        "chattopadhyay.svg",
        "chattopadhyay-figure-7.svg",
    }


def test_a_method_of_half_the_bytes_has_twice_the_ratio():
    fair = script("papers_fair")
    samples = [
        fair.Sample(clip, method, q, 1000, size // q, 10.0 * q, 1.0 * q, 0.1 * q)
        for clip in ("a", "b")
        for method, size in (("keysine", 100), ("Váša: rd-pca", 200))
        for q in (1, 2, 4)
    ]
    panels = fair.panels(samples)
    assert [panel.title for panel in panels] == [
        f"at equal {title}" for title in fair.METRICS.values()
    ]
    ratios = {curve.name: curve.points[5][1] for curve in panels[0].curves}
    assert ratios["keysine"] == pytest.approx(2 * ratios["Váša: rd-pca"])


def test_every_method_of_the_fair_chart_is_a_codec_of_its_settings():
    fair = script("papers_fair")
    for spec, qualities in fair.METHODS.values():
        for quality in qualities:
            mocpack.parse_codec(spec.format(quality))
