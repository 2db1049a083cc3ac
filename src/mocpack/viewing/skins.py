"""Serialize meshes, which the page deforms by the joints of any version of the clip.

Little-endian, one block:

======= ====== ======================================================================
bytes   type   what
======= ====== ======================================================================
4       ASCII  ``MOCS``
4       u32    version, 1
3 × 4   u32    vertices V, triangles F, binds B
V·3·4   f32    vertices in the mesh's own space
F·3·4   u32    corners of triangles
V·4·4   f32    skin weights
B·4     u32    joint of each bind
B·12·4  f32    its matrix, row by row: from mesh space to joint space, in meters
V·4·2   u16    binds of each vertex
======= ====== ======================================================================
"""

from __future__ import annotations

import struct

from mocpack.io.gltf_skin import Skin

MAGIC = b"MOCS"
VERSION = 1


def skin_to_bytes(skin: Skin) -> bytes:
    """Return a skin as bytes."""
    counts = len(skin.vertices), len(skin.triangles), len(skin.joints)
    arrays = (
        skin.vertices.astype("<f4"),
        skin.triangles.astype("<u4"),
        skin.weights.astype("<f4"),
        skin.joints.astype("<u4"),
        skin.matrices.astype("<f4"),
        skin.binds.astype("<u2"),
    )
    head = struct.pack("<4sIIII", MAGIC, VERSION, *counts)
    return head + b"".join(array.tobytes() for array in arrays)
