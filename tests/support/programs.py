"""Programs that some tests need, and the Debian packages of the same name.

    python tests/support/programs.py    # install what is missing, as root where apt-get is

`make test` runs it. Node is not among them, because Debian 12's is older than our JavaScript needs.
"""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable

from mocpack.errors import UsageError
from mocpack.viewing.browser import find_chromium

PACKAGES = ("chromium", "ffmpeg", "openssl", "pkg-config")
INSTALL = ("apt-get", "install", "-y", "--no-install-recommends")


def missing_packages() -> list[str]:
    return [name for name in PACKAGES if not is_installed(name)]


def is_installed(name: str) -> bool:
    if name != "chromium":
        return shutil.which(name) is not None
    try:
        find_chromium()  # or another browser that pages run in
    except UsageError:
        return False
    return True


def install() -> None:
    """Install what is missing, if this user may; a failure is printed and stops nothing."""
    missing = missing_packages()
    if not missing or not is_root() or shutil.which("apt-get") is None:
        return
    print(f"==> installing {' '.join(missing)}, which tests need", flush=True)
    for command in (("apt-get", "update"), (*INSTALL, *missing)):
        done = subprocess.run(
            command, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if done.returncode:
            print(done.stdout[-2000:])
            print(f"==> {' '.join(command)} failed: tests that need these programs are skipped")
            return


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def describe_skips(reasons: Iterable[str]) -> str:
    """Return one line: how many tests were skipped, why, and how to install what is missing."""
    counts = Counter(reason.removeprefix("Skipped: ") for reason in reasons)
    if not counts:
        return ""
    why = "; ".join(f"{reason} ({number})" for reason, number in counts.most_common())
    total = counts.total()
    return f"{total} test{'s' * (total > 1)} skipped: {why}{describe_installation()}"


def describe_installation() -> str:
    missing = missing_packages()
    if not missing:
        return ""
    if shutil.which("apt-get") is None:
        return f". Not installed: {', '.join(missing)}"
    sudo = "" if is_root() else "sudo "
    return f". To run more of them: {sudo}{' '.join((*INSTALL, *missing))}"


if __name__ == "__main__":
    install()
