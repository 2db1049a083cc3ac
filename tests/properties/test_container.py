"""Anything that makes a header comes back from a .mocp file as it was."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mocpack import Skeleton, rotations
from mocpack.clip import ClipHeader, VertexHeader
from mocpack.container import Errors, Packed, pack, unpack

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20).filter(
    lambda name: len(name.encode()) <= 255
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
    max_leaves=8,
)  # fmt: skip
METADATA = st.dictionaries(st.text(max_size=10), JSON, max_size=4)
# decimal fractions as files have them, and anything else
OFFSETS = st.integers(-(10**6), 10**6).map(lambda n: n / 10**5) | st.floats(-1e6, 1e6)
UNITS = st.sampled_from([1.0, 0.01, 0.001, 0.0254, 0.0254 / 0.45]) | st.floats(1e-9, 1e9)
TIMES = st.sampled_from([1 / 120, 0.0083333, 1 / 30, 0.04]) | st.floats(1e-6, 1e6)
TURNS = arrays(np.float64, 3, elements=st.floats(-3, 3)).map(rotations.from_rotvec)


def channels(position, rotation, letters):
    some = st.lists(st.sampled_from(letters), max_size=3, unique=True)
    return st.builds(
        lambda p, r: tuple([position.format(a) for a in p] + [rotation.format(a) for a in r]),
        some,
        some,
    )


LAYOUTS = channels("{}position", "{}rotation", "XYZ") | channels("t{}", "r{}", "xyz")


@st.composite
def skeletons(draw):
    names = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    count = len(names)
    carriers = sorted(draw(st.lists(st.integers(0, count - 1), max_size=4)))
    return Skeleton(
        tuple(names),
        (-1, *(draw(st.integers(0, j - 1)) for j in range(1, count))),
        draw(arrays(np.float64, (count, 3), elements=OFFSETS)),
        draw(arrays(np.float64, (len(carriers), 3), elements=OFFSETS)),
        tuple(carriers),
        tuple(draw(LAYOUTS) for _ in names),
        np.array([draw(TURNS) for _ in names]) if draw(st.booleans()) else np.zeros((0, 4)),
    )


@st.composite
def clip_headers(draw):
    skeleton = draw(skeletons())
    moving = draw(st.sets(st.integers(0, len(skeleton) - 1)))
    return ClipHeader(
        skeleton,
        draw(st.integers(1, 10**6)),
        draw(TIMES),
        tuple(sorted(moving)),
        draw(UNITS),
        draw(METADATA),
    )


@st.composite
def vertex_headers(draw):
    vertices = draw(st.integers(1, 50))
    count = draw(st.integers(0, 20))
    faces = draw(arrays(np.int32, (count, 3), elements=st.integers(0, vertices - 1)))
    return VertexHeader(vertices, faces, draw(st.integers(1, 10**6)), draw(TIMES), draw(METADATA))


def sent_and_received(header, **parts):
    packed = Packed(header, "some-codec", 3, parts.get("params", {}), parts.get("payload", b"abc"))
    return packed, unpack(pack(packed))


@given(clip_headers())
def test_a_header_comes_back_equal(header):
    assert sent_and_received(header)[1].header == header


@given(vertex_headers())
def test_a_mesh_comes_back_equal(header):
    came = sent_and_received(header)[1].header
    np.testing.assert_array_equal(came.faces, header.faces)
    assert (came.vertex_count, came.frame_count, came.frame_time) == (
        header.vertex_count,
        header.frame_count,
        header.frame_time,
    )
    assert dict(came.metadata) == dict(header.metadata)


@given(st.binary(max_size=300), st.dictionaries(st.text(max_size=8), JSON, max_size=3))
def test_payload_and_parameters_come_back_equal(payload, params):
    header = ClipHeader(Skeleton(("a",), (-1,), [[0, 0, 0]]), 2)
    packed, came = sent_and_received(header, payload=payload, params=params)
    assert (came.payload, came.params) == (packed.payload, packed.params)
    assert (came.codec_id, came.bitstream_version) == ("some-codec", 3)


LENGTHS = st.just(0.0) | st.floats(1e-12, 1e3)  # less than a picometre is nothing


@given(st.none() | st.floats(1e-9, 1e3), st.lists(LENGTHS, min_size=4, max_size=4))
def test_errors_are_never_understated(declared, measured):
    header = ClipHeader(Skeleton(("a",), (-1,), [[0, 0, 0]]), 2)
    errors = Errors(declared, *measured)
    came = unpack(pack(Packed(header, "raw", 1, {}, b"", errors))).errors
    assert (came.declared is None) == (declared is None)
    kept = (came.max, came.mean, came.rms, came.p99)
    assert all(real <= found * (1 + 1e-12) for real, found in zip(measured, kept, strict=True))
