"""The whole energy of a clip on a handheld, received and decoded: BAP codecs against `keysine`.

Chattopadhyay, Bhandarkar and Li (2007) weigh the bytes of their codecs against MPEG-4's, and call
their decoding free. Here both codecs keep the same largest error, and decoding counts by the time
that it takes: from the file to poses, and for the BAP codecs also to their table look-ups alone.
Sleep, which costs both the same, is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mocpack import _api
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.runner.timing import fastest
from mocpack.clip import Clip
from mocpack.metrics.pair import pair_clips
from mocpack.papers.chattopadhyay.codec.bap_index import BapIndex, BapSparse
from mocpack.papers.chattopadhyay.energy import DECODING, RECEIVING, SLEEPING
from mocpack.tuning import find_metric
from mocpack.units import parse_bandwidth

CODECS = (BapIndex(), BapSparse())
BANDWIDTHS = ("128kbps", "4Mbps", "100Mbps")
TIMINGS = 9


@dataclass(frozen=True)
class Costs:
    """What one file costs: bytes to receive, seconds of a core to decode."""

    size: int
    seconds: float

    def joules(self, bandwidth: float | None) -> float:
        """Return the energy beyond sleep; without a bandwidth the file is there already."""
        receiving = 0.0 if bandwidth is None else 8 * self.size / bandwidth
        return (RECEIVING - SLEEPING) * receiving + DECODING * self.seconds


@dataclass(frozen=True)
class Compared:
    """A BAP codec's file beside `keysine`'s of the same largest error, in millimeters.

    `look_up` is the BAP file with nothing but its table look-ups as decoding: a client that plays
    the angles as they are.
    """

    clip: str
    codec: str
    error: float
    bap: Costs
    look_up: Costs
    keysine: Costs

    @property
    def break_even(self) -> float | None:
        """Return the bit rate above which `look_up` costs less; None if it never does."""
        saved = DECODING * (self.keysine.seconds - self.look_up.seconds)
        if saved <= 0:
            return None
        return 8 * (RECEIVING - SLEEPING) * (self.look_up.size - self.keysine.size) / saved


def compare_codecs(name: str, clip: Clip) -> list[Compared]:
    """Return each BAP codec with its own setting, and `keysine` within the error that it has."""
    return [_compared(name, clip, codec) for codec in CODECS]


def energy_table(found: Sequence[Compared]) -> str:
    """Return energies in millijoules at several bandwidths, and who takes less."""
    head = ["motion", "codec", "largest error, mm:", "bytes:", "keysine's:"]
    head += ["decode, ms:", "look-ups alone, ms:", "keysine's, ms:"]
    for text in (*BANDWIDTHS, "received before"):
        head += [f"{text}, mJ:", "keysine's, mJ:"]
    head += ["look-ups alone take less from"]
    return markdown_table(head, [_row(one) for one in found])


def _compared(name: str, clip: Clip, codec: BapIndex) -> Compared:
    file = _api.encode(clip, codec)
    error = find_metric("max").measure(pair_clips(clip, _api.decode(file)))
    assert error is not None
    rival = _api.encode(clip, "keysine", max_error=f"{error}mm")
    payload = codec.encode(clip)
    look_up = fastest(lambda: codec.decode_columns(payload, clip.header), TIMINGS)
    return Compared(
        name,
        codec.codec_id,
        float(error),
        Costs(len(file), fastest(lambda: _api.decode(file), TIMINGS)),
        Costs(len(file), look_up),
        Costs(len(rival), fastest(lambda: _api.decode(rival), TIMINGS)),
    )


def _row(one: Compared) -> list[object]:
    cells: list[object] = [one.clip, one.codec, f"{one.error:.2f}", one.bap.size, one.keysine.size]
    cells += [f"{1000 * c.seconds:.2f}" for c in (one.bap, one.look_up, one.keysine)]
    for bandwidth in (*map(parse_bandwidth, BANDWIDTHS), None):
        cells += [f"{1000 * c.joules(bandwidth):.3g}" for c in (one.bap, one.keysine)]
    even = one.break_even
    return [*cells, "never" if even is None else f"{even / 1e6:.3g} Mbps"]
