"""A line for each row that Li, Okuda and Takahashi (2008) print, and for what its figures say."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from mocpack.bench.datasets import describe_missing
from mocpack.bench.papers.verdicts import NONE, Line, claim, compare, verdict
from mocpack.clip import Clip
from mocpack.papers.li.tables.curves import MOTIONS, Curves, at_rate

METHODS_COMPARED = ("IKBP as printed", "SPBLF", "FKBC", "IBKF", "DWT")
ROW_OF = {"IKBP": "IKBP as printed"}  # the paper's name of a method, where ours is another
LEADS_AT = (0.7, 1.4, 2.2, 3.0, 4.1)  # rates at which it is asked who leads
CHAIN = ("LeftShoulder", "LeftArm", "LeftForeArm", "LeftHand")
TABLES = {1: "walk", 2: "walk", 3: "ballet", 4: "ballet"}  # by number, the motion of each
VISIBLE = 1.12  # H above which the paper sees no difference in the walk
WITHIN = 0.3  # of the printed error, where neither its unit nor its steps are known
UNSEEN = 1.0  # cm of mean error that we take for not seen
MILLISECONDS = {  # table 6: encoding and decoding a frame of the walk
    "IKBP": ("1.26", "1.32"),
    "SPBLF": ("0.96", "1.09"),
    "FKBC": ("1.12", "1.20"),
    "IBKF": ("1.08", "1.20"),
    "DWT": ("1.12", "1.15"),
}
FRAMES = {
    "walk": (580, 0.00833),
    "ballet": (388, 0.04),
    "throw": (179, 1 / 30),
    "kick": (147, 1 / 30),
}


@dataclass(frozen=True)
class ArmRow:
    """A row of tables 1 to 4 beside ours: errors of the left arm's joints at one rate.

    Attributes
    ----------
    method, entropy
        Which curve of ours, and where on it.
    ours : list of float, or None
        In cm or degrees; None where no setting has that rate.
    printed : list of float
        Infinite where the paper prints that the error is above 100.
    """

    method: str
    entropy: float
    ours: list[float] | None
    printed: list[float]
    verdict: str


def paper_lines(
    curves: Curves, clips: Mapping[str, Clip], times: Mapping[str, tuple[float, float]]
) -> list[Line]:
    """Return all lines; `times` are seconds of processor time to encode and decode a frame."""
    lines = [*_motion_lines(clips), *_leader_lines(curves), *_seen_lines(curves)]
    for number, motion in TABLES.items():
        if motion in clips:
            lines += _arm_lines(number, arm_rows(number, curves, clips))
    for name, seconds in times.items():
        for work, ours, printed in zip(
            ("encoding", "decoding"), seconds, MILLISECONDS[name], strict=True
        ):
            what = f"{name}, {work} a frame of the walk, ms"
            lines.append(compare("Table 6", what, 1000 * ours, printed))
    return lines


def arm_rows(number: int, curves: Curves, clips: Mapping[str, Clip]) -> Iterator[ArmRow]:
    """Return the rows of one of tables 1 to 4, at the paper's rates."""
    motion, value = TABLES[number], "angle" if number % 2 == 0 else "position"
    scale = np.degrees(1.0) if number % 2 == 0 else 100.0
    joints = [clips[motion].skeleton.index(name) for name in chain_of(number)]
    for row in _printed(number):
        entropy, method = float(row["entropy"]), ROW_OF.get(row["method"], row["method"])
        found = at_rate(curves[motion][method], entropy, value)
        ours = None if found is None else [float(scale * found[j]) for j in joints]
        printed = [float(row[f"joint_{k + 1}"]) for k in range(len(joints))]
        yield ArmRow(method, entropy, ours, printed, _arm_verdict(number, ours, printed))


def chain_of(number: int) -> tuple[str, ...]:
    """Return the joints of a table's columns: the ballet's chain begins at the upper arm."""
    return CHAIN if TABLES[number] == "walk" else CHAIN[1:]


def leaders(curves: Curves, motion: str, rate: str) -> list[str]:
    """Return which of the paper's methods has the least mean position error at each rate."""
    leads = []
    for at in LEADS_AT:
        found = {m: at_rate(curves[motion][m], at, "position", rate) for m in METHODS_COMPARED}
        means = {m: float(e.mean()) for m, e in found.items() if e is not None}
        leads.append(min(means, key=means.__getitem__) if means else NONE)
    return leads


def leads_everywhere(leads: list[str]) -> str:
    """Return the verdict on the paper's claim that IKBP leads at every rate."""
    won = leads.count("IKBP as printed")
    return "same" if won == len(leads) else f"different: IKBP leads at {won} of {len(leads)}"


def _motion_lines(clips: Mapping[str, Clip]) -> Iterator[Line]:
    for motion in MOTIONS:
        frames, frame_time = FRAMES[motion.name]
        clip = clips.get(motion.name)
        why = "another clip, the paper's is not public" if clip else describe_missing(motion.clip)
        ours = None if clip is None else clip.frame_count
        what = f"{motion.name}, frames"
        yield compare(
            "Table 5", what, ours, str(frames), form="d", less_is_better=None, within=0.0, why=why
        )
        ours_time = None if clip is None else clip.frame_time
        what = f"{motion.name}, seconds a frame"
        printed = f"{frame_time:.5f}"
        yield compare("Table 5", what, ours_time, printed, form=".5f", less_is_better=None, why=why)


def _leader_lines(curves: Curves) -> Iterator[Line]:
    for motion in curves:
        leads = leaders(curves, motion, "angles")
        at = ", ".join(f"{rate:g}" for rate in LEADS_AT)
        what = f"{motion}, who leads in position at H {at}"
        yield Line("Figure 7", what, "IKBP", ", ".join(leads), leads_everywhere(leads))
        low, high = (
            {m: at_rate(curves[motion][m], rate, "position") for m in ("FKBC", "SPBLF")}
            for rate in (LEADS_AT[0], LEADS_AT[-1])
        )
        for name, found, printed in (("low", low, "SPBLF"), ("high", high, "FKBC")):
            means = {m: float(e.mean()) for m, e in found.items() if e is not None}
            if len(means) == 2:
                better = min(means, key=means.__getitem__)
                what = f"{motion}, FKBC or SPBLF at the {name} rate"
                why = "our FKBC is `fk-wavelet`, which leads at low rates too"
                yield claim("Figure 7", what, printed, better, better == printed, why=why)


def _seen_lines(curves: Curves) -> Iterator[Line]:
    for motion, methods in curves.items():
        found = at_rate(methods["IKBP as printed"], VISIBLE, "position")
        if found is not None:
            error = 100 * float(found.mean())
            what = f"{motion}, IKBP at H {VISIBLE}, mean error"
            ours = f"{error:.2g} cm"
            why = f"over {UNSEEN:g} cm{'' if motion == 'walk' else ', and another clip'}"
            yield claim("Figure 9", what, "hardly seen", ours, error < UNSEEN, why=why)


def _arm_lines(number: int, rows: Iterator[ArmRow]) -> Iterator[Line]:
    unit = "degrees" if number % 2 == 0 else "cm"
    for row in rows:
        what = f"{row.method} at H {row.entropy:.2f}, mean of the left arm, {unit}"
        what += f" (same: within {100 * WITHIN:.0f} %)"
        printed = (
            "above 100" if not np.isfinite(row.printed).all() else f"{np.mean(row.printed):.3g}"
        )
        ours = NONE if row.ours is None else f"{np.mean(row.ours):.3g}"
        yield Line(f"Table {number}", what, printed, ours, row.verdict)


def _arm_verdict(number: int, ours: list[float] | None, printed: list[float]) -> str:
    mean = None if ours is None else float(np.mean(ours))
    if number % 2 == 0:
        return "different: the printed angles are a clamp"
    if mean is None:
        return "not made: no setting has that rate"
    if not np.isfinite(printed).all():
        return "same: worse than the scale" if mean > 10 else "better"
    why = "another clip" if number > 2 else "unit and steps are not named"
    return verdict(mean, float(np.mean(printed)), within=WITHIN, why=why)


def _printed(number: int) -> list[dict[str, str]]:
    text = files("mocpack.papers.li.tables").joinpath("li.csv").read_text(encoding="utf-8")
    return [row for row in csv.DictReader(text.splitlines()) if row["table"] == str(number)]
