"""From a clip and the settings of the search to the bytes of a payload, by the native core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mocpack import _core, progress
from mocpack.arrays import I32
from mocpack.clip import Clip, promised_error
from mocpack.codec import Payload
from mocpack.codecs.keysine import planning, search
from mocpack.codecs.keysine.decoding import decode_groups
from mocpack.codecs.keysine.payload import (
    Grid,
    PayloadHead,
    no_predictors,
    read_head,
    written_head,
)
from mocpack.codecs.keysine.prediction import Observed


@dataclass(frozen=True)
class Draft:
    """The parts of a payload of one layer, before it states the error of its keys.

    Many are made to be compared by their size alone; only those that are kept are written.

    Attributes
    ----------
    head : PayloadHead
    native : Skeleton
    segments, groups : sequence of bytes
    """

    head: PayloadHead
    native: _core.Skeleton
    segments: Sequence[bytes]
    groups: Sequence[bytes]

    @property
    def size(self) -> int:
        """Bytes of the payload."""
        return sum(map(len, (self._head(0), *self.segments, *self.groups)))

    def payload(self, clip: Clip, threads: int) -> bytes:
        """Return the payload, which states how far its keys alone are from `clip`."""
        coarse = self.head.statement(self._error_of_keys(clip, threads))
        return b"".join((self._head(coarse), *self.segments, *self.groups))

    def _head(self, coarse: int) -> bytes:
        head = replace(self.head, coarse=coarse)
        return written_head(head, self.native, self.segments, self.groups)

    def _error_of_keys(self, clip: Clip, threads: int) -> float:
        """Return the largest error, in metres, of the straight lines between keys."""
        read = Payload.of(b"".join((self._head(0), *self.segments))).read
        head = read_head(read, clip.header)
        groups = 0, head.group_count
        lines = decode_groups(read, clip.header, head, groups, layers=0, threads=threads)
        return promised_error(clip, lines).max


def draft(
    clip: Clip,
    settings: search.Settings,
    outline: planning.Outline,
    groups: planning.Groups,
    *,
    threads: int,
    predictors: I32 | None = None,
    shares: Sequence[float] | None = None,
    on_grid: bool = False,
) -> Draft | None:
    """Return the parts of a payload of one layer, or None where the search finds none.

    Parameters
    ----------
    outline : Outline
        Of this clip, or of one that it is a part of.
    predictors : array of int, shape (N, 4), optional
        As `prediction.choose` gives them.
    shares : sequence of float, optional
        Of the bound, for what hangs on each joint.
    on_grid : bool
        Whether the payload is on a grid in time.
    """
    head = _outlined_head(outline, groups)
    head = head if predictors is None else replace(head, predictors=predictors)
    steps = planning.grid_steps(outline.table) if on_grid else None
    task = _task(clip, head, settings, 0 if on_grid else groups.splits, threads)
    made = _core.keysine_encode(
        **task,
        grid_steps=None if steps is None else list(steps),
        shares=shares,
        progress=progress.teller(),
    )
    if made is None:
        return None
    table, scales, segments, parts = made
    grid = None if steps is None else Grid(settings.thorough, steps, tuple(scales))
    head = replace(head, table=np.asarray(table), grid=grid)
    return Draft(head, task["skeleton"], segments, parts)


def observe(
    clip: Clip, settings: search.Settings, outline: planning.Outline, groups: planning.Groups
) -> Observed | None:
    """Return what the encoder sees of a part of a clip, None where it finds nothing."""
    head = _outlined_head(outline, groups)
    seen = _core.keysine_watch(**_task(clip, head, settings, groups.splits, threads=1))
    if seen is None:
        return None
    (wanted, decoded, steps), paces, bytes_of_groups = np.asarray(seen[0], float), *seen[1:]
    firsts = planning.first_channels(head.table, clip.skeleton)
    return Observed(wanted, decoded, steps, np.asarray(paces), firsts, bytes_of_groups)


def _outlined_head(outline: planning.Outline, groups: planning.Groups) -> PayloadHead:
    """Return the head before anything is searched."""
    return PayloadHead(
        fine_bits=outline.fine_bits,
        coarse=0,
        tempo=groups.tempo,
        unit=outline.unit,
        group_count=groups.count,
        groups_per_segment=planning.SEGMENT_GROUPS,
        first_frame_alone=groups.first_frame_alone,
        table=outline.table,
        predictors=no_predictors(),
    )


def _task(
    clip: Clip, head: PayloadHead, settings: search.Settings, splits: int, threads: int
) -> dict[str, Any]:
    """Return what the native encoder is told."""
    return {
        "skeleton": clip.skeleton.native(clip.translated_joints),
        "rotations": clip.rotations,
        "translations": clip.translations,
        "angles": planning.native_angles(clip),
        "table": head.table,
        "unit": head.unit,
        "fine": head.fine,
        "tempo": head.tempo,
        "group_count": head.group_count,
        "groups_per_segment": head.groups_per_segment,
        "first_frame_alone": head.first_frame_alone,
        "splits": splits,
        "settings": settings.native(),
        "threads": threads,
        "predictors": head.predictors,
    }
