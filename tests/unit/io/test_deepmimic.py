"""Motions of DeepMimic's humanoid."""

import json

import numpy as np
import pytest

from mocpack.errors import CorruptionError, FormatError, MocpackError
from mocpack.io.deepmimic import NUMBERS_PER_FRAME, skeleton
from naming import naming
from reading import read_bytes


def frame(duration=1 / 30, place=(0, 0.9, 0)):
    """Standing upright: every rotation is (1, 0, 0, 0), every hinge is straight."""
    pose = []
    for width in (4, 4, 4, 4, 1, 4, 4, 1, 4, 1, 4, 4, 1):
        pose += [1, 0, 0, 0] if width == 4 else [0]
    return [duration, *place, *pose]


def motion(frames, loop="wrap"):
    return json.dumps({"Loop": loop, "Frames": frames}).encode()


def test_the_body_stands_on_its_feet():
    clip = read_bytes(motion([frame(), frame(0)]))
    assert (clip.frame_count, clip.header.loop) == (2, True)
    assert clip.frame_rate == pytest.approx(30)
    heights = dict(zip(clip.skeleton.names, clip.positions()[0, :, 1], strict=True))
    assert heights["left_ankle"] == pytest.approx(0.9 - 0.421546 - 0.40987)
    assert heights["neck"] == pytest.approx(0.9 + 0.236151 + 0.223894)
    assert not read_bytes(motion([frame(), frame(0)], "none")).header.loop


def test_a_hinge_turns_about_z_and_quaternions_begin_with_w():
    bent = frame()
    bent[20] = -np.pi / 2  # the right knee, after root, chest, neck and the right hip
    bent[4:8] = [0.5**0.5, 0, 0.5**0.5, 0]  # the root, a quarter turn about y
    clip = read_bytes(motion([bent, bent]))
    shin = np.subtract(*clip.positions()[0, [5, 4]])
    # bent backwards, along -x, which the root's turn takes to z
    np.testing.assert_allclose(shin, [0, 0, 0.40987], atol=1e-9)


def test_durations_that_differ_are_uneven_times():
    clip = read_bytes(motion([frame(0.1), frame(0.3), frame(0)]))
    np.testing.assert_allclose(clip.times, [0, 0.1, 0.4])
    assert read_bytes(motion([frame(0.033332), frame(0.033333), frame(0)])).take_data.times is None


def test_one_frame_is_a_pose():
    assert read_bytes(motion([frame(0)])).frame_count == 1


def test_a_unit_scales_the_body_too():
    clip = read_bytes(motion([frame(), frame(0)]), unit=0.01)
    np.testing.assert_allclose(clip.skeleton.offsets, 0.01 * skeleton().offsets)


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (motion([]), "frames"),
        (motion([frame()[:-1]]), f"{NUMBERS_PER_FRAME} 43"),
        (motion([frame(), frame()[:9]]), "9 44"),
        (motion([frame(0), frame(0)]), "frame 0 0"),
        (motion([["x", *frame()[1:]]]), "Frames"),
        (motion([[10**400, *frame()[1:]]]), "Frames 1e308"),
        (motion([frame(), frame(float("nan"))]), "Frames"),
        (motion([frame(place=(1e30, 0, 0))]), "translations"),
        (b'{"Frames": ' + b"[" * 100_000, "JSON"),
        (b'{"Frames": [[1, 2', "JSON"),
        (b'{"Frames": 3}', "Frames"),
    ],
)
def test_errors_are_sentences(data, named):
    with pytest.raises((CorruptionError, FormatError), match=naming(named)) as caught:
        read_bytes(data, name="x.txt")
    assert isinstance(caught.value, MocpackError)
