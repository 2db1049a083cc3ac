"""Every codec × every check × every hard clip."""

import pkgutil

import pytest

import mocpack.codecs
import mocpack.papers
from mocpack.codecs.registry import BUILTIN, codec_class, codec_ids, parse_codec
from mocpack.errors import UnsupportedClipError
from mocpack.testing import CLIP_CHECKS, CODEC_CHECKS, ContractError, hard_clips
from mocpack.testing.contract import (
    check_ordinary_clips_are_taken,
    check_take_data_survives,
)
from mocpack.testing.motions import vertex_wave
from naming import naming
from takes import all_takes, markers, take

CLIPS = hard_clips()
SMALL = CLIPS["two frames"]
REFUSED = {  # hard clips that a codec may refuse; it takes all others
    "wavelet-ik": {  # which needs two legs
        "one joint",
        "one joint, one frame",
        "flips of 180 degrees",
        "300 joints",
        "zero-length bones",
        "joints with fewer axes",
    }
}


def name(check):
    return check.__name__.removeprefix("check_")


@pytest.mark.parametrize("kind", CLIPS)
@pytest.mark.parametrize("codec_id", codec_ids())
def test_codec_takes_the_clip(codec_id, kind):
    codec, clip = parse_codec(codec_id), CLIPS[kind]
    if kind in REFUSED.get(codec_id, ()):
        with pytest.raises(UnsupportedClipError):
            codec.encode(clip)
        return
    for check in CLIP_CHECKS:
        check(codec, clip)


@pytest.mark.parametrize("codec_id", codec_ids())
@pytest.mark.parametrize("check", CODEC_CHECKS, ids=name)
def test_codec_keeps_the_contract(check, codec_id):
    check(parse_codec(codec_id), SMALL)


def test_a_codec_that_refuses_every_clip_breaks_the_contract():
    class Refusing(codec_class("raw")):
        def encode(self, clip):
            raise UnsupportedClipError("this codec refuses every clip")

    with pytest.raises(ContractError):
        check_ordinary_clips_are_taken(Refusing(), SMALL)


@pytest.mark.parametrize("codec_id", codec_ids())
def test_every_codec_encodes_take_data_or_names_what_it_cannot(codec_id):
    codec = parse_codec(codec_id)
    for _, clip in (*all_takes(most=2, frames=6), ("markers", markers(12))):
        try:
            check_take_data_survives(codec, clip)
        except UnsupportedClipError as refusal:
            says_why = len(str(refusal)) > 20
            assert says_why


@pytest.mark.parametrize("clip", [take(), markers()], ids=["everything", "markers"])
@pytest.mark.parametrize("codec_id", ["keysine", "lossless", "raw"])
def test_a_take_of_everything_keeps_the_contract(codec_id, clip):
    codec = parse_codec(codec_id)
    for check in (*CLIP_CHECKS, *CODEC_CHECKS):
        check(codec, clip)


@pytest.mark.parametrize("codec_id", codec_ids())
def test_codec_takes_vertex_animations_or_says_that_it_does_not(codec_id):
    codec, clip = parse_codec(codec_id), vertex_wave()
    if "vertices" not in codec.kinds:
        with pytest.raises(UnsupportedClipError, match=naming(f"{codec_id} skeleton vertices")):
            mocpack.encode(clip, codec)
        return
    for check in (*CLIP_CHECKS, *CODEC_CHECKS):
        check(codec, clip)


def test_every_codec_module_is_registered():
    packages = (mocpack.codecs, mocpack.papers)
    modules = {m.name for package in packages for m in pkgutil.iter_modules(package.__path__)}
    named = {target.split(":")[0].split(".")[2] for target in BUILTIN.values()}
    assert named == modules - {"registry"}


@pytest.mark.parametrize("codec_id", codec_ids())
def test_the_table_and_the_class_agree(codec_id):
    assert codec_class(codec_id).codec_id == codec_id
