"""The decoder of keysine in plain Python and numpy: slow and readable.

Symbols are integers throughout; floating point begins with `block_curves`.
"""

from __future__ import annotations

import numpy as np

from keysine_payload import PayloadHead, checksum
from keysine_tracks import Rotation
from mocpack.codec import Read
from mocpack.coding.fields import FieldReader
from mocpack.common.arrays import F64, I64
from mocpack.errors import CorruptionError, FormatError, TruncatedError
from mocpack.model import rotations
from mocpack.model.clip import Clip, ClipHeader
from reference.keysine_grid import GridRows, grid_curves
from reference.keysine_head import open_head, read_head
from reference.keysine_limits import clamp_channels, clamp_places, clamp_turns
from reference.keysine_plan import Plan, Track, step_size
from reference.keysine_refinement import KeyShifts, Refinement, middles
from reference.keysine_symbols import (
    CoefficientSymbols,
    Group,
    KeySymbols,
    pace,
    read_group,
)
from reference.table_reader import TableReader

SINE_TERMS = 13
SLOW, FAST = 5, 15  # half hertz, where the bands of predictors end


def decode(payload: bytes, header: ClipHeader, *, layers: int | None = None) -> Clip:
    """Return the clip that the first layers of a payload give, by default all."""

    def read(offset: int, size: int) -> bytes:
        if offset + size > len(payload):
            raise TruncatedError("keysine payload ends too early")
        return payload[offset : offset + size]

    head, plan = read_head(read, header)
    wanted = head.layer_count if layers is None else layers
    edges = read_edges(read, head, plan, max(wanted, 1))
    curves = np.empty((header.frame_count, plan.channel_count))
    starts = [head.key_frame(g, header.frame_count) for g in range(head.group_count + 1)]
    for segment in range(head.segment_count):
        for bundle in head.bundles_of(segment):
            groups = read_bundle(read, head, plan, edges, starts, bundle, wanted)
            for g in bundle:
                start, stop = starts[g : g + 2]
                ends, part = edges[-1][g : g + 2], head.part_at(0, "group", g)
                if stop - start == 1 or not wanted:
                    curves[start:stop] = _lines(plan, ends, stop - start)
                elif head.grid:
                    rows = GridRows(part_body(read(*part)), plan, header.skeleton, head.grid)
                    curves[start:stop] = grid_curves(
                        rows, plan, head.unit, head.grid.steps, ends[0], stop - start
                    )
                else:
                    curves[start:stop] = _group_curves(groups[g], head, plan, wanted)
    curves[-1] = edges[-1][-1] * _key_steps(plan)
    return motion(plan, curves, header)


def read_edges(read: Read, head: PayloadHead, plan: Plan, layers: int) -> list[I64]:
    """Return the keys at the ends of groups (groups + 1, channels) as each layer has them."""
    found = [np.zeros((head.group_count + 1, plan.channel_count), np.int64) for _ in range(layers)]
    shifts = KeyShifts(head, plan)
    for segment in range(head.segment_count):
        first = segment * head.groups_per_segment
        count = min(head.groups_per_segment, head.group_count - first) + 1
        coder = TableReader(part_body(read(*head.part_at(0, "keys", segment))))
        keys = shifts.middles(KeySymbols(coder, plan).sequence(count), 0)
        coder.finish()
        for layer in range(layers):
            if layer:
                coder = TableReader(part_body(read(*head.part_at(layer, "keys", segment))))
                keys = shifts.refine(coder, keys, layer)
                coder.finish()
            found[layer][first : first + count] = keys
    return found


def read_bundle(
    read: Read,
    head: PayloadHead,
    plan: Plan,
    edges: list[I64],
    starts: list[int],
    bundle: range,
    layers: int,
) -> dict[int, Group]:
    """Read the first layers of the groups of a bundle that have frames between their keys."""
    shifts, groups = KeyShifts(head, plan), {}
    moving = [g for g in bundle if starts[g + 1] - starts[g] > 1]
    if head.grid or not layers or not moving:
        return {}
    for g in moving:
        coder = TableReader(part_body(read(*head.part_at(0, "group", g))))
        length, ends = starts[g + 1] - starts[g], edges[0][g : g + 2]
        group = read_group(coder, plan, ends, length, head.tempo, shifts.inner(0))
        CoefficientSymbols(coder, plan, group, _shifts(head, plan, 0)).read()
        coder.finish()
        groups[g] = group
    for layer in range(1, layers):
        coder = TableReader(part_body(read(*head.part_at(layer, "group", bundle[0]))))
        before, after = _shifts(head, plan, layer - 1), _shifts(head, plan, layer)
        for g in moving:
            group = groups[g]
            group.keys[[0, -1]] = edges[layer][g : g + 2]
            KeySymbols(coder, plan).between(
                group.keys, group.residuals, shifts.inner(layer - 1), shifts.inner(layer)
            )
            bits = [old - new for old, new in zip(before, after, strict=True)]
            Refinement(coder, plan, group, after).layer(bits)
        coder.finish()
    return groups


def _shifts(head: PayloadHead, plan: Plan, layer: int) -> list[int]:
    """Return the shifts of coefficients (tracks) in a layer."""
    if layer + 1 >= head.layer_count:
        return [0] * len(plan.tracks)
    return [int(shift) for shift in head.shifts[layer, 1]]


def _group_curves(group: Group, head: PayloadHead, plan: Plan, layers: int) -> F64:
    """Return the channels (length, C) of a group after that many layers."""
    values = middles(group, plan, _shifts(head, plan, layers - 1))
    blocks = range(len(group.lengths))
    return np.concatenate([block_curves(plan, head, group, b, values[b]) for b in blocks])


def fix_checksums(payload: bytes) -> bytes:
    """Return the payload with all its checksums made right, as far as it parses; for tests."""
    out = bytearray(payload)
    try:
        size = FieldReader(payload, "keysine payload").varint(len(payload))
        out[size - 2 : size] = checksum(payload[: size - 2])
        symbols = open_head(bytes(out[:size]))
        head = symbols.fields(size)
        if max(head.group_count, head.groups_per_segment) > 8 * len(payload):
            return bytes(out[: len(payload)])
        for part in symbols.sizes(len(head.part_order) if head.groups_per_segment else 0):
            if part:
                out[size : size + 2] = checksum(payload[size + 2 : size + part])
            size += part
    except FormatError:
        pass
    return bytes(out[: len(payload)])


def part_body(part: bytes) -> bytes:
    if len(part) < 2 or checksum(part[2:]) != part[:2]:
        raise CorruptionError("keysine payload: a checksum is wrong")
    return part[2:]


def block_curves(plan: Plan, head: PayloadHead, group: Group, b: int, values: F64) -> F64:
    """Return the channels (N, C) of a block: lines from key to key plus sine series.

    Parameters
    ----------
    values : array, shape (C, …)
        Coefficient k at k + 4.
    """
    length = group.lengths[b]
    series = np.zeros((plan.channel_count, length))
    for t, track in enumerate(plan.tracks):
        step = int(group.steps[t, b])
        size = step_size(head.unit, step) if step >= 0 else 0.0
        for c in range(track.first_channel, track.first_channel + track.channel_count):
            for _, source, band, factor in head.predictors[head.predictors[:, 0] == c].tolist():
                series[c] += factor / 16 * _in_band(band, length, group.tempo) * series[source]
            series[c] += size * values[c, 4 : 4 + length]
    k = np.arange(length)
    turns = (k[:, np.newaxis] * k) % (2 * length)
    sines = np.sqrt(2 / length) * np.sin(np.pi * turns / length)
    return np.asarray(_lines(plan, group.keys[b : b + 2], length) + (series @ sines).T)


def _in_band(band: int, length: int, tempo: int) -> F64:
    paces = np.array([pace(k, tempo) for k in range(length)])
    bands = (paces >= 0, paces <= SLOW, paces > SLOW, paces > FAST)
    return bands[band].astype(np.float64)


def _lines(plan: Plan, keys: I64, length: int) -> F64:
    """Return straight lines (length, C) between two keys, the second left out."""
    start, stop = keys * _key_steps(plan)
    return np.asarray(start + np.arange(length)[:, np.newaxis] * (stop - start) / length)


def _key_steps(plan: Plan) -> F64:
    counts = [track.channel_count for track in plan.tracks]
    return np.repeat([track.key_step for track in plan.tracks], counts)


def motion(plan: Plan, curves: F64, header: ClipHeader) -> Clip:
    """Return the clip of channels (T, C)."""
    frames = len(curves)
    turns = np.tile(plan.still_rotations, (frames, 1, 1))
    places = np.tile(plan.still_translations, (frames, 1, 1))
    relative: dict[int, F64] = {}  # rotations by track, relative to their references
    for t, track in enumerate(plan.tracks):
        own = curves[:, track.first_channel : track.first_channel + track.channel_count]
        if len(track.limits):
            own = clamp_channels(track, own)
        if track.rotation is None:
            places[:, track.joint] = track.base + own @ track.axes.T
        else:
            relative[t] = turns[:, track.joint] = track_rotations(track, own)
        if track.shares:
            above = _parent_rotations(plan, header, track, relative[track.parent])
            local = rotations.multiply(rotations.conjugate(above), relative[t])
            turns[:, track.joint] = local
        if np.isfinite(track.free_limits).any():
            pose = places if track.rotation is None else turns
            clamp = clamp_places if track.rotation is None else clamp_turns
            pose[:, track.joint] = clamp(track, header.skeleton, pose[:, track.joint])
    return Clip(header, turns, places[:, list(header.translated_joints)])


def _parent_rotations(plan: Plan, header: ClipHeader, track: Track, above: F64) -> F64:
    """Return the rotations (T, 4) of a joint's parent from those of the track above the joint."""
    parents, at = header.skeleton.parents, header.skeleton.parents[track.joint]
    between = rotations.IDENTITY
    while at != plan.tracks[track.parent].joint:
        between = rotations.multiply(plan.still_rotations[at], between)
        at = parents[at]
    return rotations.multiply(above, between)


def track_rotations(track: Track, own: F64) -> F64:
    """Return the rotations (T, 4) of a track's channels (T, C)."""
    if track.rotation == Rotation.QUATERNION:
        return rotations.normalize(own)
    if track.rotation == Rotation.HINGE:
        turns = np.broadcast_to(track.base, (len(own), 4))
        for axis, start, angles in zip(track.axes.T, track.angles, own.T, strict=True):
            turns = rotations.multiply(turns, _about(axis, start, angles))
        return turns
    half = 0.5 * own @ track.axes.T
    length = np.linalg.norm(half, axis=1, keepdims=True)
    wrapped = length - 2 * np.pi * np.floor(length / (2 * np.pi) + 0.5)
    half = np.where(length > np.pi, half * wrapped / np.maximum(length, np.pi), half)
    return rotations.multiply(track.base, _exponential(half))


def _about(axis: F64, start: float, angles: F64) -> F64:
    """Return turns (T, 4) about an axis, by `start` and its length times these numbers (T,)."""
    length = np.linalg.norm(axis)
    half = 0.5 * (start + length * angles)
    half -= 2 * np.pi * np.floor(half / (2 * np.pi) + 0.5)
    return _exponential(half[:, np.newaxis] * axis / length)


def _exponential(half: F64) -> F64:
    """Return the rotations (T, 4) by twice these vectors (T, 3)."""
    square = np.sum(half * half, axis=1, keepdims=True)
    sine, cosine = np.ones_like(square), np.ones_like(square)
    for i in range(SINE_TERMS, 0, -1):
        sine = 1 - sine * square / (2 * i * (2 * i + 1))
        cosine = 1 - cosine * square / (2 * i * (2 * i - 1))
    return np.concatenate([sine * half, cosine], axis=1)
