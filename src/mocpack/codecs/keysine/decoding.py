"""From a payload to motion, by the native core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from mocpack import _core
from mocpack.arrays import F64
from mocpack.clip import Clip, ClipHeader
from mocpack.codec import Decoder, PayloadLayout, WindowWriter
from mocpack.codecs.keysine.payload import (
    MAX_BLOCK_FRAMES,
    MAX_GRID_CHANNELS,
    MAX_SPLITS,
    open_payload,
)
from mocpack.cores import core_count
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
    """Reads the head once, and decodes only the groups and joints that are requested."""

    decodes_truncated = True
    is_indexed = True

    @cached_property
    def native(self) -> _core.KeysinePayload:
        """The open payload."""
        return open_payload(self.payload, self.header, partial=self.payload.is_truncated)

    def clip(self) -> Clip:
        self.payload.read_all()  # which checks the file's checksum
        return self.frames(0, self.header.frame_count)

    def frames(self, start: int, stop: int, joints: Sequence[int] | None = None) -> Clip:
        return self._frames(self.native, start, stop, joints)

    def arrays(self, start: int, stop: int) -> tuple[F64, F64]:
        threads = self._threads(stop - start)
        turns, places = self.native.decode(start, stop, threads=threads, settled=False)
        return np.asarray(turns), np.asarray(places)

    def window_writer(self) -> WindowWriter:
        return self.native

    def byte_ranges(self, start: int, stop: int) -> list[tuple[int, int]]:
        return self.native.ranges(start, stop)

    def memory_needed(self, start: int, stop: int, joints: Sequence[int] | None = None) -> int:
        frames = min(stop - start + 2 * self.native.longest_group, self.header.frame_count)
        threads = self._threads(frames)
        return decoding_memory(self.native, self.header, (start, stop), joints, threads)

    def preview_memory(self) -> int:
        return index_memory(self.native, self.header) + array_bytes(
            self.header, self.native.group_count + 1
        )

    def layout(self) -> PayloadLayout:
        native = self.native
        parts = native.layer_count * native.group_count + native.segment_count
        # the head is mostly index and plan; each part has its checksum
        index = native.head_size + 2 * parts
        errors = tuple(native.layer_errors[1:])  # the first is that of the keys alone
        return PayloadLayout(native.group_count, native.layer_count, index, layer_errors=errors)

    def preview(self) -> Clip:
        """Return the poses at the ends of groups, at their own lower frame rate."""
        header = self.header
        rotations, translations = self.native.poses()
        time = header.frame_time * (header.frame_count - 1) / max(1, self.native.group_count)
        count = self.native.group_count + 1
        keys = replace(header, frame_count=count, frame_time=time or header.frame_time)
        return Clip.from_decoded(keys, rotations, translations)

    def partial(self) -> Clip:
        """Return what the layers that are whole give, and where there are none, the keys alone.

        Keys come before groups and base layers before refinements, so that a cut file plays to
        its end, only coarser; where even keys are missing, there is nothing to play.
        """
        native = open_payload(self.payload, self.header, partial=True)
        return self._frames(native, 0, self.header.frame_count)

    def _frames(
        self,
        native: _core.KeysinePayload,
        start: int,
        stop: int,
        joints: Sequence[int] | None = None,
    ) -> Clip:
        header = self.header if joints is None else self.header.joints(joints)
        wanted = None if joints is None else self.header.skeleton.with_ancestors(joints)
        turns, places = native.decode(start, stop, wanted, self._threads(stop - start))
        return Clip.from_decoded(header.with_frame_count(stop - start), turns, places)

    def _threads(self, frame_count: int) -> int:
        return thread_count(getattr(self.codec, "threads", 0), frame_count)


def index_memory(native: _core.KeysinePayload, header: ClipHeader) -> int:
    """Return about how many bytes a head takes that was read."""
    parts = native.segment_count + native.layer_count * native.group_count
    return PART * parts + PLANNED * len(header.skeleton)


def decoding_memory(
    native: _core.KeysinePayload,
    header: ClipHeader,
    frames: tuple[int, int],
    joints: Sequence[int] | None,
    threads: int,
) -> int:
    """Return about how many bytes decoding frames takes; without frames, opening alone.

    These are the symbols of each group, its keys and its curves, by thread; and the motion.
    """
    start, stop = frames
    if start == stop:
        return index_memory(native, header)
    longest = native.longest_group + 8  # the core rounds rows up
    blocks, block = min(longest, 1 << MAX_SPLITS), min(longest, MAX_BLOCK_FRAMES + 8)
    channels = 4 * len(header.skeleton) + 3 * len(header.translated_joints)
    # integers and levels of every coefficient, with margins for as many blocks as there may be
    symbols = channels * (5 * (longest + 16 * blocks) + 8 * blocks + 8 * block) + 16 * block**2
    may_be_grid = longest <= MAX_BLOCK_FRAMES + 8 and native.layer_count == 1
    grid = GRID_CHANNEL * min(channels, MAX_GRID_CHANNELS) if may_be_grid else 0
    groups = min((stop - start) // max(1, native.longest_group) + 2, max(1, native.group_count))
    segments = min(groups // native.groups_per_segment + 2, native.segment_count)
    kept = min(segments * native.groups_per_segment, native.group_count)
    keys = 4 * channels * (kept + 1) * (1 + threads / segments)
    part = header if joints is None else header.joints(joints)
    motion = array_bytes(part, stop - start)
    working = min(threads, groups) * (symbols + grid)
    return int(2 * index_memory(native, header) + keys + motion + working)
