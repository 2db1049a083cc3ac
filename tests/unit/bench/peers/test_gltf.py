"""glTF optimizers as codecs: their output is read back and measured."""

import pytest

from mocpack import rate
from mocpack.bench.peers.table import parse_any_codec
from mocpack.container import unpack
from mocpack.errors import CorruptionError, UsageError
from mocpack.model.clip import measure_error
from mocpack.testing import walk
from naming import naming

CLIP = walk(1.0)


@pytest.fixture
def tool():
    def find(spec):
        codec = parse_any_codec(spec)
        try:
            codec.encode(walk(0.1))
        except UsageError as missing:
            pytest.skip(str(missing))
        return codec

    return find


def error_of(codec):
    return measure_error(CLIP, codec.decode(codec.encode(CLIP), CLIP.header)).max


def test_more_bits_of_gltfpack_are_less_error(tool):
    assert error_of(tool("gltfpack:bits=16")) < 2e-4
    assert error_of(tool("gltfpack:bits=5")) > 1e-2


def test_gltf_transform_keeps_floats_or_rounds_them(tool):
    assert error_of(tool("gltf-transform:tolerance=1e-7")) < 1e-5
    assert 1e-5 < error_of(tool("gltf-transform:tolerance=1e-7,level=high")) < 1e-2


@pytest.mark.parametrize("spec", ["gltfpack", "gltf-transform"])
def test_they_are_driven_to_a_bound_by_search(tool, spec):
    made = rate.encode_to_target(CLIP, tool(spec), rate.Target(max_error=5e-3))
    assert 1e-3 < unpack(made.data).errors.max <= 5e-3


def test_files_that_a_tool_cannot_read_are_mocpack_errors(tool):
    with pytest.raises(CorruptionError, match=naming("glTF JSON")):
        tool("gltfpack").decode(b"no glTF at all", CLIP.header)


def test_settings_outside_their_range_are_refused():
    with pytest.raises(ValueError, match=naming("gltfpack bits 4..16 30")):
        parse_any_codec("gltfpack:bits=30")
    with pytest.raises(ValueError, match=naming("gltf-transform level medium high 'low'")):
        parse_any_codec("gltf-transform:level=low")


def test_without_node_the_error_names_it(monkeypatch, tmp_path):
    monkeypatch.setenv("MOCPACK_NODE", str(tmp_path))
    with pytest.raises(UsageError, match="make gltf-peers"):
        parse_any_codec("gltfpack").encode(CLIP)
