"""Old files are readable for ever: what a release wrote, every later one reads the same."""

import json
from pathlib import Path

import numpy as np
import pytest

import mocpack
from mocpack.registry import BUILTIN, codec_class, codec_ids

HERE = Path(__file__).parent
FOLDERS = sorted(p.parent for p in HERE.glob("*/v*/file.mocp"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f"{f.parent.name}-{f.name}")
def test_golden_file_decodes_to_its_samples(folder):
    clip = mocpack.decode((folder / "file.mocp").read_bytes())
    with np.load(folder / "decoded.npz") as expected:
        for name in expected.files:
            np.testing.assert_allclose(getattr(clip, name), expected[name], rtol=0, atol=1e-6)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f"{f.parent.name}-{f.name}")
def test_golden_parameters_still_build_the_codec(folder):
    params = json.loads((folder / "codec.json").read_text())
    codec_class(folder.parent.name).from_params(params)


@pytest.mark.parametrize("codec_id", sorted(set(codec_ids()) & BUILTIN.keys()))
def test_every_codec_has_a_golden_file_of_its_bitstream(codec_id):
    kind = codec_class(codec_id)
    for v in range(kind.oldest_bitstream, kind.bitstream_version + 1):
        for name in ("file.mocp", "decoded.npz", "codec.json"):
            assert (HERE / codec_id / f"v{v}" / name).exists(), f"make golden CODEC={codec_id}"


@pytest.mark.parametrize("codec_id", sorted(BUILTIN))
def test_every_codec_has_its_page(codec_id):
    page = HERE.parents[1] / "docs" / "codecs" / f"{codec_id}.md"
    assert page.exists()
    assert "Payload" in page.read_text()
