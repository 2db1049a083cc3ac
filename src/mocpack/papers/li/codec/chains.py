"""Chains of a skeleton: runs of bones from a branching to an end effector (arms, legs, trunk).

Found from the tree and its lengths alone, so that a dog's legs and tail are found like an arm.
"""

from __future__ import annotations

import numpy as np

from mocpack.papers.li.codec.bodies import Bodies

TWIG = 0.1  # fraction of the skeleton's reach; shorter branches (fingers) do not end a chain
STUB = 0.25  # fraction of a chain's longest bone; shorter bones at its end are dropped


def find_chains(bodies: Bodies) -> list[list[int]]:
    """Return the chains as lists of bodies from base to tip, each of at least two bones."""
    children = [np.flatnonzero(bodies.parents == b).tolist() for b in range(len(bodies))]
    reach = _reaches(bodies, children)
    chains = []
    for b in range(1, len(bodies)):
        parent = int(bodies.parents[b])
        if parent == 0 or _next(bodies, children, reach, parent) != b:
            chains.append(_run(bodies, children, reach, b))
    trimmed = [_without_stub(bodies, chain) for chain in chains]
    return [chain for chain in trimmed if len(chain) > 1]


def _reaches(bodies: Bodies, children: list[list[int]]) -> list[float]:
    """Return the maximum distance from each body's joint to its descendants."""
    reach = [float(length) for length in bodies.lengths]
    for b in range(len(bodies) - 1, -1, -1):
        for c in children[b]:
            reach[b] = max(reach[b], float(np.linalg.norm(bodies.attachments[c])) + reach[c])
    return reach


def _run(bodies: Bodies, children: list[list[int]], reach: list[float], start: int) -> list[int]:
    chain = [start]
    while (following := _next(bodies, children, reach, chain[-1])) is not None:
        chain.append(following)
    return chain


def _next(bodies: Bodies, children: list[list[int]], reach: list[float], b: int) -> int | None:
    """Return the body that continues a chain through `b`; None at a branch or an end."""
    limbs = [c for c in children[b] if reach[c] > TWIG * reach[0]]
    onward = limbs if limbs else children[b]
    if len(onward) != 1 or not _joined(bodies, b, onward[0]):
        return None
    return onward[0]


def _joined(bodies: Bodies, b: int, following: int) -> bool:
    """Return whether the bone of `b` always ends at `following`."""
    at_once = not np.any(bodies.attachments[following])
    bone = bodies.tips[b] == following or (at_once and not bodies.lengths[b])
    return bool(bone and bodies.slides[following] < 0)


def _without_stub(bodies: Bodies, chain: list[int]) -> list[int]:
    longest = max(bodies.lengths[b] for b in chain)
    while chain and bodies.lengths[chain[-1]] <= STUB * longest:
        chain = chain[:-1]
    return chain
