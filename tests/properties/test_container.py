"""Every header that can be made is restored from a .mocp file unchanged."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mocpack import Skeleton
from mocpack.container import Errors, FileContents, pack, unpack
from mocpack.model.clip import ClipHeader
from strategies import JSON, clip_headers, vertex_headers

DOT = ClipHeader(Skeleton(("a",), (-1,), [[0, 0, 0]]), 2)
PICOMETRES = st.just(0.0) | st.floats(1e-12, 1e3)  # smaller lengths are rounded to 0


def received(header):
    return unpack(pack(FileContents(header, "raw", 1, {}, b"payload"))).header


@given(clip_headers())
def test_a_header_round_trips(header):
    assert received(header) == header


@given(vertex_headers())
def test_a_mesh_round_trips(header):
    came = received(header)
    np.testing.assert_array_equal(came.faces, header.faces)
    assert (came.vertex_count, came.frame_count, came.frame_time) == (
        header.vertex_count,
        header.frame_count,
        header.frame_time,
    )
    assert dict(came.metadata) == dict(header.metadata)


@given(st.binary(max_size=300), st.dictionaries(st.text(max_size=8), JSON, max_size=3))
def test_payload_and_parameters_round_trip_equal(payload, params):
    came = unpack(pack(FileContents(DOT, "some-codec", 3, params, payload)))
    assert (came.payload, came.params) == (payload, params)
    assert (came.codec_id, came.bitstream_version) == ("some-codec", 3)


@given(st.none() | st.floats(1e-9, 1e3), st.lists(PICOMETRES, min_size=4, max_size=4))
def test_errors_are_never_understated(declared, measured):
    errors = Errors(declared, *measured)
    came = unpack(pack(FileContents(DOT, "raw", 1, {}, b"", errors))).errors
    assert (came.declared is None) == (declared is None)
    kept = (came.max, came.mean, came.rms, came.p99)
    assert all(real <= found * (1 + 1e-12) for real, found in zip(measured, kept, strict=True))
