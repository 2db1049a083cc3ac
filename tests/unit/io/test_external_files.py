"""External files: regular files in the same folder, unless the caller allows others."""

import base64
import json
import os
import shutil
import signal
import socket
import tracemalloc
from contextlib import contextmanager

import pytest

import mocpack
from mocpack.errors import FormatError
from mocpack.io import files_to_read, list_robot_files, read_external_file
from mocpack.robots import read_robot
from mocpack.testing import walk
from naming import naming

ROBOT = '<mujoco><include file="{}"/></mujoco>'
ARM = """<mujoco><worldbody><body name="base"><freejoint/><body name="arm">
<joint name="elbow"/></body></body></worldbody></mujoco>"""
STAGE = "#usda 1.0\n(subLayers = [@{}@])\n"


class Gltf:
    main, other = "walk.gltf", "walk.bin"

    @staticmethod
    def make(folder, name):
        """Write a file into `folder` that names another; return the bytes of that one."""
        mocpack.write(walk(0.1), folder / "whole.gltf")
        document = json.loads((folder / "whole.gltf").read_text())
        (folder / "whole.gltf").unlink()
        body = base64.b64decode(document["buffers"][0]["uri"].partition(",")[2])
        document["buffers"][0]["uri"] = name
        (folder / "walk.gltf").write_text(json.dumps(document))
        return body

    read = staticmethod(mocpack.read)


class Usd:
    main, other = "scene.usda", "body.usda"

    @staticmethod
    def make(folder, name):
        pytest.importorskip("pxr")
        mocpack.write(walk(0.1), folder / "whole.usda")
        body = (folder / "whole.usda").read_bytes()
        (folder / "whole.usda").unlink()
        (folder / "scene.usda").write_text(STAGE.format(name))
        return body

    read = staticmethod(mocpack.read)


class Mjcf:
    main, other = "robot.xml", "arm.xml"

    @staticmethod
    def make(folder, name):
        (folder / "robot.xml").write_text(ROBOT.format(name))
        return ARM.encode()

    read = staticmethod(read_robot)


KINDS = [Gltf, Usd, Mjcf]


def cases(values, of_usd):
    """Return each kind with each value; of USD, which takes a process for each, only some."""
    return [
        pytest.param(kind, value, id=f"{kind.__name__}-{value:.20}")
        for kind in KINDS
        for value in values
        if kind is not Usd or value in of_usd
    ]


@pytest.fixture
def folders(tmp_path):
    for name in ("inside", "outside"):
        (tmp_path / name).mkdir()
    return tmp_path / "inside", tmp_path / "outside"


@contextmanager
def at_most(seconds):
    """Fail where something waits, as a read from a pipe without a writer does."""

    def fail(*_):
        raise AssertionError(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def ways_out(inside, outside, other):
    """Return names of a file outside the folder, by kind of path."""
    (inside / "link").symlink_to(outside / other)
    (inside / "folder").symlink_to(outside)
    (inside / "deep").mkdir()
    return {
        "up": f"../outside/{other}",
        "down and up": f"deep/../../outside/{other}",
        "absolute": str(outside / other),
        "link": "link",
        "linked folder": f"folder/{other}",
    }


@pytest.mark.parametrize(
    ("kind", "way"),
    cases(["up", "down and up", "absolute", "link", "linked folder"], ["up", "absolute", "link"]),
)
def test_a_file_outside_the_folder_is_opened_only_if_allowed(kind, folders, way):
    inside, outside = folders
    name = ways_out(inside, outside, kind.other)[way]
    if kind is Usd and way == "link":
        (inside / "link").rename(inside / "link.usda")
        name = "link.usda"
    (outside / kind.other).write_bytes(kind.make(inside, name))
    with pytest.raises(FormatError) as refused:
        kind.read(inside / kind.main)
    wanted = os.path.normpath(name) if kind is Usd else name  # USD's own way to write it
    for word in (kind.main, wanted, "--allow-outside", "allow_outside"):
        assert word in str(refused.value)
    assert kind.read(inside / kind.main, allow_outside=True) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_links_within_the_folder_are_followed(kind, folders):
    inside, _ = folders
    (inside / "real").mkdir()
    name = f"linked/../{kind.other}"
    (inside / "real" / kind.other).write_bytes(kind.make(inside, name))
    (inside / "linked").symlink_to(inside / "real")
    (inside / kind.other).symlink_to(inside / "real" / kind.other)
    assert kind.read(inside / kind.main) is not None


def put_special(path, special):
    if special == "fifo":
        os.mkfifo(path)
    elif special == "folder":
        path.mkdir()
    elif special == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
@pytest.mark.parametrize(
    ("kind", "special"), cases(["fifo", "folder", "socket", "device"], ["fifo"])
)
def test_only_regular_files_are_opened(kind, folders, special, monkeypatch):
    inside, _ = folders
    monkeypatch.chdir(inside)  # the address of a socket has to be short
    kind.make(inside, kind.other)
    put_special(inside / kind.other, special)
    with at_most(20), pytest.raises(FormatError) as refused:
        kind.read(inside / kind.main, allow_outside=True)
    assert kind.other in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "name"),
    cases(
        ["https://host/x", "file:///etc/passwd", "missing", "x" * 5000, "loop", ""],
        ["https://host/x", "missing"],
    ),
)
def test_other_names_are_format_errors_that_name_the_file(kind, folders, name):
    inside, _ = folders
    (inside / "loop").symlink_to("loop")
    kind.make(inside, name)
    with pytest.raises(FormatError, match=kind.main):
        kind.read(inside / kind.main, allow_outside=True)


@pytest.mark.parametrize("name", ["a%00b", "%ED%A0%80", "a\ud800"])
def test_a_name_that_no_file_can_have_is_a_format_error(folders, name):
    Gltf.make(folders[0], name)
    with pytest.raises(FormatError):
        mocpack.read(folders[0] / "walk.gltf")


def test_the_skeleton_found_beside_a_motion_keeps_to_the_folder(folders):
    inside, outside = folders
    mocpack.write(walk(0.1), inside / "walk.amc")
    shutil.move(inside / "walk.asf", outside / "walk.asf")
    (inside / "walk.asf").symlink_to(outside / "walk.asf")
    with pytest.raises(FormatError, match="--allow-outside"):
        mocpack.read(inside / "walk.amc")
    assert mocpack.read(inside / "walk.amc", allow_outside=True).frame_count
    assert mocpack.read(inside / "walk.amc", skeleton=inside / "walk.asf").frame_count


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes by name")
def test_a_pipe_in_place_of_a_skeleton_is_not_waited_for(tmp_path):
    mocpack.write(walk(0.1), tmp_path / "walk.amc")
    (tmp_path / "walk.asf").unlink()
    os.mkfifo(tmp_path / "walk.asf")
    with at_most(20), pytest.raises(FormatError, match=r"walk\.asf"):
        mocpack.read(tmp_path / "walk.amc")


def test_files_that_are_refused_are_not_listed_as_read(folders):
    inside, outside = folders
    body = Gltf.make(inside, "../outside/walk.bin")
    (outside / "walk.bin").write_bytes(body)
    path = inside / "walk.gltf"
    assert files_to_read(path) == [path]
    assert files_to_read(path, allow_outside=True)[1].resolve() == outside / "walk.bin"
    Mjcf.make(inside, "../outside/arm.xml")
    assert list_robot_files(inside / "robot.xml") == [inside / "robot.xml"]


def test_pictures_of_a_character_keep_to_the_folder(folders):
    inside, outside = folders
    Gltf.make(inside, "walk.bin")
    mocpack.write(walk(0.1), inside / "body.gltf")
    document = json.loads((inside / "body.gltf").read_text())
    document["images"] = [{"uri": "../outside/skin.png"}]
    (inside / "body.gltf").write_text(json.dumps(document))
    (outside / "skin.png").write_bytes(b"picture")
    with pytest.raises(FormatError, match="--allow-outside"):
        mocpack.write(walk(0.1), inside / "made.glb", into=inside / "body.gltf")
    mocpack.write(walk(0.1), inside / "made.glb", into=inside / "body.gltf", allow_outside=True)


def test_a_robot_of_a_motion_keeps_to_its_folder(folders):
    inside, outside = folders
    (outside / "arm.xml").write_bytes(Mjcf.make(inside, "../outside/arm.xml"))
    (inside / "walk.csv").write_text("0,0,0,0,0,0,1,0.5\n" * 3)
    with pytest.raises(FormatError, match="--allow-outside"):
        mocpack.read(inside / "walk.csv", robot=inside / "robot.xml")
    options = {"robot": inside / "robot.xml", "allow_outside": True}
    assert mocpack.read(inside / "walk.csv", **options).frame_count == 3


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes by name")
def test_value_clips_of_a_usd_are_not_opened(folders, monkeypatch):
    """USD opens them by itself when it is requested a value."""
    from mocpack.io import child

    inside, outside = folders
    body = Usd.make(inside, "body.usda").decode()
    os.mkfifo(outside / "clip.usda")
    clips = f"""clips = {{ dictionary default = {{
        asset[] assetPaths = [@{outside}/clip.usda@]
        asset manifestAssetPath = @{outside}/clip.usda@
        double2[] active = [(0, 0)]
        double2[] times = [(0, 0), (10, 10)]
        string primPath = "/Root"
    }} }}"""
    first = body.index("(", body.index("def "))
    (inside / "body.usda").write_text(f"{body[: first + 1]}\n{clips}\n{body[first + 1 :]}")
    monkeypatch.setattr(child, "WALL_TIME_RATIO", 1)
    assert mocpack.read(inside / "scene.usda").frame_count


def test_a_file_called_as_our_copy_of_the_first_is_another_file(folders):
    inside, _ = folders
    (inside / "scene.usda").write_bytes(Usd.make(inside, "x"))
    (inside / "first.usda").write_text(STAGE.format("scene.usda"))
    assert mocpack.read(inside / "first.usda").frame_count


def test_reading_a_small_file_takes_little_memory(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"1234")
    tracemalloc.start()
    assert read_external_file(tmp_path / "a.gltf", "a.bin") == b"1234"
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    with pytest.raises(FormatError, match=naming("'a.bin' 3")):
        read_external_file(tmp_path / "a.gltf", "a.bin", limit=3)
