"""The decoder in plain Python and numpy: slow, and the text to read to know what the core computes.

Symbols are integers throughout; floating point begins with `block_curves`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mocpack import rotations
from mocpack.clip import Clip, ClipHeader
from mocpack.codec import Read
from mocpack.codecs.keysine.payload import (
    FIRST_FRAME_ALONE,
    GRID,
    LONGEST_BLOCK,
    LONGEST_GROUP,
    THOROUGH,
    Grid,
    PayloadHead,
    checksum,
    head_bytes,
    longest_block,
)
from mocpack.codecs.keysine.tracks import COLUMNS, Plan, Rotation, Track, build_plan, step_size
from mocpack.coding.fields import FieldReader
from mocpack.errors import CorruptionError, FormatError, TruncatedError
from mocpack.testing.reference.keysine_grid import GridRows, grid_curves
from mocpack.testing.reference.keysine_models import Models
from mocpack.testing.reference.keysine_refinement import Refinement, middles
from mocpack.testing.reference.keysine_symbols import Group, Symbols

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

SINE_TERMS = 13
SMALLEST_UNIT = 2.0**-149  # metres: the least float32 above zero
NO_PLAN = Plan([], 0, np.zeros(0), np.zeros(0))


def decode(payload: bytes, header: ClipHeader, *, layers: int | None = None) -> Clip:
    """Return the clip that the first layers of a payload give, by default all."""

    def read(offset: int, size: int) -> bytes:
        if offset + size > len(payload):
            raise TruncatedError("keysine payload ends too early")
        return payload[offset : offset + size]

    head = _read_head(read, header)
    plan = build_plan(head.table, header, head.unit, head.fine, head.basis_grid)
    keys = _read_keys(read, head, plan)
    curves = np.empty((header.frame_count, plan.channel_count))
    wanted = head.layer_count if layers is None else layers
    for group in range(head.group_count):
        first = group * head.blocks_per_group
        blocks = min(head.blocks_per_group, head.block_count - first)
        edges = [head.key_frame(first + b, header.frame_count) for b in range(blocks + 1)]
        bodies = [_body(read(*head.groups_at(group, 1, layer))) for layer in range(wanted)]
        if head.grid and bodies:
            rows = GridRows(bodies[0], plan, header.skeleton, head.grid)
            curves[edges[0] : edges[1]] = grid_curves(
                rows, plan, head.unit, head.grid.steps, keys[first], edges[1] - edges[0]
            )
            continue
        steps, values = _read_group(bodies, head, plan, np.diff(edges))
        for b, (start, stop) in enumerate(pairwise(edges)):
            own = values[b, :, 1 : stop - start]
            curves[start:stop] = block_curves(
                plan, head.unit, keys[first + b : first + b + 2], steps[:, b], own
            )
    curves[-1] = keys[-1] * np.concatenate(
        [np.full(t.channel_count, t.key_step) for t in plan.tracks] or [np.zeros(0)]
    )
    return motion(plan, curves, header)


def _read_head(read: Read, header: ClipHeader) -> PayloadHead:
    data = head_bytes(read)
    fields = open_head(data)
    head = read_fields(fields, header.frame_count, len(data))
    symbols = Symbols(fields.rest(), NO_PLAN, Models.start(head.model))
    segments, groups = head.part_counts
    sizes = symbols.sizes(segments, groups * head.layer_count)
    head = replace(head.with_sizes([*sizes[0], *sizes[1]]), table=symbols.table(header))
    head = replace(head, shifts=symbols.shifts(head.layer_count - 1, head.track_count))
    if head.grid is None:
        return head
    plan = build_plan(head.table, header, head.unit, head.fine, head.basis_grid)
    steps, scales = symbols.grid(len(plan.tracks), plan.channel_count)
    return replace(head, grid=replace(head.grid, steps=steps, initial_scales=scales))


def open_head(data: bytes) -> FieldReader:
    """Check a head and return the reader that stands at its first field."""
    if checksum(data[:-2]) != data[-2:]:
        raise CorruptionError("keysine head: its checksum is wrong")
    fields = FieldReader(data[:-2], "keysine head")
    fields.varint()
    return fields


def read_fields(fields: FieldReader, frame_count: int, size: int) -> PayloadHead:
    """Read what stands in a head before its coded part."""
    mode, model, fine_bits, basis_bits, coarse, tempo = (fields.u8() for _ in range(6))
    unit = fields.f32()
    blocks, per_group, per_segment = (fields.varint(2**40) for _ in range(3))
    refined = tuple(fields.u8() for _ in range(mode >> 4))
    alone, on_grid = bool(mode & FIRST_FRAME_ALONE), bool(mode & GRID)
    _check("mode", mode & 15, 0, 7)
    _check("thorough forecast without a grid in time", int(bool(mode & THOROUGH)), 0, int(on_grid))
    _check("fine grid's bits", fine_bits, 0, 60)
    _check("axes' bits", basis_bits, 0, 20)
    _check("tempo", tempo, 1, 255)
    _check("unit", unit, SMALLEST_UNIT, 1e6)
    _check("frames before even blocks", int(alone), 0, int(frame_count > 2))
    _check("blocks", blocks, (1 + alone) if frame_count > 1 else 0, frame_count - 1)
    longest = longest_block(frame_count, blocks, int(alone))
    _check("frames of a block", longest, 0, LONGEST_BLOCK)
    most = 1 if on_grid else LONGEST_GROUP // longest if longest else 2**40
    _check("blocks of a group", per_group, 1, most)
    _check("groups of a segment", per_segment, 1, 2**40)
    _check("layers", 1 + len(refined), 1, 1 if on_grid else 16)
    return PayloadHead(
        model=model,
        fine_bits=fine_bits,
        basis_bits=basis_bits,
        coarse=coarse,
        tempo=tempo,
        unit=unit,
        block_count=blocks,
        blocks_per_group=per_group,
        groups_per_segment=per_segment,
        table=np.zeros((0, COLUMNS), np.int32),
        size=size,
        refined=refined,
        first_frame_alone=alone,
        grid=Grid(bool(mode & THOROUGH)) if on_grid else None,
    )


def _check(field: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise CorruptionError(f"keysine head: {field} {value:g} is outside {low:g}..{high:g}")


def _read_group(
    bodies: list[bytes], head: PayloadHead, plan: Plan, lengths: npt.NDArray[np.intp]
) -> tuple[I64, F64]:
    """Read the first layers of a group: steps (tracks, blocks), values (blocks, channels, …)."""
    group, models = Group.empty(plan, lengths), Models.start(head.model)
    shifts = np.concatenate([head.shifts, np.zeros((1, len(plan.tracks)), np.uint8)]).astype(int)
    for layer, body in enumerate(bodies):  # the models go on learning from layer to layer
        if layer:
            bits = shifts[layer - 1] - shifts[layer]
            Refinement(body, plan, models).layer(group, bits.tolist(), head.tempo)
        else:
            Symbols(body, plan, models).group(group, head.tempo)
    return group.steps, middles(group, plan, shifts[len(bodies) - 1].tolist())


def resealed(payload: bytes) -> bytes:
    """Return the payload with all its checksums made right, as far as it parses; for tests."""
    out = bytearray(payload)
    try:
        size = FieldReader(payload, "keysine payload").varint(len(payload))
        out[size - 2 : size] = checksum(payload[: size - 2])
        fields = open_head(bytes(out[:size]))
        mode, model = fields.raw(10)[:2]
        blocks, per_group, per_segment = (fields.varint(2**20) for _ in range(3))
        fields.raw(mode >> 4)
        groups = -(-blocks // max(per_group, 1))
        segments = max(1, -(-groups // max(per_segment, 1)))
        symbols = Symbols(fields.rest(), NO_PLAN, Models.start(model))
        parts = symbols.sizes(segments, groups * (1 + (mode >> 4)))
        for part in (*parts[0], *parts[1]):
            out[size : size + 2] = checksum(payload[size + 2 : size + part])
            size += part
    except FormatError:
        pass
    return bytes(out[: len(payload)])


def _read_keys(read: Read, head: PayloadHead, plan: Plan) -> I64:
    keys = np.zeros((head.block_count + 1, plan.channel_count), np.int64)
    blocks = head.blocks_per_group * head.groups_per_segment
    for segment in range(len(head.segment_sizes)):
        first = segment * blocks
        count = min(blocks, head.block_count - first) + 1
        symbols = Symbols(
            _body(read(*head.segments_at(segment, 1))), plan, Models.start(head.model)
        )
        keys[first : first + count] = symbols.keys(count)
    return keys


def _body(part: bytes) -> bytes:
    if len(part) < 2 or checksum(part[2:]) != part[:2]:
        raise CorruptionError("keysine payload: a checksum is wrong")
    return part[2:]


def block_curves(plan: Plan, unit: float, keys: I64, steps: I64, values: F64) -> F64:
    """Return the channels (N, C) of a block: lines from key to key plus sine series.

    Parameters
    ----------
    keys : array of int, shape (2, C)
    steps : of each track, -1 where it has no coefficients
    values : array, shape (C, N - 1)
    """
    length = values.shape[1] + 1
    t = np.arange(length)
    k = np.arange(1, length)
    sines = np.sqrt(2 / length) * np.sin(np.pi * ((k[:, np.newaxis] * t) % (2 * length)) / length)
    curves = np.empty((length, plan.channel_count))
    for track, step in zip(plan.tracks, steps, strict=True):
        at = slice(track.first_channel, track.first_channel + track.channel_count)
        start, stop = track.key_step * keys[:, at]
        size = step_size(unit, int(step)) if step >= 0 else 0.0
        line = start + t[:, np.newaxis] * (stop - start) / length
        curves[:, at] = line + (size * values[at] @ sines).T
    return curves


def motion(plan: Plan, curves: F64, header: ClipHeader) -> Clip:
    """Return the clip whose channels (T, C) these are."""
    frames = len(curves)
    turns = np.tile(plan.still_rotations, (frames, 1, 1))
    places = np.tile(plan.still_translations, (frames, 1, 1))
    for track in plan.tracks:
        own = curves[:, track.first_channel : track.first_channel + track.channel_count]
        if track.rotation is None:
            places[:, track.joint] = track.base + own @ track.axes.T
        else:
            turns[:, track.joint] = _turns(track, own)
    return Clip(header, turns, places[:, list(header.translated_joints)])


def _turns(track: Track, own: F64) -> F64:
    if track.rotation == Rotation.QUATERNION:
        return rotations.normalize(own)
    half = 0.5 * own @ track.axes.T
    square = np.sum(half * half, axis=1, keepdims=True)
    sine, cosine = np.ones_like(square), np.ones_like(square)
    for i in range(SINE_TERMS, 0, -1):
        sine = 1 - sine * square / (2 * i * (2 * i + 1))
        cosine = 1 - cosine * square / (2 * i * (2 * i - 1))
    return rotations.multiply(track.base, np.concatenate([sine * half, cosine], axis=1))
