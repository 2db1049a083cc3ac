"""Options that several commands take, said once."""

from __future__ import annotations

from typing import Annotated

import typer

Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite files that exist.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Unit = Annotated[
    str | None,
    typer.Option(help="One unit of a file that does not say: m, cm, mm, inch, or like 5.644cm."),
]
Frames = Annotated[
    str | None, typer.Option(help="Only these frames, like 1: or 10:200 (0 is the first).")
]
SkeletonFile = Annotated[
    str | None, typer.Option("--skeleton", help="The .asf of an .amc, where it is not beside it.")
]
ClipName = Annotated[
    str | None, typer.Option("--clip", help="Which clip of a scene, where it has several.")
]
MemoryLimit = Annotated[
    str,
    typer.Option(help="The most memory that a .mocp file may take, like 4GB; none for no limit."),
]
DEFAULT_MEMORY_LIMIT = "1GB"
Workers = Annotated[
    int, typer.Option("--jobs", "-j", help="Files at a time; 0 for as many as there are cores.")
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with a batch that was stopped: only what is missing, changed or damaged.",
    ),
]
