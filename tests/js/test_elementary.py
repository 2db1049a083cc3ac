"""Elementary functions return the same bits in WebAssembly as on other machines."""

import json
import shutil
import subprocess

import pytest

from mocpack.bench.datasets import CHECKOUT

SCRIPT = """
const source = require("fs").readFileSync(process.argv[1]);
const { count_equal, count_all } = new WebAssembly.Instance(new WebAssembly.Module(source)).exports;
console.log(JSON.stringify([count_equal(), count_all()]));
"""


@pytest.mark.slow  # it compiles them
def test_elementary_functions_in_webassembly_return_the_bits_of_other_machines(tmp_path):
    if shutil.which("node") is None or not (CHECKOUT / "js/node_modules").exists():
        pytest.skip("node is not installed, or not its packages; `make js-tools` installs these")
    program = tmp_path / "elementary.wasm"
    build = ["node", CHECKOUT / "bindings/wasm/build.mjs", "elementary", program]
    subprocess.run(build, check=True, timeout=300)
    command = ["node", "-e", SCRIPT, program]
    equal, count = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert equal == count > 0
