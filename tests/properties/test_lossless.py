"""The native decoder of `lossless` and the reference: the same bits and kinds of error."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutations import mutate_bytes

import mocpack
from mocpack import samples
from mocpack.codecs.lossless.codec import Lossless
from mocpack.errors import FormatError
from mocpack.model.clip import Clip
from mocpack.model.codec_clip import drop_take_data
from mocpack.testing import hard_clips, walk
from mocpack.testing.motions import vertex_wave
from reference import lossless as reference
from takes import take

HEAD = 80  # bytes of masks, scales and curves, where random changes rarely hit
TAKES = (["names"], ["roots"], ["scale", "scales"], ["hinges", "rest"])


@cache
def clips():
    """Return clips as the codec gets them, by name: with channels, without, and a mesh."""
    printed = mocpack.read(samples.JUMP).frames(0, 60)
    noise = np.random.default_rng(0).random(printed.channels.shape)
    short = walk(0.2)
    found = hard_clips() | {f"a take with {' and '.join(f)}": take(f) for f in TAKES}
    found |= {
        "printed": printed,
        "some doubles": replace(printed, channels=printed.channels + (noise < 0.05) * 1e-13),
        "negative zeros": replace(printed, channels=np.where(noise < 0.3, -0.0, printed.channels)),
        "both": replace(short, channels=np.ones((short.frame_count, 66))),
        "quaternions": Clip(printed.header, printed.rotations, printed.translations),
    }
    return {name: drop_take_data(clip) for name, clip in found.items()} | {"mesh": vertex_wave()}


@cache
def payload_of(name):
    return Lossless().encode(clips()[name])


def bits(clip):
    """Return the numbers of a clip as bytes."""
    parts = (
        ("vertices",) if hasattr(clip, "vertices") else ("rotations", "translations", "channels")
    )
    arrays = [getattr(clip, part) for part in parts]
    return [None if array is None else array.tobytes() for array in arrays]


def outcome(decode, payload, header):
    """Return the bits that a decoder makes of a payload, or the kind of error."""
    try:
        return bits(decode(payload, header))
    except FormatError as error:
        return type(error)


@pytest.mark.parametrize("name", clips())
def test_the_native_decoder_and_the_reference_return_the_same_bits(name):
    clip = clips()[name]
    found = Lossless().decode(payload_of(name), clip.header)
    assert bits(found) == bits(reference.decode(payload_of(name), clip.header))
    assert bits(found)[-1] == bits(clip)[-1]


@given(st.sampled_from(sorted(clips())), st.integers(0, 2**32), st.booleans())
def test_the_native_decoder_and_the_reference_agree_on_damaged_payloads(name, seed, whole):
    payload, header = payload_of(name), clips()[name].header
    size = len(payload) if whole else HEAD
    damaged = mutate_bytes(np.random.default_rng(seed), payload[:size]) + payload[size:]
    expected = outcome(reference.decode, damaged, header)
    assert outcome(Lossless().decode, damaged, header) == expected
