"""VMC bridge: the Virtual Motion Capture protocol, bones over OSC and UDP.

VMC uses Unity's left-handed space, so x is mirrored, and Unity's bone names. In its rest pose all
rotations are the identity. The bridge does not retarget: it passes the rig on as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.optional_packages import require
from mocpack.errors import UsageError
from mocpack.live.client import Frame
from mocpack.live.stage import split_address
from mocpack.model import rotations
from mocpack.model.clip import ClipHeader
from mocpack.model.skeleton import Skeleton

BONE, ROOT, TIME, OK = (f"/VMC/Ext/{n}" for n in ("Bone/Pos", "Root/Pos", "T", "OK"))
DEFAULT_PORT = 39539
MAX_BUNDLE_BYTES = 1200  # larger datagrams can be fragmented
MIRROR = np.array([-1.0, 1.0, 1.0])
MIRROR_ROTATION = np.array([1.0, -1.0, -1.0, 1.0])
SKELETON_FRAMES = 30  # the skeleton has all bones of the first frames
MAX_BONES = 256

# Unity's bones, each with its parent
PARENTS = {
    "Hips": "", "Spine": "Hips", "Chest": "Spine", "UpperChest": "Chest", "Neck": "UpperChest",
    "Head": "Neck", "LeftEye": "Head", "RightEye": "Head", "Jaw": "Head",
    **{
        side + bone: (side if own else "") + parent
        for side in ("Left", "Right")
        for bone, parent, own in (
            ("UpperLeg", "Hips", 0), ("LowerLeg", "UpperLeg", 1), ("Foot", "LowerLeg", 1),
            ("Toes", "Foot", 1), ("Shoulder", "UpperChest", 0), ("UpperArm", "Shoulder", 1),
            ("LowerArm", "UpperArm", 1), ("Hand", "LowerArm", 1),
            *(
                (finger + part, "Hand" if parent is None else finger + parent, 1)
                for finger in ("Thumb", "Index", "Middle", "Ring", "Little")
                for part, parent in (
                    ("Proximal", None), ("Intermediate", "Proximal"), ("Distal", "Intermediate"),
                )
            ),
        )
    },
}  # fmt: skip
# Unity's names of common joint names
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
    """Return the VMC name of each joint: Unity's name if it is known, else its own."""
    taken: set[str] = set()
    names = []
    for own in skeleton.unique_names:
        name = UNITY_NAMES.get(own.rpartition(":")[2].lower(), own)
        names.append(name if name not in taken else own)
        taken.add(names[-1])
    return names


def pack_bundles(
    skeleton: Skeleton, names: list[str], header: ClipHeader, frame: Frame
) -> list[bytes]:
    """Return the datagrams of a frame: time, root, all bones, and the end mark OK."""
    builder = require("pythonosc.osc_message_builder", extra="live", purpose="VMC")
    bundler = require("pythonosc.osc_bundle_builder", extra="live", purpose="VMC")
    time, bone_rotations, translations = frame
    local = skeleton.offsets.copy()
    local[list(header.translated_joints)] = translations
    rows: list[tuple[str, list[str | float]]] = [
        (TIME, [float(time)]),
        (ROOT, ["root", *_mirror(np.zeros(3), rotations.IDENTITY)]),
    ]
    for j, name in enumerate(names):
        rows.append((BONE, [name, *_mirror(local[j], bone_rotations[j])]))
    rows.append((OK, [1]))
    built_bundles = [bundler.OscBundleBuilder(bundler.IMMEDIATELY)]
    size = 16
    for address, arguments in rows:
        message = builder.OscMessageBuilder(address=address)
        for argument in arguments:
            message.add_arg(argument)
        built = message.build()
        if size + built.size + 4 > MAX_BUNDLE_BYTES:
            built_bundles.append(bundler.OscBundleBuilder(bundler.IMMEDIATELY))
            size = 16
        size += built.size + 4
        built_bundles[-1].add_content(built)
    return [bundle.build().dgram for bundle in built_bundles]


class VmcSink:
    """Sends poses to ``vmc://host:port``."""

    def __init__(self, address: str) -> None:
        client = require("pythonosc.udp_client", extra="live", purpose="VMC")
        host, port = _parse_address(address)
        self._client = client.UDPClient(host, port)
        self._names: dict[int, list[str]] = {}

    def show(self, header: ClipHeader, frame: Frame) -> None:
        names = self._names.setdefault(id(header), vmc_bone_names(header.skeleton))
        for datagram in pack_bundles(header.skeleton, names, header, frame):
            self._client._sock.sendto(datagram, (self._client._address, self._client._port))

    def close(self) -> None:
        self._client._sock.close()


class VmcSource(asyncio.DatagramProtocol):
    """Receives VMC at ``vmc://host:port``; without a host, from this machine only.

    The skeleton has the bones of the first frames, with Unity's hierarchy and the first offsets.
    """

    def __init__(self, address: str, frame_time: float = 1 / 60) -> None:
        self._address = _parse_address(address)
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
            raise UsageError("the VMC stream has no bone 'Hips', which must be the root")
        offsets = np.array([bones[name][0] for name in self._order])
        parents = [self._parent_index(name) for name in self._order]
        skeleton = Skeleton(tuple(self._order), tuple(parents), offsets)
        return ClipHeader(skeleton, 1, self._frame_time, (0,))

    async def frames(self, header: ClipHeader) -> AsyncIterator[Frame]:
        clock = asyncio.get_running_loop().time
        start = clock()
        while True:
            bones = await self._frames.get()
            bone_rotations = np.array([bones[name][1] for name in self._order])
            yield clock() - start, bone_rotations, bones["Hips"][0][np.newaxis]

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Handle a datagram; ignore it if it is not OSC."""
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

    def _add_bone(self, values: list[object]) -> None:
        numbers = values[1:8]
        if len(numbers) != 7 or not all(isinstance(n, float) for n in numbers):
            return
        position, rotation = np.array(numbers[:3]), np.array(numbers[3:])
        length = float(np.linalg.norm(rotation))
        usable = np.isfinite(position).all() and 0.5 < length < 2 and len(self._bones) < MAX_BONES
        if usable:
            self._bones[str(values[0])] = (position * MIRROR, rotation / length * MIRROR_ROTATION)

    def _finish_frame(self) -> None:
        # A frame can span several datagrams, or hold only changed bones: keep the others.
        if self._frames.full():
            self._frames.get_nowait()
        self._frames.put_nowait(dict(self._bones))

    def _parent_index(self, name: str) -> int:
        parent = PARENTS[name]
        while parent and parent not in self._order:
            parent = PARENTS[parent]
        return self._order.index(parent) if parent else -1


def _mirror(position: F64, rotation: F64) -> list[float]:
    return [*map(float, position * MIRROR), *map(float, rotation * MIRROR_ROTATION)]


def _parse_address(address: str) -> tuple[str, int]:
    parts = split_address(address)
    return parts.hostname or "127.0.0.1", parts.port or DEFAULT_PORT
