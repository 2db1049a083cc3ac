"""Archives of clips without a catalog, which need no package besides numpy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import mocpack
from mocpack.container import ArchiveWriter, to_stored_clip
from mocpack.model.clip import Clip


def write_archive(path: Path, clips: Mapping[str, Clip | bytes]) -> Path:
    """Write clips, or .mocp files of them, into an archive; return its path."""
    with path.open("wb") as stream:
        writer = ArchiveWriter(stream)
        for name, clip in clips.items():
            data = clip if isinstance(clip, bytes) else mocpack.encode(clip, codec="lossless")
            writer.add(to_stored_clip(name, data))
        writer.end(None, None)
    return path
