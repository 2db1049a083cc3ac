"""tools/suite_cost.py counts the downloads of pip and npm."""

import gzip
import runpy
from pathlib import Path

import pytest

pytest.importorskip("resource")  # Windows has none
TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools/suite_cost.py"))


def test_a_file_that_pip_fetched_twice_counts_once(tmp_path):
    log = tmp_path / "caches" / "pip.log"
    log.parent.mkdir()
    log.write_text(
        "12:00,1   Downloading numpy-2.4.whl (16.9 MB)\n"
        "12:00,2   Using cached numpy-2.4.whl (16.9 MB)\n"
        "12:00,3   Downloading numpy-2.4.whl (16.9 MB)\n"
        "12:00,4   Downloading mdurl-0.1.whl (10 kB)\n"
    )
    assert TOOL["pip_bytes"](log) == pytest.approx(16.91e6)


def test_a_package_from_a_local_folder_counts_and_what_was_built_here_does_not(tmp_path):
    mirror, place = tmp_path / "mirror", tmp_path / "place"
    mirror.mkdir()
    place.mkdir()
    (mirror / "cma-4.5.whl").write_bytes(bytes(700))
    (place / "mocpack-0.1.whl").write_bytes(bytes(900))
    (place / "pip.log").write_text(
        f"12:00,1 Processing {mirror}/cma-4.5.whl (from dev)\n"
        f"12:00,2 Processing {place}/mocpack-0.1.whl\n"
    )
    assert TOOL["pip_bytes"](place / "pip.log") == 700


def test_packages_in_the_cache_of_npm_count_and_index_pages_do_not(tmp_path):
    package, page = gzip.compress(bytes(300)), b'{"name":"three"}'
    for name, data in (("sha512/aa/bb", package), ("sha512/cc/dd", page)):
        path = tmp_path / "_cacache/content-v2" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    assert TOOL["npm_bytes"](tmp_path) == len(package)
