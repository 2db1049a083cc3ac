"""Plans: inputs and options, the same on every machine, as objects and as files."""

import base64
import json
from dataclasses import replace

import pytest

import mocpack
from mocpack.corpora import PackOptions, planning
from mocpack.corpora.planning import MAX_PART_BYTES, PackPlan, PlannedFile
from mocpack.errors import FormatError, UsageError
from mocpack.io import list_skeletons
from mocpack.testing import walk
from naming import naming

FAST = PackOptions(target={"max_error": "5mm", "effort": "fast"})


@pytest.fixture
def takes(tmp_path):
    folder = tmp_path / "takes"
    folder.mkdir()
    for number in range(3):
        mocpack.write(walk(0.1, seed=number), folder / f"take{number}.bvh")
    return {path.stem: path for path in sorted(folder.iterdir())}


def names(plan):
    return [part.file_name for part in plan.parts]


def of_sizes(*sizes):
    files = [PlannedFile(f"{number:06}", "", size, "x") for number, size in enumerate(sizes)]
    return PackPlan(tuple(files), FAST)


def test_a_plan_does_not_depend_on_the_order_or_folder_of_files(takes, tmp_path):
    first = PackPlan.make(takes, FAST)
    assert names(PackPlan.make(dict(reversed(takes.items())), FAST)) == names(first)
    moved = takes["take1"].parent.rename(tmp_path / "moved")
    there = {name: moved / path.name for name, path in takes.items()}
    assert names(PackPlan.make(there, FAST)) == names(first)


def test_any_change_of_a_part_changes_its_name(takes):
    first = names(PackPlan.make(takes, FAST))
    for options in (
        PackOptions(target={"max_error": "1mm"}),
        PackOptions(target=FAST.target, reading={"unit": "cm"}),
    ):
        assert not set(names(PackPlan.make(takes, options))) & set(first)
    other = replace(PackPlan.make(takes, FAST), version="0")
    assert not set(names(other)) & set(first)
    mocpack.write(walk(0.1, seed=9), takes["take1"])
    second = names(PackPlan.make(takes, FAST))
    assert [a == b for a, b in zip(first, second, strict=True)] == [True, False, True]


def test_few_files_are_a_part_each_and_many_share_one():
    assert len(of_sizes(*[1] * 100).parts) == 100
    assert len(of_sizes(*[1] * 10_000).parts) == 625
    large = of_sizes(*[MAX_PART_BYTES // 4] * 10_000)
    assert {len(part.files) for part in large.parts} == {4}
    assert [one for part in large.parts for one in part.files] == list(large.files)
    assert of_sizes().parts == []


def test_shards_are_all_the_parts_each_once():
    plan = of_sizes(*[1] * 30)
    shards = [plan.shard(number, 7) for number in range(1, 8)]
    assert sorted(part.number for shard in shards for part in shard) == list(range(30))
    assert plan.shard(40, 40) == []
    for wrong in (0, 8):
        with pytest.raises(UsageError, match=naming("1 7")):
            plan.shard(wrong, 7)


def test_companion_files_are_part_of_the_mark(takes, tmp_path):
    robot = tmp_path / "robot.urdf"
    robot.write_text("one")
    packing = PackOptions(reading={"robot": str(robot)})
    first = PackPlan.make(takes, packing).files[0]
    robot.write_text("another")
    second = PackPlan.make(takes, packing).files[0]
    assert first.mark != second.mark
    assert first.sha256 == second.sha256 == PackPlan.make(takes, FAST).files[0].mark


def test_the_skeleton_of_an_amc_is_part_of_its_mark(tmp_path):
    clip = walk(0.1)
    mocpack.write(clip, tmp_path / "01_01.amc")
    (skeleton,) = tmp_path.glob("*.asf")
    files = {"01_01": tmp_path / "01_01.amc"}
    marks = {PackPlan.make(files, FAST).files[0].mark for _ in range(2)}
    skeleton.write_text(skeleton.read_text() + "\n")
    marks.add(PackPlan.make(files, FAST).files[0].mark)
    assert len(marks) == 2
    assert "+" in marks.pop()


def mark_of(path, packing=FAST):
    return PackPlan.make({"a": path}, packing).files[0].mark


def test_a_skeleton_that_comes_later_is_noticed(tmp_path):
    mocpack.write(walk(0.1), tmp_path / "01_01.amc")
    (skeleton,) = tmp_path.glob("*.asf")
    hidden = skeleton.rename(tmp_path / "hidden")
    without = mark_of(tmp_path / "01_01.amc")
    hidden.rename(skeleton)
    assert mark_of(tmp_path / "01_01.amc") != without


def test_a_folder_of_motions_is_looked_through_once_for_skeletons(tmp_path, monkeypatch):
    mocpack.write(walk(0.1), tmp_path / "01_01.amc")
    motion = (tmp_path / "01_01.amc").read_bytes()
    files = {f"01_{number:02}": tmp_path / f"01_{number:02}.amc" for number in range(1, 41)}
    for path in files.values():
        path.write_bytes(motion)
    looked = []

    def counted(folder):
        looked.append(folder)
        return list_skeletons(folder)

    monkeypatch.setattr(planning, "list_skeletons", counted)
    marks = {one.companions_mark for one in PackPlan.make(files, FAST).files}
    assert len(marks) == 1
    assert marks != {""}
    assert 1 <= len(looked) <= planning.HASHING_THREADS  # those that began at the same time


@pytest.fixture
def gltf(tmp_path):
    """A .gltf with an external buffer file."""
    path = tmp_path / "a.gltf"
    mocpack.write(walk(0.1), path)
    document = json.loads(path.read_text())
    inside = document["buffers"][0]["uri"].partition(",")[2]
    (tmp_path / "the numbers.bin").write_bytes(base64.b64decode(inside))
    document["buffers"][0]["uri"] = "the%20numbers.bin"
    path.write_text(json.dumps(document))
    mocpack.read(path)
    return path


@pytest.mark.parametrize("start", ["", "file://"])
def test_the_buffers_of_a_gltf_are_part_of_its_mark(gltf, start):
    if start:
        pytest.importorskip("fsspec")
    path = f"{start}{gltf}"
    first = mark_of(path)
    numbers = gltf.with_name("the numbers.bin")
    numbers.write_bytes(numbers.read_bytes() + b" ")
    second = mark_of(path)
    assert second != first
    assert second.partition("+")[0] == first.partition("+")[0]
    numbers.unlink()
    assert mark_of(path) not in (first, second)


def test_files_that_a_usd_refers_to_are_part_of_its_mark(tmp_path):
    pytest.importorskip("pxr")
    mocpack.write(walk(0.1), tmp_path / "body.usda")
    (tmp_path / "list.usda").write_text("#usda 1.0\n(subLayers = [@./body.usda@])\n")
    (tmp_path / "scene.usda").write_text("#usda 1.0\n(subLayers = [@list.usda@])\n")
    marks = {mark_of(tmp_path / "scene.usda")}
    mocpack.write(walk(0.1, seed=1), tmp_path / "body.usda")
    marks.add(mark_of(tmp_path / "scene.usda"))
    # a new reference to another file
    (tmp_path / "body.usda").rename(tmp_path / "other.usda")
    (tmp_path / "list.usda").write_text("#usda 1.0\n(subLayers = [@./other.usda@])\n")
    marks.add(mark_of(tmp_path / "scene.usda"))
    mocpack.write(walk(0.1, seed=2), tmp_path / "other.usda")
    marks.add(mark_of(tmp_path / "scene.usda"))
    assert len(marks) == 4


def test_included_files_of_a_robot_are_part_of_the_mark(takes, tmp_path):
    (tmp_path / "robot.xml").write_text('<mujoco><include file="arm.xml"/></mujoco>')
    arm = tmp_path / "arm.xml"
    body = '<mujoco><worldbody><body name="{}"><freejoint/></body></worldbody></mujoco>'
    packing = PackOptions(reading={"robot": str(tmp_path / "robot.xml")})
    marks = set()
    for name in ("one", "two"):
        arm.write_text(body.format(name))
        marks.add(mark_of(takes["take0"], packing=packing))
    assert len(marks) == 2


def test_a_missing_file_is_planned_and_has_a_mark_of_its_own(tmp_path):
    (found,) = PackPlan.make({"a": tmp_path / "none.bvh"}, FAST).files
    assert (found.size, found.mark, found.sha256) == (0, "missing", None)


def test_a_plan_goes_through_its_file(takes):
    plan = PackPlan.make(
        takes, PackOptions("keysine:effort=fast", {"max_error": "1mm"}, {"fps": 30.0})
    )
    assert PackPlan.from_bytes(plan.to_bytes()) == plan


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda lines: [*lines[:-1], lines[-1][:-5]], "plan.jsonl line"),
        (lambda lines: [b"{}\n", *lines[1:]], "plan.jsonl 1"),
        (lambda lines: [b"nonsense\n", *lines[1:]], "line 1 JSON"),
        (lambda lines: [*lines, b"[" * 100_000 + b"\n"], "line 5 JSON"),
        (lambda lines: [*lines, b"[]\n"], "line 5 list"),
        (lambda lines: [*lines, b'{"clip": 3}\n'], "line 5 clip 3"),
        (lambda lines: [lines[0], lines[2], lines[1]], "plan.jsonl sorted"),
        (
            lambda lines: [lines[0].replace(b'"codec": "auto"', b'"codec": 0'), *lines[1:]],
            "line 1 codec 0",
        ),
        (
            lambda lines: [lines[0].replace(b'"codec"', b'"coded"'), *lines[1:]],
            "line 1 packing codec 'coded'",
        ),
        (
            lambda lines: [*lines, b'{"clip": "x", "path": "", "bytes": -1, "mark": ""}\n'],
            "line 5 bytes 0 -1",
        ),
        (
            lambda lines: [*lines, b'{"clip": "", "path": "", "bytes": 1, "mark": ""}\n'],
            "line 5 clip",
        ),
        (
            lambda lines: [
                lines[0].replace(b'"reading": {', b'"reading": {"tempo": 2'),
                *lines[1:],
            ],
            "line 1 tempo",
        ),
        (lambda lines: [lines[0].replace(b'"frames": ":"', b'"frames": "a:"'), *lines[1:]], "a:"),
    ],
)
def test_a_wrong_plan_is_a_clear_error_that_names_the_line(takes, change, named):
    lines = PackPlan.make(takes, FAST).to_bytes().splitlines(keepends=True)
    with pytest.raises(FormatError, match=naming(named)):
        PackPlan.from_bytes(b"".join(change(lines)), name="plan.jsonl")


def test_a_plan_of_another_version_is_to_be_made_again(takes):
    data = replace(PackPlan.make(takes, FAST), version="0.0.1").to_bytes()
    with pytest.raises(UsageError, match=naming("0.0.1")):
        PackPlan.from_bytes(data)
