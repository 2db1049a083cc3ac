"""Serialize frames for motions that the page cannot decode itself.

Little-endian, one block for a run of frames:

=========== =============== ====================================================
bytes       type            what
=========== =============== ====================================================
4           ASCII           ``MOCF``
1           u8              version, 1
1           u8              bytes per rotation value, 8 or 4
2           u16             1 if scales follow, else 0
4 × 4       u32             first frame, frames T, joints J, translated joints M
T·J·4·(8|4) f64 or f32      local rotations (x, y, z, w), frame by frame
T·M·3·8     f64             translations in meters, frame by frame
T·J·3·8     f64             scales of all joints, frame by frame, if any joint is scaled
=========== =============== ====================================================

Every array starts at a multiple of eight bytes, so that a browser can view it without a copy.
"""

from __future__ import annotations

import struct

import numpy as np

from mocpack.model.clip import Clip

MAGIC = b"MOCF"
VERSION = 1


def frames_to_bytes(clip: Clip, start: int, stop: int, *, single: bool = False) -> bytes:
    """Return frames `start` to `stop` of a clip as one block; `single` rounds rotations to f32."""
    width = 4 if single else 8
    joints, moving = len(clip.skeleton), len(clip.translated_joints)
    scaled, count = clip.header.is_scaled, stop - start
    head = struct.pack("<4sBBHIIII", MAGIC, VERSION, width, scaled, start, count, joints, moving)
    rotations = clip.rotations[start:stop].astype(f"<f{width}")
    translations = clip.translations[start:stop].astype("<f8")
    scales = clip.frames(start, stop).scales.astype("<f8").tobytes() if scaled else b""
    return head + rotations.tobytes() + np.ascontiguousarray(translations).tobytes() + scales
