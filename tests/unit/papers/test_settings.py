"""`settings=paper`: each paper's codec as its paper has it."""

from dataclasses import fields
from pathlib import Path

import pytest

import mocpack
from mocpack.bench.papers import PAPERS
from mocpack.codecs.registry import BUILTIN, codec_class, non_default_params
from mocpack.errors import UsageError
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
