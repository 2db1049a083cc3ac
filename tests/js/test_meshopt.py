"""meshoptimizer views decode as with the decoder of three.js."""

import base64
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from in_three import VIEWER, find_three, largest_differences

from mocpack.errors import FormatError
from mocpack.io import meshopt

SAMPLES = Path(__file__).parents[1] / "samples"
SCRIPT = Path(__file__).with_name("unpack.mjs")
OLD_BITS, BITS = (0, 2, 4, 8), (0, 1, 2, 4, 8)


@pytest.fixture(autouse=True)
def three():
    find_three()


def stream(rng, version, count, stride):
    """Return bytes that are some valid stream: random ways to pack columns."""
    found = bytearray([0xA0 | version])
    most = min(8192 // stride // 16 * 16, 256)
    for start in range(0, count, most):
        rows = min(most, count - start)
        ways = rng.integers(0, 4, stride) if version else np.zeros(stride, int)
        for k in range(0, stride * (version > 0), 4):
            found.append(int(sum(int(way) << (2 * j) for j, way in enumerate(ways[k : k + 4]))))
        for way in ways:
            if way == 3:
                found += rng.bytes(rows)
            elif way != 2:
                found += column(rng, BITS[way : way + 4] if version else OLD_BITS, -(-rows // 16))
    first = rng.bytes(stride)
    channels = bytes(
        [int(kind) | int(turn) << 4 for kind, turn in rng.integers(0, (3, 16), (stride // 4, 2))]
    )
    # the rotation is defined on bits only
    channels = bytes(c if c & 3 == 2 else c & 3 for c in channels)
    tail = first + (channels if version else b"")
    return bytes(found) + tail.rjust(24 if version else 32, b"\0")


def column(rng, bits, groups):
    widths = rng.integers(0, 4, groups)
    head = np.zeros(-(-groups // 4) * 4, int)
    head[:groups] = widths
    found = bytearray((head.reshape(-1, 4) << [0, 2, 4, 6]).sum(1).astype(np.uint8).tobytes())
    for width in widths:
        size = bits[width]
        values = rng.integers(0, 1 << size, 16) if size else np.zeros(16, int)
        order = "little" if size == 1 else "big"
        plain = np.unpackbits(values.astype(np.uint8)[:, np.newaxis], axis=1)[:, 8 - size :]
        found += np.packbits(plain.ravel(), bitorder=order).tobytes()
        if 0 < size < 8:
            found += rng.bytes(int((values == (1 << size) - 1).sum()))
    return found


def in_three(jobs):
    listed = [{**job, "data": base64.b64encode(job["data"]).decode()} for job in jobs]
    done = subprocess.run(
        ["node", str(SCRIPT)],
        input=json.dumps(listed),
        env=os.environ | {"MOCPACK_VIEWER": str(VIEWER)},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return [None if rows is None else base64.b64decode(rows) for rows in json.loads(done.stdout)]


def ours(job):
    try:
        return meshopt.unpack(
            job["data"], job["count"], job["stride"], job["mode"], job["filter"], "view"
        )
    except FormatError:
        return None


def jobs(seed, kind="NONE", strides=(4, 8, 12, 16, 64, 256)):
    rng = np.random.default_rng(seed)
    for version in (0, 1):
        for stride in strides:
            for count in (1, 15, 16, 17, 300, 1000):
                data = stream(rng, version, count, stride)
                yield {
                    "data": data,
                    "count": count,
                    "stride": stride,
                    "mode": "ATTRIBUTES",
                    "filter": kind,
                }


def test_every_way_to_pack_a_column_is_unpacked_as_three_does():
    made = list(jobs(1))
    theirs = in_three(made)
    assert None not in theirs
    for job, rows in zip(made, theirs, strict=True):
        assert ours(job) == rows, (job["data"][0], job["count"], job["stride"])


def test_numbers_with_powers_of_two_are_those_of_three():
    made = list(jobs(2, "EXPONENTIAL", (4, 12)))
    for job, rows in zip(made, in_three(made), strict=True):
        powers = np.frombuffer(ours({**job, "filter": "NONE"}), "<i4") >> 24
        usual = np.abs(powers) <= 100  # the extension allows no others
        found, expected = (np.frombuffer(part, "<f4")[usual] for part in (ours(job), rows))
        np.testing.assert_array_equal(found, expected)


def test_packed_rotations_are_those_of_three():
    rng = np.random.default_rng(3)
    kept = rng.integers(-2047, 2048, (500, 4)).astype("<i2")
    kept[:, 3] = (2047 & ~3) | rng.integers(0, 4, 500)
    plain = kept.view(np.uint8).reshape(500, 8)
    # literal columns of differences from zero
    rows = np.diff(plain.astype(np.int16), axis=0, prepend=0).astype(np.int8)
    coded = ((rows.astype(np.int16) << 1) ^ (rows.astype(np.int16) >> 15)).astype(np.uint8)
    blocks = [coded[at : at + 256].T.tobytes() for at in (0, 256)]
    data = b"\xa1" + b"".join(b"\xff\xff" + block for block in blocks) + bytes(24)
    job = {"data": data, "count": 500, "stride": 8, "mode": "ATTRIBUTES", "filter": "QUATERNION"}
    (theirs,) = in_three([job])
    apart = np.frombuffer(ours(job), "<i2").astype(int) - np.frombuffer(theirs, "<i2")
    assert np.abs(apart).max() <= 1  # of 32767: their arithmetic is of single precision


def test_damaged_streams_are_refused_or_decode_as_in_three():
    rng = np.random.default_rng(4)
    made = []
    for job in jobs(5, strides=(4, 12)):
        data = bytearray(job["data"])
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        made.append({**job, "data": bytes(data)})
        made.append({**job, "data": job["data"][: rng.integers(len(data))]})
    for job, rows in zip(made, in_three(made), strict=True):
        # nonzero padding may be accepted or not; both decoders must reject the same files otherwise
        assert ours(job) == rows


@pytest.mark.parametrize("name", ["fox-run-ext.glb", "fox-run-khr.glb"])
def test_an_animation_that_gltfpack_packed_matches_three(name):
    ((_, at_frames, at_random),) = largest_differences(SAMPLES / name, count=100)
    # the fox is 100 units long, and rotations of 16 bits, which three takes as they are, are not
    # quite of unit length
    assert max(at_frames, at_random) < 5e-3
