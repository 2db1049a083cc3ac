"""The bench as one HTML file that needs nothing else: plots, a sortable table, the worst frame."""

from __future__ import annotations

import html
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from mocpack.bench import plots
from mocpack.bench.assets import asset, own_ids
from mocpack.bench.curves import bd_rate, curves
from mocpack.io.table import write_atomically

Row = Mapping[str, Any]

METRICS = {
    "max_error_mm": "largest error (joints, bone ends, skin), mm",
    "mean_mm": "mean joint error, mm",
    "velocity_cm_s": "velocity error, cm/s",
}
COLUMNS = {
    "clip": "clip",
    "codec": "codec",
    "target": "target",
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
    "failure": "failure",
}


def write_report(
    rows: Sequence[Row],
    out: Path,
    head: Mapping[str, str],
    *,
    anchor: str | None = None,
    reference: Sequence[Row] = (),
) -> Path:
    """Write ``report.html``, and each plot as SVG and PNG, to `out`."""
    figures = make_figures(rows, reference)
    for name, (_, figure) in figures.items():
        figure.savefig(out / f"{name}.png", dpi=110)
        (out / f"{name}.svg").write_text(_svg(figure, name))
    sections = [
        f"<section><h2>{html.escape(title)}</h2>{_svg(figure, name)}</section>"
        for name, (title, figure) in figures.items()
    ]
    if anchor is not None:
        sections.insert(0, _bd_section(rows, anchor))
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


def make_figures(
    rows: Sequence[Row], reference: Sequence[Row] = ()
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
        for metric, label in METRICS.items()
        if any(r.get(metric) for r in good)
    }
    if any(r.get("target") for r in good):
        figures["size"] = ("Size at equal target", plots.size_bars(good))
    figures["bytes"] = ("Where the bytes went", plots.byte_parts(good))
    drawn = [r for r in good if r.get("detail")]
    if drawn:
        worst = max(drawn, key=lambda r: float(r["max_error_mm"]))
        clip = [r for r in drawn if r["clip"] == worst["clip"]]
        figures["joints"] = (f"Error by joint, {worst['clip']}", plots.joint_heat(clip))
        figures["time"] = (f"Error over time, {_name(worst)}", plots.error_over_time(worst))
        figures["pose"] = ("The worst frame of all", plots.worst_pose(worst))
    return figures


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


def _bd_section(rows: Sequence[Row], anchor: str) -> str:
    lines = []
    for metric, label in METRICS.items():
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
        return f"<td>{html.escape(value)}"
    text = f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return f'<td class=n data-v="{float(value)!r}">{text}'


def _svg(figure: Figure, name: str) -> str:
    """Return a figure as inline SVG."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return own_ids(buffer.getvalue(), name)


def _name(row: Row) -> str:
    return f"{row['clip']}, {row['codec']} {row['target'] or ''}".strip()
