"""Releases are attested, and the checks before a tag can fail."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from naming import names

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
RELEASE = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
WHEELS = (ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8")


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def jobs(text):
    """Return the text of each job of a workflow, without comments."""
    text = re.sub(r"(^|\s)#.*$", "", text, flags=re.MULTILINE).partition("\njobs:\n")[2]
    parts = re.split(r"^  ([\w-]+):\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def missing_attestations(text):
    """Return the artifacts that a release workflow publishes without attestation or sums."""
    found = jobs(text)
    needed = {
        "pypi": ["pypa/gh-action-pypi-publish@", "attestations: true", "id-token: write"],
        "npm": ["npm publish --provenance", "id-token: write"],
        "assets": [
            "actions/attest-build-provenance@",
            "subject-path: dist/*",
            "attestations: write",
            "id-token: write",
            "sha256sum",
            "tools/sbom.py",
            "mocpack-golden-",
        ],
    }
    return [
        f"{job}: {part}"
        for job, parts in needed.items()
        for part in parts
        if part not in found.get(job, "")
    ]


def test_the_release_workflow_attests_what_it_publishes():
    assert missing_attestations(RELEASE) == []
    assert "uv publish" not in RELEASE
    assert "twine" not in RELEASE


@pytest.mark.parametrize(
    "part",
    [
        "attestations: true",
        "--provenance",
        "actions/attest-build-provenance",
        "attestations: write",
        "sha256sum",
        "id-token: write",
    ],
)
def test_a_release_workflow_without_attestation_is_noticed(part):
    assert missing_attestations(RELEASE.replace(part, ""))


def test_a_commented_attestation_does_not_count():
    commented = RELEASE.replace("          attestations: true", "          # attestations: true")
    assert missing_attestations(commented) == ["pypi: attestations: true"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_its_commit(path):
    used = re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))
    others = [use for use in used if not use.startswith("./")]
    assert others or used
    assert all(re.search(r"@[0-9a-f]{40}$", use) for use in others)


def test_wheels_are_built_for_every_system_with_the_stable_abi():
    systems = ("ubuntu-24.04", "ubuntu-24.04-arm", "macos-15", "windows-2025")
    listed = re.search(r"os: \[(.*)\]", WHEELS).group(1).split(", ")
    assert set(systems) <= set(listed)
    assert 'wheel.py-api = "cp312"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_bill_of_materials_lists_what_the_packages_contain_and_require():
    bill = json.loads(json.dumps(tool("sbom").bill()))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    found = {component["name"] for component in bill["components"]}
    licenses = {path.stem for path in (ROOT / "LICENSES").glob("*.txt")}
    assert licenses | {"numpy", "typer", "rich"} == found


@pytest.fixture
def checkout(tmp_path):
    """A checkout whose files are ready for a tag."""
    package = tmp_path / "src/mocpack"
    for folder in ("codecs", "papers", "live"):
        (package / folder).mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "0.1.0"\n')
    (package / "codecs/raw.py").write_text("class Raw:\n    bitstream_version = 1\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 - 2026-11-18\n- All.\n")
    return tmp_path


FAULTS = {
    "release": ("src/mocpack/__init__.py", '__version__ = "0.1.0.dev0"\n', "0.1.0.dev0"),
    "changelog": ("CHANGELOG.md", "## Unreleased\n- More.\n", "CHANGELOG.md"),
    "upgrade-notes": (
        "CHANGELOG.md",
        "## 0.1.0 - 2026-11-18\n### Renamed before the first release\n",
        "CHANGELOG.md",
    ),
    "bitstreams": ("src/mocpack/codecs/raw.py", "    bitstream_version = 2\n", "raw.py"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_check_before_the_tag_passes_and_can_fail(checkout, name):
    check = tool("release_check").CHECKS[name]
    assert check(checkout) == ""
    path, text, things = FAULTS[name]
    (checkout / path).write_text(text)
    assert names(check(checkout), things)


def test_a_live_packet_of_an_unreleased_version_is_noticed(checkout):
    (checkout / "src/mocpack/live/hello.py").write_text('MAGIC = b"mlv2"\n')
    assert names(tool("release_check").CHECKS["bitstreams"](checkout), "live/hello.py")


def test_a_command_that_fails_is_a_failed_check(checkout):
    assert tool("release_check").run("sh", "-c", "echo broken; exit 3")(checkout) == "broken"
    assert tool("release_check").run("true")(checkout) == ""
