"""The ten motions of Chattopadhyay, Bhandarkar and Li (2007), with the printed numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mocpack import _api
from mocpack.model.clip import Clip
from mocpack.papers.chattopadhyay.tables.coding import KB

PAPER_COLUMNS = 62
SEGMENT_HEAD = 45  # bytes of a segment's parameters that the printed sizes show (the paper's c_l)
FORMS = {"asfamc": "amc", "cmu": "bvh"}


@dataclass(frozen=True)
class Motion:
    """A motion of the paper's tables, with its printed numbers.

    Attributes
    ----------
    name, clip : str
        The paper's name and ours.
    segments : int
        Number of segments that the sizes of Table 1 imply; one column was kept.
    mpeg4_kb, indexed_kb, sparsed_kb : float
        Table 1, columns 3 to 5.
    mpeg4_mj, sparsed_mj : tuple of float
        Table 1, columns 6, 9, 12 and 7, 10, 13: at 128 Kbps, 1 and 4 Mbps.
    fraction : float
        Table 2: MPEG-4 of original.
    tuned_kb, tuned_def, thinned_kb, thinned_def : float
        Table 2, its last four columns.
    """

    name: str
    clip: str
    frames: int
    segments: int
    mpeg4_kb: float
    indexed_kb: float
    sparsed_kb: float
    mpeg4_mj: tuple[float, float, float]
    sparsed_mj: tuple[float, float, float]
    fraction: float
    tuned_kb: float
    tuned_def: float
    thinned_kb: float
    thinned_def: float

    @property
    def rows(self) -> int:
        """Rows of a segment of Table 1."""
        return -(-(self.frames - 1) // self.segments)

    @property
    def share(self) -> float:
        """Return the share of indices that remain after sparsing, as Table 1 implies."""
        changes = self.frames - 1
        head = self.segments * (4 * 256 + SEGMENT_HEAD) + 4 * PAPER_COLUMNS
        left = KB * self.sparsed_kb - head - 4 * changes
        return left / ((PAPER_COLUMNS - 1) * changes)


# fmt: off
MOTIONS = (
    Motion("jog", "16_46", 136, 2, 28, 10.9, 6.8, (2913, 1002, 798), (1259, 796, 746),
           0.85, 27.74, 1.19, 18.99, 1.49),
    Motion("run-leap", "49_04", 251, 2, 50, 18.2, 12.2, (5246, 1834, 1468), (2298, 1465, 1376),
           0.82, 47.5, 0.29, 28.55, 0.45),
    Motion("stride", "08_05", 298, 2, 59, 21.19, 12.8, (6200, 2174, 1742), (2598, 1723, 1630),
           0.82, 47.29, 1.08, 29.67, 1.97),
    Motion("walk", "02_01", 343, 2, 73, 24, 14.6, (7534, 2551, 2018), (2977, 1982, 1875),
           0.88, 69.13, 0.15, 45.91, 0.17),
    Motion("jump", "13_39", 351, 2, 72, 24.55, 16.1, (7499, 2585, 2058), (3138, 2040, 1922),
           0.85, 62.47, 0.14, 41.95, 0.25),
    Motion("basketball", "06_04", 396, 2, 84, 27.41, 18.0, (8676, 2943, 2329), (3528, 2299, 2168),
           0.88, 79.48, 0.23, 53.84, 0.42),
    Motion("forward-jump", "13_11", 415, 2, 86, 28.61, 18.9, (8934, 3064, 2436), (3702, 2410, 2272),
           0.86, 85.22, 0.33, 55.71, 0.34),
    Motion("dance", "05_03", 434, 2, 92, 29.82, 18.1, (9504, 3225, 2552), (3742, 2505, 2372),
           0.87, 86.9, 11.16, 58.93, 14.09),
    Motion("play_violin", "79_17", 804, 2, 162, 53.31, 34.8, (16948, 5892, 4707),
           (7030, 4652, 4397), 0.83, 159.17, 0.78, 104.81, 1.23),
    Motion("sword play", "02_07", 2251, 4, 465, 147, 100.9, (48344, 16607, 13207),
           (19947, 13058, 12320), 0.85, 450.93, 1.45, 315.58, 2.49),
)
# fmt: on
GIGACYCLES = dict(  # Table 2, column 5: decoding lossless MPEG-4
    zip(
        (motion.name for motion in MOTIONS),
        ("0.65", "0.93", "1.23", "1.34", "1.35", "1.44", "1.56", "1.68", "2.89", "8.49"),
        strict=True,
    )
)  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A motion, the format of its file (AMC or BVH), and its path."""

    motion: Motion
    form: str
    path: Path

    @property
    def title(self) -> str:
        return f"{self.motion.name} ({self.form})"

    def clip(self) -> Clip:
        """Read the frames of the paper; the BVH conversion added a pose before them."""
        clip = _api.read(self.path)
        return clip.frames(clip.frame_count - self.motion.frames, clip.frame_count)


def find_sources(clips: Mapping[str, Path]) -> list[Source]:
    """Return the motions among clips by name, in each form that is present."""
    return [
        Source(motion, form, clips[f"{folder}/{motion.clip}"])
        for motion in MOTIONS
        for folder, form in FORMS.items()
        if f"{folder}/{motion.clip}" in clips
    ]
