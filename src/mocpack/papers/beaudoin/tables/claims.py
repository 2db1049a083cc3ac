"""The claims of Beaudoin, Poulin and van de Panne 2007 about gzip (§6.1) and feet (§6.2)."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mocpack.bench.papers.measuring import map_parallel, report_progress, without_cache
from mocpack.bench.papers.verdicts import Line, Timing, compare, judge_claim
from mocpack.bench.runner.timing import fastest
from mocpack.codec import Codec
from mocpack.metrics import measure
from mocpack.model.clip import Clip
from mocpack.model.dofs import to_dofs
from mocpack.papers.beaudoin.codec.wavelet import Wavelet
from mocpack.papers.beaudoin.codec.wavelet_ik import WaveletIk
from mocpack.papers.beaudoin.codec.wavelet_opt import WaveletOpt
from mocpack.papers.beaudoin.tables.eps_x_curves import Point, point
from mocpack.rate import raw_size

RATIOS = (4.5, 15.0, 30.0)  # r: all coefficients divided by those that are kept
STILL = 1e-9  # meters or radians: a channel that moves less is not counted
WALKED = ("09_01", "49_02", "02_01", "07_01")  # clips for the claims about feet
OF_PAPER = ("09_01", "49_02")  # those that the paper measures too
OTHER_CLIPS = "other clips"
LITERAL_IK = WaveletIk.from_params({"settings": "paper"})


def gzip_lines(clips: Mapping[str, Clip]) -> list[Line]:
    """Return gzip's gain on 16-bit words as the paper writes them, and on raw files."""
    # the fast search, because this is a mean over 15 clips
    codecs: list[tuple[Codec, float]] = [
        (codec(ratio=r, bits=16, deflate=False), r)
        for r in RATIOS
        for codec in (Wavelet, WaveletOpt)
    ]
    tasks = [(name, codec, r) for codec, r in codecs for name in clips]
    found = np.array(map_parallel(_gain_and_share, dict(clips), tasks, "gzip"))
    gains = found[:, 0].reshape(len(codecs), -1).mean(axis=1).tolist()
    shares = found[:, 1].tolist()
    raw = [raw_gain(clip) for clip in clips.values()]
    return judge_gzip(gains, shares, float(np.mean(raw)))


def judge_gzip(gains: Sequence[float], shares: Sequence[float], raw: float) -> list[Line]:
    """Return the claims from gains of payloads, r relative to the file's ratio, and raw gain."""
    where = "Section 6.1"
    claim = "gzip: gain on payloads; r to file ratio; gain on raw files"
    found, span = f"{min(gains):.2f}–{max(gains):.2f}", f"{min(shares):.2f} to {max(shares):.2f}"
    holds = min(gains) > 1.05 and max(gains) < 1.55
    return [
        judge_claim(
            where,
            claim,
            "before to after",
            "1.1–1.5",
            found,
            holds,
            why=OTHER_CLIPS,
            comparable=False,
        ),
        compare(
            where,
            claim,
            "r to ratio, mean over clips and r",
            "0.6",
            literal=float(np.mean(shares)),
            kind="share",
            form=".2f",
            less_is_better=None,
            why=f"{OTHER_CLIPS}; r spreads from {span}",
            comparable=False,
        ),
        compare(
            where,
            claim,
            "raw files, mean over clips",
            "1.1",
            literal=raw,
            kind="share",
            less_is_better=False,
            why=OTHER_CLIPS,
            comparable=False,
        ),
    ]


def _gain_and_share(
    clips: Mapping[str, Clip], task: tuple[str, Codec, float]
) -> tuple[float, float]:
    name, codec, r = task
    return gain_and_share(codec, r, clips[name])


def gain_and_share(codec: Codec, r: float, clip: Clip) -> tuple[float, float]:
    """Return the gain of gzip, and r divided by the compression ratio of the gzipped file."""
    payload = codec.encode(clip)
    packed = len(_gzipped(payload))
    return len(payload) / packed, r * packed / raw_size(clip)


def raw_gain(clip: Clip) -> float:
    """Return the gain of gzip on the float array that the paper starts from."""
    matrix = to_dofs(clip)
    moving = matrix[:, np.ptp(matrix, axis=0) > STILL].astype("<f4").tobytes()
    return len(moving) / len(_gzipped(moving))


def _gzipped(data: bytes) -> bytes:
    return gzip.compress(data, 9, mtime=0)


@dataclass(frozen=True)
class Feet:
    """A clip with and without corrected feet, in files of about the same size.

    `literal` are the compression ratios of corrected files as the paper has them, by seed.
    `source_skate` is the foot skate of the clip itself, in cm/s. Times are microseconds per frame.
    """

    without: Point
    corrected: Point
    literal: Sequence[float]
    source_skate: float
    decode: float
    decode_corrected: float
    encode: float


def measure_all_feet(clips: Mapping[str, Clip], seeds: int) -> list[Feet]:
    """Correct the feet of all clips of `WALKED`."""
    tasks = [(name, replace(LITERAL_IK, seed=seed)) for name in WALKED for seed in range(seeds)]
    ratios = map_parallel(_literal_ratio, dict(clips), tasks, "feet")
    return [
        measure_feet(name, clips[name], ratios[seeds * n : seeds * (n + 1)])
        for n, name in enumerate(WALKED)
    ]


def _literal_ratio(clips: Mapping[str, Clip], task: tuple[str, WaveletIk]) -> float:
    name, codec = task
    return point(name, clips[name], "literal", codec, 30).ratio


def measure_feet(name: str, clip: Clip, ratios: Sequence[float]) -> Feet:
    """Correct feet at r = 30 and r_IK = 16; `ratios` are those of the method as printed."""
    report_progress(f"feet of {name}")
    corrected = point(name, clip, "ccd", WaveletIk(), 30)
    plain = _codec_of_size(clip, corrected.size)
    return Feet(
        point(name, clip, "none", plain, 30),
        corrected,
        ratios,
        measure("foot_skate_source_cm_s", clip, clip) or 0.0,
        _decode_microseconds(plain, clip),
        _decode_microseconds(WaveletIk(), clip),
        _encode_microseconds(clip),
    )


def feet_lines(feet: Feet) -> list[Line]:
    """Judge the paper's claims about corrected feet on one clip."""
    where, name = "Section 6.2", feet.corrected.clip
    source, without, corrected = feet.source_skate, feet.without, feet.corrected
    skates = [p.foot_skate or 0.0 for p in (without, corrected)]
    excess = [abs(skate - source) for skate in skates]
    own = name in OF_PAPER
    return [
        judge_claim(
            where,
            "correction lowers foot skate at equal size",
            name,
            "significantly",
            f"{skates[0]:.1f} to {skates[1]:.1f} cm/s, source {source:.1f}",
            excess[1] < 0.5 * excess[0],
            why="less than half of the excess is removed" if own else OTHER_CLIPS,
            comparable=own,
        ),
        judge_claim(
            where,
            "correction raises eps_x at equal size",
            name,
            "usually",
            f"{without.eps_x:.2f} to {corrected.eps_x:.2f} cm",
            corrected.eps_x > without.eps_x,
            why="correcting the feet corrects the legs too" if own else OTHER_CLIPS,
            comparable=own,
        ),
        compare(
            where,
            "compression ratio at r = 30, r_IK = 16",
            name,
            "35",
            literal=feet.literal,
            ours=corrected.ratio,
            kind="share",
            less_is_better=False,
            form=".1f",
            why=OTHER_CLIPS,
            comparable=False,
        ),
    ]


def feet_timings(feet: Feet) -> list[Timing]:
    """Return the times of section 6."""
    name = feet.corrected.clip
    return [
        Timing("Section 6.1", "decode, µs per frame", name, "30", f"{feet.decode:.3g}"),
        Timing("Section 6.2", "decode with correction, µs per frame", name, "300",
               f"{feet.decode_corrected:.3g}"),
        Timing("Section 6.2", "encode the feet, µs per frame", name, "45", f"{feet.encode:.3g}"),
    ]  # fmt: skip


def _codec_of_size(clip: Clip, size: int) -> WaveletOpt:
    """Return the optimized codec whose payload is nearest to `size`, by five bisection steps."""
    low, high = 15.0, 30.0
    for _ in range(5):
        middle = (low + high) / 2
        larger = len(WaveletOpt(ratio=middle).encode(clip)) > size
        low, high = (middle, high) if larger else (low, middle)
    return WaveletOpt(ratio=high)


def _decode_microseconds(codec: Codec, clip: Clip) -> float:
    payload = codec.encode(clip)
    return 1e6 * fastest(lambda: codec.decode(payload, clip.header), 5) / clip.frame_count


def _encode_microseconds(clip: Clip) -> float:
    """Return the time to compute and code the foot shifts, after the pose is coded."""
    codec, plain = WaveletIk(), WaveletOpt(ratio=WaveletIk().ratio)
    limbs = codec.limbs(clip.skeleton)
    coarse = plain.decode(plain.encode(clip), clip.header)

    def work() -> bytes:
        return codec.encode_feet(without_cache(clip), without_cache(coarse), limbs)

    return 1e6 * fastest(work, 3) / clip.frame_count
