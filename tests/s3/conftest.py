"""An S3 server on the loopback for the tests of this folder."""

import pytest
from moto_server import Server


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """A server with nothing in it, and a folder for the tests that use it."""
    server = Server(tmp_path_factory.mktemp("s3"))
    yield server
    server.stop()
