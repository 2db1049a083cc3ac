"""The JavaScript package, where node is installed and `make js` has built it."""

import shutil
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "js"


@pytest.fixture(scope="session")
def package():
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    if not ((PACKAGE / "dist/index.js").exists() and (PACKAGE / "dist/mocpack.wasm").exists()):
        pytest.skip("the JavaScript package is not built; `make js` builds it")
    return PACKAGE
