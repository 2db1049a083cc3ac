"""Packing in parts gives the bytes of a single run, in any order and on any machine."""

import os
import signal
from pathlib import Path

import pytest

import mocpack
from mocpack.common.optional_packages import missing_package_error
from mocpack.corpora import PackOptions, pack, planning
from mocpack.corpora.engines import local_engine
from mocpack.corpora.parts import (
    Status,
    from_bytes,
    join,
    missing_parts,
    pack_part,
    pack_parts,
    read_part,
    status,
)
from mocpack.corpora.planning import PackPlan
from mocpack.errors import CorruptionError, MocpackError, UsageError
from mocpack.io.motion_file import MotionFile
from mocpack.testing import walk
from mocpack.workers import LostJob, run_each
from naming import names, naming

pa = pytest.importorskip("pyarrow")
FAST = PackOptions(target={"max_error": "5mm", "effort": "fast"})


@pytest.fixture
def takes(tmp_path):
    folder = tmp_path / "takes"
    folder.mkdir()
    for number in range(5):
        mocpack.write(walk(0.2, seed=number), folder / f"take{number}.bvh")
    (folder / "bad.bvh").write_text("no motion")
    return {path.stem: path for path in sorted(folder.iterdir())}


@pytest.fixture
def one(takes, tmp_path):
    """The archive of one run."""
    pack(takes, tmp_path / "one.mocps", FAST)
    return (tmp_path / "one.mocps").read_bytes()


def here(work, jobs, on_progress):
    """An engine that works in this process, the last job first."""
    for place, job in reversed(list(enumerate(jobs))):
        yield place, work(*job)


def joined(plan, folder, tmp_path, **ending):
    refused = join(plan.parts, str(folder), str(tmp_path / "joined.mocps"), **ending)
    return (tmp_path / "joined.mocps").read_bytes(), refused


@pytest.mark.parametrize("most", [1, 2, 4, 9])
def test_parts_join_to_the_bytes_of_one_run(takes, tmp_path, monkeypatch, most):
    meta = pa.table({"clip": ["take1"], "mood": ["glad"]})
    ending = {"meta": meta, "name_pattern": r"(?P<number>\d)"}
    refused = pack(takes, tmp_path / "one.mocps", FAST, **ending)
    monkeypatch.setattr(planning, "MIN_PARTS", 1)
    monkeypatch.setattr(planning, "MAX_PART_FILES", most)
    plan = PackPlan.make(takes, FAST)
    assert max(len(part.files) for part in plan.parts) == min(most, 6)
    pack_parts(plan.parts, str(tmp_path / "parts"), here)
    made, left_out = joined(plan, tmp_path / "parts", tmp_path, **ending)
    assert made == (tmp_path / "one.mocps").read_bytes()
    assert left_out == refused
    assert [one.path for one in refused] == [str(takes["bad"])]


def test_an_existing_part_is_not_packed_again(takes, tmp_path):
    plan, folder = PackPlan.make(takes, FAST), str(tmp_path / "parts")
    assert pack_part(plan.parts[1], folder) is None
    assert len(missing_parts(plan.parts, folder)) == len(plan.parts) - 1
    asked, on_progress = [], []

    def engine(work, jobs, share):
        asked.extend(part.number for part, _ in jobs)
        return here(work, jobs, share)

    pack_parts(plan.parts, folder, engine, lambda done, count: on_progress.append((done, count)))
    assert sorted(asked) == [0, 2, 3, 4, 5]
    assert on_progress[0] == (0, 5)
    assert on_progress[-1] == (5, 5)
    pack_parts(plan.parts, folder, engine)
    assert len(asked) == 5


def test_a_damaged_part_is_packed_again_by_the_next_run(takes, tmp_path, one):
    plan, folder = PackPlan.make(takes, FAST), tmp_path / "parts"
    pack_parts(plan.parts, str(folder), here)
    path = folder / plan.parts[1].file_name
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptionError, match=naming(".part checksum --resume")):
        joined(plan, folder, tmp_path)
    assert not (tmp_path / "joined.mocps").exists()
    pack_parts(plan.parts, str(folder), here)
    assert joined(plan, folder, tmp_path)[0] == one


@pytest.mark.parametrize("data", [b"", b"nonsense", b"[]\n", b'{"sha256": ""}\n', b"[" * 100_000])
def test_files_that_are_not_parts_are_rejected(data):
    with pytest.raises(CorruptionError):
        from_bytes(data)


def test_missing_parts_are_reported_by_number(takes, tmp_path):
    plan, folder = PackPlan.make(takes, FAST), tmp_path / "parts"
    pack_part(plan.parts[1], str(folder))
    with pytest.raises(UsageError, match=naming("5 6 1 3 4")):
        joined(plan, folder, tmp_path)


def test_a_file_that_was_changed_after_it_was_planned_is_refused(takes, tmp_path):
    plan, folder = PackPlan.make(takes, FAST), tmp_path / "parts"
    mocpack.write(walk(0.2, seed=9), takes["take3"])
    pack_parts(plan.parts, str(folder), here)
    _, refused = joined(plan, folder, tmp_path)
    assert refused[1].reason.startswith(f"{takes['take3']}: ")


def test_a_skeleton_that_was_changed_after_it_was_planned_is_refused(tmp_path):
    mocpack.write(walk(0.1), tmp_path / "01_01.amc")
    (skeleton,) = tmp_path.glob("*.asf")
    mocpack.write(walk(0.1), tmp_path / "good.bvh")
    files = {"01_01": tmp_path / "01_01.amc", "good": tmp_path / "good.bvh"}
    plan, folder = PackPlan.make(files, FAST), tmp_path / "parts"
    skeleton.write_text(skeleton.read_text() + "\n")
    pack_parts(plan.parts, str(folder), here)
    _, (refused,) = joined(plan, folder, tmp_path)
    assert refused.reason.startswith(f"{files['01_01']}: ")


def test_every_unreadable_file_is_rejected_in_parts_and_at_once(takes, tmp_path, monkeypatch):
    def read(file, clip=None):
        if "take1" in file.name:
            raise missing_package_error("ufbx", extra="fbx", purpose="reading FBX")
        return whole(file, clip)

    whole = MotionFile.read
    monkeypatch.setattr(MotionFile, "read", read)
    for name, target in {"gone": "nowhere.bvh", "loop": "loop.bvh"}.items():
        takes[name] = tmp_path / f"takes/{name}.bvh"
        takes[name].symlink_to(target)
    rejected = pack(takes, tmp_path / "once.mocps", FAST)
    assert [Path(one.path).stem for one in rejected] == ["bad", "gone", "loop", "take1"]
    assert names(rejected[3].reason, "take1.bvh 'mocpack[fbx]'")
    plan, folder = PackPlan.make(takes, FAST), tmp_path / "parts"
    pack_parts(plan.parts, str(folder), here)
    made, left_out = joined(plan, folder, tmp_path)
    assert left_out == rejected
    assert made == (tmp_path / "once.mocps").read_bytes()


def test_a_worker_of_another_version_packs_nothing(takes, tmp_path, monkeypatch):
    plan, folder = PackPlan.make(takes, FAST), tmp_path / "parts"
    monkeypatch.setattr(mocpack, "__version__", "0.0.1")
    with pytest.raises(MocpackError, match=naming("6 --resume 0.0.1")):
        pack_parts(plan.parts, str(folder), here)
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_an_error_and_not_a_refusal(takes, tmp_path):
    (tmp_path / "parts").write_text("a file")
    plan = PackPlan.make(takes, FAST)
    with pytest.raises(MocpackError, match=naming("6 --resume parts")):
        pack_parts(plan.parts, str(tmp_path / "parts"), here)


def test_a_folder_that_workers_do_not_share_is_reported(takes, tmp_path):
    plan = PackPlan.make(takes, FAST)

    def elsewhere(work, jobs, on_progress):
        return here(work, [(part, str(tmp_path / "elsewhere")) for part, _ in jobs], on_progress)

    with pytest.raises(UsageError, match=naming("1, 2, 3, 4, 5, 6 /parts")):
        pack_parts(plan.parts, str(tmp_path / "parts"), elsewhere)


def deadly(work, part, folder):
    """Do the work; crash at a file that asks for it, as often as it says."""
    for file in part.files:
        lives = Path(file.path).with_suffix(".lives")
        if lives.exists() and (left := int(lives.read_text())):
            lives.write_text(str(left - 1))
            os.kill(os.getpid(), signal.SIGKILL)
    return work(part, folder)


def dying(work, jobs, on_progress):
    yield from run_each(deadly, [(work, *job) for job in jobs], workers=1, on_progress=on_progress)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills processes: needs a POSIX system")
@pytest.mark.parametrize("most", [1, 3])
def test_a_file_that_ends_three_processes_is_refused_and_no_other(
    takes, tmp_path, monkeypatch, most
):
    monkeypatch.setattr(planning, "MIN_PARTS", 1)
    monkeypatch.setattr(planning, "MAX_PART_FILES", most)
    poison, weak = takes["take1"], takes["take4"]
    poison.with_suffix(".lives").write_text("99")
    weak.with_suffix(".lives").write_text("2")
    plan, folder = PackPlan.make(takes, FAST), tmp_path / "parts"
    pack_parts(plan.parts, str(folder), dying)
    assert poison.with_suffix(".lives").read_text() == "96"
    made, refused = joined(plan, folder, tmp_path)
    assert [one.path for one in refused] == [str(takes["bad"]), str(poison)]
    assert "signal 9" in refused[1].reason
    assert refused[1].reason.endswith("3 times")
    rest = {name: path for name, path in takes.items() if path != poison}
    pack(rest, tmp_path / "rest.mocps", FAST)
    assert made == (tmp_path / "rest.mocps").read_bytes()


def test_processes_of_this_machine_make_the_same_bytes(takes, tmp_path, one):
    plan, folder = PackPlan.make(takes, FAST), str(tmp_path / "parts")
    pack_parts(plan.parts, folder, local_engine(2))
    assert joined(plan, folder, tmp_path)[0] == one


def test_a_job_that_an_engine_loses_is_repeated(takes, tmp_path, one):
    plan, folder = PackPlan.make(takes, FAST), str(tmp_path / "parts")
    lost = []

    def losing(work, jobs, on_progress):
        for place, job in enumerate(jobs):
            if len(lost) < len(jobs):
                lost.append(place)
                yield place, LostJob("its node was ended")
            else:
                yield place, work(*job)

    pack_parts(plan.parts, folder, losing)
    assert joined(plan, folder, tmp_path)[0] == one


def test_the_remaining_time_is_that_of_all_workers(takes, tmp_path):
    plan, folder = PackPlan.make(takes, FAST), tmp_path / "parts"
    assert status(plan.parts, str(folder), 0) == Status(0, 0, None)
    for number, when in ((4, 100), (0, 110), (2, 120)):
        pack_part(plan.parts[number], str(folder))
        os.utime(folder / plan.parts[number].file_name, (when, when))
    # two in twenty seconds, three are left
    assert status(plan.parts, str(folder), 120) == Status(3, 3, 30.0)
    assert status(plan.parts, str(folder), 160) == Status(3, 3, 90.0)
    pack_parts(plan.parts, str(folder), here)
    assert status(plan.parts, str(folder), 200) == Status(6, 6, 0.0)


def test_parts_by_url_are_those_by_path(takes, tmp_path, one):
    pytest.importorskip("fsspec")
    urls = {name: f"file://{path}" for name, path in takes.items()}
    plan, folder = PackPlan.make(urls, FAST), f"file://{tmp_path}/parts"
    pack_parts(plan.parts, folder, here)
    refused = join(plan.parts, folder, f"file://{tmp_path}/joined.mocps")
    assert (tmp_path / "joined.mocps").read_bytes() == one
    assert [found.path for found in refused] == [urls["bad"]]
    assert read_part(plan.parts[1], folder).rows[0]["clip"] == "take0"
