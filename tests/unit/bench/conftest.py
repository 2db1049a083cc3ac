"""A real browser for the pages that the bench makes."""

import subprocess

import pytest

from mocpack.errors import UsageError
from mocpack.viewing.browser import find_chromium

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
    try:
        program = find_chromium()
    except UsageError:
        pytest.skip("Chromium is not installed")

    def open_page(path, *flags):
        words = [program, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *flags, path.as_uri()]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout

    return open_page
