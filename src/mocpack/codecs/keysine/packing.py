"""From a clip and the settings of the search to the bytes of a payload, by the native core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mocpack import _core
from mocpack.clip import Clip, promised_error
from mocpack.codecs.keysine import planning, search
from mocpack.codecs.keysine.decoding import decode_groups, reader
from mocpack.codecs.keysine.payload import (
    Grid,
    PayloadHead,
    coded_head,
    head_with_fields,
    read_head,
)
from mocpack.codecs.keysine.tracks import UNIT_STEP


@dataclass(frozen=True)
class Draft:
    """The parts of a payload of one layer, before it states the error of its keys.

    Many are made to be compared by their size alone; only those that are kept are written.

    Attributes
    ----------
    head : PayloadHead
    coded : bytes
        The coded part of the head.
    segments, groups : sequence of bytes
    """

    head: PayloadHead
    coded: bytes
    segments: Sequence[bytes]
    groups: Sequence[bytes]

    @property
    def size(self) -> int:
        """Bytes of the payload."""
        parts = (head_with_fields(self.head, self.coded), *self.segments, *self.groups)
        return sum(map(len, parts))

    def payload(self, clip: Clip, threads: int) -> bytes:
        """Return the payload, which states how far its keys alone are from `clip`."""
        coarse = self.head.statement(self._error_of_keys(clip, threads))
        head = head_with_fields(replace(self.head, coarse=coarse), self.coded)
        return b"".join((head, *self.segments, *self.groups))

    def _error_of_keys(self, clip: Clip, threads: int) -> float:
        """Return the largest error, in metres, of the straight lines between keys."""
        read = reader(b"".join((head_with_fields(self.head, self.coded), *self.segments)))
        head = read_head(read, clip.header)
        groups = 0, head.group_count
        lines = decode_groups(read, clip.header, head, groups, layers=0, threads=threads)
        return promised_error(clip, lines).max


def draft(
    clip: Clip,
    settings: search.Settings,
    size: float,
    blocks: planning.Blocks,
    *,
    model: int,
    key_step: int,
    threads: int,
    shares: Sequence[float] | None = None,
) -> Draft | None:
    """Return the parts of a payload of one layer, or None where the search finds none.

    Parameters
    ----------
    size : float
        Unit of the steps, in metres: the bound, or a plain step.
    model : int
        Trained set of the models.
    key_step : int
        Index of the keys' step to begin with.
    shares : sequence of float, optional
        Of the bound, for what hangs on each joint.
    """
    bits = planning.basis_bits(clip)
    head = _planned_head(clip, size, blocks, basis_bits=bits, model=model, key_step=key_step)
    return _searched(clip, head, settings, threads, shares)


def draft_grid(
    clip: Clip,
    settings: search.Settings,
    size: float,
    blocks: planning.Blocks,
    *,
    threads: int,
    shares: Sequence[float] | None = None,
) -> Draft | None:
    """Return the parts of a payload on a grid in time, as `draft` does; `size` is its step."""
    bits, step = planning.GRID_BASIS_BITS, UNIT_STEP
    head = _planned_head(clip, size, blocks, basis_bits=bits, model=0, key_step=step)
    grid = Grid(settings.thorough, planning.grid_steps(head.table))
    return _searched(clip, replace(head, grid=grid), settings, threads, shares)


def _planned_head(
    clip: Clip,
    size: float,
    blocks: planning.Blocks,
    *,
    basis_bits: int,
    model: int,
    key_step: int,
) -> PayloadHead:
    """Return the head before anything is searched."""
    bits, unit = planning.fine_bits(clip, size), float(np.float32(size))
    return PayloadHead(
        model=model,
        fine_bits=bits,
        basis_bits=basis_bits,
        coarse=0,
        tempo=blocks.tempo,
        unit=unit,
        block_count=blocks.block_count,
        blocks_per_group=blocks.blocks_per_group,
        groups_per_segment=blocks.groups_per_segment,
        first_frame_alone=blocks.first_frame_alone,
        table=planning.plan_table(clip, bits, basis_bits, unit, key_step=key_step),
    )


def _searched(
    clip: Clip,
    head: PayloadHead,
    settings: search.Settings,
    threads: int,
    shares: Sequence[float] | None,
) -> Draft | None:
    native = clip.skeleton.native(clip.translated_joints)
    made = _core.keysine_encode(
        skeleton=native,
        rotations=clip.rotations,
        translations=clip.translations,
        table=head.table,
        rates=search.rates(),
        unit=head.unit,
        fine=head.fine,
        basis_grid=head.basis_grid,
        model=head.model,
        tempo=head.tempo,
        block_count=head.block_count,
        blocks_per_group=head.blocks_per_group,
        groups_per_segment=head.groups_per_segment,
        first_frame_alone=head.first_frame_alone,
        settings=settings.native(),
        threads=threads,
        grid_steps=list(head.grid.steps) if head.grid else None,
        shares=shares,
    )
    if made is None:
        return None
    table, scales, segments, groups = made
    grid = head.grid and replace(head.grid, initial_scales=tuple(scales))
    head = replace(head, table=np.asarray(table), grid=grid)
    return Draft(head, coded_head(head, native, segments, groups), segments, groups)
