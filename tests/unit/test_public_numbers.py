"""Every number that a public function takes is checked by one rule.

The functions are found by inspection. A new one that takes a number fails the first test until it
is in `calls` or in `NOT_CHECKED` with the reason.
"""

import importlib
import inspect
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

import mocpack
from mocpack import corpora, live, metrics, robots, testing
from mocpack.errors import InvalidClipError, UsageError
from naming import names

MODULES = ("mocpack", "mocpack.corpora", "mocpack.live", "mocpack.testing", "mocpack.metrics")
MODULES += ("mocpack.robots",)
NUMBERS = {"int", "float", "Length", "Angle"}
SEQUENCES = ("Sequence[int]", "Sequence[str | int]", "Iterable[int]", "tuple[int,")

NOT_CHECKED = {
    # made by mocpack and given to users
    "Comparison", "Motion", "Pose", "Report", "Worst", "Corpus", "Robot",
    # public methods that only mocpack calls, with numbers that it has checked
    "ClipHeader.array_bytes", "ClipHeader.indices", "ClipHeader.with_frame_count",
    "VertexHeader.array_bytes", "VertexHeader.indices", "VertexHeader.with_frame_count",
    "Codec.check_range", "Codec.with_bounds", "Corpus.prefetch",
    "Corpus.window_writer", "DecodedCache.write_window", "Hinges.remap_joints", "Hinges.rows",
    "Motion.byte_ranges", "Skeleton.hinge_angles", "Skeleton.subset", "Skeleton.to_core",
    "StreamBuffer.packet", "TakeData.at", "TakeData.between", "TakeData.frames", "TakeData.joints",
    "TakeData.with_frame_time", "Track.between", "Track.change_speed", "Track.seconds",
    "Windows.add_labels", "Windows.decode",
}  # fmt: skip

# numbers that may be negative: times on a clock, and indices that count from the end
NEGATIVE = {
    "Clip.build.start_time", "Clip.from_angles.start_time", "Clip.from_points.start_time",
    "Clip.replace.start_time", "ClipHeader.start_time",
    "Track.start", "turn.turns",
    "Clip.sample.time", "VertexClip.sample.time", "Motion.sample.time",
    "Player.add_poses.now", "Player.at.now", "Player.receive.now",
    "RateControl.rate.time", "RateControl.update.time",
    "Clip.bones.frames", "Clip.plot.frames", "Clip.joints.joints", "ClipHeader.joints.joints",
    "Motion.frames.joints", "Skeleton.children.joint", "Skeleton.indices.joints",
    "Skeleton.with_ancestors.joints", "Corpus.clip_index.key", "Corpus.motion.index",
    "Corpus.read.key", "Windows.batch.indices", "Windows.locate.index", "Windows.prefetch.indices",
    "Windows.read.index", "Windows.labels.index", "Skeleton.parents",
    "cm.value", "deg.value", "m.value", "mm.value", "rad.value",
}  # fmt: skip

# bounds may be infinite: every clip is within them
INFINITE = {"Comparison.is_within.bound", "Comparison.is_within_angle.bound"}
INFINITE |= {"Comparison.verdict.bound", "Comparison.verdict.angle"}


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    """One object of each public class."""
    one = SimpleNamespace(clip=testing.walk(0.2), folder=tmp_path_factory.mktemp("numbers"))
    one.packed = mocpack.encode(one.clip, max_error="5mm", effort="fast")
    one.motion = mocpack.open(one.packed)
    points = np.zeros((4, 3, 3))
    points[:, 1, 0] = points[:, 2, 1] = 1
    one.points = points
    one.vertices = mocpack.VertexClip.build(points, [[0, 1, 2]])
    one.path = one.folder / "walk.mocp"
    one.path.write_bytes(one.packed)
    one.archive = one.folder / "walks.mocps"
    corpora.pack({"walk": one.path}, one.archive)
    one.corpus = mocpack.open_corpus(one.archive)
    one.windows = one.corpus.windows(seconds=0.1)
    one.sender = live.Sender(one.clip.header)
    one.pose = one.clip.rotations[0], one.clip.translations[0]
    one.receiver = live.Receiver(one.sender.hello)
    one.packet = one.sender.send(*one.pose)
    one.player = live.Player(one.receiver)
    one.robot = mocpack.open(mocpack.encode(robot_clip(), "lossless"))
    yield one
    one.corpus.close()


def robot_clip():
    skeleton = testing.humanoid()
    hinges = mocpack.Hinges((1,), np.array([[1.0, 0, 0]]))
    return mocpack.Clip.from_angles(
        mocpack.Skeleton(skeleton.names, skeleton.parents, skeleton.offsets, hinges=hinges),
        np.zeros((3, 1)),
    )


@pytest.fixture(scope="module")
def calls(things):
    """Each public function by name, with arguments that it accepts."""
    one = things
    clip, motion, windows, skeleton = one.clip, one.motion, one.windows, one.clip.skeleton
    arrays = {"skeleton": skeleton, "rotations": clip.rotations, "translations": clip.translations}
    header = {"skeleton": skeleton, "frame_count": 3}
    hinged = {"skeleton": robot_clip().skeleton, "angles": np.zeros((3, 1))}
    points = {"points": one.points, "names": ["a", "b", "c"]}
    pair = {"original": clip, "decoded": clip}
    comparison = mocpack.compare(clip, clip)
    control = live.RateControl(1e5)
    row = np.empty((windows.rows, windows.width), np.float32)
    files = {"files": {"walk": one.path}, "path": one.folder / "new.mocps"}
    repeat = SimpleNamespace(set=lambda offsets: setattr(one.sender, "repeat", offsets))
    update = {"size": 100, "time": 1.0, "max_error": 0.005}
    loss = {"loss": 0.05, "burst": 1, "patience": 0, "round_trip": 3, "room": 4}
    found = {
        "Clip.bones": (clip.bones, {}),
        "Clip.build": (mocpack.Clip.build, arrays),
        "Clip.change_speed": (clip.change_speed, {}),
        "Clip.cut": (clip.cut, {"start": 0}),
        "Clip.frames": (clip.frames, {"start": 1, "stop": 3}),
        "Clip.from_angles": (mocpack.Clip.from_angles, hinged),
        "Clip.from_points": (mocpack.Clip.from_points, points),
        "Clip.joints": (clip.joints, {}),
        "Clip.mirror": (clip.mirror, {}),
        "Clip.plot": (clip.plot, {}),
        "Clip.pose_at": (clip.pose_at, {}),
        "Clip.poses_at": (clip.poses_at, {"at": [0, 1]}),
        "Clip.replace": (clip.replace, {}),
        "Clip.resample": (clip.resample, {}),
        "Clip.sample": (clip.sample, {}),
        "Clip.with_hinges": (clip.with_hinges, {"detect": True}),
        "ClipHeader": (mocpack.ClipHeader, header),
        "ClipHeader.joints": (clip.header.joints, {}),
        "Comparison.is_within": (comparison.is_within, {}),
        "Comparison.is_within_angle": (comparison.is_within_angle, {}),
        "Comparison.verdict": (comparison.verdict, {}),
        "Corpus.clip_index": (one.corpus.clip_index, {}),
        "Corpus.motion": (one.corpus.motion, {}),
        "Corpus.read": (one.corpus.read, {}),
        "Corpus.windows": (one.corpus.windows, {"seconds": 0.1}),
        "DecodedCache": (corpora.DecodedCache, {"corpus": one.corpus}),
        "Hello": (live.Hello, {"header": clip.header}),
        "Hello.new": (live.Hello.new, {"header": clip.header}),
        "Hinges": (mocpack.Hinges, {"axes": np.array([[1.0, 0, 0]])}),
        "Mode": (live.Mode, {"max_error": 0.005}),
        "Motion.arrays": (motion.arrays, {"start": 1, "stop": 3}),
        "Motion.frames": (motion.frames, {"start": 1, "stop": 3}),
        "Motion.sample": (motion.sample, {}),
        "Motion.windows": (motion.windows, {"frames": 3}),
        "Player": (live.Player, {"receiver": one.receiver}),
        "Player.add_poses": (one.player.add_poses, {"poses": []}),
        "Player.at": (one.player.at, {}),
        "Player.receive": (one.player.receive, {"packet": one.packet}),
        "QposWindows.read": (robots.QposWindows(one.robot).read, {"start": 1, "stop": 3}),
        "RateControl": (live.RateControl, {"bitrate": 1e5}),
        "RateControl.rate": (control.rate, {}),
        "RateControl.update": (control.update, update),
        "Receiver": (live.Receiver, {"hello": one.sender.hello}),
        "Receiver.predict": (one.receiver.predict, {}),
        "Sender": (live.Sender, {"stream": clip.header}),
        "Sender.repeat": (repeat.set, {}),
        "Sender.resend": (one.sender.resend, {}),
        "Sender.send": (
            live.Sender(clip.header).send,
            dict(zip(("rotations", "translations"), one.pose, strict=True)),
        ),
        "Skeleton": (mocpack.Skeleton, {"names": ["a", "b"], "parents": [-1, 0],
                                        "offsets": np.zeros((2, 3)), "end_sites": np.ones((1, 3))}),
        "Skeleton.children": (skeleton.children, {}),
        "Skeleton.indices": (skeleton.indices, {}),
        "Skeleton.with_ancestors": (skeleton.with_ancestors, {}),
        "Stream": (corpora.Stream, {"windows": windows}),
        "Track": (mocpack.Track, {"kind": "scalar", "values": np.zeros(3)}),
        "VertexClip.joints": (one.vertices.joints, {}),
        "VertexClip.build": (mocpack.VertexClip.build, {"vertices": one.points}),
        "VertexClip.cut": (one.vertices.cut, {"start": 0}),
        "VertexClip.frames": (one.vertices.frames, {"start": 1, "stop": 3}),
        "VertexClip.pose_at": (one.vertices.pose_at, {}),
        "VertexClip.resample": (one.vertices.resample, {}),
        "VertexClip.sample": (one.vertices.sample, {}),
        "VertexHeader": (mocpack.VertexHeader,
                         {"vertex_count": 3, "faces": [[0, 1, 2]], "frame_count": 4}),
        "Windows": (corpora.Windows, {"corpus": one.corpus, "seconds": 0.1}),
        "Windows.batch": (windows.batch, {}),
        "Windows.locate": (windows.locate, {}),
        "Windows.prefetch": (windows.prefetch, {}),
        "Windows.read": (windows.read, {"out": row}),
        "Windows.labels": (windows.labels, {}),
        "Windows.clip_windows": (windows.clip_windows, {}),
        "Windows.window_indices": (windows.window_indices, {}),
        "append": (corpora.append, {"files": {"again": one.path}, "path": one.archive}),
        "choose_repeats": (live.choose_repeats, loss),
        "decode": (mocpack.decode, {"data": one.packed}),
        "decode_scene": (mocpack.decode_scene, {"data": one.packed}),
        "encode": (mocpack.encode, {"clip": clip, "effort": "fast"}),
        "encode_scene": (mocpack.encode_scene, {"clips": {"a": clip}, "effort": "fast"}),
        "merge": (corpora.merge, {"paths": [one.archive], "path": one.folder / "merged.mocps"}),
        "open": (mocpack.open, {"source": one.packed}),
        "open_corpus": (mocpack.open_corpus, {"url": one.archive}),
        "pack": (corpora.pack, files),
        "read": (mocpack.read, {"path": one.path}),
        "read_data": (mocpack.read_data, {"data": one.packed, "name": "walk.mocp"}),
        "read_scene": (mocpack.read_scene, {"path": one.path}),
        "write": (mocpack.write, {"clip": clip, "path": one.folder / "a.mocp", "effort": "fast"}),
        "write_scene": (mocpack.write_scene,
                        {"clips": {"a": clip}, "path": one.folder / "b.mocp", "effort": "fast"}),
    }  # fmt: skip
    for name in ("cm", "deg", "m", "mm", "rad"):
        found[name] = getattr(mocpack, name), {}
    for name in ("jump", "still", "turn", "walk"):
        found[name] = getattr(testing, name), {}
    for name in ("foot_skate_excess", "has_foot_skate", "has_jitter", "jitter"):
        found[name] = getattr(metrics, name), pair
    return found


def number_parameters(function):
    """Return the parameters that are numbers or sequences of numbers, with their annotations."""
    for one in inspect.signature(function).parameters.values():
        kinds = {one.name: getattr(one.annotation, "__name__", None) or str(one.annotation)}
        if kinds[one.name].startswith("Unpack["):
            options = find_options(kinds[one.name][len("Unpack[") : -1].rpartition(".")[2])
            kinds = {name: ref.__forward_arg__ for name, ref in options.__annotations__.items()}
        for name, kind in kinds.items():
            if NUMBERS & {part.strip() for part in kind.split("|")} or kind.startswith(SEQUENCES):
                yield name, kind


def find_options(name):
    """Return the options of a call; some modules import them for type checkers only."""
    modules = [m for n, m in sys.modules.items() if n.startswith("mocpack.")]
    return next(vars(m)[name] for m in modules if name in vars(m))


def public_functions():
    """Yield the name and function of everything public that can be called, properties included."""
    seen = set()
    for module in map(importlib.import_module, MODULES):
        listed = getattr(module, "__all__", None)
        for name in listed or [n for n, v in vars(module).items() if is_own(module, n, v)]:
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                yield name, thing
            if not inspect.isclass(thing) or thing in seen:
                continue
            seen.add(thing)
            yield name, thing.__init__
            for key in dir(thing):
                member = inspect.getattr_static(thing, key)
                member = getattr(member, "__func__", getattr(member, "fset", None) or member)
                if not key.startswith("_") and inspect.isfunction(member):
                    yield f"{name}.{key}", member


def is_own(module, name, value):
    return not name.startswith("_") and getattr(value, "__module__", None) == module.__name__


FOUND = {
    name: parameters
    for name, function in public_functions()
    if (parameters := dict(number_parameters(function))) and name not in NOT_CHECKED
}
CASES = [
    (name, parameter, value)
    for name, parameters in FOUND.items()
    for parameter, kind in parameters.items()
    for value in (float("nan"), float("inf"), 2.5, True, -1)
    if not (value == 2.5 and "float" in kind)
    and not (value == -1 and f"{name}.{parameter}" in NEGATIVE)
    and not (value == float("inf") and f"{name}.{parameter}" in INFINITE)
]


def test_the_calls_are_those_of_the_public_functions(calls):
    assert set(FOUND) == set(calls)
    wrong = [f"{name}.{parameter}" for name in FOUND for parameter in FOUND[name]]
    assert not (NEGATIVE | INFINITE) - set(wrong)


@pytest.mark.parametrize(("name", "parameter", "value"), CASES)
def test_a_wrong_number_is_an_error_that_names_the_argument(calls, name, parameter, value):
    function, arguments = calls[name]
    given = [value] if FOUND[name][parameter].startswith(SEQUENCES) else value
    if FOUND[name][parameter].startswith("tuple[int, int]"):
        given = (value, 2)
    with pytest.raises((UsageError, InvalidClipError)) as raised:  # noqa: PT012
        result = function(**{**arguments, parameter: given})
        if isinstance(result, Iterator):
            list(result)
    assert names(str(raised.value), parameter)
