"""Python, libmocpack and JavaScript give the same result for mutated files and archives.

`MOCPACK_FUZZ` (make fuzz) uses new seeds and more of them.
"""

import json
import os
import secrets
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from mutations import common_files, mutated_archives, mutated_files, other_files

import mocpack
from mocpack.common.source import open_source
from mocpack.container import ClipSource, Reader, read_trailer, scene_parts
from mocpack.errors import (
    CorruptionError,
    FormatError,
    MemoryLimitError,
    TruncatedError,
    UnknownCodecError,
    UnsupportedVersionError,
)

KINDS = {
    FormatError: "format",
    TruncatedError: "truncated",
    CorruptionError: "corrupt",
    UnsupportedVersionError: "unsupported",
    UnknownCodecError: "unsupported",
    MemoryLimitError: "memory",
}
FUZZ = int(os.environ.get("MOCPACK_FUZZ", "0"))
COUNT = FUZZ or 140
SEEDS = [secrets.randbits(32) for _ in range(3)] if FUZZ else [1]
TOLERANCE = 1e-9
HUGE_ANGLE = 1e5  # radians


@pytest.mark.filterwarnings("ignore::mocpack.errors.HingeWarning")
def test_every_reader_makes_the_same_of_mutated_files(compare, tmp_path):
    for seed in SEEDS:
        files = mutated_files(seed, 3 * COUNT, common_files())
        compared = compare(files, tmp_path, ".mocp")
        wrong = [
            (seed, name, *kinds) for name, kinds in compared.items() if len(set(kinds[:3])) > 1
        ]
        assert not wrong, wrong
        kinds = [kinds[0] for kinds in compared.values()]
        assert {"ok", "truncated", "corrupt", "unsupported"} <= set(kinds)
        compare_numbers(compared, files, tmp_path)


def test_native_readers_agree_with_python_on_other_mutated_files_or_do_not_support_them(
    compare, tmp_path
):
    for seed in SEEDS:
        files = mutated_files(seed, COUNT, other_files())
        compared = compare(files, tmp_path, ".mocp")
        wrong = [
            (seed, name, *kinds)
            for name, kinds in compared.items()
            if kinds[1] not in (kinds[0], "unsupported") or kinds[2] != kinds[1]
        ]
        assert not wrong, wrong


def test_every_reader_makes_the_same_of_mutated_archives(compare, tmp_path):
    for seed in SEEDS:
        compared = compare(mutated_archives(seed, COUNT), tmp_path, ".mocps")
        wrong = [
            (seed, name, *kinds[:3]) for name, kinds in compared.items() if len(set(kinds[:3])) > 1
        ]
        assert not wrong, wrong
        assert {"truncated", "corrupt"} < {kinds[0] for kinds in compared.values()}


@pytest.fixture(scope="session")
def compare(library, package):
    """Return functions that read files with Python, C with tracks, JavaScript, and C."""
    program = library.program(Path(__file__).parent / "compare.c")

    def kinds_of(files, folder, suffix):
        paths = [folder / f"{n}{suffix}" for n in range(len(files))]
        for path, (_, data) in zip(paths, files, strict=True):
            path.write_bytes(data)
        listed = folder / "list"
        listed.write_text("".join(f"{path}\n" for path in paths))
        in_c = printed([program, listed]).splitlines()
        in_js = json.loads(printed(["node", package / "test/compare.mjs", listed]))
        python = read_archive if suffix == ".mocps" else read_file
        kinds = []
        for (_, data), c, js in zip(files, in_c, in_js, strict=True):
            frames, tracks = (c, c) if suffix == ".mocps" else c.split()
            kinds.append((python(data), tracks if frames == "ok" else frames, js, frames))
        return dict(zip((name for name, _ in files), kinds, strict=True))

    return kinds_of


def printed(call):
    done = subprocess.run(
        list(map(str, call)), capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def kind_of(work):
    try:
        work()
    except tuple(KINDS) as error:
        return KINDS[type(error)]
    return "ok"


def read_file(data):
    return kind_of(lambda: read_clips(data))


def read_clips(data):
    """Decode a clip, or every clip of a scene."""
    parts = scene_parts(open_source(data))
    for part in [data] if parts is None else parts.values():
        mocpack.decode(part)


def read_archive(data):
    """Return the kind of the trailer, and of each clip."""
    indexes = []
    source = open_source(data)
    kinds = [kind_of(lambda: indexes.append(read_trailer(source).index))]
    for index in indexes:
        for n, file in enumerate(index.columns[:, 1]):
            kinds.append("unsupported" if file else kind_of(partial(read_entry, source, index, n)))
    return " ".join(kinds)


def read_entry(source, index, number):
    clip = ClipSource(source, index.place(number))
    mocpack.decode(clip.read(0, clip.size))


def compare_numbers(compared, files, folder):
    """Hold frames, angles, tracks and metadata of the files that all accept against each other."""
    for n, ((name, data), kinds) in enumerate(zip(files, compared.values(), strict=True)):
        if set(kinds) != {"ok"} or len(scene_parts(open_source(data)) or "x") > 1:
            continue
        clip = mocpack.decode(data)
        expected = [np.concatenate([clip.rotations, local_places(clip)], axis=2)]
        expected += [clip.scales] if clip.header.is_scaled else []
        expected += [clip.angles] if clip.skeleton.hinges else []
        for track in clip.tracks.values():
            expected += [track.seconds(clip.frame_time), track_numbers(track)]
        found = np.fromfile(folder / f"{n}.mocp.c")
        np.testing.assert_allclose(
            found,
            np.concatenate([a.ravel() for a in expected]),
            rtol=TOLERANCE,
            atol=TOLERANCE,
            err_msg=name,
        )
        if has_huge_angles(data):
            continue
        in_js = np.fromfile(folder / f"{n}.mocp.js")
        poses = found[: expected[0].size].reshape(expected[0].shape)
        beside = found[expected[0].size + other_numbers(clip) :]
        same = np.concatenate([poses[..., :4].ravel(), poses[..., 4:].ravel(), beside])
        np.testing.assert_allclose(in_js, same, rtol=TOLERANCE, atol=TOLERANCE, err_msg=name)
        assert json.loads((folder / f"{n}.mocp.js.json").read_text()) == dict(clip.metadata), name


def other_numbers(clip):
    """Return how many numbers C writes between frames and tracks: scales and angles."""
    angles = clip.angles.size if clip.skeleton.hinges else 0
    return angles + (clip.scales.size if clip.header.is_scaled else 0)


def has_huge_angles(data):
    """Return whether a raw file has numbers of which the sine differs between C libraries."""
    parts = scene_parts(open_source(data))
    reader = Reader(next(iter(parts.values())) if parts else open_source(data))
    if reader.codec_id != "raw":
        return False
    payload = reader.payload.read_all()
    floats = np.frombuffer(payload[len(payload) % 4 :], "<f4")
    return bool((np.abs(floats) > HUGE_ANGLE).any())


def track_numbers(track):
    if track.kind == "label":
        words = list(dict.fromkeys(track.values))
        return np.array([words.index(label) for label in track.values], float)
    return np.asarray(track.values, float)


def local_places(clip):
    """Return the local translation (T, J, 3) of every joint; the offset for joints without one."""
    places = np.repeat(clip.skeleton.offsets[np.newaxis], clip.frame_count, axis=0)
    places[:, list(clip.header.translated_joints)] = clip.translations
    return places
