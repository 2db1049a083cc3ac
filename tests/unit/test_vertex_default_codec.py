"""The codec that vertices get when none is named."""

import numpy as np
import pytest

import mocpack
from mocpack.errors import BoundError, MocpackError
from mocpack.testing.motions import vertex_wave
from naming import naming

CLIP = vertex_wave(6, 4)


def test_vertices_without_a_named_codec_are_packed_without_loss():
    back = mocpack.decode(mocpack.encode(CLIP))
    assert np.array_equal(back.vertices, CLIP.vertices)


def test_a_size_that_lossless_misses_names_the_codec_to_try():
    with pytest.raises(BoundError, match=naming("latent-spline")):
        mocpack.encode(CLIP, size=50)


def test_a_named_codec_of_skeletons_still_refuses_vertices():
    with pytest.raises(MocpackError, match=naming("keysine vertices")):
        mocpack.encode(CLIP, "keysine")
