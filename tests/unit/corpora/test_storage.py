"""Files by path and by URL are written completely or not at all."""

import pytest

from mocpack.corpora import storage
from mocpack.errors import MissingExtraError, UsageError
from naming import naming

pytest.importorskip("fsspec")


@pytest.fixture(params=["path", "url"])
def place(request, tmp_path):
    return str(tmp_path) if request.param == "path" else tmp_path.as_uri()


def test_written_files_are_read_listed_and_removed(place):
    name = storage.join_path(place, "a/b.txt")
    assert not storage.exists(name)
    assert storage.list_files(storage.join_path(place, "a")) == []
    storage.write(b"one", name)
    storage.write(b"two!", name)
    with storage.stream(storage.sibling(name, "c.txt")) as file:
        file.write(b"three")
    assert storage.exists(name)
    assert storage.read(name) == b"two!"
    found = storage.list_files(place)
    assert [(str(storage.base_name(one.path)), one.size) for one in found] == [
        ("b.txt", 4),
        ("c.txt", 5),
    ]
    assert all(one.time > 1e9 for one in found)
    assert storage.read(found[1].path) == b"three"
    assert storage.file_info(name).size == 4
    storage.remove(name)
    storage.remove(name)
    assert not storage.exists(name)
    storage.remove_folder(place)
    assert storage.list_files(place) == []


def test_a_failed_stream_keeps_the_old_file(place):
    name = storage.join_path(place, "b.txt")
    storage.write(b"old", name)

    def fail():
        with storage.stream(name) as file:
            file.write(b"half of the n")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert storage.read(name) == b"old"
    assert len(storage.list_files(place)) == 1


def test_errors_name_a_missing_file(place):
    name = storage.join_path(place, "none.txt")
    with pytest.raises(FileNotFoundError) as caught:
        storage.read(name)
    assert caught.value.filename == name


def test_errors_of_a_store_name_the_address(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder") as caught:
        storage.read(f"{tmp_path.as_uri()}/folder")
    assert caught.value.filename.startswith("file://")
    with pytest.raises(UsageError, match=naming("nothing://a/b")):
        storage.read("nothing://a/b")


def test_an_address_whose_package_is_missing_says_which(monkeypatch):
    import fsspec.core

    def url_to_fs(url, **options):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", url_to_fs)
    with pytest.raises(MissingExtraError, match=r"pip install 'mocpack\[s3\]'"):
        storage.read("s3://a/b")
