"""``mocpack scene``: several clips on one clock in one .mocp file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from mocpack import _api, progress
from mocpack.cli import files, options
from mocpack.cli.encoding import Encoding, Target
from mocpack.cli.inputs import MOTIONS, find_sources
from mocpack.cli.progress import watched
from mocpack.cli.terminal import print_json
from mocpack.clip import AnyClip, Clip
from mocpack.container import MAGIC, pack_scene
from mocpack.errors import MocpackError, UsageError
from mocpack.registry import AUTO_CODEC
from mocpack.scene import shift_start
from mocpack.units import format_length, format_size, to_millimeters


@dataclass(frozen=True)
class Part:
    """One clip to be: its name in the scene, its file, which motion of it, and the file's bytes."""

    name: str
    path: str
    motion: str | None
    data: bytes

    @property
    def is_packed(self) -> bool:
        return self.data[:1] == MAGIC[:1]


def run(
    inputs: Annotated[
        list[str],
        typer.Argument(help="Motion files, or NAME=FILE; folders and patterns. Packed ones too."),
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="The .mocp file, or - for a pipe.")],
    start: Annotated[
        list[str] | None,
        typer.Option(help="When a clip begins on the clock, like ben=2.5; repeat it."),
    ] = None,
    *,
    encoding: Encoding,
    fps: options.Fps = None,
    unit: options.Unit = None,
    skeleton: options.SkeletonFile = None,
    allow_outside: options.AllowOutside = False,
    force: options.Force = False,
    as_json: options.Json = False,
) -> int:
    """Pack several motions on one clock into one file: two actors and a prop, a C3D's subjects."""
    spec, target = encoding.parse()
    again = bool(target) or spec != AUTO_CODEC
    parts = _parts(inputs, allow_outside=allow_outside)
    files.check_free(output, force=force, sources=[part.path for part in parts])
    starts = _starts(start or [], [part.name for part in parts])
    reading: dict[str, Any] = {"fps": fps, "unit": unit, "skeleton": skeleton}
    reading["allow_outside"] = allow_outside or None
    given = {name: value for name, value in reading.items() if value is not None}

    def make() -> dict[str, bytes]:
        progress.expect(len(parts))
        made = {}
        for part in parts:
            with progress.stage():
                made[part.name] = _packed(part, spec, target, starts.get(part.name), again, given)
        return made

    made = watched(f"packing {output}", make)
    files.write_output(pack_scene(made), output, force=force)
    piped = output == files.PIPE
    rows = [_row(part, made[part.name], output) for part in parts]
    if as_json:
        print_json(rows, to_stderr=piped)
    else:
        (files.stderr() if piped else files.stdout()).print(_table(rows))
    return 0


def _parts(words: list[str], *, allow_outside: bool) -> list[Part]:
    """Return the clips that the words name, each name once; a file may hold several."""
    found: list[Part] = []
    for word in words:
        name, equals, path = word.partition("=")
        named = bool(equals and name and path) and not Path(word).exists()
        for source in find_sources([path if named else word], MOTIONS | {".mocp"}):
            data = files.read_input(source.path)
            title = name if named else Path(source.path).stem
            inside = files.clips_inside(data, source.path, allow_outside=allow_outside)
            if len(inside) > 1:
                prefix = f"{name}-" if named else ""
                found += [Part(prefix + one, source.path, one, data) for one in inside]
            else:
                found.append(Part(title, source.path, inside[0] if inside else None, data))
    first: dict[str, Part] = {}
    for part in found:
        other = first.setdefault(part.name, part)
        if other is not part:
            raise UsageError(
                f"{other.path} and {part.path} would both be {part.name!r}; name one of them: "
                f"{part.name}-2={part.path}"
            )
    return found


def _starts(words: list[str], names: list[str]) -> dict[str, float]:
    found = {}
    for word in words:
        name, _, seconds = word.rpartition("=")
        if name not in names:
            raise UsageError(f"--start {word!r} names none of the clips: {', '.join(names)}")
        try:
            found[name] = float(seconds.removesuffix("s"))
        except ValueError:
            raise UsageError(f"write --start like {name}=2.5, in seconds, got {word!r}") from None
    return found


def _packed(
    part: Part,
    spec: str,
    target: Target,
    start: float | None,
    again: bool,
    reading: dict[str, Any],
) -> bytes:
    """Return the file of one clip; one that is packed stays as it is, unless it is to be again."""
    if part.is_packed and not again:
        if start is not None:
            raise UsageError(
                f"{part.path} is packed already and begins when it says; name a target, such as "
                f"--max-error 1mm, to pack it again from {start:g} s"
            )
        return _api.extract_clip(part.data, part.motion)
    try:
        clip = files.clip_of(part.data, part.path, clip=part.motion, **reading)
        return _api.encode(clip if start is None else _begun(clip, start), spec, **target)
    except MocpackError as error:
        text = str(error)
        raise type(error)(text if part.path in text else f"{part.path}: {text}") from error


def _begun(clip: AnyClip, start: float) -> Clip:
    if not isinstance(clip, Clip):
        raise UsageError("a vertex animation begins at 0, and has no --start")
    return shift_start(clip, start)


def _row(part: Part, data: bytes, output: str) -> dict[str, Any]:
    with _api.Motion(data) as motion:
        header, errors = motion.header, motion.errors
        first, last = motion.span
        return {
            "input": part.path,
            "output": output,
            "clip": part.name,
            "start_time": first,
            "end_time": last,
            "frames": header.frame_count,
            "codec": motion.codec.codec_id,
            "bytes": len(data),
            "max_error_mm": to_millimeters(errors.max),
        }


def _table(rows: list[dict[str, Any]]) -> Table:
    size = sum(row["bytes"] for row in rows)
    clips = f"{len(rows)} clips" if len(rows) > 1 else "one clip"
    table = Table(
        box=None,
        pad_edge=False,
        title=f"{rows[0]['output']}: a scene of {clips}, {format_size(size)}",
        title_justify="left",
    )
    for column in ("clip", "from", "to", "frames", "codec", "size", "largest"):
        table.add_column(column, justify="left" if column in ("clip", "codec") else "right")
    for row in rows:
        largest = row["max_error_mm"]
        table.add_row(
            row["clip"],
            f"{row['start_time']:.3f} s",
            f"{row['end_time']:.3f} s",
            str(row["frames"]),
            row["codec"],
            format_size(row["bytes"]),
            "-" if largest is None else format_length(largest / 1000),
        )
    return table
