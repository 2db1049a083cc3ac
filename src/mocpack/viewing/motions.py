"""The motions of a page, fully read and validated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mocpack import _api, rate
from mocpack.common.json_object import JsonObject
from mocpack.container import Errors, is_packed
from mocpack.errors import FormatError, UnsupportedClipError, UsageError, name_errors
from mocpack.io import count_ignored, external_file_reader
from mocpack.io.gltf_skin import read_skin
from mocpack.io.table import find_format
from mocpack.metrics.pair import pair_clips
from mocpack.model.clip import AnyClip, Clip
from mocpack.model.scene import merge_clips
from mocpack.model.skeleton import Skeleton
from mocpack.viewing.skins import skin_to_bytes

MESH_FILES = (".glb", ".gltf", ".vrm")


@dataclass(frozen=True, eq=False)
class ShownMotion:
    """One motion of the page.

    Attributes
    ----------
    name : str
        File name without folders.
    clip : Clip
        The decoded clip.
    data : bytes or None
        The file, if the page can decode it; else the page gets frames of `clip`.
    codec : str
        Its codec, or the format of other files, such as ``bvh``.
    size : dict
        Bytes of the file, and of its payload, skeleton and metadata.
    parts : tuple of dict
        The clips of a scene: name, joints, start and end time, bytes.
    skin : bytes or None
        The mesh of the file, bound to the clip's joints (`skins.py`).
    note : str
        Why the file's mesh is not shown.
    """

    name: str
    clip: Clip
    data: bytes | None
    codec: str
    size: dict[str, int]
    errors: Errors
    parts: tuple[JsonObject, ...] = ()
    skin: bytes | None = None
    note: str = ""

    @property
    def angles(self) -> dict[str, float] | None:
        """The bound on joint angles and the measured maximum in radians, or None."""
        if self.errors.declared_angle is None:
            return None
        return {"declared": self.errors.declared_angle, "measured": self.errors.max_angle or 0.0}

    def head(self) -> JsonObject:
        """Return the data that the page needs before frames; lengths in meters."""
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
    """All motions of one page.

    Attributes
    ----------
    versions : tuple of ShownMotion
        Compressed versions of one clip, the largest file first; empty for an empty page.
    chosen : int
        Index of the version shown first.
    original : ShownMotion or None
        The motion that they are compared with.
    """

    versions: tuple[ShownMotion, ...]
    chosen: int = 0
    original: ShownMotion | None = None

    @property
    def motions(self) -> tuple[ShownMotion, ...]:
        return self.versions if self.original is None else (*self.versions, self.original)

    @property
    def skin(self) -> bytes | None:
        """The first mesh of any motion; all motions have the same joints."""
        sources = (self.original, *self.versions)
        return next((shown.skin for shown in sources if shown and shown.skin), None)

    @cached_property
    def raw_bytes(self) -> int:
        """Bytes of the clip as float32 of its moving channels, the baseline of compression ratios.

        Computed on demand, because it takes a second for ten minutes of motion.
        """
        return rate.raw_size((self.original or self.versions[0]).clip)

    def session(self, locate: Callable[[int, ShownMotion], JsonObject]) -> JsonObject:
        """Return the session data of the page; `locate` says where each motion's bytes are."""
        roles = ["packed"] * len(self.versions) + ["original"]
        return {
            "version": 1,
            "chosen": self.chosen,
            "motions": [
                {"name": shown.name, "role": role}
                | ({"kind": "file"} if shown.data else {"kind": "frames", "head": shown.head()})
                | ({"note": shown.note} if shown.note else {})
                | locate(i, shown)
                for i, (shown, role) in enumerate(zip(self.motions, roles, strict=False))
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
    """Read motion files; raise if one is invalid or is not a version of the first.

    Parameters
    ----------
    file : str
        The motion to show.
    original : str, optional
        Its original; `frames` selects the frames that were packed.
    others : sequence of str
        More versions of the same clip.
    clip : str, optional
        Which motion to show of those files that hold several.
    reading
        Arguments of `mocpack.read` for files of other formats: `unit`, `robot`, …
    """
    paths = [file, *others] + ([] if original is None else [original])
    contents = _api.read_versions(paths, clip, allow_outside=reading.get("allow_outside", False))
    shown = [
        _show_motion(path, clip, *found, **reading)
        for path, found in zip(paths, contents, strict=True)
    ]
    source = None if original is None else shown.pop()
    for other in shown[1:]:
        _check_same(shown[0], other)
    order = sorted(range(len(shown)), key=lambda i: -shown[i].size["file"])
    versions = tuple(shown[i] for i in order)
    if source is not None:
        if frames is not None:
            start, stop, _ = frames.indices(source.clip.frame_count)
            source = replace(source, clip=source.clip.frames(start, stop), data=None)
        _check_same(source, shown[0])
    return Selection(versions, order.index(0), source)


def _show_motion(
    path: str,
    wanted: str | None,
    data: bytes,
    clip: str | None,
    *,
    allow_outside: bool = False,
    **reading: Any,
) -> ShownMotion:
    """Return a motion from what `_api.read_input` returned for the clip `wanted` of `path`."""
    name, read_external = Path(path).name, external_file_reader(path, allow_outside=allow_outside)
    chosen = wanted if _api.is_archive_name(path) else clip
    title = f"{name}, {chosen}" if chosen else name
    if not is_packed(data):
        reading |= {"clip": clip, "allow_outside": allow_outside}
        read = _api.read_contents(data, path, **reading)
        return replace(show_source(name, read, data, read_external), name=title)
    if clip is None and len(_api.clip_names(data)) > 1:
        return _show_scene(name, data, path)
    with name_errors(path):
        data = _api.extract_clip(data, clip)
    found = _require_skeleton(_api.read_contents(data, path), path)
    with _api.Motion(data) as motion:
        return _show_packed(title, data, found, motion)


def show_source(
    name: str, clip: AnyClip, data: bytes, read_external: Callable[[str], bytes] | None = None
) -> ShownMotion:
    """Return the shown motion of a file that is not a .mocp."""
    motion = _require_skeleton(clip, name)
    kind = str(motion.metadata.get("source", Path(name).suffix.lstrip(".")))
    size = {"file": len(data)} | _no_parts(len(data))
    skin, note = _read_skin(name, clip, data, read_external)
    return ShownMotion(name, motion, None, kind, size, Errors(), skin=skin, note=note)


def _read_skin(
    name: str, clip: AnyClip, data: bytes, read_external: Callable[[str], bytes] | None
) -> tuple[bytes | None, str]:
    """Return the mesh of a glTF file, or the reason why a mesh is not shown."""
    if not isinstance(clip, Clip):
        return None, ""
    try:
        if Path(name).suffix.lower() in MESH_FILES:
            skin = read_skin(data, clip, read_external)
            return None if skin is None else skin_to_bytes(skin), ""
        meshes = count_ignored(data, name=name, read_external=read_external).get("mesh", 0)
    except FormatError as error:
        return None, f"{name}: cannot show its mesh: {error}"
    if not meshes:
        return None, ""
    missing = "mesh" if meshes == 1 else f"{meshes} meshes"
    kind = find_format(data, name).name
    return None, f"{name} is shown without its {missing}; mocpack reads only the motion of {kind}."


def _show_scene(name: str, data: bytes, path: str) -> ShownMotion:
    """Return all clips of a scene as one figure; `parts` lists the joints of each clip."""
    clips = {title: _require_skeleton(one, path) for title, one in _api.decode_scene(data).items()}
    parts: tuple[JsonObject, ...] = tuple(
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
    decodable = data if codec == "keysine" else None
    return ShownMotion(name, clip, decodable, codec, size, motion.errors)


def _no_parts(size: int) -> dict[str, int]:
    return {"payload": size, "skeleton": 0, "metadata": 0}


def _require_skeleton(clip: AnyClip, path: str) -> Clip:
    if not isinstance(clip, Clip):
        raise UnsupportedClipError(
            f"{path}: the viewer shows skeletons only, got a vertex animation"
        )
    return clip


def _check_same(a: ShownMotion, b: ShownMotion) -> None:
    try:
        pair_clips(a.clip, b.clip)
    except UsageError as error:
        hint = ""
        if a.clip.frame_count != b.clip.frame_count:
            hint = "; --frames selects frames of the original"
        raise UsageError(f"{a.name} and {b.name}: {error}{hint}") from error


def _skeleton_facts(skeleton: Skeleton, translated: Sequence[int]) -> JsonObject:
    return {
        "names": skeleton.names,
        "parents": skeleton.parents,
        "offsets": skeleton.offsets.ravel().tolist(),
        "endJoints": skeleton.end_site_joints,
        "endOffsets": skeleton.end_sites.ravel().tolist(),
        "translated": list(translated),
        "scales": skeleton.scales.ravel().tolist() if skeleton.is_scaled else None,
    }
