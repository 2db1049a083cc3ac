"""From the parts of a payload to motion, by the native core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.arrays import F64
from mocpack.clip import Clip, ClipHeader
from mocpack.codec import Decoder, Payload, PayloadLayout, Read, WindowWriter
from mocpack.codecs.keysine.payload import (
    LONGEST_BLOCK,
    MOST_GRID_CHANNELS,
    MOST_SPLITS,
    PayloadHead,
    head_bytes,
    parse_head,
    parse_shape,
)
from mocpack.cores import core_count
from mocpack.errors import CorruptionError, InvalidClipError
from mocpack.header import array_bytes

PART, PLANNED = 96, 1024  # bytes for each part of a payload, and for each joint's plan
GRID_CHANNEL = 20_000  # bytes of a channel's predictors
LONG_CLIP = 2000  # frames from which all cores at hand are used


def thread_count(threads: int, frame_count: int) -> int:
    """Return how many threads work on so many frames: as many as asked for, 0 for a good number."""
    if threads:
        return threads
    return core_count() if frame_count >= LONG_CLIP else 1


class KeysineDecoder(Decoder):
    """Reads the head once, and decodes only the groups and joints that are asked for."""

    plays_cut = True
    is_indexed = True

    @cached_property
    def _head_data(self) -> bytes:
        return head_bytes(self.payload.read)

    @cached_property
    def _shape(self) -> PayloadHead:
        """How many parts there are: what memory is reckoned by before the head is parsed."""
        return parse_shape(self._head_data, self.header)

    @cached_property
    def head(self) -> PayloadHead:
        return parse_head(self._head_data, self.header)

    def clip(self) -> Clip:
        data = self.payload.whole()
        check_end(data, self.head.whole)
        return self._groups(Payload.of(data).read, 0, self.head.group_count)

    def frames(self, start: int, stop: int, joints: Sequence[int] | None = None) -> Clip:
        header = self.header if joints is None else self.header.joints(joints)
        wanted = None if joints is None else self.header.skeleton.with_ancestors(joints)
        rotations, translations = self._arrays(start, stop, wanted)
        return settled_clip(header.with_frame_count(stop - start), rotations, translations)

    def arrays(self, start: int, stop: int) -> tuple[F64, F64]:
        return self._arrays(start, stop, None)

    def window_writer(self) -> WindowWriter:
        return _core.KeysineWindows(self.head.native, self.payload.read)

    def byte_ranges(self, start: int, stop: int) -> list[tuple[int, int]]:
        head = self.head
        first, count, _ = head.groups_of(start, stop, self.header.frame_count)
        segment = head.segment_of(first)
        segments = head.segment_of(max(first, first + count - 1)) - segment + 1
        groups = [head.groups_at(first, count, layer) for layer in range(head.layer_count)]
        return [head.segments_at(segment, segments), *groups]

    def memory_needed(self, start: int, stop: int, joints: Sequence[int] | None = None) -> int:
        shape, frames = self._shape, self.header.frame_count
        if start == stop:
            return index_memory(shape, self.header)
        groups = shape.group_at(start, frames), shape.group_at(stop - 1, frames)
        threads = self._threads((groups[1] - groups[0] + 1) * shape.longest_group(frames))
        return decoding_memory(shape, self.header, groups, joints=joints, threads=threads)

    def preview_memory(self) -> int:
        keys = self._shape.group_count + 1
        return index_memory(self._shape, self.header) + array_bytes(self.header, keys)

    def layout(self) -> PayloadLayout:
        head = self.head
        parts = head.layer_count * head.group_count + len(head.segment_sizes)
        # the head is mostly index and plan; each part has its checksum
        index = head.size + 2 * parts
        return PayloadLayout(
            head.group_count, head.layer_count, index, layer_errors=head.layer_errors
        )

    def preview(self) -> Clip:
        """Return the poses at the ends of groups, at their own lower frame rate."""
        head, header = self.head, self.header
        segments = self.payload.read(*head.segments_at(0, len(head.segment_sizes)))
        rotations, translations = _core.keysine_poses(head.native, segments)
        time = header.frame_time * (header.frame_count - 1) / max(1, head.group_count)
        keys = replace(header, frame_count=len(rotations), frame_time=time or header.frame_time)
        return settled_clip(keys, rotations, translations)

    def partial(self) -> Clip:
        """Return what the layers that are whole give, and where there are none, the keys alone.

        Keys come before groups and base layers before refinements, so that a cut file plays to
        its end, only coarser; where even keys are missing, there is nothing to play.
        """
        head, header, read = self.head, self.header, self.payload.read
        layers, count = whole_layers(head, self.payload.size)
        if layers == head.layer_count:
            return self.clip()
        rest = self._groups(read, count, head.group_count - count, layers=layers)
        if not count:
            return rest
        start = head.key_frame(count, header.frame_count)
        fine = self._groups(read, 0, count, layers=layers + 1)
        return joined(header, [fine.frames(0, start), rest])

    def _arrays(self, start: int, stop: int, joints: Sequence[int] | None) -> tuple[F64, F64]:
        """Return rotations and translations of some frames and nothing else."""
        head = self.head
        first, count, _ = head.groups_of(start, stop, self.header.frame_count)
        return group_arrays(
            self.payload.read,
            head,
            (first, count),
            layers=head.layer_count,
            joints=joints,
            threads=self._threads(stop - start),
            frames=(start, stop),
        )

    def _groups(self, read: Read, first: int, count: int, *, layers: int | None = None) -> Clip:
        """Return the motion of some groups by their first layers."""
        head = self.head
        longest = count * head.longest_group(self.header.frame_count)
        return decode_groups(
            read,
            self.header,
            head,
            (first, count),
            layers=head.layer_count if layers is None else layers,
            threads=self._threads(longest),
        )

    def _threads(self, frame_count: int) -> int:
        return thread_count(getattr(self.codec, "threads", 0), frame_count)


def decode_groups(
    read: Read,
    header: ClipHeader,
    head: PayloadHead,
    groups: tuple[int, int],
    *,
    layers: int,
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
    shifts : sequence of int, optional
        How coarsely to take the coefficients of each track, where there is one layer.
    """
    turns, places = group_arrays(read, head, groups, layers=layers, shifts=shifts, threads=threads)
    return settled_clip(header.with_frame_count(len(turns)), turns, places)


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
    turns, places = _core.keysine_decode(
        head=head.native,
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
    part = header if joints is None else header.joints(joints)
    motion = array_bytes(part, min(frames, header.frame_count))
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
