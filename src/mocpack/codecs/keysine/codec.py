"""The codec people come for: the smallest file that keeps every point within a stated distance.

Joints are coded from the root outwards, each relative to what was decoded above it and turned so
that what it carries lands where it should: key poses, straight lines between them, and a sine
series on top, quantised by a search that knows the bound. `docs/codecs/keysine.md` has the bits.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.clip import Clip, ClipHeader, promised_error
from mocpack.codec import Codec, Layout, Quality, Read
from mocpack.codecs.keysine import planning, reference, search
from mocpack.codecs.keysine.payload import Head, read_head, write_payload
from mocpack.errors import BoundError, CorruptionError, InvalidClipError, TruncatedError
from mocpack.metrics.contacts import slip
from mocpack.metrics.spectrum import tremble
from mocpack.units import format_length, parse_length

F64 = npt.NDArray[np.float64]

SEGMENT_GROUPS = 16
MARGIN = 1e-6  # metres that any conforming decoder's arithmetic may differ
# shares of the bound to aim at, and what trembling costs: until it is calm, then until it holds
TRIES = (
    *((1.0, search.CALM), (0.97, 4 * search.CALM), (0.9, 8 * search.CALM)),
    *((0.97, search.CALM), (0.9, search.CALM), (0.7, search.CALM), (0.4, search.CALM)),
)
MEAN_TRIES, MEAN_NEAR, MEAN_SLOPE = 10, 0.99, 0.8
SIZE_SLOPE = 0.56  # size falls about as this power of the mean error
STRETCH, LOOSE_STRETCH = 720, 5000  # frames
LONG_CLIP = 2000  # frames from which all cores are used
EFFORTS = tuple(search.EFFORTS)


@dataclass(frozen=True)
class Keysine(Codec):
    """Key poses and sine series, within a promised error.

    Parameters
    ----------
    max_error : float or str
        Bound on the displacement of joints, bone ends and shell points: metres, or text ("1mm").
    mean_error : float or str, optional
        Bound on the mean displacement of joints; takes the place of `max_error`.
    step : float or str, optional
        Step of the quantiser, about the displacement that its rounding may cause: takes the place
        of both bounds, and promises nothing.
    effort : {"fast", "default", "best"}
        How long the encoder may search.
    group_seconds : float
        A seek point at least this often.
    block_seconds : float, optional
        Distance of key poses; by default chosen by clip. At most `group_seconds`.
    threads : int
        Threads of encoder and decoder; 0: as many as there are cores, for long clips.
    """

    codec_id = "keysine"
    bitstream_version = 1
    quality: ClassVar[Quality] = Quality("max_error", 1e-5, 1.0)

    max_error: float = 1e-3
    mean_error: float | None = None
    step: float | None = None
    effort: str = "default"
    group_seconds: float = 1.0
    block_seconds: float | None = None
    threads: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_error", parse_length(self.max_error))
        for name in ("mean_error", "step"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, parse_length(getattr(self, name)))
        if self.effort not in EFFORTS:
            raise ValueError(f"effort must be one of {', '.join(EFFORTS)}, got {self.effort!r}")
        if not 0 < self.group_seconds < 1e6:
            raise ValueError(f"group_seconds must be in 0..1e6, got {self.group_seconds}")
        if self.block_seconds is not None and not 0 < self.block_seconds < 1e6:
            raise ValueError(f"block_seconds must be in 0..1e6, got {self.block_seconds}")
        if not 0 <= self.threads <= 256:
            raise ValueError(f"threads must be in 0..256, got {self.threads}")

    @property
    def promised(self) -> float | None:
        """`max_error`, where it is what the encoder keeps."""
        return self.max_error if self.mean_error is None and self.step is None else None

    def with_bound(self, *, max_error: float | None, mean_error: float | None, effort: str) -> Self:
        """Return the codec that keeps these bounds, in metres."""
        bound = self.max_error if max_error is None else max_error
        return replace(self, max_error=bound, mean_error=mean_error, step=None, effort=effort)

    def encode(self, clip: Clip) -> bytes:
        if self.step is not None:
            return self._free(clip, self.step)
        if self.mean_error is not None:
            return self._within_mean(clip, self.mean_error)
        return self._within_bound(clip)

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        read = _reader(payload)
        head = read_head(read, header)
        whole = sum(head.segment_sizes) + sum(head.group_sizes) + head.size
        if len(payload) > whole:
            raise CorruptionError(f"keysine payload has {len(payload) - whole} bytes too many")
        return self._decode_groups(read, header, head, 0, len(head.group_sizes))

    def decode_frames(
        self, read: Read, header: ClipHeader, start: int, stop: int, joints: Sequence[int] | None
    ) -> Clip:
        head = read_head(read, header)
        count = len(head.group_sizes)
        first = head.group_at(start, header.frame_count)
        last = head.group_at(stop - 1, header.frame_count)
        count = min(last + 1, count) - first
        part = self._decode_groups(read, header, head, first, count, joints=joints)
        begin = head.key_frame(first * head.blocks_per_group, header.frame_count)
        return part.frames(start - begin, stop - begin)

    def layout(self, read: Read, header: ClipHeader) -> Layout:
        head = read_head(read, header)
        parts = len(head.group_sizes) + len(head.segment_sizes)
        # the head is mostly index and plan; each part has its checksum
        return Layout(groups=len(head.group_sizes), index_bytes=head.size + 2 * parts)

    def decode_preview(self, read: Read, header: ClipHeader) -> Clip:
        """Return the key poses, at their own lower frame rate."""
        head = read_head(read, header)
        segments = read(*head.segments_at(0, len(head.segment_sizes)))
        native = header.skeleton.native(header.translated_joints)
        whole = read(0, head.size)
        turns, places = _core.keysine_poses(native, whole, header.frame_count, segments)
        time = header.frame_time * (header.frame_count - 1) / max(1, head.block_count)
        keys = replace(header, frame_count=len(turns), frame_time=time or header.frame_time)
        return _clip(keys, turns, places)

    def decode_partial(self, payload: bytes, header: ClipHeader) -> Clip:
        """Return the groups that are whole, and beyond them what the keys alone give.

        The keys of a clip come before its groups, so that a cut file plays to its end, only
        coarser; where even keys are missing, the clip is shorter.
        """
        read = _reader(payload)
        head = read_head(read, header)
        count = len(head.group_sizes)
        while count and sum(head.groups_at(0, count)) > len(payload):
            count -= 1
        if count == len(head.group_sizes):
            return self.decode(payload, header)
        start = head.key_frame(count * head.blocks_per_group, header.frame_count)
        missing = len(head.group_sizes) - count
        rest = self._decode_groups(read, header, head, count, missing, keys_alone=True)
        if not count:
            return rest
        whole = self._decode_groups(read, header, head, 0, count).frames(0, start)
        return _clip(
            replace(header, frame_count=start + rest.frame_count),
            np.concatenate([whole.rotations, rest.rotations]),
            np.concatenate([whole.translations, rest.translations]),
        )

    @staticmethod
    def reseal(payload: bytes) -> bytes:
        """Return the payload with its checksums made right, as far as it parses; for tests."""
        return reference.resealed(payload)

    def _decode_groups(
        self,
        read: Read,
        header: ClipHeader,
        head: Head,
        first: int,
        count: int,
        *,
        keys_alone: bool = False,
        joints: Sequence[int] | None = None,
    ) -> Clip:
        """Return the motion of some groups, of some joints and their ancestors."""
        segment = head.segment_of(first)
        segments = head.segment_of(max(first, first + count - 1)) - segment + 1
        turns, places = _core.keysine_decode(
            header.skeleton.native(header.translated_joints),
            read(0, head.size),
            header.frame_count,
            read(*head.segments_at(segment, segments)),
            None if keys_alone else read(*head.groups_at(first, count)),
            first,
            count,
            self._threads(count * head.blocks_per_group * head.longest_block(header.frame_count)),
            None if joints is None else header.skeleton.with_ancestors(joints),
        )
        header = header if joints is None else header.joints(joints)
        return _clip(replace(header, frame_count=len(turns)), turns, places)

    def _within_bound(self, clip: Clip) -> bytes:
        """Return the first payload that keeps the bound calmly, else the calmest that keeps it."""
        limit = self.max_error - min(MARGIN, 0.01 * self.max_error)
        seconds = self._block_seconds(clip, self.max_error)
        calmest: tuple[float, bytes] | None = None
        for share, calm in TRIES:
            if calmest is not None and calm == search.CALM:
                break  # tighter bounds are for those that miss theirs
            payload = self._bounded(clip, share * self.max_error, calm, seconds)
            back = payload and self.decode(payload, clip.header)
            if not payload or not back or promised_error(clip, back).max > limit:
                continue
            if self.effort == "fast" or (unrest := self._unrest(clip, back)) <= 1:
                return payload
            calmest = min(calmest or (np.inf, b""), (unrest, payload))
        if calmest is None:
            raise BoundError(
                f"keysine cannot keep this clip within {format_length(self.max_error)}"
            )
        return calmest[1]

    def _unrest(self, clip: Clip, back: Clip) -> float:
        return max(tremble(clip, back, self.max_error), slip(clip, back, self.max_error))

    def _bounded(self, clip: Clip, bound: float, calm: float, seconds: float) -> bytes | None:
        """Return a payload that aims at `bound`, or None where the search cannot reach it."""
        settings = search.bounded(self.effort, bound)
        settings.bound = bound - max(5e-4 * bound, min(MARGIN, 0.02 * bound))
        settings.calm = calm
        return self._pack(clip, settings, bound, planning.UNIT_STEP, seconds)

    def _block_seconds(self, clip: Clip, bound: float) -> float:
        """Return the distance of keys that makes a stretch of the clip smallest."""
        choices = self._choices(bound)
        if len(choices) == 1:
            return choices[0]
        part = self._stretch(clip, bound)
        made = [self._bounded(part, bound, search.CALM, seconds) for seconds in choices]
        sizes = [len(payload) if payload else np.inf for payload in made]
        return choices[int(np.argmin(sizes))]

    def _choices(self, step: float) -> tuple[float, ...]:
        if self.block_seconds is not None:
            return (self.block_seconds,)
        return search.block_choices(step, self.effort)

    def _stretch(self, clip: Clip, step: float) -> Clip:
        """Return as much of a clip's middle as choices are made by; loose errors are quick."""
        longest = STRETCH if step <= search.LOOSE else LOOSE_STRETCH
        if self.effort == "best" or clip.frame_count <= longest:
            return clip
        start = (clip.frame_count - longest) // 2
        return clip.frames(start, start + longest)

    def _free(self, clip: Clip, step: float, seconds: float | None = None) -> bytes:
        """Return the payload of a step, whatever its error."""
        settings = search.free(self.effort, step)
        seconds = seconds or self._free_seconds(clip, step)
        payload = self._pack(clip, settings, step, search.FREE_KEY_STEP, seconds)
        if payload is None:
            raise BoundError(f"a step of {format_length(step)} is too fine for this clip")
        return payload

    def _free_seconds(self, clip: Clip, step: float) -> float:
        """Return the distance of keys that costs least; a smaller error counts as smaller size."""
        choices = self._choices(step)
        if len(choices) == 1:
            return choices[0]
        part, costs = self._stretch(clip, step), []
        for seconds in choices:
            payload = self._free(part, step, seconds)
            error = promised_error(part, self.decode(payload, part.header)).joint_mean
            costs.append(len(payload) * error**SIZE_SLOPE)
        return choices[int(np.argmin(costs))]

    def _pack(
        self,
        clip: Clip,
        settings: _core.KeysineSettings,
        size: float,
        key_step: int,
        seconds: float,
    ) -> bytes | None:
        blocks = planning.cut(
            clip,
            block_seconds=seconds,
            group_seconds=self.group_seconds,
            segment_groups=SEGMENT_GROUPS,
        )
        bits, basis_bits = planning.fine_bits(clip, size), planning.basis_bits(clip)
        unit = float(np.float32(size))
        settings.unit, settings.fine, settings.basis_grid = unit, 0.5**bits, 0.5**basis_bits
        settings.calm_from = min(1.0, 2 * search.TREMBLE_FROM / clip.frame_rate)
        settings.tempo, settings.model = blocks.tempo, search.model_set(size, seconds)
        native = clip.skeleton.native(clip.translated_joints)
        made = _core.keysine_encode(
            native,
            clip.rotations,
            clip.translations,
            planning.plan_table(clip, bits, basis_bits, unit, key_step=key_step),
            search.rates(),
            blocks.block_count,
            blocks.blocks_per_group,
            blocks.groups_per_segment,
            settings,
            self._threads(clip.frame_count),
        )
        if made is None:
            return None
        table, segments, groups = made
        head = Head(
            settings.model,
            bits,
            basis_bits,
            0,
            blocks.tempo,
            unit,
            blocks.block_count,
            blocks.blocks_per_group,
            blocks.groups_per_segment,
            np.asarray(table),
            (),
            (),
            0,
        )
        payload = write_payload(head, native, segments, groups)
        read = _reader(payload)
        whole = read_head(read, clip.header)
        base = self._decode_groups(read, clip.header, whole, 0, len(groups), keys_alone=True)
        error = promised_error(clip, base).max
        coarse = min(max(math.ceil(8 * math.log2(max(error, unit) / unit)), 0), 255)
        return write_payload(replace(head, coarse=coarse), native, segments, groups)

    def _within_mean(self, clip: Clip, bound: float) -> bytes:
        """Return the payload of about the coarsest step whose mean error keeps the bound.

        The mean error grows about as the step to the power of MEAN_SLOPE, so a few steps that
        follow this law come as near as the next try would.
        """
        step, best, reached = 3.0 * bound, None, 0.0
        seconds = self._free_seconds(clip, step)
        for _ in range(MEAN_TRIES):
            payload = self._free(clip, step, seconds)
            error = promised_error(clip, self.decode(payload, clip.header)).joint_mean
            if reached < error <= bound:
                best, reached = payload, error
            if MEAN_NEAR * bound <= error <= bound:
                break
            aim = 0.5 * (1 + MEAN_NEAR) * bound
            step *= (aim / max(error, 1e-3 * bound)) ** (1 / MEAN_SLOPE)
        if best is None:
            raise BoundError(f"keysine cannot keep this clip's mean within {format_length(bound)}")
        return best

    def _threads(self, frame_count: int) -> int:
        if self.threads:
            return self.threads
        return (os.cpu_count() or 1) if frame_count >= LONG_CLIP else 1


def _reader(payload: bytes) -> Read:
    def read(offset: int, size: int) -> bytes:
        if offset + size > len(payload):
            raise TruncatedError(
                f"keysine payload ends {offset + size - len(payload)} bytes too early"
            )
        return payload[offset : offset + size]

    return read


def _clip(header: ClipHeader, turns: npt.ArrayLike, places: npt.ArrayLike) -> Clip:
    """Return the clip of arrays that nobody else holds: frozen, so that it need not copy them."""
    turns, places = np.asarray(turns), np.asarray(places)
    turns.setflags(write=False)
    places.setflags(write=False)
    try:
        return Clip(header, turns, places)
    except InvalidClipError as error:
        raise CorruptionError(f"keysine payload: {error}") from error
