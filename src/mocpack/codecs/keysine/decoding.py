"""From the parts of a payload to motion, by the native core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.clip import Clip, ClipHeader
from mocpack.codec import Read
from mocpack.codecs.keysine.payload import PayloadHead
from mocpack.errors import CorruptionError, InvalidClipError, TruncatedError


def decode_groups(
    read: Read,
    header: ClipHeader,
    head: PayloadHead,
    groups: tuple[int, int],
    *,
    layers: int,
    joints: Sequence[int] | None = None,
    shifts: Sequence[int] | None = None,
    threads: int = 1,
) -> Clip:
    """Return the motion of groups from their first key to their last.

    Parameters
    ----------
    groups : tuple of int
        The first, and how many.
    layers : int
        Of each group; none leaves the straight lines between keys.
    joints : sequence of int, optional
        Only these and their ancestors.
    shifts : sequence of int, optional
        How coarsely to take the coefficients of each track, where there is one layer.
    """
    first, count = groups
    segment = head.segment_of(first)
    segments = head.segment_of(max(first, first + count - 1)) - segment + 1
    assert head.parsed is not None, "a head that was read"
    turns, places = _core.keysine_decode(
        head=head.parsed,
        segments=read(*head.segments_at(segment, segments)),
        layers=[read(*head.groups_at(first, count, layer)) for layer in range(layers)],
        first=first,
        count=count,
        threads=threads,
        joints=None if joints is None else header.skeleton.with_ancestors(joints),
        shifts=shifts,
    )
    header = header if joints is None else header.joints(joints)
    return settled_clip(replace(header, frame_count=len(turns)), turns, places)


def whole_layers(head: PayloadHead, size: int) -> tuple[int, int]:
    """Return how many layers are whole in so many bytes, and how many groups of the next."""
    end = head.size + sum(head.segment_sizes)
    for layer, sizes in enumerate(head.layer_sizes):
        for count, group in enumerate(sizes):
            end += group
            if end > size:
                return layer, count
    return head.layer_count, 0


def reader(payload: bytes) -> Read:
    """Return the function that reads pieces of a payload."""

    def read(offset: int, size: int) -> bytes:
        if offset + size > len(payload):
            raise TruncatedError(
                f"keysine payload ends {offset + size - len(payload)} bytes too early"
            )
        return payload[offset : offset + size]

    return read


def check_end(payload: bytes, whole: int) -> None:
    """Complain about bytes left over."""
    if len(payload) > whole:
        raise CorruptionError(f"keysine payload has {len(payload) - whole} bytes too many")


def joined(header: ClipHeader, parts: Sequence[Clip]) -> Clip:
    """Return the frames of several clips, one after another."""
    return settled_clip(
        replace(header, frame_count=sum(part.frame_count for part in parts)),
        np.concatenate([part.rotations for part in parts]),
        np.concatenate([part.translations for part in parts]),
    )


def settled_clip(header: ClipHeader, turns: npt.ArrayLike, places: npt.ArrayLike) -> Clip:
    """Return the clip of arrays that nobody else holds."""
    try:
        return Clip.adopt(header, np.asarray(turns), np.asarray(places))
    except InvalidClipError as error:
        raise CorruptionError(f"keysine payload: {error}") from error
