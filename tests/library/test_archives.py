"""Archives in libmocpack: the same clips, bytes and errors as in Python."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

import mocpack
from damaged_archives import damaged_indexes
from mocpack.common.source import open_source
from mocpack.container import read_trailer
from mocpack.corpora import open_corpus, pack
from mocpack.errors import (
    CorruptionError,
    FormatError,
    TruncatedError,
    UnsupportedVersionError,
)
from mocpack.testing import walk
from takes import markers

pytest.importorskip("pyarrow")
LIBRARY = Path(__file__).parents[2] / "build/library/shared/lib/libmocpack.so"
TRUNCATED, CORRUPT, NOT_MOCPACK, UNSUPPORTED, BAD_ARGUMENT = -1, -2, -5, -6, -9
READ = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p
)


class Source(ctypes.Structure):
    _fields_ = (("user", ctypes.c_void_p), ("size", ctypes.c_uint64), ("read", READ))


class Error(ctypes.Structure):
    _fields_ = (
        ("status", ctypes.c_int),
        ("offset", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("message", ctypes.c_char * 232),
    )


class Clip(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_size", ctypes.c_size_t),
        ("frame_count", ctypes.c_uint64),
        ("frame_time", ctypes.c_double),
        ("size", ctypes.c_uint64),
        ("shard", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
        ("stored_size", ctypes.c_uint64),
        ("base_offset", ctypes.c_uint64),
        ("kind", ctypes.c_uint64),
    )


@pytest.fixture(scope="module")
def library():
    if not LIBRARY.exists():
        pytest.skip("make library builds it")
    found = ctypes.CDLL(str(LIBRARY))
    found.mocpack_archive_clip_count.restype = ctypes.c_size_t
    found.mocpack_archive_find_clip.restype = ctypes.c_size_t
    found.mocpack_archive_clip_info.restype = ctypes.POINTER(Clip)
    found.mocpack_archive_read_clip.argtypes = (
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_uint64,
        ctypes.c_size_t,
        ctypes.c_void_p,
    )
    return found


class Archive:
    """An archive of bytes, opened by the library."""

    def __init__(self, library, data):
        self.library, self.data, self.reads = library, data, []

        def read(_user, offset, size, out):
            assert offset + size <= len(data)
            self.reads.append((offset, size))
            ctypes.memmove(out, data[offset : offset + size], size)
            return 0

        self._read = READ(read)
        self.handle, self.error = ctypes.c_void_p(), Error()
        source = Source(None, len(data), self._read)
        self.status = library.mocpack_archive_open(
            ctypes.byref(source), None, ctypes.byref(self.handle), ctypes.byref(self.error)
        )

    def close(self):
        if not self.status:
            self.library.mocpack_archive_close(self.handle)

    def file(self, clip):
        size = self.library.mocpack_archive_clip_info(self.handle, clip).contents.size
        out = ctypes.create_string_buffer(size)
        assert not self.library.mocpack_archive_read_clip(self.handle, clip, 0, size, out)
        return out.raw


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archives")
    clips = {"a": walk(1.5), "b": walk(1.0, seed=2), "c": markers(30, 4)}
    files = {}
    for name, clip in clips.items():
        files[name] = folder / f"{name}.mocp"
        files[name].write_bytes(mocpack.encode(clip, max_error="5mm", effort="fast"))
    pack(files, folder / "all.mocps")
    pack(files, folder / "many.mocps", shard_size=500)
    return folder


def test_the_library_gives_every_clip_byte_for_byte(library, packed):
    archive = Archive(library, (packed / "all.mocps").read_bytes())
    try:
        assert archive.status == 0, archive.error.message
        assert library.mocpack_archive_clip_count(archive.handle) == 3
        assert min(offset for offset, _ in archive.reads) >= 5  # only the trailer
        with open_corpus(packed / "all.mocps") as found:
            for number, name in enumerate(found.names):
                assert library.mocpack_archive_find_clip(archive.handle, name.encode()) == number
                assert archive.file(number) == found.read(number)
                entry = library.mocpack_archive_clip_info(archive.handle, number).contents
                assert ctypes.string_at(entry.name, entry.name_size).decode() == name
                assert entry.frame_count == found.index.frame_counts[number]
                assert entry.frame_time == found.index.frame_times[number]
        assert library.mocpack_archive_find_clip(archive.handle, b"none") == 3
        assert not library.mocpack_archive_clip_info(archive.handle, 3)
        out = ctypes.create_string_buffer(8)
        assert library.mocpack_archive_read_clip(archive.handle, 0, 10**9, 8, out) == BAD_ARGUMENT
        assert library.mocpack_archive_read_clip(archive.handle, 3, 0, 8, out) == BAD_ARGUMENT
    finally:
        archive.close()


def test_any_part_of_a_clip_can_be_read(library, packed):
    archive = Archive(library, (packed / "all.mocps").read_bytes())
    whole = archive.file(0)
    rng = np.random.default_rng(0)
    for _ in range(300):
        first, last = sorted(rng.integers(0, len(whole) + 1, 2).tolist())
        out = ctypes.create_string_buffer(last - first + 1)
        assert not library.mocpack_archive_read_clip(archive.handle, 0, first, last - first, out)
        assert out.raw[: last - first] == whole[first:last]
    archive.close()


def test_a_clip_opens_as_a_motion(library, packed):
    archive = Archive(library, (packed / "all.mocps").read_bytes())
    motion, error = ctypes.c_void_p(), Error()
    opening = library.mocpack_archive_open_clip
    status = opening(archive.handle, 1, None, ctypes.byref(motion), ctypes.byref(error))
    assert status == 0, error.message
    library.mocpack_close(motion)
    status = opening(archive.handle, 9, None, ctypes.byref(motion), ctypes.byref(error))
    assert status == BAD_ARGUMENT
    assert b" 9" in error.message
    assert b" 3 " in error.message
    archive.close()


def test_a_clip_in_a_shard_names_its_file(library, packed):
    archive = Archive(library, (packed / "many.mocps").read_bytes())
    motion, error = ctypes.c_void_p(), Error()
    status = library.mocpack_archive_open_clip(
        archive.handle, 0, None, ctypes.byref(motion), ctypes.byref(error)
    )
    assert status == UNSUPPORTED
    assert b"many-00000.mocps" in error.message
    archive.close()
    shard = Archive(library, (packed / "many-00000.mocps").read_bytes())
    with open_corpus(packed / "all.mocps") as found:
        assert shard.file(0) == found.read(0)
    shard.close()


def kind_of(data):
    """The result of Python's reader for a trailer."""
    try:
        read_trailer(open_source(data))
    except TruncatedError:
        return TRUNCATED
    except CorruptionError:
        return CORRUPT
    except UnsupportedVersionError:
        return UNSUPPORTED
    except FormatError:
        return NOT_MOCPACK
    return 0


def test_all_readers_refuse_damaged_archives(library, packed):
    data = (packed / "all.mocps").read_bytes()
    # libmocpack does not read the catalog; Python reports its damage
    index = data.rfind(b"INDX")
    cases = [data[:cut] for cut in (0, 3, 20, 29, index, len(data) - 24, len(data) - 1)]
    cases += [data + b"x", b"something else, and long enough to have a footer"]
    rng = np.random.default_rng(5)
    for at in rng.integers(index, len(data), 150):
        broken = bytearray(data)
        broken[at] ^= 1 << int(rng.integers(8))
        cases.append(bytes(broken))
    for case in cases:
        archive = Archive(library, case)
        assert archive.status == kind_of(case) != 0, archive.error.message
        assert archive.error.message


def test_a_wrong_index_gives_the_same_kind_of_error_in_both_readers(library, packed):
    seen = set()
    for name in ("all", "many"):
        for case in damaged_indexes((packed / f"{name}.mocps").read_bytes(), 11, 400):
            archive = Archive(library, case)
            expected = kind_of(case)
            assert archive.status == expected, archive.error.message
            seen.add(expected)
            if not archive.status:
                archive.close()
    assert seen >= {0, CORRUPT}


def test_the_example_of_the_page_compiles(tmp_path):
    """The C program of docs/embedding.md that lists an archive."""
    if not LIBRARY.exists():
        pytest.skip("make library builds it")
    page = (Path(__file__).parents[2] / "docs/embedding.md").read_text(encoding="utf-8")
    part = page[page.index("## Archives") :]
    code = part[part.index("```c\n") + 5 : part.index("\n```", part.index("```c\n"))]
    (tmp_path / "list.c").write_text(code)
    include = LIBRARY.parents[1] / "include"
    words = ["cc", "-std=c99", "-Wall", "-Werror", f"-I{include}", "-fsyntax-only"]
    subprocess.run([*words, str(tmp_path / "list.c")], check=True)
