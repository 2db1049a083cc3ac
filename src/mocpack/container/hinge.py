"""The HING chunk: hinge and slider axes of joints, and their limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mocpack.coding.fields import FieldWriter, deflate
from mocpack.container.numbers import pack_numbers
from mocpack.model.hinges import Hinges
from mocpack.model.skeleton import Skeleton, channel_hinges

ROWS, CHANNELS = 0, 1  # rows are listed, or follow from the channels
AXES = np.concatenate([np.eye(3), -np.eye(3)])
OTHER_AXIS = len(AXES)
SLIDES, HAS_LOWEST, HAS_HIGHEST = 8, 16, 32


def pack_hinges(skeleton: Skeleton) -> bytes:
    """Return the chunk of a skeleton that has hinges."""
    hinges = skeleton.hinges
    assert hinges is not None
    plain = replace(hinges, limits=np.zeros((0, 2)))
    out = FieldWriter()
    if plain == channel_hinges(skeleton):
        out.u8(CHANNELS)
        out.mask(np.isfinite(hinges.limits).ravel())
        out.raw(_pack_limits(hinges))
        return out.bytes()
    out.u8(ROWS)
    out.raw(deflate(_pack_rows(hinges), dictionary=_dictionary(skeleton)))
    return out.bytes()


def _pack_rows(hinges: Hinges) -> bytes:
    out = FieldWriter()
    out.varint(len(hinges))
    for before, joint in zip((-1, *hinges.joints), hinges.joints, strict=False):
        out.signed(joint - before - 1)
    known = (hinges.axes[:, np.newaxis] == AXES).all(axis=2)
    axes = np.where(known.any(axis=1), known.argmax(axis=1), OTHER_AXIS)
    lowest, highest = np.isfinite(hinges.limits).T
    kinds = axes + SLIDES * hinges.slides + HAS_LOWEST * lowest + HAS_HIGHEST * highest
    out.raw(kinds.astype(np.uint8).tobytes())
    for name in hinges.names:
        out.sized(name.encode())
    others = np.ascontiguousarray(hinges.axes[axes == OTHER_AXIS])
    out.sized(pack_numbers(others, simple=True))
    out.raw(_pack_limits(hinges))
    return out.bytes()


def _pack_limits(hinges: Hinges) -> bytes:
    finite = np.isfinite(hinges.limits)
    return pack_numbers(np.ascontiguousarray(hinges.limits[finite][:, np.newaxis]), simple=True)


def _dictionary(skeleton: Skeleton) -> bytes:
    """Return joint names as the deflate dictionary, because hinge names resemble them."""
    return "\0".join(skeleton.names).encode() or b"\0"
