"""`settings=paper`: each paper's codec as its paper has it."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import mocpack
from mocpack.bench.papers import PAPERS
from mocpack.codecs.registry import BUILTIN, codec_class, non_default_params
from mocpack.errors import UsageError
from mocpack.model.clip import measure_error
from mocpack.model.dofs import from_channels, to_channels, to_dofs
from mocpack.testing import walk
from naming import naming

ROOT = Path(__file__).parents[3]
OF_PAPERS = sorted(name for name, place in BUILTIN.items() if place.startswith("mocpack.papers"))
# not a search of its own: CMA-ES needs a package that the unit tests may lack
FAST = {"latent-spline": "latent-spline:settings=paper,knots=uniform"}


def test_every_papers_codec_has_settings_of_its_paper():
    assert len(OF_PAPERS) == 14
    for name in OF_PAPERS:
        codec = mocpack.parse_codec(f"{name}:settings=paper")
        assert non_default_params(codec) == dict(codec_class(name).paper_settings), name


@pytest.mark.parametrize("name", OF_PAPERS)
def test_files_with_the_papers_settings_decode_and_do_not_name_them(name):
    clip = walk(0.5)
    data = mocpack.encode(clip, FAST.get(name, f"{name}:settings=paper"))
    assert b"settings" not in data
    assert mocpack.decode(data).frame_count == clip.frame_count


def test_a_parameter_beside_the_settings_takes_precedence():
    codec = mocpack.parse_codec("ik-predict:settings=paper,k=0")
    assert (codec.k, codec.directions) == (0.0, "spherical")


def test_python_takes_the_settings_as_a_parameter():
    cls = codec_class("wavelet")
    assert cls.from_params({"settings": "paper"}) == cls(bits=16, split_bytes=False)


@pytest.mark.parametrize("spec", ["rd-pca:settings=print", "rd-pca:settings=1"])
def test_unknown_settings_are_refused(spec):
    with pytest.raises(UsageError, match=naming("rd-pca settings paper")):
        mocpack.parse_codec(spec)


def test_a_codec_without_a_paper_has_no_settings():
    with pytest.raises(UsageError, match=naming("keysine settings")):
        mocpack.parse_codec("keysine:settings=paper")


def test_every_paper_exports_its_codecs():
    for paper in PAPERS:
        module = __import__(f"mocpack.papers.{paper.name}", fromlist=["codec"])
        own = [n for n in OF_PAPERS if BUILTIN[n].startswith(f"mocpack.papers.{paper.name}.")]
        assert own
        for name in own:
            assert getattr(module, codec_class(name).__name__) is codec_class(name)


@pytest.mark.parametrize("name", OF_PAPERS)
def test_the_page_of_a_codec_lists_its_settings_and_defaults(name):
    page = (ROOT / "docs" / "codecs" / f"{name}.md").read_text(encoding="utf-8")
    cls = codec_class(name)
    if not cls.paper_settings:
        assert "`settings=paper` changes nothing" in page
        return
    table = page.split("Settings of the paper")[1].split("\n\n")[1]
    rows = [[cell.strip(" `") for cell in row.split("|")[1:4]] for row in table.splitlines()[2:]]
    defaults = {f.name: f.default for f in fields(cls)}
    assert {row[0]: row[1] for row in rows} == {
        key: as_written(value) for key, value in cls.paper_settings.items()
    }
    assert [row[2] for row in rows] == [as_written(defaults[row[0]]) for row in rows]


def as_written(value):
    """Return a value as pages write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "–"
    return f"{value:g}" if isinstance(value, float) else str(value)


def test_the_papers_angles_follow_the_motion_as_arcs_do():
    clip = walk(2.0)
    errors = {}
    for directions in ("arcs", "spherical"):
        codec = mocpack.parse_codec(f"ik-predict:settings=paper,step=0.001,directions={directions}")
        back = codec.decode(codec.encode(clip), clip.header)
        errors[directions] = measure_error(clip, back).max
    assert errors["spherical"] < 2 * errors["arcs"] < 0.02


def test_words_deflate_larger_than_their_separated_bytes():
    clip = walk(2.0)
    for spec in ("pca:components=12", "wavelet:bits=16"):
        split, words = (
            len(mocpack.parse_codec(f"{spec},split_bytes={value}").encode(clip))
            for value in ("true", "false")
        )
        assert split < words


def test_a_step_per_row_rounds_weak_directions_more_finely():
    clip = walk(2.0)
    own, shared = (
        mocpack.parse_codec(f"pca:components=40,step_per_row={value}")
        for value in ("true", "false")
    )
    fine, coarse = (
        measure_error(clip, c.decode(c.encode(clip), clip.header)).joint_rms for c in (own, shared)
    )
    assert fine < coarse
    assert len(own.encode(clip)) > len(shared.encode(clip))


def test_a_root_that_is_never_frozen_keeps_its_place_exactly():
    clip = walk(2.0)
    codec = mocpack.parse_codec("bap-sparse:settings=paper,FDF=6,sparse_root=false")
    back = codec.decode(codec.encode(clip), clip.header)
    frozen = mocpack.parse_codec("bap-sparse:settings=paper,FDF=6")
    other = frozen.decode(frozen.encode(clip), clip.header)
    assert abs(back.translations[:, 0] - clip.translations[:, 0]).max() < 1e-4
    assert abs(other.translations[:, 0] - clip.translations[:, 0]).max() > 1e-3


def test_the_source_files_angles_are_not_continued_on_another_branch():
    clip = walk(0.5)
    numbers = to_channels(clip).copy()
    column = int(clip.skeleton.columns.is_angle.argmax())
    numbers[:, column] = np.where(np.arange(len(numbers)) % 2, 170.0, -170.0)  # 20° apart
    source = from_channels(numbers, clip.header)
    assert np.ptp(to_dofs(source, unwrap=False)[:, column]) == pytest.approx(np.radians(340))
    assert np.ptp(to_dofs(source)[:, column]) < 1.0
