"""Long clips in windows, which limits memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from mocpack.model.header import BaseClip

WINDOW_FRAMES = 4096
AClip = TypeVar("AClip", bound=BaseClip)


def split_windows(clip: AClip, *, overlap: int = 0) -> Iterator[AClip]:
    """Yield a clip in windows of `WINDOW_FRAMES` frames, plus `overlap` frames."""
    if clip.frame_count <= WINDOW_FRAMES:
        yield clip
        return
    for start in range(0, clip.frame_count, WINDOW_FRAMES):
        yield clip.frames(start, min(start + WINDOW_FRAMES + overlap, clip.frame_count))
