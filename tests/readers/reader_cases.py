"""Good, old, new and hostile files, and the expected result of each, shared by all readers.

The result is ``ok`` or the kind of error: ``format`` (not a .mocp file), ``truncated``,
``corrupt``, ``unsupported`` (a newer version or an unknown codec), ``memory`` (over the limit).
"""

import math
import struct
import zlib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import mocpack
from keysine_payload import checksum
from mocpack import samples
from mocpack.codecs.lossless.codec import CHANNELS, MOTION, motion_matrix, write_matrix
from mocpack.codecs.lossless.relations import channel_columns, motion_columns
from mocpack.coding.fields import FieldReader, FieldWriter, deflate, inflate
from mocpack.container.numbers import pack_numbers
from mocpack.container.skel import DICTIONARY
from mocpack.errors import LosslessWarning
from mocpack.model.clip import Clip
from mocpack.testing import hard_clips, walk
from mocpack.testing.motions import vertex_wave
from reference.keysine_encoder import encode
from takes import asf_clip, markers, take

GOLDEN = Path(__file__).parents[1] / "golden"
CLIP = walk(0.5)
FILE = mocpack.encode(CLIP, "keysine:max_error=1mm,effort=fast")
DECIMAL_FORM = 2  # of numbers
PLAY = (b"play", b"\1")  # the clip loops


@dataclass(frozen=True)
class Case:
    """A file with the expected result of Python, and of libmocpack and JavaScript if it differs."""

    name: str
    data: bytes
    kind: str = "ok"
    native_kind: str | None = None
    limit: int | None = None

    def expected(self, *, native: bool) -> str:
        return self.native_kind if native and self.native_kind else self.kind


def chunks(data):
    """Return (tag, body) of each chunk."""
    read, found = FieldReader(data[5:], "file"), []
    while read.at < len(data) - 5:
        tag, length = read.raw(4), read.varint()
        read.raw(4)
        found.append((tag, read.raw(length)))
    return found


def built(parts, version=1):
    """Return the file of these chunks, with their checksums right."""
    out = FieldWriter()
    out.raw(b"\x93MOC" + bytes([version]))
    for tag, body in parts:
        out.raw(tag)
        out.varint(len(body))
        out.raw(zlib.crc32(body, zlib.crc32(tag)).to_bytes(4, "little"))
        out.raw(body)
    return out.bytes()


def changed(tag, change, data=FILE):
    """Return the file with one chunk's body changed and sealed again."""
    return built([(t, change(body) if t == tag else body) for t, body in chunks(data)])


def head(**given):
    """Return the file with another HEAD."""
    read = FieldReader(dict(chunks(FILE))[b"HEAD"], "HEAD")
    own = {
        "kind": read.u8(),
        "frames": read.varint(),
        "time": short_number(read),
        "codec": read.sized(),
        "bitstream": read.varint(),
        "params": read.sized(),
        "flags": read.u8(),
        "rest": read.rest(),
    }
    return changed(b"HEAD", lambda _: head_body(**(own | given)))


def short_number(read):
    form = read.u8()
    if form == 255:
        return read.f64()
    if form > 31:
        return 1 / (form - 31)
    whole, power = read.signed(), 10 ** (form % 16)
    return whole / power if form < 16 else power / whole


def head_body(kind, frames, time, codec, bitstream, params, flags, rest):
    out = FieldWriter()
    out.u8(kind)
    out.varint(frames)
    out.u8(255)
    out.f64(time)
    out.sized(codec)
    out.varint(bitstream)
    out.sized(params)
    out.u8(flags)
    out.raw(rest)
    return out.bytes()


def needing(text):
    """Return the file with parameters that a decoder must know."""
    out = FieldWriter()
    out.sized(text)
    errors = dict(chunks(FILE))[b"HEAD"][-12:]  # declared and measured
    return head(flags=7, rest=errors + out.bytes())


def skeleton(old, new):
    """Return the file with some bytes of its skeleton replaced."""

    def change(body):
        plain = inflate(body, 1 << 24, dictionary=DICTIONARY)
        assert old in plain
        return deflate(plain.replace(old, new, 1), dictionary=DICTIONARY)

    return changed(b"SKEL", change)


def keysine_head(field, value):
    """Return the file with a byte of keysine's own head set, and its checksum right."""

    def changed_payload(payload):
        read = FieldReader(payload, "payload")
        size = read.varint()
        own = bytearray(payload[:size])
        own[read.at + field] = value
        own[-2:] = checksum(bytes(own[:-2]))
        return bytes(own) + payload[size:]

    return changed(b"DATA", changed_payload)


def flipped(tag):
    """Return the file with a bit of one chunk flipped, and its checksum left as it was."""
    body = dict(chunks(FILE))[tag]
    at = FILE.index(body) + len(body) // 2
    return FILE[:at] + bytes([FILE[at] ^ 4]) + FILE[at + 1 :]


def end_of(tag):
    body = dict(chunks(FILE))[tag]
    return FILE.index(body) + len(body)


def at_rest(frames):
    """A clip that does not move: the fewest bytes for the most frames."""
    pose = CLIP.frames(0, 1)
    return mocpack.Clip.build(
        CLIP.skeleton, np.repeat(pose.rotations, frames, 0), np.repeat(pose.translations, frames, 0)
    )


def packed(clip, spec="keysine:max_error=1mm,effort=fast"):
    return mocpack.encode(clip, spec)


def without(tag):
    return built([chunk for chunk in chunks(FILE) if chunk[0] != tag])


def good_cases():
    clips = hard_clips()
    yield Case("a walk", FILE)
    yield Case("one frame", packed(clips["one frame"]))
    yield Case("every joint translates", packed(clips["every joint translates"]))
    yield Case("in layers", packed(CLIP, "keysine:max_error=1mm,effort=fast,layers=3"))
    yield Case("on a grid", packed(CLIP, "keysine:max_error=0.2mm,mode=grid"))
    yield Case("by the readable encoder", changed(b"DATA", lambda _: encode(CLIP, 1e-3)))
    yield Case("minutes at rest", packed(at_rest(20_000)))
    yield Case("another codec", packed(CLIP, "wavelet"), "ok", "unsupported")
    yield Case("a vertex animation", packed(vertex_wave(), "raw"), "ok", "unsupported")
    for path in sorted(GOLDEN.glob("*/v*/file.mocp")):
        codec, version = path.parts[-3:-1]
        if codec in ("keysine", "lossless", "raw"):
            data = path.read_bytes()
            native = "unsupported" if version.endswith("-mesh") else None
            yield Case(f"golden {codec} {version}", data, native_kind=native)


def take_cases():
    features = ("rest", "roots", "names", "tracks", "valid", "times", "space", "hinges")
    for feature in (*features, "scale", "scales"):
        yield Case(f"a take with {feature}", packed(take([feature])))
    yield Case("scales below several roots", packed(take(["roots", "scale", "scales", "rest"])))
    yield from scale_cases()
    yield Case("markers with gaps", packed(markers()))
    scene = mocpack.encode_scene({"a": CLIP}, max_error="1mm")
    yield Case("a scene of one", scene)
    yield from scene_cases(chunks(scene)[0][1])
    parts = chunks(packed(take(["space"])))
    twice = [part for part in parts for _ in range(1 + (part[0] == b"TIME"))]
    yield Case("two starts", built(twice), "corrupt")
    unknown = [(tag, b"\x07" + body[1:] if tag == b"TIME" else body) for tag, body in parts]
    yield Case("times of an unknown kind", built(unknown), "corrupt")
    never = [(tag, b"\0" + b"\xff" * 8 if tag == b"TIME" else body) for tag, body in parts]
    yield Case("a start that is no time", built(never), "corrupt")
    uneven = packed(take(["times"]))
    for digits, kind in ((15, "ok"), (16, "corrupt")):
        decimal = changed(b"TIME", lambda _, d=digits: decimal_times(12, d), uneven)
        yield Case(f"times of {digits} digits", decimal, kind)
    parts = chunks(packed(take(["tracks"])))
    twice = [part for part in parts for _ in range(1 + (part[0] == b"trak"))]
    yield Case("two tracks of one name", built(twice), "corrupt")
    gaps = changed(b"vald", lambda _: deflate(b"\2\1\0" + 2 * b"\1\1\2"), packed(take(["valid"])))
    yield Case("a joint whose gaps stand twice", gaps, "corrupt")
    parts = chunks(FILE)
    within = built([parts[0], (b"CLIP", b"\1a" + FILE), *parts[1:]])
    yield Case("a scene's clip inside a clip", within, "corrupt")


def decimal_times(count, digits):
    """Return a TIME chunk of times from 0, as whole numbers over a power of ten."""
    head = b"\1" + struct.pack("<d", 0.0) + bytes([DECIMAL_FORM, digits])
    steps = FieldWriter()
    for _ in range(count - 1):
        steps.varint(2 * 10**15)  # zigzag
    return head + b"\0\0" + deflate(steps.bytes())


def scene_cases(body):
    """Scenes of one clip, whose CLIP chunk has this body."""
    good = (b"CLIP", body)
    yield Case("a scene and a chunk to skip", built([good, (b"note", b"x")]))
    yield Case("a scene and a chunk not to skip", built([good, (b"GRIP", b"x")]), "unsupported")
    for tag in (b"1234", b"n\xffte", b"GR\xc3P"):
        yield Case(f"a scene and the tag {tag!r}", built([good, (tag, b"x")]), "corrupt")
    yield Case("a scene and the tag n1-_", built([good, (b"n1-_", b"x")]))
    yield Case("a scene of version 2", built([good], version=2), "unsupported")
    yield Case("a scene of version 0", built([good], version=0), "corrupt")
    yield Case("two clips of one name", built([good, good]), "corrupt")
    yield Case("a scene in a scene", built([(b"CLIP", b"\1b" + built([good]))]), "corrupt")
    yield Case("a clip's name that is not UTF-8", built([(b"CLIP", b"\1\xff" + FILE)]), "corrupt")
    yield Case("a clip's name of 2000 bytes", built([(b"CLIP", b"\xd0\x0f" + FILE)]), "corrupt")
    yield Case("a clip's name that is cut", built([(b"CLIP", b"\5ab")]), "truncated")
    yield Case("a clip without a file", built([(b"CLIP", b"\1a")]), "truncated")
    yield Case("a clip of another kind of file", built([(b"CLIP", b"\1aRIFFx")]), "format")
    yield Case("a scene that is cut", built([good])[:-3], "truncated")
    yield Case(
        "a scene cut in a header", built([good, good])[: len(built([good])) + 6], "truncated"
    )
    broken = bytearray(built([good]))
    broken[-5] ^= 4
    yield Case("a bit of a clip flipped", bytes(broken), "corrupt")


def scale_body(flags=3, mask=b"\2", constant=((2.0, 2.0, 2.0),), joints=(0, 2), moving=None):
    """Return a SCAL chunk of a skeleton of three joints and twelve frames."""
    out = FieldWriter()
    out.u8(flags)
    if flags & 1:
        out.raw(mask)
        out.sized(pack_numbers(np.array(constant), simple=True))
    if flags & 2:
        out.indices(joints)
        rows = np.ones((12, 3 * len(joints))) if moving is None else moving
        out.raw(pack_numbers(np.ascontiguousarray(rows)))
    return out.bytes()


def scale_cases():
    """Files with a SCAL chunk: the second joint twice as large, the first and third growing."""
    plain = hinge_file(hinge_rows())

    def with_scales(**given):
        parts = chunks(plain)
        body = given["body"] if "body" in given else scale_body(**given)
        return built([*parts[:-1], (b"SCAL", body), parts[-1]])

    growing = 1 + np.outer(np.arange(12), np.arange(1, 7)) / 50
    yield Case("scales as they are", with_scales(moving=growing))
    yield Case("constant scales alone", with_scales(flags=1))
    yield Case("moving scales alone", with_scales(flags=2, moving=np.sin(growing)))
    yield Case("a scale of 0, and a mirrored one", with_scales(constant=((0.0, -1.5, 1e-9),)))
    yield Case("a scale as large as may be", with_scales(flags=2, moving=growing * 0 + 1e6))
    yield Case("no scales", with_scales(flags=0), "corrupt")
    yield Case("scales of an unknown kind", with_scales(flags=4), "corrupt")
    yield Case("scales that move, of no joint", with_scales(joints=()), "corrupt")
    yield Case("a scale of a joint that is not there", with_scales(joints=(0, 3)), "corrupt")
    yield Case("a scale beyond 1e6", with_scales(constant=((2e6, 1.0, 1.0),)), "corrupt")
    yield Case("a moving scale beyond 1e6", with_scales(moving=growing * 2e6), "corrupt")
    far = with_scales(mask=b"\3", constant=2 * ((1e6,) * 3,))
    yield Case("scales that take joints too far", far, "corrupt")
    huge, none = (1e6,) * 3, (0.0,) * 3
    far = with_scales(mask=b"\7", constant=(huge, huge, none))
    yield Case("scales that take joints too far, but no end site", far, "corrupt")
    body = scale_body(flags=1)
    yield Case("scales and bytes too many", with_scales(body=body + b"x"), "corrupt")
    for size in (0, 1, 3, len(body) - 1):
        yield Case(f"scales cut after {size} bytes", with_scales(body=body[:size]), "truncated")
    yield Case("two chunks of scales", built([*chunks(with_scales())[:-1] * 2]), "corrupt")


def rest_cases():
    """Yield files whose REST chunk is hostile: one rotation, or the fields of several."""
    skeleton = mocpack.Skeleton(("root",), (-1,), np.zeros((1, 3)), rest=np.eye(4)[:1])
    turns = np.tile([0.0, 0.0, 0.0, 1.0], (4, 1, 1))
    file = packed(mocpack.Clip.build(skeleton, turns, np.zeros((4, 1, 3))))

    def rotation(omitted, others, mask=1, more=b""):
        out = FieldWriter()
        out.u8(omitted)
        for value in others:
            out.signed(value)
        body = bytes([mask]) + deflate(out.bytes() + more)
        return changed(b"REST", lambda _: body, file)

    half = 2**30
    yield Case("a rest rotation", rotation(7, (half, half, half)))
    yield Case("a rest rotation of three components", rotation(8, (0, 0, 0)), "corrupt")
    yield Case("a rest rotation longer than 1", rotation(3, (2 * half - 1,) * 3), "corrupt")
    yield Case("a component of a rest rotation above 1", rotation(3, (2 * half, 0, 0)), "corrupt")
    yield Case("a huge component of a rest rotation", rotation(3, (2**62, 0, 0)), "corrupt")
    yield Case("a rest rotation too few", rotation(3, (0, 0)), "truncated")
    yield Case("a rest rotation too many", rotation(3, (0, 0, 0), more=bytes(2)), "corrupt")
    yield Case("rest rotations without bytes", changed(b"REST", lambda _: b"\1", file), "truncated")
    yield Case("no mask of rest rotations", changed(b"REST", lambda _: b"", file), "truncated")


@cache
def hinged_file():
    """Return a file of three joints with two hinges."""
    skeleton = mocpack.Skeleton(("root", "knee", "toe"), (-1, 0, 1), 0.3 * np.eye(3))
    hinges = mocpack.Hinges((1, 2), np.eye(3)[:2], np.array([[-1.0, 1.0], [-np.inf, 0.5]]))
    skeleton = replace(skeleton, hinges=hinges)
    angles = 0.4 * np.sin(np.arange(12)[:, np.newaxis] / [3.0, 5.0])
    return packed(mocpack.Clip.from_angles(skeleton, angles))


def hinge_file(rows, kind=0):
    """Return the file of `hinged_file` whose HING chunk has these rows, deflated and sealed."""
    body = bytes([kind]) + deflate(rows, dictionary=b"root\0knee\0toe")
    return changed(b"HING", lambda _: body, hinged_file())


def hinge_rows(
    joints=(1, 2),
    kinds=(0x30, 0x21),
    names=(b"knee", b"toe"),
    axes=b"",
    limits=(-1.0, 1.0, 0.5),
    count=None,
):
    """Return the rows of a HING chunk; the usual ones are those of `hinge_file`'s skeleton."""
    out = FieldWriter()
    out.varint(len(joints) if count is None else count)
    for before, joint in zip((-1, *joints), joints, strict=False):
        out.signed(joint - before - 1)
    out.raw(bytes(kinds))
    for name in names:
        out.sized(name)
    out.sized(axes)
    out.raw(pack_numbers(np.array(limits).reshape(-1, 1), simple=True))
    return out.bytes()


def hinge_cases():
    other = pack_numbers(np.array([[0.6, 0.0, 0.9]]), simple=True)
    nowhere = pack_numbers(np.array([[np.nan, 0.0, 1.0]]), simple=True)
    third = {"kinds": (0, 1, 2), "names": (b"a", b"b", b"c"), "limits": ()}
    yield Case("hinges as they are", hinge_file(hinge_rows()))
    yield Case("hinges of a kind that nobody knows", hinge_file(hinge_rows(), kind=7), "corrupt")
    yield Case("hinges of channels that are not there", hinge_file(hinge_rows(), 1), "corrupt")
    yield Case("a hinge of a joint that is not there", hinge_file(hinge_rows((1, 9))), "corrupt")
    yield Case("a hinge before the first joint", hinge_file(hinge_rows((-3, 2))), "corrupt")
    yield Case("hinges of an unknown kind", hinge_file(hinge_rows(kinds=(0x70, 1))), "corrupt")
    yield Case("an axis that nobody knows", hinge_file(hinge_rows(kinds=(0x37, 0x21))), "corrupt")
    yield Case(
        "an axis of another length",
        hinge_file(hinge_rows(kinds=(0x36, 0x21), axes=other)),
        "corrupt",
    )
    yield Case(
        "an axis that is no number",
        hinge_file(hinge_rows(kinds=(0x36, 0x21), axes=nowhere)),
        "corrupt",
    )
    yield Case(
        "limits the wrong way round", hinge_file(hinge_rows(limits=(1.0, -1.0, 0.5))), "corrupt"
    )
    yield Case(
        "a limit that is no number", hinge_file(hinge_rows(limits=(-1.0, math.nan, 0.5))), "corrupt"
    )
    yield Case("three turns of one joint", hinge_file(hinge_rows((1, 1, 1), **third)), "corrupt")
    yield Case(
        "two turns about one axis", hinge_file(hinge_rows((1, 1), kinds=(0x30, 0x23))), "corrupt"
    )
    yield Case(
        "a slider that is not translated", hinge_file(hinge_rows(kinds=(0x38, 0x21))), "corrupt"
    )
    yield Case("a name that is not UTF-8", hinge_file(hinge_rows(names=(b"\xff", b"b"))), "corrupt")
    yield Case("a name of 2000 bytes", hinge_file(hinge_rows(names=(b"n" * 2000, b"b"))), "corrupt")
    yield Case("no hinges", hinge_file(hinge_rows((), kinds=(), names=(), limits=())), "corrupt")
    yield Case("more hinges than bytes", hinge_file(hinge_rows(count=60_000)), "corrupt")
    yield Case("more hinges than may be", hinge_file(hinge_rows(count=2**40)), "corrupt")
    yield Case("hinges that are cut", hinge_file(hinge_rows()[:12]), "truncated")
    short = hinge_rows().replace(b"\3toe\0", b"\3toe\x7f", 1)
    yield Case("more axes than bytes", hinge_file(short), "truncated")
    yield Case("hinges and bytes too many", hinge_file(hinge_rows() + b"xx"), "corrupt")
    bomb = hinge_file(hinge_rows() + bytes(1 << 25))
    yield Case("hinges that swell", bomb, "corrupt")


def raw_cases():
    """Files of codec raw: the channels of BVH and ASF, and payloads that contradict the format."""
    for feature in ("rest", "roots", "hinges", "space"):
        yield Case(f"raw: a take with {feature}", packed(take([feature]), "raw"))
    yield Case("raw: one frame", packed(hard_clips()["one frame"], "raw"))
    yield Case("raw: channels of ASF", packed(asf_clip(), "raw"))
    yield Case("raw: three minutes", packed(at_rest(6_000), "raw"))
    good = packed(CLIP, "raw")
    floats = -(-CLIP.skeleton.channel_count // 8)

    def with_float(at, value):
        bits = struct.pack("<f", value)
        return changed(b"DATA", lambda p: p[:at] + bits + p[at + 4 :] if at else p, good)

    yield Case("raw: a still channel that is no number", with_float(floats, math.nan), "corrupt")
    end = len(dict(chunks(good))[b"DATA"])
    yield Case("raw: a stored number that is infinite", with_float(end - 4, math.inf), "corrupt")
    yield Case("raw: a place beyond the world", far_away(good), "corrupt")
    yield Case("raw: a huge angle", with_float(end - 4, 3e30))
    for size in (0, 3, floats + 2, end - 4, end - 1):
        cut = changed(b"DATA", lambda p, size=size: p[:size], good)
        yield Case(f"raw: cut after {size} bytes", cut, "truncated")
    yield Case("raw: a byte too many", changed(b"DATA", lambda p: p + b"x", good), "corrupt")
    unstored = changed(b"DATA", lambda p: bytes([p[0] & 254]) + p[1:], good)
    yield Case("raw: the first channel is not stored", unstored, "corrupt")


def lossless_cases():
    """Files of codec lossless: channels, poses without channels, and payloads that are damaged."""
    hard = hard_clips()
    for name in ("walk", "full turns", "one frame", "every joint translates", "noise"):
        yield Case(f"lossless: {name}", packed(hard[name], "lossless"))
    # `auto` uses lossless for bounds that keysine cannot keep
    everything = take(["roots", "scale", "scales", "tracks", "valid", "times"])
    for name, clip in {"flips": hard["flips of 180 degrees"], "a take": everything}.items():
        with pytest.warns(LosslessWarning, match="keysine"):
            data = mocpack.encode(clip, max_error="0.001um")
        assert mocpack.open(data).codec.codec_id == "lossless"
        yield Case(f"by default, of a tiny bound: {name}", data)
    yield Case("lossless: channels of ASF", packed(asf_clip(), "lossless"))
    printed = mocpack.read(samples.JUMP).frames(0, 90)
    yield Case("lossless: channels of a BVH", packed(printed, "lossless"))
    zeros = replace(printed, channels=np.where(np.abs(printed.channels) < 3, -0.0, 1e-17))
    yield Case("lossless: negative zeros and remainders", packed(zeros, "lossless"))
    for features in (["roots", "names"], ["scale", "scales"], ["hinges", "rest"]):
        clip = take(features)
        yield Case(f"lossless: a take with {' and '.join(features)}", packed(clip, "lossless"))
    # predictions use mirrored joints, which names find; the second LeftX counts as LeftX_2
    names = list(CLIP.skeleton.names)
    names[1], names[2], names[4] = "LeftX", "LeftX", "RightX_2"
    skeleton = replace(CLIP.skeleton, names=tuple(names))
    repeated = replace(CLIP, header=replace(CLIP.header, skeleton=skeleton))
    yield Case("lossless: a repeated name has a mirrored joint", packed(repeated, "lossless"))
    good = packed(CLIP, "lossless")
    for size in (0, 1, 2, 40, len(dict(chunks(good))[b"DATA"]) - 1):
        cut = changed(b"DATA", lambda p, size=size: p[:size], good)
        yield Case(f"lossless: cut after {size} bytes", cut, "truncated")
    yield Case("lossless: a byte too many", changed(b"DATA", lambda p: p + b"x", good), "corrupt")
    other = changed(b"DATA", lambda p: b"\7" + p[1:], good)
    yield Case("lossless: an unknown kind", other, "corrupt")
    yield from lossless_numbers()


def lossless_numbers():
    """Files of codec lossless with numbers that no clip has."""
    bare = Clip(CLIP.header, CLIP.rotations, CLIP.translations)
    good, matrix = packed(bare, "lossless"), motion_matrix(bare)
    turns = 4 * len(bare.skeleton)
    wrong = {
        "a quaternion of no length": (3, slice(4, 8), 0),
        "the first quaternion has no length": (0, slice(0, 4), 0),
        "a quaternion of length 1.01": (3, slice(4, 8), 0.505),
        "a quaternion that is not finite": (3, 5, np.inf),
        "a place that is not finite": (3, turns, np.inf),
        "a place too far away": (3, turns, 1e9),
    }
    yield Case("lossless: a matrix written by hand", lossless_file(good, matrix, MOTION), "ok")
    for name, (frame, columns, value) in wrong.items():
        bad = matrix.copy()
        bad[frame, columns] = value
        yield Case(f"lossless: {name}", lossless_file(good, bad, MOTION), "corrupt")
    printed = mocpack.read(samples.JUMP).frames(0, 20)
    good = packed(printed, "lossless")
    for value in (np.inf, 1e12):
        bad = printed.channels.copy()
        bad[3, 1] = value
        yield Case(f"lossless: a channel of {value}", lossless_file(good, bad, CHANNELS), "corrupt")


def lossless_file(good, matrix, kind):
    """Return a file of codec lossless with another matrix."""
    header = mocpack.open(good).header
    layout = motion_columns(header) if kind == MOTION else channel_columns(header.skeleton)
    out = FieldWriter()
    out.u8(kind)
    with np.errstate(invalid="ignore"):
        write_matrix(out, matrix, layout)
    return changed(b"DATA", lambda _: out.bytes(), good)


def far_away(data):
    """Return a raw file whose root is 1e9 meters away in the last frame."""
    payload = dict(chunks(data))[b"DATA"]
    stored = sum(bin(byte).count("1") for byte in payload[: -(-CLIP.skeleton.channel_count // 8)])
    at = len(payload) - 4 * stored
    bits = struct.pack("<f", 1e9)
    return changed(b"DATA", lambda p: p[:at] + bits + p[at + 4 :], data)


def new_cases():
    yield Case("a parameter that nobody knows", head(params=b'{"zeal":11}'))
    yield Case("a value that nobody knows", head(params=b'{"effort":"heroic"}'))
    yield Case("parameters by name none", needing(b"{}"))
    yield Case("a needed parameter that nobody knows", needing(b'{"zeal":11}'), "unsupported")
    yield Case("flags that nobody knows", head(flags=16 + 3), "unsupported")
    yield Case("bitstream 0", head(bitstream=0), "corrupt")
    yield Case("a newer bitstream", head(bitstream=99), "unsupported")
    yield Case("container version 0", built(chunks(FILE), version=0), "corrupt")
    yield Case("a newer container", built(chunks(FILE), version=2), "unsupported")
    yield Case("a codec that nobody has", head(codec=b"nonesuch"), "unsupported")
    yield Case("a chunk to skip", built([*chunks(FILE)[:-1], (b"note", b"x"), chunks(FILE)[-1]]))
    needed = [*chunks(FILE)[:-1], (b"GRIP", b"x"), chunks(FILE)[-1]]
    yield Case("a chunk not to skip", built(needed), "unsupported")
    for tag in (b"1234", b"[abc", b"\0abc", b"n\xffte", b"@BCD", b"{bcd"):
        other = built([*chunks(FILE)[:-1], (tag, b"x"), chunks(FILE)[-1]])
        yield Case(f"the tag {tag!r}", other, "corrupt")
    yield Case("a tag that starts with a letter", built([(b"n1-_", b"x"), *chunks(FILE)]))
    yield Case("chunks in another order", built([PLAY, *reversed(chunks(FILE))]))
    yield Case("chunks after DATA", built([*chunks(FILE), PLAY, (b"note", b"x")]))


def cut_cases():
    yield Case("no byte", b"", "truncated")
    yield Case("three bytes", FILE[:3], "truncated")
    yield Case("the first five bytes", FILE[:5], "truncated")
    for tag in (b"HEAD", b"SKEL", b"DATA"):
        yield Case(f"cut inside {tag.decode()}", FILE[: end_of(tag) - 3], "truncated")
    for tag in (b"HEAD", b"SKEL", b"DATA"):
        yield Case(f"no {tag.decode()}", without(tag), "truncated")
    yield Case("a payload cut and sealed", changed(b"DATA", lambda p: p[:-20]), "truncated")
    yield Case("a payload cut in its head", changed(b"DATA", lambda p: p[:9]), "truncated")
    yield Case("an empty payload", changed(b"DATA", lambda _: b""), "truncated")
    yield Case("a head cut and sealed", changed(b"HEAD", lambda b: b[:8]), "truncated")
    yield Case("a skeleton cut and sealed", changed(b"SKEL", lambda b: b[:40]), "truncated")


def hostile_cases():
    yield Case("another magic", b"RIFF" + FILE[4:], "format")
    yield Case("text", b"HIERARCHY\nROOT Hips\n", "format")
    for tag in (b"HEAD", b"SKEL", b"DATA"):
        yield Case(f"a bit of {tag.decode()} flipped", flipped(tag), "corrupt")
        twice = built([*chunks(FILE), (tag, dict(chunks(FILE))[tag])])
        yield Case(f"two {tag.decode()}", twice, "corrupt")
    yield Case("another kind of clip", head(kind=2), "corrupt")
    yield Case("no frames", head(frames=0), "corrupt")
    yield Case("more frames than bytes hold", head(frames=10**6), "corrupt")
    yield Case("more frames than there are numbers", head(frames=2**62), "corrupt")
    for time in (0.0, -1.0, math.nan, math.inf):
        yield Case(f"frames of {time} s", head(time=time), "corrupt")
    yield Case("parameters that are no JSON", head(params=b"effort=best"), "corrupt")
    yield Case("parameters that are a list", head(params=b"[1]"), "corrupt")
    bad = struct.pack("<f", math.nan)
    yield Case("a declared error that is no length", head(flags=1, rest=bad), "corrupt")
    yield Case("a head with bytes too many", changed(b"HEAD", lambda b: b + b"x"), "corrupt")
    yield Case("two joints of one name", skeleton(b"LeftFoot", b"LeftHand"))
    last, none = (
        b"\x03\x08\x07\x0b",
        b"\x03\x08\x07\x0c",
    )  # one layout mixes the names of BVH and ASF
    for name, codes in (("of two formats", last), ("that is none", none)):
        yield Case(f"a channel {name}", skeleton(b"\x03\x08\x07\x06", codes), "corrupt")
    yield Case(
        "channels that are none", skeleton(b"\x03\x08\x07\x06", b"\x03\x0c\x09\x0a"), "corrupt"
    )
    yield Case("a payload with bytes too many", changed(b"DATA", lambda p: p + b"x"), "corrupt")
    for field, value in ((0, 8), (1, 200)):
        # the head is coded as one stream, so that another byte makes all numbers after it others
        other = keysine_head(field, value)
        yield Case(f"keysine: byte {field} of its head is {value}", other, "corrupt")
    none = changed(b"DATA", lambda p: b"\0" + p[1:])
    yield Case("keysine: a head of no bytes", none, "corrupt")
    yield Case("keysine: a wrong checksum", changed(b"DATA", lambda p: p[:-2] + b"??"), "corrupt")
    yield Case("keysine: other frames than blocks", head(frames=2), "corrupt")


def joint_bound_cases():
    length, angle = struct.pack("<fH", 0.002, 30_000), struct.pack("<fH", 0.01, 20_000)

    def body(flags, *groups):
        return bytes([flags, len(groups)]) + b"".join(groups)

    def with_bounds(body):
        return built([*chunks(FILE)[:-1], (b"bnds", body), chunks(FILE)[-1]])

    joints = len(CLIP.skeleton)
    feet = struct.pack("<fH", 0.02, 31_000) + bytes([2, 3, 1])
    yield Case("bounds of joints", with_bounds(body(0, length, feet)))
    yield Case("bounds of joints and angles", with_bounds(body(1, length + angle)))
    yield Case("one bound of all joints", with_bounds(body(0, length)))
    for value in (0.0, -1.0, math.nan, math.inf):
        bad = struct.pack("<fH", value, 30_000)
        yield Case(f"a joint's bound of {value}", with_bounds(body(0, bad)), "corrupt")
    for value in (-1.0, math.nan, math.inf):
        bad = length + struct.pack("<fH", value, 30_000)
        yield Case(f"a joint's angle bound of {value}", with_bounds(body(1, bad)), "corrupt")
    wrong = {
        "no bounds": body(0),
        "unknown flags": body(2, length),
        "bounds without joints": body(0, length, length + b"\0"),
        "a joint that is none": body(0, length, length + bytes([1, joints])),
        "a joint twice": body(0, length, length + bytes([2, 1, 0])),
        "more joints than there are": body(0, length, length + bytes([joints + 1])),
        "more bounds than joints": bytes([0, joints + 1]) + length,
        "bytes too many": body(0, length) + b"x",
    }
    for name, bounds in wrong.items():
        yield Case(f"bounds of joints: {name}", with_bounds(bounds), "corrupt")
    for size in (0, 1, 4, 9, 13):
        cut = body(0, length, feet)[:size]
        yield Case(f"bounds of joints cut at {size}", with_bounds(cut), "truncated")


def memory_cases():
    still = packed(at_rest(20_000), "keysine:max_error=1mm,effort=fast,group_seconds=1000")
    yield Case("a small file of a long clip", still, "memory", limit=2_000_000)
    yield Case("a small file with room", still, "ok", limit=200_000_000)
    exact = packed(at_rest(20_000), "lossless")
    yield Case("a small lossless file of a long clip", exact, "memory", limit=2_000_000)
    yield Case("a small lossless file with room", exact, "ok", limit=400_000_000)
    yield Case("a short clip in little room", FILE, "ok", limit=8_000_000)


def nested(levels):
    """Return a JSON object with that many nested objects and arrays."""
    return b'{"a":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


GOOD_JSON = {
    "nothing": b"{}",
    "the largest number": b'{"a":9.999999999999999e307,"b":-9.999999999999999e+307}',
    "the largest whole number": b'{"a":%d}' % (10**308 - 1),
    "a large whole number": b'{"a":123456789012345678901234567890}',
    "the largest number with its point elsewhere": b'{"a":0.00099999999999999999E311}',
    "numbers that round to zero": b'{"a":1e-999,"b":0e999,"c":-0.0,"d":0.000e5000}',
    "a key twice": b'{"a":1,"a":2}',
    "both halves of a pair": rb'{"a":"\ud83d\ude00","\uD83D\uDE00":"\u0000\b\/"}',
    "a hundred levels": nested(100),
    "white space": b' \t\r\n{ "a" : [ ] } ',
    "UTF-8": '{"é":"日本😀"}'.encode(),
}
BAD_JSON = {
    "NaN": b'{"a":NaN}',
    "Infinity": b'{"a":[1,Infinity]}',
    "-Infinity": b'{"a":{"b":-Infinity}}',
    "1e999": b'{"a":1e999}',
    "-1e999": b'{"a":[-1E+999]}',
    "1e99999999999999999999": b'{"a":1e99999999999999999999}',
    "a number of 1e308": b'{"a":-1.0e308}',
    "a whole number of 309 digits": b'{"a":%d}' % (10**308),
    "a whole number of 5000 digits": b'{"a":' + b"7" * 5000 + b"}",
    "the first half of a pair": rb'{"a":"\ud800"}',
    "the second half of a pair": rb'{"a":"x\udc00"}',
    "two first halves": rb'{"a":"\ud800\ud800"}',
    "half a pair before a letter": rb'{"a":"\ud800\u0041"}',
    "half a pair in a key": rb'{"\udfff":1}',
    "an escape that is cut": rb'{"a":"\ud83d\ude0"}',
    "half a pair in UTF-8": b'{"a":"\xed\xa0\x80"}',
    "bytes that are not UTF-8": b'{"a":"\xff"}',
    "a letter longer than needed": b'{"a":"\xc0\x80"}',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "UTF-32": '{"a":1}'.encode("utf-32-le"),
    "a hundred and one levels": nested(101),
    "100000 levels": nested(100_000),
    "a list": b"[1]",
    "a number": b"1",
    "two objects": b"{}{}",
    "no closing bracket": b'{"a":1',
    "a leading zero": b'{"a":01}',
    "a leading point": b'{"a":.5}',
    "a trailing point": b'{"a":1.}',
    "a sign": b'{"a":+1}',
    "a comma too many": b'{"a":[1,]}',
    "a control character": b'{"a":"\n"}',
    "single quotes": b"{'a':1}",
    "a key without quotes": b"{a:1}",
}


def with_metadata(text):
    """Return the file with a text as its metadata."""
    parts = [part for part in chunks(FILE) if part[0] != b"meta"]
    return built([*parts[:-1], (b"meta", deflate(text)), parts[-1]])


def json_cases():
    for kind, texts in (("ok", GOOD_JSON), ("corrupt", BAD_JSON)):
        for name, text in texts.items():
            yield Case(f"metadata: {name}", with_metadata(text), kind)
            if len(text) < 60_000:
                yield Case(f"parameters: {name}", head(params=text), kind)
    yield Case("metadata: empty", with_metadata(b""), "corrupt")


@cache
def all_cases():
    """Return every case by its name."""
    cases = [
        *good_cases(),
        *take_cases(),
        *rest_cases(),
        *hinge_cases(),
        *raw_cases(),
        *lossless_cases(),
        *new_cases(),
        *cut_cases(),
        *hostile_cases(),
        *joint_bound_cases(),
        *memory_cases(),
        *json_cases(),
    ]
    return {case.name: case for case in cases}
