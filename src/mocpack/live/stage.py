"""Stage addresses, roles, tokens, and the format of messages (docs/live-packets.md)."""

from __future__ import annotations

import hmac
import ipaddress
import re
import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from mocpack.common.arguments import is_finite
from mocpack.common.json_object import Json
from mocpack.errors import CorruptionError, UsageError, convert_errors
from mocpack.live.report import read_json

SUBPROTOCOL = "mocpack.live.2"
ROLES = ("send", "watch", "record")
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
TOKEN = re.compile(r"[A-Za-z0-9_.~-]{16,256}")
HOST = re.compile(r"(\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9_.-]+))(:[0-9]{1,5})?")
MAX_PING_BYTES = 64  # bytes
_ITEM = struct.Struct("<HI")


@dataclass(frozen=True)
class StageAddress:
    """Address of a stage, or of a performer on a stage.

    >>> StageAddress.parse("/stage/anna")
    StageAddress(stage='stage', performer='anna')
    """

    stage: str
    performer: str | None = None

    @classmethod
    def parse(cls, path: str) -> StageAddress:
        """Parse ``/stage`` or ``/stage/performer``."""
        parts = path.partition("?")[0].strip("/").split("/")
        if len(parts) > 2 or not all(NAME.fullmatch(part) for part in parts):
            raise UsageError(
                "a stage address must be /stage or /stage/performer, with letters, digits, - and "
                f"_, got {path[:80]!r}"
            )
        return cls(*parts)


@dataclass(frozen=True)
class Tokens:
    """Tokens by role. Without any token every role is allowed; only a loopback relay permits it."""

    by_role: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | Path) -> Tokens:
        """Read a file with lines like ``send 7f3a…``; lines that start with # are comments."""
        tokens: dict[str, list[str]] = {}
        for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) != 2 or words[0] not in ROLES or not TOKEN.fullmatch(words[1]):
                raise UsageError(
                    f"{path}, line {number}: expected a role ({', '.join(ROLES)}) and a token of "
                    "16 to 256 letters, digits and . _ ~ -"
                )
            tokens.setdefault(words[0], []).append(words[1])
        if not tokens:
            raise UsageError(f"{path} contains no token: expected lines like 'send 7f3a…'")
        return cls({role: tuple(granting) for role, granting in tokens.items()})

    def for_role(self, role: str) -> list[str]:
        """Return the tokens that grant a role; a token to record also grants watching."""
        more = self.by_role.get("record", ()) if role == "watch" else ()
        return [*self.by_role.get(role, ()), *more]

    def allow(self, role: str, token: str) -> bool:
        """Whether a token grants a role."""
        if not self.by_role:
            return True
        known = self.for_role(role)
        given = token.encode("utf-8", "replace")
        # compare with all tokens, so that the time does not reveal which one matched
        matches = [hmac.compare_digest(given, one.encode()) for one in known]
        return any(matches)


def split_address(url: str) -> SplitResult:
    """Return the parts of an address; raise `UsageError` if it or its port is invalid.

    >>> split_address("udp://127.0.0.1:9000").port
    9000
    """
    with convert_errors(ValueError, f"{url} is not a valid address", to=UsageError):
        parts = urlsplit(url)
        _ = parts.port  # urlsplit checks the port only when it is read
    return parts


def is_loopback(host: str) -> bool:
    """Whether an address is reachable only from this machine.

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
    """Whether a Host header, or an authority, names the loopback or one of `hosts`.

    Any website can resolve its own name to 127.0.0.1 (DNS rebinding). A relay without tokens must
    therefore reject unknown host names.

    >>> is_served_host("localhost:8420", ()), is_served_host("[::1]:8420", ())
    (True, True)
    >>> is_served_host("evil.com:8420", ()), is_served_host("evil.com:8420", ("evil.com",))
    (False, True)
    """
    match = HOST.fullmatch(header)
    if match is None:
        return False
    name = (match["address"] or match["name"]).lower()
    return is_loopback(name) or name in hosts


def subprotocols(role: str, token: str | None) -> list[str]:
    """Return the WebSocket subprotocols of a client; browsers can pass role and token only here."""
    return [SUBPROTOCOL, f"role.{role}", *([f"token.{token}"] if token else [])]


def parse_subprotocols(protocols: list[str]) -> tuple[str, str]:
    """Return the role and token in a client's subprotocols."""
    role = next((p[5:] for p in protocols if p.startswith("role.")), "")
    token = next((p[6:] for p in protocols if p.startswith("token.")), "")
    return role, token


def check_secure(url: str, token: str | None) -> None:
    """Raise `UsageError` for a remote address without TLS or without a token."""
    parts = split_address(url)
    if is_loopback(parts.hostname or ""):
        return
    if parts.scheme != "wss":
        raise UsageError(f"a remote relay requires TLS: use wss://, got {url}")
    if not token:
        raise UsageError(f"{parts.hostname} requires a token: use --token-file")


def read_ping(message: str | bytes) -> float | None:
    """Return the number of a ping message such as ``{"ping": 12.5}``; None for other messages.

    >>> read_ping('{"ping": 12.5}'), read_ping("hello"), read_ping('{"ping": "x"}')
    (12.5, None, None)
    """
    return ping_value(read_json(message)) if len(message) <= MAX_PING_BYTES else None


def ping_value(fields: Mapping[str, Json]) -> float | None:
    """Return the finite number of the field "ping"; None if there is none."""
    value = fields.get("ping")
    if isinstance(value, bool) or not isinstance(value, int | float) or not is_finite(value):
        return None
    return float(value)


def pack_item(performer: int, data: bytes) -> bytes:
    """Return a performer's hello or packet as an item of a message to the audience."""
    return _ITEM.pack(performer, len(data)) + data


def unpack_items(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield performer id and data of the items of a message to the audience."""
    at = 0
    while at < len(message):
        if len(message) - at < _ITEM.size:
            raise CorruptionError("message to the audience: it ends within an item header")
        performer, size = _ITEM.unpack_from(message, at)
        at += _ITEM.size
        if len(message) - at < size:
            raise CorruptionError(
                f"message to the audience: it ends {size - (len(message) - at)} bytes too early"
            )
        yield performer, message[at : at + size]
        at += size
