"""Endpoint of a relay for clients that use datagrams, over UDP or WebTransport.

docs/live-packets.md describes the protocol. The transport passes each datagram to the endpoint,
together with a function that sends the answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from mocpack.common.json_object import Json, JsonObject
from mocpack.errors import FormatError, UsageError
from mocpack.live.hello import is_hello
from mocpack.live.limits import Budget, Limits
from mocpack.live.relay import (
    NAME_IN_USE,
    RATE_EXCEEDED,
    RELAY_FULL,
    TOO_MANY_CONNECTIONS,
    TOO_MANY_DAMAGED,
    WRONG_ROLE,
    Performer,
    Relay,
)
from mocpack.live.repeats import choose_repeats
from mocpack.live.report import (
    REPORT_INTERVAL_S,
    SILENCE_TIMEOUT_S,
    URGENT_REPORT_INTERVAL_S,
    Report,
    read_json,
    read_report,
)
from mocpack.live.stage import StageAddress, pack_item, ping_value

ITEMS = b"i"  # first byte of datagrams with hellos and packets for an audience
CHECK_INTERVAL_S = 0.25  # for silent clients
ROSTER_INTERVAL_S = 1.0
MIN_REQUEST_BYTES = 64  # of an unverified client: the answer is shorter, so nothing is amplified
CHALLENGE_PERIOD_S = 10.0  # a challenge is valid for one to two periods
SNAPSHOT_INTERVAL_S = 0.2  # minimum, per watcher and performer
MAX_JOIN_ANSWERS_PER_S = 200  # to all clients that have not joined
# of one watcher, who sends reports about every performer
WATCHER_LIMITS = Limits(max_bytes_per_s=1 << 16, max_messages_per_s=400)

SendDatagram = Callable[[bytes], None]


def compute_proof(token: str | None, challenge: str, role: str, path: str) -> str:
    """Return the proof that a client knows its token: an HMAC of challenge, role and path."""
    # JSON can contain half of a surrogate pair, which strict UTF-8 cannot encode
    text = f"{challenge} {role} {path}".encode("utf-8", "surrogatepass")
    key = (token or "").encode("utf-8", "surrogatepass")
    return hmac.new(key, text, hashlib.sha256).hexdigest()


@dataclass(eq=False)
class _Peer:
    address: StageAddress
    role: str
    host: str
    answer: SendDatagram
    budget: Budget
    heard_at: float
    performer: Performer | None = None
    bad: int = 0
    reported: float = 0.0
    subscriptions: dict[int, _Subscription] = field(default_factory=dict)


@dataclass
class _Subscription:
    """State of one performer's stream to one watcher."""

    repeat: tuple[int, ...] = (1, 2)
    has_hello: bool = False  # the watcher has reported, so it has the hello
    snapshot_sent_at: float = 0.0


class DatagramEndpoint:
    """Serves the stages of a relay to clients that use datagrams.

    Parameters
    ----------
    clock : function
        Seconds.
    """

    def __init__(self, relay: Relay, clock: Callable[[], float] = time.monotonic) -> None:
        self.relay, self._clock = relay, clock
        self._peers: dict[Hashable, _Peer] = {}
        self._secret = secrets.token_bytes(32)
        self._join_budget = Budget(
            Limits(max_bytes_per_s=1 << 20, max_messages_per_s=MAX_JOIN_ANSWERS_PER_S), clock
        )
        self._roster_sent_at = 0.0
        self._check_task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._peers)

    def now(self) -> float:
        """Return the time of the endpoint's clock in seconds."""
        return self._clock()

    async def open(self) -> None:
        self._check_task = asyncio.ensure_future(self._check())

    def close(self) -> None:
        if self._check_task is not None:
            self._check_task.cancel()
        for key in [*self._peers]:
            self.drop(key, "the relay stops")

    def receive(
        self,
        key: Hashable,
        host: str,
        data: bytes,
        answer: SendDatagram,
        *,
        is_encrypted: bool = False,
    ) -> None:
        """Handle a datagram of the client `key`.

        On an encrypted connection (`is_encrypted`) the client sends its token. Other clients must
        answer a challenge, which verifies their address, and prove that they know the token.
        """
        peer = self._peers.get(key)
        if peer is None:
            if self._join_budget.spend(len(data)):
                self._admit(key, host, data, answer, is_encrypted)
            return
        peer.heard_at = self._clock()
        if not peer.budget.spend(len(data)):
            self.drop(key, RATE_EXCEEDED)
        elif peer.role == "send":
            self._receive_from_performer(key, peer, data)
        else:
            self._receive_from_watcher(key, peer, data)

    def drop(self, key: Hashable, reason: str = "") -> None:
        """Remove a client; send it the reason, if there is one."""
        peer = self._peers.pop(key, None)
        if peer is None:
            return
        self.relay.discount_connection(peer.host)
        if peer.performer is not None:
            self.relay.remove_performer(peer.performer)
        if reason:
            _send_json(peer.answer, refused=reason)

    # called by the relay

    def on_join(self, performer: Performer) -> None:
        for peer in self._list_watchers(performer.address.stage):
            self._send_performer(peer, performer)

    def on_packet(self, performer: Performer, packet: bytes) -> None:
        number, buffer = performer.id, performer.buffer
        packets: dict[tuple[int, ...], bytes | None] = {}
        for peer in self._list_watchers(performer.address.stage):
            subscription = peer.subscriptions.setdefault(number, _Subscription())
            if subscription.repeat not in packets:
                late = {buffer.newest - n for n in buffer.new_frames if n < buffer.newest}
                packets[subscription.repeat] = buffer.packet(
                    tuple(sorted(late.union(subscription.repeat)))
                )
            peer.answer(ITEMS + pack_item(number, packets[subscription.repeat] or packet))

    def on_leave(self, performer: Performer) -> None:
        for peer in self._list_watchers(performer.address.stage):
            peer.subscriptions.pop(performer.id, None)
            self._send_roster(peer)

    # clients

    def _admit(
        self, key: Hashable, host: str, data: bytes, answer: SendDatagram, is_encrypted: bool
    ) -> None:
        """Handle a join request: send a challenge, accept or refuse the client."""
        request = read_json(data)
        path, role = request.get("join"), request.get("role")
        if not isinstance(path, str) or not isinstance(role, str):
            if data[:1] != b"{" and len(data) >= 16:
                _send_json(answer, join=False)  # a client from before a restart must join again
            return
        if len(data) < MIN_REQUEST_BYTES and not is_encrypted:
            return
        challenge, proof = _get_text(request, "challenge"), _get_text(request, "proof")
        if is_encrypted:
            proof = compute_proof(_get_text(request, "token"), challenge, role, path)
        if not is_encrypted and challenge not in self._make_challenges(key):
            _send_json(answer, challenge=self._make_challenges(key)[0])
            return
        try:
            address = StageAddress.parse(path)
        except UsageError:
            _send_json(answer, refused="the address must be /stage or /stage/performer")
            return
        reason = self._find_refusal(address, role, host, (challenge, proof, path))
        if reason:
            _send_json(answer, refused=reason)
            return
        self.relay.count_connection(host)
        limits = self.relay.limits if role == "send" else WATCHER_LIMITS
        peer = _Peer(address, role, host, answer, Budget(limits, self._clock), self._clock())
        self._peers[key] = peer
        _send_json(answer, welcome=path)
        if role != "send":
            self._send_roster(peer)
            for performer in self.relay.list_performers(address.stage):
                self._send_performer(peer, performer)

    def _find_refusal(
        self, address: StageAddress, role: str, host: str, shown: tuple[str, str, str]
    ) -> str:
        """Return why a client is refused; an empty string if it is accepted."""
        challenge, proof, path = shown
        if role not in (("send",) if address.performer else ("watch", "record")):
            return WRONG_ROLE
        known = self.relay.tokens.for_role(role)
        proofs = [compute_proof(token, challenge, role, path) for token in known]
        shown_proof = proof.encode("utf-8", "surrogatepass")
        matches = [hmac.compare_digest(shown_proof, one.encode()) for one in proofs]
        if self.relay.tokens.by_role and not any(matches):
            return f"the token does not grant the role {role}"
        if not self.relay.has_room(host):
            return TOO_MANY_CONNECTIONS
        if role == "send" and self.relay.is_taken(address):
            return NAME_IN_USE
        return ""

    def _make_challenges(self, key: Hashable) -> list[str]:
        """Return the valid challenges of this address, newest first; none is stored."""
        period = int(self._clock() / CHALLENGE_PERIOD_S)
        text = [f"{key} {when}".encode() for when in (period, period - 1)]
        return [hmac.new(self._secret, one, hashlib.sha256).hexdigest()[:32] for one in text]

    def _receive_from_performer(self, key: Hashable, peer: _Peer, data: bytes) -> None:
        if data[:1] == b"{":
            self._answer_request(key, peer, read_json(data))
            return
        if is_hello(data):
            self._receive_hello(key, peer, data)
            return
        if peer.performer is None:
            return
        peer.bad += not self.relay.relay_packet(peer.performer, data).is_good
        if peer.bad > self.relay.limits.max_bad_packets:
            self.drop(key, TOO_MANY_DAMAGED)
            return
        report = peer.performer.buffer.report()
        wait = URGENT_REPORT_INTERVAL_S if report.missing or report.lost else REPORT_INTERVAL_S
        if self._clock() - peer.reported >= wait:
            peer.reported = self._clock()
            peer.answer(report.to_json())

    def _receive_hello(self, key: Hashable, peer: _Peer, data: bytes) -> None:
        if peer.performer is None and self.relay.is_taken(peer.address):
            self.drop(key, NAME_IN_USE)
            return
        try:
            # the round trip of datagrams is not known
            peer.performer = self.relay.add_performer(
                peer.address, data, peer.performer, lambda: 0.0
            )
        except (FormatError, UsageError) as error:
            self.drop(key, str(error)[:100])
            return
        if peer.performer is None:
            self.drop(key, RELAY_FULL)
        elif peer.performer.buffer.newest < 0:
            peer.answer(Report(patience=1).to_json())  # confirms the hello

    def _receive_from_watcher(self, key: Hashable, peer: _Peer, data: bytes) -> None:
        request = read_json(data)
        report, number = read_report(request), request.get("of")
        subscription = peer.subscriptions.get(number) if isinstance(number, int) else None
        if report is None or subscription is None:
            self._answer_request(key, peer, request)
            return
        subscription.has_hello = True
        stage = self.relay.list_performers(peer.address.stage)
        performer = next((p for p in stage if p.id == number), None)
        if performer is None:
            return
        round_trip = max(0, performer.buffer.newest - report.newest)
        subscription.repeat = choose_repeats(report.loss, report.burst, report.patience, round_trip)
        if report.lost or (report.newest < 0 <= performer.buffer.newest):
            self._send_snapshot(peer, performer, subscription)
        elif report.missing:
            newest = performer.buffer.newest
            offsets = {newest - n for n in report.missing if newest - n > 0}
            again = performer.buffer.packet(tuple(sorted(offsets)))
            if again is not None:
                peer.answer(ITEMS + pack_item(performer.id, again))

    def _answer_request(self, key: Hashable, peer: _Peer, request: JsonObject) -> None:
        if request.get("bye") is True:
            self.drop(key)
        elif isinstance(request.get("join"), str):
            _send_json(peer.answer, welcome=request["join"])  # the first welcome was lost
        elif (ping := ping_value(request)) is not None:
            _send_json(peer.answer, pong=ping, trips=self.relay.round_trips(peer.address.stage))

    def _list_watchers(self, stage: str) -> list[_Peer]:
        return [p for p in self._peers.values() if p.role != "send" and p.address.stage == stage]

    def _send_performer(self, peer: _Peer, performer: Performer) -> None:
        subscription = peer.subscriptions[performer.id] = _Subscription()
        self._send_roster(peer)
        peer.answer(ITEMS + pack_item(performer.id, performer.hello))
        self._send_snapshot(peer, performer, subscription)

    def _send_snapshot(
        self, peer: _Peer, performer: Performer, subscription: _Subscription
    ) -> None:
        snapshot = performer.buffer.snapshot()
        if (
            snapshot is not None
            and self._clock() - subscription.snapshot_sent_at >= SNAPSHOT_INTERVAL_S
        ):
            subscription.snapshot_sent_at = self._clock()
            peer.answer(ITEMS + pack_item(performer.id, snapshot))

    def _send_roster(self, peer: _Peer) -> None:
        stage = self.relay.list_performers(peer.address.stage)
        _send_json(peer.answer, here={str(p.id): p.address.performer for p in stage})

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(CHECK_INTERVAL_S)
            self.check()

    def check(self) -> None:
        """Remove silent clients; resend rosters and hellos that may have been lost."""
        now = self._clock()
        remind = now - self._roster_sent_at >= ROSTER_INTERVAL_S
        self._roster_sent_at = now if remind else self._roster_sent_at
        for key, peer in [*self._peers.items()]:
            if now - peer.heard_at > SILENCE_TIMEOUT_S:
                self.drop(key)
                continue
            if peer.role == "send":
                continue
            if remind:
                self._send_roster(peer)
            for performer in self.relay.list_performers(peer.address.stage):
                if not peer.subscriptions.setdefault(performer.id, _Subscription()).has_hello:
                    peer.answer(ITEMS + pack_item(performer.id, performer.hello))


def _get_text(request: JsonObject, key: str) -> str:
    value = request.get(key)
    return value if isinstance(value, str) else ""


def _send_json(answer: SendDatagram, **fields: Json) -> None:
    answer(json.dumps(fields).encode())
