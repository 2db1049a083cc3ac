"""Every codec × every check × every hard clip."""

import pkgutil
import runpy
import zlib
from itertools import count
from pathlib import Path

import pytest

import mocpack.codecs
import mocpack.papers
from mocpack.codec import Quality
from mocpack.codecs.registry import BUILTIN, codec_class, codec_ids, parse_codec
from mocpack.errors import UnsupportedClipError, UsageError
from mocpack.testing import (
    CLIP_CHECKS,
    CODEC_CHECKS,
    ContractError,
    check_codec,
    hard_clips,
)
from mocpack.testing.contract import (
    check_ordinary_clips_are_taken,
    check_quality_trades_size_for_error,
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


EXAMPLE = Path(__file__).parents[2] / "examples/codec/mocpack_half.py"
Half = runpy.run_path(str(EXAMPLE))["Half"]  # its quality is its step


def test_a_quality_in_the_wrong_direction_breaks_the_contract():
    check_quality_trades_size_for_error(Half(), SMALL)

    class Reversed(Half):
        pass

    Reversed.quality = Quality("step", 2.0**-14, 2.0**-4, error_sign=-1)
    with pytest.raises(ContractError, match=naming("step")):
        check_quality_trades_size_for_error(Reversed(), SMALL)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Quality("step", 1.0, 0.1), "low high 1 0.1"),
        (lambda: Quality("step", "1mm", 1.0), "low '1mm'"),
        (lambda: Quality("step", 2.0**-14, 2.0**-4, error_sign=2), "error_sign 2"),
        (lambda: Quality("stp", 1e-6, 1.0), "'stp' step"),
        (lambda: "step", "quality 'step'"),
    ],
)
def test_a_wrong_quality_is_a_usage_error(make, named):
    class Wrong(Half):
        pass

    def encode():
        Wrong.quality = make()
        return mocpack.encode(SMALL, Wrong(), max_error="1mm")

    with pytest.raises(UsageError, match=naming(named)):
        encode()


def test_one_call_checks_a_codec_and_names_the_check_and_the_clip(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))
    monkeypatch.setitem(BUILTIN, "half", "mocpack_half:Half")
    check_codec("half")

    class Counting(Half):
        def encode(self, clip):
            return zlib.compress(zlib.decompress(super().encode(clip)), next(counter) % 2)

    counter = count()
    with pytest.raises(ContractError, match=naming("half check_encoding_is_deterministic walk")):
        check_codec(Counting())


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
