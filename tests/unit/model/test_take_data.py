"""Take data besides poses: restored, within bounds, measured with separate kinematics."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

import mocpack
from mocpack import Clip, Skeleton, Track, _core, live, rate
from mocpack.codecs.registry import codec_ids, parse_codec
from mocpack.container import unpack
from mocpack.container.track import pack_track, read_track_head, track_values
from mocpack.errors import (
    BoundError,
    InvalidClipError,
    MemoryLimitError,
    UnsupportedClipError,
    UsageError,
)
from mocpack.model import rotations
from mocpack.model.clip import measure_error
from mocpack.model.codec_clip import drop_take_data, restore_take_data
from mocpack.model.take_data import TakeData
from mocpack.papers.mukai.editing import open_spline
from mocpack.testing import walk
from naming import naming
from takes import FEATURES, all_takes, markers, take

SHELL_RADIUS_M = 0.03


def matrix_of(x, y, z, w):
    """The textbook's matrix of a unit quaternion."""
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def world_points(clip, frame):
    """Every point that is promised, from 4 x 4 matrices multiplied one by one.

    Knows nothing of mocpack but the arrays of a clip: local = T R S, as glTF has it.
    """
    skeleton, worlds, sizes, points = clip.skeleton, [], [], []
    for j, parent in enumerate(skeleton.parents):
        scale = skeleton.scales[j]
        if j in clip.header.scaled_joints:
            scale = clip.take_data.scales[frame, clip.header.scaled_joints.index(j)]
        place = skeleton.offsets[j]
        if j in clip.translated_joints:
            place = clip.translations[frame, clip.translated_joints.index(j)]
        local = np.eye(4)
        local[:3, :3] = matrix_of(*clip.rotations[frame, j]) @ np.diag(scale)
        local[:3, 3] = place
        worlds.append(local if parent < 0 else worlds[parent] @ local)
        logs = [math.log2(abs(s)) if s else 0.0 for s in skeleton.scales[j]]
        sizes.append(sum(logs) / 3 + (sizes[parent] if parent >= 0 else 0.0))
        points.append(worlds[j][:3, 3])
        length = SHELL_RADIUS_M / 2.0 ** round(sizes[j])
        points += [worlds[j][:3, 3] + length * worlds[j][:3, k] for k in range(3)]
    for j, end in zip(skeleton.end_site_joints, skeleton.end_sites, strict=True):
        points.append((worlds[j] @ [*end, 1.0])[:3])
    return np.array(points)


def largest_error(a, b):
    moved = [world_points(a, t) - world_points(b, t) for t in range(a.frame_count)]
    return float(np.linalg.norm(moved, axis=-1).max())


STRETCHED = {
    name: take(name.split(", "), frames=10)
    for name in ("scale", "scales", "roots", "scale, scales", "rest, roots, scale, scales, names")
}


@pytest.mark.parametrize("clip", STRETCHED.values(), ids=STRETCHED.keys())
def test_positions_are_those_of_matrices_multiplied_one_by_one(clip):
    points = np.array([world_points(clip, t) for t in range(clip.frame_count)])
    joints = points[:, : 4 * len(clip.skeleton) : 4]
    np.testing.assert_allclose(clip.positions(), joints, rtol=0, atol=1e-12)


@pytest.mark.parametrize("clip", STRETCHED.values(), ids=STRETCHED.keys())
def test_the_promised_error_is_the_largest_move_of_any_point(clip):
    rng = np.random.default_rng(4)
    nudged = Clip(
        clip.header,
        mocpack.rotations.normalize(clip.rotations + 0.01 * rng.normal(size=clip.rotations.shape)),
        clip.translations + 0.01,
        None,
        clip.take_data,
    )
    assert measure_error(clip, nudged).max == pytest.approx(largest_error(clip, nudged), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("clip", STRETCHED.values(), ids=STRETCHED.keys())
@pytest.mark.parametrize(
    "codec_id",
    [c for c in codec_ids() if parse_codec(c).quality],
)
def test_a_bound_holds_with_scales_and_roots_by_kinematics_of_our_own(codec_id, clip):
    try:
        data = mocpack.encode(clip, codec_id, max_error="2mm", effort="fast")
    except (UnsupportedClipError, BoundError):
        assert codec_id not in ("keysine", "raw", "lossless")
        return
    back = mocpack.decode(data)
    assert largest_error(clip, back) <= 0.002 + 1e-9
    assert unpack(data).errors.declared == pytest.approx(0.002)


def test_keysine_as_a_codec_keeps_its_own_bound_with_scales():
    clip = STRETCHED["scale, scales"]
    data = mocpack.encode(clip, "keysine:max_error=1mm")
    assert largest_error(clip, mocpack.decode(data)) <= 0.001 + 1e-9
    assert unpack(data).errors.declared == pytest.approx(0.001)


def test_an_armature_scale_hardly_changes_the_size():
    clip = walk(1.0)
    s = clip.skeleton
    scales = np.ones((len(s), 3))
    scales[0] = 100.0
    armature = Skeleton(
        s.names, s.parents, s.offsets / 100, s.end_sites / 100, s.end_site_joints, scales=scales
    )
    large = Clip.build(armature, clip.rotations, clip.translations, frame_rate=60)
    np.testing.assert_allclose(large.positions(), clip.positions(), atol=1e-12)
    sizes = [len(unpack(mocpack.encode(c, max_error="1mm")).payload) for c in (clip, large)]
    assert sizes[1] < 1.15 * sizes[0]


def test_lossless_gives_scales_and_every_sample_back_bit_for_bit():
    clip = take()
    back = mocpack.decode(mocpack.encode(clip, "lossless"))
    np.testing.assert_array_equal(back.rotations, clip.rotations)
    np.testing.assert_array_equal(back.translations, clip.translations)
    np.testing.assert_array_equal(back.take_data.scales, clip.take_data.scales)


def test_a_clip_without_take_data_is_its_own_codec_clip():
    clip = walk(0.3)
    assert drop_take_data(clip) is clip
    assert restore_take_data(clip, clip.header, TakeData()) is clip
    assert not unpack(mocpack.encode(clip, "raw")).chunks
    assert rate.prepare_clip(clip).codec_clip is clip


@pytest.mark.parametrize("name", ["keysine", "raw"])
def test_every_combination_survives_the_file(name):
    for features, clip in all_takes(most=3 if name == "raw" else 1, frames=4):
        back = mocpack.decode(mocpack.encode(clip, name))
        assert back.header == clip.header, features
        assert np.array_equal(back.valid, clip.valid), features
        assert list(back.tracks) == list(clip.tracks), features


def test_windows_samples_and_joints_of_a_file_are_those_of_its_clip(tmp_path):
    clip = take(frames=40)
    path = tmp_path / "take.mocp"
    path.write_bytes(mocpack.encode(clip, max_error="1mm"))
    whole = mocpack.read(path)
    with mocpack.open(path) as motion:
        part, expected = motion.frames(7, 19, joints=[2, 6]), whole.frames(7, 19).joints([2, 6])
        assert part.header == expected.header
        assert part.take_data == expected.take_data
        np.testing.assert_allclose(part.positions(), expected.positions(), atol=1e-9)
        between = 0.3 * whole.times[11] + 0.7 * whole.times[12]
        pose = motion.sample(between)
        np.testing.assert_allclose(pose.positions(), whole.sample(between).positions(), atol=1e-9)
        assert pose.start_time == pytest.approx(between)
        coarse = motion.preview()
        assert coarse.skeleton == whole.skeleton
        assert coarse.times[-1] == pytest.approx(whole.times[-1])


def test_uneven_times_are_exact_and_sampled_by():
    times = [0.0417, 0.0833, 0.2, 0.9, 0.95]
    clip = walk(0.5).frames(0, 5)
    clip = Clip.build(clip.skeleton, clip.rotations, clip.translations, times=times)
    back = mocpack.decode(mocpack.encode(clip, "raw"))
    assert back.times.tolist() == times
    assert back.start_time == 0.0417
    assert back.frame_time == pytest.approx((0.95 - 0.0417) / 4)
    pose = clip.sample(0.55)
    np.testing.assert_allclose(pose.translations[0], clip.translations[2:4].mean(0), atol=1e-12)
    assert clip.frames(2, 4).times.tolist() == [0.2, 0.9]


def test_even_times_are_not_stored_apart():
    clip = walk(0.5)
    again = Clip.build(clip.skeleton, clip.rotations, clip.translations, times=clip.times)
    assert again.take_data.times is None
    assert len(mocpack.encode(again, "raw")) == len(mocpack.encode(clip, "raw"))


def test_frames_of_a_clip_by_itself_begin_at_zero_again():
    clip = walk(0.5)
    assert clip.frames(10, 20).start_time == 0.0
    assert take(["tracks"]).frames(3, 6).start_time == pytest.approx(0.1)


def test_markers_round_trip_with_their_gaps():
    clip = markers()
    assert clip.skeleton.is_points
    back = mocpack.decode(mocpack.encode(clip, max_error="0.5mm"))
    assert np.array_equal(np.isnan(back.points()), np.isnan(clip.points()))
    assert np.nanmax(np.linalg.norm(back.points() - clip.points(), axis=-1)) <= 5e-4
    assert back.skeleton.is_points


def test_a_gap_is_filled_with_a_smooth_motion():
    t = np.arange(30.0)[:, None, None]
    points = np.concatenate([t, 0.1 * t, 0 * t], axis=-1) / 30
    holed = points.copy()
    holed[10:14] = holed[:2] = np.nan
    clip = Clip.from_points(holed, ["a"])
    np.testing.assert_allclose(clip.positions()[2:], points[2:], atol=1e-12)
    np.testing.assert_allclose(clip.positions()[:2], points[2:3].repeat(2, 0), atol=1e-12)


def test_a_marker_that_was_never_seen_is_all_gap():
    points = np.full((5, 2, 3), np.nan)
    points[:, 0] = 1.0
    back = mocpack.decode(mocpack.encode(Clip.from_points(points, ["a", "b"]), "raw"))
    assert not back.valid[:, 1].any()
    assert back.valid[:, 0].all()


def test_joints_that_share_a_name_are_named_by_number():
    skeleton = take(["names"]).skeleton
    with pytest.raises(UsageError, match=naming("'knee' 1 4")):
        skeleton.index("knee")
    assert skeleton.unique_names == ("hips", "knee", "joint2", "chest", "knee_4")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"kind": "words", "values": []}, "kind scalar flag label vec3 quaternion 'words'"),
        ({"kind": "vec3", "values": np.ones(3)}, "vec3 (N, 3) (3,)"),
        ({"kind": "scalar", "values": [math.nan]}, "scalar"),
        ({"kind": "scalar", "values": [1.0], "bound": -1}, "bound -1"),
        ({"kind": "flag", "values": [True], "bound": 0.1}, "flag bound"),
        ({"kind": "scalar", "values": [1.0], "frame_time": 0.0}, "frame_time 0.0"),
        ({"kind": "label", "values": ["a", "b"], "times": [1.0, 1.0]}, "times 1.0"),
        ({"kind": "label", "values": ["a"], "times": [1.0, 2.0]}, "times (1,) (2,)"),
        ({"kind": "quaternion", "values": [[1.0, 1, 1, 1]]}, "quaternion 1"),
    ],
)
def test_invalid_tracks_are_clear_errors(given, named):
    with pytest.raises(InvalidClipError, match=naming(named)):
        Track(**given)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"scaled_joints": (1,)}, "scaled_joints scales 1"),
        ({"scaled_joints": (1, 0), "scales": np.ones((30, 2, 3))}, "scaled_joints"),
        ({"scaled_joints": (1,), "scales": np.ones((30, 3))}, "scales (30, 1, 3)"),
        ({"scaled_joints": (1,), "scales": np.full((30, 1, 3), np.inf)}, "scales ±1e+06"),
        ({"times": np.zeros(30)}, "times 0.0"),
        ({"valid": np.zeros((30, 4))}, "valid (30, 21) 4)"),
        ({"up": "w"}, "up y x z 'w'"),
        ({"start_time": math.inf}, "start_time inf"),
    ],
)
def test_invalid_clips_are_clear_errors(given, named):
    clip = walk(0.5)
    with pytest.raises(InvalidClipError, match=naming(named)):
        Clip.build(clip.skeleton, clip.rotations, clip.translations, frame_rate=60, **given)


def test_tracks_are_cut_with_the_frames_they_accompany():
    clip = take(["tracks"], frames=30)
    part = clip.frames(6, 13)
    assert len(part.tracks["smile"]) == 7
    np.testing.assert_array_equal(part.tracks["smile"].values, clip.tracks["smile"].values[6:13])
    assert part.tracks["force"].start == pytest.approx(part.start_time)
    assert part.tracks[""].values == ("step", "stand")


def test_a_take_is_sent_to_other_processes_whole():
    clip = take()
    sent = pickle.loads(pickle.dumps(clip))
    assert sent.header == clip.header
    assert sent.take_data == clip.take_data
    assert not sent.take_data.scales.flags.writeable


def test_all_features_are_in_the_take_of_everything():
    clip = take()
    assert clip.skeleton.has_rest
    assert clip.header.is_scaled
    assert len(clip.skeleton.roots) == 2
    assert len(FEATURES) == 10


def test_scales_of_all_joints_are_split_and_their_noise_is_dropped_and_said():
    clip, rng = walk(0.2), np.random.default_rng(6)
    scales = 1 + 2e-5 * rng.uniform(-1, 1, (clip.frame_count, len(clip.skeleton), 3))
    scales[:, 0] *= 100.0
    scales[:, 5, 1] += np.linspace(0, 0.5, clip.frame_count)
    made = Clip.build(clip.skeleton, clip.rotations, clip.translations, scales=scales)
    assert made.header.scaled_joints == (5,)
    assert (made.skeleton.scales[[1, 2, 3]] == 1).all()
    assert made.skeleton.scales[0] == pytest.approx(100.0, rel=2e-5)
    assert 1e-5 < made.metadata["scale_noise_dropped"] <= 4e-3
    np.testing.assert_array_equal(made.take_data.scales[:, 0], scales[:, 5])
    quiet = Clip.build(
        clip.skeleton, clip.rotations, clip.translations, scales=np.ones_like(scales)
    )
    assert not quiet.header.is_scaled
    assert not quiet.metadata


def test_moving_scales_are_fine_enough_for_a_bone_end_far_from_its_joint():
    rng = np.random.default_rng(7)
    skeleton = Skeleton(("rod",), (-1,), np.zeros((1, 3)), [[0.0, 1.5, 0.0]], (0,))
    clip = Clip.build(
        skeleton,
        np.tile([0.0, 0.0, 0.0, 1.0], (60, 1, 1)),
        rng.normal(size=(60, 1, 3)),
        frame_rate=60,
        translated_joints=[0],
        scales=rng.uniform(0.5, 2, (60, 1, 3)),
        scaled_joints=[0],
    )
    for codec in ("keysine", "lossless"):
        data = mocpack.encode(clip, codec, max_error="6cm")
        assert measure_error(clip, mocpack.decode(data)).max <= 0.06


def test_tracks_take_at_most_half_of_float16_and_zstd():
    squeeze = pytest.importorskip("zstandard").ZstdCompressor(level=19).compress
    places, rng = walk(20.0).positions(), np.random.default_rng(8)
    for values, bound in (
        (places[:, 8, 1], 5e-4),
        (np.clip(places[:, 15, 2] % 1.3, 0, 1), 1e-3),
        (np.cumsum(rng.normal(size=4000)) / 50, 2e-3),
    ):
        packed = len(pack_track("", Track("scalar", values, bound=bound)))
        assert packed <= len(squeeze(values.astype("<f2").tobytes())) / 2


@pytest.mark.parametrize("samples", [30, 120])
@pytest.mark.parametrize("kind", ["smooth", "weights", "turns"])
def test_short_tracks_take_at_most_half_of_float16_and_zstd(kind, samples):
    squeeze = pytest.importorskip("zstandard").ZstdCompressor(level=19).compress
    time, phases = np.arange(samples)[:, np.newaxis] / 60, np.array([1.6, 3.0, 5.0])
    waves = np.sin(2 * time + phases) + 0.4 * np.sin(5 * time + phases)
    if kind == "turns":
        values = rotations.from_rotvec(waves)
    else:
        values = np.clip(waves[:, 0] - 0.3, 0, 1) if kind == "weights" else waves[:, 0]
    half = values.astype("<f2")
    bound = 1e-3 if kind == "turns" else float(f"{np.abs(half - values).max():.1e}")
    track = Track("quaternion" if kind == "turns" else "scalar", values, 1 / 60, bound=bound)
    assert len(pack_track("x", track)) <= len(squeeze(half.tobytes())) / 2


def test_tracks_that_rest_cost_their_heads():
    for kind, shape in (("scalar", (500,)), ("vec3", (500, 3))):
        track = Track(kind, np.zeros(shape), 1 / 60, bound=0.001)
        body = pack_track("jawOpen", track)
        assert read_track_head(body).name == "jawOpen"
        back = track_values(kind, _core.read_track(body)[0])
        np.testing.assert_array_equal(back, track.values)
        assert len(body) <= len("jawOpen") + 7
    still = Track("scalar", np.full(500, 0.3), 1 / 60, bound=0.001)
    assert len(pack_track("jawOpen", still)) <= len("jawOpen") + 10


def test_a_clip_without_its_scales_has_channels_for_every_place_that_moves():
    bare = take(["scales"]).bake_scales()
    assert rate.raw_size(bare) > 0


def test_baked_scales_leave_joint_positions_unchanged():
    for clip in (take(), walk(0.1)):
        bare = clip.bake_scales()
        assert not bare.header.is_scaled
        np.testing.assert_allclose(bare.positions(), clip.positions(), atol=1e-9)
        assert bare.tracks.keys() == clip.tracks.keys()


def uniformly_scaled(factor=0.01):
    clip = take(["tracks"])
    scales = np.ones((len(clip.skeleton), 3))
    scales[0], scales[2] = factor, 3.0
    return clip.replace(skeleton=replace(clip.skeleton, scales=scales))


def test_constant_uniform_scales_become_lengths_and_no_positions_of_joints():
    clip = uniformly_scaled()
    bare = clip.bake_scales()
    assert not bare.header.is_scaled
    assert bare.translated_joints == clip.translated_joints
    assert bare.skeleton.channels == clip.skeleton.channels
    np.testing.assert_allclose(bare.positions(), clip.positions(), atol=1e-9)
    np.testing.assert_allclose(bare.bones([0]), clip.bones([0]), atol=1e-9)


def test_bvh_takes_uniform_scales_as_lengths_and_names_the_way_out_for_others(tmp_path):
    clip = uniformly_scaled()
    mocpack.write(clip, tmp_path / "a.bvh")
    back = mocpack.read(tmp_path / "a.bvh", unit=mocpack.m(clip.unit))
    np.testing.assert_allclose(back.positions(), clip.positions(), atol=1e-5)
    with pytest.raises(UnsupportedClipError, match=naming("BVH scales --bake-scales bake_scales")):
        mocpack.write(take(["scales"]), tmp_path / "b.bvh")


def test_a_take_that_holds_more_than_poses_is_not_edited_without_it():
    data = mocpack.encode(take(["tracks"]), "latent-spline:control_points=6")
    with pytest.raises(UsageError, match=naming("poses")):
        open_spline(data)


def test_a_live_stream_names_unsupported_data():
    with pytest.raises(UnsupportedClipError, match=naming("scales bake_scales")):
        live.Sender(take(["scale"]).header)


def streamed(clip):
    """The clip as a receiver of a live stream has it."""
    sender = live.Sender(clip.header, 0.002)
    receiver = live.Receiver(sender.hello.to_bytes())
    frames = zip(clip.rotations, clip.translations, strict=True)
    poses = [pose for frame in frames for pose in receiver.receive(sender.send(*frame))]
    header = receiver.hello.header
    assert header.skeleton.parents == clip.skeleton.parents
    return Clip(
        replace(header, frame_count=len(poses)),
        np.array([pose.rotations for pose in poses]),
        np.array([pose.translations for pose in poses]),
    )


@pytest.mark.parametrize("features", [["roots"], ["roots", "rest"], ["roots", "names"]])
def test_a_live_stream_carries_several_roots(features):
    clip = take(features, frames=20)
    assert largest_error(clip, streamed(clip)) <= 0.002 * (1 + 1e-6)


@pytest.mark.parametrize("features", [["scale"], ["scales"], ["scale", "scales", "roots"]])
def test_a_live_stream_has_joints_where_scales_put_them(features):
    clip = take(features, frames=20)
    found = streamed(clip.bake_scales())
    apart = np.linalg.norm(found.positions() - clip.positions(), axis=-1)
    assert apart.max() <= 0.002 * (1 + 1e-6)


def test_a_small_file_that_announces_endless_tracks_asks_for_no_memory():
    clip = walk(0.1)
    endless = Track("label", ["a"] * 300_000)
    made = Clip.build(clip.skeleton, clip.rotations, clip.translations, tracks={"t": endless})
    data = mocpack.encode(made, "raw")
    with mocpack.open(data, memory_limit="10MB") as motion:
        assert motion.track_heads[0].count == 300_000
        with pytest.raises(MemoryLimitError, match=naming("10.00")):
            _ = motion.take_data
        with pytest.raises(MemoryLimitError):
            motion.clip()
    assert mocpack.decode(data).tracks["t"] == endless


def test_a_codec_by_itself_says_that_it_takes_one_root():
    with pytest.raises(UnsupportedClipError, match=naming("root 2 mocpack.encode")):
        parse_codec("keysine").encode(take(["roots"]))


def test_a_track_with_a_floor_beside_huge_values_keeps_its_bound():
    clip = walk(0.2)
    values = np.zeros((len(clip), 3))
    values[1:, 0] = np.abs(np.sin(np.arange(1, len(clip))))  # never below 0
    values[:, 1] = 1e7 + 1e-3 * np.arange(len(clip))  # more than 2^30 steps
    far = clip.replace(tracks={"far": Track("vec3", values, bound=1e-3)})
    decoded = mocpack.decode(mocpack.encode(far, "raw")).tracks["far"].values
    assert np.abs(decoded - values).max() <= 1e-3
