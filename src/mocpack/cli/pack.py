"""``mocpack pack``: folders of motion files into one archive with a catalogue."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Annotated, Any

import typer
from rich.table import Table

from mocpack.cli import files, options
from mocpack.cli.compress import request
from mocpack.cli.pack_inputs import PackInputs, find_inputs
from mocpack.cli.progress import counted
from mocpack.cli.terminal import complain, print_json
from mocpack.corpora import catalogue, finished, parts, storage
from mocpack.corpora.engines import Engine, engine_of
from mocpack.corpora.packing import Packing, Refused, append, pack
from mocpack.corpora.planning import Part
from mocpack.corpora.reading import corpus
from mocpack.corpora.remote import is_url
from mocpack.errors import UsageError
from mocpack.io.atomic import remove_temporaries, write_atomically
from mocpack.registry import AUTO_CODEC
from mocpack.units import format_size, parse_size

HASHES = "hashes.json"  # in the folder of parts


def run(
    inputs: Annotated[
        list[str],
        typer.Argument(help="Motion files, folders, patterns, s3:// addresses; or a plan, .jsonl."),
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="The archive, .mocps; s3:// too.")],
    codec: options.CodecSpec = AUTO_CODEC,
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
    plan: Annotated[
        bool, typer.Option("--plan", help="Write what is to be packed and how, as -o plan.jsonl.")
    ] = False,
    shard: Annotated[
        str | None,
        typer.Option(help="Pack the share of one of many jobs, like 7/100; in the end --join."),
    ] = None,
    join: Annotated[
        bool, typer.Option("--join", help="Make the archive of what --shard has packed.")
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Say how far all jobs have come, and the time left.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Pack in parts, and go on with those of a stopped run.")
    ] = False,
    engine: Annotated[
        str | None,
        typer.Option(help="Pack in parts, on this machine (local) or on a ray cluster (ray)."),
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Of the ray cluster; else RAY_ADDRESS, or a new one here.")
    ] = None,
    report: Annotated[
        str | None, typer.Option(help="File for a list of what was refused, JSON lines.")
    ] = None,
    fps: options.Fps = None,
    body_model: options.BodyModel = None,
    robot: options.RobotFile = None,
    quaternion: options.Quaternion = None,
    allow_pickle: options.AllowPickle = False,
    allow_outside: options.AllowOutside = False,
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
    reading["allow_outside"] = allow_outside or None
    reading = {name: value for name, value in reading.items() if value is not None}
    packing = Packing(spec, target, reading, keys)
    modes = {"--append": add, "--plan": plan, "--shard": shard, "--join": join}
    modes |= {"--status": status, "--resume or --engine": resume or engine}
    given = [name for name, on in modes.items() if on]
    if len(given) > 1:
        raise UsageError(f"give one of {', '.join(given)}")
    if address is not None and engine is None:
        raise UsageError("--address is for --engine ray")
    found = find_inputs(inputs, packing)
    files.check_apart(output, found.files.values())
    if plan:
        return _write_plan(found, output, force=force)
    if status:
        return _tell_status(found, output, as_json=as_json)
    if shard is not None:
        return _pack_shard(found, output, shard, engine_of("local", workers=jobs), force=force)
    table = None if meta is None else catalogue.read_meta(meta)
    size = None if shard_size is None else parse_size(shard_size)
    ending = {"meta": table, "name_pattern": name_pattern, "shard_size": size}
    kept = False
    if given in ([], ["--append"]) and found.planned is None:
        refused = _pack_at_once(found, output, ending, add=add, workers=jobs, force=force)
    else:
        who = None if join else engine_of(engine or "local", workers=jobs, address=address)
        refused, kept = _in_parts(
            found, output, ending, who, force=force, everywhere=engine == "ray"
        )
    if report is not None:
        write_atomically(parts.refused_lines(refused), report)
    _tell(output, refused, len(found.files), as_json, kept=kept)
    return 2 if refused else 0


def _write_plan(found: PackInputs, output: str, *, force: bool) -> int:
    """Write the plan for jobs on any machine to work from."""
    if not output.endswith(".jsonl"):
        raise UsageError(f"a plan's name ends in .jsonl, got {output}")
    _check_free(output, force=force)
    plan, _ = found.plan(everywhere=True)
    storage.write(plan.to_bytes(), output)
    size = format_size(sum(one.size for one in plan.files))
    files.stdout().print(
        f"{output}: {len(plan.files)} files, {size}, {len(plan.parts)} parts", soft_wrap=True
    )
    return 0


def _tell_status(found: PackInputs, output: str, *, as_json: bool) -> int:
    plan, hashes = found.plan(_known_hashes(output))
    those, count = plan.parts, len(plan.files)
    if finished.refused_before(those, output) is None:
        hashes.save(storage.inside(_folder_of(output), HASHES))
        now = parts.status(those, _folder_of(output), time.time())
    else:
        now = parts.Status(len(those), count, 0.0)
    if as_json:
        facts = {"parts": len(those), "parts_done": now.parts, "files": count}
        print_json([facts | {"files_done": now.files, "seconds_left": now.seconds_left}])
        return 0
    left = now.seconds_left
    when = "" if left is None else f", {timedelta(seconds=round(left))} left"
    files.stdout().print(
        f"{now.files} of {count} files are packed, {now.parts} of {len(those)} parts{when}"
    )
    return 0


def _pack_shard(found: PackInputs, output: str, shard: str, engine: Engine, *, force: bool) -> int:
    """Pack the share of one job; the others are for other machines, or for later."""
    number, slash, count = shard.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise UsageError(f"--shard is one of how many, such as 1/100 to 100/100, got {shard}")
    one, of = int(number), int(count)
    folder, may_write = _folder_of(output), _may_write(output, force=force)
    before = None
    if finished.is_recorded(output):
        plan, _ = found.plan(_known_hashes(output))
        before = _refused_before(plan.parts, output, may_write=may_write)
    if before is not None:
        own = {file.path for part in plan.shard(one, of) for file in part.files}
        refused = [file for file in before if file.path in own]
        said = f"{len(own)} files, {output} has them already"
    else:
        share = found.shard(one, of, save_as=storage.inside(folder, f"hashes-{one}-of-{of}.json"))
        new = len(parts.missing(share, folder))
        _pack_parts(share, folder, engine)
        refused = [file for part in share for file in parts.read_part(part, folder).refused]
        total = sum(len(part.files) for part in share)
        said = f"{total} files in {len(share)} parts, {len(share) - new} were there already"
    for file in refused:
        complain(file.why)
    files.stdout().print(f"shard {shard}: {said}", soft_wrap=True)
    return 2 if refused else 0


def _in_parts(
    found: PackInputs,
    output: str,
    ending: dict[str, Any],
    engine: Engine | None,
    *,
    force: bool,
    everywhere: bool,
) -> tuple[list[Refused], bool]:
    """Join the parts of an archive, having packed those that are missing if there is an engine.

    Return what was refused, and whether all was done before.
    """
    folder, may_write = _folder_of(output), _may_write(output, force=force)
    plan, hashes = found.plan(_known_hashes(output), everywhere=everywhere)
    refused = _refused_before(plan.parts, output, ending, may_write=may_write)
    was_done = refused is not None
    if refused is None:
        hashes.save(storage.inside(folder, HASHES))
        if not is_url(output):
            remove_temporaries(output)
        catalogue.parquet()  # complains before the work, not after
        if engine is not None:
            _pack_parts(plan.parts, storage.absolute(folder), engine)
        refused = parts.join(plan.parts, folder, output, **ending)
        finished.remember(plan.parts, output, ending, refused, hashes.rows)
    storage.remove_folder(folder)
    return refused, was_done


def _folder_of(output: str) -> str:
    return f"{output}.parts"


def _known_hashes(output: str) -> list[str]:
    """Return the files of hashes that whoever packs, or has packed, this archive has taken."""
    there = [one.path for one in storage.listing(_folder_of(output))]
    return [finished.record_of(output), *(name for name in there if name.endswith(".json"))]


def _may_write(output: str, *, force: bool) -> bool:
    """Say whether parts may become an archive here, whatever is there: it was said, or is begun.

    Complains at once of what is there and is none of ours.
    """
    if force:
        finished.forget(output)
    begun = any(one.path.endswith(".part") for one in storage.listing(_folder_of(output)))
    _check_free(output, force=force or begun or finished.is_recorded(output))
    return force or begun


def _refused_before(
    those: Sequence[Part],
    output: str,
    ending: dict[str, Any] | None = None,
    *,
    may_write: bool,
) -> list[Refused] | None:
    """Return what was refused when the archive was made of these parts, None if it is to be."""
    before = finished.refused_before(those, output, ending)
    if before is None and not may_write and storage.exists(output):
        raise UsageError(f"{output} exists, of other files or packed otherwise; -f overwrites it")
    return before


def _check_free(output: str, *, force: bool) -> None:
    if not is_url(output):
        files.check_free(output, force=force)
    elif not force and storage.exists(output):
        raise UsageError(f"{output} exists; -f overwrites it")


def _pack_parts(those: Sequence[Part], folder: str, engine: Engine) -> None:
    with counted() as bar:
        task = bar.add_task("packing", total=None)
        parts.pack_parts(
            those,
            folder,
            engine,
            lambda done, count: bar.update(task, completed=done, total=count),
        )


def _pack_at_once(
    found: PackInputs, output: str, ending: dict[str, Any], *, add: bool, workers: int, force: bool
) -> list[Refused]:
    """Pack into a new archive, or to the end of one that is there, in one run."""
    if not add:
        _check_free(output, force=force)
    work: Callable[..., list[Refused]] = append if add else pack
    shares = [0.0] * len(found.files)
    with counted() as bar:
        task = bar.add_task("packing", total=len(shares))

        def told(place: int, share: float) -> None:
            shares[place] = max(share, shares[place])
            bar.update(task, completed=sum(shares))

        return work(found.files, output, found.packing, workers=workers, told=told, **ending)


def _tell(
    output: str, refused: Sequence[Refused], count: int, as_json: bool, *, kept: bool
) -> None:
    for one in refused:
        complain(one.why)
    with corpus(output) as made:
        frames = int(made.index.frame_counts.sum())
        seconds = float((made.index.frame_counts * made.index.frame_times).sum())
        facts: dict[str, Any] = {
            "output": output,
            "kept": kept,
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
    if kept:
        files.stdout().print(f"{output} is there already, of these files", soft_wrap=True)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("archive", f"{output}, {format_size(facts['bytes'])}")
    table.add_row("clips", f"{facts['clips']} of {facts['skeletons']} skeletons")
    table.add_row("motion", f"{frames} frames, {seconds / 60:.1f} minutes")
    table.add_row("as single files", format_size(facts["bytes_single"]))
    if refused:
        table.add_row("refused", f"{len(refused)} of {count} files")
    files.stdout().print(table)
