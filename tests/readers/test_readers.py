"""Every reader says the same of the same file: Python, the example in C, and JavaScript."""

import json
import subprocess

import pytest
from reader_cases import all_cases

import mocpack
from mocpack.container import DEFAULT_LIMIT
from mocpack.errors import (
    CorruptionError,
    FormatError,
    MemoryLimitError,
    TruncatedError,
    UnknownCodecError,
    UnsupportedVersionError,
)

CASES = {case.name: case for case in all_cases()}
KINDS = {
    FormatError: "format",
    TruncatedError: "truncated",
    CorruptionError: "corrupt",
    UnsupportedVersionError: "unsupported",
    UnknownCodecError: "unsupported",
    MemoryLimitError: "memory",
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    for number, case in enumerate(CASES.values()):
        (folder / f"{number}.mocp").write_bytes(case.data)
    return folder


def by_python(case, read):
    try:
        read(case)
    except tuple(KINDS) as error:
        return KINDS[type(error)]
    return "ok"


@pytest.mark.parametrize("name", CASES)
def test_python_gives_what_the_table_says(name):
    case = CASES[name]
    limit = case.limit or DEFAULT_LIMIT

    def read(case):
        mocpack.decode(case.data, memory_limit=limit)

    assert by_python(case, read) == case.expected(keysine_only=False)


def test_javascript_gives_what_the_table_says(package, folder):
    jobs = [
        {"file": str(folder / f"{number}.mocp"), "limit": case.limit or DEFAULT_LIMIT}
        for number, case in enumerate(CASES.values())
    ]
    listed = folder / "jobs.json"
    listed.write_text(json.dumps(jobs))
    found = subprocess.run(
        ["node", str(package / "test/kinds.mjs"), str(listed)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    kinds = dict(zip(CASES, json.loads(found.stdout), strict=True))
    assert kinds == {name: case.expected(keysine_only=True) for name, case in CASES.items()}


def test_the_reader_in_c_gives_what_the_table_says(frames, folder):
    kinds = {}
    for number, (name, case) in enumerate(CASES.items()):
        # as many frames as there are, where a file is good enough to say
        count = 1
        if case.expected(keysine_only=True) in ("ok", "memory"):
            with mocpack.open(case.data) as motion:
                count = motion.frame_count
        found = subprocess.run(
            [frames, folder / f"{number}.mocp", "0", str(count), str(case.limit or DEFAULT_LIMIT)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        kinds[name] = found.stderr.split(": ")[1] if found.returncode else "ok"
    assert kinds == {name: case.expected(keysine_only=True) for name, case in CASES.items()}


def test_what_a_file_names_and_nobody_knows_is_kept_and_shown():
    with mocpack.open(CASES["a parameter that nobody knows"].data) as motion:
        assert motion.params["zeal"] == 11
        assert motion.params["effort"] == "default"
    with mocpack.open(CASES["a value that nobody knows"].data) as motion:
        assert motion.params["effort"] == "heroic"


def test_a_needed_parameter_is_named():
    with pytest.raises(UnsupportedVersionError, match="needs its parameter 'zeal'"):
        mocpack.open(CASES["a needed parameter that nobody knows"].data)
