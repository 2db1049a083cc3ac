"""Seeded mutations of good files and archives, most of them with right checksums."""

import io
import zlib
from dataclasses import replace
from functools import cache

import numpy as np
from reader_cases import GOLDEN, built, chunks

import mocpack
from keysine_payload import checksum
from mocpack.coding.fields import FieldReader, FieldWriter, deflate, inflate
from mocpack.container import ArchiveWriter, to_stored_clip
from mocpack.container.skel import DICTIONARY
from mocpack.errors import FormatError
from mocpack.testing import walk
from mocpack.testing.motions import vertex_wave
from takes import markers, take

FEATURES = (
    *("rest", "roots", "names", "tracks", "valid", "times", "space", "hinges"),
    *("scale", "scales"),
)
METADATA = {"a": [1, 2.5e3, None, {"é": "\U0001f600"}]}
FOOTER_BYTES = 24
ARCHIVE_HEAD = 5


@cache
def common_files():
    """Files that every reader decodes, by name."""
    short = walk(0.2)
    clip = take(["rest", "space"], frames=8)
    files = {
        "walk": mocpack.encode(short, "keysine:max_error=1mm,effort=fast"),
        "layers": mocpack.encode(short, "keysine:max_error=1mm,effort=fast,layers=3"),
        "grid": mocpack.encode(take(["hinges"], frames=8), "keysine:max_error=0.2mm,mode=grid"),
        "markers": mocpack.encode(markers(), "keysine:max_error=5mm,effort=fast"),
        "angles": mocpack.encode(
            take(["hinges", "rest"], frames=8), max_error="5mm", max_angle="1deg"
        ),
        "metadata": mocpack.encode(
            replace(clip, header=replace(clip.header, metadata=METADATA)),
            "keysine:max_error=5mm,effort=fast",
        ),
    }
    for feature in FEATURES:
        clip = take([feature], frames=8)
        files[feature] = mocpack.encode(clip, "keysine:max_error=5mm,effort=fast")
    for feature in ("roots", "hinges"):
        files[f"raw-{feature}"] = mocpack.encode(take([feature], frames=8), "raw")
    names = ("raw/v1", "scene", "lossless/v1")
    golden = {name: (GOLDEN / name / "file.mocp").read_bytes() for name in names}
    return files | golden


@cache
def other_files():
    """Files that only Python decodes: other codecs, a vertex animation."""
    names = ("wavelet/v1",)
    files = {name: (GOLDEN / name / "file.mocp").read_bytes() for name in names}
    return files | {"vertices": mocpack.encode(vertex_wave(), "raw")}


@cache
def archives():
    """Archives of a few clips, with and without fronts."""
    files = [(name, data) for name, data in common_files().items() if name != "scene"]
    found = {}
    for name, front in (("plain", 0), ("fronts", 60)):
        stream = io.BytesIO()
        writer = ArchiveWriter(stream)
        for clip, data in (*files[:3], *files[-2:]):
            writer.add(to_stored_clip(clip, data, front))
        writer.end()
        found[name] = stream.getvalue()
    return found


def mutate_bytes(rng, data):
    """Return bytes with a few of them changed, removed, repeated or added."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(out) + 1))
        way = int(rng.integers(8))
        if way < 4 and at < len(out):
            out[at] = int(rng.integers(256))
        elif way == 4 and at < len(out):
            out[at] ^= 1 << int(rng.integers(8))
        elif way == 5:
            del out[at : at + int(rng.integers(1, 9))]
        elif way == 6:
            out[at:at] = out[at : at + int(rng.integers(1, 9))] or b"\0"
        elif rng.integers(2):
            del out[at:]
        else:
            out += rng.bytes(int(rng.integers(1, 5)))
    return bytes(out)


def mutate_inflated(rng, tag, body):
    """Return a body with the bytes inside its deflate stream changed; None where it has none."""
    dictionary = DICTIONARY if tag == b"SKEL" else b""
    start = 1 if tag == b"HING" else 0
    try:
        plain = inflate(body[start:], 1 << 24, dictionary=dictionary)
    except FormatError:
        return None
    return body[:start] + deflate(mutate_bytes(rng, plain), dictionary=dictionary)


def mutate_payload_head(rng, payload):
    """Return a keysine payload with its head changed, and the head's checksum right."""
    read = FieldReader(payload, "payload")
    size = read.varint()
    if size > len(payload) or size < read.at + 3:
        return None
    own = bytearray(payload[:size])
    for _ in range(int(rng.integers(1, 4))):
        own[int(rng.integers(read.at, size - 2))] = int(rng.integers(256))
    own[-2:] = checksum(bytes(own[:-2]))
    return bytes(own) + payload[size:]


def mutate_body(rng, tag, body):
    way = int(rng.integers(4))
    changed = None
    if tag == b"DATA" and way < 2 and len(body) > 8:
        changed = mutate_payload_head(rng, body)
    elif tag in (b"SKEL", b"meta", b"vald", b"HING") and way < 3:
        changed = mutate_inflated(rng, tag, body)
    return mutate_bytes(rng, body) if changed is None else changed


def mutate_order(rng, parts, others):
    """Return chunks with one left out, repeated, renamed, moved, or one of another file put in."""
    at, way = int(rng.integers(len(parts))), int(rng.integers(5))
    tag, body = parts[at]
    if way == 0:
        return [*parts[:at], *parts[at + 1 :]]
    if way == 1:
        return [*parts[: at + 1], *parts[at:]]
    if way == 2:
        renamed = bytearray(tag)
        renamed[int(rng.integers(4))] = int(rng.integers(32, 127))
        return [*parts[:at], (bytes(renamed), body), *parts[at + 1 :]]
    if way == 3:
        rest = [*parts[:at], *parts[at + 1 :]]
        to = int(rng.integers(len(rest) + 1))
        return [*rest[:to], parts[at], *rest[to:]]
    foreign = chunks(others[int(rng.integers(len(others)))])
    return [*parts[:at], foreign[int(rng.integers(len(foreign)))], *parts[at:]]


def mutate_file(rng, data, others):
    """Return a mutated .mocp file; one in eight keeps its old checksums."""
    way = int(rng.integers(8))
    if way == 0:
        return mutate_bytes(rng, data)
    parts = chunks(data)
    if way == 1:
        return built(mutate_order(rng, parts, others))
    at = int(rng.integers(len(parts)))
    tag, body = parts[at]
    return built([*parts[:at], (tag, mutate_body(rng, tag, body)), *parts[at + 1 :]])


def mutate_archive(rng, data):
    """Return a mutated .mocps archive; most have a right footer and right checksums."""
    way = int(rng.integers(8))
    if way == 0:
        return mutate_bytes(rng, data)
    start = int.from_bytes(data[-FOOTER_BYTES:][:8], "little")
    front, trailer = data[:start], chunks(bytes(5) + data[start:-FOOTER_BYTES])
    if way == 1:
        return with_footer(rng, data[:-FOOTER_BYTES], start, change=True)
    if way == 2:
        at = int(rng.integers(ARCHIVE_HEAD, start))
        changed = bytearray(front)
        changed[at] = int(rng.integers(256))
        front = bytes(changed)
    elif way == 3:
        trailer = mutate_order(rng, trailer, [bytes(5) + data[start:-FOOTER_BYTES]])
    else:
        tag, body = trailer[-1]
        changed = mutate_inflated(rng, tag, body) if way > 4 else mutate_bytes(rng, body)
        trailer = [*trailer[:-1], (tag, changed)]
    return with_footer(rng, front + built(trailer)[5:], start)


def with_footer(rng, data, start, change=False):
    """Return an archive with a footer whose checksum is right."""
    said = bytearray(
        start.to_bytes(8, "little") + (len(data) + FOOTER_BYTES).to_bytes(8, "little") + b"\1"
    )
    if change:
        said[int(rng.integers(17))] = int(rng.integers(256))
    out = FieldWriter()
    out.raw(data + bytes(said))
    out.raw(zlib.crc32(bytes(said)).to_bytes(4, "little") + b"SOM")
    return out.bytes()


def mutated_files(seed, count, files):
    """Return (name, data) of that many mutated files.

    Chunks come from other kinds of files, too.
    """
    rng = np.random.default_rng(seed)
    named = list(files.items())
    pool = [*common_files().values(), *other_files().values()]
    found = []
    for n in range(count):
        name, data = named[n % len(named)]
        found.append((f"{name}-{n}", mutate_file(rng, data, pool)))
    return found


def mutated_archives(seed, count):
    rng = np.random.default_rng(seed)
    named = list(archives().items())
    return [
        (f"{name}-{n}", mutate_archive(rng, data))
        for n in range(count)
        for name, data in [named[n % len(named)]]
    ]
