"""The command line as a whole: guide, version, help, completion, quiet mode and imports."""

import dataclasses
import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run_text as run

import mocpack
from mocpack.cli import app
from mocpack.cli.reading import Reading
from mocpack.rate.presets import PRESETS
from mocpack.testing import walk
from naming import names

HEAVY = {"scipy", "matplotlib", "cma", "hypothesis", "multiprocessing.pool"}


def modules_after(code):
    """Return the modules that a fresh interpreter has loaded after this code."""
    code += "\nimport sys; sys.stderr.write(' '.join(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(found.stderr.split())


def modules_of(*words):
    """Return the modules that a command loads."""
    return modules_after(
        f"import sys; sys.argv = ['mocpack', *{words!r}]\n"
        "from mocpack.cli import main\n"
        "try: main()\nexcept SystemExit as end: assert not end.code, end"
    )


def test_alone_it_prints_a_short_guide():
    result = run()
    assert result.returncode == 0
    assert "mocpack compress walk.bvh --max-error 1mm" in result.stdout
    assert len(result.stdout.splitlines()) < 20


def test_the_guide_names_commands_that_exist():
    named = set(re.findall(r"^  mocpack (\w+)", app.GUIDE, re.MULTILINE))
    assert named <= app.COMMANDS.keys()


def test_version_is_that_of_the_package():
    result = run("--version")
    assert result.returncode == 0
    assert result.stdout == f"mocpack {mocpack.__version__}\n"


@pytest.mark.parametrize("name", app.COMMANDS)
def test_a_command_begins_its_help_with_the_line_of_the_table(name):
    assert app.load(name).help.split("\n\n")[0].replace("\n", " ") == app.COMMANDS[name]


def test_no_command_function_takes_more_than_20_parameters():
    runs = {name: importlib.import_module(app.module_name(name)).run for name in app.COMMANDS}
    counts = {name: len(inspect.signature(run).parameters) for name, run in runs.items()}
    assert {name: count for name, count in counts.items() if count > 20} == {}


@pytest.mark.parametrize(
    "words", [["--help"], ["-h"], ["compress", "--help"], ["view", "-h"], ["cluster", "plan", "-h"]]
)
def test_help_names_the_exit_codes(words):
    result = run(*words, COLUMNS="200")
    assert result.returncode == 0
    assert app.EXIT_CODES in result.stdout


def test_help_lists_every_command():
    listed = run("--help", COLUMNS="200").stdout
    alone = {name: about for name, about in app.COMMANDS.items() if " " not in name}
    for name, about in (alone | app.GROUPS).items():
        assert re.search(rf"\b{name}\b\s+{re.escape(about)}", listed)


@pytest.mark.parametrize("group", app.GROUPS)
def test_a_group_alone_and_with_help_lists_its_commands(group):
    alone = run(group, COLUMNS="200")
    assert alone.returncode == 0
    assert alone.stdout == run(group, "--help", COLUMNS="200").stdout
    own = {words: about for words, about in app.COMMANDS.items() if words.startswith(f"{group} ")}
    assert own
    for words, about in own.items():
        assert re.search(rf"\b{words.split()[1]}\b\s+{re.escape(about)}", alone.stdout)


def test_unknown_command_of_a_group_is_a_usage_error():
    wrong = run("cluster", "plam")
    assert wrong.returncode == 2
    assert names(wrong.stderr, "'plam' 'mocpack cluster plan' mocpack cluster --help")
    assert wrong.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("pack", ["corpus pack", "cluster pack"]),
        ("receive", ["live receive"]),
        ("comprss", ["compress"]),
        ("corpse", ["corpus"]),
        ("extrct", ["corpus extract"]),
        ("zzz", []),
    ],
)
def test_an_unknown_command_suggests_close_ones_of_all_groups(typed, meant):
    assert set(meant) <= set(app.suggest_commands(typed))
    result = run(typed)
    assert result.returncode == 2
    assert names(result.stderr, f"'{typed}' mocpack --help")
    assert ("'mocpack " in result.stderr) == bool(meant)
    for words in meant:
        assert f"'mocpack {words}'" in result.stderr


@pytest.mark.parametrize("command", ["compress", "corpus ls", "live send"])
def test_an_unknown_option_names_the_help_of_the_command_and_a_close_option(command):
    result = run(*command.split(), "--quite")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert names(result.stderr, f"--quite --quiet mocpack {command} --help")


@pytest.mark.parametrize(
    ("command", "old", "new"),
    [
        ("compress", "jobs", "workers"),
        *(
            (command, *pair)
            for command in app.OLD_OPTIONS
            for pair in app.OLD_OPTIONS[command].items()
            if command
        ),
    ],
)
def test_old_names_of_options_work_and_are_not_listed(command, old, new):
    loaded = app.load(command)
    name = next(one.name for one in loaded.params if f"--{new}" in one.opts)
    for option in (f"--{old}", f"--{new}"):
        context = loaded.make_context(command, [option, "7"], resilient_parsing=True)
        assert context.params[name] in (7, "7", ["7"])
    assert f"--{old} " not in run(*command.split(), "--help", COLUMNS="200").stdout


@pytest.mark.parametrize("words", [[], ["corpus"], *(name.split() for name in app.COMMANDS)])
def test_help_shows_plain_types_and_none_for_flags(words):
    listed = run(*words, "--help", COLUMNS="200")
    assert listed.returncode == 0
    assert not re.search(r"<bool>|BOOLEAN|list\[|range", listed.stdout)


def test_help_lists_everyday_commands_then_groups_then_the_rest():
    listed = run("--help", COLUMNS="200").stdout
    places = [
        re.search(rf"^│ {name} ", listed, re.MULTILINE).start()
        for name in ("compress", "codecs", "corpus", "cluster", "live", *app.MORE_COMMANDS)
    ]
    assert places == sorted(places)


def test_option_groups_are_the_options_of_their_fields():
    def command(name: str, *, reading: Reading, force: bool = False) -> int:
        seen.append((name, reading, force))
        return 0

    seen: list[tuple[str, Reading, bool]] = []
    shielded = app._wrap_command(command)
    fields = [one.name for one in dataclasses.fields(Reading)]
    assert [*inspect.signature(shielded).parameters] == ["name", *fields, "force", "quiet"]
    values = dataclasses.asdict(Reading(fps=0.0, allow_pickle=True))
    assert shielded(name="a", quiet=False, force=True, **values) == 0
    assert seen == [("a", Reading(fps=0.0, allow_pickle=True), True)]
    assert seen[0][1].to_arguments() == {"fps": 0.0, "allow_pickle": True}


def test_importing_mocpack_loads_none_of_its_modules_and_not_numpy():
    found = modules_after("import mocpack")
    assert "numpy" not in found
    assert not {name for name in found if name.startswith("mocpack.")}


def test_reading_and_writing_loads_no_metrics_no_search_and_no_package_metadata():
    found = modules_after("import mocpack; mocpack.read, mocpack.write, mocpack.decode")
    for name in ("mocpack.metrics.table", "importlib.metadata", "typer", "rich", *HEAVY):
        assert name not in found, name


@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], [], ["cluster"], ["corpus"], ["live"]]
)
def test_help_and_version_import_no_command(words):
    found = modules_of(*words)
    assert not set(map(app.module_name, app.COMMANDS)) & found
    assert "numpy" not in found


@pytest.mark.parametrize(
    "name", ["compress", "codecs", "scene", "cluster plan", "corpus verify", "live send"]
)
def test_a_command_imports_its_own_module_and_no_other_command(name):
    found = modules_of(*name.split(), "--help")
    commands = set(map(app.module_name, app.COMMANDS)) & found
    assert commands == {app.module_name(name)}
    assert not found & {"mocpack.bench", "mocpack.viewing", *HEAVY}


def test_quiet_prints_nothing_and_still_works(tmp_path):
    mocpack.write(walk(0.3), tmp_path / "walk.bvh")
    result = run("compress", "walk.bvh", "--codec", "raw", "-q", folder=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert (tmp_path / "walk.mocp").exists()


def test_quiet_may_stand_before_the_command(tmp_path):
    mocpack.write(walk(1), tmp_path / "walk.bvh")
    result = run("--quiet", "compress", "walk.bvh", folder=tmp_path)
    assert result.returncode == 0
    assert result.stdout == result.stderr == ""
    assert run("compress", "walk.bvh", "-f", folder=tmp_path).stdout


def test_quiet_still_prints_errors():
    result = run("info", "nowhere.mocp", "--quiet")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("mocpack: nowhere.mocp: ")


def test_quiet_does_not_suppress_json():
    rows = json.loads(run("codecs", "--json", "-q").stdout)
    assert all(row["ok"] and row["error"] is None for row in rows)


@pytest.mark.parametrize(
    ("shell", "sign"),
    [
        ("bash", "complete -o default -F _mocpack_completion mocpack"),
        ("zsh", "#compdef mocpack"),
        ("fish", "complete --command mocpack"),
    ],
)
def test_completion_has_a_script_for_the_shell(shell, sign):
    result = run(_MOCPACK_COMPLETE=f"source_{shell}")
    assert result.returncode == 0, result.stderr
    assert sign in result.stdout
    assert "_MOCPACK_COMPLETE" in result.stdout


def completed(shell, line):
    """Return the completions at the end of a command line."""
    words = line.split(" ")
    places = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }
    result = run(_MOCPACK_COMPLETE=f"complete_{shell}", **places[shell])
    return result.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_offers_commands_and_options(shell):
    commands = completed(shell, "mocpack comp")
    assert "compress" in commands
    assert "compare" in commands
    assert "decompress" not in commands
    assert "--max-error" in completed(shell, "mocpack compress --max")


def test_completion_offers_commands_and_options_of_a_group():
    assert completed("bash", "mocpack cluster st").split() == ["status"]
    assert completed("bash", "mocpack corpus ve").split() == ["verify"]
    assert completed("bash", "mocpack live se").split() == ["serve", "send"]
    assert "--where" in completed("bash", "mocpack corpus ls --wh")
    assert "--max-error" in completed("bash", "mocpack cluster plan --max")


def test_without_its_packages_the_command_says_how_to_install_them():
    code = "import sys; sys.modules['typer'] = None\nfrom mocpack.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    assert names(result.stderr, "mocpack: typer pip install mocpack")
    assert result.stderr.count("\n") == 1


STOPPED = "def stopped(*_, **__): raise KeyboardInterrupt\n"


@pytest.mark.parametrize(
    "code",
    [
        STOPPED + "from mocpack import cli; cli.require = stopped; cli.main()",
        STOPPED + "from mocpack.cli import app, main; app.load = stopped; main()",
    ],
    ids=["while it loads", "in a command"],
)
def test_ctrl_c_prints_one_message_at_any_time(code):
    words = [sys.executable, "-c", code, "corpus", "pack", "takes", "-o", "all.mocps"]
    result = subprocess.run(words, capture_output=True, text=True)
    assert (result.returncode, result.stderr.count("\n")) == (130, 1)
    assert names(result.stderr, "mocpack: interrupted")


def test_the_page_of_the_command_line_names_every_command_exit_code_and_preset():
    page = (Path(__file__).parents[2] / "docs/cli.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    for words in app.COMMANDS:
        group, _, name = words.rpartition(" ")
        assert any(f"`{group} " in row or not group for row in rows if f"{name}`" in row), words
    for code in re.findall(r"(\d+) ", app.EXIT_CODES):
        assert re.search(rf"^\| {code} \|", page, re.MULTILINE)
    for name, bound in PRESETS.items():
        assert f"| `{name}` | {1000 * bound:g} mm |" in page
