"""Tables 1 and 2 and figures 2 to 5 of the rate-distortion optimised paper, made again.

L. Váša and G. Brunnett, "Rate-distortion optimized compression of motion capture data" (2014).
Its kB are taken as 1000 bytes, its ME as centimetres (it names no unit; mm would be 10 times off).
Our sizes are whole .mocp files, skeleton and names included. SkTED's two constants are not in the
paper, so its absolute values cannot be compared, only ours among themselves.

    python -m mocpack.bench.papers.vasa
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mocpack import _api
from mocpack.bench.datasets import describe_missing, find_clip, find_clips_of
from mocpack.bench.papers.capsule_body import capsule_body, skin
from mocpack.bench.report.figures import new_figure
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.runner.timing import fastest
from mocpack.clip import Clip
from mocpack.codec import Goal, Trial
from mocpack.codecs.rd_pca import RdPca
from mocpack.codecs.rd_pca.equalisation import kinematic_gram, noise_sensitivities
from mocpack.metrics.papers import sk_ted
from mocpack.metrics.vertices import sted_temporal
from mocpack.tuning import Tuned, try_setting, tune


@dataclass(frozen=True)
class Printed:
    """A row of Table 1: another method's size and error, and the paper's own; kB, cm."""

    clip: str
    metric: str
    rival: str
    rival_size: float
    rival_error: float
    size: float
    error: float


TABLE_1 = (
    Printed("15_04", "me", "Lin 2011", 76.9, 1.86, 63.2, 0.70),
    Printed("17_08", "me", "Lin 2011", 26.7, 1.58, 25.4, 0.70),
    Printed("17_10", "me", "Lin 2011", 16.5, 2.57, 17.2, 0.99),
    Printed("85_12", "me", "Lin 2011", 23.1, 5.02, 24.2, 1.87),
    Printed("15_04", "skted", "Lin 2011", 76.9, 0.38, 74.2, 0.14),
    Printed("17_08", "skted", "Lin 2011", 26.7, 0.45, 26.0, 0.27),
    Printed("17_10", "skted", "Lin 2011", 16.5, 1.01, 16.9, 0.74),
    Printed("85_12", "skted", "Lin 2011", 23.1, 1.40, 24.1, 0.75),
    Printed("15_04", "me", "Tournier 2009", 127.8, 2.12, 124.4, 0.29),
    Printed("17_08", "me", "Tournier 2009", 13.4, 1.29, 13.6, 1.92),
    Printed("17_10", "me", "Tournier 2009", 16.9, 2.16, 17.2, 0.99),
    Printed("85_12", "me", "Tournier 2009", 14.3, 6.26, 14.8, 3.71),
)
TABLE_2 = {  # preparation, encoding and decoding, in seconds, on a Core i7-920
    "15_04": (15.4, 8.64, 1.05),
    "17_08": (4.34, 2.14, 0.35),
    "17_10": (1.92, 0.98, 0.18),
    "85_12": (3.15, 1.51, 0.28),
}
CORRELATED = {"05_03": "dance", "02_01": "walk", "17_10": "boxing", "85_12": "acrobatics"}
DRAWN = ("05_03", "02_01")  # figures 2 and 3: a dance and a walk
MOST_SKINNED = 480  # frames of a clip to skin
CHARTED = ("17_10", "85_12")  # figures 4 and 5
PARTS: dict[str, dict[str, Any]] = {
    "all": {},
    "without PPCA": {"ppca": False},
    "without TPCA": {"tpca": False},
    "without LE": {"le": "off"},
}
LAMS = [0.0007 * 2**k for k in range(9)]  # metres
METRICS = {"me": "ME, cm", "skted": "SkTED"}


def reproduce(data: Path | None, out: Path) -> None:
    """Print the paper's figures beside ours; write tables and pictures to `out`."""
    names = dict.fromkeys((*TABLE_2, *CORRELATED, *CHARTED))
    found = find_clips_of([f"cmu/{name}" for name in names], data)
    for name in names:
        if f"cmu/{name}" not in found:
            print(f"Left out: {describe_missing(f'cmu/{name}')}.", file=sys.stderr)
    out.mkdir(parents=True, exist_ok=True)
    table_1(data, out)
    table_2(data, out)
    figures_2_and_3(data, out)
    figures_4_and_5(data, out)


def table_1(data: Path | None, out: Path) -> None:
    """Search the parameters at each of the paper's sizes."""
    rows = []
    found: dict[tuple[str, str, float], Tuned] = {}
    for line in TABLE_1:
        clip = _clip(data, line.clip)
        if clip is None:
            rows.append(_table_1_row(line, None))
            continue
        key = (line.clip, line.metric, line.size)
        if key not in found:
            goal = Goal(line.metric, size=round(1000 * line.size))
            found[key] = tune(clip, RdPca(), goal, jobs=0)
        rows.append(_table_1_row(line, found[key]))
    title = "Table 1: at the paper's size, whole files (ME in cm)"
    _write(rows, title, out / "table-1")


def _table_1_row(line: Printed, found: Tuned | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "clip": line.clip,
        "metric": line.metric,
        "against": line.rival,
        "its kB": line.rival_size,
        "its error": line.rival_error,
        "paper kB": line.size,
        "paper error": line.error,
    }
    if found is None:
        return row | {"ours kB": "no clip"}
    plain = [t for t in found.trials if _only_lam(t)]
    default = Goal(line.metric, size=round(1000 * line.size)).best(plain)
    return row | {
        "default kB": "" if default is None else _kb(default.size),
        "default error": "" if default is None else f"{default.error:.3f}",
        "ours kB": _kb(found.best.size),
        "payload kB": _kb(found.best.payload),
        "ours error": f"{found.best.error:.3f}",
        "ours / paper": f"{found.best.error / line.error:.2f}",
        "trials": len(found.trials),
        "setting": _changes(found.best),
    }


def table_2(data: Path | None, out: Path) -> None:
    """Time preparation, encoding and decoding with the default configuration."""
    rows = []
    for name, printed in TABLE_2.items():
        clip = _clip(data, name)
        if clip is None:
            continue
        codec, frames = RdPca(), clip.frame_count
        payload = codec.encode(clip)
        by_noise = fastest(partial(noise_sensitivities, clip, _mean_error), 1)
        by_kinematics = fastest(partial(kinematic_gram, clip), 5)
        encode = fastest(partial(codec.encode, clip), 5)
        decode = fastest(partial(codec.decode, payload, clip.header), 9)
        rows.append(
            {
                "clip": name,
                "frames": frames,
                "paper prep s": printed[0],
                "ours, noise s": f"{by_noise:.2f}",
                "ours, kinematics s": f"{by_kinematics:.4f}",
                "paper enc f/s": round(frames / printed[1]),
                "ours enc f/s": round(frames / encode),
                "paper dec f/s": round(frames / printed[2]),
                "ours dec f/s": round(frames / decode),
            }
        )
    _write(rows, "Table 2: speed; encoding includes its preparation", out / "table-2")


def figures_2_and_3(data: Path | None, out: Path) -> None:
    """Correlate SkTED with the temporal part of STED on a capsule body, over many distortions."""
    rows, points = [], {}
    for name, kind in CORRELATED.items():
        clip = _clip(data, name)
        if clip is None:
            continue
        clip = clip.frames(0, min(clip.frame_count, MOST_SKINNED))
        points[name] = _both_teds(clip)
        sk, st = (np.array(values) for values in zip(*points[name].values(), strict=True))
        rows.append(
            {
                "clip": name,
                "motion": kind,
                "distortions": sk.size,
                **{d: f"{_pearson(*points[name][d]):.4f}" for d in points[name]},
                "all": f"{_pearson(sk.ravel(), st.ravel()):.4f}",
                "paper": "> 0.99",
            }
        )
    _write(rows, "Correlation (Pearson) of SkTED with STED's temporal part", out / "correlation")
    for number, name in enumerate((n for n in DRAWN if n in points), 2):
        figure = new_figure(5, 4)
        plot = figure.add_subplot()
        for kind, (sk_teds, steds) in points[name].items():
            plot.plot(steds, sk_teds, "o-", markersize=4, label=kind)
        plot.set(xlabel="STED, temporal part", ylabel="SkTED", title=f"{name}, {CORRELATED[name]}")
        plot.legend(frameon=False)
        figure.savefig(out / f"figure-{number}.png", dpi=150)


def _both_teds(clip: Clip) -> dict[str, tuple[list[float], list[float]]]:
    """Return SkTED and STED's temporal part, by kind of distortion, at growing strength."""
    body = capsule_body(clip.skeleton)
    surface, joints = skin(clip, body).vertices, clip.positions()
    out: dict[str, tuple[list[float], list[float]]] = {}
    for kind, codec in _distortions():
        decoded = codec.decode(codec.encode(clip), clip.header)
        sk = sk_ted(joints, decoded.positions())
        st = sted_temporal(surface, skin(decoded, body).vertices)
        assert sk is not None
        assert st is not None
        sks, sts = out.setdefault(kind, ([], []))
        sks.append(sk)
        sts.append(st)
    return out


def _distortions() -> Iterator[tuple[str, RdPca]]:
    fine = RdPca(lam=0.0005)
    for strength in (0, 1, 2, 3, 4):
        yield "dimension", replace(fine, K=24 - 5 * strength)
        yield "bases", replace(fine, Q_l=4.0 * 2.5**strength, Q_g=4.0 * 2.5**strength)
        yield "coefficients", replace(fine, lam=0.001 * 2.2**strength)


def figures_4_and_5(data: Path | None, out: Path) -> None:
    """Sweep λ with each part of the method left out in turn."""
    rows: list[dict[str, Any]] = []
    for name in CHARTED:
        clip = _clip(data, name)
        if clip is None:
            continue
        for part, changes in PARTS.items():
            for lam in LAMS:
                codec = replace(RdPca(lam=lam), **changes)
                me = try_setting(clip, codec, "me")
                decoded = codec.decode(codec.encode(clip), clip.header)
                skted = sk_ted(clip.positions(), decoded.positions())
                rows.append(
                    {"clip": name, "part": part, "bytes": me.size, "me": me.error, "skted": skted}
                )
    with (out / "ablation.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["clip", "part", "bytes", "me", "skted"])
        writer.writeheader()
        writer.writerows(rows)
    _write(_at_sizes(rows), "Error at equal size, one part left out", out / "ablation")
    for number, name in enumerate(CHARTED, 4):
        _chart([r for r in rows if r["clip"] == name], name, out / f"figure-{number}.png")


def _at_sizes(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Interpolate each curve at the paper's sizes."""
    out = []
    for line in TABLE_1:
        for metric in METRICS if line.rival.startswith("Lin") and line.metric == "me" else ():
            mine = [r for r in rows if r["clip"] == line.clip]
            if mine:
                found = {p: _interpolated(mine, p, metric, 1000 * line.size) for p in PARTS}
                cells = {part: f"{value:.3f}" for part, value in found.items()}
                out.append({"clip": line.clip, "kB": line.size, "error": METRICS[metric], **cells})
    return out


def _interpolated(rows: Sequence[dict[str, Any]], part: str, metric: str, size: float) -> float:
    points = sorted((r["bytes"], r[metric]) for r in rows if r["part"] == part)
    sizes, errors = np.log(np.array(points)).T
    return float(np.exp(np.interp(np.log(size), sizes, errors)))


def _chart(rows: Sequence[dict[str, Any]], name: str, path: Path) -> None:
    figure = new_figure(10, 4)
    for plot, (metric, label) in zip(figure.subplots(1, 2), METRICS.items(), strict=True):
        for part in PARTS:
            points = sorted((r["bytes"] / 1000, r[metric]) for r in rows if r["part"] == part)
            plot.plot(*zip(*points, strict=True), "o-", markersize=3, label=part)
        for line in TABLE_1:
            if line.clip == name and line.metric == metric:
                plot.plot(line.rival_size, line.rival_error, "kx")
                plot.annotate(line.rival, (line.rival_size, line.rival_error), fontsize=7)
                plot.plot(line.size, line.error, "k+")
                plot.annotate("the paper", (line.size, line.error), fontsize=7)
        plot.set(xlabel="file, kB", ylabel=label, xscale="log", yscale="log", title=name)
        plot.legend(frameon=False)
    figure.savefig(path, dpi=150)


def _clip(data: Path | None, name: str) -> Clip | None:
    """Read a clip without the T-pose that the conversion added; None where it is not here."""
    path = find_clip(f"cmu/{name}", data)
    if path is None:
        return None
    clip = _api.read(path)
    assert isinstance(clip, Clip)
    return clip.frames(1, clip.frame_count)


def _mean_error(original: Clip, noisy: Clip) -> float:
    return float(np.linalg.norm(original.positions() - noisy.positions(), axis=-1).mean())


def _pearson(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    return float(np.corrcoef(np.asarray(a), np.asarray(b))[0, 1])


def _only_lam(trial: Trial) -> bool:
    """Say whether a trial is the default configuration with another λ."""
    codec = trial.codec
    assert isinstance(codec, RdPca)
    return codec == RdPca(lam=codec.lam)


def _changes(trial: Trial) -> str:
    default = RdPca().params()
    changed = {k: v for k, v in trial.codec.params().items() if v != default[k]}
    return ",".join(f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in changed.items())


def _kb(size: int) -> str:
    return f"{size / 1000:.1f}"


def _write(rows: Sequence[dict[str, Any]], title: str, path: Path) -> None:
    """Print a table, and write it as Markdown and CSV."""
    if not rows:
        print(f"{title}: none of its clips is here")
        return
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = markdown_table(names, ([row.get(n, "") for n in names] for row in rows))
    text = f"## {title}\n\n{table}\n"
    print(text, flush=True)
    path.with_suffix(".md").write_text(text, encoding="utf-8")
    with path.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    reproduce(None, Path(sys.argv[1] if len(sys.argv) > 1 else "report"))
