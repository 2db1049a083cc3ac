"""A relay with performers for tests of pages, and the expected poses."""

import asyncio
import threading
from dataclasses import replace
from itertools import count

import numpy as np

from mocpack import Clip
from mocpack.live import Hello, Sender
from mocpack.live.client import send_frames
from mocpack.live.commands.serve import stage_pages
from mocpack.live.relay import Relay
from mocpack.live.stage import Tokens
from mocpack.model import rotations
from mocpack.testing import walk

CLIP = walk(2.0)
BOUND = 0.005
SHOWN = "() => window.mocpackStage.shown()"


class Theatre:
    """A relay in a thread with performers `names`, who repeat a clip."""

    def __init__(self, names, tokens=None, endpoints=(), clip=CLIP):
        self._clip = clip
        self._names, self._tokens, self._endpoints = names, tokens or Tokens(), endpoints
        self._ready, self._loop = threading.Event(), asyncio.new_event_loop()
        self.relay = None
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._play(),))

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join(30)
        self._loop.close()

    @property
    def url(self):
        return self.relay.url.replace("ws", "http", 1)

    async def _play(self):
        self._done = asyncio.Event()
        self.relay = Relay(pages=stage_pages(), tokens=self._tokens)
        self.relay.endpoints += [endpoint(self.relay) for endpoint in self._endpoints]
        await self.relay.start()
        token = self._tokens.by_role.get("send", (None,))[0]
        acts = [
            asyncio.ensure_future(self._act(name, k, token)) for k, name in enumerate(self._names)
        ]
        self._ready.set()
        await self._done.wait()
        for act in acts:
            act.cancel()
        await asyncio.gather(*acts, return_exceptions=True)
        await self.relay.stop()
        await self._loop.shutdown_asyncgens()

    async def _act(self, name, k, token):
        async def frames():
            start = self._loop.time()
            for number in count():
                t = number % clip.frame_count
                await asyncio.sleep(max(0.0, start + number / 60 - self._loop.time()))
                yield number / 60, clip.rotations[t], clip.translations[t] + [k, 0, 0]

        clip = self._clip
        sender = Sender(Hello(clip.header, BOUND, k + 1))
        await send_frames(f"{self.relay.url}/stage/{name}", sender, frames(), token=token)


def off(shown, shift):
    """Return how far the scene's joints are from where the clip's are at that time, in meters.

    None where the clip begins again in between.
    """
    at = 60 * shown["time"] % CLIP.frame_count
    t = int(at)
    if t + 1 >= CLIP.frame_count:
        return None
    pair = CLIP.frames(t, t + 2)
    turns = rotations.slerp(pair.rotations[0], pair.rotations[1], at - t)
    places = pair.translations[0] + (at - t) * (pair.translations[1] - pair.translations[0])
    true = Clip(replace(CLIP.header, frame_count=1), turns[np.newaxis], places[np.newaxis])
    joints = np.array(shown["joints"]).reshape(-1, 3)
    return np.linalg.norm(joints - true.world()[0][0] - [shift, 0, 0], axis=1).max()
