"""The motions of a page, fully read and validated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Unpack

from mocpack import _api, rate
from mocpack.common.json_object import JsonObject
from mocpack.container import Errors
from mocpack.errors import FormatError, UsageError, name_errors
from mocpack.io.gltf_skin import read_skin
from mocpack.io.motion_file import MotionFile, ReadOptions, is_archive_name, match_versions
from mocpack.metrics.pair import pair_clips
from mocpack.model.clip import Clip, require_skeleton
from mocpack.model.scene import merge_clips
from mocpack.model.skeleton import Skeleton
from mocpack.motion import Motion, extract_clip
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
    **reading: Unpack[ReadOptions],
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
    reading
        Arguments of `mocpack.read`: `clip`, the motion to show of those files that hold several,
        and for files of other formats `unit`, `robot`, …
    """
    paths = [file, *others] + ([] if original is None else [original])
    opened = match_versions([MotionFile.open(path, **reading) for path in paths])
    shown = [
        _show_motion(path, reading.get("clip"), file)
        for path, file in zip(paths, opened, strict=True)
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


def _show_motion(path: str, wanted: str | None, file: MotionFile) -> ShownMotion:
    """Return a motion of a file in which the clip `wanted` was chosen, if it holds several."""
    name = Path(path).name
    chosen = wanted if is_archive_name(path) else file.clip
    title = f"{name}, {chosen}" if chosen else name
    if not file.is_packed:
        return replace(show_source(file), name=title)
    if file.clip is None and len(file.clip_names) > 1:
        return _show_scene(name, file.data, path)
    data = file.extract()
    viewer = f"{path}: the viewer"
    with name_errors(path), Motion(data) as motion:
        return _show_packed(title, data, require_skeleton(motion.clip(), viewer), motion)


def show_source(file: MotionFile) -> ShownMotion:
    """Return the shown motion of a file that is not a .mocp."""
    name = Path(file.name).name
    motion = require_skeleton(file.read(), f"{name}: the viewer")
    kind = str(motion.metadata.get("source", Path(name).suffix.lstrip(".")))
    size = {"file": len(file.data)} | _no_parts(len(file.data))
    skin, note = _read_skin(name, motion, file)
    return ShownMotion(name, motion, None, kind, size, Errors(), skin=skin, note=note)


def _read_skin(name: str, clip: Clip, file: MotionFile) -> tuple[bytes | None, str]:
    """Return the mesh of a glTF file, or the reason why a mesh is not shown."""
    try:
        if Path(name).suffix.lower() in MESH_FILES:
            skin = read_skin(file.data, clip, file.read_external)
            return None if skin is None else skin_to_bytes(skin), ""
        meshes = file.count_ignored().get("mesh", 0)
    except FormatError as error:
        return None, f"{name}: cannot show its mesh: {error}"
    if not meshes:
        return None, ""
    missing = "mesh" if meshes == 1 else f"{meshes} meshes"
    kind = file.format.name
    return None, f"{name} is shown without its {missing}; mocpack reads only the motion of {kind}."


def _show_scene(name: str, data: bytes, path: str) -> ShownMotion:
    """Return all clips of a scene as one figure; `parts` lists the joints of each clip."""
    scene, viewer = _api.decode_scene(data), f"{path}: the viewer"
    clips = {title: require_skeleton(clip, viewer) for title, clip in scene.items()}
    parts: tuple[JsonObject, ...] = tuple(
        {
            "name": title,
            "joints": len(clip.skeleton),
            "start": float(clip.times[0]),
            "end": float(clip.times[-1]),
            "bytes": len(extract_clip(data, title)),
        }
        for title, clip in clips.items()
    )
    size = {"file": len(data)} | _no_parts(len(data))
    return ShownMotion(name, merge_clips(clips), None, "scene", size, Errors(), parts)


def _show_packed(name: str, data: bytes, clip: Clip, motion: Motion) -> ShownMotion:
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
