"""From a clip and the settings of the search to the bytes of a payload, by the native core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mocpack import _core, progress
from mocpack.arrays import I32
from mocpack.clip import Clip, measure_error
from mocpack.codecs.keysine import planning, search
from mocpack.codecs.keysine.payload import (
    Grid,
    PayloadHead,
    no_predictors,
    open_payload,
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

    def payload(self, clip: Clip, threads: int) -> bytes:
        """Return the payload, which states how far its keys alone are from `clip`."""
        parts = self.native, self.segments, self.groups
        start = b"".join((written_head(self.head, *parts), *self.segments))
        keys = open_payload(start, clip.header, partial=True)
        turns, places = keys.decode(0, clip.frame_count, threads=threads, layers=0)
        lines = Clip.from_decoded(clip.header, turns, places)
        coarse = self.head.statement(measure_error(clip, lines).max)
        stated = written_head(replace(self.head, coarse=coarse), *parts)
        return b"".join((stated, *self.segments, *self.groups))


def draft(
    clip: Clip,
    settings: search.Settings,
    groups: planning.Groups,
    outline: planning.Outline,
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
    steps = planning.grid_steps(outline.table) if on_grid else None
    task = _task(clip, settings, groups, outline, threads, predictors)
    if on_grid:
        task["splits"] = 0
    made = _core.keysine_encode(
        **task,
        grid_steps=None if steps is None else list(steps),
        shares=shares,
        progress=progress.reporter(),
    )
    if made is None:
        return None
    table, scales, segments, parts = made
    head = PayloadHead(
        fine_bits=outline.fine_bits,
        coarse=0,
        tempo=groups.tempo,
        unit=outline.unit,
        group_count=groups.count,
        groups_per_segment=planning.SEGMENT_GROUPS,
        first_frame_alone=groups.first_frame_alone,
        table=np.asarray(table),
        predictors=task["predictors"],
        grid=None if steps is None else Grid(settings.thorough, steps, tuple(scales)),
    )
    return Draft(head, task["skeleton"], segments, parts)


def observe(
    clip: Clip, settings: search.Settings, groups: planning.Groups, outline: planning.Outline
) -> Observed | None:
    """Return what the encoder sees of a part of a clip, None where it finds nothing."""
    seen = _core.keysine_watch(**_task(clip, settings, groups, outline, threads=1))
    if seen is None:
        return None
    (wanted, decoded, steps), paces, bytes_of_groups = np.asarray(seen[0], float), *seen[1:]
    firsts = planning.first_channels(outline.table, clip.skeleton)
    return Observed(wanted, decoded, steps, np.asarray(paces), firsts, bytes_of_groups)


def _task(
    clip: Clip,
    settings: search.Settings,
    groups: planning.Groups,
    outline: planning.Outline,
    threads: int,
    predictors: I32 | None = None,
) -> dict[str, Any]:
    """Return what the native encoder is told."""
    return {
        "skeleton": clip.skeleton.native(clip.translated_joints),
        "rotations": clip.rotations,
        "translations": clip.translations,
        "angles": planning.native_angles(clip),
        "table": outline.table,
        "unit": outline.unit,
        "fine": 0.5**outline.fine_bits,
        "tempo": groups.tempo,
        "group_count": groups.count,
        "groups_per_segment": planning.SEGMENT_GROUPS,
        "first_frame_alone": groups.first_frame_alone,
        "splits": groups.splits,
        "settings": settings.native(),
        "threads": threads,
        "predictors": no_predictors() if predictors is None else predictors,
    }
