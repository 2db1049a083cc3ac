"""The wheel in an empty environment: complete, small, with the same bytes as other builds."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import urllib.request
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import mocpack
from child_processes import start
from mocpack.samples import JUMP
from naming import naming

ROOT = Path(__file__).parents[2]
MAX_WHEEL_BYTES = 3_000_000
LICENSES = sorted((ROOT / "LICENSES").glob("*.txt"))
README = (ROOT / "README.md").read_text(encoding="utf-8")

# the same clip under several codecs and bounds; its digest is that of all the files
SETTINGS = [
    ("keysine", "1mm"), ("lossless", None),
    ("keysine", "0.2mm"), ("keysine", "10mm"), ("keysine:mode=grid", "0.1mm"),
    ("fk-wavelet", "5mm"), ("ik-predict", "5mm"), ("raw", None),
]  # fmt: skip
WRITE_FILES = """
import hashlib, mocpack, mocpack.samples
clip = mocpack.read(mocpack.samples.JUMP).frames(0, 240)
for spec, target in {}:
    data = mocpack.encode(clip, spec, max_error=target)
    back = mocpack.decode(data)
    print(spec, target, len(data), hashlib.sha256(data + back.rotations.tobytes()).hexdigest())
"""


def tour():
    """Return the command lines and the program of the README's tour."""
    section = README.split("## A tour")[1].split("\n## ")[0]
    commands, program = re.findall(r"```\w*\n(.*?)```", section, re.DOTALL)
    return [line for line in commands.splitlines() if line.strip()], program


def names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_wheel_is_small(wheel):
    assert wheel.stat().st_size <= MAX_WHEEL_BYTES


@pytest.mark.parametrize(
    "name",
    [
        "mocpack/viewing/page/index.html",
        "mocpack/viewing/page/assets/*.wasm",
        "mocpack/samples/*.bvh",
        # a system without NVIDIA's compiler builds no kernels
        *(f"mocpack/trainers/{path.name}" for path in ROOT.glob("src/mocpack/trainers/*.ptx")),
        "mocpack/py.typed",
        "mocpack/_core.pyi",
        "mocpack-*.dist-info/licenses/LICENSE",
        *(f"mocpack-*.dist-info/licenses/LICENSES/{path.name}" for path in LICENSES),
    ],
)
def test_the_wheel_is_whole(wheel, name):
    assert any(Path(found).match(name) for found in names(wheel)), name


def test_the_wheel_has_no_sources_of_the_core_and_no_tests(wheel):
    assert all(n.startswith(("mocpack/", "mocpack-")) for n in names(wheel))
    assert not any(n.endswith((".cpp", ".h", ".a", ".ts")) for n in names(wheel))


def test_the_plain_install_asks_for_numpy_typer_and_rich_alone(wheel):
    with zipfile.ZipFile(wheel) as archive:
        path = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        facts = Parser().parsestr(archive.read(path).decode())
    plain = [line for line in facts.get_all("Requires-Dist") if "extra ==" not in line]
    assert {re.split(r"[ ><=]", line)[0] for line in plain} == {"numpy", "typer", "rich"}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert set(facts.get_all("Provides-Extra")) == extras.keys()
    assert facts["Version"] == mocpack.__version__


def test_the_tour_of_the_readme_runs_where_only_the_wheel_is(installed, tmp_path):
    (tmp_path / "walk.bvh").write_bytes(JUMP.read_bytes())
    commands, program = tour()
    assert len(commands) >= 5
    for line in commands:
        # commands that serve until Ctrl-C have their own test
        if not line.startswith("mocpack view"):
            # the environment has no cp, so the test copies walk.bvh
            result = installed.run(line.partition(" && ")[0], tmp_path)
            assert result.returncode == 0, (line, result.stderr)
    for name in ("walk.mocp", "back.bvh"):
        assert (tmp_path / name).stat().st_size > 1000
    result = installed.run_python(program, tmp_path)
    assert result.returncode == 0, result.stderr
    assert "largest error" in result.stdout


def test_view_exports_a_page_that_carries_its_decoder(installed, tmp_path):
    (tmp_path / "walk.bvh").write_bytes(JUMP.read_bytes())
    installed.run("mocpack compress walk.bvh --max-error 5mm --effort fast", tmp_path)
    result = installed.run("mocpack view walk.mocp walk.bvh --export page.html", tmp_path)
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "AGFzbQ" in page  # the first bytes of any WebAssembly, in base64
    assert not re.search(r'(src|href)="(?!data:|#)[^"]+\.(js|css|wasm)"', page)


def test_view_serves_the_page_and_the_wasm(installed, tmp_path):
    (tmp_path / "walk.bvh").write_bytes(JUMP.read_bytes())
    server = start(
        [installed.python, "-um", "mocpack", "view", "walk.bvh", "--no-browser", "--port", "0"],
        cwd=tmp_path, env=installed.variables, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    address = server.stdout.readline().split(" ")[0].rstrip("/")
    index = urllib.request.urlopen(f"{address}/", timeout=30).read().decode()
    assert "<title>" in index
    wasm = next(
        n.removeprefix("mocpack/viewing/page/")
        for n in names_of_page(installed)
        if n.endswith(".wasm")
    )
    assert urllib.request.urlopen(f"{address}/{wasm}", timeout=30).read()[:4] == b"\0asm"


def names_of_page(environment):
    code = "from mocpack.viewing.page import page_files; print(*page_files())"
    return environment.run_python(code, environment.scripts).stdout.split()


def test_a_missing_extra_is_a_clear_error(installed, tmp_path):
    (tmp_path / "walk.bvh").write_bytes(JUMP.read_bytes())
    result = installed.run("mocpack compress walk.bvh --codec latent-spline:knots=cma", tmp_path)
    assert result.returncode == 2
    assert "pip install 'mocpack[papers]'" in result.stderr
    assert "Traceback" not in result.stderr
    demo = installed.run("mocpack demo", tmp_path)
    assert demo.returncode == 0, demo.stderr
    assert re.match(naming("picture matplotlib"), demo.stdout)


def test_numpy_alone_reads_encodes_decodes_and_writes(bare, tmp_path):
    (tmp_path / "walk.bvh").write_bytes(JUMP.read_bytes())
    result = bare.run_python(
        "import sys, mocpack\n"
        "clip = mocpack.read('walk.bvh')\n"
        "data = mocpack.encode(clip, max_error='5mm', effort='fast')\n"
        "back = mocpack.decode(data)\n"
        "for name in ('back.bvh', 'back.glb', 'back.npz', 'back.amc'):\n"
        "    mocpack.write(back, name)\n"
        "assert mocpack.compare(clip, back)['max_error_mm'] <= 5\n"
        "mocpack.encode(clip, 'lossless')\n"
        "outside = {m.partition('.')[0] for m in sys.modules} - sys.stdlib_module_names\n"
        "print(*sorted(m for m in outside if not m.startswith('_')))\n",
        tmp_path,
    )
    assert result.returncode == 0, result.stderr
    assert set(result.stdout.split()) <= {"mocpack", "numpy"}
    assert (tmp_path / "back.glb").read_bytes()[:4] == b"glTF"


def test_every_codec_decodes_with_numpy_alone(bare, tmp_path):
    golden = ROOT / "tests/golden"
    code = (
        "import sys, pathlib, mocpack\n"
        f"for path in sorted(pathlib.Path({str(golden)!r}).glob('*/v*/file.mocp')):\n"
        "    mocpack.read(path)\n"
        "    print(path.parent.parent.name)\n"
    )
    result = bare.run_python(code, tmp_path)
    assert result.returncode == 0, result.stderr
    assert set(result.stdout.split()) == set(mocpack.codec_ids())


def test_the_command_without_its_packages_says_how_to_get_them(bare, tmp_path):
    result = bare.run("mocpack --version", tmp_path)
    assert result.returncode == 1
    assert re.match(naming("mocpack: typer pip install mocpack"), result.stderr)
    assert result.stderr.count("\n") == 1


def test_the_wheel_writes_the_bytes_that_the_checkout_writes(bare, tmp_path):
    if not Path(mocpack.__file__).is_relative_to(ROOT / "src"):
        pytest.skip("needs mocpack compiled in the checkout, as `make setup` leaves it")
    # the wheel of `make test` contains the checkout's own objects; others have another compiler's
    code = WRITE_FILES.format(SETTINGS if "MOCPACK_WHEEL" in os.environ else SETTINGS[:2])
    theirs = bare.run_python(code, tmp_path)
    assert theirs.returncode == 0, theirs.stderr
    ours = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert theirs.stdout == ours.stdout


def test_the_source_distribution_has_all_that_a_build_needs(wheel):
    found = sorted(wheel.parent.glob("*.tar.gz"))
    if not found:
        pytest.skip("no source distribution beside the wheel; `make wheel` builds both")
    with tarfile.open(found[0]) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    tracked = subprocess.run(
        ["git", "ls-files", "src", "core", "bindings/python", "CMakeLists.txt", "pyproject.toml"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\n")[:-1]  # fmt: skip
    assert not set(tracked) - inside
    assert "src/mocpack/viewing/page/index.html" in inside
