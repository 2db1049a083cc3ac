"""A few cases of the attack on every run; `make attack` tries many new ones."""

import attack_clips
import attack_kinematics as kinematics
import numpy as np
import pytest
import run_attack

from mocpack import _api
from mocpack.testing.motions import walk

SEEDS = (3, 7, 12, 16, 20, 59, 66, 81, 86, 92, 98, 105, 107, 126, 137, 153)


@pytest.mark.parametrize("seed", SEEDS)
def test_promises_hold_on_a_random_clip(seed):
    outcome = run_attack.attack(seed)
    assert outcome.verdict not in run_attack.BROKEN, outcome.text


def test_a_seed_makes_the_same_case_again():
    one, same = attack_clips.make_case(11), attack_clips.make_case(11)
    assert np.array_equal(one.clip.rotations, same.clip.rotations)
    assert (one.target, one.effort, one.codec) == (same.target, same.effort, same.codec)


def test_a_joint_that_is_displaced_is_measured_by_how_far():
    clip = walk(0.1)
    places = clip.translations.copy()
    places[2, 0] += (0.03, 0.0, 0.04)
    moved = type(clip)(clip.header, clip.rotations, places)
    largest, mean = kinematics.measure_errors(clip, moved)
    assert largest == pytest.approx(0.05)
    assert mean == pytest.approx(0.05 / clip.frame_count)


def test_a_turn_of_the_root_is_measured_at_its_shell_and_as_an_angle():
    clip = walk(0.1)
    turns = clip.rotations.copy()
    turns[0, 4] = attack_clips.multiply(turns[0, 4], np.array([np.sin(0.05), 0, 0, np.cos(0.05)]))
    turned = type(clip)(clip.header, turns, clip.translations)
    assert kinematics.measure_angle(clip, turned) == pytest.approx(0.1)
    head = np.linalg.norm(clip.skeleton.end_sites[0])
    assert kinematics.measure_errors(clip, turned)[0] == pytest.approx(2 * np.sin(0.05) * head)


def test_a_file_that_misses_its_bound_is_a_broken_promise(monkeypatch):
    case = next(
        case for case in map(attack_clips.make_case, range(99)) if "max_error" in case.target
    )
    decode = _api.decode

    def decode_elsewhere(data):
        clip = decode(data)
        return type(clip)(clip.header, clip.rotations, clip.translations + 2.0)

    monkeypatch.setattr(_api, "decode", decode_elsewhere)
    assert run_attack.attack(case.seed).verdict == "bound broken"


def test_an_exception_while_encoding_is_a_broken_promise(monkeypatch):
    def fail(*args, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(_api, "encode_measured", fail)
    assert run_attack.attack(3).verdict == "failed"
