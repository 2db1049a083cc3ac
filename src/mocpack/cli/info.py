"""``mocpack info``: what is in a .mocp file, where its bytes are and how far off it is."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from mocpack import _api
from mocpack.cli import files, options
from mocpack.cli.terminal import print_json
from mocpack.clip import ClipHeader
from mocpack.container import FORMAT_VERSION, TrackHead
from mocpack.errors import FormatError, SceneError
from mocpack.units import format_length, format_size


def run(
    path: Annotated[str, typer.Argument(help=".mocp file; - reads standard input.")],
    clip: options.ClipName = None,
    as_json: options.Json = False,
) -> int:
    """Show skeleton, frames, codec, bytes by part, declared and measured error; a scene's clips."""
    data = files.read_input(path)
    try:
        names = _api.clip_names(data)
        if len(names) > 1 and clip is None:
            scene = {name: _read(data, name)[0] for name in names}
            listed = [{"name": name, **facts} for name, facts in scene.items()]
            shown = {"format_version": FORMAT_VERSION, "clips": listed}
            table = _scene_table(path, scene, len(data))
        else:
            shown, skeleton = _read(data, clip)
            table = _table(path, shown, skeleton)
    except (FormatError, SceneError) as error:
        raise type(error)(f"{path}: {error}") from error
    if as_json:
        print_json(shown)
    else:
        files.stdout().print(table)
    return 0


def _read(data: bytes, clip: str | None) -> tuple[dict[str, Any], Any]:
    """Return the facts of a clip, and its skeleton if it has one."""
    with _api.Motion(data, clip=clip) as motion:
        return _facts(motion), getattr(motion.header, "skeleton", None)


def _scene_table(path: str, scene: dict[str, dict[str, Any]], size: int) -> Table:
    table = Table(
        box=None,
        pad_edge=False,
        title=f"{path}: a scene of {len(scene)} clips, {format_size(size)}",
        title_justify="left",
    )
    for column in ("clip", "from", "to", "frames", "joints", "codec", "file", "largest error"):
        table.add_column(column, justify="left" if column in ("clip", "codec") else "right")
    for name, facts in scene.items():
        largest = facts["error_mm"]["max"]
        table.add_row(
            name,
            f"{facts['start_time']:.3f} s",
            f"{facts['end_time']:.3f} s",
            str(facts["frames"]),
            str(facts["joints"] or facts["vertices"]),
            facts["codec"],
            format_size(facts["bytes"]["file"]),
            "-" if largest is None else format_length(largest / 1000),
        )
    return table


def _facts(motion: _api.Motion) -> dict[str, Any]:
    header, sizes, errors = motion.header, motion.sizes, motion.errors
    layout = motion.layout()
    return {
        "format_version": FORMAT_VERSION,
        "codec": motion.codec.codec_id,
        "bitstream_version": motion.bitstream_version,
        "params": motion.params,
        "frames": header.frame_count,
        "frame_rate": header.frame_rate,
        "joints": len(header.skeleton) if isinstance(header, ClipHeader) else None,
        "vertices": None if isinstance(header, ClipHeader) else header.vertex_count,
        "unit": header.unit if isinstance(header, ClipHeader) else None,
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
        **_besides(motion),
        "error_mm": {
            name: _mm(getattr(errors, name)) for name in ("declared", "max", "mean", "rms", "p99")
        },
        "groups": layout.groups,
        "layers": layout.layers,
        "layer_errors_mm": [1000 * error for error in layout.layer_errors],
        "metadata": dict(header.metadata),
    }


def _besides(motion: _api.Motion) -> dict[str, Any]:
    """Return what a file holds beside its poses; everything is there, empty where it is not."""
    header = motion.header
    if not isinstance(header, ClipHeader):
        last = (header.frame_count - 1) * header.frame_time
        return {"start_time": 0.0, "end_time": last, "tracks": []}
    extras, skeleton = motion.extras, header.skeleton
    seconds = [header.start_time, header.start_time + (header.frame_count - 1) * header.frame_time]
    if extras.times is not None:
        seconds[1] = float(extras.times[-1])
    return {
        "start_time": seconds[0],
        "end_time": seconds[1],
        "even_times": extras.times is None,
        "loop": header.loop,
        "up": header.up,
        "handedness": header.handedness,
        "roots": len(skeleton.roots),
        "points": skeleton.is_points,
        "rest_rotations": skeleton.has_rest,
        "constant_scales": int((skeleton.scales != 1).any(1).sum()),
        "moving_scales": len(header.scaled_joints),
        "gaps": 0 if extras.valid is None else int((~extras.valid).sum()),
        "tracks": [_track(head, header.frame_time) for head in motion.track_heads],
    }


def _track(head: TrackHead, frame_time: float) -> dict[str, Any]:
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


def _mm(metres: float | None) -> float | None:
    return None if metres is None else 1000 * metres


def _table(path: str, facts: dict[str, Any], skeleton: Any) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, title=path, title_justify="left")
    table.add_column(style="bold")
    table.add_column()
    seconds = facts["frames"] / facts["frame_rate"]
    table.add_row(
        "motion", f"{facts['frames']} frames at {facts['frame_rate']:.6g} a second, {seconds:.2f} s"
    )
    if skeleton is not None:
        what = "points" if facts["points"] else "joints"
        table.add_row("skeleton", f"{facts['joints']} {what} from {skeleton.names[0]!r}")
        table.add_row("unit", format_length(facts["unit"]))
    else:
        table.add_row("mesh", f"{facts['vertices']} vertices")
    for title, text in _besides_rows(facts):
        table.add_row(title, text)
    params = ", ".join(f"{k}={v}" for k, v in facts["params"].items())
    table.add_row("codec", f"{facts['codec']} {params}".strip())
    size = facts["bytes"]
    rate = 8 * size["file"] / facts["frames"]
    table.add_row("file", f"{format_size(size['file'])}, {rate:.1f} bits a frame")
    for part in ("payload", "skeleton", "metadata"):
        table.add_row(f"  {part}", f"{size[part]} bytes, {100 * size[part] / size['file']:.1f} %")
    table.add_row("  of it index", f"{size['index']} bytes for {facts['groups']} groups")
    if facts["layers"] > 1:
        errors = ", ".join(format_length(mm / 1000) for mm in facts["layer_errors_mm"])
        table.add_row(
            "layers", f"{facts['layers']}, coarser ones within {errors or 'no stated error'}"
        )
    for name, title in (
        ("declared", "error declared"),
        ("max", "  largest"),
        ("p99", "  99th percentile"),
        ("rms", "  RMS"),
        ("mean", "  mean"),
    ):
        value = facts["error_mm"][name]
        table.add_row(title, "-" if value is None else format_length(value / 1000))
    return table


def _besides_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return lines for what a take holds beside its poses, where it does."""
    rows = []
    if facts["start_time"] or not facts.get("even_times", True):
        even = "" if facts["even_times"] else ", not evenly spaced"
        rows.append(("times", f"{facts['start_time']:.6g} s to {facts['end_time']:.6g} s{even}"))
    if facts.get("loop"):
        rows.append(("plays", "in a loop"))
    if (facts.get("up", "y"), facts.get("handedness", "right")) != ("y", "right"):
        rows.append(("source's space", f"{facts['up']} up, {facts['handedness']}-handed"))
    for key, title, text in (
        ("rest_rotations", "rest", "rotations of its own"),
        ("constant_scales", "scales", "{} joints, constant"),
        ("moving_scales", "scales", "{} joints, moving"),
        ("gaps", "gaps", "{} samples not seen"),
    ):
        if facts.get(key):
            rows.append((title, text.format(facts[key])))
    for track in facts["tracks"]:
        rows.append((f"track {track['name']!r}", _track_text(track)))
    return rows


def _track_text(track: dict[str, Any]) -> str:
    rate, bound = track["rate"], track["bound"]
    when = "at times of its own" if rate is None else f"at {rate:.6g} a second"
    within = f"within {bound:.4g} {track['unit']}".rstrip() if bound else "exact"
    return f"{track['kind']}, {track['samples']} samples {when}, {within}, {track['bytes']} bytes"
