"""The parts of papers whose clips cannot come with the repository."""

import pytest

from mocpack.bench.papers import li, mukai
from mocpack.clip import VertexClip


def test_the_meshes_of_mukai_have_their_columns_in_the_table(real, monkeypatch):
    found = {name: real(name) for name in (mukai.CHICKEN, mukai.HORSE)}
    assert isinstance(mukai._api.read(found[mukai.CHICKEN]), VertexClip)
    monkeypatch.setattr(mukai, "CASES", [c for c in mukai.CASES if c.clip in found][2:3])
    line = mukai.clips_table(found)[-1]
    assert line.startswith("| horse (paper: squirrel) | 48 | 25293 | 35 | 10 |")
    even, free = (float(line.split("|")[k].split()[0]) for k in (6, 7))
    assert 0 < free <= even


def test_the_kick_of_li_is_read_at_its_frame_rate(real):
    motion = next(m for m in li.MOTIONS if m.name == "kick")
    clip = li.load(real(motion.clip), motion)
    assert clip.frame_rate == pytest.approx(30, abs=0.01)
