"""``mocpack convert``: from one motion format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mocpack import _api
from mocpack.cli import files, options
from mocpack.io import files_to_write


def run(
    source: Annotated[str, typer.Argument(help="Motion file to read.")],
    goal: Annotated[str, typer.Argument(help="Motion file to write; its extension says how.")],
    unit: options.Unit = None,
    frames: options.Frames = None,
    skeleton: options.SkeletonFile = None,
    memory_limit: options.MemoryLimit = options.DEFAULT_MEMORY_LIMIT,
    force: options.Force = False,
) -> int:
    """Read a motion file of one kind and write it as another."""
    for path in files_to_write(goal):
        files.check_free(str(path), force=force)
    clip = files.read_clip(
        source, unit=unit, frames=frames, skeleton=skeleton, memory_limit=memory_limit
    )
    if Path(goal).suffix == ".mocp":
        files.write_output(_api.encode(clip), goal, force=force)
    else:
        _api.write(clip, goal)
    return 0
