"""An S3 server on the loopback for the tests of this folder."""

import pytest
from moto_server import Server


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """An empty server, and a folder for its tests."""
    server = Server(tmp_path_factory.mktemp("s3"))
    yield server
    server.stop()
