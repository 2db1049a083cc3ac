"""Summarize the rows in sentences for the top of a report."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mocpack.bench.report.plots import format_target
from mocpack.bench.rows import Row
from mocpack.common.texts import count_of

MAX_NAMES = 40  # of clips in a sentence


def verdict(rows: Sequence[Row]) -> list[str]:
    """Return the smallest codec at each target with its margin, then failures.

    Sizes are geometric means over the clips that every codec in the comparison has packed.
    """
    good = [r for r in rows if r.get("failure") is None]
    if not good:
        return [
            f"Nothing was packed: {'the only row' if len(rows) == 1 else f'all {len(rows)} rows'} "
            "failed."
        ]
    targets = dict.fromkeys(target for r in good if (target := r.get("target")))
    sentences = [_compare_sizes(rows, target) for target in targets]
    if not sentences:
        sentences = ["No target was set, so sizes are not at equal error; compare the curves."]
    clips = len({r["clip"] for r in rows})
    if clips == 1:
        sentences.append("Only one clip was measured; others may differ.")
    return [*sentences, _describe_clips(rows), *_describe_failures(rows)]


def _compare_sizes(rows: Sequence[Row], target: str) -> str:
    """Describe the smallest codec at one target."""
    sizes = {(r["codec"], r["clip"]): r for r in rows if r.get("target") == target}
    packed = {key: r["file_bytes"] for key, r in sizes.items() if r.get("failure") is None}
    codecs = list(dict.fromkeys(codec for codec, _ in packed))
    clips = [
        c
        for c in dict.fromkeys(clip for _, clip in sizes)
        if all((codec, c) in packed for codec in codecs)
    ]
    words = format_target(target)
    if len(codecs) < 2:
        total = np.mean(list(packed.values()))
        return (
            f"{words}: {codecs[0]} takes {total:,.0f} bytes per clip; no other codec was measured."
        )
    if not clips:
        return f"{words}: no clip was packed by all codecs, so sizes are not compared."
    means = {c: float(np.exp(np.mean(np.log([packed[c, clip] for clip in clips])))) for c in codecs}
    first, second = sorted(codecs, key=means.__getitem__)[:2]
    wins = sum(packed[first, c] == min(packed[k, c] for k in codecs) for c in clips)
    return (
        f"{words}: {first} is smallest on {wins} of {count_of(len(clips), 'clip')}, "
        f"{means[first]:,.0f} bytes per file on average, {means[first] / means[second]:.2f} times "
        f"the size of {second}, the second smallest."
    )


def _describe_clips(rows: Sequence[Row]) -> str:
    """Describe the clips in the means: those that every codec packed at every target."""
    clips = list(dict.fromkeys(r["clip"] for r in rows))
    failed = {r["clip"] for r in rows if r.get("failure") is not None}
    counted = [clip for clip in clips if clip not in failed]
    if not failed:
        return f"Every codec packed all {count_of(len(clips), 'clip')}, so all count."
    names = ", ".join(counted[:MAX_NAMES]) + (", …" if len(counted) > MAX_NAMES else "")
    return f"Clips that every codec packed at every target: {len(counted)} ({names or 'none'})."


def _describe_failures(rows: Sequence[Row]) -> list[str]:
    failed = [r for r in rows if r.get("failure") is not None]
    if not failed:
        return []
    codecs = dict.fromkeys(r["codec"] for r in failed)
    each = [
        f"{codec} ({sum(r['codec'] == codec for r in failed)} of "
        f"{sum(r['codec'] == codec for r in rows)})"
        for codec in codecs
    ]
    return [f"Rows that failed, and are in no mean: {', '.join(each)}."]
