"""The codec rd-pca: quality, switches, windows, hostile bytes, and its search."""

from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest

import mocpack
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.codec import Goal, Payload
from mocpack.errors import (
    CorruptionError,
    FormatError,
    TruncatedError,
    UsageError,
)
from mocpack.model.clip import measure_error
from mocpack.model.rotations import from_euler
from mocpack.papers.vasa.codec import RdPca, kinematic_gram, starts
from mocpack.papers.vasa.codec import payload as layout
from mocpack.rate.tuning import tune
from mocpack.testing import jump, still, walk
from naming import naming

CLIP = walk(4.0, seed=3)
SHORT = walk(1.0, seed=3)
STARTS = ("COLUMNS", "POSES", "TRAJECTORIES", "FRAMES")


def round_trip(codec, clip=CLIP):
    payload = codec.encode(clip)
    return payload, codec.decode(payload, clip.header)


def mean_error(codec, clip=CLIP):
    _, back = round_trip(codec, clip)
    return np.linalg.norm(back.positions() - clip.positions(), axis=-1).mean()


def waving():
    """Return a body that stands on its feet, sways a little and lifts an arm."""
    clip = still(60)
    time = np.linspace(0, 1, 60)
    rotations = clip.rotations.copy()
    angles = np.stack([time, 0.3 * time**2, 0 * time], axis=1)
    rotations[:, clip.skeleton.index("LeftArm")] = from_euler(angles, "ZYX")
    sway = 0.002 * np.sin(6 * time)[:, np.newaxis, np.newaxis] * [1.0, 0.0, 0.5]
    return mocpack.Clip.build(clip.skeleton, rotations, clip.translations + sway)


def reader(payload, log=None):
    def read(offset, size):
        if log is not None:
            log.append(size)
        if offset + size > len(payload):
            raise TruncatedError("past the end")
        return payload[offset : offset + size]

    return read


def test_the_error_vanishes_with_lambda():
    errors = [mean_error(RdPca(lam=lam)) for lam in (0.01, 0.001, 0.0001, 0.00001)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 2e-5


def test_even_the_skin_is_kept_when_lambda_is_small():
    _, back = round_trip(RdPca(lam=1e-5))
    assert measure_error(CLIP, back).max < 1e-3


@pytest.mark.parametrize("name", ["cmu/17_10", "cmu/49_02"])
def test_real_motion_round_trips_to_a_micrometer(name):
    clip = load_clip(name, COMMITTED).frames(1, 91)
    data = mocpack.encode(clip, RdPca(), max_error="1um")
    assert measure_error(clip, mocpack.decode(data)).max <= 1e-6
    assert len(data) < 0.75 * clip.rotations[..., :3].size * 8


def test_the_finest_setting_is_finer_than_a_nanometer_on_the_average():
    assert mean_error(RdPca(lam=1e-9), load_clip("cmu/09_01", COMMITTED).frames(1, 121)) < 1e-8


def test_files_shrink_as_lambda_grows():
    sizes = [len(RdPca(lam=lam).encode(CLIP)) for lam in (0.0005, 0.002, 0.008, 0.032)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 0.5 * sizes[0]


@pytest.mark.parametrize("le", ["full", "diagonal", "noise", "literal"])
@pytest.mark.parametrize("metric", ["me", "max"])
def test_every_equalization_round_trips_near(le, metric):
    assert mean_error(RdPca(lam=0.001, le=le, metric=metric), SHORT) < 0.02


def test_without_equalization_a_degree_counts_as_much_as_a_unit_of_length():
    centimeters = mocpack.Clip.build(SHORT.skeleton, SHORT.rotations, SHORT.translations, unit=0.01)
    coarse, fine = (mean_error(RdPca(lam=0.001, le="off"), c) for c in (SHORT, centimeters))
    assert fine < 0.2 * coarse


@pytest.mark.parametrize("le", ["full", "noise"])
def test_equalization_serves_a_metric_that_is_not_a_position(le):
    assert mean_error(RdPca(lam=0.001, le=le, metric="skted"), waving()) < 0.05


@pytest.mark.parametrize(
    "changes",
    [{"ppca": False}, {"tpca": False}, {"ppca": False, "tpca": False}, {"centered": True}],
    ids=str,
)
def test_every_part_can_be_left_out(changes):
    assert mean_error(RdPca(lam=0.001, **changes)) < 0.005


@pytest.mark.parametrize("clip", [CLIP, jump(4.0, frame_rate=120)], ids=["walk", "jump"])
def test_leaving_a_part_out_costs_error_at_equal_size(clip):
    def curve(codec):
        made = [round_trip(replace(codec, lam=0.001 * 2.0**k), clip) for k in range(2, 7)]
        sizes = [len(payload) for payload, _ in made]
        moved = [np.linalg.norm(b.positions() - clip.positions(), axis=-1) for _, b in made]
        return np.log(sizes)[::-1], np.log([m.mean() for m in moved])[::-1]

    whole = curve(RdPca())
    for part in ({"le": "off"}, {"ppca": False}, {"tpca": False}):
        without = curve(RdPca(**part))
        size = max(whole[0][2], without[0][2])
        assert size <= min(whole[0][-1], without[0][-1]), part
        assert np.interp(size, *without) > np.interp(size, *whole), part


def test_fewer_poses_make_a_smaller_and_worse_file():
    few, many = RdPca(lam=0.001, K=3), RdPca(lam=0.001, K=20)
    assert len(few.encode(CLIP)) < len(many.encode(CLIP))
    assert mean_error(few) > mean_error(many)


def test_the_share_p_is_the_part_of_variance_that_may_go():
    none, some = RdPca(lam=0.001, P=0.0), RdPca(lam=0.001, P=0.01)
    assert len(some.encode(CLIP)) < len(none.encode(CLIP))
    assert mean_error(some) > mean_error(none)


def test_p_can_be_a_share_of_magnitudes():
    clip = load_clip("cmu/17_10", COMMITTED).frames(1, 241)
    made = [
        round_trip(RdPca(lam=0.001, P=P, truncation="magnitudes"), clip) for P in (0.0, 0.02, 0.1)
    ]
    sizes = [len(payload) for payload, _ in made]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[2] < 0.8 * sizes[0]


def feet_first(clip):
    felt = np.ones((clip.frame_count, len(clip.skeleton)))
    felt[:, [clip.skeleton.index("LeftFoot"), clip.skeleton.index("RightFoot")]] = 400.0
    return kinematic_gram(clip, emphasis=felt, skin=0.1)


def foot_error(codec, clip, size):
    """Return the mean error of the feet, in meters, of a file of that size."""
    back = mocpack.decode(mocpack.encode(clip, codec, size=size))
    missed = np.linalg.norm(back.positions() - clip.positions(), axis=-1)
    return missed[:, [clip.skeleton.index("LeftFoot"), clip.skeleton.index("RightFoot")]].mean()


def test_the_codec_minimizes_a_user_metric():
    clip = load_clip("cmu/17_10", COMMITTED).frames(1, 241)
    own, plain = (foot_error(RdPca(metric=m), clip, "2500B") for m in (feet_first, "me"))
    assert own < 0.7 * plain


def test_the_form_of_the_mean_error_gives_what_its_name_gives():
    def me(clip):
        return kinematic_gram(clip, skin=0.1)

    assert RdPca(metric=me).encode(CLIP) == RdPca(metric="me").encode(CLIP)


def test_a_file_names_ones_own_metric_and_opens_without_it():
    data = mocpack.encode(SHORT, RdPca(metric=feet_first))
    with mocpack.open(data) as motion:
        assert motion.params["metric"] == "feet_first"
        assert motion.clip().frame_count == SHORT.frame_count


@pytest.mark.parametrize(
    ("form", "named"),
    [
        (np.eye(3), "metric own (3, 3) (66, 66)"),
        (np.full((CLIP.skeleton.channel_count,) * 2, np.nan), "metric own"),
        (-np.eye(CLIP.skeleton.channel_count), "metric own -1"),
        (np.zeros((CLIP.skeleton.channel_count,) * 2), "metric own 0"),
    ],
)
def test_a_metric_that_gives_no_form_gives_a_clear_error(form, named):
    def own(_):
        return form

    with pytest.raises(UsageError, match=naming(named)):
        RdPca(metric=own).encode(SHORT)


def test_trained_statistics_save_a_sixth_of_a_short_clip():
    clip = load_clip("cmu/17_10", COMMITTED).frames(1, 241)
    known = len(RdPca().encode(clip))
    even = {name: np.full_like(getattr(starts, name), 32) for name in STARTS}
    with mock.patch.multiple(starts, **even):
        assert known < 0.84 * len(RdPca().encode(clip))


@pytest.mark.parametrize("lam", [0.003, 1e-9])
def test_every_damaged_byte_of_the_head_is_a_format_error_or_a_clip(lam):
    codec, clip = RdPca(lam=lam), SHORT.frames(0, 20)
    payload = codec.encode(clip)
    length = layout.HEAD_LENGTH + int.from_bytes(payload[: layout.HEAD_LENGTH], "little")
    rng = np.random.default_rng(7)
    for at in rng.permutation(length)[:150]:
        damaged = bytearray(payload)
        damaged[at] ^= int(rng.integers(1, 256))
        with suppress(FormatError):
            assert codec.decode(bytes(damaged), clip.header).frame_count == 20


def with_flags(payload, flags):
    return payload[:5] + bytes([flags]) + payload[6:]


@pytest.mark.parametrize(
    ("flags", "named"),
    [(16, "flags 16 15"), (255, "flags 255 15")],
)
def test_impossible_flags_are_refused_with_a_clear_error(flags, named):
    payload = RdPca().encode(SHORT)
    with pytest.raises(CorruptionError, match=naming(named)):
        RdPca().decode(with_flags(payload, flags), SHORT.header)


def test_steps_that_are_no_numbers_are_refused_with_name_and_value():
    payload = RdPca(Q_l=2.0).encode(SHORT)
    damaged = payload[:6] + np.float32(np.nan).tobytes() + payload[10:]
    with pytest.raises(CorruptionError, match=naming("Q_l nan 0 10000")):
        RdPca().decode(damaged, SHORT.header)


def test_a_window_reads_the_head_and_its_own_chunks_only():
    codec = RdPca(L=30)
    payload = codec.encode(CLIP)
    head = layout.read_head(reader(payload), CLIP.frame_count, CLIP.skeleton.channel_count)
    sizes = []
    source = SimpleNamespace(size=len(payload), data=None, read=reader(payload, sizes))
    part = codec.open(Payload(source, 0, len(payload)), CLIP.header).frames(65, 85)
    assert sum(sizes) == head.offsets[0] + head.offsets[3] - head.offsets[2]
    whole = codec.decode(payload, CLIP.header).frames(65, 85)
    np.testing.assert_allclose(part.positions(), whole.positions(), atol=1e-9)


def test_the_layout_counts_every_byte_before_the_chunks():
    payload = RdPca(L=60).encode(CLIP)
    found = RdPca().open(payload, CLIP.header).layout()
    head = int.from_bytes(payload[:4], "little") + 4
    assert found.groups == 4
    assert found.index_bytes + found.model_bytes == head


def test_the_decoder_needs_none_of_the_parameters():
    payload = RdPca(lam=0.002, L=50, s=3, Q_l=2.0, centered=True).encode(CLIP)
    a = RdPca().decode(payload, CLIP.header)
    b = RdPca(lam=0.5, tpca=False).decode(payload, CLIP.header)
    np.testing.assert_array_equal(a.rotations, b.rotations)


def test_a_still_clip_takes_few_bytes():
    assert len(RdPca().encode(still(240))) < 300


def test_a_clip_far_away_and_long_keeps_its_place():
    away = mocpack.Clip.build(CLIP.skeleton, CLIP.rotations, CLIP.translations + 9e5)
    _, back = round_trip(RdPca(lam=1e-5), away)
    assert np.abs(back.translations - away.translations).max() < 1e-3


def test_bytes_after_the_last_chunk_are_corrupt():
    with pytest.raises(CorruptionError, match=naming("rd-pca")):
        RdPca().decode(RdPca().encode(CLIP) + b"\0", CLIP.header)


def test_random_bytes_are_a_format_error():
    rng = np.random.default_rng(5)
    for size in (0, 3, 10, 100, 1000):
        with pytest.raises(FormatError):
            RdPca().decode(rng.bytes(size), CLIP.header)


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"lam": 0.0}, "lam 1e-10..1000 0.0"),
        ({"K": 0}, "K 1..65535 0"),
        ({"P": 1.5}, "P 0..1 1.5"),
        ({"s": 300}, "s 1..255 300"),
        ({"L": 1}, "L 2..4096 1"),
        ({"metric": "nice"}, "metric me max skted 'nice'"),
        ({"le": "half"}, "le full diagonal noise literal off 'half'"),
        ({"truncation": "l1"}, "truncation variance magnitudes 'l1'"),
        ({"truncation": "magnitudes"}, "truncation=magnitudes P"),
        ({"metric": np.eye, "le": "noise"}, "le=noise metric"),
    ],
)
def test_impossible_parameters_are_refused_with_a_clear_error(params, named):
    with pytest.raises(ValueError, match=naming(named)):
        RdPca(**params)


def test_the_search_fits_the_size_and_beats_a_bad_start():
    # The default is nearly the best setting, so that rounding decides whether a search beats it.
    goal, start = Goal("me", size=2000), RdPca(Q_l=4.0)
    found = tune(SHORT, start, goal, effort="fast")
    unimproved = goal.best([t for t in found.trials if t.codec == replace(start, lam=t.codec.lam)])
    assert 0.9 * goal.size < found.best.size <= goal.size
    assert found.best.error < 0.9 * unimproved.error


def test_the_search_can_be_requested_an_error():
    found = tune(SHORT, RdPca(), Goal("me", error=0.3), effort="fast")
    assert 0.25 < found.best.error <= 0.3


def test_at_the_papers_size_the_default_beats_the_paper_on_17_10():
    clip = load_clip("cmu/17_10", COMMITTED)
    clip = clip.frames(1, clip.frame_count)
    codec = RdPca(lam=0.0036)
    data = mocpack.encode(clip, codec)
    assert len(data) <= 17_200
    assert 100 * mean_error(codec, clip) < 0.99


def test_a_file_of_an_untrained_coder_decodes_to_the_same_clip_and_is_larger():
    trained, untrained = (mocpack.encode(SHORT, RdPca(trained=t)) for t in (True, False))
    assert len(untrained) > len(trained)
    same = (mocpack.decode(file).rotations for file in (trained, untrained))
    assert np.array_equal(*same)


def test_an_open_loop_leaves_more_error_than_a_closed_one():
    closed = RdPca(lam=0.01, Q_l=3.0, Q_g=3.0)
    assert mean_error(replace(closed, closed_loop=False)) > mean_error(closed)


@pytest.mark.parametrize("name", ["closed_loop", "trained"])
def test_a_switch_that_is_no_boolean_is_refused(name):
    with pytest.raises(ValueError, match=naming(f"{name} 'yes'")):
        RdPca(**{name: "yes"})
