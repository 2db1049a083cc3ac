"""``mocpack scene``: compress several clips on one clock into one .mocp file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Unpack

import typer

from mocpack import _api, progress, rate
from mocpack.cli import files, options
from mocpack.cli.encoding import Encoding
from mocpack.cli.inputs import MOTION_EXTENSIONS, find_sources
from mocpack.cli.progress import run_with_progress
from mocpack.cli.reading import SourceOptions
from mocpack.cli.tables import scene_table
from mocpack.cli.terminal import print_json
from mocpack.codec import Codec
from mocpack.codecs.registry import AUTO_CODEC
from mocpack.common.units import to_millimeters
from mocpack.container import pack_scene
from mocpack.errors import MocpackError, UsageError
from mocpack.io.motion_file import MotionFile, ReadOptions, is_archive_name, match_versions
from mocpack.model.clip import require_skeleton
from mocpack.model.scene import shift_start


@dataclass(frozen=True)
class Part:
    """One clip of the scene: its name, its path, its file, and the motion in the file."""

    name: str
    path: str
    file: MotionFile
    motion: str | None


def run(
    inputs: Annotated[
        list[str],
        typer.Argument(help="Motion or .mocp files, folders or patterns; NAME=FILE names a clip."),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="Write to this .mocp file; - writes to standard output."
        ),
    ],
    start: Annotated[
        list[str] | None,
        typer.Option(help="Start a clip at this time in seconds, like ben=2.5; repeatable."),
    ] = None,
    *,
    encoding: Encoding,
    fps: options.Fps = None,
    source_options: SourceOptions,
    force: options.Force = False,
    as_json: options.Json = False,
) -> int:
    """Compress several motions on one clock into one .mocp file."""
    encoding_options = encoding.options()
    codecs, target = rate.parse_encoding(**encoding_options)
    must_encode = encoding_options != {"codec": AUTO_CODEC} or fps is not None
    parts = _find_parts(inputs, **source_options.to_arguments(fps=fps))
    files.check_packed_name(output, [part.path for part in parts])
    files.check_output(output, force=force)
    starts = _parse_starts(start or [], [part.name for part in parts])

    def encode() -> dict[str, bytes]:
        progress.expect(len(parts))
        encoded = {}
        for part in parts:
            with progress.stage():
                encoded[part.name] = _encode_part(
                    part, codecs, target, starts.get(part.name), must_encode
                )
        return encoded

    encoded = run_with_progress(f"compressing {output}", encode)
    packed = pack_scene(encoded)
    files.write_output(packed, output, force=force)
    piped = output == files.PIPE
    rows = [_row(part, encoded[part.name], output) for part in parts]
    if as_json:
        print_json(rows, to_stderr=piped)
    else:
        (files.stderr() if piped else files.stdout()).print(scene_table(output, len(packed), rows))
    return 0


def _find_parts(words: list[str], **reading: Unpack[ReadOptions]) -> list[Part]:
    """Return the clips that the arguments name. A file may contain several."""
    named: list[tuple[str, str]] = []
    for word in words:
        name, equals, path = word.partition("=")
        has_name = bool(equals and name and path) and not Path(word).exists()
        sources = find_sources([path if has_name else word], MOTION_EXTENSIONS | {".mocp"})
        named += [(name * has_name, source.path) for source in sources]
    opened = match_versions([files.open_input(path, **reading) for _, path in named])
    found: list[Part] = []
    for (name, path), file in zip(named, opened, strict=True):
        inside = [file.clip] if file.clip else file.clip_names
        if len(inside) > 1:
            prefix = f"{name}-" if name else ""
            found += [Part(prefix + one, path, file, one) for one in inside]
        else:
            clip = reading.get("clip") if is_archive_name(path) else file.clip
            title = name or clip or Path(path).stem
            found.append(Part(title, path, file, inside[0] if inside else None))
    first: dict[str, Part] = {}
    for part in found:
        other = first.setdefault(part.name, part)
        if other is not part:
            raise UsageError(
                f"{other.path} and {part.path} would both become clip {part.name!r}; name one of "
                f"them, like {part.name}-2={part.path}"
            )
    return found


def _parse_starts(words: list[str], names: list[str]) -> dict[str, float]:
    found = {}
    for word in words:
        name, _, seconds = word.rpartition("=")
        if name not in names:
            raise UsageError(f"--start must name one of the clips {', '.join(names)}, got {word!r}")
        try:
            found[name] = float(seconds.removesuffix("s"))
        except ValueError:
            raise UsageError(
                f"--start must be NAME=SECONDS, like {name}=2.5, got {word!r}"
            ) from None
    return found


def _encode_part(
    part: Part,
    codecs: Sequence[Codec],
    target: rate.Target,
    start: float | None,
    must_encode: bool,
) -> bytes:
    """Return the .mocp bytes of one clip. A compressed clip is copied unless `must_encode`."""
    if part.file.is_packed and not must_encode:
        if start is not None:
            raise UsageError(
                f"{part.path} is already compressed, so its start cannot change; add a target like "
                f"--max-error 1mm to re-encode it with start {start:g} s"
            )
        return part.file.extract(part.motion)
    try:
        clip = files.read_motion(part.file, part.motion)
        clip = (
            clip
            if start is None
            else shift_start(require_skeleton(clip, "--start other than 0 s"), start)
        )
        made = rate.encode_clip(clip, codecs, target)
        with files.print_warnings(part.path):
            made.warn_if_lossless()
        return made.data
    except MocpackError as error:
        text = str(error)
        raise type(error)(text if part.path in text else f"{part.path}: {text}") from error


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
            "joints": header.point_count,
            "codec": motion.codec.codec_id,
            "bytes": len(data),
            "max_error_mm": to_millimeters(errors.max),
        }
