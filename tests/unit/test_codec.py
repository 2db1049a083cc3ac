"""The parameters that files store for a codec: required and optional ones."""

from dataclasses import fields, replace

import numpy as np
import pytest

import mocpack
from mocpack.codec import Codec
from mocpack.codecs.registry import BUILTIN, codec_class
from mocpack.container import pack, unpack
from mocpack.errors import CorruptionError, UnsupportedVersionError
from mocpack.testing import walk
from naming import naming

CLIP = walk(0.25)
WORDS = {
    ("bap-index", "variant"): "literal",
    ("bap-sparse", "variant"): "literal",
    ("fk-wavelet", "roi"): "0:5",
    ("keysine", "effort"): "fast",
    ("keysine", "mode"): "transform",
    ("keysine", "block_seconds"): 0.1,
    ("latent-spline", "choose"): "aic",
    ("wavelet", "selection"): "separate",
    ("wavelet-opt", "search"): "anneal",
}


def other_value(codec, name):
    """A value that differs from the default, None where none comes to mind."""
    value = getattr(codec, name)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value / 2 if np.isfinite(value) else 1.0
    return WORDS.get((codec.codec_id, name))


def overlooked():
    """Each optional parameter of each codec with another value."""
    for codec_id in sorted(BUILTIN):
        codec = codec_class(codec_id)()
        for name in sorted({f.name for f in fields(codec)} - codec.needed_params()):
            try:
                yield replace(codec, **{name: other_value(codec, name)}), name
            except (TypeError, ValueError):
                continue


@pytest.mark.parametrize(
    ("codec", "name"), [pytest.param(c, n, id=f"{c.codec_id}-{n}") for c, n in overlooked()]
)
def test_a_decoder_needs_no_parameter_that_the_file_does_not_mark(codec, name):
    payload = codec.encode(CLIP)
    plain = type(codec)()
    back, again = codec.decode(payload, CLIP.header), plain.decode(payload, CLIP.header)
    np.testing.assert_array_equal(back.rotations, again.rotations)
    np.testing.assert_array_equal(back.translations, again.translations)


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        ("dwt97:step=0.02", {"step"}),
        ("bap-index:b=5,n_d=7,variant=literal", {"b", "n_d"}),
        ("wavelet:deflate=false,ratio=20", {"deflate"}),
        ("keysine:group_seconds=2", set()),
    ],
)
def test_files_mark_what_their_decoder_needs(spec, needed):
    codec = mocpack.parse_codec(spec)
    packed = unpack(mocpack.encode(CLIP, codec))
    assert packed.needed == needed
    assert type(codec).from_file(packed.params, packed.needed) == codec


def test_a_codec_of_another_package_needs_all_unless_it_says_otherwise():
    assert Codec.decoder_params is None
    assert codec_class("ik-predict").needed_params() >= {"step", "damping", "chains"}


def test_a_needed_parameter_that_is_unknown_is_named():
    with pytest.raises(UnsupportedVersionError, match=naming("raw 'zeal'")):
        codec_class("raw").from_file({"zeal": 1}, frozenset({"zeal"}))


def test_a_needed_value_that_cannot_be_is_corrupt():
    packed = unpack(mocpack.encode(CLIP, "dwt97:step=0.02"))
    with pytest.raises(CorruptionError, match=naming("dwt97 step 1e-6..10 -2.0")):
        mocpack.decode(pack(replace(packed, params={"step": -2.0})))


def test_parameters_of_files_that_mark_none_are_used_where_they_are_known():
    packed = unpack(mocpack.encode(CLIP, "dwt97:step=0.02"))
    before_marks = pack(replace(packed, needed=frozenset()))
    np.testing.assert_array_equal(
        mocpack.decode(before_marks).rotations, mocpack.decode(pack(packed)).rotations
    )
