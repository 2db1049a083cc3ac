"""Run-length codes of booleans per frame: gaps (the `vald` chunk) and flags."""

from __future__ import annotations

import numpy as np

from mocpack.coding.fields import FieldWriter, deflate
from mocpack.common.arrays import I64, Mask


def pack_runs(out: FieldWriter, ids: I64) -> None:
    """Append integers (N,) as runs: the count, then value and length - 1 of each run."""
    starts = np.flatnonzero(np.diff(ids, prepend=ids[0] - 1)) if len(ids) else np.zeros(0, int)
    lengths = np.diff(starts, append=len(ids))
    out.varint(len(starts))
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        out.varint(int(ids[start]))
        out.varint(length - 1)


def pack_flags(flags: Mask) -> bytes:
    """Return flags (N,) as the first flag and the run lengths - 1, deflated."""
    out = FieldWriter()
    _pack_switches(out, flags)
    return deflate(out.bytes())


def pack_valid(valid: Mask) -> bytes:
    """Return the chunk of valid (T, J): joints with gaps, and the runs of each."""
    out = FieldWriter()
    joints = np.flatnonzero(~valid.all(0)).tolist()
    out.indices(joints)
    for j in joints:
        _pack_switches(out, valid[:, j])
    return deflate(out.bytes())


def _pack_switches(out: FieldWriter, flags: Mask) -> None:
    switches = (np.flatnonzero(np.diff(flags)) + 1).tolist()
    out.u8(int(flags[0]) if len(flags) else 0)
    out.varint(len(switches))
    for before, at in zip((0, *switches), switches, strict=False):
        out.varint(at - before - 1)
