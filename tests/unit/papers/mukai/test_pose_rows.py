"""Rows of numbers to poses: the native kernel equals the reference."""

import numpy as np

from mocpack import _core
from mocpack.model import rotations
from mocpack.papers.mukai.codec import geodesic
from mocpack.papers.mukai.codec.pose_rows import SkeletonForm
from mocpack.testing import hard_clips, walk


def from_vectors(v, mean, kind):
    """Return the rotations (T, 4) of vectors; inverts `geodesic.to_vectors`."""
    if kind == geodesic.CONSTANT:
        return np.tile(mean, (len(v), 1))
    if kind == geodesic.QUATERNION:
        return rotations.normalize(v)
    return rotations.multiply(mean, rotations.from_rotvec(v))


def test_rows_of_a_clip_give_the_clip_back():
    for clip in (walk(), hard_clips()["full turns"], hard_clips()["every joint translates"]):
        form = SkeletonForm.of(clip, "kinematic")
        turns, places = form.pose(form.rows(clip))
        signs = np.sign(np.sum(turns * clip.rotations, axis=-1, keepdims=True))
        np.testing.assert_allclose(signs * turns, clip.rotations, atol=1e-9)
        np.testing.assert_allclose(places, clip.translations, atol=1e-12)


def test_the_kernel_is_the_numpy_decoder():
    rng = np.random.default_rng(1)
    kinds = np.array([geodesic.TANGENT, geodesic.CONSTANT, geodesic.QUATERNION], np.int32)
    means = rng.normal(size=(3, 4))
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    scales = np.array([0.5, 1.0, 2.0])
    rows = rng.normal(size=(6, 7))
    found = np.asarray(_core.row_rotations(rows, kinds, means, scales))
    for j, (start, stop) in enumerate(((0, 3), (3, 3), (3, 7))):
        vectors = rows[:, start:stop] / scales[j]
        wanted = from_vectors(vectors, means[j], int(kinds[j]))
        np.testing.assert_allclose(found[:, j], wanted, atol=1e-15)
