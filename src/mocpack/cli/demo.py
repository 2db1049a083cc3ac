"""``mocpack demo``: compress, decompress and compare the bundled clip."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mocpack import _api, rate
from mocpack.cli import files
from mocpack.cli.drawing import draw_error
from mocpack.cli.progress import make_progress_bar
from mocpack.cli.tables import make_table
from mocpack.codecs.registry import DEFAULT_CODEC
from mocpack.common.units import format_length, format_size, parse_length
from mocpack.errors import MissingExtraError
from mocpack.io.atomic import write_atomically
from mocpack.metrics import compare
from mocpack.model.clip import Clip, measure_error
from mocpack.samples import JUMP

ACKNOWLEDGMENT = (
    "The motion was obtained from mocap.cs.cmu.edu; "
    "the database was created with funding from NSF EIA-0196217."
)
SOURCE = "jump.bvh"
MAX_BOUND = "20mm"
# (name, codec, maximum error) of each file to write; the picture shows the last.
FILES: tuple[tuple[str, str, str | None], ...] = (
    ("raw", "raw", None),
    *((f"{DEFAULT_CODEC}-{b}", DEFAULT_CODEC, b) for b in ("0.1mm", "1mm", "5mm", MAX_BOUND)),
)


def run(
    out: Annotated[Path, typer.Option(help="Write the files of the demo to this folder.")] = Path(
        "demo"
    ),
) -> int:
    """Compress and compare a bundled clip; prints a table and draws a picture."""
    out.mkdir(parents=True, exist_ok=True)
    console = files.stdout()
    clip = _api.read(JUMP)
    console.print(
        f"{JUMP.name}: {clip.frame_count} frames, {len(clip.skeleton)} joints, "
        f"{format_size(JUMP.stat().st_size)} as text, {format_size(rate.raw_size(clip))} as float32"
    )
    titles = ("bound", "size", "ratio", "max error", "mean error", "velocity error cm/s")
    table = make_table("file", *titles, left=("file",))
    decoded = clip
    with make_progress_bar() as bar:
        task = bar.add_task("compressing", total=len(FILES))
        for name, spec, bound in FILES:
            data = _api.encode(clip, spec, max_error=bound)
            path = out / f"{name}.mocp"
            write_atomically(data, path)
            decoded = _api.decode(path.read_bytes())
            errors = compare(clip, decoded)
            table.add_row(
                path.name,
                bound or "-",
                format_size(len(data)),
                f"{rate.raw_size(clip) / len(data):.1f}",
                format_length((errors["max_error_mm"] or 0.0) / 1000),
                format_length((errors["mean_mm"] or 0.0) / 1000),
                f"{errors['velocity_cm_s'] or 0.0:.3f}",
            )
            bar.advance(task)
    console.print(table)
    write_atomically(JUMP.read_bytes(), out / SOURCE)
    _api.write(decoded, out / "decoded.bvh")
    worst = measure_error(clip, decoded)
    console.print(
        f"maximum error of the last file: frame {worst.worst_frame}, "
        f"joint {clip.skeleton.names[worst.worst_joint]}, {format_length(worst.max)}"
    )
    console.print(
        f"wrote {out}/{SOURCE} (the original), {out}/*.mocp, {out}/decoded.bvh"
        f"{_draw_picture(clip, decoded, out)}"
    )
    console.print(ACKNOWLEDGMENT)
    return 0


def _draw_picture(clip: Clip, decoded: Clip, out: Path) -> str:
    """Draw the error if matplotlib is installed; return the end of the last printed line."""
    name, bound = f"{FILES[-1][0]}.mocp", parse_length(MAX_BOUND)
    ratio = rate.raw_size(clip) / (out / name).stat().st_size
    title = f"{name}: {ratio:.0f} times smaller than float32, within {1000 * bound:g} mm"
    try:
        draw_error(clip, decoded, out / "error.png", title=title, bound=bound)
    except MissingExtraError as error:
        return f"; drew no picture: {error}"
    return f" and {out}/error.png (a picture of the error)"
