"""Invalid arguments of every public function raise a `MocpackError`.

Each row calls a function with one argument, and every invalid value is tried. A value that the
function accepts is not an error.
"""

import io
import math
from dataclasses import fields

import numpy as np
import pytest

import mocpack
from mocpack.codecs.registry import BUILTIN, codec_class, parse_codec
from mocpack.errors import MocpackError
from mocpack.testing import walk

CLIP = walk(0.2)
DATA = mocpack.encode(CLIP)
SKELETON = CLIP.skeleton
NUMBERS = (0, -1, math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-320, 10**400, 2**63, True)
OTHERS = ("x", "", b"x", None, [], {}, (1, 2), object(), 1j, np.zeros((2, 3)), "1e400mm")
WRONG = (*NUMBERS, *OTHERS)
ARRAYS = (
    *WRONG,
    np.full((3, 4), np.nan),
    np.zeros((0, 0)),
    np.zeros((2, 3, 4), complex),
    np.array(["a"]),
    np.array([None]),
    [[1], [2, 3]],
)


def target(name):
    return lambda value: mocpack.encode(CLIP, **{name: value})


def build(name):
    own = {"rotations": CLIP.rotations, "translations": CLIP.translations}
    return lambda value: mocpack.Clip.build(SKELETON, **{**own, name: value})


def changed(name):
    return lambda value: CLIP.replace(**{name: value})


def header(name):
    given = {f.name: getattr(CLIP.header, f.name) for f in fields(CLIP.header)}
    return lambda value: mocpack.ClipHeader(**{**given, name: value})


def skeleton(name):
    own = {"names": ("a", "b"), "parents": (-1, 0), "offsets": np.zeros((2, 3))}
    return lambda value: mocpack.Skeleton(**{**own, name: value})


def motion(call):
    def ask(value):
        with mocpack.open(DATA) as opened:
            return call(opened, value)

    return ask


def track(name):
    own = {"kind": "scalar", "values": np.zeros(3), "bound": 0.1}
    return lambda value: mocpack.Track(**{**own, name: value})


SINGLE = {
    "encode codec": lambda v: mocpack.encode(CLIP, v),
    "encode clip": mocpack.encode,
    **{
        f"encode {name}": target(name)
        for name in ("max_error", "mean_error", "ratio", "size", "preset", "effort", "max_angle")
    },
    "encode_scene": mocpack.encode_scene,
    "encode_scene clip": lambda v: mocpack.encode_scene({"a": v}),
    "encode_scene name": lambda v: mocpack.encode_scene({v: CLIP} if _can_be_key(v) else {}),
    "decode": lambda v: None if isinstance(v, str) else mocpack.decode(v),  # texts are paths
    "decode clip": lambda v: mocpack.decode(DATA, clip=v),
    "decode memory_limit": lambda v: mocpack.decode(DATA, memory_limit=v),
    "decode_scene": lambda v: None if isinstance(v, str) else mocpack.decode_scene(v),
    "open memory_limit": lambda v: mocpack.open(DATA, memory_limit=v).close(),
    "open clip": lambda v: mocpack.open(DATA, clip=v).close(),
    "clip_names": lambda v: None if isinstance(v, str) else mocpack.clip_names(v),
    "compare": lambda v: mocpack.compare(CLIP, v),
    "parse_codec": parse_codec,
    "mm": mocpack.mm,
    "cm": mocpack.cm,
    "m": mocpack.m,
    "deg": mocpack.deg,
    "rad": mocpack.rad,
    "read": lambda v: None if isinstance(v, str) else mocpack.read(v),
    "read_scene": lambda v: None if isinstance(v, str) else mocpack.read_scene(v),
    "write": lambda v: None if isinstance(v, str) else mocpack.write(CLIP, v),
    "write clip": lambda v: mocpack.write(v, "nowhere/a.bvh"),
    "write_scene": lambda v: None if isinstance(v, str) else mocpack.write_scene({}, v),
    "corpus": lambda v: None if isinstance(v, str) else mocpack.open_corpus(v),
    "read_data": lambda v: mocpack.read_data(v, name="a.bvh"),
    "read_data unit": lambda v: mocpack.read_data(b"HIERARCHY", name="a.bvh", unit=v),
    "read_data fps": lambda v: mocpack.read_data(DATA, fps=v),
    "Clip.frames start": lambda v: CLIP.frames(v, 5),
    "Clip.frames stop": lambda v: CLIP.frames(0, v),
    "Clip[]": lambda v: CLIP[v],
    "Clip[a:b]": lambda v: CLIP[v:],
    "Clip[::n]": lambda v: CLIP[::v],
    "Clip.joints": CLIP.joints,
    "Clip.joints one": lambda v: CLIP.joints([v]),
    "Clip.sample": CLIP.sample,
    "Clip.pose_at": CLIP.pose_at,
    "Clip.poses_at": CLIP.poses_at,
    "Clip.poses_at frame_time": lambda v: CLIP.poses_at([0.0, 0.1], frame_time=v),
    "Clip.resample": CLIP.resample,
    "Clip.cut start": CLIP.cut,
    "Clip.cut stop": lambda v: CLIP.cut(0, v),
    "Clip.change_speed": CLIP.change_speed,
    "Clip.as_euler": CLIP.as_euler,
    "Clip.concat": CLIP.concat,
    "Clip.bones": lambda v: CLIP.bones([v]),
    "Clip.with_hinges tolerance": lambda v: CLIP.with_hinges(detect=True, tolerance=v),
    **{
        f"Clip.replace {name}": changed(name)
        for name in ("frame_rate", "frame_time", "unit", "metadata", "loop", "up", "start_time")
    },
    **{
        f"ClipHeader {f.name}": header(f.name)
        for f in fields(mocpack.ClipHeader)
        if f.name != "skeleton"
    },
    "Motion.frames start": motion(lambda opened, v: opened.frames(v, 5)),
    "Motion.frames stop": motion(lambda opened, v: opened.frames(0, v)),
    "Motion[]": motion(lambda opened, v: opened[v]),
    "Motion.sample": motion(lambda opened, v: opened.sample(v)),
    "Motion.frames joints": motion(lambda opened, v: opened.frames(0, 2, v)),
}
MANY = {
    **{
        f"Clip.build {name}": build(name)
        for name in (
            "rotations",
            "translations",
            "frame_rate",
            "frame_time",
            "times",
            "scales",
            "valid",
            "tracks",
            "metadata",
            "translated_joints",
            "unit",
        )
    },
    **{f"Skeleton {name}": skeleton(name) for name in ("names", "parents", "offsets")},
    **{f"Skeleton {name}": skeleton(name) for name in ("end_sites", "end_site_joints", "rest")},
    "Clip.from_points": lambda v: mocpack.Clip.from_points(v, ["a"]),
    "Clip.from_points names": lambda v: mocpack.Clip.from_points(np.zeros((2, 1, 3)), v),
    **{f"Track {f.name}": track(f.name) for f in fields(mocpack.Track)},
}


def _can_be_key(value):
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _check(call, values):
    wrong = []
    for value in values:
        try:
            call(value)
        except MocpackError as error:
            if not str(error):
                wrong.append(f"{value!r:.60}: says nothing")
        except IndexError as error:
            if "frame" not in str(error):  # as Python's own sequences have it
                wrong.append(f"{value!r:.60}: {error!r}")
        except Exception as error:
            wrong.append(f"{value!r:.60}: {type(error).__name__}: {error!s:.100}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", SINGLE)
def test_a_wrong_argument_is_an_error_of_mocpack(name):
    _check(SINGLE[name], WRONG)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", MANY)
def test_a_wrong_array_is_an_error_of_mocpack(name):
    _check(MANY[name], ARRAYS)


@pytest.mark.parametrize("codec_id", BUILTIN)
def test_wrong_parameters_of_codecs_name_the_parameter(codec_id):
    for field in fields(codec_class(codec_id)):
        for text in (
            "x",
            "nan",
            "-1",
            "1e400",
            "true",
            "null",
            "",
            "0",
            "1e308",
            "1.5",
            "99999999999",
        ):
            try:
                parse_codec(f"{codec_id}:{field.name}={text}")
            except MocpackError as error:
                assert field.name in str(error)  # noqa: PT017 - others may be taken


@pytest.mark.parametrize("codec_id", BUILTIN)
def test_parameters_that_make_no_sense_are_errors_of_mocpack(codec_id):
    cls = codec_class(codec_id)
    for field in fields(cls):
        _check(lambda value, name=field.name: cls(**{name: value}), WRONG)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: CLIP.replace(frame_rate=0), ("frame_rate", "0")),
        (lambda: CLIP.sample(math.nan), ("time", "nan")),
        (lambda: parse_codec("keysine:layers=x"), ("layers", "integer", "'x'")),
        (lambda: CLIP.replace(metadata={"when": object()}), ("metadata", "when", "object")),
        (lambda: CLIP.replace(metadata={3: "x"}), ("metadata", "3")),
        (lambda: mocpack.encode(3), ("clip", "3")),
        (lambda: walk(60).resample(1e6), ("fps", "1e+06")),
        (lambda: mocpack.read_data(b"HIERARCHY", name="a.bvh", clp="x"), ("a.bvh", "'clp'")),
        (lambda: mocpack.mm("1"), ("number", "'1'")),
        (lambda: mocpack.encode(CLIP, max_error=mocpack.deg(1)), ("max_error", "length", "Angle")),
        (lambda: mocpack.encode(CLIP, joint_errors="1mm"), ("joint_errors", "'1mm'")),
        (lambda: mocpack.write_scene({"a": CLIP}, "a.bvh"), ("a.bvh", ".mocp", ".c3d")),
        (lambda: mocpack.open(io.StringIO("text")), ("binary",)),
        (lambda: mocpack.write(CLIP, "https://nowhere.example/a.mocp"), ("https://nowhere",)),
    ],
)
def test_errors_name_the_argument_and_its_value(call, words):
    with pytest.raises(MocpackError) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
