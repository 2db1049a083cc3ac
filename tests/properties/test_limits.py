"""Joint limits that the source keeps hold in every decoder, mode and bound.

`make fuzz` tries more and new examples.
"""

import os

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import mocpack
from mocpack.metrics.angles import largest_angle
from mocpack.model.clip import measure_error
from reference import keysine as reference
from robots import limited_motion, passed_limits

ROUNDING = 1e-9  # radians, meters
EXAMPLES = int(os.environ.get("MOCPACK_FUZZ", "12"))
SLOW_EFFORTS = ["best"] if "MOCPACK_FUZZ" in os.environ else []

seeds = st.integers(0, 2**32 - 1)
leaving = st.just(0.0) | st.floats(-8, -1).map(lambda power: 10.0**power)
bounds = st.floats(-5, -1).map(lambda power: 10.0**power)  # meters
angles = st.floats(-4, -1.5).map(lambda power: 10.0**power)  # radians
codecs = st.sampled_from(
    ["fast"] * 4 + ["fast,layers=3"] * 2 + ["fast,mode=grid"] * 2 + ["default"] + SLOW_EFFORTS
).map("keysine:effort={}".format)


@settings(max_examples=EXAMPLES)
@given(seeds, leaving, bounds, st.none() | angles, codecs)
def test_limits_hold_beside_a_bound(seed, leaving, bound, angle, codec):
    clip = limited_motion(seed, leaving=leaving)
    wanted = {} if angle is None else {"max_angle": mocpack.rad(angle)}
    data = mocpack.encode(clip, codec, max_error=mocpack.m(bound), **wanted)
    back = mocpack.decode(data)
    assert passed_limits(clip, back).max() <= ROUNDING
    assert measure_error(clip, back).max <= bound
    assert angle is None or largest_angle(clip, back) <= angle
    with mocpack.open(data) as motion:
        start = motion.frame_count // 2
        window = motion.frames(start, motion.frame_count)
        # signs continue from the first frame, and may change where a joint jumps by half a turn
        same = np.sum(window.rotations * back.rotations[start:], axis=-1, keepdims=True)
        np.testing.assert_array_equal(np.sign(same) * window.rotations, back.rotations[start:])
        assert passed_limits(clip, motion.preview()).max() <= ROUNDING


@settings(max_examples=max(1, EXAMPLES // 2))
@given(seeds, leaving, bounds, st.sampled_from([*["fast"] * 7, "default"]))
def test_limits_hold_beside_a_mean_error(seed, leaving, bound, effort):
    clip = limited_motion(seed, leaving=leaving)
    back = mocpack.decode(mocpack.encode(clip, mean_error=mocpack.m(bound), effort=effort))
    assert passed_limits(clip, back).max() <= ROUNDING


@settings(max_examples=max(1, EXAMPLES // 4))
@given(seeds, leaving, bounds)
def test_the_readable_decoder_holds_the_same_limits(seed, leaving, bound):
    clip = limited_motion(seed, leaving=leaving)
    clip = clip.frames(0, min(clip.frame_count, 12))
    codec = mocpack.parse_codec(f"keysine:effort=fast,max_error={1000 * bound}mm")
    payload = codec.encode(clip)
    fast, slow = codec.decode(payload, clip.header), reference.decode(payload, clip.header)
    same = np.abs(np.sum(slow.rotations * fast.rotations, axis=-1))
    np.testing.assert_allclose(same, 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(slow.translations, fast.translations, rtol=0, atol=1e-9)
    assert passed_limits(clip, slow).max() <= ROUNDING


@settings(max_examples=max(1, EXAMPLES // 4))
@given(seeds)
def test_lossless_keeps_limits(seed):
    clip = limited_motion(seed)
    assert passed_limits(clip, mocpack.decode(mocpack.encode(clip, "lossless"))).max() <= ROUNDING
