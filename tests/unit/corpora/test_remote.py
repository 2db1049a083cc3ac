"""Archives by URL: few requests, merged ranges, and no stale cache."""

import importlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import numpy as np
import pytest

import mocpack
from mocpack.common.arguments import is_url
from mocpack.corpora import open_corpus, pack
from mocpack.corpora.remote import MAX_GAP_BYTES, RangeCache, merge_ranges
from mocpack.corpora.writing import front_size
from mocpack.errors import FormatError, MissingExtraError, TruncatedError, UsageError
from mocpack.testing import walk
from naming import naming

fsspec = pytest.importorskip("fsspec")
MemoryFileSystem = pytest.importorskip("fsspec.implementations.memory").MemoryFileSystem
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("remote")
    files = {}
    for number in range(3):
        files[f"w{number}"] = folder / f"{number}.mocp"
        clip = walk(5.0, seed=number)
        files[f"w{number}"].write_bytes(mocpack.encode(clip, max_error="5mm", effort="fast"))
    pack(files, folder / "all.mocps")
    pack(files, folder / "many.mocps", shard_size=1000)
    return folder


@pytest.fixture
def memory(packed):
    """The archives in fsspec's own memory."""
    system = fsspec.filesystem("memory")
    for path in packed.glob("*.mocps"):
        system.pipe_file(f"/data/{path.name}", path.read_bytes())
    yield system
    system.rm("/data", recursive=True)


def test_an_archive_is_opened_by_one_request_and_a_window_by_another(packed, memory, monkeypatch):
    with open_corpus(packed / "all.mocps") as local:
        monkeypatch.setattr("mocpack.corpora.remote.TAIL_BYTES", local.trailer_size)
        expected = local.windows(2)[:]
    with open_corpus("memory://data/all.mocps") as found:
        assert found.request_totals == (1, local.trailer_size)
        windows = found.windows(2)
        assert np.array_equal(windows[0], expected[0])
        assert found.request_totals[0] == 2
        assert np.array_equal(windows[0], expected[0])
        assert found.request_totals[0] == 2
        assert found.table.num_rows == 3


def test_a_trailer_longer_than_the_guess_takes_one_more_request(packed, memory, monkeypatch):
    monkeypatch.setattr("mocpack.corpora.remote.TAIL_BYTES", 100)
    with open_corpus("memory://data/all.mocps") as found:
        assert found.request_totals == (2, found.trailer_size)
        assert len(found) == 3


def test_shards_stand_beside_their_archive(packed, memory):
    with open_corpus("memory://data/many.mocps") as many, open_corpus(packed / "all.mocps") as one:
        assert all(many.read(name) == one.read(name) for name in one.names)


def test_in_memory_everything_is_there_at_once(packed, memory):
    with open_corpus("memory://data/all.mocps", in_memory=True) as found:
        assert not found.is_remote
        assert np.array_equal(found.windows(2)[0], corpus_window(packed))


def corpus_window(packed):
    with open_corpus(packed / "all.mocps") as local:
        return local.windows(2)[0]


def test_a_kept_folder_serves_later_runs_but_no_other_edition(packed, memory, tmp_path):
    options = {"cache": tmp_path / "kept", "cache_size": "1MB"}
    with open_corpus("memory://data/all.mocps", **options) as first:
        expected = first.windows(2)[1]
    with open_corpus("memory://data/all.mocps", **options) as again:
        assert np.array_equal(again.windows(2)[1], expected)
        assert again.request_totals[0] == 1
    # another archive under the same name: cached bytes of the old one are not used
    pack({"w1": packed / "1.mocp", "w2": packed / "2.mocp"}, tmp_path / "all.mocps")
    memory.pipe_file("/data/all.mocps", (tmp_path / "all.mocps").read_bytes())
    with (
        open_corpus("memory://data/all.mocps", **options) as other,
        open_corpus(tmp_path / "all.mocps") as local,
    ):
        assert other.read("w1") == local.read("w1")
        assert np.array_equal(other.windows(2)[1], local.windows(2)[1])


def test_over_http_by_ranges(packed):
    pytest.importorskip("aiohttp")

    class Ranges(SimpleHTTPRequestHandler):
        """Serves parts of files, as every object store does."""

        def do_GET(self):
            data = (packed / self.path.strip("/")).read_bytes()
            first, _, last = (
                self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
            )
            start = len(data) - int(last) if not first else int(first)
            stop = len(data) if not first or not last else int(last) + 1
            part = data[max(0, start) : stop]
            self.send_response(206)
            self.send_header("Content-Length", str(len(part)))
            self.send_header("Content-Range", f"bytes {max(0, start)}-{stop - 1}/{len(data)}")
            self.end_headers()
            self.wfile.write(part)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Ranges, directory=str(packed)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}/all.mocps"
        with open_corpus(url) as found:
            assert np.array_equal(found.windows(2)[0], corpus_window(packed))
    finally:
        server.shutdown()
        server.server_close()


def test_missing_files_and_other_files_are_clear_errors(memory):
    memory.pipe_file("/data/no.mocps", b"something else entirely, longer than a footer")
    with pytest.raises(FormatError, match=naming("no.mocps .mocps")):
        open_corpus("memory://data/no.mocps")
    memory.pipe_file("/data/cut.mocps", memory.cat_file("/data/all.mocps")[:-10])
    with pytest.raises(TruncatedError, match="mocpack corpus repair"):
        open_corpus("memory://data/cut.mocps")
    with pytest.raises(FileNotFoundError, match="memory://data/none"):
        open_corpus("memory://data/none.mocps")


def test_a_missing_file_system_package_is_a_clear_error(monkeypatch):
    def missing(*_, **__):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    with pytest.raises(MissingExtraError, match=r"pip install 'mocpack\[s3\]'"):
        open_corpus("s3://bucket/all.mocps")


def test_near_ranges_are_one(packed):
    assert merge_ranges([]) == []
    assert merge_ranges([(5, 5), (0, 5)]) == [(0, 10)]
    assert merge_ranges([(0, 1), (MAX_GAP_BYTES + 1, 1)]) == [(0, MAX_GAP_BYTES + 2)]
    assert merge_ranges([(0, 1), (MAX_GAP_BYTES + 2, 1)]) == [(0, 1), (MAX_GAP_BYTES + 2, 1)]
    assert merge_ranges([(0, 100), (10, 5)]) == [(0, 100)]


@pytest.mark.parametrize("in_folder", [False, True])
def test_ranges_are_kept_up_to_a_limit(tmp_path, in_folder):
    cache = RangeCache(100, tmp_path / "kept" if in_folder else None)
    data = bytes(range(256))
    for at in (0, 40, 80):
        cache.put("a", at, data[at : at + 40])
    assert cache.get("a", 0, 10) is None  # the oldest went
    assert cache.get("a", 45, 10) == data[45:55]
    cache.put("b", 0, data[:50])
    assert cache.get("a", 80, 40) is None  # 40 was used since
    assert cache.get("a", 45, 10) == data[45:55]
    cache.put("c", 0, data[:101])
    assert cache.get("c", 0, 1) is None  # larger than all room
    if in_folder:
        assert sum(path.stat().st_size for path in (tmp_path / "kept").iterdir()) <= 100
        again = RangeCache(100, tmp_path / "kept")
        assert again.get("a", 45, 10) == data[45:55]


def test_addresses_and_paths_are_distinguished():
    assert all(map(is_url, ("s3://a/b", "https://a/b.mocps", "hf://datasets/x")))
    assert not any(map(is_url, ("a.mocps", "/a/b.mocps", "C:\\a.mocps", "c://a")))


def test_the_trailer_repeats_head_and_key_poses_of_long_clips_only(monkeypatch):
    data = mocpack.encode(walk(5.0), max_error="5mm", effort="fast")
    with mocpack.open(data) as motion:
        (at, size), _ = motion.byte_ranges(0, len(motion))
    monkeypatch.setattr("mocpack.corpora.writing.MAX_WHOLE_CLIP_BYTES", len(data))
    assert front_size(data) == 0
    monkeypatch.setattr("mocpack.corpora.writing.MAX_WHOLE_CLIP_BYTES", len(data) - 1)
    assert front_size(data) == at + size


def test_one_request_fetches_a_short_clip_and_all_its_windows(memory, monkeypatch):
    with open_corpus("memory://data/all.mocps") as found:
        monkeypatch.setattr("mocpack.corpora.remote.TAIL_BYTES", found.trailer_size)
    with open_corpus("memory://data/all.mocps") as found:
        before, _ = found.request_totals
        motion = found[0]
        assert motion.clip().frame_count == motion.frame_count
        assert motion[: motion.frame_count // 2].frame_count
        assert found.request_totals[0] == before + 1


class Bucket(MemoryFileSystem):
    """A store of another scheme with required options."""

    store: ClassVar[dict] = {}
    pseudo_dirs: ClassVar[list] = [""]

    def __init__(self, *, project, **options):
        super().__init__(**options)
        self.project = project

    @classmethod
    def _strip_protocol(cls, path):
        return "/" + path.split("://")[-1].strip("/")


def test_errors_of_a_store_name_the_url(memory, monkeypatch):
    with pytest.raises(UsageError, match=naming("none://data/all.mocps")):
        open_corpus("none://data/all.mocps")

    def refuse(*args, **options):
        raise RuntimeError("gone")

    monkeypatch.setattr(MemoryFileSystem, "cat_file", refuse)
    with pytest.raises(OSError, match=naming("memory://data/all.mocps")):
        open_corpus("memory://data/all.mocps")


@pytest.mark.parametrize("kind", [TypeError, AttributeError, NameError, KeyboardInterrupt])
def test_a_defect_is_not_an_error_of_the_store(memory, monkeypatch, kind):
    def defective(*args, **options):
        raise kind("ours")

    monkeypatch.setattr(MemoryFileSystem, "cat_file", defective)
    with pytest.raises(kind, match="ours"):
        open_corpus("memory://data/all.mocps")


@pytest.mark.parametrize("scheme", ["gs", "hf"])
def test_any_scheme_is_opened_by_the_driver_that_fsspec_has_for_it(packed, scheme, monkeypatch):
    monkeypatch.setitem(importlib.import_module("fsspec.registry")._registry, scheme, Bucket)
    system = fsspec.filesystem(scheme, project="ours")
    for path in packed.glob("*.mocps"):
        system.pipe_file(f"{scheme}://bucket/data/{path.name}", path.read_bytes())
    for name in ("all", "many"):
        url = f"{scheme}://bucket/data/{name}.mocps"
        with open_corpus(url, storage_options={"project": "ours"}) as found:
            assert np.array_equal(found.windows(2)[0], corpus_window(packed))
            assert found.is_remote
    with pytest.raises(TypeError, match="project"):
        open_corpus(url)
