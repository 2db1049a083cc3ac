"""One line per row that Li, Okuda and Takahashi (2008) print, and per claim about its figures."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from mocpack.bench.papers.verdicts import NONE, Line, Timing, compare, judge_claim
from mocpack.model.clip import Clip
from mocpack.papers.li.tables.curves import Curves, Point, at_rate

METHODS_COMPARED = ("IKBP as printed", "SPBLF", "FKBC", "IBKF", "DWT")
OURS = {"IKBP as printed": "IKBP, ours"}  # our version of a method, where there is one
ROW_OF = {"IKBP": "IKBP as printed"}  # the paper's name of a method, where ours is another
LEADS_AT = (0.7, 1.4, 2.2, 3.0, 4.1)  # rates at which methods are ranked
CHAIN = ("LeftShoulder", "LeftArm", "LeftForeArm", "LeftHand")
TABLES = {1: "walk", 2: "walk", 3: "ballet", 4: "ballet"}  # by number, the motion of each
VISIBLE = 1.12  # H above which the paper sees no difference in the walk
MAX_UNSEEN_CM = 1.0  # mean error that we regard as invisible
COMPENSATED_AT = 2.2  # H at which compensation is judged
ABOVE = 100.0  # the paper prints errors above this as "above 100"
UNNAMED = "unit and steps unnamed"
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
    literal, ours, counted : list of float, or None
        In cm or degrees, of the method as printed and of our version at the paper's rate, and as
        printed with every integer counted; None where no setting has that rate.
    printed : list of float
        Infinite where the paper prints that the error is above 100.
    """

    method: str
    entropy: float
    literal: list[float] | None
    ours: list[float] | None
    counted: list[float] | None
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

    def arm(method: str, at: float, rate: str = "angles") -> list[float] | None:
        found = at_rate(curves[motion][method], at, value, rate)
        return None if found is None else [float(scale * found[j]) for j in joints]

    for row in _printed(number):
        entropy, method = float(row["entropy"]), ROW_OF.get(row["method"], row["method"])
        printed = [float(row[f"joint_{k + 1}"]) for k in range(len(joints))]
        ours = arm(OURS[method], entropy) if method in OURS else None
        counted = arm(method, entropy, "entropy")
        yield ArmRow(method, entropy, arm(method, entropy), ours, counted, printed)


def leaders(curves: Curves, motion: str, rate: str, value: str = "position") -> list[str]:
    """Return which of the paper's methods has the least mean error at each rate."""
    leads = []
    for at in LEADS_AT:
        found = {m: at_rate(curves[motion][m], at, value, rate) for m in METHODS_COMPARED}
        means = {m: float(e.mean()) for m, e in found.items() if e is not None}
        leads.append(min(means, key=means.__getitem__) if means else NONE)
    return leads


def _leader_lines(curves: Curves) -> Iterator[Line]:
    for where, counted, rate, value in (
        ("Figure 7", "", "angles", "position"),
        ("Figure 7", ", every integer counted", "entropy", "position"),
        ("Figure 8", "", "angles", "angle"),
    ):
        claim = f"IKBP has the least {value} error"
        why = "our FKBC and IBKF lead at low rates" if value == "position" else UNNAMED
        if where == "Figure 7":
            claim += ", by H and by every integer"
        for motion in curves:
            leads = leaders(curves, motion, rate, value)
            won = leads.count("IKBP as printed")
            what, ours = f"{motion}{counted}", f"{won} of {len(leads)}: {', '.join(leads)}"
            yield judge_claim(where, claim, what, "all rates", ours, won == len(leads), why=why)
    claim = "SPBLF beats FKBC at the lowest rate, loses at the highest"
    for level, first, second in (
        (LEADS_AT[0], "SPBLF", "FKBC"),
        (LEADS_AT[-1], "FKBC", "SPBLF"),
    ):
        for motion in curves:
            a, b = (_mean_at(curves[motion][m], level) for m in (first, second))
            if a is not None and b is not None:
                what, why = f"{motion} at H {level:g}", "our FKBC wins at both"
                ours = f"{first} {a:.3g}, {second} {b:.3g} cm"
                yield judge_claim("Figure 7", claim, what, "yes", ours, a < b, why=why)


def _seen_lines(curves: Curves) -> Iterator[Line]:
    if "walk" in curves:
        error = _mean_at(curves["walk"]["IKBP as printed"], VISIBLE)
        if error is not None:
            ours, claim = f"{error:.2g} cm", f"walk: mean error of IKBP at H {VISIBLE}"
            why = f"over {MAX_UNSEEN_CM:g} cm"
            holds = error < MAX_UNSEEN_CM
            yield judge_claim("Figure 9", claim, "walk", "hardly seen", ours, holds, why=why)


def _arm_lines(number: int, rows: list[ArmRow]) -> Iterator[Line]:
    """Return the lines of one table; IKBP on the paper's clip has rows of the page to itself."""
    unit = "degrees" if number % 2 == 0 else "cm"
    motion = TABLES[number]
    for row in rows:
        own = row.method == "IKBP as printed"
        what = f"Table {number}, {row.method} at H {row.entropy:.2f}"
        if motion != "walk":
            where, claim = "Tables 3, 4", "ballet: all methods, cm and degrees"
        elif own:
            where, claim = f"Table {number}", f"walk: IKBP, {unit}"
        else:
            where, claim = "Tables 1, 2", "walk: SPBLF, FKBC, IBKF, DWT, cm and degrees"
        yield _arm_line(where, claim, what, row.printed, row.literal, row.ours)
        if own and number == 1:
            claim += " by every integer"
            yield _arm_line(where, claim, what, row.printed, row.counted, None)


def _arm_line(
    where: str,
    claim: str,
    what: str,
    printed: list[float],
    literal: list[float] | None,
    ours: list[float] | None,
) -> Line:
    """Return the line of the mean error of a row's joints."""
    mean, best = (None if errors is None else float(np.mean(errors)) for errors in (literal, ours))
    own_clip = "walk" in claim
    why = "no setting has that rate" if mean is None else UNNAMED if own_clip else OTHER_CLIP
    if np.isfinite(printed).all():
        return compare(
            where, claim, what, f"{np.mean(printed):.3g}", literal=mean, ours=best,
            kind="unnamed unit", why=why, comparable=own_clip,
        )  # fmt: skip
    text = NONE if mean is None else f"{mean:.3g}"
    said = "not measured" if mean is None else "reproduced" if mean > ABOVE else "better"
    if said != "not measured" and not own_clip:
        said = "not comparable"
    return Line(where, claim, what, f"above {ABOVE:g}", text, NONE, said, why)


def _method_lines(curves: Curves, extras: Extras) -> Iterator[Line]:
    for motion, bits in extras.bits_by_k.items():
        ours = ", ".join(f"{b:.2f}" for b in bits)
        yield judge_claim(
            "Section 5.2", "IKBP: k = 2 takes fewer bits than k = 1", motion, "good results",
            f"{ours} bits at k = 0, 1, 2", bits[2] < bits[1],
            why="k = 1 minimizes the acceleration",
        )  # fmt: skip
    where, claim = "Sections 4.3, 6", "FKBC: compensation lowers the error; cut files decode"
    for motion, methods in curves.items():
        a, b = (_mean_at(methods[m], COMPENSATED_AT) for m in ("FKBC", "FKBC, no compensation"))
        if a is not None and b is not None:
            what, ours = f"{motion}, compensation at H {COMPENSATED_AT}", f"{a:.3g}, {b:.3g} cm"
            yield judge_claim(where, claim, what, "yes", ours, a < b)
    for motion, pairs in extras.cut.items():
        cut = [pair[0] for pair in pairs]
        ratios = ", ".join(f"{a / b:.2f}" for a, b in pairs)
        what, ours = f"{motion}, cut files", f"{ratios} times the error of a file of that size"
        yield judge_claim(where, claim, what, "yes", ours, cut == sorted(cut, reverse=True))


def _mean_at(points: list[Point], rate: float) -> float | None:
    """Return the mean position error in cm at a rate, None outside."""
    found = at_rate(points, rate, "position")
    return None if found is None else 100 * float(found.mean())


def _printed(number: int) -> list[dict[str, str]]:
    text = files("mocpack.papers.li.tables").joinpath("li.csv").read_text(encoding="utf-8")
    return [row for row in csv.DictReader(text.splitlines()) if row["table"] == str(number)]
