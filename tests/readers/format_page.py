"""A reader written from docs/format.md alone; `format_file` adds skeletons and payloads to it.

It shares no code with `mocpack.container`; it uses only the decoders of series (docs/series.md) of
the package.
"""

import itertools
import json
import math
import struct
import zlib
from pathlib import Path

import numpy as np

import mocpack
from decode_series import decode_series
from mocpack.codecs.lossless.series import NOISY_FORECAST, SMOOTH_FORECAST, ColumnGroup
from reference.plain_series import decode_plain_series

KINDS = ("scalar", "flag", "label", "vec3", "quaternion")
UP = ("y", "x", "z")


class Bytes:
    """The notation of the page."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def raw(self, count):
        assert self.at + count <= len(self.data)
        self.at += count
        return self.data[self.at - count : self.at]

    def rest(self):
        return self.raw(len(self.data) - self.at)

    def u8(self):
        return self.raw(1)[0]

    def number(self, kind):
        return struct.unpack("<" + kind, self.raw(struct.calcsize(kind)))[0]

    def varint(self):
        value = 0
        for shift in itertools.count(0, 7):
            byte = self.u8()
            value |= (byte & 127) << shift
            if byte < 128:
                break
        return value

    def signed(self):
        value = self.varint()
        return -(value + 1) // 2 if value % 2 else value // 2

    def sized(self):
        return self.raw(self.varint())

    def short(self):
        form = self.u8()
        if form == 255:
            return self.number("d")
        if form > 31:
            return 1 / (form - 31)
        n, power = self.signed(), 10.0 ** (form % 16)
        return n / power if form < 16 else power / n

    def numbered(self):
        """Numbers as differences, the first from 0."""
        return np.cumsum([self.varint() for _ in range(self.varint())]).tolist()


def inflated(data):
    return zlib.decompress(data, -15)


def read_chunks(data):
    """Return (tag, body) of each chunk after the first five bytes."""
    file, chunks = Bytes(data), []
    file.at = 5
    while file.at < len(data):
        tag, length, crc = file.raw(4), file.varint(), file.number("I")
        body = file.raw(length)
        assert zlib.crc32(tag + body) == crc
        chunks.append((tag.decode(), body))
    return chunks


def read_file(data):
    """Return the contents of a file of one clip, without its poses."""
    assert data[:5] == b"\x93MOC\x01"
    chunks = read_chunks(data)
    tags = [tag for tag, _ in chunks]
    assert tags[0] == "HEAD"
    assert tags[-1] == "DATA"
    order = ["HEAD", "SKEL", "REST", "HING", "SCAL", "TIME", "meta", "play", "vald", "trak", "bnds"]
    assert [order.index(tag) for tag in tags[:-1] if tag != "fill"] == sorted(
        order.index(tag) for tag in tags[:-1] if tag != "fill"
    )
    first = dict(reversed(chunks))
    found = read_head(Bytes(first["HEAD"]))
    found["joints"] = read_joint_count(first["SKEL"])
    for tag, read in READERS.items():
        found[tag] = read(Bytes(first[tag]), found) if tag in first else None
    found["tracks"] = dict(read_track(Bytes(body)) for tag, body in chunks if tag == "trak")
    return found


def read_head(read):
    kind = read.u8()
    head = {"frames": read.varint(), "frame_time": read.short(), "codec": read.sized().decode()}
    head["bitstream"] = read.varint()
    head["parameters"] = json.loads(read.sized() or b"{}")
    flags = read.u8()
    head["declared"] = read.number("f") if flags & 1 else None
    if flags & 2:
        codes = [read.number("H") for _ in range(4)]
        head["measured"] = [2 ** (code / 1024) * 1e-12 if code else 0.0 for code in codes]
    if flags & 8:
        head["angles"] = read.number("f"), read.number("H")
    if flags & 4:
        json.loads(read.sized())
    assert not read.rest()
    return head | {"kind": kind}


def read_joint_count(body):
    page = zlib.decompressobj(-15, zdict=DICTIONARY)
    return Bytes(page.decompress(body)).varint()


SEEN = set()  # forms and coders that were met


def numbers(read, rows, columns, step=None):
    if not rows:
        assert not read.rest()
        return np.zeros((0, columns))
    if step and read.at == len(read.data):
        SEEN.add("no form")
        return np.zeros((rows, columns))
    form = read.u8()
    if form >= 6:
        return brief_numbers(read, form - 6, rows, columns) * step
    SEEN.add(f"form {form}")
    if form in (0, 1):
        width = 8 if form == 0 else 4
        planes = np.frombuffer(inflated(read.rest()), np.uint8).reshape(width, columns, rows)
        bits = sum(
            plane.astype(np.uint64) << (8 * (width - 1 - k)) for k, plane in enumerate(planes)
        )
        bits = np.bitwise_xor.accumulate(bits, axis=1).T
        return np.ascontiguousarray(bits.astype(f"<u{width}")).view(f"<f{width}").astype(float)
    scale = read.u8() if form == 2 else None
    step = read.number("f") if form == 3 else step / 2 if form == 5 else step
    whole = whole_numbers(read, rows, columns).astype(float)
    return whole / 10.0**scale if form == 2 else whole * step


def brief_numbers(read, way, rows, columns):
    """Whole and half steps."""
    order, halves, depth = way % 4, way // 4 % 2, way // 8
    SEEN.add(f"brief {order}, {'half' if halves else 'whole'} steps")
    base = np.array([read.signed() for _ in range(columns)])
    if not depth and read.at == len(read.data):
        SEEN.add("brief constant")
        return np.tile(base, (rows, 1)) / (2 if halves else 1)
    depths = bytes([depth]) + read.raw(columns - 1)
    whole = base + decode_plain_series(read.rest(), rows, depths, order, -base)
    return whole / (2 if halves else 1)


def whole_numbers(read, rows, columns):
    first = np.array([read.signed() for _ in range(columns)])
    coder = read.u8()
    SEEN.add(f"coder {coder}")
    if coder == 5:
        order, depths = read.u8(), read.raw(columns)
        return first + decode_plain_series(read.rest(), rows, depths, order, -first)
    if coder == 0:
        body = read.rest()
        steps = Bytes(inflated(body)) if body else None
        count = (rows - 1) * columns
        flat = [steps.signed() for _ in range(count)] if steps else [0] * count
        others = np.cumsum(np.reshape(flat, (rows - 1, columns)).astype(np.int64), axis=0)
    else:
        sizes = [2**s for s in read.raw(columns)] if coder in (3, 4) else ()
        forecast = NOISY_FORECAST if coder in (1, 3) else SMOOTH_FORECAST
        width = 3 if columns % 3 == 0 else 4
        groups = [
            ColumnGroup(tuple(range(s, min(s + width, columns)))) for s in range(0, columns, width)
        ]
        others = decode_series(read.rest(), rows - 1, columns, groups, forecast, sizes=sizes)
    return np.concatenate([first[None], first + others])


def read_rest(read, found):
    has = bits(read.raw(-(-found["joints"] // 8)), found["joints"])
    rest = np.tile([0.0, 0, 0, 1], (found["joints"], 1))
    fields = Bytes(inflated(read.rest()))
    omitted = list(fields.raw(sum(has)))
    for joint, which in zip(np.flatnonzero(has), omitted, strict=True):
        others = [fields.signed() for _ in range(3)]
        omitted_one = (2**62 - sum(n * n for n in others)) ** 0.5 * (1 if which < 4 else -1)
        rest[joint] = np.insert(np.array(others, float), which % 4, omitted_one) / 2**31
    return rest


def read_scales(read, found):
    flags = read.u8()
    constant = np.ones((found["joints"], 3))
    if flags & 1:
        has = bits(read.raw(-(-found["joints"] // 8)), found["joints"])
        constant[has] = numbers(Bytes(read.sized()), sum(has), 3)
    every = np.tile(constant, (found["frames"], 1, 1))
    if flags & 2:
        joints = read.numbered()
        moving = numbers(read, found["frames"], 3 * len(joints))
        every[:, joints] = moving.reshape(-1, len(joints), 3)
    return every


def read_times(read, found):
    kind, start = read.u8(), read.number("d")
    if kind == 0:
        assert not read.rest()
        return start + np.arange(found["frames"]) * found["frame_time"]
    return numbers(read, found["frames"], 1)[:, 0]


def read_play(read, found):
    flags = read.u8()
    hand = "left" if flags & 8 else "right"
    return bool(flags & 1), UP[flags >> 1 & 3], hand, bool(flags & 16)


def read_gaps(read, found):
    read = Bytes(inflated(read.rest()))
    seen = np.ones((found["frames"], found["joints"]), bool)
    for joint in read.numbered():
        seen[:, joint] = flags_of(read, found["frames"])
    assert not read.rest()
    return seen


def flags_of(read, count):
    flag, changes, series = bool(read.u8()), read.varint(), []
    for _ in range(changes):
        series += [flag] * (read.varint() + 1)
        flag = not flag
    return np.array(series + [flag] * (count - len(series)), bool)


def read_track(read):
    name, first = read.sized().decode(), read.u8()
    kind, flags, count = KINDS[first % 8], first // 8, read.varint()
    track = {"kind": kind, "frame_time": read.short() if flags & 1 else None}
    track["start"] = read.short() if flags & 2 else 0.0
    track["bound"] = read.short() if flags & 8 else 0.0
    track["unit"] = read.sized().decode() if flags & 16 else ""
    track["times"] = numbers(Bytes(read.sized()), count, 1)[:, 0] if flags & 4 else None
    track["values"] = track_values(read, kind, count, track["bound"])
    return name, track


def track_values(read, kind, count, bound):
    if kind == "flag":
        return flags_of(Bytes(inflated(read.rest())), count)
    if kind == "label":
        read = Bytes(inflated(read.rest()))
        texts = [read.sized().decode() for _ in range(read.varint())]
        runs = [(read.varint(), read.varint() + 1) for _ in range(read.varint())]
        return [texts[text] for text, length in runs for _ in range(length)]
    if kind == "scalar":
        return numbers(read, count, 1, 2 * bound * (1 - 1e-6))[:, 0]
    step = 2 * min(bound, 1.0) * (1 - 1e-6) / math.sqrt(3)
    if kind == "vec3":
        return numbers(read, count, 3, step)
    form = read.u8()
    SEEN.add(f"rotations {form}")
    if form == 0:
        return numbers(read, count, 4)
    reference = [0, 0, 0, 1] if form == 2 else [read.number("h") for _ in range(4)]
    vectors = numbers(read, count, 3, step)
    turned = np.array([product(reference, turn(v)) for v in vectors])
    return turned / np.linalg.norm(turned, axis=1, keepdims=True)


def turn(vector):
    angle = np.linalg.norm(vector)
    axis = vector / angle if angle else vector
    return np.array([*(axis * math.sin(angle / 2)), math.cos(angle / 2)])


def product(a, b):
    (x, y, z, w), (p, q, r, s) = a, b
    return np.array(
        [
            w * p + x * s + y * r - z * q,
            w * q - x * r + y * s + z * p,
            w * r + x * q - y * p + z * s,
            w * s - x * p - y * q - z * r,
        ]
    )


def bits(data, count):
    return [bool(data[j // 8] >> j % 8 & 1) for j in range(count)]


def read_joint_bounds(read, found):
    """The bound of each joint in meters, then that of its angle in radians, 0 for none."""
    angles, groups = read.u8(), read.varint()
    bounds = [None] * found["joints"]
    for group in range(groups):
        own = [read.number("f"), read.number("H")] + [0.0, 0] * (not angles)
        own += [read.number("f"), read.number("H")] if angles else []
        joints, at = range(found["joints"]), 0
        if group:
            joints = []
            for _ in range(read.varint()):
                at += read.varint()
                joints.append(at)
        for joint in joints:
            bounds[joint] = own[0], own[2]
    assert not read.rest()
    return bounds


READERS = {
    "bnds": read_joint_bounds,
    "REST": read_rest,
    "SCAL": read_scales,
    "TIME": read_times,
    "play": read_play,
    "vald": read_gaps,
}


def dictionary_of_the_page():
    page = (Path(__file__).parents[2] / "docs/format.md").read_text(encoding="utf-8")
    digits = page.split("</summary>")[1].split("```")[1]
    return bytes.fromhex("".join(digits.split()))


DICTIONARY = dictionary_of_the_page()


def check(clip, data):
    """Compare the results of the page's reader and of mocpack."""
    back, found = mocpack.decode(data), read_file(data)
    assert found["frames"] == back.frame_count
    assert found["joints"] == len(back.skeleton)
    assert found["frame_time"] == back.frame_time
    assert (found["REST"] is not None) == clip.skeleton.has_rest
    if found["REST"] is not None:
        np.testing.assert_array_equal(found["REST"], back.skeleton.rest)
    if found["SCAL"] is not None:
        np.testing.assert_array_equal(found["SCAL"], back.scales)
    if found["TIME"] is not None:
        np.testing.assert_allclose(found["TIME"], back.times, rtol=0, atol=1e-12)
    if found["play"] is not None:
        header = back.header
        said = (header.loop, header.up, header.handedness, header.interpolated)
        assert found["play"] == said
    assert (found["vald"] is not None) == (clip.take_data.valid is not None)
    if found["vald"] is not None:
        np.testing.assert_array_equal(found["vald"], back.valid)
    assert list(found["tracks"]) == list(back.tracks)
    for name, track in back.tracks.items():
        read = found["tracks"][name]
        for field in ("kind", "frame_time", "start", "bound", "unit"):
            expected = getattr(track, field)
            if field == "start" and track.times is not None:
                expected = read["start"]  # the times say it
            assert read[field] == expected
        if track.times is not None:
            np.testing.assert_array_equal(read["times"], track.times)
        if track.kind in ("flag", "label"):
            assert list(read["values"]) == list(track.values)
        else:
            np.testing.assert_allclose(read["values"], track.values, rtol=0, atol=1e-12)
