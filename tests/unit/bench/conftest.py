"""A real browser for the pages that the bench makes."""

import shutil
import subprocess

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
)


@pytest.fixture
def browse(tmp_path):
    """Open a page in Chromium with additional flags; return its output."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("Chromium is not installed")

    def open_page(path, *flags):
        words = [program, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *flags, path.as_uri()]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout

    return open_page
