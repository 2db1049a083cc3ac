"""``mocpack pack``: folders of motion files into one archive with a catalogue."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path, PurePath
from typing import Annotated, Any

import typer
from rich.table import Table

from mocpack.cli import files, options
from mocpack.cli.compress import request
from mocpack.cli.inputs import Source, find_sources, motion_files
from mocpack.cli.progress import counted
from mocpack.cli.terminal import complain, print_json
from mocpack.corpora import catalogue, parts, storage
from mocpack.corpora.engines import Engine, engine_of
from mocpack.corpora.packing import Packing, Refused, append, pack
from mocpack.corpora.planning import Hashes, Part, Plan, Planned
from mocpack.corpora.reading import corpus
from mocpack.corpora.remote import is_url
from mocpack.corpora.storage import Entry
from mocpack.errors import UsageError
from mocpack.io.atomic import remove_temporaries, write_atomically
from mocpack.registry import DEFAULT_CODEC
from mocpack.units import format_size, parse_size


def run(
    inputs: Annotated[
        list[str],
        typer.Argument(help="Motion files, folders, patterns, s3:// addresses; or a plan, .jsonl."),
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="The archive, .mocps; s3:// too.")],
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
    packing = Packing(spec, target, reading, keys)
    modes = {"--append": add, "--plan": plan, "--shard": shard, "--join": join}
    modes |= {"--status": status, "--resume or --engine": resume or engine}
    given = [name for name, on in modes.items() if on]
    if len(given) > 1:
        raise UsageError(f"give one of {', '.join(given)}")
    if address is not None and engine is None:
        raise UsageError("--address is for --engine ray")
    found = _found(inputs, packing, of_robot=robot is not None)
    folder = f"{output}.parts"
    if plan:
        return _write_plan(found, output, force=force)
    if status:
        return _tell_status(found.plan(folder).parts, folder, as_json=as_json)
    in_parts = bool(shard or join or resume or engine) or found.planned is not None
    if not add:
        # over an archive of which parts are there, whoever began has been allowed to write
        _check_free(output, force=force or (in_parts and _begun(folder)))
    if shard is not None:
        return _pack_shard(found, folder, shard, engine_of("local", workers=jobs))
    table = None if meta is None else catalogue.read_meta(meta)
    size = None if shard_size is None else parse_size(shard_size)
    ending = {"meta": table, "name_pattern": name_pattern, "shard_size": size}
    if in_parts and not add:
        who = None if join else engine_of(engine or "local", workers=jobs, address=address)
        refused = _in_parts(found, output, folder, who, ending, everywhere=engine == "ray")
    else:
        refused = _packed(add, found.files, output, found.packing, workers=jobs, **ending)
    if report is not None:
        write_atomically(parts.refused_lines(refused), report)
    _tell(output, refused, found.count, as_json)
    return 2 if refused else 0


@dataclass(frozen=True)
class _Found:
    """What the words of the command line name: files by their clips' names, or a plan of them."""

    files: Mapping[str, str]
    packing: Packing
    entries: Mapping[str, Entry]
    planned: Plan | None = None

    @property
    def count(self) -> int:
        return len(self.files) if self.planned is None else len(self.planned.files)

    def plan(self, folder: str | None, *, everywhere: bool = False) -> Plan:
        """Return the plan, with the hashes that whoever works in this folder has taken."""
        if self.planned is not None:
            return self.planned
        named = {
            name: storage.absolute(path) if everywhere else path
            for name, path in self.files.items()
        }
        listed = Plan.listed(named, self.packing, entries=self.entries).files
        if folder is None:
            return Plan(Hashes(self.packing, (), self.entries).marked(listed), self.packing)
        kept = [one.path for one in storage.listing(folder) if one.path.endswith(".json")]
        return Plan(self.marked(listed, storage.inside(folder, "hashes.json"), kept), self.packing)

    def marked(
        self, listed: Sequence[Planned], known: str, others: Sequence[str] = ()
    ) -> tuple[Planned, ...]:
        """Return files with their marks, which the file `known` keeps and others may have."""
        hashes = Hashes(self.packing, [known, *others], self.entries)
        marked = hashes.marked(listed)
        hashes.save(known)
        return marked


def _found(inputs: Sequence[str], packing: Packing, *, of_robot: bool) -> _Found:
    if len(inputs) == 1 and inputs[0].endswith(".jsonl"):
        if packing != Packing():
            raise UsageError(f"{inputs[0]} says how its files are packed: leave those options out")
        planned = Plan.from_bytes(storage.read(inputs[0]), name=inputs[0])
        names = {one.name: one.path for one in planned.files}
        return _Found(names, planned.packing, {}, planned)
    suffixes = motion_files(of_robot=of_robot) | {".mocp"}
    entries: dict[str, Entry] = {}
    sources = find_sources([word for word in inputs if not is_url(word)], suffixes)
    for url in filter(is_url, inputs):
        listed = storage.listing(url)
        entries |= {one.path: one for one in listed}
        sources += _sources_at(url, listed, suffixes)
    there = [source for source in sources if source.path == "-" or Path(source.path).exists()]
    if not entries and not there:
        # an archive of no clip would stand in the way of the next try
        raise UsageError(f"{', '.join(inputs)[:200]}: there is no such file or folder")
    return _Found(_named(sources), packing, entries)


def _sources_at(url: str, listed: Sequence[Entry], suffixes: set[str]) -> list[Source]:
    """Return the motion files of a URL: of a folder, of a pattern, or itself."""
    folder = url.rstrip("/")
    found = []
    for one in listed:
        name = storage.last_name(one.path)
        if one.path == folder or not one.path.startswith(f"{folder}/"):
            found.append(Source(one.path, str(name)))
        elif name.suffix.lower() in suffixes and not name.name.startswith("."):
            found.append(Source(one.path, one.path[len(folder) + 1 :], in_folder=True))
    if not found:
        raise UsageError(f"{url}: no motion file is there")
    return found


def _begun(folder: str) -> bool:
    """Say whether anybody has packed parts of an archive."""
    return any(one.path.endswith(".part") for one in storage.listing(folder))


def _check_free(output: str, *, force: bool) -> None:
    if not is_url(output):
        files.check_free(output, force=force)
    elif not force and storage.exists(output):
        raise UsageError(f"{output} exists; -f overwrites it")


def _write_plan(found: _Found, output: str, *, force: bool) -> int:
    """Write the plan for jobs on any machine to work from."""
    if not output.endswith(".jsonl"):
        raise UsageError(f"a plan's name ends in .jsonl, got {output}")
    _check_free(output, force=force)
    plan = found.plan(None, everywhere=True)
    storage.write(plan.to_bytes(), output)
    size = format_size(sum(one.size for one in plan.files))
    files.stdout().print(
        f"{output}: {len(plan.files)} files, {size}, {len(plan.parts)} parts", soft_wrap=True
    )
    return 0


def _pack_shard(found: _Found, folder: str, shard: str, engine: Engine) -> int:
    """Pack the share of one job; the others are for other machines, or for later."""
    number, slash, count = shard.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise UsageError(f"--shard is one of how many, such as 1/100 to 100/100, got {shard}")
    if found.planned is None:
        listed = Plan.listed(found.files, found.packing, entries=found.entries)
        share = listed.shard(int(number), int(count))
        flat = [one for part in share for one in part.files]
        # what others pack is for them to read
        known = storage.inside(folder, f"hashes-{number}-of-{count}.json")
        marked = iter(found.marked(flat, known))
        share = [replace(part, files=tuple(next(marked) for _ in part.files)) for part in share]
    else:
        share = found.planned.shard(int(number), int(count))
    new = len(parts.missing(share, folder))
    _pack_parts(share, folder, engine)
    refused = [one for part in share for one in parts.read_part(part, folder).refused]
    for one in refused:
        complain(one.why)
    total = sum(len(part.files) for part in share)
    files.stdout().print(
        f"shard {shard}: {total} files in {len(share)} parts, {len(share) - new} were there already"
    )
    return 2 if refused else 0


def _in_parts(
    found: _Found,
    output: str,
    folder: str,
    engine: Engine | None,
    ending: dict[str, Any],
    *,
    everywhere: bool,
) -> list[Refused]:
    """Join the parts of an archive, having packed those that are missing if there is an engine."""
    plan = found.plan(folder, everywhere=everywhere)
    if not is_url(output):
        remove_temporaries(output)
    if engine is not None:
        _pack_parts(plan.parts, storage.absolute(folder), engine)
    refused = parts.join(plan.parts, folder, output, **ending)
    storage.remove_folder(folder)
    return refused


def _pack_parts(those: Sequence[Part], folder: str, engine: Engine) -> None:
    with counted() as bar:
        task = bar.add_task("packing", total=None)
        parts.pack_parts(
            those,
            folder,
            engine,
            lambda done, count: bar.update(task, completed=done, total=count),
        )


def _tell_status(those: Sequence[Part], folder: str, *, as_json: bool) -> int:
    found = parts.status(those, folder, time.time())
    count = sum(len(part.files) for part in those)
    if as_json:
        facts = {"parts": len(those), "parts_done": found.parts, "files": count}
        print_json([facts | {"files_done": found.files, "seconds_left": found.seconds_left}])
        return 0
    left = found.seconds_left
    when = "" if left is None else f", {timedelta(seconds=round(left))} left"
    files.stdout().print(
        f"{found.files} of {count} files are packed, {found.parts} of {len(those)} parts{when}"
    )
    return 0


def _packed(add: bool, named: Mapping[str, str], *words: Any, **options: Any) -> list[Refused]:
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
