"""Receiver reports: packet loss and missing frames, sent to the sender as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from mocpack.common.json_object import Json, JsonObject, is_list, is_object, parse_json

MAX_JSON_BYTES = 4096
MAX_MISSING = 63
MAX_REPORTED = 16  # frames that one report lists
REPORT_INTERVAL_S = 0.05
URGENT_REPORT_INTERVAL_S = 0.005  # while a frame is missing
SILENCE_TIMEOUT_S = 5.0  # then a peer counts as gone
MAX_BURST = 60
MAX_NUMBER = 1 << 48  # frame numbers have 47 bits in packets


@dataclass(frozen=True)
class Report:
    """State of a receiver, for its sender.

    Attributes
    ----------
    loss : float
        Share of packets that were lost.
    burst : int
        90th percentile of the number of packets lost in a row.
    missing : tuple of int
        Frames that the receiver waits for.
    lost : bool
        Whether the receiver needs a keyframe to decode again.
    newest : int
        Newest frame known to the receiver; -1 before the first.
    patience : int
        Frames for which the receiver waits for a missing one.
    """

    loss: float = 0.0
    burst: int = 0
    missing: tuple[int, ...] = ()
    lost: bool = False
    newest: int = -1
    patience: int = 0

    def to_json(self, **more: Json) -> bytes:
        """Return the report and `more` fields as a JSON datagram."""
        return json.dumps({**asdict(self), **more}).encode()


def read_report(fields: JsonObject) -> Report | None:
    """Return the report in a JSON object; None if it holds none."""
    listed = fields.get("missing")
    if not is_list(listed):
        return None
    try:
        missing = tuple(_check_int(n) for n in listed[:MAX_MISSING])
        loss = _check_share(fields["loss"])
        newest, patience = _check_int(fields["newest"]), _check_int(fields["patience"])
        burst = min(max(_check_int(fields["burst"]), 0), MAX_BURST)
        return Report(loss, burst, missing, fields["lost"] is True, newest, patience)
    except (ValueError, KeyError):
        return None


def _check_int(value: Json) -> int:
    if type(value) is not int or abs(value) > MAX_NUMBER:
        raise ValueError("expected a whole number within 48 bits")
    return value


def _check_share(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("expected a number in 0..1")
    return float(value)


def read_json(data: bytes | str) -> JsonObject:
    """Return the JSON object of a message; empty if it is none."""
    try:
        fields = parse_json(data) if len(data) <= MAX_JSON_BYTES else None
    except (ValueError, RecursionError):
        return {}
    return fields if is_object(fields) else {}
