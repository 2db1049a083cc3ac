"""Python, libmocpack and JavaScript give the same result for the same file."""

import json
import subprocess
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from native_reader import read_clip, read_numbers
from reader_cases import all_cases, chunks

import mocpack
from mocpack import _core
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.container import DEFAULT_LIMIT
from mocpack.container import track as track_chunk
from mocpack.errors import (
    CorruptionError,
    FormatError,
    MemoryLimitError,
    TruncatedError,
    UnknownCodecError,
    UnsupportedVersionError,
)
from mocpack.model.rotations import from_rotvec, multiply, slerp
from mocpack.model.take_data import KINDS as TRACK_KINDS
from mocpack.model.take_data import TakeData, Track
from mocpack.testing import hard_clips, walk
from naming import naming
from robots import hinged_motion, hinged_skeleton
from takes import take

MICROMETER = 1e-6
SINGLE = 1e-6  # a few roundings of float32
KINDS = {
    FormatError: "format",
    TruncatedError: "truncated",
    CorruptionError: "corrupt",
    UnsupportedVersionError: "unsupported",
    UnknownCodecError: "unsupported",
    MemoryLimitError: "memory",
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    for number, case in enumerate(all_cases().values()):
        (folder / f"{number}.mocp").write_bytes(case.data)
    return folder


@pytest.fixture(scope="session")
def good(folder):
    """The path of every short file that all readers decode, by the name of its case."""
    return {
        name: folder / f"{number}.mocp"
        for number, (name, case) in enumerate(all_cases().items())
        if case.expected(native=True) == "ok" and "minutes" not in name and not case.limit
    }


def by_python(data, read):
    try:
        read(data)
    except tuple(KINDS) as error:
        return KINDS[type(error)]
    return "ok"


def test_python_gives_the_results_of_the_table():
    kinds = {}
    for name, case in all_cases().items():
        limit = case.limit or DEFAULT_LIMIT
        kinds[name] = by_python(case.data, partial(mocpack.decode, memory_limit=limit))
    assert kinds == {name: case.expected(native=False) for name, case in all_cases().items()}


def test_javascript_gives_the_results_of_the_table(package, folder):
    jobs = [
        {"file": str(folder / f"{number}.mocp"), "limit": case.limit or DEFAULT_LIMIT}
        for number, case in enumerate(all_cases().values())
    ]
    listed = folder / "jobs.json"
    listed.write_text(json.dumps(jobs))
    found = subprocess.run(
        ["node", str(package / "test/kinds.mjs"), str(listed)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    kinds = dict(zip(all_cases(), json.loads(found.stdout), strict=True))
    assert kinds == {name: case.expected(native=True) for name, case in all_cases().items()}


@pytest.mark.parametrize("access", ["memory", "source", "needs"])
def test_libmocpack_gives_the_results_of_the_table(read_in_c, folder, access):
    paths = {}
    for number, (name, case) in enumerate(all_cases().items()):
        paths.setdefault(case.limit or DEFAULT_LIMIT, {})[name] = folder / f"{number}.mocp"
    kinds = {}
    for limit, files in paths.items():
        found = said_in_c(read_in_c, str(limit), access, files.values())
        kinds |= dict(zip(files, found, strict=True))
    assert kinds == {name: case.expected(native=True) for name, case in all_cases().items()}


def test_libmocpack_decodes_what_python_decodes(read_in_c, good):
    local, world = (dumped(read_in_c, what, good) for what in ("local", "world"))
    for name, path in good.items():
        clip = mocpack.read(path)
        positions, turns = clip.world()
        compare_poses(name, local[name], clip.rotations, local_places(clip))
        compare_poses(name, world[name], turns, positions)


def test_libmocpack_gives_the_scales_that_python_gives(read_in_c, good):
    scaled = {name: path for name, path in good.items() if "scale" in name or name == "a walk"}
    for (name, path), found in zip(
        scaled.items(), read_numbers(read_in_c, "scales", scaled.values()), strict=True
    ):
        scales = mocpack.read(path).scales
        np.testing.assert_allclose(found.reshape(scales.shape), scales, rtol=1e-15, err_msg=name)


@pytest.mark.parametrize("what", ["local", "world", "keys", "0.0401"])
def test_libmocpack_agrees_in_single_and_double_precision(read_in_c, good, what):
    doubles, singles = (dumped(read_in_c, what, good, kind) for kind in (np.float64, np.float32))
    for name, double in doubles.items():
        single = singles[name]
        for part, rtol in ((slice(4), 0), (slice(4, 7), SINGLE)):
            np.testing.assert_allclose(
                single[..., part], double[..., part], rtol=rtol, atol=SINGLE, err_msg=name
            )
        sizes = np.linalg.norm(single[..., :4], axis=-1)
        np.testing.assert_allclose(sizes, 1.0, rtol=0, atol=SINGLE, err_msg=name)


@pytest.mark.parametrize("bound", ["5mm", "1mm", "0.1mm"])
def test_single_precision_moves_no_point_of_a_real_clip_by_a_micrometer(read_in_c, tmp_path, bound):
    path = tmp_path / "clip.mocp"
    clip = load_clip("cmu/49_02", COMMITTED).frames(0, 300)
    path.write_bytes(mocpack.encode(clip, f"keysine:max_error={bound},effort=fast"))
    clip = mocpack.read(path)
    (numbers,) = read_numbers(read_in_c, "local", [path], np.float32)
    turns = numbers.reshape(clip.frame_count, -1, 7)[..., :4]
    moved = replace(clip, rotations=turns.astype(float))  # places are rounded, which is no fault
    assert np.abs(moved.world()[0] - clip.world()[0]).max() < MICROMETER


def test_libmocpack_previews_what_python_previews_and_frames_a_second_apart_without_keys(
    read_in_c, good
):
    without_keys = 0
    for name, found in dumped(read_in_c, "keys", good).items():
        with mocpack.open(good[name]) as motion:
            if motion.codec.codec_id == "keysine":
                keys = motion.preview()
                at = slice(None)
            else:
                keys = motion.clip()
                at = frames_a_second_apart(keys)
                without_keys += 1
        places = local_places(keys)[at]
        np.testing.assert_allclose(found[..., 4:], places, atol=1e-9, err_msg=name)
        compare_turns(name, found, keys.rotations[at])
    assert 0 < without_keys < len(good)


def frames_a_second_apart(clip):
    """Return the indices of frames per second apart, and of the last one."""
    last = clip.frame_count - 1
    return [*range(0, last, round(1 / clip.frame_time)), last]


@pytest.mark.parametrize("access", ["memory", "source", "needs"])
def test_libmocpack_reads_the_tracks_that_python_reads(read_in_c, tmp_path, access):
    clip = replace(walk(1.0), take_data=TakeData(tracks=many_tracks()))
    path = tmp_path / "tracks.mocp"
    path.write_bytes(mocpack.encode(clip, max_error="10mm"))
    tracks = mocpack.read(path).tracks
    assert set(tracks) == set(many_tracks())
    found = tracks_in_c(read_in_c, access, path)
    assert list(found) == list(tracks)
    for name, track in tracks.items():
        kind, times, values, words = found[name]
        assert kind == track.kind
        np.testing.assert_allclose(times, track.seconds(clip.frame_time), rtol=1e-15, atol=1e-12)
        if kind == "label":
            assert tuple(words[int(n)] for n in values) == track.values
        else:
            expected = np.asarray(track.values, float).ravel()
            np.testing.assert_allclose(values, expected, rtol=1e-15, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("way", range(12))
def test_libmocpack_reads_numbers_however_they_are_coded(read_in_c, tmp_path, monkeypatch, way):
    """Not the smallest way to code them is taken, but each in turn."""
    chosen = []

    def pack_numbers(values, step=0.0, *, known=False, simple=False):
        chosen.append(_core.pack_numbers(values, step, known, simple, way))
        return chosen[-1]

    monkeypatch.setattr(track_chunk, "pack_numbers", pack_numbers)
    clip = replace(walk(1.0), take_data=TakeData(tracks=many_tracks()))
    path = tmp_path / "tracks.mocp"
    path.write_bytes(mocpack.encode(clip, "keysine:step=10mm"))
    assert chosen
    monkeypatch.undo()
    found = tracks_in_c(read_in_c, "memory", path)
    for name, track in mocpack.read(path).tracks.items():
        if track.kind != "label":
            expected = np.asarray(track.values, float).ravel()
            np.testing.assert_allclose(found[name][2], expected, rtol=1e-15, atol=1e-12)


HINGED = {
    "channels": lambda: take(["hinges", "rest"], frames=40),
    "two roots": lambda: take(["hinges", "roots", "rest"], frames=40),
    "robot": lambda: hinged_motion(hinged_skeleton(3), 3),
}


@pytest.mark.parametrize("name", HINGED)
def test_libmocpack_gives_the_hinges_and_angles_that_python_gives(read_in_c, tmp_path, name):
    path = tmp_path / "hinges.mocp"
    path.write_bytes(mocpack.encode(HINGED[name](), max_error="1mm"))
    clip = mocpack.read(path)
    hinges = clip.skeleton.hinges
    names, rows, angles = hinges_in_c(read_in_c, path)
    assert names == hinges.names
    np.testing.assert_array_equal(rows[:, 0], hinges.joints)
    np.testing.assert_array_equal(rows[:, 1], hinges.slides)
    np.testing.assert_allclose(rows[:, 2:5], hinges.axes, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(rows[:, 5:], hinges.limits)
    np.testing.assert_allclose(angles.reshape(clip.angles.shape), clip.angles, rtol=0, atol=1e-8)


@pytest.mark.parametrize("time", [0.0, 0.0401, 0.26, 1.3, 1e6])
def test_libmocpack_samples_what_python_samples(read_in_c, good, time):
    names = ["a walk", "a take with times", "a take with space", "raw: a take with roots"]
    poses = dumped(read_in_c, repr(time), {name: good[name] for name in names})
    for name, found in poses.items():
        with mocpack.open(good[name]) as motion:
            pose = motion.sample(time)
        compare_turns(name, found, pose.rotations)
        np.testing.assert_allclose(found[..., 4:], local_places(pose), atol=1e-9, err_msg=name)


def test_libmocpack_turns_the_shorter_way_between_frames_far_apart(read_in_c, tmp_path):
    clip = hard_clips()["full turns"]
    path = tmp_path / "turns.mocp"
    path.write_bytes(mocpack.encode(clip, max_error="1mm"))
    frames = mocpack.read(path)
    for k in range(0, frames.frame_count - 1, 7):
        time = (k + 0.37) * frames.frame_time
        (numbers,) = read_numbers(read_in_c, repr(time), [path])
        expected = slerp(frames.rotations[k], frames.rotations[k + 1], time / frames.frame_time - k)
        along = np.abs((numbers.reshape(-1, 7)[:, :4] * expected).sum(-1))
        np.testing.assert_allclose(along, 1.0, atol=1e-12)


@pytest.mark.parametrize("access", ["memory", "source", "needs"])
def test_libmocpack_opens_each_clip_of_a_scene(read_in_c, tmp_path, access):
    clips = {"a": walk(0.4), "b é": walk(2.1), "": take(["roots", "tracks"])}
    path = tmp_path / "scene.mocp"
    path.write_bytes(mocpack.encode_scene(clips, max_error="5mm"))
    lines = read_lines(read_in_c, "scene", access, path)
    for name, clip in mocpack.read_scene(path).items():
        assert text_of(next(lines)) == name
        sizes = np.abs(clip.rotations).sum() + np.abs(local_places(clip)).sum()
        assert float(next(lines)) == pytest.approx(sizes, rel=1e-9)
    assert not next(lines)
    (said,) = said_in_c(read_in_c, str(DEFAULT_LIMIT), access, [path])
    assert said == "argument"


@pytest.mark.parametrize("share", [0.5, 0.7, 0.95])
def test_libmocpack_plays_a_cut_file_as_python_does(read_in_c, tmp_path, share):
    data = mocpack.encode(walk(4.0), "keysine:max_error=1mm,effort=fast,layers=3")
    path = tmp_path / "cut.mocp"
    path.write_bytes(data[: int(share * len(data))])
    clip = mocpack.decode(path.read_bytes(), partial=True)
    found = read_clip(read_in_c, path, clip)
    np.testing.assert_allclose(found.rotations, clip.rotations, atol=1e-9)


def test_a_wrong_checksum_is_reported_first(read_in_c, tmp_path):
    """Only for files in memory: a source is not read completely to check its payload."""
    data = all_cases()["a walk"].data
    at = data.index(dict(chunks(data))[b"DATA"])
    path = tmp_path / "longer.mocp"
    path.write_bytes(data[:at] + b"\xff\x7f" + data[at + 2 :])  # a head beyond the payload's end
    assert by_python(path.read_bytes(), mocpack.decode) == "corrupt"
    assert said_in_c(read_in_c, str(DEFAULT_LIMIT), "memory", [path]) == ["corrupt"]


def said_in_c(program, limit, access, paths):
    """Return the kind of each file, as libmocpack has it."""
    done = subprocess.run(
        [program, limit, access, *paths], capture_output=True, text=True, check=True, timeout=300
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(paths), done.stdout
    return [line.split(" ", 1)[0] for line in lines]


def dumped(program, what, paths, dtype=np.float64):
    """Return frames (T, J, 7) of each file by name, rotations and translations."""
    numbers = read_numbers(program, what, list(paths.values()), dtype)
    found = {}
    for (name, path), values in zip(paths.items(), numbers, strict=True):
        with mocpack.open(path) as motion:
            found[name] = values.reshape(-1, len(motion.header.skeleton), 7)
    return found


def compare_poses(name, found, turns, places):
    np.testing.assert_allclose(found[..., :4], turns, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(found[..., 4:], places, atol=1e-9, err_msg=name)


def compare_turns(name, found, turns):
    """Compare rotations that may differ in sign."""
    along = np.abs((found[..., :4] * turns).sum(-1))
    np.testing.assert_allclose(along, 1.0, atol=1e-12, err_msg=name)


def many_tracks():
    """Tracks that take every form of numbers and every coder of them."""
    rng = np.random.default_rng(19)
    t = np.arange(400) / 30
    smooth = np.stack([np.sin(2 * t), np.cos(3 * t), np.sin(5 * t) * t], axis=1)
    turns = from_rotvec(smooth)
    pulses = np.where(np.arange(400) % 37 < 4, 0.7, 0.0)
    return {
        "scalar": Track("scalar", smooth[:, 0], bound=1e-4, unit="N"),
        "fine": Track("scalar", smooth[:, 2], bound=1e-7, frame_time=1 / 120, start=-0.25),
        "exact": Track("scalar", smooth[:, 1]),
        "single": Track("vec3", smooth.astype(np.float32)),
        "decimals": Track("scalar", np.round(smooth[:, 0], 4)),
        "walk": Track("scalar", np.cumsum(rng.normal(size=400)).round(3)),
        "noise": Track("vec3", rng.normal(size=(400, 3)), bound=0.01),
        "vectors": Track("vec3", smooth, bound=1e-5),
        "turns": Track("quaternion", turns, bound=0.002),
        "near": Track("quaternion", multiply(turns[:1], from_rotvec(0.01 * smooth)), bound=1e-3),
        "exact turns": Track("quaternion", turns),
        "pulses": Track("scalar", pulses, bound=0.01),
        "zeros": Track("scalar", np.zeros(90), bound=0.1),
        "constant": Track("vec3", np.full((50, 3), 0.3), bound=0.01),
        "flags": Track("flag", rng.random(300) < 0.3),
        "labels": Track("label", ["a", "b", "c\0", "ü", ""] * 20, times=np.sort(rng.random(100))),
        "": Track("label", ["only"]),
        "uneven": Track("scalar", t[:50] ** 2, times=np.cumsum(rng.uniform(0.01, 0.2, 50))),
        "none": Track("scalar", np.zeros(0), bound=0.1),
        "no labels": Track("label", []),
    }


def read_lines(program, *call):
    done = subprocess.run([program, *call], capture_output=True, check=True, timeout=60)
    return iter(done.stdout.split(b"\n"))


def text_of(line):
    size, text = line.split(b" ", 1)
    assert len(text) == int(size)
    return text.decode()


def tracks_in_c(program, access, path):
    """Return (kind, times, values, words) of each track."""
    lines, found = read_lines(program, "tracks", access, path), {}
    for line in lines:
        if not line:
            return found
        status, kind = next(lines).split()
        assert status == b"ok"
        times, values = (np.array(next(lines).split(), float) for _ in range(2))
        words = ()
        if TRACK_KINDS[int(kind)] == "label":
            words = tuple(text_of(next(lines)) for _ in range(int(next(lines))))
        found[text_of(line)] = TRACK_KINDS[int(kind)], times, values, words
    raise AssertionError("the list of tracks does not end")


def hinges_in_c(program, path):
    """Return names, numbers (H, 7), and the angles of all frames."""
    lines = list(read_lines(program, "hinges", path))
    *rows, angles, end = lines
    assert not end
    numbers = np.array([line.split() for line in rows[1::2]], float)
    return tuple(map(text_of, rows[::2])), numbers, np.array(angles.split(), float)


def local_places(clip):
    """Return the local translation (T, J, 3) of every joint, its offset where it does not move."""
    places = np.repeat(clip.skeleton.offsets[np.newaxis], clip.frame_count, axis=0)
    places[:, list(clip.header.translated_joints)] = clip.translations
    return places


def test_unknown_parameters_and_values_are_kept_and_shown():
    with mocpack.open(all_cases()["a parameter that nobody knows"].data) as motion:
        assert motion.params["zeal"] == 11
        assert motion.params["effort"] == "default"
    with mocpack.open(all_cases()["a value that nobody knows"].data) as motion:
        assert motion.params["effort"] == "heroic"


def test_a_needed_parameter_is_named():
    with pytest.raises(UnsupportedVersionError, match=naming("'zeal'")):
        mocpack.open(all_cases()["a needed parameter that nobody knows"].data)
