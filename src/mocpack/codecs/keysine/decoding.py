"""From the parts of a payload to motion, by the native core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.arrays import F64
from mocpack.clip import Clip, ClipHeader
from mocpack.codec import Read
from mocpack.codecs.keysine.payload import (
    LONGEST_BLOCK,
    MOST_GRID_CHANNELS,
    MOST_SPLITS,
    PayloadHead,
)
from mocpack.errors import CorruptionError, InvalidClipError, TruncatedError

PART, PLANNED = 96, 1024  # bytes for each part of a payload, and for each joint's plan
GRID_CHANNEL = 20_000  # bytes of a channel's predictors


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
    frames: tuple[int, int] | None = None,
) -> Clip:
    """Return the motion of groups from their first key to their last, or `frames` of it.

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
    wanted = None if joints is None else header.skeleton.with_ancestors(joints)
    turns, places = group_arrays(
        read, head, groups, layers=layers, joints=wanted, shifts=shifts, threads=threads
    )
    header = header if joints is None else header.joints(joints)
    start, stop = frames or (0, len(turns))
    whole = 2 * (stop - start) > len(turns)
    kept = settled_clip(replace(header, frame_count=stop - start), turns, places, (start, stop))
    if whole:
        return kept
    # a copy, so that few frames do not keep the memory of all their groups
    return settled_clip(kept.header, kept.rotations.copy(), kept.translations.copy())


def group_arrays(
    read: Read,
    head: PayloadHead,
    groups: tuple[int, int],
    *,
    layers: int,
    joints: Sequence[int] | None = None,
    shifts: Sequence[int] | None = None,
    threads: int = 1,
    frames: tuple[int, int] | None = None,
) -> tuple[F64, F64]:
    """Return rotations and translations of groups; `joints` with their ancestors.

    Of `frames` of the clip, start and stop, nothing else is made.
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
        joints=joints,
        shifts=shifts,
        frames=frames,
    )
    return np.asarray(turns), np.asarray(places)


def index_memory(head: PayloadHead, header: ClipHeader) -> int:
    """Return about how many bytes a head takes that was read."""
    parts = head.segment_count + head.layer_count * head.group_count
    return PART * parts + PLANNED * len(header.skeleton)


def poses_memory(frames: int, header: ClipHeader, joints: Sequence[int] | None = None) -> int:
    """Return the bytes of so many poses: rotations and translations."""
    part = header if joints is None else header.joints(joints)
    return frames * (32 * len(part.skeleton) + 24 * len(part.translated_joints))


def decoding_memory(
    head: PayloadHead,
    header: ClipHeader,
    groups: tuple[int, int],
    *,
    joints: Sequence[int] | None,
    threads: int,
) -> int:
    """Return about how many bytes `decode_groups` takes for the first to the last of `groups`.

    These are the symbols of each group, its keys and its curves, by thread; and the motion of all
    frames of the groups.
    """
    first, last = groups
    longest = head.longest_group(header.frame_count) + 8  # the core rounds rows up
    blocks, block = min(longest, 1 << MOST_SPLITS), min(longest, LONGEST_BLOCK + 8)
    channels = 4 * len(header.skeleton) + 3 * len(header.translated_joints)
    # integers and levels of every coefficient, with margins for as many blocks as there may be
    symbols = channels * (5 * (longest + 16 * blocks) + 8 * blocks + 8 * block) + 16 * block**2
    may_be_grid = longest <= LONGEST_BLOCK + 8 and head.layer_count == 1
    grid = GRID_CHANNEL * min(channels, MOST_GRID_CHANNELS) if may_be_grid else 0
    segments = head.segment_of(last) - head.segment_of(first) + 1
    kept = min(segments * head.groups_per_segment, head.group_count)
    keys = 4 * channels * (kept + 1) * (1 + threads / segments)
    frames = (last - first + 1) * head.longest_group(header.frame_count) + 1
    motion = poses_memory(min(frames, header.frame_count), header, joints)
    working = min(threads, last - first + 1) * (symbols + grid)
    return int(2 * index_memory(head, header) + keys + motion + working)


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


def settled_clip(
    header: ClipHeader,
    turns: npt.ArrayLike,
    places: npt.ArrayLike,
    frames: tuple[int, int] | None = None,
) -> Clip:
    """Return the clip of arrays that nobody else holds, or of some of their frames."""
    try:
        return Clip.adopt(header, np.asarray(turns), np.asarray(places), frames)
    except InvalidClipError as error:
        raise CorruptionError(f"keysine payload: {error}") from error
