"""Sources of frames: a clip in real time, JSON lines, or another program's stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol, TextIO

from mocpack.errors import FormatError, UsageError
from mocpack.live.bridges.messages import MAX_MESSAGE_BYTES, read_frame, read_header
from mocpack.live.client import Frame
from mocpack.model.clip import Clip, ClipHeader


class Source(Protocol):
    """A source of frames."""

    async def header(self) -> ClipHeader:
        """Return the header, once the skeleton is known."""
        ...

    def frames(self, header: ClipHeader) -> AsyncIterator[Frame]:
        """Yield frames in real time."""
        ...

    def close(self) -> None: ...


class ClipSource:
    """Plays a clip. Scales are applied to the joint positions, since streams have no scales.

    Parameters
    ----------
    speed : float
        1 is real time; 0 is as fast as possible.
    loop : bool
        Whether to restart the clip at its end.
    """

    def __init__(self, clip: Clip, speed: float = 1.0, *, loop: bool = False) -> None:
        if speed < 0:
            raise UsageError(f"speed must be at least 0, got {speed}")
        self._clip, self._speed, self._loop = clip.bake_scales(), speed, loop

    async def header(self) -> ClipHeader:
        return self._clip.header

    async def frames(self, header: ClipHeader) -> AsyncIterator[Frame]:
        clock = asyncio.get_running_loop().time
        start, sent = clock(), 0
        while True:
            for rotations, translations in zip(
                self._clip.rotations, self._clip.translations, strict=True
            ):
                due = sent * header.frame_time / self._speed if self._speed else 0.0
                await asyncio.sleep(max(0.0, start + due - clock()))
                yield sent * header.frame_time, rotations, translations
                sent += 1
            if not self._loop:
                return

    def close(self) -> None:
        pass


class LineSource:
    """Reads JSON lines in the format of `bridges.messages`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    async def header(self) -> ClipHeader:
        return read_header(await self._line() or "null")

    async def frames(self, header: ClipHeader) -> AsyncIterator[Frame]:
        while line := await self._line():
            yield read_frame(line, header)

    def close(self) -> None:
        pass

    async def _line(self) -> str:
        line = await asyncio.to_thread(self._stream.readline, MAX_MESSAGE_BYTES + 1)
        if len(line) > MAX_MESSAGE_BYTES:
            raise FormatError(f"a JSON line exceeds {MAX_MESSAGE_BYTES} characters")
        return line


def open_source(address: str) -> Source:
    """Open ``vmc://:39539`` or ``zmq://host:port``."""
    from mocpack.live.bridges.vmc import VmcSource
    from mocpack.live.bridges.zmq import ZmqSource

    if address.startswith("vmc://"):
        return VmcSource(address)
    if address.startswith("zmq://"):
        return ZmqSource(address)
    raise UsageError(f"a source address must start with vmc:// or zmq://, got {address}")
