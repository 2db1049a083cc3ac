"""What trembles or slips though it keeps its bound, and how to go about it the next time.

A planted foot that slips is a matter of its leg alone: it is given less of the bound, foot by foot.
If something trembles, or that does not help, the bound of all is aimed at from further inside, and
trembling is priced higher.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mocpack.clip import Clip
from mocpack.metrics.contacts import slip_of_feet
from mocpack.metrics.spectrum import tremble

AIMS = (1.0, 0.97, 0.9, 0.85, 0.75, 0.65, 0.5, 0.4)  # shares of the bound
PRICES = (1.0, 4.0, 8.0)  # of trembling
NEARER = 0.95  # of what a foot may slip, that is aimed at
LEAST_FALL, MOST_FALL = 0.93, 0.75  # of a foot's share, from one try to the next


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
