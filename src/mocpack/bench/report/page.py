"""Write the report of the bench: one HTML file with plots and a sortable table."""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from mocpack.bench.report import plots
from mocpack.bench.report.curves import bd_rate, curves
from mocpack.bench.report.verdict import verdict
from mocpack.bench.rows import Row, get_number
from mocpack.common.optional_packages import require
from mocpack.common.texts import escape_cell
from mocpack.errors import UsageError
from mocpack.io.atomic import write_atomically
from mocpack.metrics import METRICS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLAIN = {"Date": None, "Creator": None}  # the same figure is the same file
ALL_FAILED = "every row failed"
DRAWN = ("max_error_mm", "mean_mm", "velocity_cm_s")
COLUMNS = {
    "clip": "clip",
    "codec": "codec",
    "target": "target",
    "failure": "failure",
    "frames": "frames",
    "payload_bytes": "payload B",
    "file_bytes": "file B",
    "with_model_bytes": "with model B",
    "bits_per_frame": "bits/frame",
    "ratio_float32": "ratio",
    "max_error_mm": "largest mm",
    "p99_mm": "p99 mm",
    "mean_mm": "mean mm",
    "velocity_cm_s": "velocity cm/s",
    "foot_skate_cm_s": "skate cm/s",
    "sk_ted": "SkTED",
    "e30": "E30 mm²",
    "e30_source": "source's E30",
    "encode_fps": "encode f/s",
    "decode_fps": "decode f/s",
    "encode_peak_mb": "encode MB",
    "decode_peak_mb": "decode MB",
}


def write_report(
    rows: Sequence[Row],
    out: Path,
    head: Mapping[str, str],
    *,
    anchor: str | None = None,
    metrics: Sequence[str] = DRAWN,
) -> Path:
    """Write ``report.html``, and each plot as SVG and PNG, to `out`; BD-rates as ``bd.csv`` too."""
    labels = {key: metric_label(key) for key in metrics}
    sections: list[str] = []
    missing: dict[str, list[str]] = {}
    for name, (title, figure) in make_figures(rows, labels).items():
        if isinstance(figure, str):
            missing.setdefault(figure, []).append(title)
            continue
        shown = _write_plot(figure, out, name)
        sections.append(f"<section id={name}><h2>{html.escape(title)}</h2>{shown}</section>")
    if anchor is not None:
        write_bd_rates(rows, anchor, metrics, out / "bd.csv")
        sections.insert(0, _format_bd_rates(rows, anchor, labels))
    for why, titles in missing.items():
        words = html.escape(f"Not drawn, because {why}: {', '.join(titles)}.")
        sections.append(f"<p class='note whole'>{words}</p>")
    facts = "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in head.items())
    page = Template(_read_asset("report.html")).substitute(
        style=_read_asset("report.css"),
        script=_read_asset("report.js"),
        verdict="".join(f"<p>{html.escape(sentence)}</p>" for sentence in verdict(rows)),
        facts=facts,
        plots="".join(sections),
        table=_format_rows(rows),
    )
    path = out / "report.html"
    write_atomically(page.encode(), path)
    return path


def _write_plot(figure: Figure, out: Path, name: str) -> str:
    """Write a plot as PNG and SVG; return the SVG for the page, with text as text."""
    matplotlib = require("matplotlib", extra="bench", purpose="plots of the bench")
    figure.savefig(out / f"{name}.png", dpi=110)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(out / f"{name}.svg", metadata=PLAIN)
    return _make_embeddable((out / f"{name}.svg").read_text(encoding="utf-8"), name)


def _read_asset(name: str) -> str:
    """Return the text of a file of this folder."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _make_embeddable(svg: str, name: str) -> str:
    """Return an SVG to put into a page: no head, no fixed size, ids that begin with `name`."""
    text = svg[svg.index("<svg") :]
    text = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", text)
    opening = r'^<svg[^>]*viewBox="([^"]*)"[^>]*>'
    return re.sub(opening, r'<svg viewBox="\1" role="img">', text, count=1)


def metric_label(key: str) -> str:
    """Return a metric's title and unit."""
    metric = next((m for m in METRICS if m.key == key), None)
    if metric is None:
        raise UsageError(f"unknown metric {key!r}; metrics: {', '.join(m.key for m in METRICS)}")
    return f"{metric.title}, {metric.unit}".removesuffix(", ")


def make_figures(
    rows: Sequence[Row], labels: Mapping[str, str]
) -> dict[str, tuple[str, Figure | str]]:
    """Return title and figure of every plot by file name, or the reason why there is no figure."""
    good = [r for r in rows if r.get("failure") is None]
    figures: dict[str, tuple[str, Figure | str]] = {}
    for metric, label in labels.items():
        curve: Figure | str = plots.plot_rate_distortion(rows, metric, label)
        if not any((get_number(r, metric) or 0) > plots.EXACT for r in good):
            curve = "no row has this error above rounding" if good else ALL_FAILED
        figures[f"rd_{metric}"] = f"Rate against {label}", curve
    sized = any(r.get("target") for r in good)
    bars: Figure | str = "no target was set (--target)" if good else ALL_FAILED
    figures["size"] = "Size at equal target", plots.plot_sizes(rows) if sized else bars
    return figures


def bd_table(
    rows: Sequence[Row], anchor: str, metric: str
) -> list[tuple[str, float | None, dict[str, float]]]:
    """Return (codec, mean BD-rate against the anchor, BD-rate by clip) for every other codec."""
    known = curves(rows, metric)
    table = []
    for codec in dict.fromkeys(r["codec"] for r in rows):
        by_clip = {}
        for (clip, name), curve in known.items():
            if name == codec and (clip, anchor) in known:
                difference = bd_rate(known[clip, anchor], curve)
                if difference is not None:
                    by_clip[clip] = difference
        mean = None
        if by_clip:
            mean = float(np.exp(np.mean(np.log1p(list(by_clip.values())))) - 1)
        table.append((codec, mean, by_clip))
    return table


def write_bd_rates(rows: Sequence[Row], anchor: str, metrics: Sequence[str], path: Path) -> None:
    """Write every BD-rate against the anchor, clip by clip and averaged, as fractions."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["metric", "codec", "clip", f"bd_rate_against_{anchor}"])
        for metric in metrics:
            for codec, mean, by_clip in bd_table(rows, anchor, metric):
                for clip, value in [("mean", mean), *by_clip.items()]:
                    if value is not None:
                        writer.writerow([metric, codec, escape_cell(clip), f"{value:.6f}"])


def _format_bd_rates(rows: Sequence[Row], anchor: str, labels: Mapping[str, str]) -> str:
    lines = []
    title = f"<h2>BD-rate against {html.escape(anchor)}</h2>"
    for metric, label in labels.items():
        for codec, mean, by_clip in bd_table(rows, anchor, metric):
            if codec != anchor and mean is not None:
                clips = ", ".join(f"{c} {100 * d:+.1f} %" for c, d in by_clip.items())
                lines.append(
                    f"<tr><td>{html.escape(codec)}</td><td>{html.escape(label)}</td>"
                    f"<td class=n>{100 * mean:+.1f} %</td>"
                    f"<td class=long>{html.escape(clips)}</td></tr>"
                )
    if not lines:
        return (
            f"<p class='note whole'>No BD-rate against {html.escape(anchor)}: it needs three sizes "
            "of a clip by the anchor and by another codec, whose errors overlap.</p>"
        )
    return (
        f"<section class=whole id=bd>{title}<p>Bytes more (+) or fewer (−) at "
        "equal error, on average over the range of errors that both reach.</p><div class=wide>"
        "<table><thead><tr><th>codec<th>error<th>mean<th>by clip</thead><tbody>"
        + "".join(lines)
        + "</tbody></table></div></section>"
    )


def _format_rows(rows: Sequence[Row]) -> str:
    shown = {k: title for k, title in COLUMNS.items() if any(r.get(k) is not None for r in rows)}
    if all(r.get("with_model_bytes") == r.get("file_bytes") for r in rows):
        shown.pop("with_model_bytes", None)  # it says nothing new
    head = "".join(f"<th>{html.escape(title)}" for title in shown.values())
    lines = []
    for row in rows:
        values = dict(row) | {"target": plots.format_target(row.get("target")) or row.get("target")}
        cells = "".join(_format_cell(values.get(name)) for name in shown)
        lines.append(f"<tr{' class=bad' if row.get('failure') else ''}>{cells}</tr>")
    return f"<table id=rows><thead><tr>{head}</thead><tbody>{''.join(lines)}</tbody></table>"


def _format_cell(value: object) -> str:
    if value is None:
        return "<td>"
    if isinstance(value, str):
        wide = " class=long" if len(value) > 40 else ""
        words = re.sub("([_,:/=])", r"\1<wbr>", html.escape(value, quote=False))
        return f"<td{wide}>{words}"  # long names wrap between their words
    assert isinstance(value, int | float)
    text = f"{value:,}" if isinstance(value, int) else _format_number(value)
    return f'<td class=n data-v="{float(value)!r}">{text}'


def _format_number(value: float) -> str:
    """Return a number with four digits, without an exponent; rounding errors become 0.

    >>> _format_number(0.81491), _format_number(12345.678), _format_number(1.2e-13)
    ('0.8149', '12,346', '0')
    """
    return "0" if abs(value) < plots.EXACT else plots.format_tick(value)
