"""The licenses of what zig links into the manylinux wheel are those of the zig that built it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LICENSES = {"zig": "LICENSE", "llvm": "lib/libcxx/LICENSE.TXT"}


@pytest.mark.parametrize("name", LICENSES)
def test_license_is_that_of_the_installed_package(name):
    # of the environment that built the wheel: it may be another that runs the tests
    found = list(ROOT.glob(".venv/lib/python*/site-packages/ziglang"))
    if not found:
        pytest.skip("ziglang is not installed; `make wheel` installs it")
    (folder,) = found
    shipped = (ROOT / f"LICENSES/{name}.txt").read_text(encoding="utf-8")
    assert shipped == (folder / LICENSES[name]).read_text(encoding="utf-8")
