"""Worker processes and threads share the cores."""

import os
from contextlib import closing

import pytest

from mocpack.codecs.keysine import decoding
from mocpack.codecs.keysine.codec import Keysine
from mocpack.codecs.keysine.decoding import LONG_CLIP
from mocpack.cores import core_count, limit_cores
from mocpack.corpora.engines import local_engine
from mocpack.testing import walk
from mocpack.workers import run_each


def test_work_has_the_cores_that_it_was_given():
    everything = core_count()
    assert 1 <= everything <= (os.cpu_count() or 1)
    with limit_cores(5):
        assert core_count() == 5
        with limit_cores(0):
            assert core_count() == 1
    assert core_count() == everything


@pytest.mark.parametrize(("workers", "share"), [(1, 6), (2, 3), (4, 1), (9, 1)])
def test_processes_share_the_cores(workers, share):
    with limit_cores(6), closing(run_each(core_count, [()], workers=workers)) as results:
        assert list(results) == [(0, share)]


def test_fewer_jobs_than_workers_share_all_cores():
    with limit_cores(6):
        results = local_engine(4)(core_count, [()], lambda place, share: None)
        assert list(results) == [(0, 6)]


def test_long_clips_are_encoded_by_the_cores_at_hand_to_the_same_bytes(monkeypatch):
    asked = []
    monkeypatch.setattr(decoding, "LONG_CLIP", 20)
    monkeypatch.setattr(decoding, "core_count", lambda: asked.append(core_count()) or core_count())
    made = set()
    for count in (1, 3):
        with limit_cores(count):
            made.add(Keysine(max_error="5mm", effort="fast").encode(walk(0.5)))
        assert set(asked) == {count}
        asked.clear()
    assert len(made) == 1
    assert LONG_CLIP > 20
