"""Tracks of one axis: files may hold them, and both decoders read them."""

import numpy as np
import pytest

from mocpack import rotations
from mocpack.clip import Clip, promised_error
from mocpack.codecs.keysine import Keysine, planning
from mocpack.codecs.keysine.decoding import reader
from mocpack.codecs.keysine.payload import read_head
from mocpack.codecs.keysine.tracks import BASIS, MEAN, ROTATION_KIND, Rotation
from mocpack.skeleton import Skeleton
from mocpack.testing.reference import keysine as reference

AXIS = np.array([0.6, 0.0, 0.8])
REST = rotations.from_rotvec(np.array([0.2, -0.4, 0.1]))


@pytest.fixture
def clip():
    skeleton = Skeleton(
        ("hip", "knee", "foot"), (-1, 0, 1), np.array([[0, 0, 0], [0, -0.4, 0], [0, -0.4, 0.0]])
    )
    t = np.arange(150) / 60
    turns = np.tile([0.0, 0, 0, 1], (len(t), 3, 1))
    bent = rotations.from_rotvec(0.7 * np.sin(3 * t)[:, np.newaxis] * AXIS)
    turns[:, 1] = rotations.multiply(REST, bent)
    turns[:, 0] = rotations.from_rotvec(0.3 * np.cos(2 * t)[:, np.newaxis] * [0, 1.0, 0])
    return Clip.build(skeleton, turns, np.zeros((len(t), 1, 3)), frame_rate=60)


@pytest.fixture
def hinged(monkeypatch):
    """Let the plan name the knee a hinge, as an encoder that knows the body would."""
    made = planning.plan_table

    def plan_table(clip, bits, basis, unit, *, key_step):
        table = made(clip, bits, basis, unit, key_step=key_step)
        grid = 0.5**bits
        turn = np.cross([1.0, 0, 0], AXIS)
        angle = np.arccos(AXIS[0]) / np.linalg.norm(turn)
        table[1, ROTATION_KIND] = Rotation.HINGE
        table[1, MEAN] = np.round(rotations.as_rotvec(REST) / grid)
        table[1, BASIS] = np.round(angle * turn / grid)
        return table

    monkeypatch.setattr(planning, "plan_table", plan_table)


@pytest.mark.usefixtures("hinged")
@pytest.mark.parametrize("how", [{}, {"layers": 2}], ids=["one layer", "two"])
def test_a_hinge_has_one_channel_and_comes_back(clip, how):
    codec = Keysine(step=1e-3, effort="fast", **how)
    payload = codec.encode(clip)
    head = read_head(reader(payload), clip.header)
    assert head.table[1, ROTATION_KIND] == Rotation.HINGE
    assert len(planning.first_channels(head.table)) == 3 + 1
    back, plain = codec.decode(payload, clip.header), reference.decode(payload, clip.header)
    np.testing.assert_allclose(back.rotations, plain.rotations, rtol=0, atol=1e-12)
    assert promised_error(clip, back).max < 3e-3


@pytest.mark.usefixtures("hinged")
def test_a_hinge_turns_about_its_axis_alone(clip):
    codec = Keysine(step=1e-3, effort="fast")
    back = codec.decode(codec.encode(clip), clip.header)
    vectors = rotations.as_rotvec(
        rotations.multiply(rotations.conjugate(REST), back.rotations[:, 1])
    )
    across = vectors - np.outer(vectors @ AXIS, AXIS)
    assert np.abs(across).max() < 1e-4


def test_a_hinge_is_smaller_than_three_axes(clip, hinged, request):
    one = len(Keysine(step=1e-3, effort="fast").encode(clip))
    request.getfixturevalue("monkeypatch").undo()
    assert one < len(Keysine(step=1e-3, effort="fast").encode(clip))
