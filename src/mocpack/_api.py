"""The straight line: clip -> codec -> container -> bytes, and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, overload

from mocpack import rate
from mocpack.arguments import check_path
from mocpack.clip import AnyClip, Clip, VertexClip, check_coordinates
from mocpack.codec import Codec
from mocpack.container import (
    DEFAULT_LIMIT,
    MAGIC,
    MemoryLimit,
    pack_scene,
    scene_parts,
)
from mocpack.errors import (
    BoundError,
    FormatError,
    MemoryLimitError,
    SceneError,
    UnsupportedClipError,
    UsageError,
)
from mocpack.header import array_bytes
from mocpack.io import (
    external_file_reader,
    list_clips_in_bytes,
    read_bytes,
    read_file,
    read_file_bytes,
    supports_scenes,
    write_file,
    write_scene_bytes,
)
from mocpack.io.atomic import write_atomically
from mocpack.io.choice import MAX_POSES, check_fps
from mocpack.motion import Motion as Motion
from mocpack.motion import select_clip
from mocpack.presets import preset_bound
from mocpack.registry import AUTO_CODEC, BUILTIN, EXACT_CODEC, codec_class, parse_codec
from mocpack.source import Openable, open_source
from mocpack.units import (
    LENGTHS,
    Angle,
    Length,
    parse_angle_argument,
    parse_length_argument,
    parse_size,
)

EFFORTS = ("fast", "default", "best")


@overload
def read(
    path: str | Path,
    *,
    kind: Literal["skeleton"] | None = None,
    unit: str | Length | None = None,
    skeleton: str | Path | None = None,
    clip: str | None = None,
    memory_limit: str | int | None = DEFAULT_LIMIT,
    **options: Any,
) -> Clip: ...


@overload
def read(path: str | Path, *, kind: Literal["vertices"], **options: Any) -> VertexClip: ...


def read(
    path: str | Path,
    *,
    kind: str | None = None,
    unit: str | Length | None = None,
    skeleton: str | Path | None = None,
    clip: str | None = None,
    memory_limit: str | int | None = DEFAULT_LIMIT,
    allow_outside: bool = False,
    **options: Any,
) -> AnyClip:
    """Read a motion file of any known kind, .mocp included.

    Parameters
    ----------
    path : path
    kind : {"skeleton", "vertices"}, optional
        What the file must hold; by default whatever it does. Type checkers take it for a `Clip`,
        as nearly every file holds, unless this says "vertices".
    unit : str or Length, optional
        Length of one unit of the file ("cm", "5.644cm", `mocpack.mm(1)`), for formats that do not
        say.
    skeleton : path, optional
        The .asf of an .amc, where it is not the one beside it.
    clip : str, optional
        Which clip of a scene; needed where it has several. Of other formats, such as glTF, which
        animation, the first by default.
    memory_limit : str or int, optional
        Of a .mocp file, as in `open`.
    allow_outside : bool
        Whether a file may name others outside its folder (buffers of a glTF, layers of a USD,
        includes of a robot's MJCF). By default that is a `FormatError`.
    options
        What some formats take: `fps`, the frames a second at which to sample a glTF, FBX, USD or
        .mocp, or that a robot's table has; `body_model`, the file of the body of an AMASS motion;
        `robot`, the URDF or MJCF of the robot that a .csv, .npz or .pkl file moves; `quaternion`,
        the order of its quaternions, "xyzw" or "wxyz"; `allow_pickle`, to read a pickle's arrays
        and nothing else.
    """
    check_path("path", path)
    found = read_contents(
        read_file_bytes(path),
        path,
        unit=unit,
        skeleton=skeleton,
        clip=clip,
        memory_limit=memory_limit,
        allow_outside=allow_outside,
        **options,
    )
    if kind not in (None, found.header.kind):
        raise UsageError(f"{path}: the file holds {found.header.kind}, not {kind}")
    return found


def read_contents(
    data: bytes,
    path: str | Path,
    *,
    unit: str | Length | None = None,
    skeleton: str | Path | None = None,
    clip: str | None = None,
    memory_limit: str | int | None = DEFAULT_LIMIT,
    allow_outside: bool = False,
    **options: Any,
) -> AnyClip:
    """Read a motion file of these bytes; what belongs to it is looked for beside `path`."""
    if data[:1] == MAGIC[:1] or Path(path).suffix == ".mocp":
        return read_data(data, name=str(path), clip=clip, memory_limit=memory_limit, **options)
    metres = None if unit is None else _parse_unit(unit)
    options |= {"unit": metres, "skeleton": skeleton, "clip": clip}
    return read_file(path, data=data, allow_outside=allow_outside, **options)


def read_data(
    data: bytes,
    *,
    name: str = "input",
    unit: str | Length | None = None,
    skeleton: str | Path | None = None,
    clip: str | None = None,
    memory_limit: str | int | None = DEFAULT_LIMIT,
    allow_outside: bool = False,
    **options: Any,
) -> AnyClip:
    """Read a motion file's bytes; `name` is for complaints and, if need be, for its extension."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise UsageError(f"data must be the bytes of a file, got {data!r:.80}")
    data = bytes(data)
    if data[:1] == MAGIC[:1] or Path(name).suffix == ".mocp":
        fps = options.pop("fps", None)
        given = [option for option, value in options.items() if value is not None]
        if given:
            raise UsageError(f"{name}: a .mocp file is read without {', '.join(given)}")
        try:
            found = decode(data, clip=clip, memory_limit=memory_limit)
            return found if fps is None else _resample(found, fps)
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from error
        except (FormatError, MemoryLimitError, SceneError) as error:
            raise type(error)(f"{name}: {error}") from error
    metres = None if unit is None else _parse_unit(unit)
    bones = None if skeleton is None else read_file_bytes(skeleton)
    options |= {"unit": metres, "skeleton": bones, "clip": clip}
    return read_bytes(data, name=name, allow_outside=allow_outside, **options)


def _resample(clip: AnyClip, fps: float) -> Clip:
    """Return a skeletal clip with frames at an even rate."""
    if isinstance(clip, VertexClip):
        raise UsageError("a vertex animation has frames of its own and is not sampled anew")
    check_fps(fps)
    frames = (clip.times[-1] - clip.times[0]) * fps
    if frames * len(clip.skeleton) > MAX_POSES:
        raise UsageError(f"{frames:.6g} frames of {len(clip.skeleton)} joints are too many")
    return clip.resample(fps)


def write(
    clip: AnyClip,
    path: str | Path,
    *,
    dialect: str | None = None,
    into: str | Path | None = None,
    allow_outside: bool = False,
) -> None:
    """Write a clip, atomically, in the format that the path's extension names.

    An .amc comes with its .asf beside it. A `dialect` is how some program that trains robots wants
    its files: "mjlab", "beyondmimic", "gmr", "protomotions", "qpos" or "csv"; or "amass", for
    bodies of SMPL-H and SMPL-X. `into` names a glTF file of a character, which is written with the
    clip as one of its animations. `allow_outside` lets that file name others outside its folder.
    """
    check_clip("clip", clip)
    check_path("path", path)
    write_file(clip, path, dialect=dialect, into=into, allow_outside=allow_outside)


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
) -> bytes:
    """Return the bytes of a .mocp file.

    Without a target the codec runs with its own parameters.

    Parameters
    ----------
    clip : Clip or VertexClip
    codec : Codec or str
        A codec, or its spec such as ``"raw"`` or ``"keysine:effort=best"``. By default ``"auto"``:
        ``keysine``, or ``lossless`` for vertices and for the rare clip whose bound ``keysine``
        cannot keep. ``latent-spline`` makes vertices smaller, with an error.
    max_error : str or Length, optional
        Bound on the promised error: text with a unit ("1mm"), or `mocpack.mm(1)`.
    mean_error : str or Length, optional
        Bound on the mean joint error.
    ratio, size : optional
        Of the whole file, against float32 of the moving channels; in bytes or as "20kB".
    preset : {"archive", "edit", "train", "game", "web"}, optional
        A bound on the promised error by purpose (docs/cli.md), in place of the others.
    effort : {"fast", "default", "best"}, optional
        How long the encoder may search, where it can; by default as the codec's own parameter
        says.
    max_angle : str or Angle, optional
        Bound on the error of every hinge's angle, and of the local rotation of every other joint:
        text with a unit ("0.3deg", "5mrad"), or `mocpack.deg(0.3)`. Beside `max_error` or a
        preset, or alone: a codec then keeps its own `max_error` too, if it has one.

    Raises
    ------
    BoundError
        If the target cannot be met; nothing that misses it is ever returned.
    """
    return encode_measured(
        clip,
        codec,
        max_error=max_error,
        mean_error=mean_error,
        ratio=ratio,
        size=size,
        preset=preset,
        effort=effort,
        max_angle=max_angle,
    ).data


class TargetOptions(TypedDict, total=False):
    """What `encode` may be asked to reach, as it takes it."""

    max_error: str | Length | None
    mean_error: str | Length | None
    ratio: float | None
    size: str | int | None
    max_angle: str | Angle | None


def encode_measured(
    clip: AnyClip,
    codec: Codec | str = AUTO_CODEC,
    *,
    preset: str | None = None,
    effort: str | None = None,
    **target_options: Unpack[TargetOptions],
) -> rate.Attempt:
    """Do as `encode` does, and return the file with its measured errors and its codec."""
    may_choose = codec == AUTO_CODEC
    codec = parse_codec(codec) if isinstance(codec, str) else codec
    if not isinstance(codec, Codec):
        raise UsageError(f"codec must be a codec or its name, got {codec!r:.80}")
    check_clip("clip", clip)
    if may_choose and clip.header.kind not in codec.kinds:
        codec = parse_codec(EXACT_CODEC)
    if effort is not None and (not isinstance(effort, str) or effort not in EFFORTS):
        raise UsageError(f"effort must be one of {', '.join(EFFORTS)}, got {effort!r}")
    check_kind(codec, clip.header.kind)
    check_coordinates(clip)
    if preset is not None:
        angle = target_options.pop("max_angle", None)
        if any(value is not None for value in target_options.values()):
            raise UsageError(f"preset {preset!r} is a target itself: give no other beside it")
        target_options = {"max_error": preset_bound(preset, clip), "max_angle": angle}
    target = parse_target(**target_options)
    try:
        return rate.encode_to_target(clip, codec, target, effort=effort)
    except BoundError as error:
        if may_choose and isinstance(clip, VertexClip):
            raise BoundError(f"{error}; codec latent-spline makes vertices smaller") from error
        if not may_choose or target.size or target.ratio:
            raise
    bounds = rate.effective_bounds(codec, target)
    return rate.encode_to_target(clip, parse_codec(EXACT_CODEC), bounds)


def parse_target(**target_options: Unpack[TargetOptions]) -> rate.Target:
    """Return the target that `encode` is asked for; what makes none is a `UsageError`."""
    max_error, mean_error = target_options.get("max_error"), target_options.get("mean_error")
    size, max_angle = target_options.get("size"), target_options.get("max_angle")
    return rate.Target(
        None if max_error is None else parse_length_argument("max_error", max_error),
        None if mean_error is None else parse_length_argument("mean_error", mean_error),
        target_options.get("ratio"),
        None if size is None else parse_size(size),
        None if max_angle is None else parse_angle_argument("max_angle", max_angle),
    )


def read_scene(
    path: str | Path,
    *,
    memory_limit: str | int | None = DEFAULT_LIMIT,
    allow_outside: bool = False,
    **reading: Any,
) -> dict[str, AnyClip]:
    """Read every clip of a file, by name: those of a scene, the animations of a glTF, or the one.

    The clips of a scene share a clock: `start_time` of each says when it begins. `reading` is what
    `read` takes for other formats.
    """
    check_path("path", path)
    data = read_file_bytes(path)
    if data[:1] != MAGIC[:1]:
        read_external = external_file_reader(path, allow_outside=allow_outside)
        reading["allow_outside"] = allow_outside
        names = list_clips_in_bytes(data, name=str(path), read_external=read_external)
        if not names:
            return {Path(path).stem: read_contents(data, path, **reading)}
        return {name: read_contents(data, path, clip=name, **reading) for name in names}
    try:
        return decode_scene(data, name=Path(path).stem, memory_limit=memory_limit)
    except (FormatError, MemoryLimitError) as error:
        raise type(error)(f"{path}: {error}") from error


def write_scene(clips: Mapping[str, AnyClip], path: str | Path, **target: Any) -> None:
    """Write a scene, atomically: as a .mocp file, where `target` is what `encode` takes, or a .c3d.

    The clips of a .c3d are markers, and its subjects.
    """
    check_path("path", path)
    extension = Path(path).suffix
    if supports_scenes(extension):
        if target:
            raise UsageError(f"{path}: {', '.join(target)} is for .mocp files")
        write_atomically(write_scene_bytes(clips, extension), path)
    else:
        write_atomically(encode_scene(clips, **target), path)


def encode_scene(
    clips: Mapping[str, AnyClip], codec: Codec | str = AUTO_CODEC, **target: Any
) -> bytes:
    """Return the bytes of a .mocp file of several clips, each encoded as `encode` does."""
    if not isinstance(clips, Mapping):
        raise UsageError(f"clips must be a mapping of names to clips, got {clips!r:.80}")
    for name in clips:
        if not isinstance(name, str):
            raise UsageError(f"names of clips must be texts, got {name!r:.80}")
    return pack_scene({name: encode(clip, codec, **target) for name, clip in clips.items()})


def decode_scene(
    data: bytes, *, name: str = "clip", memory_limit: str | int | None = DEFAULT_LIMIT
) -> dict[str, AnyClip]:
    """Return every clip of a .mocp file's bytes; one that is no scene has one, named `name`.

    All of them together keep to `memory_limit`.
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
            sentence = f"clip {part!r}, after {len(found)} others of the scene: {error}"
            raise MemoryLimitError(sentence) from error
        if left is not None:
            left = max(1, left - array_bytes(found[part].header))
    return found


def clip_names(source: Openable) -> list[str]:
    """Return the names of a scene's clips; none of a file that is no scene."""
    opened = open_source(source)
    try:
        return list(scene_parts(opened) or ())
    finally:
        opened.close()


def extract_clip(data: bytes, name: str | None = None) -> bytes:
    """Return the .mocp file of one clip of a scene's bytes; of another file, that file."""
    source = select_clip(open_source(data), name)
    return source.read(0, source.size)


def decode(
    data: bytes,
    *,
    partial: bool = False,
    clip: str | None = None,
    memory_limit: str | int | None = DEFAULT_LIMIT,
) -> Clip:
    """Return the clip of a .mocp file's bytes, or the named one of a scene's.

    It is said to be a `Clip`, as nearly every file holds; one of vertices gives a `VertexClip`.

    A file that was cut is a `TruncatedError`, unless `partial` asks for what is whole of it.
    `memory_limit` is that of `open`.
    """
    with Motion(data, partial=partial, clip=clip, memory_limit=memory_limit) as motion:
        return motion.clip()


def open(
    source: Openable,
    *,
    clip: str | None = None,
    memory_limit: str | int | None = DEFAULT_LIMIT,
) -> Motion:
    """Open a .mocp file to read parts of it; use as a context manager.

    Parameters
    ----------
    source : path, bytes or file object
        Any threads and forked processes may read from what is open. A motion that was opened by
        its path can be sent to another process, which opens the file again.
    clip : str, optional
        Which clip of a scene; needed where it has several.
    memory_limit : str or int, optional
        The most memory that any one call may take, in bytes or as "2GB"; None for no limit. What
        would take more is a `MemoryLimitError`, before any of it is taken. By default 1 GB.
    """
    if not isinstance(source, str | Path):
        return Motion(source, clip=clip, memory_limit=memory_limit)
    try:
        return Motion(source, clip=clip, memory_limit=memory_limit)
    except (FormatError, MemoryLimitError, SceneError) as error:
        raise type(error)(f"{source}: {error}") from error


def check_clip(name: str, clip: Any) -> None:
    """Complain about an argument that is no clip."""
    if not isinstance(clip, Clip | VertexClip):
        raise UsageError(f"{name} must be a Clip or a VertexClip, got {clip!r:.80}")


def check_kind(codec: Codec, kind: str) -> None:
    """Complain if the codec does not take this kind of clip."""
    if kind not in codec.kinds:
        able = [i for i in BUILTIN if kind in codec_class(i).kinds]
        raise UnsupportedClipError(
            f"{codec.codec_id} packs {' and '.join(codec.kinds)} clips, this one is of {kind}; "
            f"{kind} are packed by: {', '.join(able)}"
        )


def _parse_unit(unit: str | Length) -> float:
    """Read "cm" as one centimetre, "5.644cm" as that length."""
    if isinstance(unit, str) and unit.strip() in LENGTHS:
        return LENGTHS[unit.strip()]
    return parse_length_argument("unit", unit)
