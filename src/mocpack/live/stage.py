"""Who may do what on a stage, and how messages to its audience are put together.

docs/live.md has the protocol in words.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import math
import re
import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mocpack.errors import CorruptionError, UsageError
from mocpack.live.address import split_address

SUBPROTOCOL = "mocpack.live.2"
ROLES = ("send", "watch", "record")
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
TOKEN = re.compile(r"[A-Za-z0-9_.~-]{16,256}")
HOST = re.compile(r"(\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9_.-]+))(:[0-9]{1,5})?")
MAX_PING_BYTES = 64  # bytes
_ITEM = struct.Struct("<HI")


@dataclass(frozen=True)
class StageAddress:
    """A stage, or a performer's place on one, as its address names it.

    >>> Place.parse("/stage/anna")
    Place(stage='stage', performer='anna')
    """

    stage: str
    performer: str | None = None

    @classmethod
    def parse(cls, path: str) -> StageAddress:
        """Read ``/stage`` or ``/stage/performer``."""
        parts = path.partition("?")[0].strip("/").split("/")
        if len(parts) > 2 or not all(NAME.fullmatch(part) for part in parts):
            raise UsageError(
                f"an address ends in /stage or /stage/performer, of letters, digits, - and _, "
                f"got {path[:80]!r}"
            )
        return cls(*parts)


@dataclass(frozen=True)
class Tokens:
    """Which tokens open which role; none at all opens all, which only the loopback may have."""

    by_role: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | Path) -> Tokens:
        """Read a file of lines such as ``send 7f3a…``; lines that begin with # are left out."""
        found: dict[str, list[str]] = {}
        for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) != 2 or words[0] not in ROLES or not TOKEN.fullmatch(words[1]):
                raise UsageError(
                    f"{path}, line {number}: expected a role ({', '.join(ROLES)}) and a token of "
                    "16 to 256 letters, digits and . _ ~ -"
                )
            found.setdefault(words[0], []).append(words[1])
        if not found:
            raise UsageError(f"{path} holds no token")
        return cls({role: tuple(tokens) for role, tokens in found.items()})

    def for_role(self, role: str) -> list[str]:
        """Return the tokens that open a role; who may record may watch."""
        more = self.by_role.get("record", ()) if role == "watch" else ()
        return [*self.by_role.get(role, ()), *more]

    def allow(self, role: str, token: str) -> bool:
        """Whether a token opens a role."""
        if not self.by_role:
            return True
        known = self.for_role(role)
        given = token.encode("utf-8", "replace")
        matches = [hmac.compare_digest(given, one.encode()) for one in known]  # all, in equal time
        return any(matches)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_served_host(header: str, hosts: Collection[str]) -> bool:
    """Whether a Host header, or an authority, names this machine itself or one of `hosts`.

    A page on any site can give its own name the address 127.0.0.1 (DNS rebinding), so a relay that
    asks for no token must not answer to names that it does not know.

    >>> is_served_host("localhost:8420", ()), is_served_host("[::1]:8420", ())
    (True, True)
    >>> is_served_host("evil.com:8420", ()), is_served_host("evil.com:8420", ("evil.com",))
    (False, True)
    """
    found = HOST.fullmatch(header)
    if found is None:
        return False
    name = (found["address"] or found["name"]).lower()
    return is_loopback(name) or name in hosts


def subprotocols(role: str, token: str | None) -> list[str]:
    """Return what a client offers: browsers can say a role and a token in no other way."""
    return [SUBPROTOCOL, f"role.{role}", *([f"token.{token}"] if token else [])]


def parse_subprotocols(protocols: list[str]) -> tuple[str, str]:
    """Return role and token of what a client offers."""
    role = next((p[5:] for p in protocols if p.startswith("role.")), "")
    token = next((p[6:] for p in protocols if p.startswith("token.")), "")
    return role, token


def check_secure(url: str, token: str | None) -> None:
    """Complain about an address off the loopback without TLS, or without a token."""
    parts = split_address(url)
    if is_loopback(parts.hostname or ""):
        return
    if parts.scheme != "wss":
        raise UsageError(f"off this machine streams go by TLS: write wss://, got {url}")
    if not token:
        raise UsageError(f"{parts.hostname} asks for a token: give --token-file")


def read_ping(message: str | bytes) -> float | None:
    """Return the number that a message asks to have back, such as ``{"ping": 12.5}``.

    >>> read_ping('{"ping": 12.5}'), read_ping("hello"), read_ping('{"ping": "x"}')
    (12.5, None, None)
    """
    if len(message) > MAX_PING_BYTES:
        return None
    try:
        told = json.loads(message)
    except (ValueError, RecursionError):
        return None
    return ping_value(told) if isinstance(told, dict) else None


def ping_value(told: Mapping[str, Any]) -> float | None:
    """Return the finite number that the words of a message ask to have back, if they do."""
    asked = told.get("ping")
    if asked is None or type(asked) not in (int, float):
        return None
    try:
        number = float(asked)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def pack_item(performer: int, data: bytes) -> bytes:
    """Return a hello or packet of a performer, as messages to the audience hold them."""
    return _ITEM.pack(performer, len(data)) + data


def unpack_items(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the hellos and packets of a message to the audience."""
    at = 0
    while at < len(message):
        if len(message) - at < _ITEM.size:
            raise CorruptionError("a message ends within an item")
        performer, size = _ITEM.unpack_from(message, at)
        at += _ITEM.size
        if len(message) - at < size:
            raise CorruptionError(f"a message ends {size - (len(message) - at)} bytes too early")
        yield performer, message[at : at + size]
        at += size
