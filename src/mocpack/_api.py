"""Read, write, encode and decode clips: the functions that `mocpack` exports."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Literal, Unpack, overload

from mocpack import rate
from mocpack.codec import Codec
from mocpack.codecs.registry import AUTO_CODEC
from mocpack.common.arguments import check_path, is_url
from mocpack.common.source import Openable, open_source
from mocpack.common.units import (
    Angle,
    Length,
)
from mocpack.container import (
    DEFAULT_LIMIT,
    MemoryLimit,
    is_packed,
    pack_scene,
    scene_parts,
)
from mocpack.errors import (
    FormatError,
    MemoryLimitError,
    UsageError,
    name_errors,
)
from mocpack.io import (
    supports_scenes,
    write_file,
    write_scene_bytes,
)
from mocpack.io.assumptions import warn_of_assumptions
from mocpack.io.atomic import write_atomically
from mocpack.io.conversion_report import CharacterFit
from mocpack.io.motion_file import MotionFile, ReadOptions, refuse_options
from mocpack.io.reading import sample_evenly
from mocpack.model.clip import AnyClip, Clip, VertexClip
from mocpack.motion import Motion as Motion
from mocpack.motion import list_packed_clips
from mocpack.rate.joint_bounds import JointErrors


@overload
def read(
    path: str | Path, *, kind: Literal["skeleton"] | None = None, **options: Unpack[ReadOptions]
) -> Clip: ...


@overload
def read(
    path: str | Path, *, kind: Literal["vertices"], **options: Unpack[ReadOptions]
) -> VertexClip: ...


def read(path: str | Path, *, kind: str | None = None, **options: Unpack[ReadOptions]) -> AnyClip:
    """Read a motion file of any supported format, including .mocp.

    Parameters
    ----------
    path : path
    kind : {"skeleton", "vertices"}, optional
        Required content; a file with other content is a `UsageError`. By default any content is
        accepted. Type checkers assume a `Clip` unless this is "vertices".
    unit : str or Length, optional
        Length of one unit of the file ("cm", "5.644cm", `mocpack.mm(1)`), for formats that do not
        state it.
    skeleton : path, optional
        The .asf file of an .amc file. By default mocpack looks for it in the same folder.
    clip : str, optional
        Which motion to read from a file with several: its name, or its number from 0 as a string.
        By default the first animation, take or subject; scenes and archives (.mocps) need a name.
    memory_limit : str or int, optional
        For .mocp files, as in `open`.
    allow_outside : bool
        Whether the file may refer to files outside its folder (glTF buffers, USD layers, MJCF
        includes). By default such a reference is a `FormatError`.
    fps : float, optional
        Frames per second at which to sample the motion, or the frame rate of a file that states
        none.
    up : {"x", "y", "z"}, optional
        The up axis of a file that states none. By default it is guessed for BVH and Acclaim files,
        and a `FormatWarning` says so if it is not y.
    body_model : path, optional
        The body model file of an AMASS motion.
    robot : path, optional
        The URDF or MJCF file of the robot that a .csv, .npz or .pkl file moves.
    quaternion : {"xyzw", "wxyz"}, optional
        The order of the robot's quaternions.
    ignore_limits : bool
        Whether to read the robot's motion although joints exceed their limits.
    allow_pickle : bool
        Whether to read arrays from a pickle; nothing else in it is executed.
    """
    file = MotionFile.open(path, **options)
    clip = file.read()
    if not file.is_packed:
        warn_of_assumptions(clip, file.name)
    if kind not in (None, clip.header.kind):
        raise UsageError(f"{path}: expected {kind}, but the file contains {clip.header.kind}")
    return clip


def read_data(data: bytes, *, name: str = "input", **options: Unpack[ReadOptions]) -> AnyClip:
    """Read a motion file from bytes, with the options of `read`.

    Errors start with `name`, whose extension names the format.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise UsageError(f"data must be bytes, got {data!r:.80}")
    file = MotionFile(bytes(data), name, options)
    clip = file.read()
    if not file.is_packed:
        warn_of_assumptions(clip, name)
    return clip


def write(
    clip: AnyClip,
    path: str | Path,
    *,
    dialect: str | None = None,
    into: str | Path | None = None,
    allow_outside: bool = False,
    **encoding: Unpack[rate.EncodingOptions],
) -> CharacterFit | None:
    """Write a clip atomically, in the format of the path's extension.

    A .mocp file takes the options of `encode` (`encoding`), such as ``max_error="1mm"``, and has
    its defaults. An .amc file gets an .asf file in the same folder. `dialect` selects the layout
    that a training program expects: "mjlab", "beyondmimic", "gmr", "protomotions", "qpos" or "csv";
    or "amass" for SMPL-H and SMPL-X bodies. `into` names a glTF file of a character; the output is
    that file with the clip added as an animation. `allow_outside` lets it refer to files outside
    its folder.

    With `into`, returns the largest error of the character's joints, with its joint and frame. An
    error above 1 % of the body height is a `FormatWarning`.
    """
    check_clip(clip)
    check_path("path", path)
    if Path(path).suffix.lower() != ".mocp":
        refuse_options(path, "only .mocp files support", encoding)
        return write_file(clip, path, dialect=dialect, into=into, allow_outside=allow_outside)
    refuse_options(path, ".mocp files do not support", {"dialect": dialect, "into": into})
    write_atomically(encode(clip, **encoding), path)
    return None


def encode(
    clip: AnyClip,
    codec: Codec | str = AUTO_CODEC,
    *,
    max_error: str | Length | None = None,
    mean_error: str | Length | None = None,
    ratio: float | None = None,
    size: str | int | None = None,
    preset: str | None = None,
    effort: str | None = None,
    max_angle: str | Angle | None = None,
    joint_errors: JointErrors | None = None,
) -> bytes:
    """Compress a clip to the bytes of a .mocp file.

    Without a target, the codec uses its own parameters.

    Parameters
    ----------
    clip : Clip or VertexClip
    codec : Codec or str
        A codec, or its spec such as ``"raw"`` or ``"keysine:effort=best"``. By default ``"auto"``:
        ``keysine``, or ``lossless`` for vertices and, with a `LosslessWarning`, for the rare clip
        whose bound ``keysine`` cannot keep. ``latent-spline`` makes vertices smaller, with an
        error.
    max_error : str or Length, optional
        Maximum error of any joint, bone end or skin point in any frame: text with a unit ("1mm"),
        or `mocpack.mm(1)`.
    mean_error : str or Length, optional
        Maximum of the mean joint error.
    ratio, size : optional
        Compression ratio against float32 of the moving channels, or maximum file size in bytes or
        as "20kB".
    preset : {"archive", "edit", "train", "game", "web"}, optional
        Maximum error by purpose (docs/cli.md), instead of the targets above.
    effort : {"fast", "default", "best"}, optional
        How long the encoder searches, if the codec supports it. By default the codec decides.
    max_angle : str or Angle, optional
        Maximum error of every hinge angle, and of the local rotation of every other joint: text
        with a unit ("0.3deg", "5mrad"), or `mocpack.deg(0.3)`. It can be combined with `max_error`
        or a preset. Alone, the codec's own `max_error` applies as well.
    joint_errors : mapping of str to str, Length or Angle, optional
        Bounds of the joints that match a pattern, in place of `max_error`, or with an angle in
        place of `max_angle`: ``{"*Finger*": "5mm", "Head": "0.5mm", "left_knee": "0.1deg"}``.
        Patterns match names of joints and hinges as `fnmatch.fnmatchcase` does; later ones
        replace earlier ones. Pairs instead of a mapping can give one pattern both kinds of bound.

    Raises
    ------
    BoundError
        If the codec cannot meet the target.
    """
    check_clip(clip)
    codecs, wanted = rate.parse_encoding(
        codec,
        max_error=max_error,
        mean_error=mean_error,
        ratio=ratio,
        size=size,
        preset=preset,
        effort=effort,
        max_angle=max_angle,
        joint_errors=joint_errors,
    )
    made = rate.encode_clip(clip, codecs, wanted)
    made.warn_if_lossless()
    return made.data


def encode_measured(
    clip: AnyClip,
    codec: Codec | str = AUTO_CODEC,
    *,
    effort: str | None = None,
    **target: Unpack[rate.TargetOptions],
) -> rate.Attempt:
    """Encode as `encode` does, without its warning; return the file with what was measured."""
    check_clip(clip)
    return rate.encode_clip(clip, *rate.parse_encoding(codec, effort=effort, **target))


def read_scene(path: str | Path, **options: Unpack[ReadOptions]) -> dict[str, AnyClip]:
    """Read all clips of a file by name: the clips of a scene, or the animations of a glTF.

    A file with one clip gives one entry, named after the file. The clips of a scene share a clock:
    `start_time` says when each begins. `options` are those of `read`.
    """
    refuse_options(path, "all clips are read, without", {"clip": options.get("clip")})
    file = MotionFile.open(path, **options)
    if file.is_packed:
        file.check_options()
        limit, fps = options.get("memory_limit", DEFAULT_LIMIT), options.get("fps")
        with name_errors(path, FormatError, MemoryLimitError, UsageError):
            clips = decode_scene(file.data, name=Path(path).stem, memory_limit=limit)
            return {name: sample_evenly(clip, fps) for name, clip in clips.items()}
    if file.clip_names:
        clips = {name: file.read(name) for name in file.clip_names}
    else:
        clips = {Path(path).stem: file.read()}
    for clip in clips.values():
        warn_of_assumptions(clip, str(path))
    return clips


def write_scene(
    clips: Mapping[str, AnyClip], path: str | Path, **encoding: Unpack[rate.EncodingOptions]
) -> None:
    """Write several clips to one file atomically: .mocp or .c3d.

    For .mocp, `encoding` are the options of `encode`. For .c3d, every clip must consist of markers;
    it becomes a subject of the file.
    """
    check_path("path", path)
    extension = Path(path).suffix
    if supports_scenes(extension):
        refuse_options(path, "only .mocp files support", encoding)
        write_atomically(write_scene_bytes(clips, extension), path)
    elif extension.lower() == ".mocp":
        write_atomically(encode_scene(clips, **encoding), path)
    else:
        raise UsageError(f"{path}: several clips can be written as .mocp or .c3d")


def encode_scene(
    clips: Mapping[str, AnyClip],
    codec: Codec | str = AUTO_CODEC,
    *,
    effort: str | None = None,
    **target: Unpack[rate.TargetOptions],
) -> bytes:
    """Encode several clips to the bytes of one .mocp file, each as `encode` does."""
    if not isinstance(clips, Mapping):
        raise UsageError(f"clips must be a mapping of names to clips, got {clips!r:.80}")
    for name in clips:
        if not isinstance(name, str):
            raise UsageError(f"names of clips must be strings, got {name!r:.80}")
    return pack_scene(
        {name: encode(clip, codec, effort=effort, **target) for name, clip in clips.items()}
    )


def decode_scene(
    data: bytes, *, name: str = "clip", memory_limit: str | int | None = DEFAULT_LIMIT
) -> dict[str, AnyClip]:
    """Decode all clips of a .mocp file; a file with a single clip gives one entry, named `name`.

    `memory_limit` applies to all clips together.
    """
    source = open_source(data)
    parts = scene_parts(source) or {name: source}
    found: dict[str, AnyClip] = {}
    left = MemoryLimit.parse(memory_limit).max_bytes
    for part, inside in parts.items():
        try:
            with Motion(inside, memory_limit=left) as motion:
                found[part] = motion.clip()
        except MemoryLimitError as error:
            if not found:
                raise
            sentence = f"clip {part!r}, after {len(found)} other clips of the scene: {error}"
            raise MemoryLimitError(sentence) from error
        if left is not None:
            left = max(1, left - found[part].header.array_bytes())
    return found


def clip_names(source: Openable) -> list[str]:
    """Return the names of the motions in a file, which `clip` chooses from.

    They are the clips of a scene or an archive (.mocps), the animations of a glTF or USD, the takes
    of an FBX, the subjects of a C3D. The list is empty if the file holds one motion without a name.
    """
    with closing(open_source(source)) as opened:
        if is_packed(opened.read(0, min(opened.size, 8))):
            return list_packed_clips(opened)
        data = opened.read(0, opened.size)
    if not isinstance(source, str | os.PathLike):
        return list(MotionFile(data).clip_names)
    place = None if is_url(os.fspath(source)) else Path(source)
    return list(MotionFile(data, os.fspath(source), path=place).clip_names)


def decode(
    data: bytes,
    *,
    partial: bool = False,
    clip: str | None = None,
    memory_limit: str | int | None = DEFAULT_LIMIT,
) -> Clip:
    """Decode the bytes of a .mocp file, or one named clip of a scene or an archive.

    The result is a `VertexClip` if the file contains a vertex animation.

    A truncated file is a `TruncatedError`. With `partial`, the part that can be decoded is returned
    instead. `memory_limit` is as in `open`.
    """
    with Motion(data, partial=partial, clip=clip, memory_limit=memory_limit) as motion:
        return motion.clip()


def open(
    source: Openable,
    *,
    partial: bool = False,
    clip: str | None = None,
    memory_limit: str | int | None = DEFAULT_LIMIT,
) -> Motion:
    """Open a .mocp file or a clip of an archive for random access; use it as a context manager.

    Parameters
    ----------
    source : path, URL, bytes or file object
        Threads and forked processes may share an open motion. A motion opened by path can be
        pickled; the other process opens the file again.
    partial : bool
        Open a truncated file too. It plays the layers that are complete (`Motion.layers`); the
        first one must be. Otherwise a truncated file is a `TruncatedError`.
    clip : str, optional
        Name of the clip in a scene or an archive (.mocps); required if there are several. For many
        clips of an archive use `open_corpus`, which keeps it open.
    memory_limit : str or int, optional
        Maximum memory of any one call, in bytes or as "2GB"; None for no limit. A call that needs
        more raises `MemoryLimitError` before it allocates. By default 1 GB.
    """
    if not isinstance(source, str | Path):
        return Motion(source, partial=partial, clip=clip, memory_limit=memory_limit)
    check_path("source", source, may_be_url=True)
    with name_errors(source):
        return Motion(source, partial=partial, clip=clip, memory_limit=memory_limit)


def check_clip(clip: object) -> None:
    """Raise `UsageError` if an argument is not a clip."""
    if not isinstance(clip, Clip | VertexClip):
        raise UsageError(f"clip must be a Clip or a VertexClip, got {clip!r:.80}")
