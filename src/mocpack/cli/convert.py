"""``mocpack convert``: from one motion format to another."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from mocpack import _api, progress
from mocpack.cli import files, options
from mocpack.cli.progress import watched
from mocpack.cli.reading import Reading
from mocpack.cli.terminal import printable
from mocpack.clip import AnyClip, Clip
from mocpack.errors import MocpackError, UsageError
from mocpack.io import files_to_write, supports_scenes
from mocpack.io.conversion_report import describe
from mocpack.io.text import make_unique
from mocpack.units import m

# what Windows takes for a device, whatever the extension
DEVICES = {
    "CON",
    "PRN",
    "AUX",
    "NUL",
    *(f"{port}{n}" for port in ("COM", "LPT") for n in range(10)),
}


def run(
    source: Annotated[str, typer.Argument(help="Motion file to read.")],
    goal: Annotated[
        str | None,
        typer.Argument(help="Motion file to write; its extension says how. Or a folder."),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="The same as the second argument.")
    ] = None,
    *,
    reading: Reading,
    animation: options.Animation = None,
    each: Annotated[
        bool,
        typer.Option("--each", help="Every animation or subject, each to a file of its name."),
    ] = False,
    frames: options.Frames = None,
    memory_limit: options.MemoryLimit = options.DEFAULT_MEMORY_LIMIT,
    into: Annotated[
        str | None,
        typer.Option(
            "--into", help="A glTF file of a character, to be written with the motion in it."
        ),
    ] = None,
    report: Annotated[
        bool,
        typer.Option("--report", help="Read what was written, and say in a line what is lost."),
    ] = False,
    force: options.Force = False,
) -> int:
    """Read a motion file of one kind and write it as another."""
    if report and files.PIPE in (goal, output):
        raise UsageError("--report reads back what was written: give a file, not a pipe (-)")
    if goal is not None and output is not None:
        raise UsageError(f"give one goal, not {goal} and -o {output}")
    if each and animation is not None:
        raise UsageError("give --each or --animation, not both")
    data = files.read_input(source)
    robot, allow_outside = reading.robot, reading.allow_outside
    inside = files.clips_inside(data, source, allow_outside=allow_outside)
    goals = _goals(source, goal or output, inside, animation, each=each)
    for made in [p for goal in goals.values() for p in files_to_write(goal)]:
        files.check_free(str(made), force=force, in_new_folder=each, sources=[source])
    lines: list[str] = []
    beside = files.describe_ignored(data, source, allow_outside=allow_outside) if report else []
    beside = [", ".join(beside)] if beside else []

    def wanted(name: str | None) -> AnyClip:
        clip = files.clip_of(data, source, clip=name, memory_limit=memory_limit, **reading.given())
        return clip if frames is None else files.cut(clip, frames)

    write = partial(_write, force=force, make_folder=each, into=into, allow_outside=allow_outside)
    # all that is on one clock goes into one file, if that can hold it
    together = goals.get(None) if len(inside) > 1 and not each else None
    together = together if together and supports_scenes(Path(together).suffix) else None

    def convert() -> None:
        if together is not None:
            _api.write_scene({name: wanted(name) for name in inside}, together)
            return
        progress.expect(len(goals))
        for name, path in goals.items():
            with progress.stage():
                clip = wanted(name)
                write(clip, path)
                if report:
                    line = _report(
                        clip, source, path, robot=robot, into=into, allow_outside=allow_outside
                    )
                    lines.append("; left in the source: ".join([line, *beside]))

    watched(f"converting {source}", convert)
    if report and together is not None:
        for name in inside:
            back, guessed = read_back(wanted(name), together, {"clip": name})
            told = describe(wanted(name), back, guessed)
            lines.append(f"{Path(source).name} → {Path(together).name}, {name}: {told}")
    for line in lines:
        files.stdout().print(printable(line), markup=False, highlight=False, soft_wrap=True)
    if animation is None and not each and len(inside) > 1 and together is None:
        files.stderr().print(
            f"{source} has {len(inside)} motions: {', '.join(inside)}; took {inside[0]} "
            "(--animation NAME takes another, --each all)",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    return 0


def _goals(
    source: str, goal: str | None, inside: list[str], animation: str | None, *, each: bool
) -> dict[str | None, str]:
    """Return where each motion goes, by its name; the only or first one has none."""
    if goal is None and source == files.PIPE:
        raise UsageError("say where to: what comes from a pipe has no name")
    into = goal is not None and (Path(goal).is_dir() or goal.endswith(("/", os.sep)))
    if not each or not inside:
        stem = Path(source).stem if animation is None else f"{Path(source).stem}-{_safe(animation)}"
        if goal is None:
            return {animation: str(Path(source).with_name(f"{stem}.mocp"))}
        return {animation: str(Path(goal) / f"{stem}.mocp") if into else goal}
    titles = file_titles(inside)
    if into or goal is None:
        folder = Path(source).with_suffix("") if goal is None else Path(goal)
        paths = [str(folder / f"{title}.mocp") for title in titles]
    else:
        whole = Path(goal)
        paths = [str(whole.with_name(f"{whole.stem}-{title}{whole.suffix}")) for title in titles]
    return dict(zip(inside, paths, strict=True))


def file_titles(names: Sequence[str]) -> list[str]:
    """Return names that files can have beside each other on any system.

    >>> file_titles(["Walk", "walk", "a/b", "con"])
    ['Walk', 'walk_2', 'a_b', '_con']
    """
    safe = [_safe(name) for name in names]
    # where Walk and walk are the same file, one would be lost
    numbered = make_unique(name.casefold() for name in safe)
    return [a + b[len(a.casefold()) :] for a, b in zip(safe, numbered, strict=True)]


def _safe(name: str) -> str:
    """Return a name that a file can have on any system, and that leads to no other folder."""
    name = re.sub(r"[^\w. -]", "_", name).strip(" .")[:80] or "motion"
    return f"_{name}" if name.partition(".")[0].upper() in DEVICES else name


def _report(
    clip: AnyClip,
    source: str,
    goal: str,
    *,
    robot: str | None,
    into: str | None,
    allow_outside: bool,
) -> str:
    """Return a line on what of a clip is in the file that was written, and what not."""
    names = f"{Path(source).name} → {Path(goal).name}"
    reading: dict[str, Any] = {}
    if robot is not None and Path(goal).suffix == ".csv":
        reading = {"robot": robot, "fps": clip.frame_rate, "allow_outside": allow_outside}
    if into is not None:
        reading = {"clip": str(clip.metadata.get("animation") or "motion")}
    try:
        back, guessed = read_back(clip, goal, reading)
    except MocpackError as error:
        return f"{names}: cannot be read back, so nothing is known of what is lost ({error})"
    return f"{names}: {describe(clip, back, guessed)}"


def read_back(clip: AnyClip, goal: str, reading: dict[str, Any]) -> tuple[AnyClip, str | None]:
    """Return what was written, and the unit that readers take for its own, where that is wrong."""
    back: AnyClip = _api.read(goal, **reading)
    guessed = back.metadata.get("unit_guessed")
    if not isinstance(clip, Clip) or not isinstance(back, Clip) or back.unit == clip.unit:
        return back, None
    if guessed is None:
        return back, None
    return _api.read(goal, unit=m(clip.unit), **reading), str(guessed)


def _write(
    clip: Any,
    goal: str,
    *,
    force: bool,
    make_folder: bool,
    into: str | None,
    allow_outside: bool,
) -> None:
    if make_folder:
        Path(goal).parent.mkdir(parents=True, exist_ok=True)
    if Path(goal).suffix == ".mocp" and into is None:
        files.write_output(_api.encode(clip), goal, force=force)
    else:
        _api.write(clip, goal, into=into, allow_outside=allow_outside)
