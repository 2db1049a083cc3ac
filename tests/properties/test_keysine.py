"""keysine's guarantee: no point of any clip exceeds the requested error.

`make promise` tries thousands of clips.
"""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_attack import MAX_PRECISION, reach_of

import mocpack
from mocpack.codecs.keysine import Keysine
from mocpack.common.units import format_length
from mocpack.errors import BoundError
from mocpack.metrics.angles import joint_angles
from mocpack.model.clip import measure_error
from strategies import any_motions, motions

EXAMPLES = int(os.environ.get("MOCPACK_PROMISES", "100"))
BOUNDS = {"loose": (5e-3, 20e-3), "middling": (1e-3, 5e-3), "tight": (5e-5, 1e-3)}  # meters
EFFORTS = st.sampled_from(["fast"] * 7 + ["default"])


def error_of(codec, clip):
    return measure_error(clip, codec.decode(codec.encode(clip), clip.header)).max


@pytest.mark.parametrize("kind", BOUNDS)
@settings(max_examples=max(1, EXAMPLES // len(BOUNDS)))
@given(motions(), st.data())
def test_the_bound_holds_for_any_motion(kind, clip, data):
    bound = data.draw(st.floats(*BOUNDS[kind]))
    codec = Keysine(max_error=bound, effort=data.draw(EFFORTS))
    assert error_of(codec, clip) <= bound


@settings(max_examples=max(1, EXAMPLES // 3))
@given(motions(), st.floats(2e-5, 5e-3), EFFORTS)
def test_the_bound_holds_on_a_time_grid_for_any_motion(clip, bound, effort):
    assert error_of(Keysine(max_error=bound, mode="grid", effort=effort), clip) <= bound


@settings(max_examples=max(1, EXAMPLES // 3))
@given(motions(), st.data(), st.sampled_from(["auto", "auto", "transform", "grid"]))
def test_the_bounds_of_single_joints_hold_for_any_motion(clip, data, mode):
    def drawn(values):
        return tuple(data.draw(st.lists(values, min_size=joints, max_size=joints)))

    joints, bound = len(clip.skeleton), data.draw(st.floats(1e-4, 20e-3))
    errors = drawn(st.sampled_from([bound * share for share in (1, 1, 0.02, 0.3, 4, 50)]))
    angles = drawn(st.sampled_from([0.0, 0.0, 0.02, 0.002])) if data.draw(st.booleans()) else None
    layers = 1 if mode == "grid" else data.draw(st.sampled_from([1, 1, 3]))
    codec = Keysine(
        max_error=bound,
        effort=data.draw(EFFORTS),
        mode=mode,
        layers=layers,
        joint_errors=errors,
        joint_angles=angles,
    )
    try:
        decoded = codec.decode(codec.encode(clip), clip.header)
    except BoundError:
        # a bound on angles and one on positions cannot both hold far from the source's rotations;
        # micrometers are too fine for steps of joints that are kilometers away
        is_far = abs(clip.translations).max(initial=0) > 100
        assert angles is not None or (is_far and min(errors) < 2e-5)
        return
    assert (measure_error(clip, decoded).joints <= errors).all()
    if angles is not None:
        limits = np.where(np.array(angles) > 0, angles, np.inf)
        assert (joint_angles(clip, decoded) <= limits).all()


@settings(max_examples=max(1, EXAMPLES // 5))
@given(
    *(any_motions(), st.floats(1e-4, 20e-3), st.integers(2, 16)),
    st.lists(st.floats(0, 1), min_size=5, max_size=5),
)
def test_a_file_cut_anywhere_keeps_the_errors_that_its_layers_state(clip, bound, layers, shares):
    refusal = ""
    try:
        data = mocpack.encode(clip, Keysine(effort="fast", layers=layers), max_error=f"{bound!r}m")
    except BoundError as error:
        refusal = str(error)
    if refusal:  # nearer to float precision than keysine promises
        assert format_length(bound) in refusal
        assert bound <= MAX_PRECISION * reach_of(clip)
        return
    with mocpack.open(data) as motion:
        found = motion.layers
    first, whole = found[0].end, len(data)
    cuts = {layer.end for layer in found} | {
        first + int(share * (whole - first)) for share in shares
    }
    for cut in sorted(cuts):
        error = measure_error(clip, mocpack.decode(data[:cut], partial=True))
        stated = [layer for layer in found if layer.end <= cut][-1]
        assert error.max <= stated.max_error * (1 + 1e-9)
        assert error.joint_mean <= stated.mean_error * (1 + 1e-9)
    assert measure_error(clip, mocpack.decode(data)).max <= bound


@settings(max_examples=max(1, EXAMPLES // 5))
@given(
    *(motions(), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6)),
    st.sampled_from(["transform", "grid"]),
)
def test_any_window_of_any_joint_is_that_of_the_whole(clip, start, stop, joint, mode):
    start %= clip.frame_count
    stop = start + 1 + stop % (clip.frame_count - start)
    joint %= len(clip.skeleton)
    codec = Keysine(max_error=2e-3, effort="fast", mode=mode)
    payload = codec.encode(clip)
    whole = codec.decode(payload, clip.header).frames(start, stop).joints([joint])
    part = codec.open(payload, clip.header).frames(start, stop, [joint])
    assert part.header == whole.header
    # a window may begin on the other side of the sphere
    apart = [abs(part.rotations - sign * whole.rotations).max(axis=-1) for sign in (1, -1)]
    assert np.minimum(*apart).max() < 1e-12
    assert abs(part.translations - whole.translations).max(initial=0) < 1e-9
