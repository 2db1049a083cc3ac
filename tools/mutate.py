"""Change single tokens of the reader, keysine's decoder, archives and bindings, and list the
changes that no test notices.

python tools/mutate.py [--area NAME]... [--count 30] [--seed 1] [--match TEXT] [--again LOG]

Mutants are made by the operators of `mutation_operators.py`; `--match` keeps those whose
`file:line: before → after` contains a text. Each is compiled and tested in a copy of the checkout,
`build/mutants/tree`, cheapest tests first, until one fails. A mutant that compiles to the same
object code is equivalent. A survivor needs an entry in `mutation_reasons.py`; the exit code is the
number of survivors without one.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutation_operators import Mutant, list_mutants
from mutation_reasons import find_reason

CHECKOUT = Path(__file__).resolve().parents[1]
FOLDER = CHECKOUT / "build" / "mutants"
TREE, BUILD, LIBRARY = FOLDER / "tree", FOLDER / "make", FOLDER / "make-library"
BIN = Path(sys.executable).parent
LOG = FOLDER / "log"  # output of the last program
ALL_STAGES = 9
ASAN = {"ASAN_OPTIONS": "hard_rss_limit_mb=4000"}
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
MEMORY_BYTES_OF_SANITIZERS = resource.RLIM_INFINITY  # sanitizers reserve terabytes of address space
MEMORY_BYTES = 6 << 30  # per process, because a mutant may allocate any amount
CPU_SECONDS, CPU_RATIO = 10, 3  # limits of a mutant: seconds more than, and times, the original
WALL_SECONDS = 1500  # a mutant that waits forever uses no CPU time
# the editable install of the checkout would be imported in place of the copy
SITE = """import sys
sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__module__.startswith("_editable_skbc")]
"""


@dataclass(frozen=True)
class Area:
    """Sources by glob pattern and their tests: programs of core/tests, then pytest calls."""

    sources: tuple[str, ...]
    native: tuple[str, ...]
    python: tuple[tuple[str, ...], ...]
    library: tuple[str, ...] = ()  # pytest calls that need libmocpack built with the mutant


GOLDEN, READERS = "tests/golden/test_golden.py", "tests/readers"
FILES = tuple(
    f"tests/unit/test_{n}.py" for n in ("container", "hinges", "take_data", "format_reader")
)
OPENED = tuple(f"tests/unit/test_{n}.py" for n in ("motion", "scene", "windows"))
KEYSINE, ARCHIVE = "tests/unit/codecs/keysine", "tests/unit/corpora/test_archive.py"
# tests that hold the decoder equal to another one
EXACT = (
    "test_golden and keysine or readable or test_limits or both_decoders or names_field or key_step"
)
INSIDE = ("archive.cpp", "scene.cpp", "inflate.cpp", "json.cpp")
AREAS = {
    "decoder": Area(
        ("core/src/keysine/decode/*.cpp", "core/src/keysine/format/*.cpp"),
        ("keysine_rows_test", "keysine_test", "reader_test", "reader_golden_test"),
        ((GOLDEN, KEYSINE, "-k", EXACT), (KEYSINE, *OPENED)),
        (READERS,),
    ),
    "reader": Area(
        ("core/src/reader/*.cpp", *(f"!core/src/reader/{name}" for name in INSIDE)),
        (
            "reader_test",
            "reader_threads_test",
            "keysine_frames_threads_test",
            "lossless_test",
            "numbers_test",
            "error_message_test",
            "reader_golden_test",
        ),
        ((GOLDEN, *FILES, "-k", "not bound_holds"), OPENED),
        (READERS,),
    ),
    "archive": Area(
        tuple(f"core/src/reader/{name}" for name in INSIDE),
        ("archive_test", "json_test", "reader_test", "reader_golden_test"),
        ((ARCHIVE, "tests/unit/test_scene.py", "tests/unit/test_json_object.py"), (GOLDEN, *FILES)),
        (READERS, "tests/library/test_archives.py"),
    ),
    "bindings": Area(
        (
            "bindings/python/reader.cpp",
            "bindings/python/keysine_decode.cpp",
            "src/mocpack/container/reader.py",
            "src/mocpack/motion.py",
            "src/mocpack/corpora/reading.py",
        ),
        (),
        (
            (*OPENED, ARCHIVE, *FILES, "-k", "not bound_holds"),
            (KEYSINE, READERS, GOLDEN, "tests/unit/corpora"),
        ),
    ),
}


# fewer damaged files than `make test-core` takes
ARGUMENTS = {"reader_golden_test": ("tests/golden", "40")}
SANITIZED_ARGUMENTS = {"reader_golden_test": ("tests/golden", "1")}
# what notices most changes of a source soonest, before its area's tests
FIRST: dict[str, tuple[str, ...]] = {
    "bindings/python/reader.cpp": ("tests/unit/test_container.py", "tests/unit/test_hinges.py"),
    "bindings/python/keysine_decode.cpp": (
        f"{KEYSINE}/test_keysine_windows.py",
        f"{KEYSINE}/test_keysine.py",
        "-k",
        "window or part or joints or cut or threads or preview or refuse",
    ),
    "src/mocpack/container/reader.py": ("tests/unit/test_container.py", "tests/unit/test_scene.py"),
    "src/mocpack/motion.py": ("tests/unit/test_motion.py",),
    "src/mocpack/corpora/reading.py": (ARCHIVE, "-k", "not bytes_do_not_depend"),
}


def main() -> int:
    options = parse_options()
    copy_tree()
    configure()
    counts: Counter[tuple[str, str]] = Counter()
    unexplained = 0
    for name in options.area or AREAS:
        chosen = choose(AREAS[name], options)
        tester = Tester(AREAS[name], options.depth, not options.skip_native)
        tester.check_original()
        for mutant in chosen[options.start :]:
            began = time.monotonic()
            verdict, stage = tester.judge(mutant)
            reason = find_reason(mutant)
            unexplained += verdict == "survived" and not reason
            counts[name, verdict] += 1
            note = reason or ("NO REASON" if verdict == "survived" else stage)
            seconds = time.monotonic() - began
            print(f"{verdict:14} {label(mutant)} [{note}; {seconds:.0f} s]", flush=True)
    for name in options.area or AREAS:
        found = {verdict: n for (area, verdict), n in counts.items() if area == name}
        print(f"{name}: {sum(found.values())} mutants: {found}")
    print(f"{unexplained} survivors without a reason")
    return unexplained


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--area", action="append", choices=AREAS)
    parser.add_argument("--count", type=int, default=30, help="mutants per area")
    parser.add_argument("--start", type=int, default=0, help="number of mutants to skip")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--depth",
        type=int,
        default=ALL_STAGES,
        help="stages to run: 1 the core's own tests, 2 also the first call of pytest, and so on",
    )
    parser.add_argument("--match", default="", help="only mutants that contain this text")
    parser.add_argument(
        "--skip-native", action="store_true", help="do not repeat the core's own tests"
    )
    parser.add_argument(
        "--again", type=Path, help="only the survivors in the output of an earlier run"
    )
    return parser.parse_args()


def label(mutant: Mutant) -> str:
    return f"{mutant.path}:{mutant.line}: {mutant.before} → {mutant.after}"


def choose(area: Area, options: argparse.Namespace) -> list[Mutant]:
    """Return a seeded sample of the mutants of an area, balanced over the operators."""
    survived = options.again.read_text(encoding="utf-8") if options.again else None
    generator, count = random.Random(options.seed), options.count
    pools: dict[str, list[Mutant]] = {}
    for path in sources(area):
        for mutant in list_mutants(path, (TREE / path).read_text(encoding="utf-8")):
            line = label(mutant)
            again = survived is None or f"survived       {line} [" in survived
            if again and options.match in line:
                pools.setdefault(mutant.operator, []).append(mutant)
    for pool in pools.values():
        generator.shuffle(pool)
    chosen: list[Mutant] = []
    while len(chosen) < count and any(pools.values()):
        for pool in pools.values():
            if pool and len(chosen) < count:
                chosen.append(pool.pop())
    return chosen


def sources(area: Area) -> Iterator[str]:
    excluded = {pattern[1:] for pattern in area.sources if pattern.startswith("!")}
    for pattern in area.sources:
        for path in sorted(CHECKOUT.glob(pattern)):
            name = path.relative_to(CHECKOUT).as_posix()
            if not pattern.startswith("!") and name not in excluded:
                yield name


def copy_tree() -> None:
    """Update the copy of the checkout, and restore sources that a killed run left mutated."""
    call = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(call, cwd=CHECKOUT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        source, target = CHECKOUT / name, TREE / name
        if not source.is_file():
            continue
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    lists = TREE / "CMakeLists.txt"
    text = lists.read_text(encoding="utf-8")
    if text.count("PRIVATE -O3 ") != 1:
        raise SystemExit("CMakeLists.txt: expected one 'PRIVATE -O3 ' to compile mutants at -O1")
    lists.write_text(text.replace("PRIVATE -O3 ", "PRIVATE -O1 "), encoding="utf-8")
    site = FOLDER / "site" / "sitecustomize.py"
    site.parent.mkdir(parents=True, exist_ok=True)
    site.write_text(SITE, encoding="utf-8")


def configure() -> None:
    """Configure one build of the Python module with the core's tests, and one of libmocpack."""
    common: list[str | Path] = ["-S", TREE, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={BIN / 'ninja'}"]
    common += ["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1"]
    common.append("-DMOCPACK_UNITY=OFF")  # a mutant compiles one source
    modules = [
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DCMAKE_PREFIX_PATH={sysconfig.get_path('purelib')}",
        "-DSKBUILD=2",
        "-DSKBUILD_STATE=editable",
        "-DMOCPACK_TESTS=ON",
    ]
    prefix = f"-DCMAKE_INSTALL_PREFIX={TREE / 'build/library/static'}"
    must_run([BIN / "cmake", "-B", BUILD, *common, *modules])
    must_run([BIN / "cmake", "-B", LIBRARY, *common, prefix, "-DCMAKE_INSTALL_LIBDIR=lib"])


def must_run(call: Sequence[str | Path]) -> None:
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{call[0]} failed:\n{done.stdout}{done.stderr}")


class Tester:
    """Builds and tests the copy, with and without a mutant in it."""

    def __init__(self, area: Area, depth: int, native: bool) -> None:
        self._area, self._depth, self._native = area, depth, native
        self._seconds: dict[str, float] = {}  # CPU seconds of each stage without a mutant

    def check_original(self) -> None:
        """Build everything and require that every test passes without a mutant."""
        if not self._area.native and self._depth < 2:
            raise SystemExit("no test of the core covers this area: --depth must be at least 2")
        own = [path for path in sources(self._area) if path in FIRST]
        others = [path for path in sources(self._area) if path not in FIRST]
        failed = ""
        for path in own + others[:1]:
            failed = failed or self._failed_stage(path, compiled=True, mutated=False)
        if failed:
            raise SystemExit(
                f"without a mutant, {failed} fails:\n{LOG.read_text(errors='replace')}"
            )

    def judge(self, mutant: Mutant) -> tuple[str, str]:
        """Return the verdict on a mutant and the stage that noticed it."""
        path = TREE / mutant.path
        compiled = path.suffix == ".cpp"
        obj = object_of(mutant.path) if compiled else path
        original, built, times = path.read_bytes(), obj.read_bytes(), path.stat()
        try:
            path.write_text(mutant.apply(original.decode()), encoding="utf-8")
            if compiled and not build(BUILD, str(obj.relative_to(BUILD))):
                return "not compiled", "compiler"
            if compiled and obj.read_bytes() == built:
                return "equivalent", "same object code"
            failed = self._failed_stage(mutant.path, compiled, mutated=True)
            return ("killed", failed) if failed else ("survived", "")
        finally:
            path.write_bytes(original)
            if compiled:
                # Restore the original object, newer than its source, so that the next build only
                # links.
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
                obj.write_bytes(built)
                for stale in LIBRARY.rglob(f"{path.name}.o"):
                    stale.unlink()

    def _failed_stage(self, path: str, compiled: bool, mutated: bool) -> str:
        """Return the first stage of a source's tests that fails, or nothing."""
        area, depth = self._area, self._depth
        native = area.native if compiled and self._native else ()
        if native and not build(BUILD, *native):
            return "link"
        for name in native:
            if not self._passes(name, [BUILD / name, *ARGUMENTS.get(name, ())]):
                return name
        if mutated and native and not self._passes_sanitized(object_of(path)):
            return "sanitizer"
        # Python mutants need this too: the module may still contain the previous mutant.
        if depth > 1 and not build(BUILD, "_core"):
            return "link"
        calls = ((FIRST[path],) if path in FIRST else ()) + area.python
        for arguments in calls[: depth - 1]:
            if not self._passes_pytest(arguments):
                return f"pytest {arguments[0]}"
        if compiled and area.library and depth > 1 + len(calls):
            if not build(LIBRARY, "install"):
                return "libmocpack"
            if not self._passes_pytest(area.library):
                return f"libmocpack, pytest {area.library[0]}"
        return ""

    def _passes_sanitized(self, mutated: Path) -> bool:
        """Return whether the native tests pass with sanitizers in the mutated source alone."""
        target = str(mutated.relative_to(BUILD))
        asked: list[str | Path] = [BIN / "ninja", "-C", BUILD, "-t", "commands", "-s", target]
        listed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        own = FOLDER / "sanitized.o"
        compiled: list[str | Path] = [
            *shlex.split(listed.replace(f"-o {target}", f"-o {own}")),
            *SANITIZERS,
        ]
        if subprocess.run(compiled, cwd=BUILD, capture_output=True, check=False).returncode:
            return True  # this compiler lacks the flags
        for name in self._area.native:
            test = BUILD / f"CMakeFiles/{name}.dir/core/tests/{name}.cpp.o"
            program = FOLDER / "sanitized"
            # The object precedes the library, so the linker ignores the object in the library.
            parts = [compiled[0], *SANITIZERS, test, own, BUILD / "libmocpack_core.a", "-lpthread"]
            must_run([*parts, "-o", program])
            call = [program, *SANITIZED_ARGUMENTS.get(name, ())]
            if not self._passes(name, call, MEMORY_BYTES_OF_SANITIZERS):
                return False
        return True

    def _passes_pytest(self, arguments: tuple[str, ...]) -> bool:
        call = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments]
        return self._passes(" ".join(arguments), call)

    def _passes(
        self, stage: str, call: Sequence[str | Path], memory_bytes: int = MEMORY_BYTES
    ) -> bool:
        taken = self._seconds.get(stage)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        cpu_seconds = None if taken is None else int(CPU_SECONDS + CPU_RATIO * taken)
        ended = passes(call, cpu_seconds, memory_bytes)
        spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        self._seconds.setdefault(stage, spent)
        return ended


def object_of(path: str) -> Path:
    target = "_core" if path.startswith("bindings") else "mocpack_core"
    return BUILD / "CMakeFiles" / f"{target}.dir" / f"{path}.o"


def build(folder: Path, *targets: str) -> bool:
    with LOG.open("wb") as log:
        call: list[str | Path] = [BIN / "ninja", "-C", folder, "-j", "1", *targets]
        return subprocess.run(call, stdout=log, stderr=log, check=False).returncode == 0


def passes(call: Sequence[str | Path], cpu_seconds: int | None, memory_bytes: int) -> bool:
    """Return whether a program succeeds within its limits of time and memory."""
    path = os.pathsep.join([str(FOLDER / "site"), str(TREE / "src")])
    with LOG.open("wb") as log:
        process = subprocess.Popen(
            call,
            cwd=TREE,
            env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **ASAN},
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=lambda: set_limits(cpu_seconds, memory_bytes),
        )
        try:
            return process.wait(WALL_SECONDS) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            stop_group(process)


def set_limits(cpu_seconds: int | None, memory_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    if cpu_seconds is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def stop_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the processes that a test left running."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


if __name__ == "__main__":
    raise SystemExit(main())
