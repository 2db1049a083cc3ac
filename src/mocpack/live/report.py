"""What a receiver tells its sender, also as the JSON of datagrams."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

MAX_JSON_BYTES = 4096  # bytes
MAX_MISSING = 63
MAX_BURST = 60
MAX_NUMBER = 1 << 48  # of a frame, either sign; packets have 47 bits for it


@dataclass(frozen=True)
class Report:
    """What a receiver tells its sender.

    Attributes
    ----------
    loss : float
        Share of packets that did not come.
    burst : int
        How many are lost in a row: nine in ten runs are no longer.
    missing : tuple of int
        Frames that are waited for.
    lost : bool
        Whether it needs a frame that stands by itself.
    newest : int
        The newest frame heard of; -1 before the first.
    patience : int
        For how many frames it waits for one that is missing.
    """

    loss: float = 0.0
    burst: int = 0
    missing: tuple[int, ...] = ()
    lost: bool = False
    newest: int = -1
    patience: int = 0

    def to_json(self, **more: Any) -> bytes:
        """Return a datagram; `more` stands beside the report."""
        return json.dumps({**asdict(self), **more}).encode()


def read_report(told: Any) -> Report | None:
    """Read a report from what JSON says; None if it is none."""
    try:
        missing = tuple(_check_int(n) for n in told["missing"][:MAX_MISSING])
        loss = _check_share(told["loss"])
        newest, patience = _check_int(told["newest"]), _check_int(told["patience"])
        burst = min(max(_check_int(told["burst"]), 0), MAX_BURST)
        return Report(loss, burst, missing, told["lost"] is True, newest, patience)
    except (ValueError, TypeError, KeyError):
        return None


def _check_int(value: Any) -> int:
    if type(value) is not int or abs(value) > MAX_NUMBER:
        raise ValueError("expected a whole number within 48 bits")
    return value


def _check_share(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise ValueError("expected a number in 0..1")
    return float(value)


def read_json(data: bytes | str) -> dict[str, Any]:
    """Return what a message says; what is no JSON object says nothing."""
    try:
        told = json.loads(data) if len(data) <= MAX_JSON_BYTES else None
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
