"""Recognize files of each format by their first bytes, without importing its reader."""

from __future__ import annotations

import numpy as np

from mocpack.io import npz

BOM = b"\xef\xbb\xbf"


def is_vrm_animation(data: bytes) -> bool:
    """Return whether `data` is binary glTF with a VRM animation."""
    return data.startswith(b"glTF") and b"VRMC_vrm_animation" in data


def is_gltf_text(data: bytes) -> bool:
    """Return whether `data` is glTF as JSON."""
    return _is_object(data) and b'"asset"' in data and b'"version"' in data


def is_deepmimic(data: bytes) -> bool:
    """Return whether `data` is a DeepMimic motion."""
    return _is_object(data) and b'"Frames"' in data and not is_gltf_text(data)


def is_trc(data: bytes) -> bool:
    """Return whether `data` is a TRC file."""
    return data[:64].removeprefix(BOM).startswith(b"PathFileType")


def is_amass(data: bytes) -> bool:
    """Return whether `data` is an AMASS motion."""
    names = npz.member_names(data)
    return bool(names & {"poses", "root_orient", "global_orient"} and names & {"trans", "transl"})


def is_npy(data: bytes) -> bool:
    """Return whether `data` is an .npy file."""
    return data.startswith(npz.NPY_MAGIC)


def is_robot_table(data: bytes) -> bool:
    """Return whether `data` is a table of numbers, or one with the header of BONES-SEED."""
    first = data[:65536].partition(b"\n")[0].split(b",")
    if b"root_translateX" in first:
        return True
    try:
        return len(first) > 7 and all(np.isfinite(float(word)) for word in first)
    except ValueError:
        return False


def is_qpos(data: bytes) -> bool:
    """Return whether `data` is an .npz file with MuJoCo's `qpos`."""
    return npz.probe(data, "qpos") and not is_tracking(data)


def is_tracking(data: bytes) -> bool:
    """Return whether `data` is a tracking file of mjlab or BeyondMimic."""
    return npz.probe(data, "joint_pos") and npz.probe(data, "body_pos_w")


def is_pickled(data: bytes) -> bool:
    """Return whether `data` is a pickle or a PyTorch file."""
    if data[:4] == b"PK\x03\x04":
        return b"/data.pkl" in data[:4096]
    return data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def is_c3d(data: bytes) -> bool:
    """Return whether `data` is a C3D file, by the processor type in its parameters."""
    start = 512 * (data[0] - 1) if data else 0
    return (
        start >= 512
        and data[1:2] == b"\x50"
        and data[start + 3 : start + 4] in (b"\x54", b"\x55", b"\x56")
    )


def is_fbx(data: bytes) -> bool:
    """Return whether `data` is an FBX file, binary or text."""
    if data.startswith(b"Kaydara FBX Binary"):
        return True
    head = data[:4096].removeprefix(BOM).lstrip()
    return head.startswith((b"; FBX", b"FBXHeaderExtension:"))


def is_usd_binary(data: bytes) -> bool:
    """Return whether `data` is binary USD."""
    return data.startswith(b"PXR-USDC")


def is_usd_text(data: bytes) -> bool:
    """Return whether `data` is text USD."""
    return data[:64].lstrip().startswith(b"#usda ")


def is_usd_package(data: bytes) -> bool:
    """Return whether `data` is a zip file whose first entry is USD."""
    if not data.startswith(b"PK\x03\x04") or len(data) < 30:
        return False
    name = data[30 : 30 + int.from_bytes(data[26:28], "little")]
    return name.lower().endswith((b".usd", b".usda", b".usdc"))


def _is_object(data: bytes) -> bool:
    return data[:4096].removeprefix(BOM).lstrip().startswith(b"{")
