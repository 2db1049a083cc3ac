"""`encode` accepts every bound that float precision allows, unless a codec is named."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import mocpack
from mocpack import _api
from mocpack.codec import Quality
from mocpack.codecs.keysine import Keysine
from mocpack.codecs.raw import Raw
from mocpack.codecs.registry import BUILTIN
from mocpack.common.units import parse_length
from mocpack.errors import (
    BoundError,
    CorruptionError,
    FormatError,
    LosslessWarning,
    UnsupportedClipError,
    UsageError,
)
from mocpack.metrics.angles import largest_angle
from mocpack.model import rotations
from mocpack.model.clip import Clip, measure_error
from mocpack.model.skeleton import Skeleton
from mocpack.testing.motions import hard_clips, still, walk
from naming import naming
from reference import keysine as reference_keysine

ROOT = (1.0, 2.0, 3.0)


def still_joint(frames):
    skeleton = Skeleton(("joint",), (-1,), np.zeros((1, 3)))
    return Clip.build(skeleton, np.tile(rotations.IDENTITY, (frames, 1, 1)), [ROOT] * frames)


def bending_chain(joints, frames, length, *, size=0.5, seed=0):
    """Return a chain of that length in meters in which every joint rotates."""
    rng = np.random.default_rng(seed)
    bones = rng.normal(size=(joints, 3))
    bones *= length / (joints - 1) / np.linalg.norm(bones, axis=1, keepdims=True)
    bones[0] = 0
    names, parents = tuple(f"j{j}" for j in range(joints)), tuple(range(-1, joints - 1))
    skeleton = Skeleton(names, parents, bones, bones[-1:], (joints - 1,))
    time = np.arange(frames)[:, np.newaxis, np.newaxis] / 60
    phases = rng.uniform(0, 6, (1, joints, 3))
    turns = size * np.sin(time * rng.uniform(0.5, 6, (1, joints, 3)) + phases)
    return Clip.build(skeleton, rotations.from_rotvec(turns), [ROOT] * frames, frame_rate=60)


@pytest.mark.parametrize("bound", ["1um", "1mm", "1m"])
@pytest.mark.parametrize("frames", [1, 2, 50, 5000])
def test_a_still_clip_away_from_the_origin_keeps_a_mean_error(frames, bound):
    clip = still_joint(frames)
    back = mocpack.decode(mocpack.encode(clip, mean_error=bound, effort="fast"))
    assert measure_error(clip, back).joint_mean <= parse_length(bound)


def test_a_clip_that_hardly_moves_keeps_a_mean_error():
    clip = bending_chain(6, 60, 1.0, size=1e-6)
    back = mocpack.decode(mocpack.encode(clip, mean_error="1cm", effort="fast"))
    assert measure_error(clip, back).joint_mean <= 0.01


@pytest.mark.parametrize("codec", sorted(BUILTIN))
@pytest.mark.parametrize("target", [{"mean_error": "1m"}, {"mean_error": "1um"}, {"size": 4000}])
def test_no_codec_writes_what_its_decoder_refuses(codec, target):
    for clip in (still(4), still_joint(3)):
        assert not isinstance(refusal_of(clip, codec, target).__cause__, FormatError)


def refusal_of(clip, codec, target):
    """Return the error for a refused clip, or ""."""
    try:
        mocpack.encode(clip, codec, **target)
    except (BoundError, UnsupportedClipError) as error:
        return error
    return BoundError()


@dataclass(frozen=True)
class Unreadable(Raw):
    """A codec whose decoder refuses every payload."""

    def decode(self, payload, header):
        raise CorruptionError("unit 7 is outside 0..1")


def test_a_payload_that_its_own_decoder_refuses_is_a_bound_error():
    with pytest.raises(BoundError, match=naming("raw unit 7 0..1")):
        mocpack.encode(still(3), Unreadable())


def test_a_rotation_vector_past_a_whole_turn_is_a_unit_quaternion_in_both_decoders():
    clip = bending_chain(3, 40, 100.0, size=2.0)
    codec = Keysine(step=3.0, effort="fast")
    payload = codec.encode(clip)
    expected = reference_keysine.decode(payload, clip.header)
    assert np.allclose(codec.decode(payload, clip.header).rotations, expected.rotations, atol=1e-9)


@pytest.mark.parametrize(
    ("length", "bound", "angle"), [(23.0, 0.1, 0.1), (3.0, 1e-4, 1e-4), (3e-3, 0.7, 1e-4)]
)
def test_keysine_keeps_a_bound_on_angles_on_long_chains(length, bound, angle):
    clip = bending_chain(22, 40, length)
    codec = Keysine(max_error=bound, max_angle=angle, effort="fast")
    back = codec.decode(codec.encode(clip), clip.header)
    assert measure_error(clip, back).max <= bound
    assert largest_angle(clip, back) <= angle


def test_auto_uses_lossless_if_keysine_cannot_keep_the_bound():
    clip = bending_chain(4, 8, 3000.0, size=2.0)
    made = _api.encode_measured(clip, max_error="0.0001um", effort="fast")
    assert (made.codec.codec_id, made.errors.declared) == ("lossless", pytest.approx(1e-10))
    with pytest.raises(BoundError):
        mocpack.encode(clip, "keysine", max_error="0.0001um", effort="fast")


def test_auto_warns_that_it_uses_lossless(tmp_path):
    clip, target = bending_chain(4, 8, 3000.0, size=2.0), {"max_error": "0.0001um"}
    for work in (
        lambda: mocpack.encode(clip, effort="fast", **target),
        lambda: mocpack.write(clip, tmp_path / "far.mocp", effort="fast", **target),
        lambda: mocpack.write_scene({"far": clip}, tmp_path / "scene.mocp", **target),
    ):
        with pytest.warns(LosslessWarning, match=naming("0.1 nm")):
            work()


def test_the_choice_of_a_codec_takes_no_parameters():
    with pytest.raises(UsageError, match=naming("auto auto:layers=3")):
        mocpack.encode(still(3), "auto:layers=3")


@dataclass(frozen=True)
class CoarseOnly(Raw):
    """A codec that cannot encode below a value of its knob."""

    quality: ClassVar[Quality] = Quality("step", 1e-6, 1.0)
    step: float = 1e-3

    def encode(self, clip):
        if self.step < 0.01:
            raise BoundError("too fine")
        return super().encode(clip)


def test_a_search_passes_over_settings_that_a_codec_cannot_encode():
    made = _api.encode_measured(walk(0.1), CoarseOnly(), size="1MB")
    assert made.codec.step == pytest.approx(0.01, rel=0.1)


def test_a_bound_of_nanometers_is_kept_with_no_warning_but_that_of_lossless():
    clip = hard_clips()["joints with fewer axes"]
    with pytest.warns(LosslessWarning):
        data = mocpack.encode(clip, max_error="0.01um", effort="fast")
    assert measure_error(clip, mocpack.decode(data)).max <= 1e-8
