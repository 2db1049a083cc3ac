import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mocpack
from mocpack import Clip, Skeleton, VertexClip
from mocpack.errors import UsageError
from mocpack.io import humanml3d
from mocpack.metrics import METRICS, compare
from mocpack.testing import hard_clips, walk
from mocpack.testing.motions import vertex_wave
from naming import names, naming
from takes import take

PROMISED_KEYS = {
    "max_error_mm", "max_joint_mm", "p99_mm", "rms_mm", "mean_mm", "rotation_deg_max",
    "rotation_deg_mean", "eps_x_cm", "def_cm", "e_d", "sk_ted", "velocity_cm_s",
    "foot_skate_cm_s", "e15", "e30", "worst",
}  # fmt: skip


def test_the_names_others_rely_on_are_there():
    clip = walk(0.5)
    assert set(mocpack.compare(clip, clip).to_dict()) >= PROMISED_KEYS


def test_every_metric_is_named_once_and_documented():
    keys = [metric.key for metric in METRICS]
    assert len(set(keys)) == len(keys)
    page = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text()
    assert [key for key in keys if f"`{key}`" not in page] == []


@pytest.mark.parametrize("name", hard_clips())
def test_a_clip_equals_itself_in_every_metric(name):
    clip = hard_clips()[name]
    found = compare(clip, clip)
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(text)["mean_mm"] == 0
    for row in found.rows:
        if not row.key.startswith(("foot_skate", "e15", "e30")):
            assert row.value is None or row.value == pytest.approx(0, abs=1e-5), row.key
    assert found["foot_skate_cm_s"] == found["foot_skate_source_cm_s"]
    assert found["e30"] == found["e30_source"]


@pytest.mark.parametrize("name", hard_clips())
def test_every_metric_sees_noise(name, noisy):
    clip = hard_clips()[name]
    found = compare(clip, noisy(clip))
    json.dumps(found.to_dict(), allow_nan=False)
    for row in found.rows:
        if not row.key.startswith(("foot_skate", "e15", "e30", "eps_x_center")):
            assert row.value is None or row.value > 0, row.key


def test_worst_names_joint_and_frame(arm):
    decoded = arm(9, turns=[(4, 1, (0, 0, np.pi / 3))], root=[(7, (0.01, 0, 0))])
    found = compare(arm(9), decoded)
    assert found.to_dict()["worst"] == [
        {"joint": "hand", "frame": 4, "error_mm": pytest.approx(200)},
        {"joint": "root", "frame": 7, "error_mm": pytest.approx(10)},
    ]


def test_worst_frames_are_a_second_apart(arm):
    # at 2 frames per second: frame 5 is worst, 4 and 6 are in its shadow, then 7
    root = [(4, (0.02, 0, 0)), (5, (0.03, 0, 0)), (6, (0.02, 0, 0)), (7, (0.01, 0, 0))]
    found = compare(arm(8, frame_rate=2), arm(8, root=root, frame_rate=2))
    assert [w.frame for w in found.worst_frames][:2] == [5, 7]


def test_the_table_reads_well(arm):
    text = compare(arm(1), arm(1, turns=[(0, 1, (0, 0, np.pi / 3))])).table()
    lines = text.splitlines()
    assert lines[0].split()[-3:] == ["200", "mm", "max_error_mm"]
    assert any(names(line, "hand frame 0 200 mm") for line in lines)
    assert "velocity" not in text  # one frame has none


def test_skeletons_with_other_offsets_are_compared_as_they_are(arm):
    longer = Skeleton(
        ("root", "hand"), (-1, 0), [[0, 0, 0], [0.41, 0, 0]], [[0.25, 0, 0]], end_site_joints=(1,)
    )
    found = compare(arm(), arm(skeleton=longer))
    assert found["max_joint_mm"] == pytest.approx(10)
    assert found["max_error_mm"] == pytest.approx(60)


def test_translated_joints_may_differ(arm):
    clip = arm()
    moving = Clip.build(
        clip.skeleton, clip.rotations, np.tile([[0, 0, 0], [0.4, 0, 0.003]], (2, 1, 1)),
        frame_rate=100, translated_joints=(0, 1),
    )  # fmt: skip
    assert compare(clip, moving)["max_error_mm"] == pytest.approx(3)


def refuses(original, decoded, things):
    with pytest.raises(UsageError, match=naming(things)):
        compare(original, decoded)


def test_clips_that_cannot_be_compared_say_why(arm):
    names = Skeleton(("root", "paw"), (-1, 0), np.zeros((2, 3)))
    moved = Skeleton(("root", "hand"), (-1, 0), np.zeros((2, 3)), [[0.2, 0, 0]], (0,))
    three = Skeleton(("a", "b", "c"), (-1, 0, 1), np.zeros((3, 3)))
    flat = Skeleton(("a", "b", "c"), (-1, 0, 0), np.zeros((3, 3)))
    refuses(arm(2), arm(3), "2 3 frames")
    refuses(arm(), arm(frame_rate=50), "100 50")
    refuses(arm(), arm(skeleton=three), "2 3 joints")
    refuses(arm(), arm(skeleton=names), "joint 1 'hand' 'paw'")
    refuses(arm(), arm(skeleton=moved), "sites")
    refuses(arm(skeleton=three), arm(skeleton=flat), "'c' parents")


def test_meshes_that_cannot_be_compared_say_why(arm):
    clip = vertex_wave(2)
    refuses(clip, VertexClip.build(clip.vertices[:, 1:]), "36 35 vertices")
    refuses(arm(2, frame_rate=30), clip, "skeleton vertex")


def test_take_data_is_measured():
    clip = take()
    same = compare(clip, clip).values
    keys = ("scale_max", "time_max_ms", "gaps_changed", "track_over_bound")
    assert [same[key] for key in keys] == [0, 0, 0, 0]
    take_data = clip.take_data
    late = replace(
        take_data,
        scales=take_data.scales + 0.25,
        times=take_data.times + np.array([0] + [0.001] * 11),
        valid=~take_data.valid,
        tracks=take_data.tracks
        | {
            "smile": replace(
                take_data.tracks["smile"], values=take_data.tracks["smile"].values + 0.004
            )
        },
    )
    found = compare(clip, Clip(clip.header, clip.rotations, clip.translations, None, late)).values
    expected = [0.25, 1.0, take_data.valid.size, 2.0]
    assert [found[key] for key in keys] == pytest.approx(expected)
    assert found["max_error_mm"] > 1
    none = compare(walk(0.2), walk(0.2)).values
    assert [none[key] for key in keys] == [None] * 4


def test_an_exact_track_that_changed_breaks_its_word():
    clip = take(["tracks"])
    bare = Clip(clip.header, clip.rotations, clip.translations)
    assert compare(clip, bare)["track_over_bound"] == 1e9


def test_a_motion_equals_itself_without_its_scales():
    clip = walk(0.3)
    scales = np.full((len(clip.skeleton), 3), 1.1)
    scaled = clip.replace(skeleton=replace(clip.skeleton, scales=scales))
    assert compare(scaled, scaled.bake_scales()).values["max_error_mm"] < 1e-6
    assert compare(scaled.bake_scales(), scaled).values["max_error_mm"] < 1e-6
    assert compare(scaled, clip).values["max_error_mm"] > 1


def test_joints_without_names_equal_those_with_the_names_that_files_give_them():
    clip = walk(0.2)
    nameless = clip.replace(skeleton=replace(clip.skeleton, names=("", *clip.skeleton.names[1:])))
    named = nameless.replace(skeleton=replace(clip.skeleton, names=nameless.skeleton.unique_names))
    assert compare(nameless, named).values["max_error_mm"] == 0


def test_a_humanml3d_file_is_compared_with_its_own_bvh(tmp_path):
    names = humanml3d.JOINT_NAMES
    depth_first = []

    def visit(joint):
        depth_first.append(names[joint])
        for child in np.flatnonzero(np.array(humanml3d.PARENTS) == joint):
            visit(child)

    visit(0)
    assert depth_first != list(names)
    source = walk(2.0, frame_rate=20)
    places = np.random.default_rng(3).normal(0, 0.2, (22, 3))
    parents = [
        depth_first.index(names[p]) if (p := humanml3d.PARENTS[names.index(name)]) >= 0 else -1
        for name in depth_first
    ]
    turns = np.tile(source.rotations[:, :1], (1, 22, 1))
    ends = ([[0, 0.1, 0]], (depth_first.index("left_foot"),))
    skeleton = Skeleton(tuple(depth_first), tuple(parents), places, *ends)
    clip = Clip.build(skeleton, turns, source.translations, frame_rate=20)
    mocpack.write(clip, tmp_path / "a.bvh")
    mocpack.write(clip, tmp_path / "a.npy", dialect="humanml3d")
    bvh, features = mocpack.read(tmp_path / "a.bvh"), mocpack.read(tmp_path / "a.npy")
    for both in ((bvh[:-1], features), (features, bvh[:-1])):
        found = mocpack.compare(*both)
        assert found.end_sites_ignored == len(bvh.skeleton.end_sites) == 5
        assert "5 end sites" in found.verdict()
    # features begin over the origin and face +z, so only shapes are alike; same joints are paired
    order = [list(features.skeleton.names).index(name) for name in bvh.skeleton.names]
    expected = np.linalg.norm(bvh[:-1].positions() - features.positions()[:, order], axis=-1)
    assert mocpack.compare(bvh[:-1], features)["max_joint_mm"] == pytest.approx(
        1000 * expected.max()
    )
