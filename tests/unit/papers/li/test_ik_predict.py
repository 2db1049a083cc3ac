import numpy as np
import pytest

from mocpack import Clip, Skeleton, decode, encode
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.errors import TruncatedError, UnsupportedClipError
from mocpack.model import rotations
from mocpack.papers.li.codec.bodies import find_still
from mocpack.papers.li.codec.bone_steps import direction_steps, twist_steps
from mocpack.papers.li.codec.chains import find_chains
from mocpack.papers.li.codec.ik_predict import IkPredict
from mocpack.testing import hard_clips, turn, walk
from naming import naming
from reference.ik_predict import IkLoop, LoopSettings

WALK = walk(2.0)
PRINTED = {"memory": 0.0, "rounding": 0.5, "extrapolate": False, "compensate": False}


def round_trip(codec, clip):
    return codec.decode(codec.encode(clip), clip.header)


def errors(clip, back):
    return np.linalg.norm(back.positions() - clip.positions(), axis=-1)


def long_motion(frames):
    """Walk and spin there and back, over and over."""
    parts = [walk(4.0), turn(4.0, turns=2)]
    local = np.concatenate([p.rotations[::way] for p in parts for way in (1, -1)])
    places = np.concatenate([p.translations[::way] for p in parts for way in (1, -1)])
    repeat = -(-frames // len(local))
    return Clip.build(
        WALK.skeleton,
        np.tile(local, (repeat, 1, 1))[:frames],
        np.tile(places, (repeat, 1, 1))[:frames],
        frame_rate=60,
    )


def limb():
    """A root and three bones, none along an axis."""
    skeleton = Skeleton(
        ("root", "upper", "lower", "foot"),
        (-1, 0, 1, 2),
        np.array([[0, 0, 0], [0.1, 0, 0], [0.05, -0.4, 0.02], [0, -0.35, -0.1]]),
        np.array([[0.0, -0.05, 0.15]]),
        (3,),
    )
    local = rotations.from_rotvec(np.random.default_rng(2).normal(size=(3, 4, 3)) * 0.5)
    return Clip.build(skeleton, local, np.zeros((3, 3)))


def spherical(angles, lengths):
    """The paper's equation (18): the end of a chain of bones, polar angles and azimuths (N, 2)."""
    polar, azimuth = angles.T
    ways = [np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)]
    return np.stack(ways, axis=1), lengths @ np.stack(ways, axis=1)


def test_the_prediction_is_the_pseudo_inverse_of_the_papers_jacobian():
    clip = limb()
    codec = IkPredict(step=1e-5, k=0.0, damping=0.0, **PRINTED)
    stream = codec.stream(clip.header, find_still(clip))
    stream.restart(stream.intra_row(clip.rotations[0], clip.translations[0]))
    bodies, lengths = stream.bodies, stream.bodies.lengths[1:]
    ways = rotations.rotate(stream.decoded()[0], bodies.axes)[1:]
    change = np.array([3, -5, 4])  # of the end, in steps; all other integers are zero
    row = np.zeros((1, len(stream.classes)), np.int32)
    row[0, stream.classes == 3] = change
    world, _ = stream.decode(row, np.zeros((1, stream.twist_count), np.int32))
    moved = rotations.rotate(world[0], bodies.axes)[1:] - ways

    angles = np.stack([np.arccos(ways[:, 2]), np.arctan2(ways[:, 1], ways[:, 0])], axis=1)
    jacobian, small = np.zeros((3, 6)), 1e-6
    columns = []
    for k in range(6):
        step = np.zeros(6)
        step[k] = small / (np.sin(angles[k // 2, 0]) if k % 2 else 1)  # arcs, not angles
        ahead, end = spherical(angles + step.reshape(3, 2), lengths)
        jacobian[:, k] = (end - spherical(angles, lengths)[1]) / small
        columns.append((ahead - ways) / small)
    arcs = np.linalg.pinv(jacobian) @ (change * codec.step)
    expected = sum(arc * column for arc, column in zip(arcs, columns, strict=True))
    np.testing.assert_allclose(moved, expected, atol=1e-7)
    assert np.abs(moved).max() > 1e-4


def settings(codec, clip, bodies):
    """The constants of docs/codecs/ik-predict.md for a codec's parameters."""
    coarse, weights = codec.joint_scale * codec.step, np.ones(len(bodies))
    bend = 10 * clip.frame_time**2 / codec.step
    chains = {chain[0]: chain for chain in find_chains(bodies)}
    inner = {b for chain in chains.values() for b in chain[1:]}
    return LoopSettings(
        [chains.get(b, [b]) for b in range(len(bodies)) if b not in inner],
        codec.step,
        direction_steps(bodies, coarse, weights),
        twist_steps(bodies, coarse, weights, codec.twist_scale),
        codec.k,
        1 - min(max(0.17 * bend**0.5, 0.01), 1) if codec.memory is None else codec.memory,
        codec.damping,
        codec.extrapolate,
    )


@pytest.mark.parametrize("params", [{}, {"k": 2.0, **PRINTED}], ids=["ours", "as printed"])
@pytest.mark.parametrize("name", ["walk", "every joint translates", "flips of 180 degrees"])
def test_the_core_decodes_as_the_specification_says(name, params):
    clip = hard_clips()[name]
    codec, still = IkPredict(**params), find_still(clip)
    stream = codec.stream(clip.header, still)
    stream.restart(stream.intra_row(clip.rotations[0], clip.translations[0]))
    loop = IkLoop(stream.bodies, settings(codec, clip, stream.bodies), *stream.decoded())
    places, twists = stream.encode(clip.rotations[1:], clip.translations[1:])
    stream.restart(stream.intra_row(clip.rotations[0], clip.translations[0]))
    world, slides = stream.decode(places, twists)
    for t in range(len(places)):
        loop.decode(places[t], twists[t])
        np.testing.assert_allclose(loop.slides, slides[t], atol=1e-12)
        assert rotations.angle_between(loop.world, world[t]).max() < 1e-8


def test_the_end_of_a_chain_goes_where_it_was_coded():
    clip = limb()
    codec = IkPredict(step=1e-4, **PRINTED)
    back = round_trip(codec, clip)
    # the last bone points at the coded end from its own decoded near end
    ends = [
        c.positions()[:, 3] + rotations.rotate(c.world()[1][:, 3], c.skeleton.end_sites[0])
        for c in (clip, back)
    ]
    assert np.linalg.norm(ends[0] - ends[1], axis=1).max() < 4e-4


@pytest.mark.parametrize("k", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("extra", [{}, PRINTED], ids=["ours", "as printed"])
def test_ten_thousand_frames_do_not_drift(k, extra):
    clip = long_motion(10_000)
    found = errors(clip, round_trip(IkPredict(k=k, **extra), clip)).reshape(10, -1)
    assert found.mean() < 0.0012
    assert found[-1].mean() < 1.05 * found[0].mean()


def test_encoder_and_decoder_end_in_the_same_state():
    clip = long_motion(10_000)
    codec = IkPredict()
    sender, receiver = (codec.stream(clip.header, find_still(clip)) for _ in range(2))
    first = sender.intra_row(clip.rotations[0], clip.translations[0])
    sender.restart(first)
    receiver.restart(first)
    receiver.decode(*sender.encode(clip.rotations[1:], clip.translations[1:]))
    for a, b in zip(sender.decoded(), receiver.decoded(), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "name", ["walk", "full turns", "far from the origin", "noise", "300 joints"]
)
def test_error_falls_to_nothing_with_the_step(name):
    clip = hard_clips()[name]
    found = [errors(clip, round_trip(IkPredict(step=s), clip)).max() for s in (1e-2, 1e-4, 1e-6)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 1e-4


def test_ends_of_chains_are_finer_than_the_joints_before():
    found = errors(WALK, round_trip(IkPredict(joint_scale=4.0), WALK)).mean(axis=0)
    knee, foot = (WALK.skeleton.index(name) for name in ("LeftLeg", "LeftToe"))
    assert found[foot] < found[knee]


def test_twist_can_be_left_out_or_cut_off_and_positions_stay():
    codec = IkPredict()
    whole = round_trip(codec, WALK)
    without = round_trip(IkPredict(twist=False), WALK)
    np.testing.assert_allclose(without.positions(), whole.positions(), atol=1e-7)
    data = encode(WALK, codec)
    cut = decode(data[:-5], partial=True)
    np.testing.assert_allclose(cut.positions(), whole.positions(), atol=1e-7)
    with pytest.raises(TruncatedError):
        decode(data[:-5])


def test_a_hinge_stays_a_hinge():
    clip = hard_clips()["joints with fewer axes"]
    back = round_trip(IkPredict(), clip)
    axis = clip.skeleton.axes[1]
    local = back.rotations[:, 1]
    turned = rotations.multiply(rotations.multiply(rotations.conjugate(axis), local), axis)
    assert np.abs(turned[:, 1:3]).max() < 1e-12
    assert errors(clip, back).max() < 0.01


def test_real_clips_of_every_kind_are_coded():
    for name in ("cmu/16_32", "asfamc/02_01"):
        clip = load_clip(name, COMMITTED).frames(1, 300)
        assert errors(clip, round_trip(IkPredict(), clip)).mean() < 0.002


def test_a_step_that_is_too_fine_is_a_clear_error():
    clip = limb()
    far = Clip.build(clip.skeleton, clip.rotations, np.array([[0, 0, 0], [2e3, 0, 0], [0, 0, 0]]))
    with pytest.raises(UnsupportedClipError, match=naming("step")):
        IkPredict(step=1e-6).encode(far)


@pytest.mark.parametrize(
    "wrong",
    [{"step": 0}, {"k": 3}, {"memory": 1}, {"chains": "arms"}, {"twist": 0}, {"rounding": 0.6}],
)
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        IkPredict(**wrong)
