"""``mocpack pack``: folders of motion files into one archive with a catalogue."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from os import cpu_count
from pathlib import Path, PurePath
from shutil import rmtree
from typing import Annotated, Any

import typer
from rich.table import Table

from mocpack.cli import files, options
from mocpack.cli.compress import request
from mocpack.cli.inputs import Source, find_sources, motion_files
from mocpack.cli.progress import counted
from mocpack.cli.terminal import complain, print_json
from mocpack.corpora import catalogue, planning
from mocpack.corpora.packing import Packing, Refused, append, pack
from mocpack.corpora.reading import corpus
from mocpack.errors import UsageError
from mocpack.io.atomic import write_atomically
from mocpack.registry import DEFAULT_CODEC
from mocpack.units import format_size, parse_size


def run(
    inputs: Annotated[list[str], typer.Argument(help="Motion files, folders of them, patterns.")],
    output: Annotated[str, typer.Option("--output", "-o", help="The archive, .mocps.")],
    codec: options.CodecSpec = DEFAULT_CODEC,
    preset: options.Preset = None,
    max_error: options.MaxError = None,
    mean_error: options.MeanError = None,
    lossless: options.Lossless = False,
    effort: options.OwnEffort = None,
    meta: Annotated[
        str | None,
        typer.Option(help="Table of labels, .parquet, .csv or .jsonl, with a column named clip."),
    ] = None,
    name_pattern: Annotated[
        str | None,
        typer.Option(help="Regular expression whose named groups in clips' names become columns."),
    ] = None,
    shard_size: Annotated[
        str | None, typer.Option(help="Size from which the next file is begun, like 256MB.")
    ] = None,
    keys: Annotated[
        bool,
        typer.Option(
            "--keys",
            help="Repeat key poses in the trailer: some 5 % larger, and a remote window is one "
            "request of nothing but its own bytes.",
        ),
    ] = False,
    add: Annotated[
        bool, typer.Option("--append", help="Add to an archive that is there; its clips stay.")
    ] = False,
    shard: Annotated[
        str | None,
        typer.Option(help="Pack one part of many alone, like 7/100, on any machine; then --join."),
    ] = None,
    join: Annotated[
        bool, typer.Option("--join", help="Make the archive of the parts that --shard has packed.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Pack in parts, and go on with those of a stopped run.")
    ] = False,
    report: Annotated[
        str | None, typer.Option(help="File for a list of what was refused, JSON lines.")
    ] = None,
    fps: options.Fps = None,
    body_model: options.BodyModel = None,
    robot: options.RobotFile = None,
    quaternion: options.Quaternion = None,
    allow_pickle: options.AllowPickle = False,
    unit: options.Unit = None,
    skeleton: options.SkeletonFile = None,
    jobs: options.Workers = 1,
    force: options.Force = False,
    as_json: options.Json = False,
) -> int:
    """Pack motion files into one archive with a catalogue of its clips."""
    spec, target = request(codec, preset, max_error, mean_error, lossless=lossless)
    if effort is not None:
        target["effort"] = effort
    reading = {"fps": fps, "body_model": body_model, "robot": robot, "quaternion": quaternion}
    reading |= {"unit": unit, "skeleton": skeleton, "allow_pickle": allow_pickle or None}
    reading = {name: value for name, value in reading.items() if value is not None}
    sources = find_sources(inputs, motion_files(of_robot=robot is not None) | {".mocp"})
    if not add:
        files.check_free(output, force=force)
    if sum([add, shard is not None, join, resume]) > 1:
        raise UsageError("give one of --append, --shard, --join and --resume")
    packing = Packing(spec, target, reading, keys)
    if shard is not None:
        return _pack_shard(_named(sources), output, packing, shard, jobs)
    table = None if meta is None else catalogue.read_meta(meta)
    ending = {"meta": table, "name_pattern": name_pattern, "shard_size": shard_size}
    if join or resume:
        refused = _in_parts(_named(sources), output, packing, jobs, ending, pack_them=resume)
    else:
        refused = _packed(add, _named(sources), output, packing, workers=jobs, **ending)
    if report is not None:
        write_atomically(planning.refused_lines(refused), report)
    _tell(output, refused, len(sources), as_json)
    return 2 if refused else 0


def _pack_shard(named: dict[str, str], output: str, packing: Packing, shard: str, jobs: int) -> int:
    """Pack one part; the others are for other machines, or for later."""
    part, slash, parts = shard.partition("/")
    if not (slash and part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise UsageError(f"--shard is one of how many, such as 1/100 to 100/100, got {shard}")
    plan = planning.Plan.make(named, packing, known=_parts(output) / f"hashes-{part}.json")
    done = planning.pack_part(plan, int(part), int(parts), _parts(output), workers=jobs)
    path = plan.part_path(int(part), int(parts), _parts(output))
    bad = planning.bad_path(path).read_text(encoding="utf-8").splitlines()
    for line in bad:
        complain(json.loads(line)["error"])
    files.stdout().print(f"{path}: {'packed' if done else 'was there already'}")
    return 2 if bad else 0


def _in_parts(
    named: dict[str, str],
    output: str,
    packing: Packing,
    jobs: int,
    ending: dict[str, Any],
    *,
    pack_them: bool,
) -> list[Refused]:
    """Join the parts of an archive, having packed those that are missing if asked."""
    folder = _parts(output)
    plan = planning.Plan.make(named, packing, known=folder / "hashes.json")
    if pack_them:
        parts = planning.shares(len(named), jobs or cpu_count() or 1)
        with counted() as bar:
            task = bar.add_task("packing", total=parts)
            for part in range(1, parts + 1):
                planning.pack_part(plan, part, parts, folder, workers=jobs)
                bar.advance(task)
    else:
        parts = planning.parts_found(plan, folder)
    size = ending.pop("shard_size")
    limit = None if size is None else parse_size(size)
    refused = planning.join(plan, parts, folder, output, shard_size=limit, **ending)
    rmtree(folder)
    return refused


def _parts(output: str) -> Path:
    """Return the folder of an archive's parts, beside it."""
    return Path(f"{output}.parts")


def _packed(add: bool, named: dict[str, str], *words: Any, **options: Any) -> list[Refused]:
    work: Callable[..., list[Refused]] = append if add else pack
    shares = [0.0] * len(named)
    with counted() as bar:
        task = bar.add_task("packing", total=len(named))

        def told(place: int, share: float) -> None:
            shares[place] = max(share, shares[place])
            bar.update(task, completed=sum(shares))

        return work(named, *words, told=told, **options)


def _named(sources: Sequence[Source]) -> dict[str, str]:
    """Return the files by the names of their clips: their paths in the source without suffix."""
    found: dict[str, str] = {}
    for source in sources:
        name = PurePath(source.below).with_suffix("").as_posix()
        if name in found:
            raise UsageError(f"{found[name]} and {source.path} would both be clip {name!r}")
        found[name] = source.path
    return found


def _tell(output: str, refused: Sequence[Refused], count: int, as_json: bool) -> None:
    for one in refused:
        complain(one.why)
    with corpus(output) as made:
        frames = int(made.index.frame_counts.sum())
        seconds = float((made.index.frame_counts * made.index.frame_times).sum())
        facts: dict[str, Any] = {
            "output": output,
            "clips": len(made),
            "shards": len(made.index.files),
            "frames": frames,
            "seconds": seconds,
            "skeletons": len(made.index.bases),
            "bytes": made.file_size,
            "bytes_single": sum(place.file_size for _, place in made.index.places()),
        }
    if as_json:
        lost = [{"ok": False, "error": one.why, "input": one.path} for one in refused]
        print_json([facts, *lost])
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("archive", f"{output}, {format_size(facts['bytes'])}")
    table.add_row("clips", f"{facts['clips']} of {facts['skeletons']} skeletons")
    table.add_row("motion", f"{frames} frames, {seconds / 60:.1f} minutes")
    table.add_row("as single files", format_size(facts["bytes_single"]))
    if refused:
        table.add_row("refused", f"{len(refused)} of {count} files")
    files.stdout().print(table)
