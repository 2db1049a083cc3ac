"""What trembles or slips though it keeps its bound, and how to go about it the next time.

A planted foot that slips is a matter of its leg alone: it is given less of the bound, foot by foot.
If something trembles, or that does not help, the bound of all is aimed at from further inside, and
trembling is priced higher.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from mocpack.clip import Clip
from mocpack.metrics.contacts import slip_of_feet
from mocpack.metrics.spectrum import tremble

AIMS = (1.0, 0.97, 0.9, 0.85, 0.75, 0.65, 0.5, 0.4)  # shares of the bound
PRICES = (1.0, 4.0, 8.0)  # of trembling
NEARER = 0.95  # of what a foot may slip, that is aimed at
LEAST_FALL, MOST_FALL = 0.93, 0.75  # of a foot's share, from one try to the next
MOST_TRIES = 8  # with more care, until a file is calm


@dataclass(frozen=True)
class Unrest:
    """How far a motion trembles, and each planted foot slips, over what it may; above 1 is bad."""

    tremble: float
    slips: Mapping[int, float]

    @classmethod
    def of(cls, original: Clip, decoded: Clip, max_error: float) -> Unrest:
        slips = slip_of_feet(original, decoded, max_error)
        return cls(tremble(original, decoded, max_error), slips)

    @property
    def worst(self) -> float:
        return max(self.tremble, *self.slips.values(), 0.0)

    @property
    def calm(self) -> bool:
        return self.worst <= 1


CALM = Unrest(0.0, {})


@dataclass(frozen=True)
class Kept:
    """A payload within its bound, and how calm it is."""

    payload: bytes
    unrest: Unrest

    @property
    def cost(self) -> float:
        """Size, and more where it is not calm."""
        return len(self.payload) * max(1.0, self.unrest.worst) ** 2


@dataclass(frozen=True)
class Care:
    """How carefully to encode.

    Attributes
    ----------
    aim : int
        Number of the aim, from the bound itself inwards.
    trembled : int
        How often it trembled so far, or slipped without remedy.
    shares : mapping of joint to float
        Of the bound, for feet that slipped.
    """

    aim: int = 0
    trembled: int = 0
    shares: Mapping[int, float] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """Share of the bound to aim at."""
        return AIMS[self.aim]

    @property
    def price(self) -> float:
        """Times the usual price of trembling."""
        return PRICES[min(self.trembled, len(PRICES) - 1)]

    def joint_shares(self, joints: int) -> list[float] | None:
        """Return the share of each joint, None where all have all."""
        return [self.shares.get(j, 1.0) for j in range(joints)] if self.shares else None

    def for_feet(self, unrest: Unrest) -> Care | None:
        """Return what to try after feet slipped; None where something trembles."""
        if unrest.tremble > 1:
            return None
        shares = dict(self.shares)
        for joint, slip in unrest.slips.items():
            if slip > 1:
                fall = min(max(NEARER / slip, MOST_FALL), LEAST_FALL)
                shares[joint] = shares.get(joint, 1.0) * fall
        return replace(self, shares=shares)

    def for_all(self, unrest: Unrest) -> Care | None:
        """Return what to try after anything trembled or slipped; None at the end of all aims."""
        further = replace(self, aim=self.aim + 1, trembled=self.trembled + 1)
        return further if further.aim < len(AIMS) else None


Make = Callable[[Care], bytes | None]
"""From how carefully to encode to a payload; None where none is found."""
Judge = Callable[[bytes], Unrest | None]
"""From a payload to how calm it is; None where it misses its bound."""


def calmest(make: Make, judge: Judge) -> Kept | None:
    """Return the first payload that keeps its bound calmly, else one that is small and calm."""
    for aim in range(len(AIMS)):
        start = Care(aim=aim)
        first = _tried(make, judge, start)
        if first is not None:
            break
    if first is None or first.unrest.calm:
        return first
    tried = [first]
    for further in (Care.for_feet, Care.for_all):
        tried += _calmed(make, judge, (start, first), further)
        if tried[-1].unrest.calm:
            return tried[-1]
    return min(tried, key=lambda kept: kept.cost)


def _calmed(
    make: Make,
    judge: Judge,
    start: tuple[Care, Kept],
    further: Callable[[Care, Unrest], Care | None],
) -> list[Kept]:
    """Go on from what was kept with ever more care, until it is calm or there is no more."""
    found: list[Kept] = []
    care: Care | None
    kept: Kept | None
    care, kept = start
    while care and kept and len(found) < MOST_TRIES and not kept.unrest.calm:
        care = further(care, kept.unrest)
        kept = _tried(make, judge, care) if care else None
        found += [kept] if kept else []
    return found


def _tried(make: Make, judge: Judge, care: Care) -> Kept | None:
    payload = make(care)
    unrest = judge(payload) if payload else None
    return Kept(payload, unrest) if payload and unrest else None
