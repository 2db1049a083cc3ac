"""Archives on a real S3 server on the loopback; run by `make test-s3`.

The server logs every request, so that tests can count them.
"""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import s3fs

import mocpack
from mocpack.corpora import PackOptions, pack
from mocpack.testing import walk

FAST = {"max_error": "5mm", "effort": "fast"}


@pytest.fixture(scope="module")
def server(started):
    """A server with archives in it."""
    folder, files = started.folder, {}
    for number in range(6):
        path = folder / f"walk{number}.mocp"
        path.write_bytes(mocpack.encode(walk(6.0, seed=number), max_error="5mm", effort="fast"))
        files[path.stem] = path
    pack(files, folder / "plain.mocps", PackOptions(target=FAST))
    pack(files, folder / "shards.mocps", PackOptions(target=FAST), shard_size=4000)
    system = s3fs.S3FileSystem(**started.options)
    system.mkdir("data")
    for path in folder.glob("*.mocps"):
        system.put_file(str(path), f"data/{path.name}")
    return started


def opened(server, name, **options):
    return mocpack.open_corpus(f"s3://data/{name}.mocps", storage_options=server.options, **options)


def test_opening_takes_one_request(server):
    before = server.gets()
    with opened(server, "plain") as corpus:
        assert len(corpus) == 6
        assert corpus.table.num_rows == 6
        assert corpus.request_totals[0] == 1
    assert np.array_equal(np.subtract(server.gets(), before), (1, 0))


def test_a_window_takes_one_request(server, monkeypatch):
    # request only the trailer, no clip data
    with mocpack.open_corpus(server.folder / "plain.mocps") as local:
        monkeypatch.setattr("mocpack.corpora.remote.TAIL_BYTES", local.trailer_size)
        expected = local.windows(2, stride=4)[:]
    for number in range(len(expected)):
        with opened(server, "plain") as corpus:
            windows = corpus.windows(2, stride=4)
            before, asked = server.gets(), corpus.request_totals
            np.testing.assert_array_equal(windows[number], expected[number])
            # the first clip was fetched for its skeleton
            count = int(windows.locate(number)[0] > 0)
            assert corpus.request_totals[0] - asked[0] == count
            assert np.array_equal(np.subtract(server.gets(), before), (count, 0))


def test_fetched_bytes_are_not_fetched_again(server, tmp_path):
    with opened(server, "plain", cache=tmp_path / "cache") as corpus:
        windows = corpus.windows(2)
        first = windows[0]
        count = corpus.request_totals
        assert np.array_equal(windows[0], first)
        assert corpus.request_totals == count
    with opened(server, "plain", cache=tmp_path / "cache") as again:
        assert np.array_equal(again.windows(2)[0], first)
        assert (
            again.request_totals[0] == 1
        )  # the trailer, to see that the archive is still the same


def test_shards_are_requested_when_they_are_needed(server):
    with (
        opened(server, "shards") as corpus,
        mocpack.open_corpus(server.folder / "plain.mocps") as one,
    ):
        assert len(corpus.index.files) > 1
        assert all(corpus.read(name) == one.read(name) for name in one.names)


def test_threads_share_a_remote_corpus(server):
    with (
        opened(server, "plain") as corpus,
        mocpack.open_corpus(server.folder / "plain.mocps") as local,
    ):
        windows, expected = corpus.windows(1, stride=0.5), local.windows(1, stride=0.5)[:]
        with ThreadPoolExecutor(8) as pool:
            for number, found in enumerate(pool.map(windows.__getitem__, range(len(windows)))):
                np.testing.assert_array_equal(found, expected[number])


def total(windows, numbers):
    return [float(windows[number].astype(float).sum()) for number in numbers]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_open_a_remote_corpus_for_themselves(server, method):
    with opened(server, "plain") as corpus:
        windows = corpus.windows(1, stride=0.5)
        expected = total(windows, range(8))
        with multiprocessing.get_context(method).Pool(2) as pool:
            for found in pool.starmap(total, [(windows, range(8))] * 4):
                assert found == pytest.approx(expected)


def test_a_missing_archive_is_reported(server):
    with pytest.raises(FileNotFoundError, match=r"s3://data/none\.mocps"):
        opened(server, "none")


def test_a_batch_asks_for_its_windows_together(server, monkeypatch):
    with mocpack.open_corpus(server.folder / "plain.mocps") as local:
        monkeypatch.setattr("mocpack.corpora.remote.TAIL_BYTES", local.trailer_size)
    with opened(server, "plain") as corpus:
        windows = corpus.windows(2)
        before = corpus.request_totals[0]
        windows.batch(range(0, len(windows), 3))
        # clips this small lie so near one another that one request has them all
        assert corpus.request_totals[0] - before == 1
