"""Run everything that must hold before a tag and print one table: make release-check.

python tools/release_check.py                         # cheap checks first
python tools/release_check.py --only versions,golden  # some of them
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHANGELOG_HEADING = re.compile(r"^## (\S+) - \d{4}-\d{2}-\d{2}$", re.MULTILINE)
BITSTREAM = re.compile(r"^    bitstream_version = (\d+)$", re.MULTILINE)
LIVE_MAGIC = re.compile(r"\bml[hv]([2-9])\b")
Check = Callable[[Path], str]
"""Takes the checkout; returns what is wrong, or nothing."""


def run(*command: str) -> Check:
    """Return a check that a command succeeds."""

    def check(root: Path) -> str:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        lines = (done.stdout + done.stderr).strip().splitlines()
        return (lines or ["failed"])[-1] if done.returncode else ""

    return check


def pytest(*arguments: str) -> Check:
    return run(sys.executable, "-m", "pytest", "-q", *arguments)


def source_version(root: Path) -> str:
    text = (root / "src/mocpack/__init__.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert match
    return match[1]


def check_tree(root: Path) -> str:
    command = ["git", "status", "--porcelain"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return f"{len(done.stdout.splitlines())} files are not committed" if done.stdout else ""


def check_release(root: Path) -> str:
    version = source_version(root)
    final = re.fullmatch(r"\d+\.\d+\.\d+", version)
    return "" if final else f"version must be a release such as 0.1.0, got {version}"


def check_changelog(root: Path) -> str:
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    titles = CHANGELOG_HEADING.findall(text)
    version = source_version(root)
    if titles[:1] != [version]:
        return (
            f"CHANGELOG.md: expected a first heading '## {version} - YYYY-MM-DD', got {titles[:1]}"
        )
    rest = text.partition("## Unreleased")[2].partition("\n## ")[0]
    return "CHANGELOG.md: 'Unreleased' is not empty" if rest.strip() else ""


def check_upgrade_notes(root: Path) -> str:
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    name = "### Renamed before the first release"
    return f"CHANGELOG.md still has '{name}'" if name in text else ""


def check_bitstreams(root: Path) -> str:
    """Before 0.1.0 nothing was released, so every version of the first release is 1."""
    wrong = []
    for folder in ("codecs", "papers"):
        for path in sorted((root / "src/mocpack" / folder).rglob("*.py")):
            versions = BITSTREAM.findall(path.read_text(encoding="utf-8"))
            wrong += [path.name] if any(number != "1" for number in versions) else []
    for folder in ("src/mocpack/live", "core/src/live", "js/src/live"):
        for path in sorted((root / folder).rglob("*.*")):
            if path.suffix in (".py", ".cpp", ".h", ".ts") and LIVE_MAGIC.search(
                path.read_text(encoding="utf-8")
            ):
                wrong.append(f"live/{path.name}")
    return f"versions other than 1: {', '.join(wrong)}" if wrong else ""


CHECKS: dict[str, Check] = {
    "tree": check_tree,
    "release": check_release,
    "changelog": check_changelog,
    "upgrade-notes": check_upgrade_notes,
    "bitstreams": check_bitstreams,
    "golden": run(sys.executable, "tools/golden_archive.py", "--check"),
    "versions": pytest("tests/unit/test_version.py"),
    "workflows": pytest("tests/unit/test_release.py"),
    "sizes": pytest("tests/regression"),
    "pages": run("sh", "-c", "make -s pages && git diff --exit-code --stat docs README.md"),
    "conformance": run("make", "-s", "conformance"),
    "lint": run("make", "-s", "lint"),
    "test": run("make", "-s", "test"),
    "wheel": run("make", "-s", "wheel"),
}
"""In the order in which they run."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Check what must hold before a tag.")
    parser.add_argument("--only", help=f"some of: {', '.join(CHECKS)}")
    only = parser.parse_args().only
    names = only.split(",") if only else list(CHECKS)
    if unknown := sorted(set(names) - set(CHECKS)):
        parser.error(f"unknown checks {', '.join(unknown)}; known: {', '.join(CHECKS)}")
    failed = 0
    print(f"{'check':15}{'result':8}{'seconds':>8}  reason")
    for name in (name for name in CHECKS if name in names):
        start = time.monotonic()
        reason = CHECKS[name](ROOT)
        failed += bool(reason)
        seconds = time.monotonic() - start
        print(f"{name:15}{'fail' if reason else 'pass':8}{seconds:8.1f}  {reason}", flush=True)
    print(f"{len(names) - failed} of {len(names)} passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
