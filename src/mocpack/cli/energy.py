"""The energy that a mobile client needs to receive and decode a file: ``info --energy``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Protocol, TypedDict

import typer
from rich.table import Table
from typer.models import OptionInfo

from mocpack.cli.tables import make_table
from mocpack.common.optional_packages import load_part
from mocpack.common.units import parse_bandwidth
from mocpack.errors import UsageError

PANEL = "Energy"


class Reception(Protocol):
    """What it costs to receive a file: the class of the same name of the model."""

    seconds: float
    joules: float
    in_time: bool


class EnergyModel(Protocol):
    """What commands use of the energy model."""

    PAPER_KILO: int
    PAPER_FRAME_RATE: float
    reception: Callable[..., Reception]
    largest_size: Callable[[float, float, float], int]
    decode_seconds: Callable[[bytes], float]


class ReceptionFacts(TypedDict):
    """The cost of a file at one bandwidth, as in ``--json``."""

    bandwidth: str
    bits_per_second: float
    receiving_s: float
    energy_mj: float
    in_time: bool


class EnergyFacts(TypedDict):
    """The cost of a file, as in ``--json``."""

    seconds: float
    decode_ms: float
    decode_ns_per_frame: float
    decode_mj: float
    reception: list[ReceptionFacts]


def energy_model() -> EnergyModel:
    """Return the energy model of Chattopadhyay et al., which an installation may lack."""
    model: EnergyModel = load_part("mocpack.papers.chattopadhyay.energy", purpose="--energy")
    return model


def _option(help: str, *names: str) -> OptionInfo:
    option: OptionInfo = typer.Option(*names, help=help, rich_help_panel=PANEL)
    return option


@dataclass(frozen=True)
class EnergyOptions:
    """The energy options of ``mocpack info``. Powers are in milliwatts."""

    energy: Annotated[
        bool, _option("Also estimate the energy to receive and decode a .mocp file.", "--energy")
    ] = False
    bandwidth: Annotated[str, _option("Compare these bandwidths, separated by commas.")] = (
        "128kbps,1Mbps,4Mbps"
    )
    paper_units: Annotated[
        bool,
        _option(
            "Use the units of Chattopadhyay et al.: 1 kb = 1024 bits, 33 frames/s.", "--paper-units"
        ),
    ] = False
    receive_power: Annotated[
        float, _option("Set the power of the network card while it receives, in mW.")
    ] = 1425.0
    sleep_power: Annotated[
        float, _option("Set the power of the network card while it sleeps, in mW.")
    ] = 177.0
    decode_power: Annotated[
        float, _option("Set the power of a CPU core while it decodes, in mW.")
    ] = 2000.0

    def check(self) -> None:
        """Raise `UsageError` for a bad value, or for an option that has no effect."""
        default = EnergyOptions()
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            option = f"--{name.replace('_', '-')}"
            if not self.energy and value != getattr(default, name):
                raise UsageError(f"{option} needs --energy")
            if name.endswith("_power") and not 0 <= value < math.inf:
                raise UsageError(f"{option} must be at least 0 mW, got {value:g}")
        self.bits_per_second()

    def bits_per_second(self) -> dict[str, float]:
        """Return the bandwidths by their names."""
        kilo = energy_model().PAPER_KILO if self.paper_units else 1000
        names = [text.strip() for text in self.bandwidth.split(",")]
        return {name: parse_bandwidth(name, kilo=kilo) for name in names}


def measure_energy(
    data: bytes, frame_count: int, frame_rate: float, options: EnergyOptions
) -> EnergyFacts:
    """Decode a .mocp file of one clip and return the energy for it, in millijoules."""
    model = energy_model()
    seconds = model.decode_seconds(data)
    duration = frame_count / (model.PAPER_FRAME_RATE if options.paper_units else frame_rate)
    receiving, sleeping = options.receive_power / 1000, options.sleep_power / 1000
    reception: list[ReceptionFacts] = []
    for name, bandwidth in options.bits_per_second().items():
        cost = model.reception(
            len(data), duration, bandwidth, receiving=receiving, sleeping=sleeping
        )
        reception.append(
            {
                "bandwidth": name,
                "bits_per_second": bandwidth,
                "receiving_s": cost.seconds,
                "energy_mj": 1000 * cost.joules,
                "in_time": cost.in_time,
            }
        )
    return {
        "seconds": duration,
        "decode_ms": 1000 * seconds,
        "decode_ns_per_frame": 1e9 * seconds / frame_count,
        "decode_mj": options.decode_power * seconds,
        "reception": reception,
    }


def energy_table(facts: EnergyFacts) -> Table:
    """Return a table of the result of `measure_energy`, one row per bandwidth."""
    title = (
        f"energy: decodes in {facts['decode_ms']:.2f} ms, "
        f"{facts['decode_ns_per_frame']:.0f} ns per frame, {facts['decode_mj']:.3g} mJ"
    )
    headings = ("bandwidth", "receiving", "network card", "with decoding", "")
    table = make_table(*headings, title=title)
    for row in facts["reception"]:
        table.add_row(
            row["bandwidth"],
            f"{row['receiving_s']:.3f} s",
            f"{row['energy_mj']:.0f} mJ",
            f"{row['energy_mj'] + facts['decode_mj']:.0f} mJ",
            "" if row["in_time"] else "too slow for real time",
        )
    return table
