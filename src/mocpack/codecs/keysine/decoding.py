"""From a payload to motion, by the native core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from mocpack import _core
from mocpack.codec import Codec, Decoder, Layer, PayloadLayout, WindowWriter
from mocpack.common.arrays import F64
from mocpack.cores import core_count
from mocpack.model.clip import Clip, ClipHeader

LONG_CLIP = 2000  # frames; longer clips use all cores


def thread_count(codec: Codec, frame_count: int) -> int:
    """Return the number of threads for that many frames: of the codec, or by default a good one."""
    threads: int = getattr(codec, "threads", 0)
    return threads or (core_count() if frame_count >= LONG_CLIP else 1)


class KeysineDecoder(Decoder[Clip, ClipHeader]):
    """Reads the head once, and decodes only the groups and joints that are requested."""

    decodes_truncated = True
    is_indexed = True

    @cached_property
    def native(self) -> _core.KeysinePayload:
        """The open payload: its head is parsed, its parts are found."""
        return self._open(partial=self.payload.is_truncated)

    def clip(self) -> Clip:
        self.payload.read_all()  # which checks the file's checksum
        return self.frames(0, self.header.frame_count)

    def frames(self, start: int, stop: int, joints: Sequence[int] | None = None) -> Clip:
        return self._frames(self.native, start, stop, joints)

    def arrays(self, start: int, stop: int) -> tuple[F64, F64]:
        threads = thread_count(self.codec, stop - start)
        turns, places = self.native.decode(start, stop, threads=threads, normalized=False)
        return np.asarray(turns), np.asarray(places)

    def window_writer(self) -> WindowWriter:
        return self.native

    def window_opener(self, own_file: _core.File) -> Callable[[bytes], WindowWriter | None] | None:
        return partial(self.native.open_alike, own_file)

    def row_storer(self, own_file: _core.File) -> Callable[..., list[int]]:
        return partial(self.native.store_rows, own_file)

    def byte_ranges(self, start: int, stop: int) -> list[tuple[int, int]]:
        return self.native.ranges(start, stop)

    def memory_needed(self, start: int, stop: int, joints: Sequence[int] | None = None) -> int:
        part = self.header if joints is None else self.header.joints(joints)
        working = self.native.memory_needed(start, stop, thread_count(self.codec, stop - start))
        return working + part.array_bytes(stop - start)

    def preview_memory(self) -> int:
        working = self.native.memory_needed(0, self.header.frame_count)
        return working + self.header.array_bytes(self.native.group_count + 1)

    def layout(self) -> PayloadLayout:
        native = self.native
        layers = tuple(Layer(*layer) for layer in native.layers)
        # the head is mostly index and plan; each part has its checksum
        index = native.head_size + 2 * native.part_count
        named = layers if len(layers) > 1 else ()
        return PayloadLayout(native.group_count, len(layers), index, layers=named)

    def preview(self) -> Clip:
        """Return the poses at the ends of groups, at their own lower frame rate."""
        header = self.header
        rotations, translations = self.native.poses()
        time = header.frame_time * (header.frame_count - 1) / max(1, self.native.group_count)
        count = self.native.group_count + 1
        keys = replace(header, frame_count=count, frame_time=time or header.frame_time)
        return Clip.from_decoded(keys, rotations, translations)

    def partial(self) -> Clip:
        """Return the clip that the complete layers of each group give.

        The first layer must be complete: a truncated file plays to its end, only coarser.
        """
        return self._frames(self._open(partial=True), 0, self.header.frame_count)

    def _open(self, *, partial: bool) -> _core.KeysinePayload:
        """Return the payload as the core opens it; with `partial`, groups may be missing."""
        payload, header = self.payload, self.header
        return _core.KeysinePayload(
            header.skeleton.to_core(header.translated_joints),
            header.frame_count,
            payload.source,
            payload.offset,
            payload.size,
            payload.missing_bytes,
            partial,
            payload.memory_limit,
        )

    def _frames(
        self,
        native: _core.KeysinePayload,
        start: int,
        stop: int,
        joints: Sequence[int] | None = None,
    ) -> Clip:
        header = self.header if joints is None else self.header.joints(joints)
        wanted = None if joints is None else self.header.skeleton.with_ancestors(joints)
        threads = thread_count(self.codec, stop - start)
        turns, places = native.decode(start, stop, wanted, threads)
        return Clip.from_decoded(header.with_frame_count(stop - start), turns, places)
