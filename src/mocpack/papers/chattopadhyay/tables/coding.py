"""Clips coded by the BAP codecs and measured as Chattopadhyay, Bhandarkar and Li (2007) do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mocpack.bench.papers.measuring import map_parallel
from mocpack.metrics.papers import displacement_error
from mocpack.metrics.position import distances
from mocpack.model.clip import Clip
from mocpack.papers.chattopadhyay.codec.bap_index import BapIndex
from mocpack.papers.chattopadhyay.codec.columns import LENGTH_UNIT

KB = 1024


@dataclass(frozen=True)
class Coded:
    """A coded clip: bytes as the paper counts them, real bytes, and DEF."""

    counted: int
    real: int
    error: float


def code(codec: BapIndex, clip: Clip) -> Coded:
    """Encode, decode, and measure DEF in units of the CMU skeletons."""
    payload = codec.encode(clip)
    moved = distances(clip.positions(), codec.decode(payload, clip.header).positions())
    counted = codec.paper_size(payload, clip.header)
    return Coded(counted, len(payload), displacement_error(moved) / LENGTH_UNIT)


def code_all(codecs: Sequence[BapIndex], clip: Clip, title: str) -> list[Coded]:
    """Code a clip with many settings, on all cores, under a progress bar with a title."""
    return map_parallel(_code, clip, codecs, title)


def _code(clip: Clip, codec: BapIndex) -> Coded:
    return code(codec, clip)
