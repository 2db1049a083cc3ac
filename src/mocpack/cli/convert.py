"""``mocpack convert``: convert a motion file to another format."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mocpack import _api, progress
from mocpack.cli import files, options
from mocpack.cli.progress import run_with_progress
from mocpack.cli.reading import Reading
from mocpack.cli.terminal import print_note, printable
from mocpack.cli.timing import Timing
from mocpack.common.arguments import is_url
from mocpack.common.units import m
from mocpack.errors import MocpackError, UsageError
from mocpack.io import supports_scenes
from mocpack.io.conversion_report import describe
from mocpack.io.glb import animation_name
from mocpack.io.motion_file import MotionFile, ReadOptions
from mocpack.io.text import make_unique
from mocpack.model.clip import AnyClip

# File names that Windows reserves for devices, with any extension.
DEVICES = {"CON", "PRN", "AUX", "NUL"} | {f"{p}{n}" for p in ("COM", "LPT") for n in range(10)}


def run(
    source: Annotated[str, typer.Argument(help="Motion file to read.")],
    target: Annotated[
        str | None,
        typer.Argument(help="Motion file to write; the extension sets the format. Or a folder."),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Same as the second argument.")
    ] = None,
    *,
    to: options.Format = None,
    dialect: options.Dialect = None,
    reading: Reading,
    each: Annotated[
        bool,
        typer.Option("--each", help="Write every motion of the file to a separate file."),
    ] = False,
    timing: Timing,
    memory_limit: options.MemoryLimit = options.DEFAULT_MEMORY_LIMIT,
    into: Annotated[
        str | None,
        typer.Option("--into", help="Add the motion to a copy of this glTF character."),
    ] = None,
    bake_scales: options.BakeScales = False,
    report: Annotated[
        bool,
        typer.Option("--report", help="Read the output back and print what it does not contain."),
    ] = False,
    force: options.Force = False,
) -> int:
    """Convert a motion file to another format."""
    if report and files.PIPE in (target, output):
        raise UsageError(
            "--report reads the output back, so it needs a file, got - (standard output)"
        )
    if target is not None and output is not None:
        raise UsageError(f"name one output, got {target} and -o {output}")
    if each and reading.clip is not None:
        raise UsageError("--each writes all motions and --clip one; give only one of them")
    if each and files.PIPE in (target, output):
        raise UsageError("--each writes several files, got - (standard output)")
    target = target or output
    in_folder = target is not None and files.names_folder(target)
    if target not in (None, files.PIPE) and not in_folder and to is dialect is None:
        files.check_extension(Path(str(target)).suffix)
    suffix = files.choose_suffix(target, to, dialect, default=".mocp")
    file = files.open_input(source, **reading.to_arguments(memory_limit=memory_limit))
    motions = file.clip_names
    outputs = _output_paths(source, target, motions, reading.clip, suffix, each=each)
    # without a name for the output, only .mocp files are replaced, as by `decompress`
    may_replace = force if target is not None or suffix == ".mocp" else None
    for path in [p for output in outputs.values() for p in files.output_files(output, suffix)]:
        files.check_output(
            path, force=may_replace, in_new_folder=each or in_folder, sources=[source]
        )
    lines: list[str] = []
    ignored = _count_ignored(file, into) if report else {}
    changes = timing.to_arguments() or reading.fps or bake_scales or into
    is_copy = file.is_packed and suffix.lower() == ".mocp" and not changes

    def read(name: str | None) -> AnyClip:
        clip = files.read_motion(file, name)
        clip, notes = timing.apply(clip.bake_scales() if bake_scales else clip)
        for note in notes:
            print_note(f"{source}: {note}")
        return clip

    # Formats that support scenes get all motions in one file.
    scene_path = outputs.get(None) if len(motions) > 1 and not each else None
    scene_path = scene_path if scene_path and supports_scenes(Path(scene_path).suffix) else None

    def convert_scene(path: str) -> None:
        clips = {name: read(name) for name in motions}
        _api.write_scene(clips, path)
        for name, clip in clips.items() if report else ():
            losses = describe(clip, *read_back(clip, path, {"clip": name}), ignored)
            lines.append(f"{Path(source).name} → {Path(path).name}, {name}: {losses}")

    def convert() -> None:
        if scene_path is not None:
            convert_scene(scene_path)
            return
        progress.expect(len(outputs))
        for name, path in outputs.items():
            with progress.stage():
                chosen = None if name == reading.clip else name
                clip = read(chosen)
                if each or in_folder:
                    Path(path).parent.mkdir(parents=True, exist_ok=True)
                if is_copy:  # to encode again would add errors
                    files.write_output(file.extract(chosen), path, force=True)
                else:
                    files.write_clip(
                        clip,
                        path,
                        suffix,
                        source=source,
                        dialect=dialect,
                        into=into,
                        allow_outside=reading.allow_outside,
                    )
                if report:
                    given = (clip, source, path, ignored, into, dialect, reading)
                    lines.append(_describe_loss(*given))

    run_with_progress(f"converting {source}", convert)
    for line in lines:
        files.stdout().print(printable(line), markup=False, highlight=False, soft_wrap=True)
    if reading.clip is None and not each and len(motions) > 1 and scene_path is None:
        files.print_choice(source, motions, "converted", ", or all with --each")
    return 0


def _output_paths(
    source: str,
    target: str | None,
    motions: Sequence[str],
    clip: str | None,
    suffix: str,
    *,
    each: bool,
) -> dict[str | None, str]:
    """Return the output path of each motion by name; the only or first one has the name None."""
    into = target is not None and files.names_folder(target)
    if source == files.PIPE and (target is None or (into and not (each and motions))):
        raise UsageError(files.NAMELESS_INPUT)
    if target is None and is_url(source):
        raise UsageError(f"{source} is a URL; name an output file or folder")
    if not each or not motions:
        stem = Path(source).stem + ("" if clip is None else f"-{_safe_file_name(clip)}")
        if target is None:
            return {clip: str(Path(source).with_name(stem + suffix))}
        return {clip: str(Path(target) / (stem + suffix)) if into else target}
    titles = unique_file_names(motions)
    if into or target is None:
        folder = Path(source).with_suffix("") if target is None else Path(target)
        paths = [str(folder / (title + suffix)) for title in titles]
    else:
        whole = Path(target)
        paths = [str(whole.with_name(f"{whole.stem}-{title}{whole.suffix}")) for title in titles]
    return dict(zip(motions, paths, strict=True))


def unique_file_names(names: Sequence[str]) -> list[str]:
    """Return different file names for these names that are valid on every system.

    >>> unique_file_names(["Walk", "walk", "a/b", "con"])
    ['Walk', 'walk_2', 'a_b', '_con']
    """
    safe = [_safe_file_name(name) for name in names]
    # Ignore case, because Walk and walk are the same file on some systems.
    numbered = make_unique(name.casefold() for name in safe)
    return [a + b[len(a.casefold()) :] for a, b in zip(safe, numbered, strict=True)]


def _safe_file_name(name: str) -> str:
    """Return a file name that is valid on every system and contains no folder."""
    name = re.sub(r"[^\w. -]", "_", name).strip(" .")[:80] or "motion"
    return f"_{name}" if name.partition(".")[0].upper() in DEVICES else name


def _count_ignored(file: MotionFile, into: str | None) -> dict[str, int]:
    """Count the meshes, materials and so on of the source that the output does not contain."""
    if into is not None and file.path is not None and Path(into).samefile(file.path):
        return {}  # the output is a copy of the source
    return file.count_ignored()


def _describe_loss(
    clip: AnyClip,
    source: str,
    target: str,
    ignored: Mapping[str, int],
    into: str | None,
    dialect: str | None,
    options: Reading,
) -> str:
    """Return a line that describes what the written file contains of a clip and what it lost."""
    names = f"{Path(source).name} → {Path(target).name}"
    reading: ReadOptions = {}
    if options.robot is not None and (dialect is not None or Path(target).suffix == ".csv"):
        reading = {"robot": options.robot, "fps": clip.frame_rate, "allow_pickle": True}
        reading["ignore_limits"] = options.ignore_limits
        reading["allow_outside"] = options.allow_outside
    if into is not None:
        reading = {"clip": animation_name(clip)}
    try:
        back, guessed = read_back(clip, target, reading)
    except MocpackError as error:
        return f"{names}: the output cannot be read back, so its losses are unknown ({error})"
    return f"{names}: {describe(clip, back, guessed, ignored)}"


def read_back(clip: AnyClip, target: str, reading: ReadOptions) -> tuple[AnyClip, str | None]:
    """Read a written file; also return the unit that readers guess, if it is wrong."""
    file = MotionFile.open(target, **reading)
    back = file.read()
    guessed = back.metadata.get("unit_guessed")
    unit = clip.header.unit
    if guessed is None or unit in (None, back.header.unit):
        return back, None
    file = replace(file, options={**file.options, "unit": m(unit)})
    return file.read(), str(guessed)
