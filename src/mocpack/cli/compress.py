"""``mocpack compress``: motion files in, .mocp files out, each checked by the real decoder."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.table import Table

from mocpack import _api, rate
from mocpack.cli import files, options
from mocpack.codec import SupportsBound, SupportsQuality
from mocpack.errors import MocpackError, UsageError
from mocpack.registry import DEFAULT_CODEC, parse_codec
from mocpack.units import format_length, format_size

DEFAULT_BOUND = "1mm"

Target = dict[str, Any]


def run(
    inputs: Annotated[list[str], typer.Argument(help="Motion files; - reads standard input.")],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File, folder, or - for a pipe.")
    ] = None,
    codec: Annotated[
        str, typer.Option(help="Codec and parameters, like wavelet:ratio=20.")
    ] = DEFAULT_CODEC,
    max_error: Annotated[
        str | None, typer.Option(help="Largest error anywhere, like 1mm (the default).")
    ] = None,
    mean_error: Annotated[str | None, typer.Option(help="Mean error, like 2mm.")] = None,
    ratio: Annotated[
        float | None, typer.Option(help="Times smaller than float32 of the moving channels.")
    ] = None,
    size: Annotated[str | None, typer.Option(help="Size of the file, like 20kB.")] = None,
    lossless: Annotated[bool, typer.Option("--lossless", help="Every number comes back.")] = False,
    effort: Annotated[str, typer.Option(help="fast, default or best.")] = "default",
    unit: options.Unit = None,
    frames: options.Frames = None,
    skeleton: options.SkeletonFile = None,
    jobs: options.Workers = 1,
    force: options.Force = False,
    as_json: options.Json = False,
) -> int:
    """Pack motion files; prints ratio, errors and bits a frame."""
    spec, target = _request(codec, max_error, mean_error, ratio, size, lossless)
    target["effort"] = effort
    outputs = files.outputs_for(inputs, output, ".mocp")
    work = [
        (source, goal, spec, target, {"unit": unit, "frames": frames, "skeleton": skeleton}, force)
        for source, goal in zip(inputs, outputs, strict=True)
    ]
    outcomes = files.run_many(_compress, work, workers=jobs, title="compressing")
    rows = [o.result for o in outcomes if o.result]
    # a pipe carries the file; what is for people goes to the other one
    console = files.stderr() if files.PIPE in outputs else files.stdout()
    if as_json:
        console.print(json.dumps(rows if len(inputs) > 1 else (rows or [None])[0], indent=1))
    elif rows:
        console.print(_table(rows))
    return files.report_complaints(outcomes)


def _request(
    codec: str,
    max_error: str | None,
    mean_error: str | None,
    ratio: float | None,
    size: str | None,
    lossless: bool,
) -> tuple[str, Target]:
    """Settle codec and target: at most one target, 1 mm where none is named."""
    given = {"max_error": max_error, "mean_error": mean_error, "ratio": ratio, "size": size}
    target: Target = {name: value for name, value in given.items() if value is not None}
    if len(target) + lossless > 1:
        names = [f"--{n.replace('_', '-')}" for n in target] + ["--lossless"] * lossless
        raise UsageError(f"give one target, not {' and '.join(names)}")
    if lossless:
        return "lossless", {}
    chosen = parse_codec(codec)
    adjustable = isinstance(chosen, SupportsBound | SupportsQuality)
    if not target and adjustable and ":" not in codec:
        target = {"max_error": DEFAULT_BOUND}
    return codec, target


def _compress(
    source: str, goal: str, spec: str, target: Target, reading: dict[str, Any], force: bool
) -> dict[str, Any]:
    files.check_free(goal, force=force)
    clip = files.read_clip(source, **reading)
    try:
        data = _api.encode(clip, spec, **target)
    except MocpackError as error:
        raise type(error)(f"{source}: {error}") from error
    files.write_output(data, goal, force=force)
    with _api.Motion(data) as motion:
        errors, used = motion.errors, motion.codec.codec_id
    raw = rate.raw_size(clip)
    return {
        "input": source,
        "output": goal,
        "codec": used,
        "frames": clip.frame_count,
        "unit_guessed": clip.metadata.get("unit_guessed"),
        "moving_channels": rate.moving_channels(clip),
        "bytes": len(data),
        "ratio": raw / len(data),
        "bits_per_frame": 8 * len(data) / clip.frame_count,
        "max_error_mm": _mm(errors.max),
        "mean_error_mm": _mm(errors.mean),
    }


def _mm(metres: float | None) -> float | None:
    return None if metres is None else 1000 * metres


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("file")
    for title in ("frames", "channels", "size", "ratio", "bits/frame", "largest", "mean"):
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(
            row["output"],
            str(row["frames"]),
            str(row["moving_channels"]),
            format_size(row["bytes"]),
            f"{row['ratio']:.1f}",
            f"{row['bits_per_frame']:.1f}",
            format_length(row["max_error_mm"] / 1000),
            format_length(row["mean_error_mm"] / 1000),
        )
    guesses = sorted({r["unit_guessed"] for r in rows if r["unit_guessed"]})
    if guesses:
        table.caption = f"unit guessed: {', '.join(guesses)} (--unit overrides it)"
        table.caption_justify = "left"
    return table
