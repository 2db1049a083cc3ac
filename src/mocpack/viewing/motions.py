"""The motions that a page shows: read whole and checked once, so that the page gets good ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mocpack import _api, rate
from mocpack.clip import AnyClip, Clip
from mocpack.codec_clip import bake_scales
from mocpack.container import MAGIC, Errors
from mocpack.errors import FormatError, SceneError, UnsupportedClipError, UsageError
from mocpack.io import external_file_reader, read_file_bytes
from mocpack.io.gltf_skin import read_skin
from mocpack.metrics.pair import pair_clips
from mocpack.scene import merge_clips
from mocpack.skeleton import Skeleton
from mocpack.viewing.skins import skin_to_bytes

MESH_FILES = (".glb", ".gltf", ".vrm")


@dataclass(frozen=True, eq=False)
class ShownMotion:
    """One motion of the page.

    Attributes
    ----------
    name : str
        Of its file, without folders.
    clip : Clip
        What it decodes to.
    data : bytes or None
        The file, if the page decodes it itself; else the page is sent frames of `clip`.
    codec : str
        Its codec; for files that are not packed, their kind, such as ``bvh``.
    size : dict
        Bytes of the file, and of its payload, skeleton and metadata.
    parts : tuple of dict
        Of a scene the clips that stand in it: name, joints, when each begins and ends, bytes.
    skin : bytes or None
        The mesh that the file brings, bound to the clip's joints (`skins.py`).
    note : str
        Why a mesh that is there is not shown.
    """

    name: str
    clip: Clip
    data: bytes | None
    codec: str
    size: dict[str, int]
    errors: Errors
    parts: tuple[dict[str, Any], ...] = ()
    skin: bytes | None = None
    note: str = ""

    @property
    def angles(self) -> dict[str, float] | None:
        """The bound on angles and what was measured of it, in radians, if there is one."""
        if self.errors.declared_angle is None:
            return None
        return {"declared": self.errors.declared_angle, "measured": self.errors.max_angle or 0.0}

    def head(self) -> dict[str, Any]:
        """Return what the page must know before it asks for frames; lengths in metres."""
        clip, errors = self.clip, self.errors
        measured = {k: getattr(errors, k) for k in ("max", "mean", "rms", "p99")}
        return {
            "skeleton": _skeleton_facts(clip.skeleton, clip.translated_joints),
            "frameCount": clip.frame_count,
            "frameTime": clip.frame_time,
            "codec": self.codec,
            "bytes": self.size,
            "declaredError": errors.declared,
            "measured": None if errors.max is None else measured,
            "angles": self.angles,
            "metadata": dict(clip.metadata),
            "parts": list(self.parts),
        }


@dataclass(frozen=True, eq=False)
class Selection:
    """Everything one page shows.

    Attributes
    ----------
    versions : tuple of Shown
        Packed versions of one clip, the largest file first; none for a page that waits for drops.
    chosen : int
        Which of them is shown first.
    original : Shown or None
        What they are compared with.
    """

    versions: tuple[ShownMotion, ...]
    chosen: int = 0
    original: ShownMotion | None = None

    @property
    def motions(self) -> tuple[ShownMotion, ...]:
        return self.versions if self.original is None else (*self.versions, self.original)

    @property
    def skin(self) -> bytes | None:
        """The mesh of the first motion that brings one; all have the same joints."""
        sources = (self.original, *self.versions)
        return next((shown.skin for shown in sources if shown and shown.skin), None)

    @cached_property
    def raw_bytes(self) -> int:
        """Bytes of the clip as float32 of the channels that move: the yardstick of ratios.

        It takes a second for ten minutes of motion, so nobody waits for it who need not.
        """
        return rate.raw_size((self.original or self.versions[0]).clip)

    def session(self) -> dict[str, Any]:
        """Return what the page reads first; `motions` still lack where their bytes are."""
        roles = ["packed"] * len(self.versions) + ["original"]
        return {
            "version": 1,
            "chosen": self.chosen,
            "motions": [
                {"name": shown.name, "role": role}
                | ({"kind": "file"} if shown.data is not None else {"kind": "frames"})
                | ({} if shown.data is not None else {"head": shown.head()})
                | ({"note": shown.note} if shown.note else {})
                for shown, role in zip(self.motions, roles, strict=False)
            ],
        }


def select(
    file: str,
    original: str | None = None,
    others: Sequence[str] = (),
    *,
    frames: slice | None = None,
    clip: str | None = None,
    **reading: Any,
) -> Selection:
    """Read the named files; one that is bad, or another motion than the first, is an error.

    Parameters
    ----------
    file : str
        What is looked at.
    original : str, optional
        What it was made from; `frames` chooses those that were packed.
    others : sequence of str
        More versions of the same clip.
    clip : str, optional
        Which clip of a scene, in `file` and `others`; in the original too, if it is a scene.
    reading
        What `open_motion` takes for each file: `unit`, `skeleton`, `allow_outside`.
    """
    shown = [open_motion(path, **reading, clip=clip) for path in (file, *others)]
    for other in shown[1:]:
        _check_same(shown[0], other)
    order = sorted(range(len(shown)), key=lambda i: -shown[i].size["file"])
    versions = tuple(shown[i] for i in order)
    source = None
    if original is not None:
        source = open_motion(original, **reading, clip=clip if _is_scene(original) else None)
        source = source if frames is None else _cut_frames(source, frames)
        _check_same(source, shown[0])
    return Selection(versions, order.index(0), source)


def open_motion(
    path: str, *, clip: str | None = None, allow_outside: bool = False, **reading: Any
) -> ShownMotion:
    """Read a motion file of any kind and decode all of it; of a scene all clips, or the named."""
    name = Path(path).name
    data = read_file_bytes(path)  # once, since a pipe can be read only once
    packed = data[:1] == MAGIC[:1]
    inside = _api.clip_names(data) if packed else []
    if len(inside) > 1 and clip is None:
        return _show_scene(name, data, path)
    if packed and (inside or clip is not None):
        data = _clip_file(data, path, clip)
        name = name if clip is None else f"{name}, {clip}"
        clip = None
    reading |= {"clip": clip, "allow_outside": allow_outside}
    read = _api.read_contents(data, path, **reading)
    found = _require_skeleton(read, path)
    try:
        with _api.Motion(data) as motion:
            return _show_packed(name, data, found, motion)
    except FormatError:
        # not a .mocp: `read` above has complained if it was meant to be one
        read_external = external_file_reader(path, allow_outside=allow_outside)
        return show_source(name, read, data, read_external)


def show_source(
    name: str, clip: AnyClip, data: bytes, read_external: Callable[[str], bytes] | None = None
) -> ShownMotion:
    """Return how the page shows a motion that is not packed, of a file's bytes."""
    motion = _require_skeleton(clip, name)
    kind = str(motion.metadata.get("source", Path(name).suffix.lstrip(".")))
    size = {"file": len(data)} | _no_parts(len(data))
    skin, note = _read_skin(name, clip, data, read_external)
    return ShownMotion(name, motion, None, kind, size, Errors(), skin=skin, note=note)


def _read_skin(
    name: str, clip: AnyClip, data: bytes, read_external: Callable[[str], bytes] | None
) -> tuple[bytes | None, str]:
    """Return the mesh of a glTF file, or why it is not shown, while the motion still is."""
    if Path(name).suffix.lower() not in MESH_FILES or not isinstance(clip, Clip):
        return None, ""
    try:
        skin = read_skin(data, clip, read_external)
    except FormatError as error:
        return None, f"{name}: its mesh is not shown: {error}"
    return None if skin is None else skin_to_bytes(skin), ""


def _clip_file(data: bytes, path: str, clip: str | None) -> bytes:
    try:
        return _api.extract_clip(data, clip)
    except SceneError as error:
        raise SceneError(f"{path}: {error}") from error


def _show_scene(name: str, data: bytes, path: str) -> ShownMotion:
    """Return all clips of a scene as one figure; the page is told which joints are whose."""
    clips = {title: _require_skeleton(one, path) for title, one in _api.decode_scene(data).items()}
    parts = tuple(
        {
            "name": title,
            "joints": len(clip.skeleton),
            "start": float(clip.times[0]),
            "end": float(clip.times[-1]),
            "bytes": len(_api.extract_clip(data, title)),
        }
        for title, clip in clips.items()
    )
    size = {"file": len(data)} | _no_parts(len(data))
    return ShownMotion(name, merge_clips(clips), None, "scene", size, Errors(), parts)


def _show_packed(name: str, data: bytes, clip: Clip, motion: _api.Motion) -> ShownMotion:
    codec, sizes = motion.codec.codec_id, motion.sizes
    size = {
        "file": sizes["file"],
        "payload": sizes["file"] - sizes["skeleton"] - sizes["metadata"],
        "skeleton": sizes["skeleton"],
        "metadata": sizes["metadata"],
    }
    # the page knows no scales; it gets frames in which every joint stands where they put it
    decodable = data if codec == "keysine" and not motion.header.is_scaled else None
    return ShownMotion(name, clip, decodable, codec, size, motion.errors)


def _is_scene(path: str) -> bool:
    return path.endswith(".mocp") and len(_api.clip_names(path)) > 1


def _no_parts(size: int) -> dict[str, int]:
    return {"payload": size, "skeleton": 0, "metadata": 0}


def _require_skeleton(clip: AnyClip, path: str) -> Clip:
    if not isinstance(clip, Clip):
        raise UnsupportedClipError(f"{path}: a vertex animation; the viewer shows skeletons")
    return bake_scales(clip)


def _cut_frames(shown: ShownMotion, frames: slice) -> ShownMotion:
    start, stop, _ = frames.indices(shown.clip.frame_count)
    return replace(shown, clip=shown.clip.frames(start, stop), data=None)


def _check_same(a: ShownMotion, b: ShownMotion) -> None:
    try:
        pair_clips(a.clip, b.clip)
    except UsageError as error:
        hint = ""
        if a.clip.frame_count != b.clip.frame_count:
            hint = "; --frames chooses those of the original"
        raise UsageError(f"{a.name} and {b.name}: {error}{hint}") from error


def _skeleton_facts(skeleton: Skeleton, translated: Sequence[int]) -> dict[str, Any]:
    return {
        "names": skeleton.names,
        "parents": skeleton.parents,
        "offsets": skeleton.offsets.ravel().tolist(),
        "endJoints": skeleton.end_site_joints,
        "endOffsets": skeleton.end_sites.ravel().tolist(),
        "translated": list(translated),
    }
