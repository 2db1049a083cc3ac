"""How hard the encoder searches, and what bits and errors cost it there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from mocpack import _core

ANGLE_SHARE = 0.999  # of a bound on angles, that the search may use: the rest is for rounding
HINGED_FALLOFF, HINGED_ROUNDING, HINGED_QUARTIC = 0.1, 0.42, 0.4  # where joints have hinges
TURN_PRICE, HINGED_TURN_PRICE = 2.0, 1.5  # of the shell's square, for turning from the source
ANGLE_PRICE = 1.0  # for a turn as far as a bound on angles
ROOM = 1.5  # of errors of a limb that its hinges cannot take back


@dataclass(frozen=True)
class Effort:
    """Settings of the search at one level of effort; see `Settings`."""

    sweeps: int
    repairs: int
    coarsest_step: int
    finest_step: int
    greedy: bool
    split_tries: int
    weight_tries: int
    exhaustive: bool


@dataclass(frozen=True)
class Strictness:
    """How much stricter than usual a search is.

    Attributes
    ----------
    bound_share : float
        Share of the bound on displacements that it aims at.
    world_share : float
        Share of the bound on local rotations that rotations in the world may be off; 0: no limit.
        At one half or less, joints can always turn back what is off above them.
    """

    bound_share: float = 1.0
    world_share: float = 0.0


USUAL = Strictness()
STRICTER = (Strictness(0.4), Strictness(0.1), Strictness(0.01))
STRICTER_ANGLES = (Strictness(1.0, 0.45), Strictness(0.1, 0.45), Strictness(0.01, 0.45))


@dataclass(frozen=True)
class Settings:
    """Everything the native search is told; `mocpack_KeysineSettings` has the same names.

    u is a point's squared displacement over its squared allowance; penalties are bits.

    Attributes
    ----------
    bound : float
        Allowance of every point, in metres.
    origin_share, origin_falloff : float
        Joint origins may use min(0.95, origin_share · n^-origin_falloff) of it, n their
        descendants: what hangs on them needs the rest.
    shell_factor : float
        Factor on the allowance of shell points, which guard twist.
    key_share : float
        Share of its allowance that a key may use to come nearer to the key before.
    key_price : float
        Where nothing is bounded: in how many times the frames between keys the error of one counts.
    room : float
        Where joints have hinges, which cannot take back every error above them: what may remain of
        all u of a limb when they have done what they can.
    max_angle : float
        Radians that a joint's local rotation may be off; 0: any.
    world_angle : float
        Radians that a joint's rotation in the world may be off; 0: any.
    turn_price, angle_price : float
        What a joint pays, in squares of the shell (and of `max_angle`), for turning away from the
        source's own rotation to take back errors above it, which are noise that costs bits.
    excess_penalty : float
        For each unit of u above 1.
    quartic_penalty, squared_penalty : float
        For u², and for u.
    rounding : float
        Added before truncation: below one half there are more zeros.
    jitter_penalty, jitter_from : float
        For a squared step of energy that the source does not have, above this share of the
        highest frequency.
    sweeps, repairs : int
        Rounds of repair and descent (0: rounding and repair alone), and changes of one repair.
    coarsest_step, finest_step : int
        Indices of the quantiser steps tried.
    greedy : bool
        Whether to stop at the first step that is worse than the one before.
    splits, split_tries, weight_tries, exhaustive
        Of each group: 2^splits blocks are tried first, then up to split_tries times more or fewer
        halvings, then up to weight_tries halvings or doublings of quartic_penalty, each while it is
        smaller; `exhaustive` tries all of the former.
    thorough, beam_width, grid_error_penalty
        Of a grid in time: which forecast, how many ways to write a frame are kept side by side,
        and the penalty for using up a whole allowance.
    """

    bound: float
    origin_share: float
    origin_falloff: float
    shell_factor: float
    key_share: float
    excess_penalty: float
    quartic_penalty: float
    squared_penalty: float
    rounding: float
    jitter_penalty: float
    jitter_from: float
    sweeps: int
    repairs: int
    coarsest_step: int
    finest_step: int
    greedy: bool
    split_tries: int
    weight_tries: int
    exhaustive: bool
    splits: int = 0
    thorough: bool = False
    beam_width: int = 1
    grid_error_penalty: float = 0.0
    room: float = ROOM
    turn_price: float = 0.0
    key_price: float = 0.0
    angle_price: float = ANGLE_PRICE
    max_angle: float = 0.0
    world_angle: float = 0.0

    def native(self) -> _core.KeysineSettings:
        return _core.KeysineSettings(**asdict(self))


EFFORTS = {
    "fast": Effort(0, 40, 7, 7, True, 0, 0, False),
    "default": Effort(3, 60, 6, 10, True, 2, 1, False),
    "best": Effort(6, 90, 5, 11, True, 3, 3, True),
}
MARGIN = 1e-6  # metres that any conforming decoder's arithmetic may differ
EXCESS_PENALTY = 120.0
ROUNDING = 0.33
JITTER_PENALTY, JITTER_HERTZ = 4.0, 30.0
# where no bound is asked, by the step in metres: bits for a squared step of error; the price of
# turning from the source, since the coarser, the less is taken back further down; how much further
# what guards twist may move than what is measured; what is added before truncation, of which
# descent takes back what does not pay; and in how many times the frames between keys the error of
# one counts
FREE_PENALTIES = ((4e-3, 4.0), (60e-3, 2.0))
FREE_TURN_PRICES = ((3e-3, 0.0), (60e-3, 5.0))
FREE_SHELLS = ((3e-3, 2.5), (60e-3, 4.0))
FREE_ROUNDINGS = ((3e-3, 0.38), (60e-3, 0.46))
FREE_KEY_PRICES = ((3e-3, 3.0), (60e-3, 1.2))
FREE_SWEEPS = 5
FREE_STEPS, ROUGH_FREE_STEPS, ROUGH = (6, 11), (7, 11), 15e-3
FREE_KEY_STEPS = ((2e-3, 10), (ROUGH, 11), (30e-3, 12), (np.inf, 13))  # up to these steps
# of descendants: an error of a joint is one of each of them, unless they take it back
FREE_FALLOFF = 0.5
LOOSE, TIGHT = 8e-3, 2.5e-3  # metres: where other blocks fit better
GRID_ERROR_PENALTY = 3.0
BEAM_WIDTHS = {"fast": 2, "default": 8, "best": 32}
KEY_SHARE = 0.5
# bits for u² by the bound: an even error is worth more, the tighter the bound
QUARTIC_PENALTIES = ((1e-3, 8.0), (2e-3, 5.0), (5e-3, 3.0), (10e-3, 1.5), (20e-3, 0.8))


def bounded(
    effort: str,
    bound: float,
    frame_rate: float,
    *,
    jitter_factor: float = 1.0,
    hinged: bool = False,
    max_angle: float | None = None,
    strictness: Strictness = USUAL,
) -> Settings:
    """Return the settings that aim at a bound on the largest error, in metres.

    Parameters
    ----------
    jitter_factor : float
        On the usual penalty of jitter.
    hinged : bool
        Whether joints move along hinges.
    max_angle : float, optional
        Bound on the error of local rotations, in radians.
    strictness : Strictness
        For clips that the usual settings cannot encode.
    """
    level = EFFORTS[effort]
    if bound > LOOSE:  # where a group has few bytes, sketches do not tell how to split it
        level = replace(level, exhaustive=level.split_tries > 0)
    if hinged:
        level = replace(level, exhaustive=level.split_tries > 0)
    return Settings(
        bound=bound - max(5e-4 * bound, min(MARGIN, 0.02 * bound)),  # so that rounding stays inside
        origin_share=1.0,
        origin_falloff=HINGED_FALLOFF if hinged else 0.12,
        shell_factor=1.0,
        key_share=KEY_SHARE,
        excess_penalty=EXCESS_PENALTY,
        quartic_penalty=_by_bound(bound, QUARTIC_PENALTIES) * (HINGED_QUARTIC if hinged else 1.0),
        squared_penalty=0.0,
        rounding=HINGED_ROUNDING if hinged else ROUNDING,
        jitter_penalty=jitter_factor * JITTER_PENALTY,
        jitter_from=min(1.0, 2 * JITTER_HERTZ / frame_rate),
        max_angle=ANGLE_SHARE * max_angle if max_angle else 0.0,
        world_angle=strictness.world_share * max_angle if max_angle else 0.0,
        turn_price=HINGED_TURN_PRICE if hinged else TURN_PRICE,
        **asdict(level),
    )


def gridded(
    effort: str,
    bound: float,
    frame_rate: float,
    *,
    hinged: bool = False,
    max_angle: float | None = None,
) -> Settings:
    """Return the settings of a grid in time within a bound, in metres."""
    return replace(
        bounded(effort, bound, frame_rate, hinged=hinged, max_angle=max_angle),
        origin_share=0.95,
        origin_falloff=0.15,
        thorough=effort == "best",
        beam_width=BEAM_WIDTHS[effort],
        grid_error_penalty=GRID_ERROR_PENALTY,
    )


def free(effort: str, step: float, frame_rate: float) -> Settings:
    """Return the settings for a step, in metres: errors have a penalty, and no bound."""
    coarsest, finest = ROUGH_FREE_STEPS if step > ROUGH else FREE_STEPS
    searched = EFFORTS[effort].sweeps
    return replace(
        bounded(effort, step, frame_rate),
        # origins weigh by their descendants, bone ends a third
        bound=float(np.sqrt(3) * step),
        origin_share=float(np.sqrt(1 / 3)),
        origin_falloff=FREE_FALLOFF,
        shell_factor=_by_bound(step, FREE_SHELLS),
        key_share=0.0,
        key_price=_by_bound(step, FREE_KEY_PRICES),
        turn_price=_by_bound(step, FREE_TURN_PRICES),
        excess_penalty=0.0,
        quartic_penalty=0.0,
        squared_penalty=_by_bound(step, FREE_PENALTIES),
        rounding=_by_bound(step, FREE_ROUNDINGS),
        repairs=0,
        sweeps=max(FREE_SWEEPS, searched) if searched else 0,
        greedy=not searched,
        exhaustive=EFFORTS[effort].split_tries > 0,  # sketches without a bound tell little
        coarsest_step=coarsest,
        finest_step=finest,
    )


def free_key_step(step: float) -> int:
    """Return the index of the keys' step that goes with a plain step, in metres."""
    return next(index for largest, index in FREE_KEY_STEPS if step <= largest)


def usual_block(step: float) -> float:
    """Return the length of blocks to begin with, in seconds: the finer, the shorter."""
    return 1.0 if step > LOOSE else 0.5 if step > TIGHT else 0.25


def _by_bound(bound: float, values: Sequence[tuple[float, float]]) -> float:
    """Return what lies between those of the nearest bounds."""
    bounds, known = zip(*values, strict=True)
    return float(np.interp(np.log(bound), np.log(bounds), known))
