"""Recordings of markers and analogs, in files made here by the rules of the format."""

import random
import struct

import numpy as np
import pytest
from command_line import run_text

import mocpack
from mocpack.errors import CorruptionError, FormatError, MocpackError, TruncatedError, UsageError
from mocpack.io import c3d, list_clips_in_bytes, read_bytes
from mocpack.io.conversion_report import list_losses
from naming import names, naming

INTEL, DEC, MIPS = 84, 85, 86
RATE, FRAMES, SAMPLES = 50.0, 6, 4


def number(value, processor):
    """A float as a processor writes it."""
    if processor == DEC:
        low, high = struct.unpack("<2H", struct.pack("<f", 4 * value))
        return struct.pack("<2H", high, low)
    return struct.pack(">f" if processor == MIPS else "<f", value)


def entry(name, group, body, order):
    """A parameter (group above 0) or the name of a group (below 0)."""
    return (
        struct.pack("bb", len(name), group)
        + name.encode()
        + struct.pack(f"{order}H", 2 + len(body))
        + body
    )


def texts(values, width=20):
    cells = b"".join(v.encode().ljust(width) for v in values)
    return struct.pack("bBBB", -1, 2, width, len(values)) + cells + b"\0"


def floats(values, processor, *shape):
    shape = shape or (len(values),)
    cells = b"".join(number(v, processor) for v in values)
    return struct.pack(f"bB{len(shape)}B", 4, len(shape), *shape) + cells + b"\0"


def recording(
    points,
    labels,
    *,
    processor=INTEL,
    integers=False,
    analogs=None,
    units="mm",
    up="+Z",
    first=1,
    events=(),
):
    """A C3D file of points (T, P, 3) in its unit, NaN in gaps, and analogs (T * SAMPLES, A)."""
    order = ">" if processor == MIPS else "<"
    frames, count = points.shape[:2]
    channels = 0 if analogs is None else analogs.shape[1]
    parts = [
        entry("POINT", -1, b"\0", order),
        entry("LABELS", 1, texts(labels[:2]), order),
        entry("LABELS2", 1, texts(labels[2:]), order) if labels[2:] else b"",
        entry("UNITS", 1, struct.pack("bBB", -1, 1, 4) + units.encode().ljust(4) + b"\0", order),
        entry("Y_SCREEN", 1, struct.pack("bBB", -1, 1, 2) + up.encode() + b"\0", order),
        entry("ANALOG", -2, b"\0", order),
        entry("LABELS", 2, texts([f"force{k}" for k in range(channels)]), order),
        entry("SCALE", 2, floats([2.0] * channels, processor), order),
        entry("GEN_SCALE", 2, struct.pack("bB", 4, 0) + number(0.5, processor) + b"\0", order),
        entry("UNITS", 2, texts(["N"] * channels), order),
        entry("EVENT", -3, b"\0", order),
        entry("LABELS", 3, texts([e[1] for e in events]), order),
        entry("CONTEXTS", 3, texts([e[2] for e in events]), order),
        entry(
            "TIMES",
            3,
            floats([n for e in events for n in (e[0] // 60, e[0] % 60)], processor, 2, len(events)),
            order,
        ),
        b"\0\0",
    ]
    parameters = struct.pack("BBBB", 1, 80, 2, processor) + b"".join(parts)
    blocks = -(-len(parameters) // 512)
    head = struct.pack("BB", 2, 0x50) + struct.pack(
        f"{order}5H", count, channels * SAMPLES, first, first + frames - 1, 0
    )
    head += number(0.1 if integers else -1.0, processor)
    head += struct.pack(f"{order}2H", 2 + blocks, SAMPLES) + number(RATE, processor)
    body = b""
    for t in range(frames):
        for place in points[t]:
            gap = np.isnan(place).any()
            words = [0, 0, 0, -1] if gap else [*place, 0]
            if integers:
                body += struct.pack(f"{order}4h", *(round(w * 10) for w in words[:3]), words[3])
            else:
                body += b"".join(number(float(w), processor) for w in words)
        for sample in () if analogs is None else analogs[t * SAMPLES : (t + 1) * SAMPLES]:
            if integers:
                body += struct.pack(f"{order}{channels}h", *sample)
            else:
                body += b"".join(number(float(v), processor) for v in sample)
    return head.ljust(512, b"\0") + parameters.ljust(512 * blocks, b"\0") + body


def motion(seed=0, count=3):
    rng = np.random.default_rng(seed)
    points = np.round(rng.uniform(-900, 900, (FRAMES, count, 3)), 1)
    points[2:4, 1] = np.nan
    return points


LABELS = ["LKNE", "RKNE", "HEAD"]


@pytest.mark.parametrize("processor", [INTEL, DEC, MIPS])
@pytest.mark.parametrize("integers", [False, True])
def test_points_gaps_and_analogs_of_every_processor_are_read(processor, integers):
    points = motion()
    analogs = np.arange(FRAMES * SAMPLES * 2).reshape(-1, 2) - 9
    data = recording(points, LABELS, processor=processor, integers=integers, analogs=analogs)
    clip = read_bytes(data)
    assert clip.skeleton.names == tuple(LABELS)
    assert (clip.frame_rate, clip.unit, clip.header.up) == (RATE, 0.001, "z")
    np.testing.assert_allclose(clip.source_points(), points / 1000, atol=1e-6)
    np.testing.assert_array_equal(clip.valid, np.isfinite(points).all(-1))
    assert list(clip.tracks) == ["analog.force0", "analog.force1"]
    track = clip.tracks["analog.force1"]
    assert (track.unit, track.frame_time) == ("N", pytest.approx(1 / (RATE * SAMPLES)))
    np.testing.assert_allclose(track.values, analogs[:, 1])  # 2 × 0.5


def test_the_axis_that_is_up_is_the_files():
    clip = read_bytes(recording(motion(), LABELS, up="+Y"))
    np.testing.assert_allclose(clip.points(), motion() / 1000, atol=1e-6)
    assert read_bytes(recording(motion(), LABELS, up="  ")).header.up == "z"


def test_subjects_are_clips_of_one_clock_and_analogs_are_the_firsts(tmp_path):
    labels = ["Anna:HEAD", "box", "Anna:LKNE"]
    analogs = np.zeros((FRAMES * SAMPLES, 1))
    (tmp_path / "x.c3d").write_bytes(recording(motion(), labels, analogs=analogs, first=26))
    scene = mocpack.read_scene(tmp_path / "x.c3d")
    assert {name: clip.skeleton.names for name, clip in scene.items()} == {
        "Anna": ("HEAD", "LKNE"),
        "others": ("box",),
    }
    assert [len(clip.tracks) for clip in scene.values()] == [1, 0]
    assert {clip.start_time for clip in scene.values()} == {0.5}
    assert mocpack.read(tmp_path / "x.c3d", clip="others").skeleton.names == ("box",)
    with pytest.raises(UsageError, match=naming("x.c3d 'Bob' Anna others")):
        mocpack.read(tmp_path / "x.c3d", clip="Bob")


def test_one_subject_is_no_scene():
    assert list_clips_in_bytes(recording(motion(), ["A:a", "A:b", "A:c"])) == []


def test_events_are_labels_by_context():
    events = [
        (61.5, "Strike", "Left"),
        (0.25, "Off", "Left"),
        (0.5, "On", "Right"),
        (0.5, "Up", "Right"),
    ]
    clip = read_bytes(recording(motion(), LABELS, events=events))
    assert clip.tracks["events.Left"].values == ("Off", "Strike")
    np.testing.assert_allclose(clip.tracks["events.Left"].times, [0.25, 61.5])
    assert clip.tracks["events.Right"].values == ("On, Up",)


def test_a_packed_recording_keeps_gaps_and_analogs():
    analogs = np.random.default_rng(1).integers(-99, 99, (FRAMES * SAMPLES, 2))
    clip = read_bytes(recording(motion(), LABELS, analogs=analogs))
    back = mocpack.decode(mocpack.encode(clip, max_error="1mm", effort="fast"))
    np.testing.assert_array_equal(back.valid, clip.valid)
    assert back.tracks == clip.tracks
    assert np.nanmax(np.abs(back.points() - clip.points())) <= 1e-3


@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        (lambda d: d[:300], TruncatedError, "512 300"),
        (lambda d: d[:-1], TruncatedError, "6 48 3 1311"),
        (lambda d: b"\xff" + d[1:], CorruptionError, "255"),
        (lambda d: d[:515] + b"\x07" + d[516:], CorruptionError, "7 84 85 86"),
        (lambda d: d[:20] + struct.pack("<f", 0) + d[24:], CorruptionError, "0"),
        (lambda d: d[:8] + struct.pack("<H", 0) + d[10:], FormatError, "C3D frames"),
        (lambda d: d[:2] + struct.pack("<H", 0) + d[4:], FormatError, "C3D points"),
        (lambda d: d.replace(b"mm  ", b"pc  "), CorruptionError, "POINT:UNITS 'pc'"),
    ],
)
def test_errors_are_sentences(change, error, named):
    with pytest.raises(error, match=naming(named)):
        c3d.read(change(recording(motion(), LABELS)))


def test_damage_anywhere_is_a_sentence_or_a_clip():
    rng = random.Random(3)
    analogs = np.zeros((FRAMES * SAMPLES, 2))
    whole = recording(motion(), LABELS, analogs=analogs, events=[(0.1, "On", "Left")])
    outcomes = set()
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            read_bytes(bytes(data), name="x.c3d")
            outcomes.add(None)
        except MocpackError as error:
            outcomes.add(type(error))
    assert len(outcomes) > 2


EVENTS = ((0.02, "Foot Strike", "Left"), (0.04, "Foot Off", "Left"), (0.04, "Clap", ""))


def whole_recording(**changes):
    analogs = np.random.default_rng(4).normal(0, 5, (FRAMES * SAMPLES, 3)).astype(np.float32)
    labels = ["Anna:LKNE", "Anna:RKNE", "box:corner", "Anna:HEAD"]
    points = motion(count=4)
    points[2:4, 1] = np.nan
    return recording(points, labels, analogs=analogs, events=EVENTS, **changes)


def same_tracks(one, other):
    return one.keys() == other.keys() and all(one[name] == other[name] for name in one)


@pytest.mark.parametrize("up", ["+X", "+Y", "+Z"])
@pytest.mark.parametrize("units", ["mm", "m"])
def test_a_scene_written_back_is_the_same(tmp_path, up, units):
    (tmp_path / "a.c3d").write_bytes(whole_recording(up=up, units=units, first=51))
    scene = mocpack.read_scene(tmp_path / "a.c3d")
    assert list(scene) == ["Anna", "box"]
    mocpack.write_scene(scene, tmp_path / "b.c3d")
    back = mocpack.read_scene(tmp_path / "b.c3d")
    assert list(back) == list(scene)
    for name, clip in scene.items():
        assert back[name].header == clip.header
        assert np.array_equal(back[name].valid, clip.valid)
        assert np.array_equal(back[name].source_points(), clip.source_points(), equal_nan=True)
        assert same_tracks(back[name].tracks, clip.tracks)


def test_one_subject_is_written_with_its_name():
    clip = read_bytes(whole_recording(), clip="box")
    data = c3d.write(clip)
    assert b"box:corner" in data
    assert read_bytes(data).skeleton.names == ("corner",)


def test_another_reader_finds_the_same_in_what_is_written(tmp_path):
    ezc3d = pytest.importorskip("ezc3d")
    (tmp_path / "a.c3d").write_bytes(whole_recording(first=51))
    scene = mocpack.read_scene(tmp_path / "a.c3d")
    mocpack.write_scene(scene, tmp_path / "b.c3d")
    found = ezc3d.c3d(str(tmp_path / "b.c3d"))
    labels = ["Anna:LKNE", "Anna:RKNE", "Anna:HEAD", "box:corner"]
    assert found["parameters"]["POINT"]["LABELS"]["value"] == labels
    assert found["header"]["points"]["first_frame"] == 50
    anna = scene["Anna"].source_points() / 0.001
    np.testing.assert_allclose(found["data"]["points"][:3, :3].transpose(2, 1, 0), anna, rtol=1e-6)
    analogs = np.stack([t.values for n, t in scene["Anna"].tracks.items() if "force" in n])
    np.testing.assert_array_equal(found["data"]["analogs"][0], analogs.astype(np.float32))
    events = found["parameters"]["EVENT"]
    assert sorted(events["LABELS"]["value"]) == ["Clap", "Foot Off", "Foot Strike"]
    np.testing.assert_allclose(events["TIMES"]["value"][1], [0.02, 0.04, 0.04], atol=1e-7)


def test_many_markers_and_frames_are_written_in_parts():
    count, frames = 300, 70_000
    places = np.zeros((frames, 1, 3))
    places[:, 0, 0] = np.arange(frames) * 0.001
    clip = mocpack.Clip.from_points(places, ["a"], frame_rate=100.0, unit=0.001, start_time=700.0)
    back = read_bytes(c3d.write(clip))
    assert (back.frame_count, back.start_time) == (frames, 700.0)
    names = [f"marker{k}" for k in range(count)]
    crowd = mocpack.Clip.from_points(np.zeros((3, count, 3)), names, unit=0.001)
    assert read_bytes(c3d.write(crowd)).skeleton.names == tuple(names)


def test_a_left_handed_source_is_written_as_it_is_inside():
    clip = mocpack.Clip.from_points(
        motion(count=2) / 1000, ["a", "b"], unit=0.001, up="z", handedness="left"
    )
    back = read_bytes(c3d.write(clip))
    assert back.header.up == "y"
    np.testing.assert_allclose(back.positions(), clip.positions(), atol=1e-6)


def test_what_a_c3d_cannot_hold_is_refused(tmp_path):
    with pytest.raises(MocpackError, match=naming("C3D")):
        mocpack.write(mocpack.testing.walk(0.1), tmp_path / "walk.c3d")
    one = read_bytes(whole_recording(), clip="box")
    other = read_bytes(whole_recording(units="m"), clip="Anna")
    with pytest.raises(MocpackError, match=naming("'other'")):
        mocpack.write_scene({"one": one, "other": other}, tmp_path / "a.c3d")
    with pytest.raises(UsageError, match=naming("a.c3d max_error .mocp")):
        mocpack.write_scene({"one": one}, tmp_path / "a.c3d", max_error="1mm")


def test_the_command_line_writes_a_scene_as_one_recording(tmp_path):
    (tmp_path / "a.c3d").write_bytes(whole_recording())
    mocpack.write_scene(mocpack.read_scene(tmp_path / "a.c3d"), tmp_path / "a.mocp", codec="raw")
    done = run_text("convert", "a.mocp", "b.c3d", "--report", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert names(done.stdout, "Anna: box:")
    back = mocpack.read_scene(tmp_path / "b.c3d")
    assert list(back) == ["Anna", "box"]
    for name, clip in mocpack.read_scene(tmp_path / "a.mocp").items():
        assert list_losses(clip, back[name]) == []
