"""From a clip and the settings of the search to the bytes of a payload, by the native core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mocpack import _core
from mocpack.clip import Clip, promised_error
from mocpack.codecs.keysine import planning, search
from mocpack.codecs.keysine.decoding import decode_groups, reader
from mocpack.codecs.keysine.payload import Grid, Head, read_head, write_payload


def pack(
    clip: Clip,
    settings: _core.KeysineSettings,
    size: float,
    blocks: planning.Blocks,
    *,
    key_step: int,
    threads: int,
    shares: Sequence[float] | None = None,
) -> bytes | None:
    """Return a payload of one layer, or None where the search finds none.

    Parameters
    ----------
    settings : KeysineSettings
        Of the search; what follows from the clip and its blocks is filled in here.
    size : float
        Unit of the steps, in metres: the bound, or a plain step.
    key_step : int
        Index of the keys' step to begin with.
    shares : sequence of float, optional
        Of the bound, for what hangs on each joint.
    """
    head = _start(clip, settings, size, blocks, planning.basis_bits(clip), key_step)
    return _finished(clip, head, settings, threads, shares)


def pack_grid(
    clip: Clip,
    settings: _core.KeysineSettings,
    size: float,
    blocks: planning.Blocks,
    *,
    threads: int,
    shares: Sequence[float] | None = None,
) -> bytes | None:
    """Return a payload on a grid in time, as `pack` does; `size` is its step."""
    head = _start(clip, settings, size, blocks, planning.GRID_BASIS_BITS, planning.UNIT_STEP)
    grid = Grid(bool(settings.thorough), planning.grid_steps(head.table))
    return _finished(clip, replace(head, grid=grid), settings, threads, shares)


def _start(
    clip: Clip,
    settings: _core.KeysineSettings,
    size: float,
    blocks: planning.Blocks,
    basis_bits: int,
    key_step: int,
) -> Head:
    """Return the head before anything is searched; tell the search what follows from it."""
    bits, unit = planning.fine_bits(clip, size), float(np.float32(size))
    settings.unit, settings.fine, settings.basis_grid = unit, 0.5**bits, 0.5**basis_bits
    settings.calm_from = min(1.0, 2 * search.TREMBLE_FROM / clip.frame_rate)
    settings.tempo, settings.lead = blocks.tempo, blocks.lead
    table = planning.plan_table(clip, bits, basis_bits, unit, key_step=key_step)
    numbers = settings.model, bits, basis_bits, 0, blocks.tempo, unit
    counts = blocks.block_count, blocks.blocks_per_group, blocks.groups_per_segment
    return Head(*numbers, *counts, table, lead=blocks.lead)


def _finished(
    clip: Clip,
    head: Head,
    settings: _core.KeysineSettings,
    threads: int,
    shares: Sequence[float] | None,
) -> bytes | None:
    native = clip.skeleton.native(clip.translated_joints)
    made = _core.keysine_encode(
        *(native, clip.rotations, clip.translations, head.table, search.rates()),
        *(head.block_count, head.blocks_per_group, head.groups_per_segment),
        settings,
        threads,
        list(head.grid.steps) if head.grid else None,
        shares,
    )
    if made is None:
        return None
    table, told, segments, groups = made
    grid = head.grid and replace(head.grid, told=tuple(told))
    head = replace(head, table=np.asarray(table), grid=grid)
    payload = write_payload(head, native, segments, [groups])
    head = replace(head, coarse=head.statement(_error_of_keys(clip, payload, threads)))
    return write_payload(head, native, segments, [groups])


def _error_of_keys(clip: Clip, payload: bytes, threads: int) -> float:
    """Return the largest error, in metres, of the straight lines between keys."""
    read = reader(payload)
    head = read_head(read, clip.header)
    groups = 0, head.group_count
    lines = decode_groups(read, clip.header, head, groups, layers=0, threads=threads)
    return promised_error(clip, lines).max
