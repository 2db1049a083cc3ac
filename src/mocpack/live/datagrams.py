"""A relay's door for peers that speak in datagrams: who they are, what they send, what they get.

docs/live.md has the protocol in words. What carries the datagrams (UDP, WebTransport) tells the
door of each that came and gives it a way to answer.
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
from typing import Any

from mocpack.errors import FormatError, UsageError
from mocpack.live.hello import is_hello
from mocpack.live.limits import Budget, Limits
from mocpack.live.relay import Performer, Relay
from mocpack.live.repeats import repeats_for
from mocpack.live.report import Report, read_json, read_report
from mocpack.live.stage import Place, item, ping_of

ITEMS = b"i"  # what datagrams of hellos and packets to an audience begin with
REPORT, QUICK = 0.05, 0.005  # seconds between two reports; where something is missing
CHECK = 0.25  # seconds between two looks for who fell silent
REMIND = 1.0  # seconds between two reminders of who is here
SHORTEST = 64  # bytes of what a stranger must send to be answered: answers are shorter
SILENCE = 5.0  # seconds after which a peer is taken to have left
PERIOD = 10.0  # seconds for which a challenge holds, and as many again
WHOLE = 0.2  # seconds between two whole states for the same watcher
STRANGERS = 200  # answers a second to those who have not joined
AUDIENCE = Limits(rate=1 << 16, messages=400)  # of one watcher, who reports of every performer

Answering = Callable[[bytes], None]


def proof_of(token: str | None, challenge: str, role: str, path: str) -> str:
    """Return what shows that a peer knows its token, without saying it."""
    # JSON can escape half of a surrogate pair, which plain UTF-8 cannot encode
    said = f"{challenge} {role} {path}".encode("utf-8", "surrogatepass")
    key = (token or "").encode("utf-8", "surrogatepass")
    return hmac.new(key, said, hashlib.sha256).hexdigest()


@dataclass(eq=False)
class _Peer:
    place: Place
    role: str
    host: str
    answer: Answering
    budget: Budget
    heard: float
    performer: Performer | None = None
    bad: int = 0
    reported: float = 0.0
    following: dict[int, _Following] = field(default_factory=dict)


@dataclass
class _Following:
    """A performer, as a watcher gets them."""

    repeat: tuple[int, ...] = (1, 2)
    knows: bool = False  # whether the hello has come
    whole: float = 0.0  # when all was sent last


class DatagramDoor:
    """Lets peers onto the stages of a relay that speak in datagrams.

    Parameters
    ----------
    relay : Relay
    clock : function
        Seconds.
    """

    def __init__(self, relay: Relay, clock: Callable[[], float] = time.monotonic) -> None:
        self._relay, self._clock = relay, clock
        self._peers: dict[Hashable, _Peer] = {}
        self._secret = secrets.token_bytes(32)
        self._strangers = Budget(Limits(rate=1 << 20, messages=STRANGERS))
        self._checked = self._reminded = 0.0
        self._checking: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._peers)

    def now(self) -> float:
        """Return the seconds of the door's clock."""
        return self._clock()

    async def open(self) -> None:
        self._checking = asyncio.ensure_future(self._check())

    def close(self) -> None:
        if self._checking is not None:
            self._checking.cancel()
        for key in [*self._peers]:
            self.drop(key, "the relay closes")

    def heard(
        self, key: Hashable, host: str, data: bytes, answer: Answering, *, proven: bool = False
    ) -> None:
        """Take a datagram of the peer `key`.

        `proven`: over an encrypted connection of its own, where it may say its token as it is;
        others show that their address is theirs, and that they know the token.
        """
        peer = self._peers.get(key)
        if peer is None:
            if self._strangers.take(len(data)):
                self._stranger(key, host, data, answer, proven)
            return
        peer.heard = self._clock()
        if not peer.budget.take(len(data)):
            self.drop(key, "more than a peer may send")
        elif peer.role == "send":
            self._performed(key, peer, data)
        else:
            self._reported(key, peer, data)

    def drop(self, key: Hashable, reason: str = "") -> None:
        """Send a peer away, or let it go."""
        peer = self._peers.pop(key, None)
        if peer is None:
            return
        self._relay.gone(peer.host)
        if peer.performer is not None:
            self._relay.leave(peer.performer)
        if reason:
            _say(peer.answer, refused=reason)

    # what the relay tells

    def entered(self, performer: Performer) -> None:
        for peer in self._audience(performer.place.stage):
            self._introduce(peer, performer)

    def passed(self, performer: Performer, packet: bytes) -> None:
        number, store = performer.number, performer.store
        made: dict[tuple[int, ...], bytes | None] = {}
        for peer in self._audience(performer.place.stage):
            following = peer.following.setdefault(number, _Following())
            if following.repeat not in made:
                late = {store.number - n for n in store.news if n < store.number}
                made[following.repeat] = store.packet(tuple(sorted(late.union(following.repeat))))
            peer.answer(ITEMS + item(number, made[following.repeat] or packet))

    def left(self, performer: Performer) -> None:
        for peer in self._audience(performer.place.stage):
            peer.following.pop(performer.number, None)
            self._tell_who_is_here(peer)

    # peers

    def _stranger(
        self, key: Hashable, host: str, data: bytes, answer: Answering, proven: bool
    ) -> None:
        """Let somebody in who shows that they may; answers are shorter than what is asked."""
        told = read_json(data)
        path, role = told.get("join"), told.get("role")
        if not isinstance(path, str) or not isinstance(role, str):
            if data[:1] != b"{" and len(data) >= 16:
                _say(answer, join=False)  # a peer of before: come in again
            return
        if len(data) < SHORTEST and not proven:
            return
        challenge, proof = _text(told, "challenge"), _text(told, "proof")
        if proven:
            proof = proof_of(_text(told, "token"), challenge, role, path)
        if not proven and challenge not in self._challenges(key):
            _say(answer, challenge=self._challenges(key)[0])
            return
        try:
            place = Place.parse(path)
        except UsageError:
            _say(answer, refused="an address ends in /stage or /stage/performer")
            return
        reason = self._refusal(place, role, host, (challenge, proof, path))
        if reason:
            _say(answer, refused=reason)
            return
        self._relay.arrived(host)
        limits = self._relay.limits if role == "send" else AUDIENCE
        peer = _Peer(place, role, host, answer, Budget(limits), self._clock())
        self._peers[key] = peer
        _say(answer, welcome=path)
        if role != "send":
            self._tell_who_is_here(peer)
            for performer in self._relay.on_stage(place.stage):
                self._introduce(peer, performer)

    def _refusal(self, place: Place, role: str, host: str, shown: tuple[str, str, str]) -> str:
        """Return why somebody may not come in, nothing if they may."""
        challenge, proof, path = shown
        if role not in (("send",) if place.performer else ("watch", "record")):
            return "no role of this address"
        known = self._relay.tokens.of(role)
        proofs = [proof_of(token, challenge, role, path) for token in known]
        shown_proof = proof.encode("utf-8", "surrogatepass")
        matches = [hmac.compare_digest(shown_proof, one.encode()) for one in proofs]
        if self._relay.tokens.by_role and not any(matches):
            return f"the token does not open {role}"
        if not self._relay.has_room(host):
            return "too many connections"
        if role == "send" and self._relay.is_taken(place):
            return "somebody performs there"
        return ""

    def _challenges(self, key: Hashable) -> list[str]:
        """Return the words that this address must say back, now and a moment ago; none is kept."""
        period = int(self._clock() / PERIOD)
        said = [f"{key} {when}".encode() for when in (period, period - 1)]
        return [hmac.new(self._secret, one, hashlib.sha256).hexdigest()[:32] for one in said]

    def _performed(self, key: Hashable, peer: _Peer, data: bytes) -> None:
        if data[:1] == b"{":
            self._asked(key, peer, read_json(data))
            return
        if is_hello(data):
            self._began(key, peer, data)
            return
        if peer.performer is None:
            return
        peer.bad += not self._relay.pass_on(peer.performer, data).is_good
        if peer.bad > self._relay.limits.bad:
            self.drop(key, "packets are damaged")
            return
        report = peer.performer.store.report()
        wait = QUICK if report.missing or report.lost else REPORT
        if self._clock() - peer.reported >= wait:
            peer.reported = self._clock()
            peer.answer(report.to_json())

    def _began(self, key: Hashable, peer: _Peer, data: bytes) -> None:
        if peer.performer is None and self._relay.is_taken(peer.place):
            self.drop(key, "somebody performs there")
            return
        try:
            peer.performer = self._relay.enter(peer.place, data, peer.performer, _unknown)
        except (FormatError, UsageError) as error:
            self.drop(key, str(error)[:100])
            return
        if peer.performer is None:
            self.drop(key, "the relay is full")
        elif peer.performer.store.number < 0:
            peer.answer(Report(patience=1).to_json())  # it has come

    def _reported(self, key: Hashable, peer: _Peer, data: bytes) -> None:
        told = read_json(data)
        report, number = read_report(told), told.get("of")
        following = peer.following.get(number) if isinstance(number, int) else None
        if report is None or following is None:
            self._asked(key, peer, told)
            return
        following.knows = True
        stage = self._relay.on_stage(peer.place.stage)
        performer = next((p for p in stage if p.number == number), None)
        if performer is None:
            return
        trip = max(0, performer.store.number - report.newest)
        following.repeat = repeats_for(report.loss, report.burst, report.patience, trip)
        if report.lost or (report.newest < 0 <= performer.store.number):
            self._send_whole(peer, performer, following)
        elif report.missing:
            newest = performer.store.number
            offsets = {newest - n for n in report.missing if newest - n > 0}
            again = performer.store.packet(tuple(sorted(offsets)))
            if again is not None:
                peer.answer(ITEMS + item(performer.number, again))

    def _asked(self, key: Hashable, peer: _Peer, told: dict[str, Any]) -> None:
        if told.get("bye") is True:
            self.drop(key)
        elif isinstance(told.get("join"), str):
            _say(peer.answer, welcome=told["join"])  # the first welcome was lost
        elif (asked := ping_of(told)) is not None:
            _say(peer.answer, pong=asked, trips=self._relay.trips(peer.place.stage))

    def _audience(self, stage: str) -> list[_Peer]:
        return [p for p in self._peers.values() if p.role != "send" and p.place.stage == stage]

    def _introduce(self, peer: _Peer, performer: Performer) -> None:
        following = peer.following[performer.number] = _Following()
        self._tell_who_is_here(peer)
        peer.answer(ITEMS + item(performer.number, performer.hello))
        self._send_whole(peer, performer, following)

    def _send_whole(self, peer: _Peer, performer: Performer, following: _Following) -> None:
        whole = performer.store.whole()
        if whole is not None and self._clock() - following.whole >= WHOLE:
            following.whole = self._clock()
            peer.answer(ITEMS + item(performer.number, whole))

    def _tell_who_is_here(self, peer: _Peer) -> None:
        stage = self._relay.on_stage(peer.place.stage)
        _say(peer.answer, here={p.number: p.place.performer for p in stage})

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(CHECK)
            self.check()

    def check(self) -> None:
        """Let go who fell silent, and remind others of what may have been lost on the way."""
        now = self._clock()
        remind = now - self._reminded >= REMIND
        self._reminded = now if remind else self._reminded
        for key, peer in [*self._peers.items()]:
            if now - peer.heard > SILENCE:
                self.drop(key)
                continue
            if peer.role == "send":
                continue
            if remind:
                self._tell_who_is_here(peer)
            for performer in self._relay.on_stage(peer.place.stage):
                if not peer.following.setdefault(performer.number, _Following()).knows:
                    peer.answer(ITEMS + item(performer.number, performer.hello))


def _unknown() -> float:
    return 0.0


def _text(told: dict[str, Any], key: str) -> str:
    value = told.get(key)
    return value if isinstance(value, str) else ""


def _say(answer: Answering, **words: Any) -> None:
    answer(json.dumps(words).encode())
