"""Robots of any shape: bounds hold, and angles keep to their axes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mocpack.codecs.keysine import Keysine
from mocpack.metrics.angles import largest_angle
from mocpack.model.clip import measure_error
from reference import keysine as reference
from robots import hinged_motion, hinged_skeleton

seeds = st.integers(0, 2**32 - 1)
bounds = st.floats(-4.3, -1.7).map(lambda power: 10.0**power)
angles = st.none() | st.floats(-4, -1.5).map(lambda power: 10.0**power)


@given(seeds, bounds, angles, st.sampled_from(["transform", "transform", "grid"]))
def test_bounds_on_displacement_and_angles_are_kept_on_the_axes(seed, bound, angle, mode):
    clip = hinged_motion(hinged_skeleton(seed), seed)
    codec = Keysine(max_error=bound, max_angle=angle, mode=mode, effort="fast")
    back = codec.encode_verified(clip).decoded
    assert measure_error(clip, back).max <= bound
    assert angle is None or largest_angle(clip, back) <= angle
    assert back.hinge_angles().off_axis.max() < 1e-9


@given(seeds, bounds)
def test_the_readable_decoder_agrees(seed, bound):
    clip = hinged_motion(hinged_skeleton(seed), seed)
    clip = clip.frames(0, min(clip.frame_count, 20))
    made = Keysine(max_error=bound, effort="fast").encode_verified(clip)
    plain = reference.decode(made.payload, clip.header)
    same = np.abs(np.sum(plain.rotations * made.decoded.rotations, axis=-1))
    np.testing.assert_allclose(same, 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(plain.translations, made.decoded.translations, rtol=0, atol=1e-9)
