"""The readers that are not Python: the JavaScript package, and the example in C."""

import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
PACKAGE = CHECKOUT / "js"


@pytest.fixture(scope="session")
def package():
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    if not ((PACKAGE / "dist/index.js").exists() and (PACKAGE / "dist/mocpack.wasm").exists()):
        pytest.skip("the JavaScript package is not built; `make js` builds it")
    return PACKAGE


@pytest.fixture(scope="session")
def frames(tmp_path_factory):
    """The reader in C, compiled as `make frames` does it."""
    library = CHECKOUT / "build/editable/libmocpack_core.a"
    compiler = shutil.which("cc")
    if compiler is None or not library.exists():
        pytest.skip("needs a C compiler and the core's library, as `make setup` leaves it")
    zlib = subprocess.run(
        [compiler, "-E", "-xc", "-"], input=b"#include <zlib.h>", capture_output=True, check=False
    )
    if zlib.returncode:
        pytest.skip("needs the headers of zlib")
    program = tmp_path_factory.mktemp("c") / "frames"
    source, headers = CHECKOUT / "examples/frames.c", f"-I{CHECKOUT / 'core/include'}"
    options = ["-std=c11", "-Wall", "-Wextra", "-Werror", headers, "-o", program]
    subprocess.run(
        [compiler, *options, source, library, "-lz", "-lstdc++", "-lm"], check=True, timeout=120
    )
    return program
