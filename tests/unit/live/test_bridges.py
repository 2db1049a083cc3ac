"""Streams of other programs: VMC over OSC, JSON over pipes and ZMQ."""

import asyncio
import io
import json
import socket

import numpy as np
import pytest

from mocpack.errors import FormatError
from mocpack.live.bridges.messages import (
    format_frame,
    format_header,
    read_frame,
    read_header,
)
from mocpack.live.bridges.vmc import PARENTS, VmcSink, VmcSource, pack_bundles, vmc_bone_names
from mocpack.live.bridges.zmq import ZmqSink, ZmqSource
from mocpack.live.sources import LineSource
from mocpack.model import rotations
from mocpack.testing import walk

WALK = walk(1.0)


def free_port(kind=socket.SOCK_DGRAM):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def frame(t):
    return t * WALK.header.frame_time, WALK.rotations[t], WALK.translations[t]


def test_json_round_trips():
    header = read_header(format_header(WALK.header))
    assert header.skeleton.names == WALK.skeleton.unique_names
    np.testing.assert_array_equal(header.skeleton.offsets, WALK.skeleton.offsets)
    time, turns, places = read_frame(format_frame(frame(7)), header)
    assert time == frame(7)[0]
    np.testing.assert_array_equal(turns, WALK.rotations[7])
    np.testing.assert_array_equal(places, WALK.translations[7])


@pytest.mark.parametrize(
    "message",
    ["", "{", "3", "{}", '{"skeleton": 3}', '{"skeleton": {"names": ["a"], "parents": [0]}}'],
)
def test_an_invalid_skeleton_is_a_format_error(message):
    with pytest.raises(FormatError):
        read_header(message)


@pytest.mark.parametrize(
    "message", ["[]", "{}", '{"time": 0, "rotations": [[0,0,0,1]], "translations": []}']
)
def test_an_invalid_frame_is_a_format_error(message):
    with pytest.raises(FormatError):
        read_frame(message, WALK.header)


def test_lines_of_a_pipe_are_frames():
    text = "\n".join([format_header(WALK.header), *(format_frame(frame(t)) for t in range(5))])

    async def read():
        source = LineSource(io.StringIO(text + "\n"))
        header = await source.header()
        return [time async for time, _, _ in source.frames(header)]

    assert asyncio.run(read()) == [frame(t)[0] for t in range(5)]


def test_zmq_carries_frames():
    pytest.importorskip("zmq")
    address = f"zmq://127.0.0.1:{free_port(socket.SOCK_STREAM)}"

    async def both():
        sink, source = ZmqSink(address), ZmqSource(address)

        async def publish():
            t = 0
            while True:
                sink.show(WALK.header, (float(t), *frame(t % 60)[1:]))
                t += 1
                await asyncio.sleep(0.001)

        publishing = asyncio.ensure_future(publish())
        header = await source.header()
        _, turns, _ = await anext(source.frames(header))
        publishing.cancel()
        source.close()
        sink.close()
        return header, turns

    header, turns = asyncio.run(asyncio.wait_for(both(), 60))
    assert header.skeleton.names == WALK.skeleton.unique_names
    assert np.abs(turns - WALK.rotations).max((1, 2)).min() == 0


def test_every_vmc_bone_hangs_on_another():
    for name in PARENTS:
        above, steps = name, 0
        while PARENTS[above]:
            above, steps = PARENTS[above], steps + 1
        assert above == "Hips"
        assert steps < 12
    assert len(PARENTS) == 55


def test_vmc_datagrams_fit_an_ethernet_frame_and_end_with_ok():
    osc = pytest.importorskip("pythonosc.osc_packet")
    made = pack_bundles(WALK.skeleton, vmc_bone_names(WALK.skeleton), WALK.header, frame(3))
    assert max(map(len, made)) <= 1200
    messages = [m.message for data in made for m in osc.OscPacket(data).messages]
    assert messages[-1].address == "/VMC/Ext/OK"
    bones = [m for m in messages if m.address == "/VMC/Ext/Bone/Pos"]
    assert len(bones) == len(WALK.skeleton)


def test_vmc_mirrors_x_as_unity_does():
    """A point turned and then mirrored stands where the mirrored point is turned to."""
    osc = pytest.importorskip("pythonosc.osc_packet")
    made = pack_bundles(WALK.skeleton, vmc_bone_names(WALK.skeleton), WALK.header, frame(3))
    (hips,) = [
        m.message
        for data in made
        for m in osc.OscPacket(data).messages
        if m.message.params[0] == "Hips"
    ]
    place, turn = np.array(hips.params[1:4]), np.array(hips.params[4:])
    mirror = np.array([-1.0, 1.0, 1.0])
    point = np.array([0.3, -0.2, 0.7])
    there = rotations.rotate(WALK.rotations[3, 0], point) * mirror
    # a rotation of the mirrored space, applied by the same formula
    np.testing.assert_allclose(rotations.rotate(turn, point * mirror), there, atol=1e-6)
    np.testing.assert_allclose(place, WALK.translations[3, 0] * mirror, atol=1e-6)


def test_vmc_round_trips_as_the_bones_that_unity_knows():
    pytest.importorskip("pythonosc")
    address = f"vmc://127.0.0.1:{free_port()}"

    async def both():
        source, sink = VmcSource(address), VmcSink(address)

        async def send():
            while True:
                for t in range(60):
                    sink.show(WALK.header, frame(t))
                    await asyncio.sleep(0.001)

        sending = asyncio.ensure_future(send())
        header = await source.header()
        source.datagram_received(b"/no osc", None)
        source.datagram_received(b"#bundle\x00junk", None)
        found = await anext(source.frames(header))
        sending.cancel()
        source.close()
        sink.close()
        return header, found

    header, (_, turns, _) = asyncio.run(asyncio.wait_for(both(), 60))
    names = vmc_bone_names(WALK.skeleton)
    known = [name for name in PARENTS if name in names]
    assert list(header.skeleton.names) == known
    at = [names.index(name) for name in known]
    assert np.abs(turns - WALK.rotations[:, at]).max((1, 2)).min() < 1e-6
    knee = known.index("LeftLowerLeg")
    assert header.skeleton.names[header.skeleton.parents[knee]] == "LeftUpperLeg"


def test_json_of_a_pipe_is_json():
    assert json.loads(format_frame(frame(0)))["time"] == 0
