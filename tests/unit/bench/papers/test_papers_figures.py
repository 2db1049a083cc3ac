"""Pictures of the papers' figures: valid SVG, from the tables that the papers' folders keep."""

import importlib.util
import math
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
        figures.Curve("printed", [(2.0, 5.0)], figures.PRINTED),
    ]
    text = figures.picture([figures.Panel("walk", "bits", "cm", curves)])
    root = ElementTree.fromstring(text)
    words = {node.text for node in root.iter(f"{SVG}text")}
    assert {"walk", "bits", "cm", "ours & more", "printed"} <= words
    assert len(root.findall(f".//{SVG}path")) == 2  # the point and its legend
    assert text == figures.picture([figures.Panel("walk", "bits", "cm", curves)])


def test_points_lie_where_their_values_are(figures):
    ends = figures.Curve("a", [(1.0, 1.0), (100.0, 100.0)])
    middle = figures.Curve("b", [(10.0, 10.0)], figures.PRINTED)
    root = ElementTree.fromstring(figures.picture([figures.Panel("", "", "", [ends, middle])]))
    line = next(
        node for node in root.iter(f"{SVG}polyline") if node.get("stroke") == figures.COLORS[0]
    )
    (x0, y0), (x1, y1) = (map(float, pair.split(",")) for pair in line.get("points").split())
    x, y = map(float, root.find(f".//{SVG}path").get("d")[1:-2].split(","))
    assert x == pytest.approx((x0 + x1) / 2, abs=0.11)
    assert y == pytest.approx((y0 + y1) / 2, abs=0.11)
    assert y1 < y0  # larger values are higher up


def test_printed_points_have_the_color_of_their_curve(figures):
    curves = [
        figures.Curve("PCA", [(1.0, 1.0), (2.0, 2.0)]),
        figures.Curve("wavelet", [(1.0, 2.0), (2.0, 1.0)]),
        figures.Curve("wavelet, printed", [(1.5, 1.5)], figures.PRINTED),
    ]
    root = ElementTree.fromstring(figures.picture([figures.Panel("", "", "", curves)]))
    assert {node.get("stroke") for node in root.iter(f"{SVG}path")} == {figures.COLORS[1]}


def test_a_pose_is_as_wide_as_it_is_high(figures):
    square = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]
    curve = figures.Curve("square", square)
    panel = figures.Panel("", "", "", [curve], log="", is_pose=True)
    root = ElementTree.fromstring(figures.picture([panel]))
    line = next(
        node for node in root.iter(f"{SVG}polyline") if len(node.get("points").split()) == 4
    )
    x, y = zip(*(map(float, p.split(",")) for p in line.get("points").split()), strict=True)
    assert max(x) - min(x) == pytest.approx(max(y) - min(y), abs=0.3)


def test_figure_1_of_mukai_draws_bones_as_lines_and_vertices_as_dots(figures, tmp_path):
    rows = [
        {"clip": clip, "frame": 7, "knots": kind, "part": part, "x": x, "y": x + part}
        for clip, size in (("mesh", 1), ("dance (other)", 2))
        for kind in ("original", "even", "free")
        for part in range(3)
        for x in range(size)
    ]
    write_results(Results([], (), {"poses": rows}), tmp_path)
    panels = figures.mukai_figure_1(tmp_path)
    assert [panel.title for panel in panels] == [
        "mesh: even knots",
        "mesh: free knots",
        "dance: even knots",
        "dance: free knots",
    ]
    mesh, dance = panels[0].curves, panels[2].curves
    assert [len(curve.points) for curve in mesh] == [3, 3]
    assert all(curve.dot for curve in mesh)
    assert [len(curve.points) for curve in dance] == [2] * 6
    assert not any(curve.dot for curve in dance)


def test_figure_5_of_li_predicts_the_arm_from_its_end(figures, tmp_path):
    forward, inverse = figures.li_figure_5(tmp_path)
    before, after, *turned = [curve.points for curve in forward.curves]
    predicted = inverse.curves[-1].points
    assert turned[0][1] == pytest.approx(after[1])  # the first link is turned
    assert math.dist(predicted[-1], after[-1]) < 0.2 * math.dist(before[-1], after[-1])


def test_a_folder_older_than_a_table_is_named_and_the_others_are_drawn(figures, tmp_path, capsys):
    folder = tmp_path / "002"
    rows = [
        {"function": "(a)", "knots": kind, "x": x, "y": x, "fit": x}
        for kind in ("even", "free")
        for x in (0, 1)
    ]
    knots = [{"function": "(a)", "knots": "free", "knot": 0.5}]
    folder.mkdir()
    write_results(Results([], (), {"functions": rows, "knots": knots}), folder)
    (folder / "finished.json").write_text("{}")
    assert figures.main([str(tmp_path), str(tmp_path / "out")]) == 1
    assert "poses.csv" in capsys.readouterr().err


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
        fair.Sample(clip, method, f"q={q}", 1000, size // q, 10.0 * q, 1.0 * q, 0.1 * q)
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
    for specs in fair.METHODS.values():
        for spec in specs:
            mocpack.parse_codec(spec)
