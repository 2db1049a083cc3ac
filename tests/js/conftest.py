"""The JavaScript package, where node is installed and `make js` has built it."""

import pytest
from in_node import find_package


@pytest.fixture(scope="session")
def package():
    return find_package()
