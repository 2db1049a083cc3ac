"""What importing costs: `import mocpack` against `import numpy`, and what the first use adds.

Run it on an idle machine: ``python benchmarks/bench_import.py``. The least of several fresh
interpreters each, as processor time is too coarse a clock for milliseconds.
"""

import subprocess
import sys
import time

REPEATS = 15
PROGRAMS = {
    "python": "pass",
    "import numpy": "import numpy",
    "import mocpack": "import mocpack",
    "import numpy, mocpack": "import numpy, mocpack",
    "mocpack.read, ready to call": "import mocpack; mocpack.read",
    "mocpack.encode with keysine, ready": "import mocpack; mocpack.encode; mocpack.parse_codec('keysine')",
    "mocpack.compare, ready to call": "import mocpack; mocpack.compare",
    "mocpack --version": "import sys; sys.argv[1:] = ['--version']; from mocpack.cli import main; main()",
    "mocpack compress --help": "import sys; sys.argv[1:] = ['compress', '--help']; from mocpack.cli import main; main()",
}  # fmt: skip


def milliseconds(code):
    """Return the least wall time of a fresh interpreter that runs this code."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def main():
    found = {name: milliseconds(code) for name, code in PROGRAMS.items()}
    numpy = found["import numpy"]
    print(f"{'':36}{'ms':>8}{'over numpy':>12}")
    for name, time_taken in found.items():
        print(f"{name:36}{time_taken:8.0f}{time_taken - numpy:+12.0f}")


if __name__ == "__main__":
    main()
