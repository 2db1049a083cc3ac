"""Clips coded by the BAP codecs and measured as Chattopadhyay, Bhandarkar and Li (2007) do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.progress import track

from mocpack.clip import Clip
from mocpack.metrics.papers import displacement_error
from mocpack.metrics.position import distances
from mocpack.papers.chattopadhyay.codec.bap_index import BapIndex
from mocpack.papers.chattopadhyay.codec.columns import LENGTH_UNIT
from mocpack.workers import worker_pool

KB = 1024
TOGETHER = 64  # settings that go to a process at a time


@dataclass(frozen=True)
class Coded:
    """What a codec made of a clip: bytes as the paper counts and as they are, and DEF."""

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
    """Code a clip with many settings, on all cores, under a bar with a title."""
    with worker_pool(0, initializer=_share, initargs=(clip,)) as pool:
        coded = pool.map(_code_shared, codecs, chunksize=TOGETHER)
        return list(track(coded, title, len(codecs), console=Console(stderr=True)))


_SHARED: list[Clip] = []  # the clip of a worker process, so that it is sent once


def _share(clip: Clip) -> None:
    _SHARED[:] = [clip]


def _code_shared(codec: BapIndex) -> Coded:
    return code(codec, _SHARED[0])
