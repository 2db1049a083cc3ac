"""Rotations that share the reference of the rotation above."""

from dataclasses import replace

import numpy as np
import pytest

from keysine_payload import open_in_core
from keysine_tracks import ROTATION_KIND, SHARES_REFERENCE, Rotation
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.codecs.keysine import Keysine
from mocpack.errors import FormatError
from mocpack.model.clip import measure_error
from mocpack.testing import hard_clips
from naming import naming
from reference import keysine as reference
from reference.keysine_head import head_of
from reference.keysine_head_writer import write_payload
from robots import limited_motion

LAYERED = Keysine(max_error=1e-3, layers=3)


def stride():
    """Return a part of a walk, whose arms, legs and trunk have shared references."""
    return load_clip("cmu/49_02", COMMITTED).frames(1000, 1150)


def shared_at_random(codec, clip, seed):
    """Return a payload of a clip with random bits for shared references, and its head."""
    payload = codec.encode(clip)
    head = head_of(payload, clip.header)
    table = np.array(head.table)
    turning = table[:, ROTATION_KIND] >= Rotation.VECTOR
    bits = np.random.default_rng(seed).integers(2, size=turning.sum())
    table[turning, SHARES_REFERENCE] = bits
    shared = replace(head, table=table, shared=True)
    return write_payload(shared, clip.header, head.split(payload)), shared


def assert_same_poses(a, b, tolerance):
    np.testing.assert_allclose(a.rotations, b.rotations, rtol=0, atol=tolerance)
    np.testing.assert_allclose(a.translations, b.translations, rtol=0, atol=tolerance)


def test_layers_of_a_walk_share_references_within_the_bound():
    clip = stride()
    payload = LAYERED.encode(clip)
    head = head_of(payload, clip.header)
    names = clip.skeleton.names
    shares = {names[j] for j in np.flatnonzero(head.table[:, SHARES_REFERENCE])}
    sides = {f"{side}{part}" for side in ("Left", "Right") for part in ("Arm", "UpLeg", "Leg")}
    assert shares == {"LowerBack", "Spine", "Spine1"} | sides
    assert measure_error(clip, LAYERED.decode(payload, clip.header)).max <= 1e-3


@pytest.mark.parametrize(
    "parameters",
    [{"layers": 1}, {"effort": "fast"}, {"max_angle": 0.01}],
    ids=lambda p: next(iter(p)),
)
def test_one_layer_fast_searches_and_bounds_of_angles_share_no_references(parameters):
    clip = stride()
    payload = replace(LAYERED, **parameters).encode(clip)
    assert not head_of(payload, clip.header).shared


@pytest.mark.parametrize("name", ["walk", "full turns", "two frames", "every joint translates"])
@pytest.mark.parametrize("layers", [1, 3])
def test_the_readable_decoder_makes_any_shared_references_local_alike(name, layers):
    clip = hard_clips()[name]
    clip = clip.frames(0, min(clip.frame_count, 40))
    codec = Keysine(max_error=5e-3, effort="fast", layers=layers)
    payload, head = shared_at_random(codec, clip, seed=layers)
    np.testing.assert_array_equal(head_of(payload, clip.header).table, head.table)
    ends = [layer.end for layer in codec.open(payload, clip.header).layout().layers]
    for count, end in enumerate(ends or [len(payload)], 1):
        native = codec.open(payload[:end], clip.header).partial()
        plain = reference.decode(payload[:end], clip.header, layers=count)
        assert_same_poses(native, plain, 1e-12)


def test_a_preview_has_the_poses_of_the_keys():
    clip = stride()
    codec = Keysine(max_error=5e-3, effort="fast")
    payload, head = shared_at_random(codec, clip, seed=4)
    keys = [head.key_frame(g, clip.frame_count) for g in range(head.group_count + 1)]
    plain = reference.decode(payload, clip.header, layers=0)
    preview = codec.open(payload, clip.header).preview()
    np.testing.assert_allclose(preview.rotations, plain.rotations[keys], rtol=0, atol=1e-12)


def test_selected_joints_equal_those_of_the_whole_motion():
    clip = stride()
    payload, _ = shared_at_random(LAYERED, clip, seed=2)
    whole = LAYERED.decode(payload, clip.header)
    opened = LAYERED.open(payload, clip.header)
    for joint in range(len(clip.skeleton)):
        part = opened.frames(20, 90, [joint])
        assert_same_poses(part, whole.frames(20, 90).joints([joint]), 0)


def test_a_skeleton_with_hinges_has_no_shared_references():
    clip = limited_motion(3)
    payload = Keysine(max_error=1e-3).encode(clip)
    head = head_of(payload, clip.header)
    data = write_payload(replace(head, shared=True), clip.header, head.split(payload))
    for read in (open_in_core, head_of):
        with pytest.raises(FormatError, match=naming("hinges")):
            read(data, clip.header)
