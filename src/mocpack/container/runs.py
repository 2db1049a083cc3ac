"""Truth values by frame as lengths of runs, exact: gaps (the `vald` chunk) and flags."""

from __future__ import annotations

import numpy as np

from mocpack.arrays import I64, Mask
from mocpack.coding.fields import FieldReader, FieldWriter, deflate, inflate
from mocpack.container.indices import pack_indices, unpack_indices
from mocpack.errors import CorruptionError

MAX_RUNS = 1 << 24  # bytes, inflated


def pack_runs(out: FieldWriter, ids: I64) -> None:
    """Append numbers (N,) as runs: how many, then each one's number and length less one."""
    starts = np.flatnonzero(np.diff(ids, prepend=ids[0] - 1)) if len(ids) else np.zeros(0, int)
    lengths = np.diff(starts, append=len(ids))
    out.varint(len(starts))
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        out.varint(int(ids[start]))
        out.varint(length - 1)


def unpack_runs(read: FieldReader, count: int, most: int) -> I64:
    """Return numbers (N,), each at most `most`."""
    runs = read.varint(count)
    pairs = [(read.varint(most), read.varint(count) + 1) for _ in range(runs)]
    if sum(length for _, length in pairs) != count:
        raise CorruptionError(f"runs do not make {count} samples")
    numbers, lengths = zip(*pairs, strict=True) if pairs else ((), ())
    return np.repeat(np.array(numbers, np.int64), np.array(lengths, np.int64))


def pack_flags(flags: Mask) -> bytes:
    """Return flags (N,) as the first, then the lengths of its runs less one, deflated."""
    out = FieldWriter()
    _pack_switches(out, flags)
    return deflate(out.bytes())


def unpack_flags(body: bytes, count: int) -> Mask:
    read = FieldReader(inflate(body, MAX_RUNS, what="flags"), "flags")
    flags = _unpack_switches(read, count)
    read.end()
    return flags


def pack_valid(valid: Mask) -> bytes:
    """Return the chunk of valid (T, J): joints that have gaps, and the runs of each."""
    out = FieldWriter()
    joints = np.flatnonzero(~valid.all(0)).tolist()
    pack_indices(out, joints)
    for j in joints:
        _pack_switches(out, valid[:, j])
    return deflate(out.bytes())


def unpack_valid(body: bytes, frames: int, joints: int) -> Mask:
    read = FieldReader(inflate(body, MAX_RUNS, what="vald chunk"), "vald chunk")
    valid = np.ones((frames, joints), np.bool_)
    for j in unpack_indices(read, "vald chunk", joints):
        valid[:, j] = _unpack_switches(read, frames)
    read.end()
    return valid


def _pack_switches(out: FieldWriter, flags: Mask) -> None:
    switches = (np.flatnonzero(np.diff(flags)) + 1).tolist()
    out.u8(int(flags[0]) if len(flags) else 0)
    out.varint(len(switches))
    for before, at in zip((0, *switches), switches, strict=False):
        out.varint(at - before - 1)


def _unpack_switches(read: FieldReader, count: int) -> Mask:
    first = read.u8()
    if first > 1:
        raise CorruptionError(f"a flag of {first}")
    flags, value, at = np.empty(count, np.bool_), bool(first), 0
    for _ in range(read.varint(max(count - 1, 0))):
        length = read.varint(count) + 1
        if at + length >= count:
            raise CorruptionError(f"runs reach beyond {count} samples")
        flags[at : at + length] = value
        at, value = at + length, not value
    flags[at:] = value
    return flags
