"""How files of each kind begin, for readers that are imported when a file needs them."""

from __future__ import annotations

BOM = b"\xef\xbb\xbf"


def vrm_animation(data: bytes) -> bool:
    """Say whether `data` is binary glTF that holds an animation for VRM models."""
    return data.startswith(b"glTF") and b"VRMC_vrm_animation" in data


def gltf_text(data: bytes) -> bool:
    """Say whether `data` is glTF as JSON."""
    return _is_object(data) and b'"asset"' in data and b'"version"' in data


def _is_object(data: bytes) -> bool:
    return data[:4096].removeprefix(BOM).lstrip().startswith(b"{")
