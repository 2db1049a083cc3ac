"""``mocpack compress``: compress motion files to .mocp; the decoder verifies each file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Unpack

import typer
from rich.table import Table

from mocpack import rate
from mocpack.cli import files, options
from mocpack.cli.batch import Job, run_command
from mocpack.cli.encoding import Encoding
from mocpack.cli.inputs import (
    MOTION_EXTENSIONS,
    ROBOT_MOTION_EXTENSIONS,
    find_sources,
    output_paths,
)
from mocpack.cli.joint_bounds import describe_joint_bounds, joint_bound_facts
from mocpack.cli.notes import join_notes
from mocpack.cli.reading import Reading
from mocpack.cli.tables import make_table
from mocpack.cli.timing import Timing
from mocpack.codec import Codec
from mocpack.common.choice import list_names
from mocpack.common.units import (
    format_angle,
    format_length,
    format_size,
    to_degrees,
    to_millimeters,
)
from mocpack.errors import MocpackError, name_errors
from mocpack.io.assumptions import describe_assumptions
from mocpack.io.motion_file import ReadOptions
from mocpack.model.clip import AnyClip, Clip
from mocpack.rate import EncodingOptions, Target
from mocpack.rate.joint_bounds import list_pairs
from mocpack.rate.presets import body_size

PACKED_NOTE = "the input is compressed already: errors are measured against it, not its source"
PLAUSIBLE_BODY_M = (0.1, 20.0)  # with a given unit; bodies of other sizes get a warning
MAX_BODY_SHARE = 0.1  # of the body's size; a larger bound gets a warning


def run(
    inputs: Annotated[
        list[str],
        typer.Argument(help="Motion files, folders or patterns; - reads standard input."),
    ],
    output: options.Output = None,
    *,
    encoding: Encoding,
    ratio: Annotated[
        float | None,
        typer.Option(
            help="Aim for this ratio: size of the moving channels as float32 / file size."
        ),
    ] = None,
    size: Annotated[str | None, typer.Option(help="Aim for this file size, like 20kB.")] = None,
    reading: Reading,
    find_hinges: options.FindHinges = False,
    timing: Timing,
    workers: options.Workers = 1,
    resume: options.Resume = False,
    dry_run: options.DryRun = False,
    force: options.Force = False,
    as_json: options.Json = False,
) -> int:
    """Compress motion files to .mocp; prints ratio, errors and bits per frame."""
    encoding_options = encoding.options(ratio=ratio, size=size)
    codecs, target = rate.parse_encoding(**encoding_options)
    sources = find_sources(
        inputs, MOTION_EXTENSIONS if reading.robot is None else ROBOT_MOTION_EXTENSIONS
    )
    outputs = output_paths(sources, output, ".mocp")
    for source, path in zip(sources, outputs, strict=True):
        files.check_packed_name(path, [source.path])
    settings = {"encoding": encoding_options, **reading.to_arguments()}
    settings |= {"timing": timing.to_arguments(), "find_hinges": find_hinges}
    work = [
        Job(source.path, (goal,), settings, force)
        for source, goal in zip(sources, outputs, strict=True)
    ]
    return run_command(
        partial(_compress, codecs, target),
        work,
        as_json=as_json,
        dry_run=dry_run,
        make_table=_result_table,
        workers=workers,
        title="compressing",
        folder=output,
        resume=resume,
    )


def _compress(
    codecs: Sequence[Codec],
    target: Target,
    source: str,
    output: str,
    *,
    force: bool,
    encoding: EncodingOptions,
    timing: Mapping[str, Any],
    find_hinges: bool,
    **reading: Unpack[ReadOptions],
) -> dict[str, Any]:
    """Compress one file and return its numbers for the table and ``--json``."""
    files.check_output(output, force=force, sources=[source])
    file = files.open_input(source, **reading)
    inside = file.clip_names if "clip" not in reading else []
    clip, changes = Timing(**timing).apply(file.read())
    if find_hinges and isinstance(clip, Clip):
        clip = clip.with_hinges(detect=True)
    with name_errors(source, MocpackError):
        made = rate.encode_clip(clip, codecs, target)
    data, errors = made.data, made.errors
    files.write_output(data, output, force=force)
    raw = rate.raw_size(clip)
    default = errors.declared
    if target.joint_errors:
        default = target.for_clip(clip).max_error or codecs[0].error_bound
    return {
        "codec": made.codec.codec_id,
        "target": _describe_target(made.codec, encoding, default)
        + _advice(clip.header.kind, codecs),
        "frames": clip.frame_count,
        "others_inside": inside[1:],
        "hinges_found": clip.metadata.get("hinges_found", {}),
        "full_turns_dropped": clip.metadata.get("full_turns_dropped", []),
        "unit_guessed": clip.metadata.get("unit_guessed"),
        "notes": describe_assumptions({**clip.metadata, "lossless_reason": made.lossless_reason})
        + [PACKED_NOTE] * file.is_packed
        + changes,
        "warning": _warn_size(clip, reading, errors.declared),
        "moving_channels": rate.moving_channels(clip),
        "bytes": len(data),
        "ratio": raw / len(data),
        "bits_per_frame": 8 * len(data) / clip.frame_count,
        "preset": target.preset,
        "bound_mm": to_millimeters(errors.declared),
        "max_error_mm": to_millimeters(errors.max),
        "joint_bounds": joint_bound_facts(clip.header, errors),
        "mean_error_mm": to_millimeters(errors.mean),
        "angle_bound_deg": to_degrees(errors.declared_angle),
        "max_angle_deg": to_degrees(errors.max_angle),
    }


def _describe_target(codec: Codec, encoding: EncodingOptions, default: float | None) -> str:
    """Describe the target, or the codec's own parameters if there is no target.

    `default` is the bound in meters that applies if the target names none.
    """
    given = {k: v for k, v in encoding.items() if k not in ("codec", "effort", "joint_errors")}
    pairs = list_pairs(encoding.get("joint_errors"))
    joints = "".join(f", {name} {bound}" for name, bound in pairs)
    if "preset" in given:
        bound = format_length(default or 0.0)
        angle = f" and {given['max_angle']}" if "max_angle" in given else ""
        within = f"maximum error {bound}{angle}{joints}"
        return f"preset {given['preset']}, {within}, with {codec.codec_id}"
    if default is not None and not {"max_error", "mean_error", "ratio", "size"} & given.keys():
        given = {"max_error": format_length(default), **given}
    if given or joints:
        targets = " and ".join(f"{name} {value}" for name, value in given.items())
        return f"{targets}{joints}, with {codec.codec_id}"
    own = ", ".join(f"{name}={value}" for name, value in codec.params().items())
    return codec.codec_id + (own and f" with {own}")


def _advice(kind: str, codecs: Sequence[Codec]) -> str:
    """Name the codec to try for vertices that were packed without loss because none was named."""
    if kind != "vertices" or len(codecs) == 1:
        return ""
    return "; --codec latent-spline makes vertices smaller, with an error"


def _warn_size(clip: AnyClip, reading: ReadOptions, bound: float | None) -> str | None:
    """Return a warning if the given unit, or that of the bound, is probably wrong."""
    size, unit = body_size(clip), reading.get("unit")
    low, high = PLAUSIBLE_BODY_M
    body = format_length(size)
    if unit is not None and size and not low <= size <= high:
        return f"warning: with the unit {unit}, the body measures {body}"
    if bound is None or not 0 < MAX_BODY_SHARE * size < bound:
        return None
    allowed = format_length(bound)
    return f"warning: a maximum error of {allowed} is large for a body of {body}; check the unit"


def _result_table(rows: list[dict[str, Any]]) -> Table | None:
    if len(rows) == 1 and not rows[0]["ok"]:
        return None
    angles = any(row["ok"] and row["max_angle_deg"] is not None for row in rows)
    titles = ["frames", "channels", "size", "ratio", "bits/frame", "max error", "mean error"]
    all_done = all(row["status"] == "done" for row in rows)
    titles += ["max angle"] * angles + ["status"] * (not all_done)
    table = make_table("file", *titles, left=("file", "status"))
    for row in rows:
        figures = _figures(row) if row["ok"] else ["-"] * 7
        if angles:
            angle = row["max_angle_deg"] if row["ok"] else None
            figures.append("-" if angle is None else format_angle(math.radians(angle)))
        table.add_row(row["output"], *figures, *([] if all_done else [row["status"]]))
    notes = sorted({f"target: {row['target']}" for row in rows if row["ok"]})
    notes += join_notes([row.get("notes", ()) for row in rows])
    for row in rows:
        for group in row.get("joint_bounds", ()):
            text = describe_joint_bounds(group, sum(len(g["joints"]) for g in row["joint_bounds"]))
            notes.append(f"{row['input']}: joint error bound {text}")
        if row.get("warning"):
            notes.append(f"{row['input']}: {row['warning']}")
        if row.get("hinges_found"):
            notes.append(f"{row['input']}: found hinges {', '.join(row['hinges_found'])}")
        if row.get("full_turns_dropped"):
            names = ", ".join(row["full_turns_dropped"])
            notes.append(f"{row['input']}: dropped full turns before the first frame of {names}")
        if row.get("others_inside"):
            others = list_names(row["others_inside"])
            notes.append(f"{row['input']} also contains {others}; choose with --clip")
    table.caption = "\n".join(notes)
    table.caption_justify = "left"
    return table


def _figures(row: dict[str, Any]) -> list[str]:
    return [
        str(row["frames"]),
        str(row["moving_channels"]),
        format_size(row["bytes"]),
        f"{row['ratio']:.1f}",
        f"{row['bits_per_frame']:.1f}",
        format_length(row["max_error_mm"] / 1000),
        format_length(row["mean_error_mm"] / 1000),
    ]
