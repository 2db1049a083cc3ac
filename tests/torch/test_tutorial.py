"""The programs of docs/corpora.md that need PyTorch, as they stand there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import mocpack
from mocpack.corpora import pack
from mocpack.testing import walk

PAGE = Path(__file__).parents[2] / "docs/corpora.md"


@pytest.fixture
def blocks():
    """The commands, and the program."""
    page = PAGE.read_text(encoding="utf-8")
    tutorial = page[page.index("## From a folder of BVH") : page.index("## Commands")]
    return re.findall(r"```[^\n]*\n(.*?)```", tutorial, re.DOTALL)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # more workers than cores
def test_the_tutorial_goes_from_a_folder_to_batches(blocks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("lafan1").mkdir()
    for number, name in enumerate(("walk1_subject3", "walk2_subject1", "run1_subject3")):
        mocpack.write(walk(6.0, seed=number), f"lafan1/{name}.bvh")
    commands, program = blocks
    printed = []
    for line in commands.splitlines():
        words = [sys.executable, "-m", *shlex.split(line)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert "walk1_subject3" in printed[-1]
    assert "walk2_subject1" not in printed[-1]  # of another subject
    seen = []
    names = {"seen": seen, "subjects": set()}
    exec(
        program.replace(
            "    ...", "    seen.append(batch)\n    subjects.update(labels['subject'])"
        ),
        names,
    )
    names["corpus"].close()
    assert seen
    # two takes of 6 s, windows of 2 s every half second, each mirrored too
    assert sum(len(batch) for batch in seen) == 2 * 2 * 9
    assert seen[0].shape[1] == 60
    assert names["subjects"] == {"subject1", "subject3"}


class KilledError(Exception):
    """A training that was killed."""


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # torchdata 0.11 calls it
def test_the_resumed_training_sees_every_window_once_per_epoch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(4):
        data = mocpack.encode(walk(4.0, seed=number), max_error="5mm", effort="fast")
        Path(f"{number}.mocp").write_bytes(data)
    pack({str(number): f"{number}.mocp" for number in range(4)}, "walks.mocps")
    page = PAGE.read_text(encoding="utf-8")
    section = page[page.index("## Resume a training") :]
    (program,) = re.findall(r"```py\n(.*?)```", section[: section.index("\n## ")], re.DOTALL)
    for before, after in (
        ("batch_size=256, num_workers=8", "batch_size=2, num_workers=2"),
        ("first_epoch, 10", "first_epoch, 2"),
        ("...", "see(epoch, batch)"),
    ):
        assert before in program
        program = program.replace(before, after)
    seen, stops = {0: [], 1: []}, [6]

    def see(epoch, batch):
        if stops and len(seen[epoch]) == stops[0]:
            stops.pop()
            raise KilledError
        seen[epoch] += [round(float(window.double().sum()), 3) for window in batch]

    with mocpack.open_corpus("walks.mocps") as corpus:
        for _ in range(2):  # the second run resumes
            try:
                exec(program, {"corpus": corpus, "see": see})
            except KilledError:
                assert len(seen[0]) == 6
                assert not seen[1]
    assert len(seen[0]) == len(set(seen[0])) == 4 * 5
    assert sorted(seen[0]) == pytest.approx(sorted(seen[1]), abs=0.01)
    assert seen[0] != seen[1]
