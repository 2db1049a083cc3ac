"""The parts of papers whose clips cannot come with the repository."""

import pytest

from mocpack.bench.datasets import load_any
from mocpack.bench.papers.measuring import load_frames
from mocpack.papers.li.tables import reproduce as li
from mocpack.papers.mukai.tables import reproduce as mukai


@pytest.mark.parametrize(("control_points", "printed"), [(30, 24.1), (50, 14.9)])
def test_even_knots_give_mukais_printed_errors_on_its_chicken(real, control_points, printed):
    clip = load_any(mukai.CHICKEN, real(mukai.CHICKEN).parents[1])
    rows, dropped, points = mukai.to_latent(clip, 86)
    even, free = (
        mukai.percent(mukai.fit_error(points, control_points, method), rows, dropped)
        for method in ("uniform", "fast")
    )
    assert even == pytest.approx(printed, abs=0.05)
    assert free < 0.5 * printed


def test_the_horse_of_mukai_has_its_row(real, monkeypatch):
    found = {mukai.HORSE: real(mukai.HORSE)}
    monkeypatch.setattr(mukai, "CASES", [c for c in mukai.CASES if c.clip in found][:1])
    even, free = mukai.table_1(found, 1)[0]
    assert even.what.startswith("horse (paper: squirrel), 10 control points")
    assert 0 < float(free.ours) <= float(even.literal)


def test_the_kick_of_li_is_read_at_its_frame_rate(real):
    motion = next(m for m in li.MOTIONS if m.name == "kick")
    clip = load_frames(real(motion.clip), motion.start, motion.stride)
    assert clip.frame_rate == pytest.approx(30, abs=0.01)
