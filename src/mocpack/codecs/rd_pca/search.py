"""The search for the parameters of `rd-pca`."""

from __future__ import annotations

from mocpack.codec import Candidates, Codec, Goal


def equal_slopes(codec: Codec, goal: Goal, *, effort: str) -> Candidates:
    raise NotImplementedError
