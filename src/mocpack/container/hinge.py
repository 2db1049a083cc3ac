"""The HING chunk: which joints turn about fixed axes or slide along them, and how far."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mocpack.arrays import F64, Mask
from mocpack.coding.fields import FieldReader, FieldWriter, deflate, inflate
from mocpack.container.numbers import pack_numbers, unpack_numbers
from mocpack.errors import CorruptionError
from mocpack.hinges import MAX_HINGES, MAX_NAME, Hinges
from mocpack.skeleton import Skeleton, channel_hinges

ROWS, CHANNELS = 0, 1  # what the rows are: told one by one, or those of the channels
MAX_INFLATED = 1 << 24
AXES = np.concatenate([np.eye(3), -np.eye(3)])
OTHER_AXIS = len(AXES)
SLIDES, HAS_LOWEST, HAS_HIGHEST = 8, 16, 32


def pack_hinges(skeleton: Skeleton) -> bytes:
    """Return the chunk of a skeleton that has hinges."""
    hinges = skeleton.hinges
    assert hinges is not None
    plain = replace(hinges, limits=np.zeros((0, 2)))
    out = FieldWriter()
    if plain == channel_hinges(skeleton):
        out.u8(CHANNELS)
        out.mask(np.isfinite(hinges.limits).ravel())
        out.raw(_limits(hinges))
        return out.bytes()
    out.u8(ROWS)
    out.raw(deflate(_rows(hinges), dictionary=_dictionary(skeleton)))
    return out.bytes()


def unpack_hinges(body: bytes, skeleton: Skeleton) -> Hinges:
    """Return the hinges; whether they fit the skeleton is for it to say."""
    read = FieldReader(body, "HING chunk")
    kind = read.u8()
    if kind == CHANNELS:
        hinges = channel_hinges(skeleton)
        if hinges is None:
            raise CorruptionError("HING chunk: hinges of channels, but no joint has one or two")
        limited = read.mask(2 * len(hinges)).reshape(-1, 2)
        return replace(hinges, limits=_unpack_limits(read, limited))
    if kind != ROWS:
        raise CorruptionError(f"HING chunk: unknown kind {kind}")
    rows = inflate(read.rest(), MAX_INFLATED, dictionary=_dictionary(skeleton), what="HING chunk")
    return _unpack_rows(FieldReader(rows, "HING chunk"), len(skeleton))


def _rows(hinges: Hinges) -> bytes:
    out = FieldWriter()
    out.varint(len(hinges))
    for before, joint in zip((-1, *hinges.joints), hinges.joints, strict=False):
        out.signed(joint - before - 1)
    known = (hinges.axes[:, np.newaxis] == AXES).all(axis=2)
    axes = np.where(known.any(axis=1), known.argmax(axis=1), OTHER_AXIS)
    lowest, highest = np.isfinite(hinges.limits).T
    kinds = axes + SLIDES * hinges.slides + HAS_LOWEST * lowest + HAS_HIGHEST * highest
    out.raw(kinds.astype(np.uint8).tobytes())
    for name in hinges.names:
        out.sized(name.encode())
    others = np.ascontiguousarray(hinges.axes[axes == OTHER_AXIS])
    out.sized(pack_numbers(others, simple=True))
    out.raw(_limits(hinges))
    return out.bytes()


def _unpack_rows(read: FieldReader, joint_count: int) -> Hinges:
    joints, joint, count = [], -1, read.varint(MAX_HINGES)
    if not count:
        raise CorruptionError("HING chunk: no hinges")
    for _ in range(count):
        joint += read.signed() + 1
        if not 0 <= joint < joint_count:
            raise CorruptionError(f"HING chunk: joint {joint} of {joint_count}")
        joints.append(joint)
    kinds = np.frombuffer(read.raw(len(joints)), np.uint8)
    if (kinds >= 2 * HAS_HIGHEST).any() or (kinds % SLIDES > OTHER_AXIS).any():
        raise CorruptionError(f"HING chunk: unknown kind of hinge {int(kinds.max())}")
    try:
        names = tuple(read.sized(MAX_NAME).decode() for _ in joints)
    except UnicodeDecodeError as error:
        raise CorruptionError(f"HING chunk: a name is not UTF-8: {error}") from error
    axes = np.concatenate([AXES, np.zeros((1, 3))])[kinds % SLIDES]
    other = kinds % SLIDES == OTHER_AXIS
    numbers = FieldReader(read.sized(), "HING chunk")
    axes[other] = unpack_numbers(numbers, int(other.sum()), 3, simple=True)
    limited = np.stack([(kinds & HAS_LOWEST) > 0, (kinds & HAS_HIGHEST) > 0], axis=1)
    limits = _unpack_limits(read, limited)
    return Hinges(tuple(joints), axes, limits, (kinds & SLIDES) > 0, names)


def _limits(hinges: Hinges) -> bytes:
    finite = np.isfinite(hinges.limits)
    return pack_numbers(np.ascontiguousarray(hinges.limits[finite][:, np.newaxis]), simple=True)


def _unpack_limits(read: FieldReader, limited: Mask) -> F64:
    """Return the limits (H, 2), infinite where there are none."""
    limits = np.tile([-np.inf, np.inf], (len(limited), 1))
    limits[limited] = unpack_numbers(read, int(limited.sum()), 1, simple=True)[:, 0]
    return limits


def _dictionary(skeleton: Skeleton) -> bytes:
    """Names of hinges are mostly those of joints, with another ending."""
    return "\0".join(skeleton.names).encode() or b"\0"
