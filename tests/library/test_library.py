"""libmocpack as users get it: installed, found by CMake and pkg-config, small, amalgamated."""

import json
import os
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import mocpack
from mocpack.coding.fields import deflate
from mocpack.testing import walk

CHECKOUT = Path(__file__).parents[2]
CONSUMER = Path(__file__).parent / "consumer"
# `make setup` links cmake and ninja there; other environments take those of the system
PROGRAMS = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
LARGEST = {"reader": 330_000, "shared": 1_150_000}  # bytes of the shared library, stripped


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("file") / "walk.mocp"
    path.write_bytes(mocpack.encode(walk(3.0), max_error="5mm"))
    return path


def installed(kind):
    prefix = CHECKOUT / "build/library" / kind
    if not prefix.exists():
        pytest.skip("needs libmocpack as `make library` leaves it")
    return prefix


def run(*call, **options):
    done = subprocess.run(
        list(map(str, call)), capture_output=True, text=True, check=False, timeout=300, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def program(name):
    found = shutil.which(name, path=PROGRAMS)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.mark.parametrize("kind", ["static", "shared"])
def test_a_project_finds_the_library_by_cmake(kind, tmp_path, file):
    prefix, cmake = installed(kind), program("cmake")
    ninja = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={program('ninja')}"]
    run(cmake, "-S", CONSUMER, "-B", tmp_path, *ninja, f"-DCMAKE_PREFIX_PATH={prefix}")
    run(cmake, "--build", tmp_path)
    assert run(tmp_path / "use_c").startswith("format ")
    clip = mocpack.read(file)
    name, *place = run(tmp_path / "use_cpp", file).split()
    assert name == clip.skeleton.names[0]
    assert list(map(float, place)) == pytest.approx(clip.translations[0, 0].tolist(), abs=1e-8)


@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="needs pkg-config")
@pytest.mark.parametrize("kind", ["static", "shared"])
def test_pkg_config_says_how_to_link(kind, tmp_path):
    folder = installed(kind) / "lib/pkgconfig"
    options = ["--static"] if kind == "static" else []
    flags = run("pkg-config", "--cflags", "--libs", *options, folder / "mocpack.pc").split()
    program = tmp_path / "use_c"
    run("cc", "-std=c11", CONSUMER / "use_c.c", *flags, "-o", program)
    library_path = {"LD_LIBRARY_PATH": str(installed(kind) / "lib")}
    assert run(program, env=library_path).startswith("format ")


@pytest.mark.parametrize("kind", ["shared", "reader"])
def test_the_shared_library_exports_what_the_header_declares_and_is_small(kind):
    (library,) = (installed(kind) / "lib").glob("libmocpack.so.*.*.*")
    listed = run("nm", "-D", "--defined-only", library).split()
    declared = re.findall(
        r"\b(mocpack_\w+)\(", (CHECKOUT / "core/include/mocpack/mocpack.h").read_text()
    )
    inline = {"mocpack_poses_dense", "mocpack_poses_soa"} | {
        f"mocpack_poses_interleaved_f{bits}" for bits in (32, 64)
    }
    exported = {name for name in listed[2::3] if not name.startswith("_")}
    encoder = {"mocpack_encode", "mocpack_encoded_release"}
    assert exported == set(declared) - inline - (encoder if kind == "reader" else set())
    assert library.stat().st_size <= LARGEST[kind]


def test_every_function_is_called_with_bad_arguments():
    tested = (CHECKOUT / "core/tests/arguments_test.cpp").read_text()
    header = (CHECKOUT / "core/include/mocpack/mocpack.h").read_text()
    declared = set(re.findall(r"\b(mocpack_\w+)\(", header))
    assert [name for name in sorted(declared) if f"{name}(" not in tested] == []


def test_the_static_library_needs_no_cpp_runtime():
    library = installed("static") / "lib/libmocpack.a"
    wanted = {line.split()[-1] for line in run("nm", "-u", library).splitlines() if " U " in line}
    assert not {name for name in wanted if name.startswith(("_Zn", "_Zd", "__cxa", "__gxx"))}
    assert "malloc" in wanted


def test_the_library_has_the_version_of_the_package():
    header = (CHECKOUT / "core/include/mocpack/mocpack.h").read_text()
    numbers = re.findall(r"#define MOCPACK_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)
    assert mocpack.__version__.startswith(".".join(numbers))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a linker that wraps")
def test_reading_allocates_nothing_where_the_caller_gives_memory(library, file):
    wrapped = [f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "realloc")]
    program = library.program(CHECKOUT / "tests/library/steady.c", *wrapped)
    opening, reading = map(int, re.findall(r"(\d+) when", run(program, file)))
    assert opening > 0
    assert reading == 0


def test_the_amalgamation_plays_and_encodes(tmp_path, file):
    run(sys.executable, CHECKOUT / "tools/amalgamate.py", tmp_path)
    headers, sources = {"mocpack.h", "mocpack.hpp"}, ["mocpack.cpp", "mocpack_encoder.cpp"]
    assert {path.name for path in tmp_path.iterdir()} == headers | set(sources)
    strict = ["-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
    for source in sources:
        run("c++", "-std=c++17", "-Og", *strict, "-fno-exceptions", "-c", source, cwd=tmp_path)
    (tmp_path / "mocpack").mkdir()
    (tmp_path / "mocpack.h").rename(tmp_path / "mocpack/mocpack.h")
    play, encode = CHECKOUT / "examples/c/play.c", CHECKOUT / "examples/c/encode.c"
    reader = ["mocpack.o", "-lm"]  # enough for programs that only read
    for name, linked in (("play", [play]), ("encode", [encode, "mocpack_encoder.o"])):
        made = [*linked, *reader, "-o", name]
        run("cc", "-std=c11", *strict, f"-I{tmp_path}", *made, cwd=tmp_path)
    assert run(tmp_path / "play", file).startswith(f"{len(mocpack.read(file).skeleton)} joints")
    run(tmp_path / "encode", tmp_path / "made.mocp")
    assert mocpack.read(tmp_path / "made.mocp").frame_count > 1


def test_the_amalgamation_compiles_without_vector_types(tmp_path):
    run(sys.executable, CHECKOUT / "tools/amalgamate.py", tmp_path)
    plain = ["-DMOCPACK_PLAIN_VECTORS", "-fsyntax-only"]
    for source in ("mocpack.cpp", "mocpack_encoder.cpp"):
        run("c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", *plain, source, cwd=tmp_path)


@pytest.mark.parametrize("level", [0, 1, 9])
@pytest.mark.parametrize("size", [0, 10, 3000, 200_000])
def test_the_library_inflates_streams_of_zlib(read_in_c, tmp_path, level, size):
    """Metadata of many kinds of deflate blocks: the file opens where all of it comes back."""
    words = [format(k * 2654435761 % 2**32, "x") for k in range(size // 8)]
    text = json.dumps({"words": " ".join(words)}).encode()
    stream = zlib.compressobj(level, zlib.DEFLATED, -15)
    data = mocpack.encode(walk(0.3), max_error="5mm")
    path = tmp_path / "file.mocp"
    path.write_bytes(with_chunk(data, b"meta", stream.compress(text) + stream.flush()))
    assert run(read_in_c, "metadata", path) == text.decode()
    path.write_bytes(with_chunk(data, b"meta", deflate(text[:-1])))
    assert run(read_in_c, "1000000000", "memory", path).startswith("corrupt chunk meta: ")


def with_chunk(data, tag, body):
    """Return a file with another chunk after its magic and version."""
    size, more = len(body), bytearray()
    while size > 127:
        more.append(size & 127 | 128)
        size >>= 7
    more.append(size)
    crc = zlib.crc32(body, zlib.crc32(tag)).to_bytes(4, "little")
    return data[:5] + tag + bytes(more) + crc + body + data[5:]
