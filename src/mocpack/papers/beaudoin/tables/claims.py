"""The claims of Beaudoin, Poulin and van de Panne 2007 outside their tables.

Section 6.1: files are 1.1 to 1.5 times larger before gzip; the share r of coefficients is about 0.6
of the ratio of the file; gzip of the raw file gives 1.1:1. Section 6.2: feet.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence

import numpy as np

from mocpack.bench.papers.verdicts import Line, Timing, compare, judge_claim
from mocpack.bench.report.markdown import markdown_table
from mocpack.bench.runner.timing import fastest
from mocpack.clip import Clip
from mocpack.codec import Codec
from mocpack.dofs import to_dofs
from mocpack.papers.beaudoin.codec.wavelet import Wavelet
from mocpack.papers.beaudoin.codec.wavelet_ik import WaveletIk
from mocpack.papers.beaudoin.codec.wavelet_opt import WaveletOpt
from mocpack.papers.beaudoin.tables.eps_x_curves import Point
from mocpack.rate import raw_size

RATIOS = (4.5, 15.0, 30.0)  # r: one coefficient in so many
STILL = 1e-9  # meters or radians: a channel that moves less is not counted


def gzip_gains(clips: Mapping[str, Clip]) -> tuple[str, list[Line]]:
    """Return gzip's gain on 16-bit words as the paper writes them, and on raw files."""
    rows, gains = [], []
    shares: list[float] = []
    for r in RATIOS:
        settings: tuple[Codec, ...] = (
            Wavelet(ratio=r, bits=16, deflate=False),
            WaveletOpt(ratio=r, bits=16, deflate=False),
        )
        for codec in settings:
            gain, share = np.array([gain_and_share(codec, r, clip) for clip in clips.values()]).T
            gains.append(float(gain.mean()))
            shares += share.tolist()
            rows.append([codec.codec_id, f"{r:g}", _span(gain), _span(share)])
    raw = [raw_gain(clip) for clip in clips.values()]
    head = ["technique", "r:", "before : after gzip", "r : ratio of the file"]
    text = (
        "## gzip, at 16 bits: mean over the clips (least to largest)\n\n"
        + markdown_table(head, rows)
        + f"\n\ngzip of the raw files (float32 of the channels that move): {_span(raw)}. "
        "Paper: 1.1 to 1.5 times larger before gzip, r about 0.6 of the ratio, raw files 1.1:1."
    )
    return text, _gzip_lines(gains, shares, float(np.mean(raw)))


def _gzip_lines(gains: Sequence[float], shares: Sequence[float], raw: float) -> list[Line]:
    where, span = "Section 6.1", f"{min(shares):.2f} to {max(shares):.2f}"
    return [
        judge_claim(
            where,
            "size before gzip relative to after",
            "mean over clips",
            "1.1 to 1.5",
            f"{min(gains):.2f} to {max(gains):.2f}",
            min(gains) > 1.05 and max(gains) < 1.55,
        ),
        compare(
            where,
            "r relative to the ratio of the file",
            "mean over clips and r",
            "0.6",
            literal=float(np.mean(shares)),
            kind="share",
            form=".2f",
            less_is_better=None,
            why=f"{span} over clips and r; our run-length codes",
        ),
        compare(
            where,
            "gzip of raw files",
            "mean over clips",
            "1.1",
            literal=raw,
            kind="share",
            less_is_better=False,
        ),
    ]


def gain_and_share(codec: Codec, r: float, clip: Clip) -> tuple[float, float]:
    """Return size before against after gzip, and r against the ratio of the file after it."""
    payload = codec.encode(clip)
    packed = len(_gzipped(payload))
    return len(payload) / packed, r * packed / raw_size(clip)


def raw_gain(clip: Clip) -> float:
    """Return how many times smaller gzip makes the array of floats that the paper starts from."""
    matrix = to_dofs(clip)
    moving = matrix[:, np.ptp(matrix, axis=0) > STILL].astype("<f4").tobytes()
    return len(moving) / len(_gzipped(moving))


def feet_lines(without: Point, corrected: Point, literal: Point, source: float) -> list[Line]:
    """Return what correcting the feet of one clip gives, beside the paper's claims.

    Parameters
    ----------
    without, corrected : Point
        Files of about the same size.
    literal : Point
        The corrected file with 16-bit coefficients, as the paper has it.
    source : float
        Foot skate of the clip itself, cm/s.
    """
    where, name = "Section 6.2", without.clip
    skates = [point.foot_skate or 0.0 for point in (without, corrected)]
    excess = [abs(skate - source) for skate in skates]
    return [
        judge_claim(
            where,
            "correction reduces foot skate at equal size",
            name,
            "significantly",
            f"{skates[0]:.1f} to {skates[1]:.1f} cm/s, source {source:.1f}",
            excess[1] < 0.5 * excess[0],
        ),
        judge_claim(
            where,
            "correction raises eps_x at equal size",
            name,
            "usually",
            f"{without.eps_x:.2f} to {corrected.eps_x:.2f} cm",
            corrected.eps_x > without.eps_x,
            why="correcting the feet corrects the legs too",
        ),
        compare(
            where,
            "compression ratio at r = 30, r_IK = 16",
            name,
            "35",
            literal=literal.ratio,
            ours=corrected.ratio,
            kind="share",
            less_is_better=False,
            form=".1f",
            why="other clips; the ratio counts channels that move",
        ),
    ]


def feet_timings(clip: Clip, name: str, without: float, corrected: float) -> list[Timing]:
    """Return the times of section 6; decoding in microseconds per frame."""
    shifts = _feet_microseconds(clip)
    return [
        Timing("Section 6.1", "decode, µs per frame", name, "30", f"{without:.3g}"),
        Timing("Section 6.2", "decode with correction, µs per frame", name, "300",
               f"{corrected:.3g}"),
        Timing("Section 6.2", "encode the feet, µs per frame", name, "45", f"{shifts:.3g}"),
    ]  # fmt: skip


def _feet_microseconds(clip: Clip) -> float:
    """Return the time of finding and coding the feet's shifts, once the pose is coded."""
    codec, plain = WaveletIk(), WaveletOpt(ratio=WaveletIk().ratio)
    limbs = codec.limbs(clip.skeleton)
    coarse = plain.decode(plain.encode(clip), clip.header)

    def work() -> bytes:
        # new clips, which have no cached positions
        return codec.encode_feet(_without_cache(clip), _without_cache(coarse), limbs)

    return 1e6 * fastest(work, 3) / clip.frame_count


def _without_cache(clip: Clip) -> Clip:
    return Clip(clip.header, clip.rotations, clip.translations)


def _gzipped(data: bytes) -> bytes:
    return gzip.compress(data, 9, mtime=0)


def _span(values: Sequence[float]) -> str:
    return f"{np.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"
