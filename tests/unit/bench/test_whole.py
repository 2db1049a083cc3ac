"""Sizes of whole folders, packed as a user packs them."""

import importlib.util

import pytest

import mocpack
from mocpack.bench.datasets import CHECKOUT
from mocpack.common.units import format_size
from mocpack.errors import UsageError
from mocpack.testing import jump, walk
from naming import names, naming


@pytest.fixture
def whole():
    path = CHECKOUT / "benchmarks" / "whole.py"
    spec = importlib.util.spec_from_file_location("benchmarks_whole", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_folders_with_equal_file_names_are_counted_separately_and_bad_files_reported(
    whole, tmp_path, monkeypatch, capsys
):
    for folder, clip in (("a", walk(0.5)), ("b", jump())):
        (tmp_path / folder).mkdir()
        mocpack.write(clip, tmp_path / folder / "same.bvh")
    (tmp_path / "b" / "bad.bvh").write_text("HIERARCHY\n")
    monkeypatch.setenv("MOCPACK_DATA", str(tmp_path))
    whole.main(["a", "b", "--max-error", "10mm", "-j", "1"])
    line = capsys.readouterr().out
    size = sum((tmp_path / f / "same.bvh").stat().st_size for f in "ab")
    assert names(line, f"2 clips 0.00 h {format_size(size)} BVH 10 mm `fast` 1")


def test_a_folder_without_motion_is_named(whole, tmp_path):
    with pytest.raises(UsageError, match=naming(f".bvh MOCPACK_DATA {tmp_path.name}")):
        whole.motions(str(tmp_path))
