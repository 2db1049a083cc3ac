"""The capsule body: it follows its bones, and SkTED follows its surface."""

import numpy as np

from mocpack.papers.vasa.tables import reproduce as vasa
from mocpack.papers.vasa.tables import sk_ted_and_sted
from mocpack.papers.vasa.tables.capsule_body import capsule_body, skin
from mocpack.testing import still, walk
from mocpack.testing.motions import humanoid
from naming import names


def test_every_vertex_is_held_whole():
    body = capsule_body(humanoid())
    np.testing.assert_allclose(body.shares.sum(axis=1), 1)
    assert body.shares.min() >= 0
    assert body.faces.max() == len(body.holders) - 1


def test_a_body_that_moves_as_one_keeps_its_shape():
    clip = still(3)
    surface = skin(clip, capsule_body(clip.skeleton)).vertices
    np.testing.assert_allclose(surface[0], surface[2], atol=1e-12)


def test_the_surface_stays_near_the_bones():
    clip = walk(0.5)
    surface = skin(clip, capsule_body(clip.skeleton)).vertices
    bones = clip.positions()
    reach = np.linalg.norm(surface[:, :, np.newaxis] - bones[:, np.newaxis], axis=-1).min(axis=2)
    assert reach.max() < 0.35


def test_sk_ted_follows_the_temporal_part_of_sted_on_the_body():
    points = sk_ted_and_sted._both_teds(walk(1.0, frame_rate=120))
    sk, st = (np.ravel(values) for values in zip(*points.values(), strict=True))
    assert len(sk) == 15
    assert np.corrcoef(sk, st)[0, 1] > 0.99


def test_tables_say_when_none_of_their_clips_is_here(tmp_path, capsys):
    vasa.table_2(tmp_path, tmp_path)
    assert names(capsys.readouterr().out, "Table 2: clips")


def test_curves_are_compared_at_equal_size():
    rows = [
        {"part": "all", "bytes": 1000, "me": 4.0},
        {"part": "all", "bytes": 4000, "me": 1.0},
    ]
    assert vasa._interpolated(rows, "all", "me", 2000) == np.float64(2.0).item()
