"""VMC, the protocol of virtual performers: bones over OSC and UDP.

Its space is Unity's, left-handed: x is mirrored. Its bones are named as Unity names them, and turn
from a pose in which all rotations are the identity; whatever rig stands behind a stream is sent as
it is, since retargeting is no business of a bridge.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import numpy as np

from mocpack import rotations
from mocpack.arrays import F64
from mocpack.clip import ClipHeader
from mocpack.errors import UsageError
from mocpack.live.address import split_address
from mocpack.live.client import Frame
from mocpack.optional_packages import require
from mocpack.skeleton import Skeleton

BONE, ROOT, TIME, OK = (f"/VMC/Ext/{n}" for n in ("Bone/Pos", "Root/Pos", "T", "OK"))
DEFAULT_PORT = 39539
MAX_BUNDLE_BYTES = 1200  # bytes, so that a datagram is not cut in two on its way
MIRROR = np.array([-1.0, 1.0, 1.0])
MIRROR_ROTATION = np.array([1.0, -1.0, -1.0, 1.0])
SKELETON_FRAMES = 30  # frames in which bones may still turn up
MAX_BONES = 256

# Unity's bones, each with the one above it
PARENTS = {
    "Hips": "", "Spine": "Hips", "Chest": "Spine", "UpperChest": "Chest", "Neck": "UpperChest",
    "Head": "Neck", "LeftEye": "Head", "RightEye": "Head", "Jaw": "Head",
    **{
        side + bone: (side if own else "") + above
        for side in ("Left", "Right")
        for bone, above, own in (
            ("UpperLeg", "Hips", 0), ("LowerLeg", "UpperLeg", 1), ("Foot", "LowerLeg", 1),
            ("Toes", "Foot", 1), ("Shoulder", "UpperChest", 0), ("UpperArm", "Shoulder", 1),
            ("LowerArm", "UpperArm", 1), ("Hand", "LowerArm", 1),
            *(
                (finger + part, "Hand" if above is None else finger + above, 1)
                for finger in ("Thumb", "Index", "Middle", "Ring", "Little")
                for part, above in (
                    ("Proximal", None), ("Intermediate", "Proximal"), ("Distal", "Intermediate"),
                )
            ),
        )
    },
}  # fmt: skip
# names of joints that other skeletons have for them
UNITY_NAMES = {
    "hips": "Hips", "root": "Hips", "lowerback": "Spine", "spine": "Spine", "spine1": "Chest",
    "spine2": "UpperChest", "neck": "Neck", "head": "Head",
    **{
        own + theirs: side + bone
        for own, side in (("left", "Left"), ("right", "Right"))
        for theirs, bone in (
            ("upleg", "UpperLeg"), ("leg", "LowerLeg"), ("foot", "Foot"), ("toebase", "Toes"),
            ("shoulder", "Shoulder"), ("arm", "UpperArm"), ("forearm", "LowerArm"),
            ("hand", "Hand"),
        )
    },
}  # fmt: skip


def vmc_bone_names(skeleton: Skeleton) -> list[str]:
    """Return what each joint is called in VMC: Unity's name where it is known, else its own."""
    taken: set[str] = set()
    found = []
    for own in skeleton.unique_names:
        name = UNITY_NAMES.get(own.rpartition(":")[2].lower(), own)
        found.append(name if name not in taken else own)
        taken.add(found[-1])
    return found


def pack_bundles(
    skeleton: Skeleton, names: list[str], header: ClipHeader, frame: Frame
) -> list[bytes]:
    """Return the datagrams of a frame: the root, all bones, then that they are all."""
    builder = require("pythonosc.osc_message_builder", extra="live", purpose="VMC")
    bundler = require("pythonosc.osc_bundle_builder", extra="live", purpose="VMC")
    time, turns, places = frame
    local = skeleton.offsets.copy()
    local[list(header.translated_joints)] = places
    rows: list[tuple[str, list[Any]]] = [(TIME, [float(time)])]
    still = (np.zeros(3), rotations.IDENTITY)
    rows.append((ROOT, ["root", *_mirror(*still)]))
    for j, name in enumerate(names):
        rows.append((BONE, [name, *_mirror(local[j], turns[j])]))
    rows.append((OK, [1]))
    made = [bundler.OscBundleBuilder(bundler.IMMEDIATELY)]
    size = 16
    for address, arguments in rows:
        message = builder.OscMessageBuilder(address=address)
        for argument in arguments:
            message.add_arg(argument)
        built = message.build()
        if size + built.size + 4 > MAX_BUNDLE_BYTES:
            made.append(bundler.OscBundleBuilder(bundler.IMMEDIATELY))
            size = 16
        size += built.size + 4
        made[-1].add_content(built)
    return [bundle.build().dgram for bundle in made]


class VmcSink:
    """Sends poses to ``vmc://host:port``."""

    def __init__(self, address: str) -> None:
        client = require("pythonosc.udp_client", extra="live", purpose="VMC")
        host, port = _address(address)
        self._client = client.UDPClient(host, port)
        self._names: dict[int, list[str]] = {}

    def show(self, header: ClipHeader, frame: Frame) -> None:
        names = self._names.setdefault(id(header), vmc_bone_names(header.skeleton))
        for datagram in pack_bundles(header.skeleton, names, header, frame):
            self._client._sock.sendto(datagram, (self._client._address, self._client._port))

    def close(self) -> None:
        self._client._sock.close()


class VmcSource(asyncio.DatagramProtocol):
    """Listens to VMC at ``vmc://host:port``; without a host, to this machine alone.

    The skeleton is made of the bones that turn up: Unity's tree, offsets as first sent.
    """

    def __init__(self, address: str, frame_time: float = 1 / 60) -> None:
        self._address = _address(address)
        self._frame_time = frame_time
        self._bones: dict[str, tuple[F64, F64]] = {}
        self._frames: asyncio.Queue[dict[str, tuple[F64, F64]]] = asyncio.Queue(8)
        self._order: list[str] = []
        self._clock = -1.0
        self._transport: asyncio.DatagramTransport | None = None

    async def header(self) -> ClipHeader:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(
            lambda: self, local_addr=self._address
        )
        bones: dict[str, tuple[F64, F64]] = {}
        for _ in range(SKELETON_FRAMES):
            bones |= await self._frames.get()
        self._order = [name for name in PARENTS if name in bones]
        if not self._order or self._order[0] != "Hips":
            raise UsageError("the VMC stream has no Hips, on which everything hangs")
        offsets = np.array([bones[name][0] for name in self._order])
        parents = [self._parent_index(name) for name in self._order]
        skeleton = Skeleton(tuple(self._order), tuple(parents), offsets)
        return ClipHeader(skeleton, 1, self._frame_time, (0,))

    async def frames(self, header: ClipHeader) -> AsyncIterator[Frame]:
        clock = asyncio.get_running_loop().time
        start = clock()
        while True:
            bones = await self._frames.get()
            turns = np.array([bones[name][1] for name in self._order])
            yield clock() - start, turns, bones["Hips"][0][np.newaxis]

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Take a datagram; what is no OSC is left aside."""
        osc = require("pythonosc.osc_packet", extra="live", purpose="VMC")
        try:
            messages = [timed.message for timed in osc.OscPacket(data).messages]
        except osc.ParseError:
            return
        for message in messages:
            if message.address == BONE:
                self._add_bone(list(message.params))
            elif message.address == OK and self._bones:
                self._finish_frame()

    def _add_bone(self, words: list[Any]) -> None:
        numbers = words[1:8]
        if len(numbers) != 7 or not all(isinstance(n, float) for n in numbers):
            return
        place, turn = np.array(numbers[:3]), np.array(numbers[3:])
        length = float(np.linalg.norm(turn))
        usable = np.isfinite(place).all() and 0.5 < length < 2 and len(self._bones) < MAX_BONES
        if usable:
            self._bones[str(words[0])] = (place * MIRROR, turn / length * MIRROR_ROTATION)

    def _finish_frame(self) -> None:
        # bones may come in several datagrams, or only those that changed: what was known stays
        if self._frames.full():
            self._frames.get_nowait()
        self._frames.put_nowait(dict(self._bones))

    def _parent_index(self, name: str) -> int:
        above = PARENTS[name]
        while above and above not in self._order:
            above = PARENTS[above]
        return self._order.index(above) if above else -1


def _mirror(place: F64, turn: F64) -> list[float]:
    return [*map(float, place * MIRROR), *map(float, turn * MIRROR_ROTATION)]


def _address(address: str) -> tuple[str, int]:
    parts = split_address(address)
    return parts.hostname or "127.0.0.1", parts.port or DEFAULT_PORT
