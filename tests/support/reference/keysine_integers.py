"""The integers of a `keysine` payload in the order of time.

They are equal on every machine. Floating point begins after them.
"""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import I64
from mocpack.errors import TruncatedError
from mocpack.model.clip import ClipHeader
from reference.keysine import part_body, read_bundle, read_edges
from reference.keysine_grid import MAX_FINER, GridRows
from reference.keysine_head import read_head
from reference.keysine_symbols import Group


def decode_integers(payload: bytes, header: ClipHeader) -> dict[str, I64]:
    """Return the integers of all layers.

    Returns
    -------
    dict
        ``key_frames`` (K,) and ``keys`` (K, C): the key poses, in key steps. ``steps`` (B, tracks):
        the step index of each track in each block, -1 where it does not move; of a grid, one row.
        ``coefficients`` (T, C): coefficient k of the block that starts at frame f is in row f + k.
        Of a grid, ``numbers`` (T, C) instead: row t is frame t, in 2^-15 of a step from its key.
    """

    def read(offset: int, size: int) -> bytes:
        if offset + size > len(payload):
            raise TruncatedError("keysine payload ends too early")
        return payload[offset : offset + size]

    head, plan = read_head(read, header)
    edges = read_edges(read, head, plan, head.layer_count)
    starts = [head.key_frame(g, header.frame_count) for g in range(head.group_count + 1)]
    frames, keys, steps = [starts[-1]], [edges[-1][-1]], []
    rows = np.zeros((header.frame_count, plan.channel_count), np.int64)
    for segment in range(head.segment_count):
        for bundle in head.bundles_of(segment):
            groups = read_bundle(read, head, plan, edges, starts, bundle, head.layer_count)
            for g in bundle:
                if head.grid and starts[g + 1] - starts[g] > 1:
                    grid = GridRows(
                        part_body(read(*head.part_at(0, "group", g))),
                        plan,
                        header.skeleton,
                        head.grid,
                    )
                    _add_grid(grid, rows[starts[g] : starts[g + 1]])
                group = groups.get(g)
                frames += [starts[g]] if group is None else _block_starts(group, starts[g])
                keys += [edges[-1][g]] if group is None else list(group.keys[:-1])
                if group is not None:
                    steps += list(group.steps.T)
                    _add_coefficients(group, rows[starts[g] : starts[g + 1]])
    steps = [np.array(head.grid.steps)] if head.grid else steps
    order = np.argsort(frames)
    return {
        "key_frames": np.array(frames)[order],
        "keys": np.array(keys)[order],
        "steps": np.array(steps, int).reshape(len(steps), len(plan.tracks)),
        "numbers" if head.grid else "coefficients": rows,
    }


def _block_starts(group: Group, start: int) -> list[int]:
    return [start + sum(group.lengths[:b]) for b in range(len(group.lengths))]


def _add_coefficients(group: Group, rows: I64) -> None:
    for values, length, start in zip(
        group.values, group.lengths, _block_starts(group, 0), strict=True
    ):
        rows[start : start + length] = values[:, 4 : 4 + length].T


def _add_grid(grid: GridRows, rows: I64) -> None:
    for row in rows[1:]:
        row[:] = np.rint(grid.next() * 2**MAX_FINER)
    grid.finish()
