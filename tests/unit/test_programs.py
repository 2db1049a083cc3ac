"""Skipped tests are summarized in one line, with the command that installs what is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import programs
from naming import names
from programs import PACKAGES, describe_skips, missing_packages

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs shell scripts as programs")


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine without any program; returns a folder on its path."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("MOCPACK_CHROMIUM", raising=False)
    monkeypatch.setattr("mocpack.viewing.browser.MACOS_BROWSERS", ())
    return tmp_path


def add_program(folder, name, *lines):
    path = folder / name
    path.write_text("\n".join(["#!/bin/sh", *lines]))
    path.chmod(0o755)


def test_every_program_is_missing_on_a_bare_machine(bare):
    assert missing_packages() == list(PACKAGES)


def test_a_browser_of_another_name_is_not_missing(bare):
    add_program(bare, "google-chrome")
    add_program(bare, "ffmpeg")
    assert not {"chromium", "ffmpeg"} & set(missing_packages())


def test_skips_are_counted_by_reason_and_name_the_command(bare):
    add_program(bare, "apt-get")
    line = describe_skips(["ffmpeg is not installed", *["Chromium is not installed"] * 3])
    assert "\n" not in line
    assert names(line, "4 Chromium (3) ffmpeg (1) apt-get install " + " ".join(PACKAGES))
    assert line.index("(3)") < line.index("(1)")


def test_without_apt_get_the_line_names_the_programs(bare):
    line = describe_skips(["ffmpeg is not installed"])
    assert names(line, " ".join(PACKAGES))
    assert "apt-get" not in line


def test_skips_for_another_reason_name_no_command(monkeypatch):
    monkeypatch.setattr(programs, "missing_packages", list)
    line = describe_skips(["there is no /dev/full"])
    assert names(line, "1 /dev/full")
    assert "apt-get" not in line


def test_no_line_without_skips():
    assert describe_skips([]) == ""


def test_only_root_with_apt_get_installs(bare, monkeypatch, tmp_path):
    log = tmp_path / "log"
    add_program(bare, "apt-get", f'echo "$*" >> {log}')
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    programs.install()
    assert not log.exists()
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    programs.install()
    update, install = log.read_text().splitlines()
    assert update.split()[0] == "update"
    assert set(PACKAGES) <= set(install.split())


def test_installed_programs_are_not_installed_again(bare, monkeypatch, tmp_path):
    log = tmp_path / "log"
    add_program(bare, "apt-get", f'echo "$*" >> {log}')
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    for name in PACKAGES:
        add_program(bare, name)
    programs.install()
    assert not log.exists()


@pytest.mark.slow
def test_a_run_without_programs_ends_with_one_line_about_skipped_tests(tmp_path):
    variables = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    variables |= {"PATH": str(tmp_path), "MOCPACK_CHROMIUM": str(tmp_path / "none")}
    command = [sys.executable, "-m", "pytest", "-q", "tests/viewer/test_pictures.py"]
    done = subprocess.run(
        command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=120
    )
    *_, line, _total = done.stdout.splitlines()
    assert names(line, "skipped Chromium " + " ".join(PACKAGES))
    assert done.stdout.count("Chromium") == 1
