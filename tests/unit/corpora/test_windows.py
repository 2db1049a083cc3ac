"""Windows contain the numbers of their clips, in every process and order."""

import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mocpack
from mocpack import _core
from mocpack.corpora import DecodedCache, PackOptions, Stream, Windows, open_corpus, pack
from mocpack.corpora.features import FEATURES, STORED_FEATURES, feet, window_plan
from mocpack.corpora.reading import MAX_NEW_CLIPS
from mocpack.errors import FormatError, ShortClipWarning, UsageError
from mocpack.io import humanml3d, npz
from mocpack.model import rotations
from mocpack.model.clip import Clip
from mocpack.model.contacts import find_planted
from mocpack.robots import read_robot, robot_motion
from mocpack.testing import walk
from naming import naming
from robots import angles_for, urdf
from soma import soma_clip
from takes import markers

pa = pytest.importorskip("pyarrow")

pytestmark = pytest.mark.filterwarnings("ignore::mocpack.errors.ShortClipWarning")
BODY_FEATURES = FEATURES[: FEATURES.index("angles")]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("windows")
    files = {}
    for number, seconds in enumerate((3.0, 0.5, 24.0, 2.0)):
        clip = walk(seconds, seed=number)
        path = folder / f"walk{number}.mocp"
        path.write_bytes(mocpack.encode(clip, max_error="5mm", effort="fast"))
        files[path.stem] = path
    pack(files, folder / "walks.mocps")
    return folder / "walks.mocps"


@pytest.fixture
def walks(archive):
    with open_corpus(archive) as found:
        yield found


def features_of(clip):
    """Every feature by the clip's own methods, (T, width) each."""
    count = len(clip)
    positions = clip.positions()
    arrays = {
        "quaternion": np.asarray(clip.rotations),
        "rotation6d": clip.rotations_6d(),
        "translations": np.asarray(clip.translations),
        "positions": positions,
        "velocities": clip.velocities(),
        "contacts": find_planted(positions[:, feet(clip.skeleton)], clip.frame_rate),
    }
    return {name: values.reshape(count, -1) for name, values in arrays.items()}


def assert_alike(found, expected, columns):
    for name, part in columns.items():
        values, wanted = found[:, part], expected[name]
        if name == "quaternion":  # the two signs of a quaternion are one rotation
            values, wanted = values.reshape(len(values), -1, 4), wanted.reshape(len(values), -1, 4)
            values = values * np.sign((values * wanted).sum(-1, keepdims=True))
        np.testing.assert_allclose(values, wanted, atol=2e-5, err_msg=name)


def test_windows_lie_in_their_clips_and_short_clips_have_none(walks):
    found = walks.windows(2, stride=0.5)
    assert len(found) == 3 + 0 + 45 + 1
    assert [walks.names[found.clips[found.locate(n)[0]]] for n in (0, 2, 3, len(found) - 1)] == [
        "walk0",
        "walk0",
        "walk2",
        "walk3",
    ]
    for number in range(len(found)):
        place, start, _ = found.locate(number)
        assert start >= 0
        assert start + found.rows <= walks.index.frame_counts[found.clips[place]]
    with pytest.raises(IndexError):
        found[len(found)]


def test_every_feature_agrees_with_the_clip(walks):
    found = walks.windows(2, features=BODY_FEATURES)
    for number in (0, 5, len(found) - 1):
        place, start, _ = found.locate(number)
        clip = walks[found.clips[place]].frames(start, start + found.rows)
        assert_alike(found[number], features_of(clip), found.columns)


def test_a_resampled_window_is_that_of_the_resampled_clip(walks):
    for fps in (30, 25, 100):
        found = walks.windows(1, fps=fps, features=BODY_FEATURES)
        assert found.rows == fps
        clip = walks[0].clip().resample(fps).frames(0, fps)
        assert_alike(found[0], features_of(clip), found.columns)


def test_the_second_half_is_the_mirror_image_of_the_first(walks):
    found = walks.windows(1, fps=30, features=BODY_FEATURES, mirror=True)
    half = len(found) // 2
    for number in (0, 4):
        place, start, _ = found.locate(number)
        clip = walks[found.clips[place]].frames(start, start + 60).resample(30)
        assert_alike(found[number], features_of(clip), found.columns)
        assert_alike(found[number + half], features_of(clip.mirror()), found.columns)


def test_mirroring_handles_rest_rotations_and_translated_joints():
    clip = walk(0.5)
    rng = np.random.default_rng(3)
    rest = rotations.normalize(rng.normal(size=(len(clip.skeleton), 4)))
    from mocpack.model import mirroring

    skeleton = replace(clip.skeleton, rest=np.tile(rest[0], (len(rest), 1)))
    partner = mirroring.mirror_partners(skeleton, None)
    for axis in range(3):
        try:
            expected, _ = mirroring.mirror_pose(
                skeleton,
                np.asarray(clip.rotations),
                np.asarray(clip.translations),
                clip.translated_joints,
                partner,
                axis,
            )
        except UsageError:
            continue
        before, after = mirroring.mirror_factors(skeleton, partner, axis)
        seen = np.asarray(clip.rotations)[:, partner] * np.where(
            np.arange(4) == axis, 1.0, np.where(np.arange(4) == 3, 1.0, -1.0)
        )
        got = rotations.multiply(rotations.multiply(before, seen), after)
        np.testing.assert_allclose(np.abs((got * expected).sum(-1)), 1.0, atol=1e-9)


def test_a_root_relative_window_begins_over_the_origin_unturned(walks):
    plain = walks.windows(1, features=["quaternion", "translations", "positions"])
    moved = walks.windows(1, features=plain.features, root_relative=True)
    for number in (0, 7):
        a, b = plain[number], moved[number]
        root = b[:, moved.columns["translations"]][:, :3]
        assert np.allclose(root[0, [0, 2]], 0, atol=1e-6)
        assert np.allclose(root[:, 1], a[:, plain.columns["translations"]][:, 1], atol=1e-5)
        assert abs(b[0, 1]) < 1e-6  # the root's turn about y
        ours = b[:, moved.columns["positions"]].reshape(moved.rows, -1, 3)
        theirs = a[:, plain.columns["positions"]].reshape(plain.rows, -1, 3)
        # a motion moved as a whole: distances between any two joints at any two times stay
        far = np.linalg.norm(ours[-1, 3] - ours[0, 5])
        assert far == pytest.approx(np.linalg.norm(theirs[-1, 3] - theirs[0, 5]), abs=1e-5)


def test_cached_windows_are_the_same_to_float32(walks):
    for options in ({}, {"fps": 30, "features": BODY_FEATURES, "mirror": True}):
        plain = walks.windows(2, stride=0.3, **options)
        cached = walks.windows(2, stride=0.3, cache="20MB", **options)
        for number in range(0, len(plain), 3):
            # a velocity is a difference of two positions of float32 rotations
            np.testing.assert_allclose(cached[number], plain[number], atol=1e-4)


def test_a_cache_that_is_too_small_drops_and_decodes_again(walks):
    plain = walks.windows(2, stride=0.3)
    block = 1024 * 4 * plain.width
    cached = walks.windows(2, stride=0.3, cache=2 * block)
    rng = np.random.default_rng(0)
    for number in rng.integers(0, len(plain), 60):
        np.testing.assert_array_equal(cached[int(number)], plain[int(number)])
    assert 0 < cached.cache.used_bytes <= 2 * block


def test_a_cache_that_cannot_be_written_is_done_without(walks, monkeypatch):
    cached = walks.windows(2, cache="20MB")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mocpack.corpora.decoded_cache._write_at", full)
    assert np.array_equal(cached[0], walks.windows(2)[0])


def test_the_caches_memory_is_gone_with_it(walks):
    cached = DecodedCache(walks, 1 << 20)
    path = Path(cached._path)
    assert path.exists()
    del cached
    assert not path.exists()


def test_batches_and_slices_are_arrays_of_windows(walks):
    found = walks.windows(1)
    assert found[2:5].shape == (3, found.rows, found.width)
    out = np.zeros((2, found.rows, found.width), np.float32)
    assert found.batch([4, 1], out) is out
    assert np.array_equal(out[1], found[1])
    assert np.array_equal(found[-1], found[len(found) - 1])


def read_all(found, seed):
    """Read windows in a random order; return a sum to compare."""
    order = np.random.default_rng(seed).permutation(len(found))
    out = np.empty((found.rows, found.width), np.float32)
    total = np.zeros(len(found))
    for number in order:
        total[number] = found.read(int(number), out).astype(float).sum()
    return total


@pytest.mark.parametrize("cache", [None, "20MB", "700kB"])
def test_threads_share_windows(walks, cache):
    found = walks.windows(2, stride=0.3, cache=cache)
    expected = read_all(walks.windows(2, stride=0.3), 0)
    with ThreadPoolExecutor(8) as pool:
        for total in pool.map(lambda seed: read_all(found, seed), range(8)):
            assert np.allclose(total, expected, atol=0.2)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("cache", [None, "20MB", "700kB"])
def test_processes_share_windows(walks, method, cache):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    found = walks.windows(2, stride=0.3, cache=cache)
    expected = read_all(found, 0)
    with multiprocessing.get_context(method).Pool(2) as pool:
        for total in pool.starmap(read_all, [(found, seed) for seed in range(4)]):
            assert np.allclose(total, expected, atol=0.2)


def test_windows_can_be_sent(walks):
    sent = walks.windows(1, fps=30, mirror=True, cache="1MB")
    expected = sent[3]
    found = pickle.loads(pickle.dumps(sent))
    assert found.cache.used_bytes == sent.cache.used_bytes > 0
    assert np.array_equal(found[3], expected)
    found.corpus.close()


def test_windows_that_outlive_their_sender_begin_with_an_empty_cache(walks):
    found = pickle.loads(pickle.dumps(walks.windows(1, cache="1MB")))
    assert found.cache.used_bytes == 0
    assert np.array_equal(found[3], walks.windows(1)[3])
    path = Path(found.cache._path)
    found.corpus.close()
    del found
    assert not path.exists()


def test_a_block_that_is_not_marked_is_not_read():
    rows = np.arange(10 * 7, dtype=np.float32).reshape(10, 7)
    marks, used = np.zeros(3, np.int64), np.zeros(3, np.int64)
    blocks = _core.RowBlocks(rows, marks, used, 4)
    plan = window_plan(markers(10, 1).header, STORED_FEATURES)
    out = np.full((4, plan.width), np.nan, np.float32)
    if plan.width != 7:
        pytest.fail(f"a row of one marker has {plan.width} numbers")
    assert blocks.write(plan, 2, 6, out) == 0
    _core.mark_block(marks, 0, 5)
    assert blocks.write(plan, 2, 6, out) == 1
    assert np.isnan(out).all()
    assert not used.any()
    _core.mark_block(marks, 1, 6)
    assert blocks.write(plan, 2, 6, out) == -1
    assert np.array_equal(out, rows[2:6])
    assert used[0] == used[1] > 0 == used[2]
    for start, stop in ((4, 4), (5, 11), (11, 12)):
        with pytest.raises(ValueError, match=naming("frames")):
            blocks.write(plan, start, stop, out)
    with pytest.raises(ValueError, match=naming("block")):
        _core.RowBlocks(rows, marks[:2], used, 4)
    with pytest.raises(ValueError, match=naming("block")):
        _core.mark_block(marks, 3, 1)


def test_a_stream_gives_every_window_once_each_epoch_in_another_order(walks):
    windows = walks.windows(1, stride=0.5, mirror=True)
    stream = Stream(windows, shuffle=16, seed=4)
    orders = []
    for _ in range(2):
        order = stream.indices()
        assert sorted(order) == list(range(len(windows)))
        for number, got in zip(order, stream, strict=True):
            np.testing.assert_allclose(got, windows[number], atol=1e-6)
        orders.append(order)
    assert orders[0] != orders[1]
    assert stream.epoch == 2
    plain = Stream(walks.windows(1, stride=0.5), shuffle=0)
    assert plain.indices() == list(range(len(plain.windows)))


def test_shares_of_a_stream_are_all_of_it(walks):
    windows = walks.windows(1, stride=0.5)
    numbers = [Stream(windows, share=(k, 3), seed=1).indices() for k in range(3)]
    assert sorted(n for part in numbers for n in part) == list(range(len(windows)))


@pytest.mark.parametrize("stopped", [0, 1, 7, 30])
def test_a_stream_continues_where_it_was_stopped(walks, stopped):
    windows = walks.windows(1, stride=0.5)
    whole = list(Stream(windows, shuffle=8, seed=2))
    first = Stream(windows, shuffle=8, seed=2)
    going = iter(first)
    for _ in range(stopped):
        next(going)
    state = first.state_dict()
    second = Stream(windows, shuffle=8)
    second.load_state_dict(state)
    rest = list(second)
    assert len(rest) == len(whole) - stopped
    for ours, theirs in zip(rest, whole[stopped:], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert second.state_dict()["epoch"] == 1


def test_invalid_requests_are_reported(walks, tmp_path):
    for options, named in (
        ({"features": ["speed"]}, "'speed' quaternion contacts"),
        ({"seconds": 0}, "seconds 0 1e9"),
        ({"fps": -1}, "fps 0 1e9 -1"),
        ({"stride": float("nan")}, "stride 0 1e9 nan"),
        ({"where": "frames < 0"}, "archive"),
        ({"cache": 0}, "1e18 0"),
    ):
        with pytest.raises(UsageError, match=naming(named)):
            walks.windows(**options)
    with pytest.raises(UsageError, match="share"):
        Stream(walks.windows(), share=(2, 2))
    with pytest.raises(UsageError, match=naming("foot")):
        window_plan(markers(20, 3).header, ["contacts"])


def test_clips_shorter_than_a_window_are_named(walks):
    with pytest.warns(ShortClipWarning, match=naming("1 4 walk1")):
        found = walks.windows(2, stride=0.5)
    assert found.skipped == ["walk1"]
    assert walks.windows(0.5).skipped == []


def test_windows_longer_than_every_clip_are_an_error_that_names_the_longest(walks):
    with pytest.raises(UsageError, match=naming("30 'walk2' 24")):
        walks.windows(30)


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    """An archive of a walk that can be mirrored, and of six whose left arm is twice as long."""
    folder = tmp_path_factory.mktemp("uneven")
    even = walk(2.0)
    offsets = np.array(even.skeleton.offsets)
    offsets[even.skeleton.index("LeftForeArm")] *= 2
    header = replace(even.header, skeleton=replace(even.skeleton, offsets=offsets))
    odd = mocpack.Clip(header, even.rotations, even.translations)
    files = {}
    for name, clip in (("even", even), *((f"odd{k}", odd[k:]) for k in range(6))):
        files[name] = folder / f"{name}.mocp"
        files[name].write_bytes(mocpack.encode(clip, "lossless"))
    pack(files, folder / "uneven.mocps")
    with open_corpus(folder / "uneven.mocps") as found:
        yield found


def test_clips_that_cannot_be_mirrored_are_named_when_windows_are_made(uneven):
    with pytest.raises(UsageError, match=naming("6 7 odd0 odd4 'LeftForeArm' 'skip'")) as caught:
        uneven.windows(1, mirror=True)
    assert "odd5" not in str(caught.value)  # the list is short
    with pytest.raises(UsageError, match=naming("mirror 'no'")):
        uneven.windows(1, mirror="no")
    with pytest.raises(UsageError, match=naming("mirror_tolerance 0")):
        uneven.windows(1, mirror=True, mirror_tolerance=0)


def test_clips_that_cannot_be_mirrored_can_be_left_out_or_tolerated(uneven):
    plain = uneven.windows(1, stride=0.5)
    some = uneven.windows(1, stride=0.5, mirror="skip")
    every = uneven.windows(1, stride=0.5, mirror=True, mirror_tolerance=1.5)
    own = len(plain.window_indices(0))
    assert (len(some), len(every)) == (len(plain) + own, 2 * len(plain))
    np.testing.assert_array_equal(some[len(plain) :], every[len(plain) : len(plain) + own])
    assert [some.locate(n)[0::2] for n in range(len(plain), len(some))] == [(0, True)] * own
    order = Stream(some, shuffle=8).indices()
    assert sorted(order) == list(range(len(some)))
    again = pickle.loads(pickle.dumps(some))
    np.testing.assert_array_equal(again[-1], some[-1])
    again.corpus.close()


def test_a_feature_that_a_clip_does_not_have_is_an_error_when_windows_are_made(walks, tmp_path):
    (tmp_path / "points.mocp").write_bytes(mocpack.encode(markers(60, 4), max_error="5mm"))
    pack({"points": tmp_path / "points.mocp"}, tmp_path / "points.mocps")
    with open_corpus(tmp_path / "points.mocps") as points:
        for features in ("contacts", "angles"):
            with pytest.raises(UsageError, match=naming(f"'points' '{features}'")):
                points.windows(0.5, features=features)
    with pytest.raises(UsageError, match=naming("'angle_velocities' hinges")):
        walks.windows(features=["positions", "angle_velocities"])


@pytest.fixture(scope="module")
def robots(tmp_path_factory):
    """An archive of two motions of a robot with hinges and sliders in any order, without loss."""
    folder = tmp_path_factory.mktemp("robots")
    (folder / "robot.urdf").write_text(urdf(4))
    skeleton = read_robot(folder / "robot.urdf").skeleton
    assert list(skeleton.hinges.joints) != sorted(skeleton.hinges.joints)
    assert skeleton.hinges.slides.any()
    files = {}
    for name, frames in (("one", 130), ("two", 75)):
        rng = np.random.default_rng(frames)
        angles = angles_for(len(skeleton.hinges), frames=frames, seed=frames)
        wheels = np.isinf(skeleton.hinges.limits[:, 0]) & ~skeleton.hinges.slides
        assert wheels.any()
        angles[:, wheels] += 0.2 * np.arange(frames)[:, np.newaxis]
        places = np.cumsum(0.01 * rng.normal(size=(frames, 3)), axis=0)
        turns = rotations.from_rotvec(np.cumsum(0.05 * rng.normal(size=(frames, 3)), axis=0))
        clip = mocpack.Clip.from_angles(skeleton, angles, places, turns, up="z", frame_rate=30)
        files[name] = folder / f"{name}.mocp"
        files[name].write_bytes(mocpack.encode(clip, "lossless"))
    pack(files, folder / "robots.mocps")
    with open_corpus(folder / "robots.mocps") as found:
        yield found


@pytest.mark.parametrize("fps", [None, 25, 100])
def test_angles_and_roots_of_windows_are_those_of_the_robot(robots, fps):
    windows = robots.windows(
        1, fps=fps, stride=0.4, features=["root", "angles", "angle_velocities"]
    )
    for index in range(len(windows)):
        place, start, _ = windows.locate(index)
        clip = robots[place].clip()[start:]
        clip = clip if fps is None else clip.resample(fps)
        expected = robot_motion(clip.frames(0, windows.rows))
        found = {name: windows[index][:, part] for name, part in windows.columns.items()}
        np.testing.assert_allclose(found["angles"], expected.angles, atol=1e-5)
        np.testing.assert_allclose(found["angle_velocities"], expected.joint_velocities, atol=1e-3)
        positions, turns = expected.root_pose
        np.testing.assert_allclose(found["root"][:, :3], positions, atol=1e-5)
        same = np.abs((found["root"][:, 3:] * turns).sum(-1))
        np.testing.assert_allclose(same, 1, atol=1e-5)


def test_a_root_relative_window_of_a_robot_starts_with_its_own_pitch_and_no_heading(robots):
    windows = robots.windows(1, features="root", root_relative=True)
    plain = robots.windows(1, features="root")
    for found, source in zip(windows[:], plain[:], strict=True):
        # turns about z leave the height of the robot's own axes as it is
        own = [rotations.as_matrix(one[0, 3:].astype(float)) for one in (found, source)]
        np.testing.assert_allclose(own[0][2], own[1][2], atol=1e-5)
        np.testing.assert_allclose(found[0, :2], 0, atol=1e-6)
        assert abs(found[0, 5]) < 1e-6  # the quaternion's z


def test_clips_that_differ_make_no_common_windows(tmp_path):
    files = {}
    for name, clip in (("a", walk(1.0)), ("b", markers(60, 4)), ("c", walk(1.0).resample(50))):
        (tmp_path / f"{name}.mocp").write_bytes(mocpack.encode(clip, max_error="5mm"))
        files[name] = tmp_path / f"{name}.mocp"
    pack(files, tmp_path / "mixed.mocps", PackOptions())
    with open_corpus(tmp_path / "mixed.mocps") as mixed:
        with pytest.raises(UsageError, match=naming("50 100 fps=")):
            Windows(mixed, 0.5)
        with pytest.raises(UsageError, match=naming("'a' 'b' where=")):
            Windows(mixed, 0.5, fps=30)
        chosen = Windows(mixed, 0.5, fps=30, where="clip <> 'b'")
        assert chosen[0].shape == chosen[len(chosen) - 1].shape


@pytest.fixture(scope="module")
def bodies(tmp_path_factory):
    """An archive of two bodies of SMPL at 20 and at 60 frames per second, without loss."""
    folder = tmp_path_factory.mktemp("bodies")
    files = {}
    for name, rate, frames in (("slow", 20, 130), ("swift", 60, 391)):
        rng = np.random.default_rng(rate)
        time = np.arange(frames) / rate
        wave = np.sin(time[:, None] * rng.uniform(0.5, 3, 66) + rng.uniform(0, 6, 66))
        poses = 0.25 * wave * rng.normal(size=66)
        poses[:, 0] += np.pi / 2
        places = np.stack([time, 0.2 * time, 0.9 + 0.05 * np.sin(4 * time)], axis=-1)
        files[name] = folder / f"{name}.npz"
        files[name].write_bytes(npz.pack({"poses": poses, "trans": places, "fps": float(rate)}))
    assert pack(files, folder / "bodies.mocps", PackOptions(codec="lossless")) == []
    return folder / "bodies.mocps"


def test_windows_of_humanml3d_are_parts_of_the_features_of_the_whole_clip(bodies):
    with open_corpus(bodies) as corpus:
        windows = corpus.windows(seconds=2, stride=0.35, features="humanml3d")
        assert (windows.fps, windows.rows, windows.width) == (20, 40, 263)
        assert windows.columns == {"humanml3d": slice(0, 263)}
        seen = set()
        for index in range(len(windows)):
            clip_index, start, _ = windows.locate(index)
            name = corpus.names[clip_index]
            step = 1 if name == "slow" else 3
            clip = corpus[name].frames(0, corpus[name].frame_count)[start % step :: step]
            joints = [clip.skeleton.index(joint) for joint in humanml3d.JOINT_NAMES]
            features = humanml3d.compute_features(clip.positions()[:, joints])
            first = start // step
            np.testing.assert_allclose(
                windows[index], features[first : first + 40], atol=2e-5, err_msg=name
            )
            seen.add((name, start))
        assert len(seen) == len(windows) > 20
        # 130 frames have 129 rows: the last window ends with the last row
        last = max(start for name, start in seen if name == "slow")
        assert last + 40 <= 129 < last + 40 + 7


def test_windows_of_humanml3d_are_the_same_from_a_cache_a_stream_and_another_process(bodies):
    with open_corpus(bodies) as corpus:
        options = {"seconds": 1, "stride": 0.5, "features": ["humanml3d"], "mirror": True}
        windows = corpus.windows(**options)
        expected = windows[:]
        assert not np.array_equal(expected[0], expected[len(windows) // 2])
        cached = corpus.windows(**options, cache="50MB")[:]
        stream = Stream(windows, shuffle=16, seed=3)
        order = stream.indices()
        again = pickle.loads(pickle.dumps(windows))
        sent = again[:]
        again.corpus.close()
        for found in (cached, sent):
            np.testing.assert_allclose(found, expected, atol=2e-5)
        for index, found in zip(order, stream, strict=True):
            np.testing.assert_allclose(found, expected[index], atol=2e-5)


def test_humanml3d_must_be_the_only_feature_and_needs_the_joints_of_smpl(bodies, walks):
    with open_corpus(bodies) as corpus:
        for options, named in (
            ({"features": ["humanml3d", "positions"]}, "'humanml3d' positions"),
            ({"features": "humanml3d", "root_relative": True}, "'humanml3d' root_relative"),
            ({"features": "human"}, "'human' humanml3d"),
        ):
            with pytest.raises(UsageError, match=naming(named)):
                corpus.windows(**options)
    with pytest.raises(UsageError, match=naming("'humanml3d' pelvis right_wrist")):
        walks.windows(features="humanml3d")


@pytest.mark.parametrize("positions", [False, True])
def test_a_bvh_of_77_joints_with_fingers_packs_within_its_bound_and_gives_windows(
    tmp_path, positions
):
    clip = soma_clip(frames=120, positions=positions)
    assert len(clip.skeleton) == 78  # with the root
    mocpack.write(clip, tmp_path / "soma.bvh")
    options = PackOptions(target={"max_error": "1mm", "effort": "fast"})
    assert pack({"soma": tmp_path / "soma.bvh"}, tmp_path / "a.mocps", options) == []
    source = mocpack.read(tmp_path / "soma.bvh")
    with open_corpus(tmp_path / "a.mocps") as corpus:
        windows = corpus.windows(seconds=0.5, fps=30, features=["positions"])
        found = windows[1].reshape(15, -1, 3)
        apart = np.linalg.norm(found - source.positions()[60:120:4], axis=-1)
        assert apart.max() <= 1.001e-3
        # constant offsets cost nothing, although the file repeats them
        assert corpus["soma"].sizes["payload"] < 120 * 40


def test_clips_that_share_a_skeleton_give_the_windows_of_their_own_files(tmp_path):
    clips = {f"walk{n}": walk(1.0, seed=n) for n in range(3)}
    clips["long"] = walk(2.0, seed=4)
    named = walk(1.0, seed=5)
    clips["named"] = replace(named, header=replace(named.header, metadata={"take": "one"}))
    clips["other"] = walk(1.0, seed=6).joints(["Head", "LeftToe"])
    files = {}
    for name, clip in clips.items():
        for codec in ("keysine", "lossless"):
            path = tmp_path / f"{name}-{codec}.mocp"
            target = {"max_error": "5mm", "effort": "fast"} if codec == "keysine" else {}
            path.write_bytes(mocpack.encode(clip, codec, **target))
            files[path.stem] = path
    pack(files, tmp_path / "all.mocps")
    with open_corpus(tmp_path / "all.mocps") as corpus:
        for name in ("walk0-lossless", "walk0-keysine", *corpus.names, *corpus.names):
            index = corpus.clip_index(name)
            with mocpack.open(files[name]) as single:
                plan = window_plan(single.header, STORED_FEATURES)
                found, expected = np.zeros((2, 40, plan.width), np.float32)
                single.window_writer.write(plan, 3, 43, expected)
            corpus.window_writer(index).write(plan, 3, 43, found)
            np.testing.assert_array_equal(found, expected)
            if "walk0" not in name and "other" not in name and "keysine" in name:
                assert index not in corpus._motions  # opened without a Motion of its own
            assert corpus.window_writer(index) is corpus.window_writer(index)


def test_a_clip_stays_open_from_its_second_opening_on(tmp_path):
    files = {f"{n:02}": tmp_path / f"{n:02}.mocp" for n in range(MAX_NEW_CLIPS + 2)}
    for seed, path in enumerate(files.values()):
        path.write_bytes(mocpack.encode(walk(0.3, seed=seed), max_error="5mm", effort="fast"))
    pack(files, tmp_path / "all.mocps")
    with open_corpus(tmp_path / "all.mocps") as corpus:
        corpus.motion(0)  # the others are opened like it
        first = corpus.window_writer(1)
        for index in range(2, MAX_NEW_CLIPS + 1):
            corpus.window_writer(index)
        assert corpus.window_writer(1) is first
        corpus.window_writer(MAX_NEW_CLIPS + 1)
        second = corpus.window_writer(1)
        assert second is not first
        for index in range(2, len(corpus)):
            corpus.window_writer(index)
        assert corpus.window_writer(1) is second


def test_windows_do_not_depend_on_the_clip_that_was_opened_first(tmp_path):
    clip = walk(2.0, seed=1)
    turns = np.array(clip.rotations)
    turns[:, 4] = rotations.from_rotvec(np.array([0.3, -0.7, 0.2]))
    rigid = replace(clip, rotations=turns)  # its joint 4 has one constant rotation
    turns[:, 4] = rotations.from_rotvec(np.array([0.1, 0.5, 0.2]))
    bent = replace(clip, rotations=turns)
    clips = {"walk": clip, "rigid": rigid, "bent": bent, "other": walk(1.5, seed=2)}
    files = {name: tmp_path / f"{name}.mocp" for name in clips}
    for name, path in files.items():
        path.write_bytes(mocpack.encode(clips[name], max_error="1mm", effort="fast"))
    pack(files, tmp_path / "all.mocps")
    for first in clips:
        with open_corpus(tmp_path / "all.mocps") as corpus:
            corpus.motion(corpus.clip_index(first))
            for name, path in files.items():
                with mocpack.open(path) as single:
                    plan = window_plan(single.header, STORED_FEATURES)
                    found, expected = np.zeros((2, 40, plan.width), np.float32)
                    single.window_writer.write(plan, 3, 43, expected)
                corpus.window_writer(corpus.clip_index(name)).write(plan, 3, 43, found)
                np.testing.assert_array_equal(found, expected)


def test_a_damaged_clip_does_not_prevent_windows_of_others(tmp_path):
    files = {f"{n}": tmp_path / f"{n}.mocp" for n in range(3)}
    for seed, path in enumerate(files.values()):
        path.write_bytes(mocpack.encode(walk(1.0, seed=seed), max_error="5mm", effort="fast"))
    pack(files, tmp_path / "all.mocps")
    data = bytearray((tmp_path / "all.mocps").read_bytes())
    with open_corpus(tmp_path / "all.mocps") as corpus:
        place, whole = corpus.index.place(0), corpus.read(0)
        expected = list(corpus.windows(1.0))
    data[place.offset + whole.index(b"DATA") - len(place.base) + 12] ^= 255  # in keysine's head
    (tmp_path / "damaged.mocps").write_bytes(data)
    with open_corpus(tmp_path / "damaged.mocps") as corpus:
        windows = corpus.windows(1.0)  # opens clip 0 up to its payload
        with pytest.raises(FormatError):
            windows[0]
        np.testing.assert_array_equal([windows[1], windows[2]], expected[1:])


def test_a_shared_skeleton_hides_neither_damage_nor_uneven_times(tmp_path):
    clips = [walk(1.0, seed=n) for n in range(3)]
    times = np.cumsum(np.linspace(0.9, 1.1, len(clips[1])) * clips[1].frame_time)
    uneven = clips[1]
    clips[1] = Clip.build(
        uneven.skeleton, uneven.rotations, uneven.translations, times=times - times[0]
    )
    files = {f"{n}": tmp_path / f"{n}.mocp" for n in range(3)}
    for clip, path in zip(clips, files.values(), strict=True):
        path.write_bytes(mocpack.encode(clip, max_error="5mm", effort="fast"))
    pack(files, tmp_path / "all.mocps")
    data = bytearray((tmp_path / "all.mocps").read_bytes())
    with open_corpus(tmp_path / "all.mocps") as corpus:
        place = corpus.index.place(2)
        whole = corpus.read(2)
    data[place.offset + whole.index(b"DATA") - len(place.base) + 12] ^= 255  # in keysine's head
    (tmp_path / "damaged.mocps").write_bytes(data)
    with open_corpus(tmp_path / "damaged.mocps") as corpus:
        corpus.motion(0)
        with pytest.raises(UsageError, match=naming("1 times")):
            corpus.window_writer(1)
        with pytest.raises(FormatError):
            corpus.window_writer(2)


@pytest.fixture(scope="module")
def labeled(tmp_path_factory):
    """An archive with the columns action and take, and clips of 3, 0.5 and 2 seconds."""
    folder = tmp_path_factory.mktemp("labeled")
    lengths = {"walk_1": 3.0, "run_2": 0.5, "jump_3": 2.0}
    clips = {name: walk(seconds, seed=len(name)) for name, seconds in lengths.items()}
    for name, clip in clips.items():
        (folder / f"{name}.mocp").write_bytes(mocpack.encode(clip, "raw"))
    table = pa.table({"clip": [*lengths], "action": ["walk", "run", "jump"], "take": [1, 2, None]})
    files = {name: folder / f"{name}.mocp" for name in lengths}
    pack(files, folder / "all.mocps", meta=table)
    with open_corpus(folder / "all.mocps") as found:
        yield found


def test_windows_come_with_the_labels_of_their_clips(labeled):
    found = labeled.windows(1, stride=1, labels=["action"])
    pairs = list(found)
    assert [labels["action"] for _, labels in pairs] == ["jump"] * 2 + ["walk"] * 3
    plain = labeled.windows(1, stride=1)
    np.testing.assert_array_equal([window for window, _ in pairs], list(plain))
    batch, labels = found.batch([4, 0])
    np.testing.assert_array_equal(batch, plain.batch([4, 0]))
    assert labels == {"action": ["walk", "jump"]}


def test_a_stream_yields_the_labels_of_its_windows(labeled):
    found = labeled.windows(1, stride=1, labels=["action"])
    stream = Stream(found, shuffle=2)
    order = stream.indices()
    for index, (window, labels) in zip(order, stream, strict=True):
        np.testing.assert_allclose(window, found[index][0], atol=1e-6)
        assert labels == found[index][1]


def test_labels_that_do_not_exist_or_are_missing_are_usage_errors(labeled):
    with pytest.raises(UsageError, match=naming("'actoin'")):
        labeled.windows(1, labels=["actoin"])
    with pytest.raises(UsageError, match=naming("'take' 1 jump_3")):
        labeled.windows(1, labels=["take"])
    assert labeled.windows(1, labels=["take"], where="take is not null")[0][1] == {"take": 1}


@pytest.mark.parametrize("cache", [None, "40MB"])
@pytest.mark.parametrize("fps", [60, 25])
def test_short_clips_are_padded_with_zeros_and_a_mask(labeled, fps, cache):
    found = labeled.windows(1, fps=fps, pad=True, features=BODY_FEATURES, mirror=True, cache=cache)
    assert found.skipped == []
    assert len(found) == 2 * (3 + 1 + 2)
    clip = labeled["run_2"].clip().resample(fps)
    for number, own in ((2, clip), (8, clip.mirror())):
        window, labels = found[number]
        assert labels["mask"].sum() == len(clip)
        assert labels["mask"][: len(clip)].all()
        assert_alike(window[: len(clip)], features_of(own), found.columns)
        assert not window[len(clip) :].any()
    assert found[0][1]["mask"].all()
    _, labels = found.batch([0, 2])
    assert labels["mask"].shape == (2, fps)
    for index, (window, labels) in zip(Stream(found).indices(), Stream(found), strict=True):
        np.testing.assert_allclose(window, found[index][0], atol=2e-5)
        np.testing.assert_array_equal(labels["mask"], found[index][1]["mask"])


@pytest.mark.parametrize("pad", [False, True])
def test_statistics_are_those_of_all_rows(labeled, pad):
    found = labeled.windows(
        1, stride=0.5, features=["rotation6d", "velocities"], mirror=True, pad=pad
    )
    rows = [window[labels["mask"]] for window, labels in found] if pad else list(found)
    rows = np.concatenate(rows).astype(np.float64)
    mean, std = found.statistics()
    np.testing.assert_allclose(mean, rows.mean(0), atol=1e-6)
    np.testing.assert_allclose(std, rows.std(0), atol=1e-6)


def test_contacts_of_a_clip_are_those_of_its_window(labeled):
    found = labeled.windows(2, features=["contacts"])
    clip = labeled["jump_3"].clip()
    contacts = clip.contacts()
    assert list(contacts) == [clip.skeleton.names[j] for j in feet(clip.skeleton)]
    np.testing.assert_array_equal(np.stack([*contacts.values()], axis=1), found[0])
    assert any(one.any() for one in contacts.values())
