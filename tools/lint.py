"""Run the linters, all of them even if one fails, or format all sources.

python tools/lint.py quick     # those of `make check`
python tools/lint.py all       # those of `make lint`
python tools/lint.py format
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
TEXTS = ("docs", "src", "core", "bindings", "js/src", "viewer/src", "tests/support")
C_FOLDERS = ("core", "bindings", "examples", "tests/readers", "tests/library", "benchmarks")
C_SUFFIXES = (".c", ".h", ".cpp", ".hpp")
SCHEMAS = {
    "github-workflows": (".github/workflows/*.yml",),
    "dependabot": (".github/dependabot.yml",),
    "citation-file-format": ("CITATION.cff",),
    "github-issue-config": (".github/ISSUE_TEMPLATE/config.yml",),
    "github-issue-forms": (".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/wish.yml"),
}
Command = tuple[str | Path, ...]


def quick_checks() -> dict[str, list[Command]]:
    return {
        "ruff": [(BIN / "ruff", "check", "."), (BIN / "ruff", "format", "--check", ".")],
        "mypy": [(BIN / "mypy",)],
        "import contract": [(BIN / "lint-imports", "--no-cache")],
        "includes of the core": [(sys.executable, "tools/includes.py")],
    }


def slow_checks() -> dict[str, list[Command]]:
    well_typed = ("-m", "pytest", "-q", "tests/unit/test_docs.py", "-k", "well_typed")
    pages = sorted(path.name for path in ROOT.glob("*.md"))
    return {
        "types of the Python in docs/": [(sys.executable, *well_typed)],
        "clang-format": [(BIN / "clang-format", "--dry-run", "--Werror", *c_sources())],
        "codespell": [(BIN / "codespell", *pages, *TEXTS)],
        "vocabulary": [(sys.executable, "tools/vocabulary.py")],
        "workflows": [
            (BIN / "zizmor", "--offline", "--quiet", ".github"),
            *(check_schema(name, patterns) for name, patterns in SCHEMAS.items()),
        ],
        "TypeScript": typescript_checks(),
    }


def check_schema(name: str, patterns: tuple[str, ...]) -> Command:
    files = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    return (BIN / "check-jsonschema", "--quiet", "--builtin-schema", f"vendor.{name}", *files)


def typescript_checks() -> list[Command]:
    if shutil.which("npm") is None:
        return [("echo", "npm is not installed: not checked")]
    check = ("npm", "run", "--silent", "check", "--prefix")
    built = ("make", "-s", "js/dist/index.js", "viewer/node_modules/.ready")
    return [built, (*check, "js"), (*check, "viewer")]


def formatters() -> dict[str, list[Command]]:
    return {
        "ruff": [(BIN / "ruff", "check", "--fix", "."), (BIN / "ruff", "format", ".")],
        "clang-format": [(BIN / "clang-format", "-i", *c_sources())],
    }


def c_sources() -> list[Path]:
    files = (path for name in C_FOLDERS for path in (ROOT / name).rglob("*.*"))
    return sorted(p for p in files if p.suffix in C_SUFFIXES and "node_modules" not in p.parts)


def main(part: str) -> int:
    """Run each group of commands; return 1 if one failed."""
    groups = formatters() if part == "format" else quick_checks()
    if part == "all":
        groups |= slow_checks()
    failed = [title for title, commands in groups.items() if not run(title, commands)]
    if failed:
        print(f"==> failed: {', '.join(failed)}")
    return 1 if failed else 0


def run(title: str, commands: list[Command]) -> bool:
    """Run commands until one fails; return whether all succeeded."""
    print(f"==> {title}", flush=True)
    return all(subprocess.run(command, cwd=ROOT).returncode == 0 for command in commands)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
