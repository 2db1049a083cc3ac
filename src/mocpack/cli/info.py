"""``mocpack info``: show the contents, sizes and errors of .mocp files.

For motion files of other formats, list the motions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any, TypedDict

import typer
from rich.table import Table

from mocpack import _api
from mocpack.cli import files, options
from mocpack.cli.batch import collect_rows
from mocpack.cli.energy import EnergyOptions, energy_table, measure_energy
from mocpack.cli.inputs import PACKED_EXTENSIONS, find_sources
from mocpack.cli.joint_bounds import describe_joint_bounds, joint_bound_facts
from mocpack.cli.notes import archive_facts, describe_length, join_notes
from mocpack.cli.reading import Reading
from mocpack.cli.tables import make_fact_table, make_table, scene_table
from mocpack.cli.terminal import print_json
from mocpack.codec import Layer, PayloadLayout
from mocpack.common.texts import count_of
from mocpack.common.units import (
    format_angle,
    format_length,
    format_size,
    to_degrees,
    to_millimeters,
)
from mocpack.container import FORMAT_VERSION, TrackHead
from mocpack.errors import FormatError, SceneError, TruncatedError, UsageError, name_errors
from mocpack.io.assumptions import describe_assumptions
from mocpack.io.motion_file import MotionFile, ReadOptions, is_archive_name
from mocpack.model.clip import AnyClip, AnyHeader


class PointCounts(TypedDict):
    """The number of joints or of vertices."""

    joints: int | None
    vertices: int | None


class MotionFacts(PointCounts):
    """A motion of a file that is not a .mocp."""

    name: str | None
    frames: int
    frame_rate: float
    seconds: float
    even_times: bool
    tracks: list[str]
    notes: list[str]


class LayerFacts(TypedDict):
    """Where a layer of a file ends, and the error of a file that is cut there."""

    end_bytes: int
    max_error_mm: float | None
    mean_error_mm: float | None


class CutFacts(TypedDict):
    """Bytes and complete layers of a truncated file, and their error."""

    is_playable: bool
    payload_bytes: int
    missing_bytes: int
    whole_layers: int | None
    error_mm: float | None
    mean_error_mm: float | None


class TrackFacts(TypedDict):
    """A track; `rate` is None if each sample has its own time."""

    name: str
    kind: str
    samples: int
    rate: float | None
    bound: float
    unit: str
    bytes: int


def run(
    paths: Annotated[
        list[str],
        typer.Argument(
            help=".mocp files, folders or patterns, or other motion files; - reads standard input."
        ),
    ],
    *,
    reading: Reading,
    energy_options: EnergyOptions,
    as_json: options.Json = False,
) -> int:
    """Show the skeleton, frames, codec, sizes and errors of motion files."""
    energy_options.check()
    found = [source.path for source in find_sources(paths, PACKED_EXTENSIONS)]
    given = reading.to_arguments(clip=None)
    read_facts = partial(_file_facts, clip=reading.clip, reading=given, energy=energy_options)
    rows, code = collect_rows(read_facts, found)
    if as_json:
        print_json(rows)
        return code
    for row in rows:
        if row["ok"]:
            files.stdout().print(_choose_table(row))
            if "energy" in row:
                files.stdout().print(energy_table(row["energy"]))
    return code


def _choose_table(row: dict[str, Any]) -> Table:
    if "archive" in row:
        return _archive_table(row)
    if "motions" in row:
        return _motions_table(row)
    return _scene_table(row) if "clips" in row else _table(row)


def _file_facts(
    path: str, clip: str | None, *, reading: ReadOptions, energy: EnergyOptions
) -> dict[str, Any]:
    if is_archive_name(path):
        _reject_energy(path, energy, "an archive")
        return _archive_facts(path, clip)
    file = files.open_input(path, **reading)
    if not file.is_packed:
        _reject_energy(path, energy, "a motion file of another format")
        return _foreign_file_facts(file, clip)
    data, names = file.data, file.clip_names
    with name_errors(path, FormatError, SceneError):
        if len(names) > 1:
            _reject_energy(path, energy, f"a scene of {len(names)} clips")
        elif energy.energy:
            facts = _read_facts(data, clip)
            cost = measure_energy(data, facts["frames"], facts["frame_rate"], energy)
            return {**facts, "energy": cost}
        if len(names) < 2 or clip is not None:
            return _read_facts(data, clip)
        clips = [{"name": name, **_read_facts(data, name)} for name in names]
    return {"format_version": FORMAT_VERSION, "bytes": {"file": len(data)}, "clips": clips}


def _reject_energy(path: str, energy: EnergyOptions, kind: str) -> None:
    if energy.energy:
        raise UsageError(f"{path}: --energy needs a .mocp file of one clip, got {kind}")


def _archive_facts(path: str, clip: str | None) -> dict[str, Any]:
    """Return the facts in the trailer of an archive, or those of one clip."""
    from mocpack.corpora.reading import open_corpus

    with open_corpus(path) as found:
        if clip is not None:
            return _clip_facts(found[clip])
        return {
            "archive": True,
            "bytes": found.bytes_by_part,
            "clips_inside": len(found),
            "copies": found.index.copy_count,
            "columns": found.columns,
            **archive_facts(found),
        }


def _archive_table(row: dict[str, Any]) -> Table:
    table = make_fact_table(row["input"])
    copies = f", {row['copies']} of them copies" if row["copies"] else ""
    skeletons = count_of(row["skeletons"], "skeleton")
    table.add_row("clips", f"{row['clips_inside']} with {skeletons}{copies}")
    table.add_row("motion", describe_length(row["frames"], row["seconds"]))
    shards = f" in {row['shards']} shards" if row["shards"] else ""
    parts = row["bytes"]
    share = f"{parts['file'] / max(1, parts['single_files']):.3f} of the single files"
    table.add_row("archive", f"{format_size(parts['file'])}{shards}, {share}")
    for part in ("clips", "shared", "index", "catalog"):
        table.add_row(f"  {part}", format_size(parts[part]))
    rate = 8 * row["bytes"]["file"] / max(1, row["frames"])
    table.add_row("  rate", f"{rate:.1f} bits per frame")
    table.add_row("catalog", ", ".join(row["columns"]) or "none (one shard of an archive)")
    for note in row["notes"]:
        table.add_row("note", note)
    return table


def _read_facts(data: bytes, clip: str | None) -> dict[str, Any]:
    with _api.Motion(data, partial=True, clip=clip) as motion:
        if motion.is_truncated and motion.decoder.decodes_truncated:
            return _clip_facts(motion)
    with _api.Motion(data, clip=clip) as motion:
        return _clip_facts(motion)


def _foreign_file_facts(file: MotionFile, clip: str | None) -> dict[str, Any]:
    """Return the motions of a file of another format."""
    names: list[str | None] = [clip] if clip is not None else [*file.clip_names] or [None]
    return {
        "format": file.format.name,
        "bytes": {"file": len(file.data)},
        "motions": [_motion_facts(file.read(name), name) for name in names],
    }


def _motion_facts(clip: AnyClip, name: str | None) -> MotionFacts:
    return {
        "name": name,
        "frames": clip.frame_count,
        "frame_rate": float(clip.header.frame_rate),
        "seconds": clip.duration,
        "even_times": clip.take_data.times is None,
        **_point_counts(clip.header),
        "tracks": list(clip.tracks),
        "notes": describe_assumptions(clip.metadata),
    }


def _point_counts(header: AnyHeader) -> PointCounts:
    joints = header.point_count if header.kind == "skeleton" else None
    return {"joints": joints, "vertices": None if joints else header.point_count}


def _motions_table(row: dict[str, Any]) -> Table:
    motions, size = row["motions"], format_size(row["bytes"]["file"])
    several = f", {len(motions)} motions" if len(motions) > 1 else ""
    title = f"{row['input']}: {row['format']}, {size}{several}"
    columns = ("motion", "frames", "frames/s", "seconds", "joints", "tracks")
    table = make_table(*columns, left=("motion",), title=title)
    for motion in motions:
        uneven = "" if motion["even_times"] else ", uneven"
        table.add_row(
            motion["name"] or "-",
            str(motion["frames"]),
            f"{motion['frame_rate']:.6g}{uneven}",
            f"{motion['seconds']:.3f}",
            str(motion["joints"] or motion["vertices"]),
            str(len(motion["tracks"])),
        )
    table.caption, table.caption_justify = (
        "\n".join(join_notes([row.get("notes", ()) for row in motions])),
        "left",
    )
    return table


def _scene_table(scene: dict[str, Any]) -> Table:
    rows = [
        facts
        | {
            "clip": facts["name"],
            "joints": facts["joints"] or facts["vertices"],
            "bytes": facts["bytes"]["file"],
            "max_error_mm": facts["error_mm"]["max"],
        }
        for facts in scene["clips"]
    ]
    return scene_table(scene["input"], scene["bytes"]["file"], rows)


def _clip_facts(motion: _api.Motion) -> dict[str, Any]:
    header, sizes, errors = motion.header, motion.sizes, motion.errors
    unstored = motion.codec.encoder_params  # a file has none, so their values would be defaults
    is_playable = True
    try:
        layout, layers = motion.layout(), motion.layers
    except TruncatedError:
        if not motion.is_truncated:
            raise
        # the file ends inside its first layer
        layout, layers, is_playable = PayloadLayout(groups=0), (), False
    return {
        "format_version": FORMAT_VERSION,
        "codec": motion.codec.codec_id,
        "bitstream_version": motion.bitstream_version,
        "params": {k: v for k, v in motion.params.items() if k not in unstored},
        "frames": header.frame_count,
        "frame_rate": header.frame_rate,
        **_point_counts(header),
        "root": next(iter(header.point_names), None),
        "unit": header.unit,
        "bytes": {
            "file": sizes["file"],
            "payload": sizes["file"] - sizes["skeleton"] - sizes["metadata"],
            "skeleton": sizes["skeleton"],
            "index": layout.index_bytes,
            "model": layout.model_bytes,
            "metadata": sizes["metadata"],
            "scales": sizes["scales"],
            "times": sizes["times"],
            "validity": sizes["validity"],
            "tracks": sizes["tracks"],
        },
        **_take_data_facts(motion),
        "error_mm": {
            name: to_millimeters(getattr(errors, name))
            for name in ("declared", "max", "mean", "rms", "p99")
        },
        "angle_deg": {
            "declared": to_degrees(errors.declared_angle),
            "max": to_degrees(errors.max_angle),
        },
        "joint_bounds": joint_bound_facts(header, errors),
        "cut": _truncation_facts(motion, layout, layers, is_playable)
        if motion.is_truncated
        else None,
        "groups": layout.groups,
        "layers": _layer_facts(layers),
        "metadata": dict(header.metadata),
    }


def _layer_facts(layers: Sequence[Layer]) -> list[LayerFacts]:
    return [
        {
            "end_bytes": layer.end,
            "max_error_mm": to_millimeters(layer.max_error),
            "mean_error_mm": to_millimeters(layer.mean_error),
        }
        for layer in layers
    ]


def _truncation_facts(
    motion: _api.Motion, layout: PayloadLayout, layers: Sequence[Layer], is_playable: bool
) -> CutFacts:
    count = sum(layer.end <= motion.sizes["payload"] for layer in layout.layers)
    whole = layers[:count]
    return {
        "is_playable": is_playable,
        "payload_bytes": motion.sizes["payload"],
        "missing_bytes": motion.missing_bytes,
        "whole_layers": len(whole) if layout.layers else None,
        "error_mm": to_millimeters(whole[-1].max_error) if whole else None,
        "mean_error_mm": to_millimeters(whole[-1].mean_error) if whole else None,
    }


def _take_data_facts(motion: _api.Motion) -> dict[str, Any]:
    """Return what a file contains in addition to its poses; every key is present."""
    header = motion.header
    first, last = motion.span
    if header.kind == "vertices":
        return {"start_time": first, "end_time": last, "tracks": []}
    take_data, skeleton = motion.take_data, header.skeleton
    return {
        "start_time": first,
        "end_time": last,
        "even_times": take_data.times is None,
        "loop": header.loop,
        "up": header.up,
        "handedness": header.handedness,
        "interpolated": header.interpolated,
        "roots": len(skeleton.roots),
        "points": skeleton.is_points,
        "rest_rotations": skeleton.has_rest,
        "hinges": list(skeleton.hinges.names) if skeleton.hinges else [],
        "constant_scales": int((skeleton.scales != 1).any(1).sum()),
        "moving_scales": len(header.scaled_joints),
        "gaps": 0 if take_data.valid is None else int((~take_data.valid).sum()),
        "tracks": [_track(head, header.frame_time) for head in motion.track_heads],
    }


def _track(head: TrackHead, frame_time: float) -> TrackFacts:
    rate = None if head.has_times else 1 / (head.frame_time or frame_time)
    return {
        "name": head.name,
        "kind": head.kind,
        "samples": head.count,
        "rate": rate,
        "bound": head.bound,
        "unit": head.unit,
        "bytes": head.bytes,
    }


def _layer_rows(layers: list[LayerFacts]) -> Iterator[tuple[str, str]]:
    """Yield one row for each layer of a file that has several."""
    if len(layers) < 2:
        return
    yield "layers", f"{len(layers)}; a file that is cut plays those that are complete"
    for number, layer in enumerate(layers, 1):
        errors = [
            f"{name} error {format_length(error / 1000)}"
            for name, error in (
                ("maximum", layer["max_error_mm"]),
                ("mean", layer["mean_error_mm"]),
            )
            if error is not None
        ] or ["error not stated"]
        yield f"  layer {number}", ", ".join([f"up to byte {layer['end_bytes']}", *errors])


def _table(facts: dict[str, Any]) -> Table:
    table = make_fact_table(facts["input"])
    seconds = facts["frames"] / facts["frame_rate"]
    table.add_row(
        "motion", f"{facts['frames']} frames at {facts['frame_rate']:.6g} frames/s, {seconds:.2f} s"
    )
    if facts["joints"] is not None:
        what = "points" if facts["points"] else "joints"
        table.add_row("skeleton", f"{facts['joints']} {what}, root {facts['root']!r}")
        table.add_row("unit", format_length(facts["unit"]))
    else:
        table.add_row("mesh", f"{facts['vertices']} vertices")
    for title, text in _take_data_rows(facts):
        table.add_row(title, text)
    for note in describe_assumptions(facts["metadata"]):
        table.add_row("note", note)
    params = ", ".join(f"{k}={v}" for k, v in facts["params"].items() if v is not None)
    table.add_row("codec", f"{facts['codec']} {params}".strip())
    size = facts["bytes"]
    rate = 8 * size["file"] / facts["frames"]
    table.add_row("file", f"{format_size(size['file'])}, {rate:.1f} bits per frame")
    for part in ("payload", "skeleton", "metadata"):
        table.add_row(f"  {part}", f"{size[part]} bytes, {100 * size[part] / size['file']:.1f} %")
    cut = facts["cut"]
    if cut is None or cut["is_playable"]:
        table.add_row("  index", f"{size['index']} bytes of the payload, {facts['groups']} groups")
    for title, text in _layer_rows(facts["layers"]):
        table.add_row(title, text)
    if cut is not None:
        table.add_row("truncated", _describe_cut(cut, len(facts["layers"])))
        table.add_row("errors below", "are those of the complete file")
    for name, title in (
        ("declared", "error bound"),
        ("max", "  maximum error"),
        ("p99", "  99th percentile error"),
        ("rms", "  RMS error"),
        ("mean", "  mean error"),
    ):
        value = facts["error_mm"][name]
        table.add_row(title, "-" if value is None else format_length(value / 1000))
    if facts["angle_deg"]["declared"] is not None:
        declared, largest = (math.radians(facts["angle_deg"][k]) for k in ("declared", "max"))
        table.add_row("angle error bound", format_angle(declared))
        table.add_row("  maximum angle error", format_angle(largest))
    for group in facts["joint_bounds"]:
        text = describe_joint_bounds(group, facts["joints"])
        table.add_row("joint error bound", text)
    return table


def _describe_cut(cut: CutFacts, layer_count: int) -> str:
    words = f"{cut['missing_bytes']} bytes of the payload are missing"
    if not cut["is_playable"]:
        return f"{words}; nothing can be played"
    if cut["whole_layers"] is not None:
        words += f"; {cut['whole_layers']} of {layer_count} layers are complete"
    for name, error in (("maximum", cut["error_mm"]), ("mean", cut["mean_error_mm"])):
        if error is not None:
            words += f", {name} error {format_length(error / 1000)}"
    is_silent = cut["whole_layers"] and cut["error_mm"] is None
    return f"{words}, error not stated" if is_silent else words


def _take_data_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return table rows for the data of a take other than its poses."""
    rows = []
    facts = facts | {"hinge_count": len(facts.get("hinges", []))}
    if facts["start_time"] or not facts.get("even_times", True):
        even = "" if facts["even_times"] else ", not evenly spaced"
        rows.append(("times", f"{facts['start_time']:.6g} s to {facts['end_time']:.6g} s{even}"))
    if facts.get("loop"):
        rows.append(("plays", "in a loop"))
    if facts.get("interpolated"):
        rows.append(("bound", "also holds between frames"))
    if (facts.get("up", "y"), facts.get("handedness", "right")) != ("y", "right"):
        rows.append(("source axes", f"{facts['up']} up, {facts['handedness']}-handed"))
    for key, title, text in (
        ("rest_rotations", "rest pose", "with rotations"),
        ("hinge_count", "hinges", "{} angles"),
        ("constant_scales", "scales", "{} joints, constant"),
        ("moving_scales", "scales", "{} joints, moving"),
        ("gaps", "gaps", "{} missing samples"),
    ):
        if facts.get(key):
            rows.append((title, text.format(facts[key])))
    for track in facts["tracks"]:
        rows.append((f"track {track['name']!r}", _track_text(track)))
    return rows


def _track_text(track: TrackFacts) -> str:
    rate, bound = track["rate"], track["bound"]
    when = "with a time each" if rate is None else f"at {rate:.6g} per second"
    within = f"maximum error {bound:.4g} {track['unit']}".rstrip() if bound else "exact"
    return f"{track['kind']}, {track['samples']} samples {when}, {within}, {track['bytes']} bytes"
