"""The bench as one HTML file that needs nothing else: plots, a sortable table, the worst frame."""

from __future__ import annotations

import csv
import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from mocpack.bench.report import plots
from mocpack.bench.report.assets import asset, own_ids
from mocpack.bench.report.curves import bd_rate, curves
from mocpack.errors import UsageError
from mocpack.io.table import write_atomically
from mocpack.metrics import METRICS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = Mapping[str, Any]

PLAIN = {"Date": None, "Creator": None}  # the same figure is the same file
DRAWN = ("max_error_mm", "mean_mm", "velocity_cm_s")
STRIPS = 8  # codecs at most in the pictures that have a strip for each
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
    reference: Sequence[Row] = (),
    metrics: Sequence[str] = DRAWN,
) -> Path:
    """Write ``report.html``, and each plot as SVG and PNG, to `out`; BD-rates as ``bd.csv`` too."""
    labels = {key: metric_label(key) for key in metrics}
    sections = []
    for name, (title, figure) in make_figures(rows, labels, reference).items():
        figure.savefig(out / f"{name}.png", dpi=110)
        figure.savefig(out / f"{name}.svg", metadata=PLAIN)
        drawing = own_ids((out / f"{name}.svg").read_text(encoding="utf-8"), name)
        sections.append(f"<section><h2>{html.escape(title)}</h2>{drawing}</section>")
    if anchor is not None:
        write_bd_rates(rows, anchor, metrics, out / "bd.csv")
        sections.insert(0, _bd_section(rows, anchor, labels))
    facts = "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in head.items())
    page = Template(asset("report.html")).substitute(
        style=asset("report.css"),
        script=asset("report.js"),
        facts=facts,
        plots="".join(sections),
        table=_table(rows),
    )
    path = out / "report.html"
    write_atomically(page.encode(), path)
    return path


def metric_label(key: str) -> str:
    """Return a metric's title and unit."""
    found = next((m for m in METRICS if m.key == key), None)
    if found is None:
        raise UsageError(f"no metric {key!r}; there are: {', '.join(m.key for m in METRICS)}")
    return f"{found.title}, {found.unit}".removesuffix(", ")


def make_figures(
    rows: Sequence[Row], labels: Mapping[str, str], reference: Sequence[Row] = ()
) -> dict[str, tuple[str, Figure]]:
    """Return every picture that the rows allow, by file name, with its title."""
    good = [r for r in rows if r.get("failure") is None]
    if not good:
        return {}
    figures = {
        f"rd_{metric}": (
            f"Rate against {label}",
            plots.rate_distortion(good, metric, label, reference=reference),
        )
        for metric, label in labels.items()
        if any(r.get(metric) for r in good)
    }
    if any(r.get("target") for r in good):
        figures["size"] = ("Size at equal target", plots.size_bars(good))
    figures["bytes"] = ("Where the bytes went", plots.byte_parts(good))
    drawn = [r for r in good if r.get("detail")]
    return figures | (_close_ups(drawn) if drawn else {})


def _close_ups(drawn: Sequence[Row]) -> dict[str, tuple[str, Figure]]:
    """Return the pictures of one clip: the one with the largest error of all, at that target."""
    worst = max(drawn, key=lambda r: float(r["max_error_mm"]))
    clip = [r for r in drawn if r["clip"] == worst["clip"]]
    same = [r for r in clip if r["target"] == worst["target"]][:STRIPS]
    where = f"{worst['clip']} {plots.target_words(worst['target'])}".strip()
    return {
        "joints": (f"Largest error by joint, {worst['clip']}", plots.joint_heat(clip)),
        "time": (f"Error over time, {where}", plots.error_over_time(same)),
        "map": (f"Error by joint and time, {where}", plots.error_map(same)),
        "pose": ("The worst frame of all", plots.worst_pose(worst)),
    }


def bd_table(
    rows: Sequence[Row], anchor: str, metric: str
) -> list[tuple[str, float | None, dict[str, float]]]:
    """Return (codec, mean BD-rate against the anchor, BD-rate by clip) for every other codec."""
    found = curves(rows, metric)
    table = []
    for codec in dict.fromkeys(r["codec"] for r in rows):
        by_clip = {}
        for (clip, name), curve in found.items():
            if name == codec and (clip, anchor) in found:
                difference = bd_rate(found[clip, anchor], curve)
                if difference is not None:
                    by_clip[clip] = difference
        mean = None
        if by_clip:
            mean = float(np.exp(np.mean(np.log1p(list(by_clip.values())))) - 1)
        table.append((codec, mean, by_clip))
    return table


def write_bd_rates(rows: Sequence[Row], anchor: str, metrics: Sequence[str], path: Path) -> None:
    """Write every BD-rate against the anchor, clip by clip and averaged, as fractions."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["metric", "codec", "clip", f"bd_rate_against_{anchor}"])
        for metric in metrics:
            for codec, mean, by_clip in bd_table(rows, anchor, metric):
                for clip, value in [("mean", mean), *by_clip.items()]:
                    if value is not None:
                        writer.writerow([metric, codec, clip, f"{value:.6f}"])


def _bd_section(rows: Sequence[Row], anchor: str, labels: Mapping[str, str]) -> str:
    lines = []
    for metric, label in labels.items():
        for codec, mean, by_clip in bd_table(rows, anchor, metric):
            if codec != anchor and mean is not None:
                clips = ", ".join(f"{c} {100 * d:+.1f} %" for c, d in by_clip.items())
                lines.append(
                    f"<tr><td>{html.escape(codec)}</td><td>{html.escape(label)}</td>"
                    f"<td class=n>{100 * mean:+.1f} %</td><td>{html.escape(clips)}</td></tr>"
                )
    return (
        f"<section><h2>BD-rate against {html.escape(anchor)}</h2><p>Bytes more (+) or fewer (−) at "
        "equal error, on average over the range of errors that both reach.</p><div class=wide>"
        "<table><thead><tr><th>codec<th>error<th>mean<th>by clip</thead><tbody>"
        + "".join(lines)
        + "</tbody></table></div></section>"
    )


def _table(rows: Sequence[Row]) -> str:
    shown = {k: title for k, title in COLUMNS.items() if any(r.get(k) is not None for r in rows)}
    head = "".join(f"<th>{html.escape(title)}" for title in shown.values())
    lines = []
    for row in rows:
        cells = "".join(_cell(row.get(name)) for name in shown)
        lines.append(f"<tr{' class=bad' if row.get('failure') else ''}>{cells}</tr>")
    return f"<table id=rows><thead><tr>{head}</thead><tbody>{''.join(lines)}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None:
        return "<td>"
    if isinstance(value, str):
        wide = " class=long" if len(value) > 40 else ""
        return f"<td{wide}>{html.escape(value)}"
    text = f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return f'<td class=n data-v="{float(value)!r}">{text}'
