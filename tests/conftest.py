"""The readers that are not Python: the JavaScript package, and the example in C."""

import shutil
import subprocess
from pathlib import Path

import pytest
from in_node import find_package

CHECKOUT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def package():
    return find_package()


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
    source = CHECKOUT / "examples/frames.c"
    headers = [f"-I{CHECKOUT / 'core' / folder}" for folder in ("include", "src")]
    options = ["-std=c11", "-Wall", "-Wextra", "-Werror", *headers, "-o", program]
    subprocess.run(
        [compiler, *options, source, library, "-lz", "-lstdc++", "-lm"], check=True, timeout=120
    )
    return program
