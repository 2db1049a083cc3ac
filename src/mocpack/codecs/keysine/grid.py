"""The second mode of `keysine`, for tight bounds: whole numbers on a grid, predicted in time.

`transforms/time_search.py` finds the numbers, `transforms/time_grid.py` makes motion of them; here
they become bytes and come back. The first frames of groups, their *keys*, stand before all groups,
so that a preview needs nothing else and a cut file plays to its end along straight lines.
`docs/codecs/keysine.md` has the bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from mocpack.clip import Clip, ClipHeader, promised_error
from mocpack.codec import Layout, Read
from mocpack.codecs.keysine.decoding import check_end, joined
from mocpack.codecs.keysine.grid_head import GridHead, read_head, write_head
from mocpack.codecs.keysine.payload import LONGEST_GROUP, checksum
from mocpack.entropy.fields import FieldReader, FieldWriter
from mocpack.entropy.planes import decode_plane, encode_plane
from mocpack.entropy.relations import Owner, column_groups
from mocpack.entropy.series import QUICK, THOROUGH, ColumnGroup, decode_series, encode_series
from mocpack.errors import CorruptionError, InvalidClipError
from mocpack.skeleton import Skeleton
from mocpack.transforms.joint_axes import Axes
from mocpack.transforms.time_grid import STEPS_AN_OCTAVE, Grid, channel_clip, dequantise
from mocpack.transforms.time_search import MOST_LEVEL, grids_in_time

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

FORECASTS = (QUICK, THOROUGH)
TRIES = {"fast": 4, "default": 12, "best": 24}
LARGEST = 2**29  # of a number on its grid, so that differences stay within 2^30
SIZES_AN_OCTAVE = 4  # of the sizes of errors that a series is told


def payloads(clip: Clip, bound: float, *, effort: str, group_seconds: float) -> Iterator[bytes]:
    """Make payloads within `bound` metres, from the coarsest grid to the calmest."""
    length = int(min(max(group_seconds * clip.frame_rate, 1.0), LONGEST_GROUP))
    for grid in grids_in_time(clip, bound, group_length=length, tries=TRIES[effort]):
        if np.abs(grid.numbers).max(initial=0) < LARGEST:
            yield write_grid(clip, grid, forecast=int(effort == "best"))


def write_grid(clip: Clip, grid: Grid, *, forecast: int) -> bytes:
    """Return the payload of a grid."""
    coarse = grid.numbers >> grid.levels[:, np.newaxis]
    keys = coarse[:: grid.group_length]
    head = GridHead(
        forecast=forecast,
        group_length=grid.group_length,
        axes=grid.axes,
        steps=grid.steps,
        filters=grid.filters,
        sizes=_expected_sizes(coarse, grid.group_length),
        coarseness=grid.coarseness,
    )
    error = promised_error(clip, _along_keys(head, keys, clip.header, 0)).max
    columns = _columns(clip.skeleton, grid.axes, clip.translated_joints)
    key_bytes = _sealed(encode_plane(np.diff(keys, axis=0, prepend=0), _classes(grid.axes)))
    groups = []
    for g, key in enumerate(keys):
        own = slice(g * grid.group_length, (g + 1) * grid.group_length)
        body = FieldWriter()
        _write_levels(body, grid.numbers[own], grid.levels[own])
        told = head.told_sizes()
        body.raw(encode_series(coarse[own] - key, columns, FORECASTS[forecast], sizes=told))
        groups.append(_sealed(body.bytes()))
    sizes = tuple(map(len, groups))
    whole = write_head(replace(head, keys_error=error, keys_size=len(key_bytes), group_sizes=sizes))
    return b"".join((whole, key_bytes, *groups))


def decode_groups(read: Read, header: ClipHeader, head: GridHead, first: int, count: int) -> Clip:
    """Return the frames of some groups."""
    start = first * head.group_length
    frames = min(header.frame_count, start + count * head.group_length) - start
    columns = _columns(header.skeleton, head.axes, header.translated_joints)
    keys = read_keys(read, head)
    numbers = np.zeros((frames, head.axes.channel_count), np.int64)
    levels = np.zeros(frames, np.int64)
    for g in range(first, first + count):
        own = slice(g * head.group_length - start, (g + 1) * head.group_length - start)
        fields = FieldReader(_opened(read(*head.groups_at(g, 1))), "keysine group")
        rows = len(levels[own])
        levels[own], low = _read_levels(fields, rows, numbers.shape[1])
        told = head.told_sizes()
        series = decode_series(
            *(fields.rest(), rows, numbers.shape[1], columns, FORECASTS[head.forecast]), sizes=told
        )
        coarse = series.astype(np.int64) + keys[g]
        numbers[own] = (coarse << levels[own][:, np.newaxis]) + low
    return _clip(header, head, numbers, levels, first)


def decode(payload: bytes, read: Read, header: ClipHeader) -> Clip:
    """Return all frames."""
    head = read_head(read, header)
    check_end(payload, sum(head.groups_at(0, head.group_count)))
    return decode_groups(read, header, head, 0, head.group_count)


def decode_frames(read: Read, header: ClipHeader, start: int, stop: int) -> Clip:
    """Return frames `start` to `stop`, from the groups that hold them."""
    head = read_head(read, header)
    first, last = start // head.group_length, (stop - 1) // head.group_length
    begin = first * head.group_length
    part = decode_groups(read, header, head, first, last + 1 - first)
    return part.frames(start - begin, stop - begin)


def layout(read: Read, header: ClipHeader) -> Layout:
    """Return how a payload is divided; keys and groups have checksums."""
    head = read_head(read, header)
    return Layout(groups=head.group_count, index_bytes=head.size + 2 * (head.group_count + 1))


def decode_preview(read: Read, header: ClipHeader) -> Clip:
    """Return the keys as a clip, at their own lower frame rate."""
    head = read_head(read, header)
    keys = read_keys(read, head)
    slow = replace(header, frame_count=len(keys), frame_time=header.frame_time * head.group_length)
    single = replace(head, group_length=1)
    return _clip(slow, single, keys, np.zeros(len(keys), np.int64), 0)


def decode_cut(payload: bytes, read: Read, header: ClipHeader) -> Clip:
    """Return what whole groups give, and beyond them what the keys give."""
    head = read_head(read, header)
    whole = head.group_count
    while whole and sum(head.groups_at(0, whole)) > len(payload):
        whole -= 1
    parts = [decode_groups(read, header, head, 0, whole)] if whole else []
    if whole < head.group_count:
        start = whole * head.group_length
        parts.append(_along_keys(head, read_keys(read, head), header, start))
    return joined(header, parts)


def read_keys(read: Read, head: GridHead) -> I64:
    """Return the first frame (G, C) of each group, on its coarse grid."""
    body = _opened(read(*head.keys_at()))
    rows = decode_plane(body, head.group_count, head.axes.channel_count, _classes(head.axes))
    keys = np.cumsum(rows.astype(np.int64), axis=0)
    if np.abs(keys).max(initial=0) >= 2 * LARGEST:
        raise CorruptionError("keysine payload: keys out of range")
    return keys


def _clip(header: ClipHeader, head: GridHead, numbers: I64, levels: I64, first: int) -> Clip:
    groups = -(-len(levels) // head.group_length)
    grid = Grid(
        head.axes,
        head.steps,
        head.group_length,
        head.coarseness[first : first + groups],
        head.filters,
        numbers,
        levels,
    )
    return _motion(head.axes, dequantise(grid), header)


def _along_keys(head: GridHead, keys: I64, header: ClipHeader, start: int) -> Clip:
    """Return frames from `start` on, as straight lines between keys; the last key stays."""
    scales = 2.0 ** (head.coarseness / STEPS_AN_OCTAVE)
    values = keys * head.steps * scales[:, np.newaxis]
    at = np.arange(start, header.frame_count) / head.group_length
    below = np.minimum(at.astype(np.int64), len(keys) - 1)
    above = np.minimum(below + 1, len(keys) - 1)
    part = (at - below)[:, np.newaxis]
    return _motion(head.axes, values[below] * (1 - part) + values[above] * part, header)


def _motion(axes: Axes, channels: F64, header: ClipHeader) -> Clip:
    try:
        # hostile numbers may overflow; what comes of them is refused by the clip
        with np.errstate(all="ignore"):
            return channel_clip(axes, channels, replace(header, frame_count=len(channels)))
    except InvalidClipError as error:
        raise CorruptionError(f"keysine payload: {error}") from error


def _write_levels(out: FieldWriter, numbers: I64, levels: I64) -> None:
    """Write how much finer each frame's grid is, and the digits that this adds."""
    out.sized(encode_plane(levels[:, np.newaxis]) if levels.any() else b"")
    bits = [
        (numbers[rows] >> level - 1 - k & 1).ravel()
        for level in range(1, int(levels.max()) + 1)
        if len(rows := np.flatnonzero(levels == level))
        for k in range(level)
    ]
    out.sized(np.packbits(np.concatenate(bits).astype(np.uint8)).tobytes() if bits else b"")


def _read_levels(fields: FieldReader, rows: int, columns: int) -> tuple[I64, I64]:
    """Return levels (rows,) and the digits below the coarse grid (rows, columns)."""
    coded = fields.sized()
    levels = np.zeros(rows, np.int64)
    if coded:
        levels = decode_plane(coded, rows, 1)[:, 0].astype(np.int64)
    if levels.min() < 0 or levels.max() > MOST_LEVEL:
        raise CorruptionError("keysine group: a level out of range")
    packed = np.frombuffer(fields.sized(), np.uint8)
    if len(packed) != -(-int(levels.sum()) * columns // 8):
        raise CorruptionError("keysine group: digits and levels do not agree")
    bits = np.unpackbits(packed).astype(np.int64)
    low, at = np.zeros((rows, columns), np.int64), 0
    for level in range(1, int(levels.max()) + 1):
        own = np.flatnonzero(levels == level)
        for k in range(level if len(own) else 0):
            size = len(own) * columns
            low[own] += bits[at : at + size].reshape(len(own), columns) << level - 1 - k
            at += size
    return levels, low


def _expected_sizes(coarse: I64, group_length: int) -> I64:
    """Return about how far prediction is off in each channel, in quarters of an octave of 1/256."""
    if len(coarse) < 3:
        return np.full(coarse.shape[1], 8 * SIZES_AN_OCTAVE)
    steps = np.abs(np.diff(coarse, n=2, axis=0)).mean(axis=0)
    sizes = SIZES_AN_OCTAVE * np.log2(np.maximum(256 * 0.6 * steps, 16))
    return np.asarray(np.minimum(np.rint(sizes), 255), np.int64)


def _classes(axes: Axes) -> npt.NDArray[np.intp]:
    """Which channels share statistics as keys: translations, then the channels of joints."""
    classes = np.zeros(axes.channel_count, np.intp)
    for joint in axes.joints:
        classes[joint.first : joint.first + joint.count] = 1 + np.arange(joint.count)
    return classes


def _columns(skeleton: Skeleton, axes: Axes, translated: Sequence[int]) -> list[ColumnGroup]:
    owners: list[Owner] = [(0, False)] * axes.channel_count
    for first, joint in zip(axes.places, translated, strict=True):
        if first >= 0:
            owners[first : first + 3] = [(joint, True)] * 3
    for j, own in enumerate(axes.joints):
        owners[own.first : own.first + own.count] = [(j, False)] * own.count
    return column_groups(skeleton, owners)


def _sealed(body: bytes) -> bytes:
    return checksum(body) + body


def _opened(part: bytes) -> bytes:
    if checksum(part[2:]) != part[:2]:
        raise CorruptionError("keysine payload: a checksum is wrong")
    return part[2:]
