"""One line per row that Li, Okuda and Takahashi (2008) print, and per claim about its figures."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from mocpack.bench.papers.verdicts import NONE, UNKNOWN, Line, Timing, compare, judge_claim
from mocpack.model.clip import Clip
from mocpack.papers.li.tables.curves import Curves, Point, at_rate

METHODS_COMPARED = ("IKBP", "SPBLF", "FKBC", "IBKF", "DWT")
# our version of a method, where there is one
OURS = {"IKBP": "IKBP, ours", "FKBC": "FKBC, all levels", "DWT": "DWT, all levels"}
OWN = "walk"  # the motion that is the paper's clip
LEADS_AT = (0.7, 1.4, 2.2, 3.0, 4.1)  # rates at which methods are ranked
CHAIN = ("LeftShoulder", "LeftArm", "LeftForeArm", "LeftHand")
TABLES = {1: "walk", 2: "walk", 3: "ballet", 4: "ballet"}  # by number, the motion of each
VISIBLE = 1.12  # H above which the paper sees no difference in the walk
MAX_UNSEEN_CM = 1.0  # mean error that we regard as invisible
COMPENSATED_AT = 2.2  # H at which compensation is judged
ABOVE = 100.0  # the paper prints errors above this as "above 100"
FLOOR = "the printed errors hardly depend on the rate; ours fall with it"
DOUBLED = "k = 2 doubles what rounding adds to a velocity"
NO_SETTING = "no setting has that rate"
OTHER_CLIP = "another clip"
MILLISECONDS = {  # table 6: encoding and decoding a frame of the walk
    "IKBP": ("1.26", "1.32"),
    "SPBLF": ("0.96", "1.09"),
    "FKBC": ("1.12", "1.20"),
    "IBKF": ("1.08", "1.20"),
    "DWT": ("1.12", "1.15"),
}


@dataclass(frozen=True)
class ArmRow:
    """A row of tables 1 to 4 beside ours: errors of the left arm's joints at one rate.

    Attributes
    ----------
    method, entropy
        Our curve, and the rate on it.
    literal, ours : list of float, or None
        In cm or degrees, of the method as printed and of our version at the paper's rate; None
        where no setting has that rate.
    printed : list of float
        Infinite where the paper prints that the error is above 100.
    """

    method: str
    entropy: float
    literal: list[float] | None
    ours: list[float] | None
    printed: list[float]


@dataclass(frozen=True)
class Extras:
    """Measurements beside the curves.

    Attributes
    ----------
    bits_by_k : dict
        By motion, real bits per frame and joint of IKBP as printed with k = 0, 1, 2.
    cut : dict
        By motion, E_position in mm of `fk-wavelet` files cut at 15, 30 and 50 %, and of files
        coded at those sizes.
    """

    bits_by_k: Mapping[str, Sequence[float]]
    cut: Mapping[str, list[tuple[float, float]]]


def paper_lines(curves: Curves, clips: Mapping[str, Clip], extras: Extras) -> list[Line]:
    """Return one line per printed number, and per claim."""
    lines = [*_leader_lines(curves), *_seen_lines(curves)]
    for number, motion in TABLES.items():
        if motion in clips:
            lines += _arm_lines(number, [*arm_rows(number, curves, clips)])
    return [*lines, *_method_lines(curves, extras)]


def paper_timings(times: Mapping[str, tuple[float, float]]) -> list[Timing]:
    """Return Table 6; `times` are seconds of processor time to encode and decode a frame."""
    return [
        Timing("Table 6", f"{work} the walk, ms per frame", name, printed, f"{1000 * seconds:.3g}")
        for place, work in enumerate(("encode", "decode"))
        for name, both in times.items()
        for printed, seconds in [(MILLISECONDS[name][place], both[place])]
    ]


def arm_rows(number: int, curves: Curves, clips: Mapping[str, Clip]) -> Iterator[ArmRow]:
    """Return the rows of one of tables 1 to 4, at the paper's rates."""
    motion, value = TABLES[number], "angle" if number % 2 == 0 else "position"
    scale = np.degrees(1.0) if number % 2 == 0 else 100.0
    chain = (
        CHAIN if TABLES[number] == "walk" else CHAIN[1:]
    )  # the ballet's chain begins at the upper arm
    joints = [clips[motion].skeleton.index(name) for name in chain]

    def arm(method: str, at: float) -> list[float] | None:
        found = at_rate(curves[motion][method], at, value)
        return None if found is None else [float(scale * found[j]) for j in joints]

    for row in _printed(number):
        entropy, method = float(row["entropy"]), row["method"]
        printed = [float(row[f"joint_{k + 1}"]) for k in range(len(joints))]
        ours = arm(OURS[method], entropy) if method in OURS else None
        yield ArmRow(method, entropy, arm(method, entropy), ours, printed)


def leaders(
    curves: Curves,
    motion: str,
    rate: str,
    value: str = "position",
    methods: Sequence[str] = METHODS_COMPARED,
) -> list[str]:
    """Return which method has the least mean error at each rate."""
    leads = []
    for at in LEADS_AT:
        found = {m: at_rate(curves[motion][m], at, value, rate) for m in methods}
        means = {m: float(e.mean()) for m, e in found.items() if e is not None}
        leads.append(min(means, key=means.__getitem__) if means else NONE)
    return leads


def reading_rows(curves: Curves) -> list[dict[str, object]]:
    """Return the mean position error of every reading at each rate, and which methods lead."""
    rows: list[dict[str, object]] = []
    for motion, methods in curves.items():
        for rate, by in (("angles", "H"), ("entropy", "every integer")):
            for method, points in methods.items():
                means = [_mean_at(points, at, rate) for at in LEADS_AT]
                texts = [NONE if mean is None else f"{mean:.3g}" for mean in means]
                row = {"motion": motion, "rate": by, "reading": method}
                rows.append({**row, "cm_at_" + "/".join(map(str, LEADS_AT)): "/".join(texts)})
            for method in ("IKBP", "IKBP, k = 1", "IKBP, k = 0"):
                leads = leaders(curves, motion, rate, methods=(method, *METHODS_COMPARED[1:]))
                row = {"motion": motion, "rate": by, "reading": f"leaders with {method}"}
                rows.append({**row, "cm_at_" + "/".join(map(str, LEADS_AT)): "/".join(leads)})
    return rows


def _judge(
    where: str, claim: str, motion: str, what: str, printed: str, found: str, holds: bool
) -> Line:
    """Return the line of a statement, which has a verdict on the paper's own clip only."""
    own = motion == OWN
    why = UNKNOWN if own else OTHER_CLIP
    return judge_claim(where, claim, what, printed, found, holds, why=why, comparable=own)


def _leader_lines(curves: Curves) -> Iterator[Line]:
    for where, value in (("Figure 7", "position"), ("Figure 8", "angle")):
        claim = f"IKBP has the least {value} error, by H"
        for motion in curves:
            leads = leaders(curves, motion, "angles", value)
            won = leads.count("IKBP")
            found = f"at {won} of {len(leads)} rates"
            yield _judge(where, claim, motion, motion, "all rates", found, won == len(leads))
    claim = "SPBLF beats FKBC at the lowest rate, loses at the highest"
    for level, first, second in (
        (LEADS_AT[0], "SPBLF", "FKBC"),
        (LEADS_AT[-1], "FKBC", "SPBLF"),
    ):
        for motion in curves:
            a, b = (_mean_at(curves[motion][m], level) for m in (first, second))
            if a is not None and b is not None:
                what = f"{motion} at H {level:g}"
                found = f"{first} {a:.3g}, {second} {b:.3g} cm"
                yield _judge("Figure 7", claim, motion, what, "yes", found, a < b)


def _seen_lines(curves: Curves) -> Iterator[Line]:
    if OWN in curves:
        error = _mean_at(curves[OWN]["IKBP"], VISIBLE)
        if error is not None:
            found, claim = f"{error:.2g} cm", f"walk: mean error of IKBP at H {VISIBLE}"
            why = f"over {MAX_UNSEEN_CM:g} cm"
            holds = error < MAX_UNSEEN_CM
            yield judge_claim("Figure 9", claim, OWN, "hardly seen", found, holds, why=why)


def _arm_lines(number: int, rows: list[ArmRow]) -> Iterator[Line]:
    """Return the lines of one table; IKBP on the paper's clip has rows of the page to itself."""
    unit = "degrees" if number % 2 == 0 else "cm"
    motion = TABLES[number]
    for row in rows:
        own = row.method == "IKBP"
        what = f"Table {number}, {row.method} at H {row.entropy:.2f}"
        if motion != "walk":
            where, claim = "Tables 3, 4", "ballet: all methods, cm and degrees"
        elif own:
            where, claim = f"Table {number}", f"walk: IKBP, {unit}"
        else:
            where, claim = "Tables 1, 2", "walk: SPBLF, FKBC, IBKF, DWT, cm and degrees"
        yield _arm_line(where, claim, what, row, of_angles=number == 2)


def _arm_line(where: str, claim: str, what: str, row: ArmRow, *, of_angles: bool) -> Line:
    """Return the line of the mean error of a row's joints."""
    mean, best = (
        None if errors is None else float(np.mean(errors)) for errors in (row.literal, row.ours)
    )
    own_clip = OWN in claim
    printed = float(np.mean(row.printed))
    why = UNKNOWN if own_clip else OTHER_CLIP
    if mean is None:
        text = NONE if best is None else f"{best:.3g}"
        shown = f"{printed:.3g}" if np.isfinite(printed) else f"above {ABOVE:g}"
        return Line(where, claim, what, shown, NONE, text, "not measured", NO_SETTING)
    if own_clip and row.method == "IKBP" and mean > printed:
        why = DOUBLED
    elif own_clip and of_angles and mean < printed:
        why = FLOOR
    if np.isfinite(printed):
        return compare(
            where, claim, what, f"{printed:.3g}", literal=mean, ours=best,
            kind="unnamed unit", why=why, comparable=own_clip,
        )  # fmt: skip
    said = "reproduced" if mean > ABOVE else "better"
    if not own_clip:
        said = "not comparable"
    return Line(where, claim, what, f"above {ABOVE:g}", f"{mean:.3g}", NONE, said, why)


def _method_lines(curves: Curves, extras: Extras) -> Iterator[Line]:
    for motion, bits in extras.bits_by_k.items():
        claim = "IKBP: k = 2 takes fewer bits than k = 1"
        found = f"{', '.join(f'{b:.2f}' for b in bits)} bits at k = 0, 1, 2"
        yield _judge("Section 5.2", claim, motion, motion, "good results", found, bits[2] < bits[1])
    where, claim = "Sections 4.3, 6", "FKBC: compensation lowers the error; cut files decode"
    for motion, methods in curves.items():
        a, b = (_mean_at(methods[m], COMPENSATED_AT) for m in ("FKBC", "FKBC, no compensation"))
        if a is not None and b is not None:
            what, found = f"{motion}, compensation at H {COMPENSATED_AT}", f"{a:.3g}, {b:.3g} cm"
            yield _judge(where, claim, motion, what, "yes", found, a < b)
    for motion, pairs in extras.cut.items():
        cut = [pair[0] for pair in pairs]
        ratios = ", ".join(f"{a / b:.2f}" for a, b in pairs)
        what, found = f"{motion}, cut files", f"{ratios} times the error of a file of that size"
        holds = cut == sorted(cut, reverse=True)
        yield _judge(where, claim, motion, what, "yes", found, holds)


def _mean_at(points: list[Point], at: float, rate: str = "angles") -> float | None:
    """Return the mean position error in cm at a rate, None outside."""
    found = at_rate(points, at, "position", rate)
    return None if found is None else 100 * float(found.mean())


def _printed(number: int) -> list[dict[str, str]]:
    text = files("mocpack.papers.li.tables").joinpath("li.csv").read_text(encoding="utf-8")
    return [row for row in csv.DictReader(text.splitlines()) if row["table"] == str(number)]
