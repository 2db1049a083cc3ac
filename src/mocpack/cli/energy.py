"""``mocpack energy``: what receiving and decoding a file costs a mobile client."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Any, NamedTuple

import typer
from rich.table import Table

from mocpack import _api
from mocpack.cli import files, options
from mocpack.cli.batch import ask_each
from mocpack.cli.inputs import PACKED, find_sources
from mocpack.cli.terminal import print_json
from mocpack.errors import FormatError, UsageError
from mocpack.papers.chattopadhyay import energy
from mocpack.units import format_size, parse_bandwidth


def run(
    paths: Annotated[
        list[str], typer.Argument(help=".mocp files of any codec, folders, patterns.")
    ],
    bandwidth: Annotated[
        str, typer.Option(help="Bandwidths to compare, separated by commas.")
    ] = "128kbps,1Mbps,4Mbps",
    paper_units: Annotated[
        bool,
        typer.Option(
            "--paper-units",
            help="As Chattopadhyay et al. count: 1 Kb = 1024 bits, motions played at 33 frames/s.",
        ),
    ] = False,
    receiving: Annotated[
        float, typer.Option(help="Power of the network card while it receives, mW.")
    ] = 1000 * energy.RECEIVING,
    sleeping: Annotated[
        float, typer.Option(help="Power of the network card while it sleeps, mW.")
    ] = 1000 * energy.SLEEPING,
    decoding: Annotated[
        float, typer.Option(help="Power of a processor's core while it decodes, mW.")
    ] = 1000 * energy.DECODING,
    as_json: options.Json = False,
) -> int:
    """Show the energy of receiving and decoding a file."""
    for name, power in (("receiving", receiving), ("sleeping", sleeping), ("decoding", decoding)):
        if not 0 <= power < math.inf:
            raise UsageError(f"--{name} must be a power of 0 mW or more, got {power:g}")
    kilo = energy.PAPER_KILO if paper_units else 1000
    rates = {text.strip(): parse_bandwidth(text, kilo=kilo) for text in bandwidth.split(",")}
    powers = Powers(receiving / 1000, sleeping / 1000, decoding / 1000)
    ask = partial(_facts, rates=rates, powers=powers, paper_units=paper_units)
    rows, code = ask_each(ask, [source.path for source in find_sources(paths, PACKED)])
    if as_json:
        print_json(rows)
        return code
    for row in rows:
        if row["ok"]:
            files.stdout().print(_table(row))
    return code


class Powers(NamedTuple):
    """Watts of the network card, and of a core that decodes."""

    receiving: float
    sleeping: float
    decoding: float


def _facts(
    path: str, *, rates: dict[str, float], powers: Powers, paper_units: bool
) -> dict[str, Any]:
    data = files.read_input(path)
    try:
        with _api.Motion(data) as motion:
            header, codec = motion.header, motion.codec.codec_id
        seconds = energy.decode_seconds(data)
    except FormatError as error:
        raise type(error)(f"{path}: {error}") from error
    frame_rate = energy.PAPER_FRAME_RATE if paper_units else header.frame_rate
    duration = header.frame_count / frame_rate
    return {
        "codec": codec,
        "bytes": len(data),
        "frames": header.frame_count,
        "seconds": duration,
        "decode_ms": 1000 * seconds,
        "decode_ns_per_frame": 1e9 * seconds / header.frame_count,
        "decode_mj": 1000 * powers.decoding * seconds,
        "reception": [_reception(len(data), duration, r, b, powers) for r, b in rates.items()],
    }


def _reception(
    size: int, duration: float, name: str, bandwidth: float, powers: Powers
) -> dict[str, Any]:
    found = energy.reception(
        size, duration, bandwidth, receiving=powers.receiving, sleeping=powers.sleeping
    )
    return {
        "bandwidth": name,
        "bits_per_second": bandwidth,
        "receiving_s": found.seconds,
        "energy_mj": 1000 * found.joules,
        "in_time": found.in_time,
    }


def _table(fact: dict[str, Any]) -> Table:
    title = (
        f"{fact['input']}: {fact['codec']}, {format_size(fact['bytes'])}, {fact['seconds']:.1f} s; "
        f"decodes in {fact['decode_ms']:.2f} ms, {fact['decode_ns_per_frame']:.0f} ns a frame, "
        f"{fact['decode_mj']:.3g} mJ"
    )
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for heading in ("bandwidth", "receiving", "network card", "with decoding", ""):
        table.add_column(heading, justify="right")
    for row in fact["reception"]:
        table.add_row(
            row["bandwidth"],
            f"{row['receiving_s']:.3f} s",
            f"{row['energy_mj']:.0f} mJ",
            f"{row['energy_mj'] + fact['decode_mj']:.0f} mJ",
            "" if row["in_time"] else "slower than the motion",
        )
    return table
