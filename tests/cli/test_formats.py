"""Files of several motions on the command line, and the table of formats."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from command_line import run_text as run

import mocpack
from mocpack.io import supported_extensions
from mocpack.io.conversion_report import list_losses
from mocpack.io.table import DIALECTS
from mocpack.robots import read_robot
from mocpack.viewing.motions import select
from naming import names
from robots import angles_for, urdf

FOX = Path(__file__).parents[1] / "samples/Fox.glb"


@pytest.fixture
def folder(tmp_path):
    shutil.copy(FOX, tmp_path / "Fox.glb")
    return tmp_path


def made(folder):
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "Fox.glb")
    return sorted(path.relative_to(folder).as_posix() for path in files)


def test_an_animation_is_converted_by_name(folder):
    done = run("convert", "Fox.glb", "--clip", "Walk", "-o", "walk.bvh", folder=folder)
    assert done.returncode == 0
    assert names(done.stderr, "Fox.glb unit cm --unit 1m")
    assert mocpack.read(folder / "walk.bvh").frame_count == 18
    assert run("convert", "Fox.glb", "--clip", "Run", folder=folder).returncode == 0
    assert mocpack.read(folder / "Fox-Run.mocp").metadata["animation"] == "Run"


def test_without_a_name_the_first_is_taken_and_the_others_are_named(folder):
    done = run("convert", "Fox.glb", "one.bvh", folder=folder)
    assert done.returncode == 0
    assert names(done.stderr, "Fox.glb 3 Survey, Walk, Run")
    assert mocpack.read(folder / "one.bvh").frame_count == 83


def test_each_makes_a_file_of_every_animation(folder):
    assert run("convert", "Fox.glb", "fox.bvh", "--each", folder=folder).returncode == 0
    assert run("convert", "Fox.glb", "-o", "takes/", "--each", folder=folder).returncode == 0
    motions = ("Run", "Survey", "Walk")
    expected = [f"fox-{name}.bvh" for name in motions]
    expected += [f"takes/{name}.mocp" for name in motions]
    assert made(folder) == expected
    again = run("convert", "Fox.glb", "fox.bvh", "--each", folder=folder)
    assert again.returncode == 2
    assert names(again.stderr, "fox-Survey.bvh -f")


def test_convert_writes_the_format_of_an_option_to_a_pipe_and_a_new_folder(folder):
    piped = run("convert", "Fox.glb", "-", "--to", "bvh", folder=folder)
    assert piped.returncode == 0, piped.stderr
    assert piped.stdout.startswith("HIERARCHY")
    words = ("convert", "Fox.glb", "--to", "bvh")
    assert run(*words, "-o", "v1.2/", folder=folder).returncode == 0
    assert run(*words, "-o", "v1.2/", "--each", folder=folder).returncode == 0
    assert run(*words, folder=folder).returncode == 0
    assert made(folder) == ["Fox.bvh", *(f"v1.2/{n}.bvh" for n in ("Fox", "Run", "Survey", "Walk"))]
    again = run(*words, "-f", folder=folder)  # the file beside it may be the source
    assert again.returncode == 2
    assert names(again.stderr, "Fox.bvh -o -f")
    assert run(*words, "-o", "Fox.bvh", "-f", folder=folder).returncode == 0


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--clip", "Jump"], "'Jump' Survey Walk Run"),
        (["--clip", "Walk", "--each"], "--each --clip"),
        (["b.bvh", "-o", "c.bvh"], "c.bvh"),
        (["--fps", "-1"], "Fox.glb -1.0"),
        (["-", "--each"], "--each -"),
        (["fox"], ".mocp .bvh"),
        (["fox.fbx"], "'.fbx' .bvh"),
        (["-", "--into", "Fox.glb"], "-: .glb"),
        (["a.bvh", "--as", "qpos"], "qpos .npz '.bvh'"),
    ],
)
def test_contradictory_requests_are_errors(folder, words, named):
    done = run("convert", "Fox.glb", *words, folder=folder)
    assert done.returncode == 2
    assert names(done.stderr, named)
    assert made(folder) == []


def test_compress_names_the_other_motions_of_a_file(folder):
    done = run("compress", "Fox.glb", "--unit", "cm", "--effort", "fast", folder=folder)
    assert done.returncode == 0
    assert names(done.stdout, "Walk, Run")
    words = ("--clip", "Walk", "--fps", 30, "--unit", "cm", "-o", "w.mocp")
    assert run("compress", "Fox.glb", *words, folder=folder).returncode == 0
    assert mocpack.read(folder / "w.mocp").frame_rate == 30


def test_info_lists_the_motions_of_any_file(folder):
    shown = run("info", "Fox.glb", folder=folder).stdout
    assert "Fox.glb: glTF" in shown
    assert all(name in shown for name in ("Survey", "Walk", "Run"))
    mocpack.write(mocpack.read(folder / "Fox.glb"), folder / "a.bvh")
    found = json.loads(run("info", "a.bvh", "Fox.glb", "--json", folder=folder).stdout)
    assert [len(row["motions"]) for row in found] == [1, 3]
    assert [motion["frames"] for motion in found[1]["motions"]] == [83, 18, 140]


def test_a_name_cannot_lead_to_another_folder(folder):
    data = (folder / "Fox.glb").read_bytes()
    evil = data.replace(b'"name":"Survey"', b'"name":"../../"')
    evil = evil if evil != data else data.replace(b'"Survey"', b'"../../"')
    assert evil != data
    assert len(evil) == len(data)
    (folder / "sub").mkdir()
    (folder / "sub/Fox.glb").write_bytes(evil)
    done = run("convert", "sub/Fox.glb", "-o", "sub/out/", "--each", folder=folder)
    assert done.returncode == 0
    assert all(name.startswith("sub/out/") for name in made(folder))


def test_formats_lists_every_extension(folder):
    rows = json.loads(run("formats", "--json", folder=folder).stdout)
    read = {e for row in rows if row["read"] for e in row["extensions"]}
    write = {e for row in rows if row["write"] for e in row["extensions"]}
    assert read == {*supported_extensions(), ".mocp"}
    assert write == {*supported_extensions(writable=True), ".mocp"}
    assert {name for row in rows for name in row["dialects"]} == DIALECTS.keys() - {"csv"}
    shown = run("formats", folder=folder).stdout
    assert ".vrma" in shown
    assert "mocpack[fbx]" in shown


def test_unsupported_formats_come_with_advice(folder):
    (folder / "a.dae").write_bytes(b"<?xml version")
    done = run("convert", "a.dae", "a.bvh", folder=folder)
    assert done.returncode == 2
    assert names(done.stderr, "a.dae COLLADA Blender BVH")


def test_a_report_names_losses_in_one_line(folder):
    done = run("convert", "Fox.glb", "run.bvh", "--clip", "Run", "--report", folder=folder)
    assert done.returncode == 0
    (line,) = done.stdout.splitlines()
    assert line.startswith("Fox.glb → run.bvh: ")
    assert names(line, "rotations 1 metadata (copyright) unit cm 1 mesh 1 material 1 picture")
    done = run("convert", "Fox.glb", "out/", "--each", "--report", folder=folder)
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [
        f"Fox.glb → {name}.mocp" for name in ("Survey", "Walk", "Run")
    ]


def test_a_report_to_standard_output_is_rejected(folder):
    done = run("convert", "Fox.glb", "-", "--report", folder=folder)
    assert done.returncode == 2
    assert names(done.stderr, "--report")


def test_a_motion_is_added_to_a_character(folder):
    run("convert", "Fox.glb", "run.mocp", "--clip", "Run", folder=folder)
    done = run("convert", "run.mocp", "new.glb", "--into", "Fox.glb", "--report", folder=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("run.mocp → new.glb: ")
    made = mocpack.read(folder / "new.glb", clip="Run")
    assert list_losses(mocpack.read(folder / "run.mocp"), made) == []
    assert mocpack.clip_names(folder / "new.glb") == [
        "Survey",
        "Walk",
        "Run",
    ]
    done = run("convert", "run.mocp", "new.bvh", "--into", "Fox.glb", folder=folder)
    assert done.returncode == 2
    assert names(done.stderr, "new.bvh .glb .gltf .vrma")


def test_info_compare_convert_and_view_take_the_robot_of_a_table(tmp_path):
    (tmp_path / "robot.urdf").write_text(urdf(4))
    skeleton = read_robot(tmp_path / "robot.urdf").skeleton
    angles = angles_for(len(skeleton.hinges), frames=20)
    turns = np.tile([0.0, 0.0, 0.0, 1.0], (20, 1))
    clip = mocpack.Clip.from_angles(skeleton, angles, np.zeros((20, 3)), turns, up="z")
    rows = np.hstack([np.zeros((20, 3)), turns, clip.hinge_angles().angles])
    np.savetxt(tmp_path / "dance.csv", rows, delimiter=",")
    robot = ("--robot", "robot.urdf")
    assert run("compress", "dance.csv", *robot, folder=tmp_path).returncode == 0
    info = run("info", "dance.csv", *robot, folder=tmp_path)
    compared = run("compare", "dance.csv", "dance.mocp", *robot, folder=tmp_path)
    words = ("dance.csv", "a.npz", "--as", "qpos", "--report")
    converted = run("convert", *words, *robot, folder=tmp_path)
    for done in (info, compared, converted):
        assert done.returncode == 0, done.stderr
    assert "qpos" in np.load(tmp_path / "a.npz")
    assert names(converted.stdout, "dance.csv a.npz joints")
    unknown = run("convert", "dance.csv", "b.npz", "--as", "qos", *robot, folder=tmp_path)
    assert names(unknown.stderr, "'qos' qpos amass")
    # the page of `view` needs node to build
    paths = [str(tmp_path / name) for name in ("dance.mocp", "dance.csv")]
    shown = select(*paths, robot=str(tmp_path / "robot.urdf"))
    assert shown.original.clip.skeleton.hinges == skeleton.hinges
    assert "--robot" in run("view", "--help").stdout
    assert names(info.stdout, f"20 30 {len(skeleton)}")
