"""keysine's tables survive packing into the wasm file and unpacking at startup."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from naming import naming

ROOT = Path(__file__).resolve().parents[2]
PACKER = ROOT / "bindings" / "wasm" / "pack_tables.py"
TABLES = ROOT / "core" / "src" / "keysine" / "format" / "tables.inc"
PROGRAM = """
#include <cstdio>
#include <cstring>
#include "keysine/format/statistics.h"
namespace trained
{{
#include "keysine/format/tables.inc"
}}
using namespace mocpack;
int main()
{{
{checks}
	return 0;
}}
"""
CHECK = """\
	static_assert(sizeof trained::{name} == sizeof keysine::{name}, "{name}");
	if (std::memcmp(trained::{name}, keysine::{name}, sizeof trained::{name}))
		std::puts("{name}");
"""


@pytest.fixture(scope="module")
def packer():
    spec = importlib.util.spec_from_file_location("pack_tables", PACKER)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.skipif(not shutil.which("c++"), reason="there is no C++ compiler")
def test_packed_tables_are_the_trained_ones(packer, tmp_path):
    subprocess.run([sys.executable, PACKER, TABLES, tmp_path], check=True)
    arrays = packer.read_arrays(TABLES.read_text())
    assert len(arrays) > 10
    checks = "".join(CHECK.format(name=array.name) for array in arrays)
    (tmp_path / "compare.cpp").write_text(PROGRAM.format(checks=checks))
    core = ROOT / "core"
    options = [f"-I{core / 'include'}", f"-I{core / 'src'}", f"-I{tmp_path}", "-std=c++17"]
    sources = [tmp_path / "compare.cpp", PACKER.parent / "trained_tables.cpp"]
    compile_ = ["c++", "-DMOCPACK_TABLES_AT_START", *options, *sources, "-o", tmp_path / "compare"]
    subprocess.run(compile_, check=True)
    found = subprocess.run([tmp_path / "compare"], capture_output=True, text=True, check=True)
    assert found.stdout == ""


def test_packed_tables_are_less_than_a_third_of_the_numbers(packer):
    arrays = packer.read_arrays(TABLES.read_text())
    assert len(packer.pack(arrays)) < 2 * sum(len(array.numbers) for array in arrays) / 3


def test_an_array_that_cannot_be_packed_is_a_clear_error(packer):
    with pytest.raises(SystemExit, match=naming("tables.inc int16_t uint16_t")):
        packer.read_arrays("inline constexpr int32_t A[2] = {1, 2};")
    with pytest.raises(SystemExit, match=naming("A 2 3")):
        packer.read_arrays("inline constexpr int16_t A[3] = {1, 2};")
    with pytest.raises(SystemExit, match=naming("A 0 4096")):
        packer.pack(packer.read_arrays("inline constexpr uint16_t A[3] = {0, 1, 2};"))
