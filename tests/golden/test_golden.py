"""Every later release decodes the same arrays from the files of a release."""

import importlib.util
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import mocpack
from golden_arrays import pose_arrays, skeleton_arrays
from mocpack.codecs.registry import BUILTIN, codec_class, codec_ids
from takes import FEATURES

HERE = Path(__file__).parent


@cache
def maker():
    """Return the program that writes golden files."""
    spec = importlib.util.spec_from_file_location("make", HERE / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FOLDERS = sorted(p.parent for p in HERE.glob("*/v*/file.mocp"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f"{f.parent.name}-{f.name}")
def test_golden_file_decodes_to_its_samples(folder):
    clip = mocpack.decode((folder / "file.mocp").read_bytes())
    found = pose_arrays(clip)
    if codec_class(folder.parent.name).is_frozen:
        found |= skeleton_arrays(clip)
    with np.load(folder / "decoded.npz") as expected:
        missing = set(expected.files) - set(found)  # `make conformance` compares these too
        assert set(found) <= set(expected.files)
        assert not missing or codec_class(folder.parent.name).is_frozen
        for name in found:
            if expected[name].dtype.kind == "f":
                np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-6)
            else:
                np.testing.assert_array_equal(found[name], expected[name])


def test_every_golden_folder_is_in_the_list_that_makes_them():
    assert sorted(maker().folder_of(*setting) for setting in maker().settings()) == FOLDERS


@pytest.mark.parametrize("feature", ["take", *(f"take-{f}" for f in FEATURES), "markers"])
def test_every_kind_of_take_data_has_a_golden_file(feature):
    assert (HERE / "raw" / f"v1-{feature}" / "file.mocp").exists()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f"{f.parent.name}-{f.name}")
def test_golden_parameters_still_build_the_codec(folder):
    params = json.loads((folder / "codec.json").read_text())
    codec_class(folder.parent.name).from_params(params)


@pytest.mark.parametrize("codec_id", sorted(set(codec_ids()) & BUILTIN.keys()))
def test_every_codec_has_a_golden_file_of_its_bitstream(codec_id):
    kind = codec_class(codec_id)
    for v in range(1, kind.bitstream_version + 1):
        for name in ("file.mocp", "decoded.npz", "codec.json"):
            assert (HERE / codec_id / f"v{v}" / name).exists(), "make golden"


@pytest.mark.parametrize("codec_id", sorted(BUILTIN))
def test_every_codec_has_its_page(codec_id):
    page = HERE.parents[1] / "docs" / "codecs" / f"{codec_id}.md"
    assert page.exists()
    assert "Payload" in page.read_text()
