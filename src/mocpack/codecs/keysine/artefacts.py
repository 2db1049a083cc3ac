"""Artefact control: jitter and foot skate within the error bound, and encoding again without them.

Each has a remedy of its own, which costs few bytes: jitter is penalised higher, and a planted foot
that skates is a matter of its leg alone, so that its joint is given a smaller share of the bound.
Only where these do not help, all joints aim at a smaller bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from mocpack.clip import Clip
from mocpack.codec import Encoded
from mocpack.metrics.contacts import skate_per_foot
from mocpack.metrics.spectrum import jitter

BOUND_SHARES = (1.0, 0.97, 0.9, 0.85, 0.75, 0.65, 0.5, 0.4)  # that retries aim at, in turn
JITTER_FACTORS = (1.0, 8.0, 32.0, 128.0)  # on the usual penalty of jitter
FOOT_MARGIN = 0.95  # of what a foot may skate, that its next try aims at
LEAST_CUT, MOST_CUT = 0.93, 0.75  # of a foot's share, from one try to the next
MOST_TRIES = 8  # of each kind of retry
USUAL_LEVELS = 4  # of BOUND_SHARES that are tried until the bound is kept: the search says if it is


@dataclass(frozen=True)
class Artefacts:
    """Jitter of a motion and skate of each planted foot, over what is tolerated; above 1 is seen.

    Attributes
    ----------
    jitter : float
    foot_skates : mapping of joint to float
    """

    jitter: float
    foot_skates: Mapping[int, float]

    @classmethod
    def measure(cls, original: Clip, decoded: Clip, max_error: float) -> Artefacts:
        skates = skate_per_foot(original, decoded, max_error)
        return cls(jitter(original, decoded, max_error), skates)

    @property
    def worst(self) -> float:
        return max(self.jitter, *self.foot_skates.values(), 0.0)


UNMEASURED = Artefacts(0.0, {})  # where effort is too low to look


@dataclass(frozen=True)
class BoundedEncoding:
    """An encoding within its bound, and its artefacts.

    Attributes
    ----------
    encoded : Encoded
    artefacts : Artefacts
    transform_failed : bool
        Whether the usual settings of the transform did not reach the bound.
    """

    encoded: Encoded
    artefacts: Artefacts
    transform_failed: bool = False

    @property
    def cost(self) -> float:
        """Size, and more where artefacts are seen."""
        return len(self.encoded.payload) * max(1.0, self.artefacts.worst) ** 2


@dataclass(frozen=True)
class RetryPolicy:
    """How a try differs from a plain one.

    Attributes
    ----------
    level : int
        Which of `BOUND_SHARES` all joints aim at.
    jitter_level : int
        Which of `JITTER_FACTORS` applies; the last one from there on.
    foot_shares : mapping of joint to float
        Share of the bound, for feet that skated.
    """

    level: int = 0
    jitter_level: int = 0
    foot_shares: Mapping[int, float] = field(default_factory=dict)

    @property
    def bound_share(self) -> float:
        """Share of the bound that all joints aim at."""
        return BOUND_SHARES[self.level]

    @property
    def jitter_factor(self) -> float:
        """Factor on the usual penalty of jitter."""
        return JITTER_FACTORS[min(self.jitter_level, len(JITTER_FACTORS) - 1)]

    def joint_shares(self, joints: int) -> list[float] | None:
        """Return the share of each joint, None where all have all."""
        shares = self.foot_shares
        return [shares.get(j, 1.0) for j in range(joints)] if shares else None

    def for_cause(self, artefacts: Artefacts) -> RetryPolicy | None:
        """Return what to try after these artefacts; None after the last of `JITTER_FACTORS`."""
        jitter_level = self.jitter_level + (artefacts.jitter > 1)
        if jitter_level == len(JITTER_FACTORS):
            return None
        shares = dict(self.foot_shares)
        for joint, skate in artefacts.foot_skates.items():
            if skate > 1:
                cut = min(max(FOOT_MARGIN / skate, MOST_CUT), LEAST_CUT)
                shares[joint] = shares.get(joint, 1.0) * cut
        return replace(self, jitter_level=jitter_level, foot_shares=shares)

    def for_all(self, artefacts: Artefacts) -> RetryPolicy | None:
        """Return what to try after any artefact; None after the last of `BOUND_SHARES`."""
        further = replace(self, level=self.level + 1, jitter_level=self.jitter_level + 1)
        return further if further.level < len(BOUND_SHARES) else None


Attempt = Callable[[RetryPolicy], BoundedEncoding | None]
"""Encodes by a policy and measures; None where the search finds nothing within the bound."""


def encode_without_artefacts(
    attempt: Attempt, levels: int = USUAL_LEVELS, *, retries: bool = True
) -> BoundedEncoding | None:
    """Return the first encoding without visible artefacts, else the one of least cost.

    Parameters
    ----------
    levels : int
        How many of `BOUND_SHARES` are tried until the bound is kept.
    retries : bool
        Whether to encode again because of artefacts.
    """
    for level in range(levels):
        start = RetryPolicy(level=level)
        first = attempt(start)
        if first is not None:
            break
    if first is None or first.artefacts.worst <= 1 or not retries:
        return first
    best = first
    for further in (RetryPolicy.for_cause, RetryPolicy.for_all):
        for retried in _retries(attempt, start, first, further):
            if retried.artefacts.worst <= 1:
                return retried
            best = min(best, retried, key=lambda encoding: encoding.cost)
    return best


def _retries(
    attempt: Attempt,
    policy: RetryPolicy | None,
    encoding: BoundedEncoding | None,
    further: Callable[[RetryPolicy, Artefacts], RetryPolicy | None],
) -> Iterator[BoundedEncoding]:
    """Encode by ever stricter policies, while there are any."""
    for _ in range(MOST_TRIES):
        policy = further(policy, encoding.artefacts) if policy and encoding else None
        encoding = attempt(policy) if policy else None
        if encoding is None:
            return
        yield encoding
