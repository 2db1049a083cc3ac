"""Single files are read by URL, from servers with and without byte ranges."""

import pickle
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import mocpack
from mocpack.testing import walk
from naming import naming

pytest.importorskip("fsspec")


class Quiet(SimpleHTTPRequestHandler):
    """The server of Python, which has no ranges and sends whole files."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a walk of ten seconds as walk.bvh and walk.mocp."""
    folder = tmp_path_factory.mktemp("remote")
    mocpack.write(walk(10.0), folder / "walk.bvh")
    mocpack.write(mocpack.read(folder / "walk.bvh"), folder / "walk.mocp", codec="lossless")
    return folder


@pytest.fixture(params=["file", "http"])
def url(folder, request):
    """Where the folder is."""
    if request.param == "file":
        yield folder.as_uri()
        return
    pytest.importorskip("aiohttp")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_file_opens_by_its_url(folder, url):
    expected = mocpack.read(folder / "walk.mocp")
    with mocpack.open(f"{url}/walk.mocp") as motion:
        np.testing.assert_array_equal(motion[100:200].rotations, expected[100:200].rotations)
        with pickle.loads(pickle.dumps(motion)) as again:
            assert len(again) == len(expected)
    assert mocpack.clip_names(f"{url}/walk.mocp") == []


@pytest.mark.parametrize("name", ["walk.mocp", "walk.bvh"])
def test_a_file_of_any_format_is_read_by_its_url(folder, url, name):
    np.testing.assert_array_equal(
        mocpack.read(f"{url}/{name}").rotations, mocpack.read(folder / name).rotations
    )


def test_a_missing_file_is_an_error_that_names_the_url(url):
    for call in (mocpack.open, mocpack.read):
        with pytest.raises(OSError, match=naming(f"{url}/other.mocp")):
            call(f"{url}/other.mocp")
