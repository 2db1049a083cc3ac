"""Read files, scenes and archives with docs/format.md and the codec pages alone.

`decode_file` returns the arrays of a golden file. It uses data types, quaternion products and the
decoders of series and planes of the package; `reference` decodes payloads.
"""

import json
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
from format_page import DICTIONARY, Bytes, inflated, numbers, read_chunks, read_file, read_head

from mocpack.model import rotations
from mocpack.model.clip import ClipHeader
from mocpack.model.hinges import Hinges
from mocpack.model.skeleton import Skeleton
from mocpack.model.vertex_clip import VertexHeader
from reference import keysine, lossless
from reference.hinge_angles import hinge_angles
from reference.keysine_integers import decode_integers
from reference.raw import read_channels

CHANNELS = ("Xposition", "Yposition", "Zposition", "tx", "ty", "tz")
CHANNELS += ("Xrotation", "Yrotation", "Zrotation", "rx", "ry", "rz")
UNITS = (1.0, 0.01, 0.001, 0.0254, 0.0254 / 0.45)
AXES = np.concatenate([np.eye(3), -np.eye(3)])
COLUMNS = 9  # of the index of an archive
FILE, COPY = 0, 1  # kinds of clips in an archive


def inflate_with(dictionary, body):
    page = zlib.decompressobj(-15, zdict=dictionary)
    return page.decompress(body)


def read_skeleton(body):
    """Return the skeleton of a SKEL chunk, its translated joints and the unit of its source."""
    read = Bytes(inflate_with(DICTIONARY, body))
    count = read.varint()
    names = [read.sized().decode() for _ in range(count)]
    parents = [-1] + [j - read.varint() for j in range(count - 1)]
    layouts = [tuple(CHANNELS[c] for c in read.sized()) for _ in range(read.varint())]
    channels = [layouts[read.varint()] for _ in range(count)]
    translated, ends = read.numbered(), read.numbered()
    code = read.u8()
    unit = read.number("d") if code == 255 else UNITS[code]
    points = read_points(read, 3 * (count + len(ends)), unit).reshape(-1, 3)
    axes = read_axes(read, count)
    assert not read.rest()
    skeleton = Skeleton(
        tuple(names), tuple(parents), points[:count], points[count:], tuple(ends), tuple(channels)
    )
    return replace(skeleton, axes=axes), tuple(translated), unit


def read_points(read, count, unit):
    digits = read.u8()
    if digits == 255:
        return np.array([read.number("d") for _ in range(count)])
    return np.array([read.signed() / 10.0**digits * unit for _ in range(count)])


def read_axes(read, count):
    kind = read.u8()
    if kind == 0:
        return np.zeros((0, 4))
    if kind == 1:
        return np.array([read.number("d") for _ in range(4 * count)]).reshape(-1, 4)
    power = 10.0 ** read.u8()
    angles = np.radians([read.signed() / power for _ in range(3 * count)]).reshape(-1, 3)
    return product(*(about(axis, angles[:, k]) for k, axis in enumerate((2, 1, 0))))


def about(axis, angles):
    """Return rotations (…, 4) about x, y or z."""
    turns = np.zeros((*np.shape(angles), 4))
    turns[..., axis], turns[..., 3] = np.sin(angles / 2), np.cos(angles / 2)
    return turns


def product(first, *others):
    for other in others:
        first = rotations.multiply(first, other)
    return first


def rotation_channels(skeleton, joint):
    """Return (axis, name) of the rotation channels of a joint, outermost first."""
    names = [name for name in skeleton.channels[joint] if name[0] == "r" or "rotation" in name]
    found = [("XYZ".index(name[1 if name[0] == "r" else 0].upper()), name) for name in names]
    return found[::-1] if names and names[0][0] == "r" else found


def read_hinges(body, skeleton):
    if body[0] == 1:
        return channel_hinges(Bytes(body[1:]), skeleton)
    read = Bytes(inflate_with("\0".join(skeleton.names).encode() or b"\0", body[1:]))
    count, joints = read.varint(), [-1]
    for _ in range(count):
        joints.append(joints[-1] + 1 + read.signed())
    kinds = np.frombuffer(read.raw(count), np.uint8)
    names = tuple(read.sized().decode() for _ in range(count))
    other = kinds & 7 == 6
    axes = np.zeros((count, 3))
    axes[other] = numbers(Bytes(read.sized()), int(other.sum()), 3)
    axes[~other] = AXES[kinds[~other] & 7]
    limits = read_limits(read, np.stack([kinds & 16, kinds & 32], axis=1) > 0)
    return Hinges(tuple(joints[1:]), axes, limits, kinds & 8 > 0, names)


def channel_hinges(read, skeleton):
    rows = [(joint, rotation_channels(skeleton, joint)) for joint in range(len(skeleton))]
    rows = [(joint, *row) for joint, found in rows if 1 <= len(found) <= 2 for row in found]
    joints = [joint for joint, _, _ in rows]
    axes = rotations.rotate(skeleton.axes[joints], np.eye(3)[[axis for _, axis, _ in rows]])
    names = tuple(f"{skeleton.names[joint]}.{name}" for joint, _, name in rows)
    bits = np.unpackbits(
        np.frombuffer(read.raw(-(-2 * len(rows) // 8)), np.uint8), bitorder="little"
    )
    limits = read_limits(read, bits[: 2 * len(rows)].reshape(-1, 2) > 0)
    return Hinges(tuple(joints), axes, limits, np.zeros(len(rows), bool), names)


def read_limits(read, has):
    limits = np.tile([-np.inf, np.inf], (len(has), 1))
    limits[has] = numbers(read, int(has.sum()), 1)[:, 0]
    return limits


def codec_skeleton(skeleton, exponents):
    """Return the skeleton that codecs see: one root, lengths near world size."""
    shift = sum(parent < 0 for parent in skeleton.parents) > 1
    scale = 2.0 ** np.array([exponents[p] if p >= 0 else 0 for p in skeleton.parents])[:, None]
    ends = 2.0 ** exponents[list(skeleton.end_site_joints)][:, None] * skeleton.end_sites
    offsets = skeleton.offsets * scale
    if not shift:
        return replace(skeleton, offsets=offsets, end_sites=ends, scales=np.zeros((0, 3))), 0
    hinges = skeleton.hinges
    return Skeleton(
        ("", *skeleton.names),
        (-1, *(parent + 1 for parent in skeleton.parents)),
        np.concatenate([np.zeros((1, 3)), offsets]),
        ends,
        tuple(joint + 1 for joint in skeleton.end_site_joints),
        ((), *skeleton.channels),
        np.concatenate([[[0, 0, 0, 1]], skeleton.axes]),
        np.concatenate([[[0, 0, 0, 1]], skeleton.rest]),
        hinges=hinges and replace(hinges, joints=tuple(joint + 1 for joint in hinges.joints)),
    ), 1


def scale_exponents(skeleton):
    sizes = np.abs(skeleton.scales)
    logs = np.log2(np.where(sizes, sizes, 1)).mean(axis=1)
    for joint, parent in enumerate(skeleton.parents):
        logs[joint] += logs[parent] if parent >= 0 else 0
    return np.clip(np.rint(logs), -40, 40)


def channel_poses(channels, skeleton, translated):
    """Return rotations and translations of channels (T, C) in radians and meters."""
    local = np.tile([0.0, 0, 0, 1], (len(channels), len(skeleton), 1))
    places = np.tile(skeleton.offsets, (len(channels), 1, 1))
    at = 0
    for joint, names in enumerate(skeleton.channels):
        own = dict(zip(names, channels[:, at : at + len(names)].T.astype(float), strict=True))
        at += len(names)
        turns = [about(axis, own[name]) for axis, name in rotation_channels(skeleton, joint)]
        frame = skeleton.axes[joint]
        if turns:
            local[:, joint] = product(frame, *turns, rotations.conjugate(frame))
        for axis, letter in enumerate("XYZ"):
            if f"{letter}position" in own:
                places[:, joint, axis] = own[f"{letter}position"]
        added = [own.get(f"t{letter}", np.zeros(len(channels))) for letter in "xyz"]
        places[:, joint] += rotations.rotate(frame, np.stack(added, axis=1))
    return local, places[:, list(translated)]


def decode_payload(codec, payload, header):
    """Return rotations and translations of the codec's skeleton, and the exact arrays."""
    skeleton = header.skeleton
    if codec == "keysine":
        clip = keysine.decode(payload, header)
        integers = decode_integers(payload, header)
        return clip.rotations, clip.translations, {f"integers.{n}": a for n, a in integers.items()}
    if codec == "raw":
        channels = read_channels(payload, header.frame_count, skeleton.channel_count)
        return *channel_poses(channels, skeleton, header.translated_joints), {"channels": channels}
    clip = lossless.decode(payload, header)
    exact = {} if clip.channels is None else {"channels": clip.channels}
    if payload[0] != 1:
        return clip.rotations, clip.translations, exact
    units = np.where(skeleton.columns.is_angle, np.pi / 180, header.unit)
    return *channel_poses(clip.channels * units, skeleton, header.translated_joints), exact


def decode_file(data):
    """Return the arrays of a file of one clip, as a golden file names them."""
    chunks = dict(reversed(read_chunks(data)))
    if "MESH" in chunks:
        return decode_mesh(chunks)
    head = read_file(data)
    assert head["kind"] == 0
    skeleton, translated, unit = read_skeleton(chunks["SKEL"])
    if head["REST"] is not None:
        skeleton = replace(skeleton, rest=head["REST"])
    if "HING" in chunks:
        skeleton = replace(skeleton, hinges=read_hinges(chunks["HING"], skeleton))
    constant = constant_scales(chunks, len(skeleton))
    exponents = scale_exponents(replace(skeleton, scales=constant))
    own, shift = codec_skeleton(skeleton, exponents)
    moving = tuple(joint + shift for joint in translated)
    header = ClipHeader(own, head["frames"], head["frame_time"], moving, unit)
    local, places, found = decode_payload(head["codec"], chunks["DATA"], header)
    if shift:
        local, places = remove_origin(local, places, skeleton, translated)
    parents = [skeleton.parents[joint] for joint in translated]
    places = places * 2.0 ** -np.array([exponents[p] if p >= 0 else 0 for p in parents])[:, None]
    scales = np.tile(constant, (len(local), 1, 1)) if head["SCAL"] is None else head["SCAL"]
    found |= {"rotations": local, "translations": places}
    found |= skeleton_arrays(skeleton, translated) | take_arrays(head, chunks)
    if (constant != 1).any():
        found["skeleton_scales"] = constant
    if skeleton.hinges:
        hinges = skeleton.hinges
        rest = skeleton.rest
        found["angles"] = hinge_angles(
            hinges, rest, skeleton.offsets, local, places, translated
        ).angles
    found["points"] = world_points(skeleton, local, places, translated, scales)
    if head["bnds"] is not None:
        found["joint_errors"] = np.array(head["bnds"])
    if head["declared"] is not None:
        found["declared_error"] = np.array(head["declared"])
    return found


def decode_mesh(chunks):
    head = read_head(Bytes(chunks["HEAD"]))
    assert head["kind"] == 1
    mesh = Bytes(chunks["MESH"])
    vertices, triangles = mesh.varint(), mesh.varint()
    steps = np.frombuffer(inflated(mesh.rest()), "<i4")
    corners = np.cumsum(steps).reshape(triangles, 3)
    if head["codec"] == "raw":
        found = np.frombuffer(chunks["DATA"], "<f4").reshape(head["frames"], vertices, 3)
    else:
        header = VertexHeader(vertices, corners, head["frames"])
        found = lossless.decode(chunks["DATA"], header).vertices
    return {"triangles": corners, "vertices": found}


def remove_origin(local, places, skeleton, translated):
    origin, local, places = local[:, 0], local[:, 1:].copy(), places.copy()
    for joint, parent in enumerate(skeleton.parents):
        if parent < 0:
            local[:, joint] = rotations.multiply(origin, local[:, joint])
            if joint in translated:
                at = translated.index(joint)
                places[:, at] = rotations.rotate(origin, places[:, at])
    return local, places


def constant_scales(chunks, joints):
    scales = np.ones((joints, 3))
    if "SCAL" in chunks:
        read = Bytes(chunks["SCAL"])
        if read.u8() & 1:
            bits = np.frombuffer(read.raw(-(-joints // 8)), np.uint8)
            has = np.unpackbits(bits, bitorder="little")[:joints] > 0
            scales[has] = numbers(Bytes(read.sized()), int(has.sum()), 3)
    return scales


def skeleton_arrays(skeleton, translated):
    found = {
        "names": np.array(skeleton.names),
        "parents": np.array(skeleton.parents),
        "offsets": skeleton.offsets,
        "end_joints": np.array(skeleton.end_site_joints, int),
        "end_offsets": skeleton.end_sites,
        "translated_joints": np.array(translated),
    }
    hinges = skeleton.hinges
    if hinges:
        found |= {f"hinge_{name}": getattr(hinges, name) for name in ("axes", "limits", "slides")}
        found |= {"hinge_joints": np.array(hinges.joints), "hinge_names": np.array(hinges.names)}
    return found


def take_arrays(head, chunks):
    found = {f"track{i}": track["values"] for i, track in enumerate(head["tracks"].values())}
    if "SCAL" in chunks and chunks["SCAL"][0] & 2:
        found["scales"] = head["SCAL"]
    if "TIME" in chunks and chunks["TIME"][0] == 1:
        found["times"] = head["TIME"]
    for name, tag in (("skeleton_rest", "REST"), ("valid", "vald")):
        if head[tag] is not None:
            found[name] = head[tag]
    if "meta" in chunks:
        text = json.dumps(json.loads(inflated(chunks["meta"])), sort_keys=True)
        found["metadata"] = np.array(text)
    return found


def world_points(skeleton, local, places, translated, scales):
    """Return the positions (T, J + E, 3) of joints and end sites."""
    frames = len(local)
    at, matrices = np.zeros((frames, len(skeleton), 3)), np.zeros((frames, len(skeleton), 3, 3))
    for joint, parent in enumerate(skeleton.parents):
        way = places[:, translated.index(joint)] if joint in translated else skeleton.offsets[joint]
        way = np.broadcast_to(way, (frames, 3))
        turn = np.stack([rotations.rotate(local[:, joint], np.eye(3)[k]) for k in range(3)], axis=2)
        turn = turn * scales[:, joint, np.newaxis]
        if parent < 0:
            at[:, joint], matrices[:, joint] = way, turn
        else:
            at[:, joint] = at[:, parent] + (matrices[:, parent] @ way[..., None])[..., 0]
            matrices[:, joint] = matrices[:, parent] @ turn
    joints = list(skeleton.end_site_joints)
    ends = at[:, joints] + (matrices[:, joints] @ skeleton.end_sites[..., None])[..., 0]
    return np.concatenate([at, ends], axis=1)


def read_scene(data):
    """Return the files of a scene by name."""
    assert data[:5] == b"\x93MOC\x01"
    chunks = read_chunks(data)
    assert {tag for tag, _ in chunks} == {"CLIP"}
    clips = [Bytes(body) for _, body in chunks]
    return {clip.sized().decode(): clip.rest() for clip in clips}


def read_archive(path):
    """Return the files of an archive by name, found by its index."""
    data = path.read_bytes()
    assert data[:5] == b"\x93MOS\x01"
    start, size, version, crc = struct.unpack("<QQBI", data[-24:-3])
    assert (size, version, crc) == (len(data), 1, zlib.crc32(data[-24:-7]))
    assert data[-3:] == b"SOM"
    tag, body = read_chunks(bytes(5) + data[start:-24])[-1]
    assert tag == "INDX"
    read = Bytes(inflated(body))
    shards = [(read.sized().decode(), read.varint()) for _ in range(read.varint())]
    bases = [b"", *(read.sized() for _ in range(read.varint()))]
    names = [read.sized().decode() for _ in range(read.varint())]
    planes = np.frombuffer(read.raw(8 * COLUMNS * len(names)), np.uint8)
    columns = planes.reshape(COLUMNS, 8, len(names)).transpose(0, 2, 1).copy().view("<u8")[..., 0]
    files = [data, *(Path(path).with_name(name).read_bytes() for name, _ in shards)]
    assert [len(file) for file in files[1:]] == [length for _, length in shards]
    found, end = {}, 0
    for name, row in zip(names, columns.T.tolist(), strict=True):
        base, file, offset, length, at, front, _, _, kind = row
        assert kind in (FILE, COPY)
        offset = end + (offset >> 1 if offset % 2 == 0 else -(offset + 1 >> 1))
        end = offset + length
        stored = files[file][offset:end]
        assert stored[:front] == read.raw(front)
        found[name] = stored[:at] + bases[base] + stored[at:]
    assert not read.rest()
    return found


def scan_archive(data):
    """Return the files of an archive by name, found by its chunks alone."""
    start = struct.unpack("<Q", data[-24:-16])[0]
    bases, found = {}, {}
    for tag, body in read_chunks(data[:start]):
        read = Bytes(body)
        if tag == "BASE":
            identifier = read.raw(4)
            bases[identifier] = read.rest()
            continue
        assert tag == "CLIP"
        name, kind = read.sized().decode(), read.varint()
        if kind == COPY:
            found[name] = found[read.sized().decode()]
            continue
        assert kind == FILE
        shared = b"".join([bases[read.raw(4)] for _ in range(read.varint())])
        at, stored = read.varint(), read.rest()
        found[name] = stored[:at] + shared + stored[at:]
    return found
