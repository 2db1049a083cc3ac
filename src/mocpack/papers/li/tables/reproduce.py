"""Figures 7 to 9 and tables 1 to 4 and 6 of Li, Okuda and Takahashi (2008)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from mocpack.bench.papers.measuring import interpolate_log, load_frames, mean_error, report_progress
from mocpack.bench.papers.verdicts import Results
from mocpack.bench.runner.timing import fastest
from mocpack.model.clip import Clip
from mocpack.papers.li.codec.dwt97 import Dwt97
from mocpack.papers.li.codec.fk_wavelet import FkWavelet
from mocpack.papers.li.codec.ik_predict import IkPredict
from mocpack.papers.li.codec.keyframe import Keyframe
from mocpack.papers.li.codec.last_frame import LastFrame
from mocpack.papers.li.tables.curves import (
    AS_PRINTED,
    MOTIONS,
    CountingCodec,
    Point,
    measure,
    sweep_all,
    to_rows,
)
from mocpack.papers.li.tables.lines import Extras, paper_lines, paper_timings, reading_rows

CLIPS = tuple(motion.clip for motion in MOTIONS)
REQUIRED: tuple[str, ...] = ()
VARIANTS = {
    "default": IkPredict(),
    "k = 0": IkPredict(k=0.0),
    "k = 2": IkPredict(k=2.0),
    "memory = 0": IkPredict(memory=0.0),
    "rounding = 0.5": IkPredict(rounding=0.5),
    "compensate = false": IkPredict(compensate=False),
    "extrapolate = false": IkPredict(extrapolate=False),
    "chains = none, joint_scale = 1": IkPredict(chains="none", joint_scale=1.0),
    "directions = spherical": IkPredict(directions="spherical"),
    "as printed, k = 0": replace(AS_PRINTED, k=0.0),
    "as printed, k = 1": replace(AS_PRINTED, k=1.0),
    "as printed, k = 2": AS_PRINTED,
    "twist = false": IkPredict(twist=False),
}
CUT_AT = (0.15, 0.3, 0.5)  # of a file
PAGE_NOTES = (
    "The walk is the paper's clip (CMU 16_32). CMU 05_02 (every fifth frame), CMU 124_01 (every "
    "fourth) and a Bandai Namco kick replace clips that are not public.",
    "H is the entropy of the three angles, in bits per frame and turning joint. It ignores chain "
    "ends and root, so we sweep their step. Curves have 80 points, compared at H 0.7 to 4.1.",
    "As printed: φ and ϕ, k = 2; three levels, which are not printed. We print means over the left "
    "arm, in cm.",
)


def reproduce(found: Mapping[str, Path], seeds: int) -> Results:
    """Measure everything that the paper prints on the clips that are present; nothing is random."""
    clips = {
        m.name: load_frames(found[m.clip], m.start, m.stride) for m in MOTIONS if m.clip in found
    }
    curves = sweep_all(clips)
    report_progress("parameters of ik-predict")
    variants = {
        label: {name: measure(clip, codec) for name, clip in clips.items()}
        for label, codec in VARIANTS.items()
    }
    bits_by_k = {
        name: [variants[f"as printed, k = {k}"][name].bits for k in (0, 1, 2)] for name in clips
    }
    report_progress("cut files")
    cut = {name: cut_errors(clip) for name, clip in clips.items()}
    report_progress("times")
    times = frame_times(clips["walk"]) if "walk" in clips else {}
    return Results(
        paper_lines(curves, clips, Extras(bits_by_k, cut)),
        paper_timings(times),
        {
            "curves": to_rows(curves),
            "variants": variant_rows(variants),
            "readings": reading_rows(curves),
        },
    )


def variant_rows(variants: Mapping[str, Mapping[str, Point]]) -> list[dict[str, str]]:
    """Return bits per frame and joint, and the mean error in mm, of each choice in `ik-predict`."""
    return [
        {"variant": label, "motion": name}
        | {"bits": f"{p.bits:.2f}", "e_position_mm": f"{1000 * p.position.mean():.2f}"}
        for label, points in variants.items()
        for name, p in points.items()
    ]


def cut_errors(clip: Clip) -> list[tuple[float, float]]:
    """Return E_position in mm of files cut at `CUT_AT`, and of files coded at those sizes."""
    codec, direct = FkWavelet(), []
    for q in np.geomspace(0.0015, 0.3, 14):
        single = FkWavelet(step=float(q), first_layer=1.0)
        payload = single.encode(clip)
        direct.append((len(payload), mean_error(clip, single.decode(payload, clip.header))))
    payload, found = codec.encode(clip), []
    for share in CUT_AT:
        size = int(share * len(payload))
        cut = mean_error(clip, codec.decode_partial(payload[:size], clip.header))
        whole = interpolate_log(size, direct)
        assert whole is not None
        found.append((1000 * cut, 1000 * whole))
    return found


def frame_times(clip: Clip) -> dict[str, tuple[float, float]]:
    """Return seconds of processor time to encode and to decode a frame, of the paper's methods."""
    codecs: dict[str, CountingCodec] = {
        "IKBP": IkPredict(), "SPBLF": LastFrame(), "FKBC": FkWavelet(),
        "IBKF": Keyframe(), "DWT": Dwt97(),
    }  # fmt: skip
    times = {}
    for name, codec in codecs.items():
        encode = partial(codec.encode, clip)
        decode = partial(codec.decode, encode(), clip.header)
        times[name] = fastest(encode, 7) / clip.frame_count, fastest(decode, 7) / clip.frame_count
    return times
