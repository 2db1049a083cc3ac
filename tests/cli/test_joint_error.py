"""`--joint-error`: bounds of single joints in compress, info, compare and corpus pack."""

import json

import pytest
from command_line import run

import mocpack
from mocpack.testing import walk
from naming import names


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("joints") / "walk.bvh"
    mocpack.write(walk(0.5), path)
    return path


@pytest.fixture(scope="module")
def packed(source):
    path = source.with_suffix(".mocp")
    own = ["--joint-error", "*Foot=9mm", "--joint-error", "Head=0.5mm"]
    made = run("compress", source, "-o", path, "--max-error", "2mm", "--effort", "fast", *own)
    assert made.returncode == 0, made.stderr
    return path


def test_info_states_bounds_and_errors_by_joint(packed):
    [facts] = json.loads(run("info", packed, "--json").stdout)
    found = {group["joints"][0]: group for group in facts["joint_bounds"]}
    assert found["LeftFoot"]["bound_mm"] == pytest.approx(9)
    assert found["LeftFoot"]["joints"] == ["LeftFoot", "RightFoot"]
    assert found["Head"]["bound_mm"] == pytest.approx(0.5)
    assert all(group["ok"] and group["max_mm"] > 0 for group in found.values())
    assert "LeftFoot, RightFoot" in run("info", packed).stdout.decode()


def test_compare_checks_each_joint_against_its_own_bound(source, packed, tmp_path):
    assert run("compare", source, packed).returncode == 0
    clip = mocpack.read(source)
    moved = clip.rotations.copy()
    head = clip.skeleton.names.index("Neck")
    moved[:, head] = [0.0, 0.0, 0.02, 1.0]
    other = tmp_path / "other.bvh"
    mocpack.write(mocpack.Clip(clip.header, moved, clip.translations), other)
    made = run("compare", other, packed)
    assert made.returncode == 1
    assert names(made.stderr.decode(), "Head")


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("Tail*", "Tail* Hips"),
        ("*Foott*", "'*Foot*'"),
        ("LeftFot", "'LeftFoot'"),
        ("Foot", "'*Foot*'"),
    ],
)
def test_a_pattern_without_a_joint_fails_and_joints_are_named(source, tmp_path, pattern, named):
    made = run("compress", source, "-o", tmp_path / "x.mocp", "--joint-error", f"{pattern}=1mm")
    assert made.returncode != 0
    assert names(made.stderr.decode(), named)


@pytest.mark.parametrize("text", ["Head", "=1mm", "Head=1", "Head=0mm"])
def test_a_malformed_bound_is_a_usage_error(source, text):
    made = run("compress", source, "--joint-error", text)
    assert made.returncode == 2
    assert names(made.stderr.decode(), text.rpartition("=")[2] or text)
    assert "Head" not in text or names(made.stderr.decode(), "Head")


def test_an_archive_keeps_joint_bounds(source, tmp_path):
    archive = tmp_path / "all.mocps"
    made = run("corpus", "pack", source, "-o", archive, "--joint-error", "*Foot=9mm")
    assert made.returncode == 0, made.stderr
    with mocpack.open_corpus(archive) as corpus:
        [motion] = corpus
        assert motion.errors.joints is not None
