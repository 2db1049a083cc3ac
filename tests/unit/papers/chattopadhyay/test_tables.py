"""Tables of Chattopadhyay, Bhandarkar and Li 2007: its size model and printed sizes."""

import pytest

from mocpack.bench.datasets import COMMITTED, require_clip
from mocpack.papers.chattopadhyay.codec.bap_index import BapIndex, BapSparse
from mocpack.papers.chattopadhyay.codec.segments import paper_size, size_model
from mocpack.papers.chattopadhyay.tables import figures as bap_figures
from mocpack.papers.chattopadhyay.tables import reproduce as paper_001
from mocpack.papers.chattopadhyay.tables.coding import KB
from mocpack.papers.chattopadhyay.tables.lines import table_lines
from mocpack.papers.chattopadhyay.tables.motions import MOTIONS, Source
from mocpack.papers.chattopadhyay.tables.results import LITERAL, make, search, share_left, to_row
from mocpack.testing import walk
from naming import names


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
    # with an index for every channel of the source, as the paper has
    layout = codec.row_layout(clip.skeleton.channel_count)
    every_column = paper_size(size_model(clip.frame_count, layout), clip.frame_count, layout)
    assert every_column / KB == pytest.approx(motion.indexed_kb, rel=0.005)
    # the two that do not move cost us a float each
    spared = every_column - codec.paper_size(codec.encode(clip), clip.header)
    assert spared == 2 * (4 + motion.frames - 1)


def test_a_search_keeps_its_limit_and_records_its_trials():
    clip = walk(0.6, seed=1)
    limit = 0.7 * len(BapIndex(FDF=66).encode(clip))
    tried = {}
    point = search(clip, LITERAL, limit, lambda o: o[1], tried)
    assert tried[point][0] <= limit
    assert tried[point][1] == min(error for size, error in tried.values() if size <= limit)


def test_the_papers_ten_shares_follow_from_its_table():
    shares = [round(100 * motion.share) for motion in MOTIONS]
    assert shares == [49, 60, 53, 54, 59, 60, 61, 55, 61, 65]


def test_the_share_left_counts_released_indices():
    clip = walk(0.6, seed=1)
    assert share_left(BapSparse(FDF=1, K=1e-9), clip) > 0.99
    # one of the 66 columns moves at constant speed: it has no deviation, and is never frozen
    assert share_left(BapSparse(FDF=1, K=1e9), clip) < 1 / 65


@pytest.fixture(scope="module")
def jog():
    path = require_clip("cmu/16_46", COMMITTED)
    return Source(MOTIONS[0], "bvh", path)


@pytest.fixture(scope="module")
def made(jog):
    return make(jog)


def test_every_printed_number_has_a_line(made):
    lines = table_lines([made])
    jogs = [line for line in lines if line.what.startswith("jog (bvh)")]
    # Table 1: three sizes, three ratios and the share; section 3.2: one; Table 2: five numbers
    assert len(jogs) == 3 + 3 + 1 + 1 + 5
    (share,) = [line for line in jogs if line.printed == "49"]
    assert (share.verdict, share.reason) == ("differs", "unexplained")
    bounds, larger, energies = [line for line in lines if line.where == "Equations 3–11"]
    assert bounds.literal == bounds.printed
    assert names(larger.literal, "b = 13")
    assert names(energies.literal, "60 of 60")


def test_a_root_that_is_never_frozen_lessens_the_sparsed_error(made):
    (line,) = [line for line in table_lines([made]) if line.claim.startswith("sparsed, DEF")]
    assert float(line.ours) == pytest.approx(made.rooted.error, abs=0.01)
    assert made.rooted.error < 0.7 * made.thinned.error
    assert made.rooted.counted < 1.03 * made.thinned.counted


def test_sizes_for_62_columns_are_formulas_beside_the_real_payload(made):
    (indexed,) = [
        line
        for line in table_lines([made])
        if line.where == "Table 1" and line.claim.startswith("indexed")
    ]
    assert (indexed.printed, indexed.literal) == ("10.9", "10.81")
    assert float(indexed.ours) == pytest.approx(made.indexed.real / KB, abs=0.01)
    assert indexed.verdict == "not measured"


def test_decoding_times_are_listed_with_the_printed_gigacycles(made):
    mpeg4, look_up = paper_001.decoder_timings(made.source)
    assert (mpeg4.printed, look_up.printed) == ("0.65", "0")
    assert float(look_up.ours) < float(mpeg4.ours)


def test_all_numbers_of_a_motion_are_in_its_row(made):
    row = to_row(made)
    assert row["motion"] == "jog (bvh)"
    assert row["indexed_real"] == made.indexed.real
    assert row["strayed_figure4"] > 10 * row["strayed_text"]


@pytest.fixture(scope="module")
def surface():
    clip = walk(0.6, seed=1)
    return bap_figures.surface("walk", clip, every=(13, 3))


def test_a_surface_ends_with_all_columns_kept_and_no_error(surface):
    assert surface.fixed[0] == 1
    assert surface.errors[-1].max() < 1e-4
    assert surface.sizes.shape == (len(surface.fixed), len(surface.rows))
    assert (surface.sizes[-1] == surface.original).all()


def test_the_least_error_falls_as_more_of_the_original_is_allowed(surface):
    curve = bap_figures.least_errors(surface)
    errors = [error for *_, error in curve]
    assert errors == sorted(errors, reverse=True)
    assert all(kb * KB <= share * surface.original + 1e-9 for share, kb, _ in curve)
    f, n = surface.best
    assert surface.sizes[surface.fixed.index(f), surface.rows.index(n)] <= 0.87 * surface.original


def test_the_figures_have_lines_and_rows(surface):
    assert len(bap_figures.surface_rows(surface)) == surface.sizes.size
    lines = bap_figures.figure_lines(surface, [surface])
    assert [line.where for line in lines] == ["Figures 5–7"] * 5 + ["Section 5"] * 2
