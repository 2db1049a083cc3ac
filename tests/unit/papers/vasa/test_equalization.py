"""Lagrangian equalization: noise and kinematics agree, and it reduces the error."""

import numpy as np
import pytest

from mocpack.coding.planes import encode_plane
from mocpack.model.clip import measure_error
from mocpack.model.dofs import from_dofs, to_dofs
from mocpack.papers.vasa.codec.equalization import kinematic_gram, noise_sensitivities
from mocpack.testing import jump, walk
from reference.jacobian import kinematic_sensitivities

CLIP = walk(3.0, frame_rate=40)


def distances(a, b):
    return np.linalg.norm(a.positions() - b.positions(), axis=-1)


METRICS = {
    "mean": (lambda a, b: distances(a, b).mean(), "joints", 16),
    "rms": (lambda a, b: np.sqrt((distances(a, b) ** 2).mean()), "joints", 16),
    "max": (lambda a, b: measure_error(a, b).max, "shell", 16),
}


@pytest.mark.parametrize("norm", METRICS)
def test_noise_and_kinematics_agree_within_5_percent(norm):
    metric, points, seeds = METRICS[norm]
    known = kinematic_sensitivities(CLIP, norm=norm, points=points)
    found = noise_sensitivities(CLIP, metric, seeds=range(seeds))
    felt = (np.ptp(to_dofs(CLIP), axis=0) > 1e-8) & (known > 1e-6)
    assert felt.sum() > 20
    np.testing.assert_allclose(found[felt], known[felt], rtol=0.05)


def test_the_diagonal_of_the_gram_matrix_is_the_square_of_the_rms_sensitivities():
    known = kinematic_sensitivities(CLIP, norm="rms")
    np.testing.assert_allclose(
        np.sqrt(np.diag(kinematic_gram(CLIP, frames=None))), known, atol=1e-8
    )


def test_the_hips_have_a_higher_sensitivity_than_a_wrist():
    columns, felt = CLIP.skeleton.columns, kinematic_sensitivities(CLIP)
    hips, wrist = (
        felt[columns.is_angle & (columns.joints == CLIP.skeleton.index(name))].max()
        for name in ("Hips", "LeftForeArm")
    )
    assert hips > 10 * wrist > 0


def test_a_column_that_does_not_move_has_no_noise_sensitivity():
    matrix = to_dofs(CLIP)
    matrix[:, 5] = 0.25
    found = noise_sensitivities(from_dofs(matrix, CLIP.header), METRICS["mean"][0])
    assert found[5] == 0
    assert found[4] > 0


def test_the_literal_formula_weighs_a_column_by_its_own_spread_too():
    metric = METRICS["mean"][0]
    spread = 0.01 * to_dofs(CLIP).std(axis=0)
    literal = noise_sensitivities(CLIP, metric, literal=True)
    np.testing.assert_allclose(literal, spread * noise_sensitivities(CLIP, metric))


@pytest.mark.parametrize("clip", [CLIP, jump(3.0)], ids=["walk", "jump"])
def test_in_front_of_a_plain_quantizer_it_lowers_the_error_at_equal_size(clip):
    matrix = to_dofs(clip)
    felt = np.maximum(kinematic_sensitivities(clip, norm="rms", points="shell"), 1e-4)

    def coded(column_weights):
        whole = np.round(matrix * column_weights).astype(int)
        size = len(encode_plane(np.diff(whole, axis=0, prepend=0)))
        back = from_dofs(whole / column_weights, clip.header)
        return size, distances(clip, back).mean()

    curve = [coded(np.full(len(felt), 2.0**k)) for k in range(3, 10)]
    sizes, errors = np.log(np.array(curve)).T
    for lam in (0.02, 0.005):
        size, error = coded(felt / lam)
        assert np.log(error) < np.interp(np.log(size), sizes, errors) - 0.2
