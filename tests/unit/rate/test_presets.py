"""Presets: errors in millimeters for people, scaled for bodies of other sizes."""

from dataclasses import replace

import numpy as np
import pytest

import mocpack
from mocpack.errors import UnsupportedClipError, UsageError
from mocpack.rate.presets import PERSON_SIZE_M, PRESETS, body_size, preset_bound
from mocpack.testing import walk
from mocpack.testing.motions import vertex_wave
from naming import names, naming


def scaled(clip, factor):
    skeleton = replace(
        clip.skeleton,
        offsets=factor * clip.skeleton.offsets,
        end_sites=factor * clip.skeleton.end_sites,
    )
    return mocpack.Clip.build(
        skeleton, clip.rotations, factor * clip.translations, frame_time=clip.frame_time
    )


def test_presets_go_from_fine_to_coarse():
    bounds = list(PRESETS.values())
    assert list(PRESETS) == ["archive", "edit", "train", "game", "web"]
    assert bounds == sorted(bounds)


def test_a_person_is_about_as_large_as_a_person():
    assert PERSON_SIZE_M / 1.3 < body_size(walk(0.1)) < PERSON_SIZE_M * 1.3


@pytest.mark.parametrize("preset", PRESETS)
def test_the_bound_is_kept_and_stated_in_the_file(preset):
    clip = walk(0.5)
    data = mocpack.encode(clip, "keysine:effort=fast", preset=preset)
    assert mocpack.compare(clip, mocpack.decode(data))["max_error_mm"] <= 1000 * PRESETS[preset]
    assert data == mocpack.encode(clip, "keysine:effort=fast", max_error=PRESETS[preset])


@pytest.mark.parametrize("factor", [0.1, 0.3, 3.0, 100.0])
def test_a_body_far_from_a_persons_size_gets_the_same_share_of_it(factor):
    clip = walk(0.1)
    expected = PRESETS["game"] * factor * body_size(clip) / PERSON_SIZE_M
    assert preset_bound("game", scaled(clip, factor)) == pytest.approx(expected)


@pytest.mark.parametrize("factor", [0.6, 1.0, 1.7])
def test_children_and_giants_are_persons(factor):
    assert preset_bound("game", scaled(walk(0.1), factor)) == PRESETS["game"]


@pytest.mark.parametrize("factor", [0.01, 100.0])
def test_an_armature_scale_is_a_unit_and_no_size(factor):
    clip = walk(0.1)
    scales = np.ones((len(clip.skeleton), 3))
    scales[0] = factor
    grown = scaled(clip, 1 / factor)
    rig = mocpack.Clip.build(
        replace(grown.skeleton, scales=scales),
        clip.rotations,
        clip.translations,
        frame_time=clip.frame_time,
    )
    np.testing.assert_allclose(rig.positions(), clip.positions(), atol=1e-9)
    assert body_size(rig) == pytest.approx(body_size(clip))
    assert preset_bound("web", rig) == PRESETS["web"]


def test_the_position_of_a_body_does_not_change_its_size():
    clip = walk(0.1)
    far = mocpack.Clip(clip.header, clip.rotations, clip.translations + 500.0)
    assert body_size(far) == pytest.approx(body_size(clip))


def test_a_mesh_is_measured_across():
    mesh = vertex_wave()
    assert body_size(mesh) == pytest.approx(np.linalg.norm(np.ptp(mesh.vertices[0], axis=0)))


def test_a_preset_beside_another_target_is_refused():
    with pytest.raises(UsageError, match=naming("preset 'game'")):
        mocpack.encode(walk(0.1), preset="game", max_error="1mm")


def test_an_unknown_preset_is_answered_with_the_known_ones():
    with pytest.raises(UsageError, match=naming("preset archive edit train game web 'film'")):
        mocpack.encode(walk(0.1), preset="film")


def test_a_skeleton_codec_rejects_a_mesh_and_names_the_codecs_for_meshes():
    takers = [name for name in mocpack.codec_ids() if "vertices" in mocpack.parse_codec(name).kinds]
    with pytest.raises(
        UnsupportedClipError, match=naming(" ".join(["keysine", *takers]))
    ) as caught:
        mocpack.encode(vertex_wave(), "keysine", max_error="1mm")
    others = set(mocpack.codec_ids()) - {"keysine", *takers}
    assert not any(names(str(caught.value), name) for name in others)
