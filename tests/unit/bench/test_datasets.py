"""Clips by name: from the repository or a named folder; errors name missing clips."""

import pytest

import mocpack
from mocpack.bench import datasets
from mocpack.bench.papers import PAPERS
from mocpack.bench.papers.measuring import load_frames
from mocpack.bench.papers.page import reproduce
from mocpack.errors import UsageError
from mocpack.papers.chattopadhyay.tables import motions as bap_motions
from mocpack.testing.motions import vertex_wave, walk
from naming import naming


@pytest.fixture(autouse=True)
def _unset(monkeypatch):
    monkeypatch.delenv("MOCPACK_DATA", raising=False)


def test_a_clip_comes_with_the_repository():
    path = datasets.require_clip("cmu/09_01")
    assert path == datasets.COMMITTED / "cmu" / "09_01.mocp"
    assert datasets.load_clip("cmu/09_01").frame_count == 149
    assert datasets.source_size(path) == 116_013  # of the BVH


def test_a_clip_of_the_named_folder_goes_first(monkeypatch, tmp_path):
    (tmp_path / "cmu").mkdir()
    mocpack.write(walk(0.1), tmp_path / "cmu" / "09_01.bvh")
    monkeypatch.setenv("MOCPACK_DATA", str(tmp_path))
    path = datasets.require_clip("cmu/09_01")
    assert path == tmp_path / "cmu" / "09_01.bvh"
    assert datasets.source_size(path) == path.stat().st_size
    assert datasets.collection("cmu") == [path]
    # clips that the folder lacks come from the repository
    assert datasets.require_clip("cmu/49_02").is_relative_to(datasets.COMMITTED)


def test_a_folder_that_is_handed_over_is_the_only_one(tmp_path):
    with pytest.raises(UsageError, match=naming(f"cmu/09_01.bvh {tmp_path}")):
        datasets.require_clip("cmu/09_01", tmp_path)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("mesh/horse-gallop", "mesh/horse-gallop.npz Sumner"),
        ("dog/D1_007_KAN01_001", "dog/D1_007_KAN01_001.bvh AI4Animation"),
        ("bandai/walk", "bandai/walk.bvh github.com/BandaiNamcoResearchInc"),
        ("cmu/15_04", "cmu/15_04.bvh mocap.cs.cmu.edu"),
    ],
)
def test_errors_name_the_file_and_database_of_a_missing_clip(name, sentence):
    with pytest.raises(UsageError, match=naming(sentence + " MOCPACK_DATA")):
        datasets.require_clip(name)


def test_a_missing_collection_is_reported(tmp_path):
    with pytest.raises(UsageError, match=naming("cmu-train/ .bvh MOCPACK_DATA")):
        datasets.collection("cmu-train")
    with pytest.raises(UsageError, match=naming(f"cmu/ .bvh {tmp_path}")):
        datasets.collection("cmu", tmp_path)


def test_a_variable_that_names_no_folder_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("MOCPACK_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match=naming("MOCPACK_DATA /nowhere")):
        datasets.require_clip("cmu/09_01")


def test_an_installed_package_says_that_it_has_no_clips(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "COMMITTED", tmp_path / "benchmarks" / "clips")
    with pytest.raises(UsageError, match=naming("cmu/09_01.bvh benchmarks/clips MOCPACK_DATA")):
        datasets.require_clip("cmu/09_01")
    with pytest.raises(UsageError, match=naming("cmu/ benchmarks/clips MOCPACK_DATA")):
        datasets.collection("cmu")


def test_a_variable_that_names_no_folder_is_an_error_for_a_collection_too(monkeypatch, tmp_path):
    monkeypatch.setenv("MOCPACK_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match=naming("MOCPACK_DATA /nowhere")):
        datasets.collection("cmu")


def test_some_clips_are_enough_and_none_is_an_error(tmp_path):
    assert [*datasets.find_clips_of(["cmu/15_04", "cmu/17_08"])] == ["cmu/17_08"]
    with pytest.raises(UsageError, match=naming("cmu/15_04.bvh cmu/17_08.bvh")):
        datasets.find_clips_of(["cmu/15_04", "cmu/17_08"], tmp_path)


def test_a_mesh_is_no_skeletons_clip(tmp_path):
    (tmp_path / "mesh").mkdir()
    mocpack.write(vertex_wave(), tmp_path / "mesh" / "wave.npz")
    with pytest.raises(UsageError, match=naming("mesh/wave skeleton vertex")):
        datasets.load_clip("mesh/wave", tmp_path)


def test_the_papers_find_their_clips_in_the_repository():
    missing = {
        name
        for paper in PAPERS
        for name in paper.module().CLIPS
        if datasets.find_clip(name, datasets.COMMITTED) is None
    }
    meshes = {"mesh/chickenCrossing", "mesh/horse-gallop"}
    assert missing == meshes | {"cmu/15_04", "bandai/dataset-1_kick_normal_001"}


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)
def test_a_paper_whose_clips_are_all_missing_is_an_error(tmp_path, paper):
    with pytest.raises(UsageError, match=r"(cmu|asfamc|mesh)/.*mocap\.cs\.cmu\.edu"):
        reproduce(paper, tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_frame_counts_are_the_papers():
    counts = {motion.clip: motion.frames for motion in bap_motions.MOTIONS}
    counts |= {"09_01": 148, "49_02": 2085, "14_02": 5423}
    for name, frames in counts.items():
        with mocpack.open(datasets.require_clip(f"cmu/{name}")) as motion:
            assert motion.frame_count == frames + 1  # and the T-pose
    assert load_frames(datasets.require_clip("cmu/09_01")).frame_count == 148
