"""A file with quality layers on a slow connection, on the example page in a browser."""

import threading

import numpy as np
import pytest
from browsing import until
from in_node import find_package
from test_example import load_server, looking, picture, running

import mocpack

PLAYS = True  # for `chromium`
TIME = 1.2  # seconds
SHARE = 0.25  # of the bytes, with which the motion must play
LAYERS = 8


def gated_server(motion):
    """Return a server that sends the first `sendable` bytes of the motion, or breaks there."""

    class Gated(load_server().Server):
        sendable, broken = 0, False
        changed = threading.Condition()

        def allow(self, sendable, broken=False):
            with self.changed:
                self.sendable, self.broken = sendable, broken
                self.changed.notify_all()

        def wait_for(self, at):
            with self.changed:
                self.changed.wait_for(lambda: self.sendable > at or self.broken)
                return self.sendable

    return Gated(motion)


@pytest.fixture(scope="module")
def motion():
    return load_server().encode_jump()


@pytest.fixture(scope="module")
def ends(motion):
    with mocpack.open(motion) as opened:
        return [layer.end for layer in opened.layers]


def bones(tab, layers):
    """Show a time when it has this many layers; return the positions of the character's bones."""
    until(tab, "!document.getElementById('facts').textContent.startsWith('loading')")
    # like a page that plays, ask again and again: a request that failed is repeated only then
    until(tab, f"(example.show({TIME}), example.state().layers === {layers})")
    places = tab.evaluate(f"example.show({TIME})")
    return np.array([places[name] for name in sorted(places)])


@pytest.fixture(scope="module")
def final(chromium, motion):
    """Bones of the whole file."""
    find_package()
    with running(load_server().Server(motion)) as server, looking(chromium, server.url) as tab:
        return bones(tab, LAYERS)


def test_motion_plays_after_a_quarter_of_the_bytes_and_becomes_exact(chromium, motion, ends, final):
    with running(gated_server(motion)) as server:
        server.allow(int(SHARE * len(motion)))
        with looking(chromium, server.url) as tab:
            errors, pictures = [], []
            for layers in range(1, LAYERS + 1):
                if layers > 1:
                    server.allow(ends[layers - 1])
                errors.append(np.linalg.norm(bones(tab, layers) - final, axis=1).mean())
                pictures.append(picture(tab))
                assert not tab.evaluate("example.state().stalled")
    assert 0.005 < errors[0] < 0.1
    assert errors[-1] == 0
    assert errors[0] > errors[2] > errors[5]
    assert (np.abs(pictures[0] - pictures[-1]).max(axis=-1) > 40).any()


def test_a_broken_connection_leaves_the_coarse_motion_and_a_message(chromium, motion, ends, final):
    with running(gated_server(motion)) as server:
        server.allow(ends[0])
        with looking(chromium, server.url, allowed="ERR_") as tab:
            coarse = bones(tab, 1)
            server.allow(ends[0] + 10, broken=True)
            until(tab, "document.getElementById('facts').textContent.includes('failed')")
            assert tab.evaluate("example.state().layers") == 1
            places = tab.evaluate(f"example.show({TIME})")
            np.testing.assert_array_equal([places[name] for name in sorted(places)], coarse)
            server.allow(len(motion))
            np.testing.assert_array_equal(bones(tab, LAYERS), final)
