"""Open motions: from paths, bytes and file objects, in threads and other processes."""

import gzip
import io
import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import mocpack
from mocpack.common.source import FileSource
from mocpack.errors import MemoryLimitError, TruncatedError, UsageError
from mocpack.testing import walk
from mocpack.testing.motions import vertex_wave
from naming import naming

CLIP = walk(8.0)
DATA = mocpack.encode(CLIP, "keysine", max_error="2mm", effort="fast")
WHOLE = mocpack.decode(DATA)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "clip.mocp"
    path.write_bytes(DATA)
    return path


def window(motion, start):
    return motion.frames(start, start + 20).rotations


def windows_that_differ(motion, seed):
    starts = np.random.default_rng(seed).integers(0, CLIP.frame_count - 20, 60)
    return sum(not np.array_equal(window(motion, s), WHOLE.rotations[s : s + 20]) for s in starts)


def test_threads_share_an_open_motion(path):
    with mocpack.open(path) as motion, ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(windows_that_differ, [motion] * 16, range(16))) == 0


def test_threads_share_a_motion_of_a_file_object():
    with mocpack.open(io.BytesIO(DATA)) as motion, ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(windows_that_differ, [motion] * 16, range(16))) == 0


def test_opening_a_small_file_reads_its_start_once(path, monkeypatch):
    reads = []

    def read(source, offset, size):
        reads.append((offset, size))
        return read_source(source, offset, size)

    read_source = FileSource.read
    monkeypatch.setattr(FileSource, "read", read)
    with mocpack.open(path) as motion:
        assert len(reads) <= 3
        reads.clear()
        assert motion[20:40].frame_count == 20
        assert len(reads) <= 3


SHARED = []


def differing_in_a_fork(seed):
    return windows_that_differ(SHARED[0], seed)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_processes_share_an_open_motion(path):
    with mocpack.open(path) as motion:
        SHARED[:] = [motion]
        with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
            assert sum(pool.map(differing_in_a_fork, range(8))) == 0


def test_another_process_opens_the_path_again(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    with (
        mocpack.open(path.name, memory_limit="50MB") as motion,
        ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool,
    ):
        found = pool.submit(window, motion, 100).result()
        np.testing.assert_array_equal(found, WHOLE.rotations[100:120])


def test_a_motion_of_bytes_is_sent_with_them():
    with mocpack.open(DATA) as motion:
        np.testing.assert_array_equal(
            window(pickle.loads(pickle.dumps(motion)), 7), WHOLE.rotations[7:27]
        )


def test_the_memory_limit_is_sent_along(path):
    with mocpack.open(path, memory_limit="100kB") as motion:
        sent = pickle.loads(pickle.dumps(motion))
        with sent, pytest.raises(MemoryLimitError):
            sent.clip()


def test_a_file_that_changed_is_not_opened_again(path):
    with mocpack.open(path) as motion:
        sent = pickle.dumps(motion)
    path.write_bytes(DATA + b"more")
    with pytest.raises(TruncatedError, match=naming(f"clip.mocp {len(DATA) + 4} {len(DATA)}")):
        pickle.loads(sent)


def test_a_motion_of_a_file_object_cannot_be_sent(path):
    with (
        path.open("rb") as file,
        mocpack.open(file) as motion,
        pytest.raises(TypeError, match=naming("path")),
    ):
        pickle.dumps(motion)


class Pipe(io.RawIOBase):
    """Bytes that come once, a few at a time."""

    def __init__(self, data):
        self._data = io.BytesIO(data)

    def readable(self):
        return True

    def readinto(self, room):
        return self._data.readinto(memoryview(room)[:100])


@pytest.mark.parametrize("kind", ["path", "text", "bytes", "bytearray", "file", "gzip", "pipe"])
def test_bytes_like_objects_and_files_can_be_opened(path, kind):
    packed = path.with_suffix(".gz")
    packed.write_bytes(gzip.compress(DATA))
    with path.open("rb") as file, gzip.open(packed) as unzipped:
        given = {
            "path": path,
            "text": str(path),
            "bytes": DATA,
            "bytearray": bytearray(DATA),
            "file": file,
            "gzip": unzipped,
            "pipe": Pipe(DATA),
        }[kind]
        with mocpack.open(given) as motion:
            np.testing.assert_array_equal(window(motion, 300), WHOLE.rotations[300:320])
            assert motion.sizes["file"] == len(DATA)
        assert not file.closed


def test_files_that_cannot_be_opened_are_reported():
    with pytest.raises(UsageError, match=naming("int")):
        mocpack.open(7)
    with pytest.raises(UsageError, match=naming("bytes")):
        mocpack.open(io.StringIO("text"))


def test_a_file_that_takes_too_much_memory_says_its_numbers_and_the_way_out():
    long = mocpack.encode(walk(120.0), "keysine", max_error="2cm", effort="fast")
    with pytest.raises(MemoryLimitError) as found:
        mocpack.decode(long, memory_limit="4MB")
    assert "7200 frames × 21 joints" in str(found.value)
    assert "4.00 MB" in str(found.value)
    assert "memory_limit" in str(found.value)
    assert isinstance(found.value, MemoryError)
    for generous in ("2GB", 2 * 10**9, None):
        assert mocpack.decode(long, memory_limit=generous).frame_count == 7200


def test_the_limit_names_the_file(path):
    with pytest.raises(MemoryLimitError, match=naming("clip.mocp 480 frames")):
        mocpack.read(path, memory_limit=1000)


def test_parts_of_a_long_clip_take_the_memory_of_parts():
    long = mocpack.encode(walk(120.0), "keysine", max_error="2cm", effort="fast")
    with mocpack.open(long, memory_limit="4MB") as motion:
        assert motion.frames(5000, 5050).frame_count == 50
        assert motion.sample(60.0).frame_count == 1
        assert motion.layout().groups > 1
        assert motion.preview().frame_count > 1
        with pytest.raises(MemoryLimitError, match="frames 0:7200"):
            motion.frames(0, 7200)
        with pytest.raises(MemoryLimitError, match=naming("7200 21 4.00 --memory-limit")):
            motion.clip()


def test_a_window_keeps_no_more_memory_than_its_frames():
    with mocpack.open(DATA) as motion:
        for array in (window(motion, 100), motion.frames(7, 8).translations):
            held = array if array.base is None else array.base
            assert held.nbytes <= 2 * array.nbytes


@pytest.mark.parametrize("spec", ["raw", "lossless", "wavelet", "mpeg4-bap"])
def test_every_codec_keeps_the_limit(spec):
    data = mocpack.encode(walk(1.0), spec)
    with mocpack.open(data, memory_limit="100kB") as motion:
        with pytest.raises(MemoryLimitError):
            motion.clip()
        with pytest.raises(MemoryLimitError):
            motion.frames(0, 2)


def test_vertices_are_counted_too():
    clip = vertex_wave()
    with pytest.raises(MemoryLimitError, match="vertices"):
        mocpack.decode(mocpack.encode(clip, "raw"), memory_limit=clip.vertices.nbytes)


PEAK = """
import resource, sys
import mocpack
from mocpack.testing import still
from mocpack.errors import MemoryLimitError

def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

mocpack.decode(mocpack.encode(still(), max_error="1cm"))
data = open(sys.argv[1], "rb").read()
before = peak()
for limit in sys.argv[2:]:
    try:
        clip = mocpack.decode(data, memory_limit=limit)
    except MemoryLimitError:
        clip = None
    print(clip is not None, peak() - before)
"""


@pytest.mark.slow
def test_memory_is_not_taken_before_the_limit_is_asked_and_never_beyond_it(tmp_path):
    """A small file of constant joints with large arrays: 256 joints × 20,000 frames."""
    clip = chain_at_rest(256, 20_000)
    path = tmp_path / "small.mocp"
    path.write_bytes(mocpack.encode(clip, "keysine:group_seconds=1000", max_error="1mm"))
    assert path.stat().st_size < 5000
    found = subprocess.run(
        [sys.executable, "-c", PEAK, str(path), "160MB", "300MB"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    refused, decoded = (line.split() for line in found.stdout.splitlines())
    assert refused[0] == "False"
    assert int(refused[1]) < 10e6
    assert decoded[0] == "True"
    assert int(decoded[1]) < 300e6


def chain_at_rest(joints, frames):
    skeleton = mocpack.Skeleton(
        tuple(f"j{j}" for j in range(joints)),
        tuple(range(-1, joints - 1)),
        np.full((joints, 3), 0.01),
    )
    turns = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (frames, joints, 4))
    return mocpack.Clip.build(skeleton, turns, np.zeros((frames, 3)), frame_rate=60)
