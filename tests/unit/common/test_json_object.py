"""Metadata that JSON cannot hold is rejected with an error that names the key."""

import math
from dataclasses import replace

import numpy as np
import pytest

import mocpack
from mocpack.coding.fields import deflate
from mocpack.common.json_object import MAX_NESTING, get_member, pack_object, parse_json
from mocpack.container.chunks import pack_chunk
from mocpack.errors import CorruptionError, InvalidClipError, UsageError
from mocpack.testing import walk
from mocpack.testing.motions import vertex_wave


def nested(levels):
    value = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


REFUSED = {
    "NaN": ({"mass": math.nan}, '["mass"]'),
    "infinity": ({"body": {"mass": [1.0, -math.inf]}}, '["body"]["mass"][1]'),
    "a numpy NaN": ({"mass": np.float64("nan")}, '["mass"]'),
    "an integer beyond float64": ({"count": 10**400}, '["count"]'),
    "a lone surrogate": ({"name": "a\ud800"}, '["name"]'),
    "a surrogate in a key": ({"a": {"\udc00": 1}}, '["a"]'),
    "a set": ({"tags": {1, 2}}, '["tags"]'),
    "bytes": ({"tags": (b"x",)}, '["tags"][0]'),
    "a numpy integer": ({"count": np.int64(3)}, '["count"]'),
    "a key that is a number": ({"joints": {1: "hips"}}, '["joints"]'),
    "too many levels": (nested(MAX_NESTING + 1), '["a"]'),
    "too many bytes": ({"text": "x" * (1 << 24)}, "metadata"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("make", [lambda: walk(0.1), vertex_wave], ids=["skeleton", "vertices"])
def test_metadata_that_json_cannot_hold_is_refused_by_its_key(name, make):
    metadata, key = REFUSED[name]
    header = make().header
    with pytest.raises(InvalidClipError) as error:
        replace(header, metadata=metadata)
    assert key in str(error.value)


def test_metadata_that_was_changed_after_its_check_is_refused_when_it_is_written():
    body = {"mass": 1.0}
    clip = walk(0.1)
    clip = replace(clip, header=replace(clip.header, metadata={"body": body}))
    body["mass"] = math.nan
    with pytest.raises(InvalidClipError):
        mocpack.encode(clip, "raw")


@pytest.mark.parametrize(
    "metadata",
    [
        {"a": 9.999999999999999e307, "b": -0.0, "c": 5e-324},
        {"a": 2**1000, "b": -(2**53) - 1, "c": True, "d": None},
        {"é😀": ["日本", "\x00\x7f\u2028", ""]},
        nested(MAX_NESTING),
    ],
    ids=["floats", "integers", "text", "levels"],
)
def test_metadata_that_json_can_hold_round_trips(metadata):
    clip = walk(0.1)
    clip = replace(clip, header=replace(clip.header, metadata=metadata))
    assert dict(mocpack.decode(mocpack.encode(clip, "raw")).metadata) == metadata


def test_parameters_that_json_cannot_hold_are_refused():
    with pytest.raises(InvalidClipError, match='parameters\\["step"\\]'):
        pack_object({"step": math.inf}, "parameters", 100)


def test_an_object_that_is_damaged_names_its_chunk():
    clip = walk(0.1)
    clip = replace(clip, header=replace(clip.header, metadata={"a": "x" * 100}))
    data = mocpack.encode(clip, "raw")
    texts = pack_object(clip.metadata, "", 1000), b'{"a":NaN}'
    damaged = data.replace(*(pack_chunk(b"meta", deflate(text)) for text in texts))
    assert damaged != data
    with pytest.raises(CorruptionError, match="meta"):
        mocpack.decode(damaged)


def test_a_member_of_another_type_is_an_error_that_names_it():
    with pytest.raises(CorruptionError, match="settings: fps"):
        get_member({"fps": True}, "fps", int, "settings")
    with pytest.raises(UsageError, match="settings: name"):
        get_member({}, "name", str, "settings", UsageError)


def test_a_float_member_may_be_an_integer():
    value = get_member({"fps": parse_json("30")}, "fps", float, "settings")
    assert (value, type(value)) == (30.0, float)
