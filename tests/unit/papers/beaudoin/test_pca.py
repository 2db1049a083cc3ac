import numpy as np
import pytest

import mocpack
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.errors import UsageError
from mocpack.metrics import measure
from mocpack.papers.beaudoin.codec.pca import Pca, principal_directions
from mocpack.testing import turn, walk
from mocpack.testing.motions import chain
from naming import naming


def round_trip(codec, clip):
    payload = codec.encode(clip)
    return len(payload), codec.decode(payload, clip.header)


def test_more_components_cost_more_and_err_less():
    clip = walk(2.0)
    found = [round_trip(Pca(q), clip) for q in (1, 4, 12, 40)]
    sizes = [size for size, _ in found]
    errors = [measure("eps_x_cm", clip, back) for _, back in found]
    assert sizes == sorted(sizes)
    assert errors == sorted(errors, reverse=True)


def test_all_components_are_exact_to_sixteen_bits():
    clip = walk(2.0)
    _, back = round_trip(Pca(1000), clip)
    assert measure("eps_x_cm", clip, back) < 0.005


def test_the_root_is_not_projected():
    clip = turn(2.0)
    _, back = round_trip(Pca(1), clip)
    np.testing.assert_allclose(back.translations, clip.translations, atol=1e-4)


def test_directions_of_a_plane_by_hand():
    # three signals that only ever move along (3, 0, 4)/5
    time = np.sin(np.linspace(0, 7, 50))
    directions = principal_directions(np.outer([3.0, 0.0, 4.0], time) + 1.0, 1)
    np.testing.assert_allclose(directions, [[0.6, 0.0, 0.8]], atol=1e-12)


def test_a_root_far_away_keeps_its_place():
    clip = chain(3, 30)
    far = mocpack.Clip.build(clip.skeleton, clip.rotations, clip.translations + 1e6, frame_rate=30)
    _, back = round_trip(Pca(9), far)
    np.testing.assert_allclose(back.translations, far.translations, atol=1e-4)


@pytest.mark.parametrize("components", [0, -3, 70_000])
def test_impossible_numbers_of_components_are_refused(components):
    with pytest.raises(UsageError, match=naming("components 1..65535")):
        mocpack.parse_codec(f"pca:components={components}")


def test_running_needs_about_what_the_paper_says():
    clip = load_clip("cmu/09_01", COMMITTED).frames(1, 149)
    size, back = round_trip(Pca(10), clip)
    assert measure("eps_x_cm", clip, back) < 1.4
    assert size < 1.25 * 6.02 * 1024
