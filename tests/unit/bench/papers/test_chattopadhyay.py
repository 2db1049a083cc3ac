"""Chattopadhyay, Bhandarkar and Li 2007 made again: its size model and the sizes it prints."""

import pytest

from mocpack.bench.datasets import COMMITTED, require_clip
from mocpack.bench.papers import chattopadhyay as paper_001
from mocpack.bench.papers.bap_coding import KB
from mocpack.bench.papers.bap_motions import MOTIONS, Source
from mocpack.bench.papers.bap_results import LITERAL, search
from mocpack.codecs.bap.bap_index import BapIndex
from mocpack.codecs.bap.segments import paper_size, size_model
from mocpack.testing import walk


@pytest.mark.parametrize("motion", MOTIONS, ids=lambda m: m.name)
def test_the_printed_sizes_are_one_kept_column_and_few_segments(motion):
    codec = BapIndex(FDF=1, n_d=-(-(motion.frames - 1) // motion.segments))
    layout = codec.row_layout(62)
    size = paper_size(size_model(motion.frames, layout), motion.frames, layout)
    assert size / KB == pytest.approx(motion.indexed_kb, rel=0.015)


@pytest.mark.parametrize("name", ["walk", "sword play"])
def test_indexed_sizes_are_the_papers_where_the_columns_are(name):
    motion = next(m for m in MOTIONS if m.name == name)
    clip = Source(motion, "amc", require_clip(f"asfamc/{motion.clip}", COMMITTED)).clip()
    assert clip.skeleton.channel_count == 62
    codec = BapIndex(FDF=1, n_d=-(-(motion.frames - 1) // motion.segments))
    every_column = paper_001._with_still_columns(codec, clip)
    assert every_column / KB == pytest.approx(motion.indexed_kb, rel=0.005)
    # the two that do not move cost us a float each
    spared = every_column - codec.paper_size(codec.encode(clip), clip.header)
    assert spared == 2 * (4 + motion.frames - 1)


def test_a_search_keeps_its_limit_and_fills_what_it_tried():
    clip = walk(0.6, seed=1)
    limit = 0.7 * len(BapIndex(FDF=66).encode(clip))
    tried = {}
    point = search(clip, LITERAL, limit, lambda o: o[1], tried)
    assert tried[point][0] <= limit
    assert tried[point][1] == min(error for size, error in tried.values() if size <= limit)
