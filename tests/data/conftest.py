"""Tests that need clips which cannot be in the repository; `make test-data` runs them.

The clips are in the folder that MOCPACK_DATA names, one folder per collection. A test whose clip is
missing is skipped and names the file and its source. It is a failure if all are missing.
"""

import pytest

from mocpack.bench.datasets import collection, data_folder, describe_missing, find_clip
from mocpack.errors import UsageError


@pytest.fixture(scope="session", autouse=True)
def data():
    """The folder that MOCPACK_DATA names."""
    try:
        folder = data_folder()
    except UsageError as error:
        pytest.exit(str(error), returncode=2)
    if folder is None:
        pytest.exit("MOCPACK_DATA is not set; it names the folder of clips", returncode=2)
    return folder


@pytest.fixture
def real(data):
    """Find a clip's file by its name."""

    def find(name):
        path = find_clip(name, data)
        if path is None:
            pytest.skip(f"missing clip: {describe_missing(name)}")
        return path

    return find


@pytest.fixture
def whole(data):
    """Find all files of a collection."""

    def find(name):
        try:
            return collection(name, data)
        except UsageError as error:
            pytest.skip(str(error))

    return find


def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 0 and not reporter.stats.get("passed"):
        reporter.write_line("nothing was tested: the folder has none of the clips", red=True)
        session.exitstatus = 1
