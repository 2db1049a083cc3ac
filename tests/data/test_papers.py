"""The parts of papers whose clips cannot come with the repository."""

import pytest

from mocpack.bench.papers import paper_002, paper_004
from mocpack.clip import VertexClip


def test_the_meshes_of_paper_002_have_their_columns_in_the_table(real, monkeypatch):
    found = {name: real(name) for name in (paper_002.CHICKEN, paper_002.HORSE)}
    assert isinstance(paper_002._api.read(found[paper_002.CHICKEN]), VertexClip)
    monkeypatch.setattr(paper_002, "CASES", [c for c in paper_002.CASES if c.clip in found][2:3])
    line = paper_002.clips_table(found)[-1]
    assert line.startswith("| horse (paper: squirrel) | 48 | 25293 | 35 | 10 |")
    even, free = (float(line.split("|")[k].split()[0]) for k in (6, 7))
    assert 0 < free <= even


def test_the_kick_of_paper_004_is_read_at_its_frame_rate(real):
    motion = next(m for m in paper_004.MOTIONS if m.name == "kick")
    clip = paper_004.load(real(motion.clip), motion)
    assert clip.frame_rate == pytest.approx(30, abs=0.01)
