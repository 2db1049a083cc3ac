"""Measure the import time of mocpack against numpy, and the cost of the first use.

Run ``python benchmarks/bench_import.py`` on an idle machine. Each time is the minimum over several
new interpreters.
"""

import subprocess
import sys
import time

REPEATS = 15
COMMAND = "from mocpack.cli import main; import sys; sys.argv[1:] = {}; main()"
PROGRAMS = {
    "python": "pass",
    "import numpy": "import numpy",
    "import mocpack": "import mocpack",
    "import numpy, mocpack": "import numpy, mocpack",
    "mocpack.read, ready to call": "import mocpack; mocpack.read",
    "keysine, ready to encode": "import mocpack; mocpack.encode; mocpack.parse_codec('keysine')",
    "mocpack.compare, ready to call": "import mocpack; mocpack.compare",
    "mocpack --version": COMMAND.format(["--version"]),
    "mocpack compress --help": COMMAND.format(["compress", "--help"]),
}


def milliseconds(code):
    """Return the minimum wall time of a new interpreter that runs this code."""
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
