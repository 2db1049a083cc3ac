"""Codecs on people and animals of other databases, and on the clips for training."""

import numpy as np
import pytest

import mocpack
from mocpack.clip import promised_error
from mocpack.codecs.ik_predict import IkPredict
from mocpack.codecs.keysine import Keysine
from mocpack.codecs.keysine.calming import Unrest
from mocpack.codecs.latent_spline import LatentSpline
from mocpack.codecs.lossless import Lossless

KICK, WALK = "bandai/dataset-1_kick_normal_001", "bandai/dataset-1_walk_normal_001"
DOG = "dog/D1_007_KAN01_001"


def there_and_back(codec, clip):
    return codec.decode(codec.encode(clip), clip.header)


@pytest.mark.parametrize("name", [KICK, DOG])
def test_keysine_keeps_its_bound(real, name):
    clip = mocpack.read(real(name)).frames(0, 100)
    back = there_and_back(Keysine(max_error=5e-3, effort="fast"), clip)
    assert promised_error(clip, back).max <= 5e-3


@pytest.mark.parametrize("bound", [1e-2, 1e-3])
def test_planted_feet_of_a_walk_at_30_frames_a_second_do_not_slip(real, bound):
    clip = mocpack.read(real(WALK))
    back = there_and_back(Keysine(max_error=bound), clip)
    assert promised_error(clip, back).max <= bound
    assert Unrest.of(clip, back, bound).worst <= 1


def test_a_training_clip_is_smaller_on_a_grid_where_the_bound_is_tight(real):
    clip = mocpack.read(real("cmu-train/11_01")).frames(1, 361)
    sizes = [len(Keysine(max_error="0.1mm", mode=m).encode(clip)) for m in ("grid", "transform")]
    assert sizes[0] < 0.9 * sizes[1]


def test_a_dog_is_predicted(real):
    clip = mocpack.read(real(DOG))
    clip = clip.frames(1, min(clip.frame_count, 300))
    back = there_and_back(IkPredict(), clip)
    assert np.linalg.norm(back.positions() - clip.positions(), axis=-1).mean() < 0.002


@pytest.mark.parametrize("name", [WALK, DOG])
def test_six_significant_digits_come_back(real, name):
    clip = mocpack.read(real(name))
    back = there_and_back(Lossless(), clip)
    assert back.channels.tobytes() == clip.channels.tobytes()
    assert np.array_equal(back.rotations, clip.rotations)


@pytest.mark.parametrize("name", ["mesh/horse-gallop", "mesh/chickenCrossing"])
def test_a_real_mesh_is_packed_by_splines(real, name):
    clip = mocpack.read(real(name)).frames(0, 40)
    data = mocpack.encode(clip, LatentSpline(components=20, control_points=20))
    back = mocpack.decode(data)
    assert len(data) < clip.vertices.size  # an eighth of its float64
    error = np.sqrt(np.mean((back.vertices - clip.vertices) ** 2))
    assert error < 0.05 * np.ptp(clip.vertices)
