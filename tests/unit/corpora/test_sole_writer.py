"""One process at a time writes an archive, and no program's archive is replaced unseen."""

from contextvars import Context

import pytest

import mocpack
from mocpack.corpora import append, merge, open_corpus, pack, repair, storage
from mocpack.corpora.packing import PackOptions
from mocpack.corpora.sole_writer import sole_writer
from mocpack.corpora.writing import CorpusWriter
from mocpack.errors import UsageError
from mocpack.testing import walk
from naming import naming

pytest.importorskip("pyarrow")
FAST = PackOptions(target={"max_error": "5mm", "effort": "fast"})


@pytest.fixture
def takes(tmp_path):
    for number in range(3):
        mocpack.write(walk(0.2, seed=number), tmp_path / f"t{number}.bvh")
    return {path.stem: path for path in tmp_path.glob("*.bvh")}


def write_as_another(work, *arguments, **options):
    """Write an archive as another thread or process would, outside of this thread's locks."""
    return Context().run(work, *arguments, **options)


WRITERS = {
    "append": lambda takes, path, _: append({"t1": takes["t1"]}, path, FAST),
    "pack": lambda takes, path, _: pack({"t1": takes["t1"]}, path, FAST),
    "merge": lambda takes, path, other: merge([other], path),
    "repair": lambda takes, path, other: repair(other, path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_second_writer_of_an_archive_is_refused(takes, tmp_path, name):
    pytest.importorskip("fcntl")
    path, other = tmp_path / "all.mocps", tmp_path / "other.mocps"
    pack({"t0": takes["t0"]}, path, FAST)
    pack({"t2": takes["t2"]}, other, FAST)
    with CorpusWriter(path, append=True), pytest.raises(UsageError, match=naming("all.mocps")):
        write_as_another(WRITERS[name], takes, path, other)
    append({"t2": takes["t2"]}, path, FAST)
    with open_corpus(path) as found:
        assert found.names == ("t0", "t2")
    assert not list(tmp_path.glob(".*"))


def test_a_second_writer_of_a_new_archive_is_refused(takes, tmp_path):
    pytest.importorskip("fcntl")
    path = tmp_path / "new.mocps"
    (tmp_path / "link.mocps").symlink_to(path)
    with CorpusWriter(path):
        for name in (path, tmp_path / "link.mocps"):
            with pytest.raises(UsageError, match=naming(name.name)):
                write_as_another(pack, takes, name, FAST)
    assert not list(tmp_path.glob(".*"))


def test_a_lock_that_a_killed_process_left_stops_no_writer(takes, tmp_path):
    (tmp_path / ".all.mocps.lock").touch()
    pack(takes, tmp_path / "all.mocps", FAST)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("by_url", [False, True])
@pytest.mark.parametrize("shard_size", [None, 300])
@pytest.mark.parametrize("exists", [False, True])
def test_an_archive_that_another_program_wrote_meanwhile_stays(
    takes, tmp_path, by_url, shard_size, exists
):
    path, other = tmp_path / "all.mocps", tmp_path / "other.mocps"
    pack({"t2": takes["t2"]}, other, FAST)
    if exists:
        pack({"t0": takes["t0"]}, path, FAST, shard_size=shard_size)
    before = {path.name for path in tmp_path.iterdir()} | {"all.mocps"}
    if by_url:
        pytest.importorskip("fsspec")
    name = path.as_uri() if by_url else path

    def on_progress(index, share):
        if share == 1 and other.exists():
            other.replace(path)

    work = append if exists else pack
    with pytest.raises(UsageError, match=naming("all.mocps")):
        work({"t1": takes["t1"]}, name, FAST, shard_size=shard_size, on_progress=on_progress)
    with open_corpus(path) as found:
        assert found.names == ("t2",)
    assert {path.name for path in tmp_path.iterdir()} == before - {"other.mocps"}


def test_an_inner_block_knows_the_version_at_the_start_of_the_outer_one(tmp_path):
    path = str(tmp_path / "all.mocps")
    with sole_writer(path) as version:
        assert version == ""
        (tmp_path / "all.mocps").write_bytes(b"another program's")
        with sole_writer(path) as inner:
            assert inner == version
        with pytest.raises(UsageError), CorpusWriter(path):
            pass
    assert (tmp_path / "all.mocps").read_bytes() == b"another program's"
    with sole_writer(path) as version:
        assert version == storage.version(path) != ""
