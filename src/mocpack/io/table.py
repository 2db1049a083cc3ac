"""The table of formats. A reader is chosen by what the bytes look like, a writer by extension."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

import numpy as np

from mocpack.clip import AnyClip, Clip, check_reach
from mocpack.errors import CorruptionError, FormatError, UnsupportedClipError, UsageError
from mocpack.io import amc, asf, bvh, clip_npz, glb, mdd, pc2, probes, vertices_npz
from mocpack.io.advice import advice
from mocpack.io.atomic import write_all_atomically
from mocpack.io.atomic import write_atomically as write_atomically
from mocpack.plain import plain

MAX_FILE = 4 << 30  # bytes; more is refused
READ_AT_ONCE = 1 << 24
PROBED = 1 << 16  # bytes that a format with a skeleton file is known by
CHARACTERS = (".glb", ".gltf", ".vrma")  # files that a clip can be put into
ROBOT = "--robot FILE"
ROBOT_OPTIONS = ("robot", "fps", "quaternion")
REFUSED = {
    "clip": "holds one motion; there is none to choose",
    "fps": "has frames of its own and is not sampled anew",
    "body_model": "needs no body model",
    "robot": "is no motion of a robot",
    "quaternion": "has quaternions of one order",
}


@dataclass(frozen=True)
class Format:
    """One row: how to recognise, read and write a kind of file.

    Attributes
    ----------
    read, write : callable, optional
        Left out where we only write, or only read, such files.
    kinds : tuple of str
        The clips it can hold: "skeleton" (`Clip`), "vertices" (`VertexClip`).
    holds : tuple of str
        What else of a skeletal clip it can hold: "scales", "times" that are not even, "roots"
        beyond the first, and "all" there is. Scales and times are refused where they are missing.
    beside : (extension, writer), optional
        The second file of a format that takes two.
    write_scene : callable, optional
        Writes several clips by name, for formats of which one file may hold them on one clock.
    find_skeleton : callable, optional
        Finds the skeleton file of a motion file that needs one.
    names_beside : callable, optional
        Returns the paths of the files that reading a file opens beside it, for formats of which
        one may name others.
    names : callable, optional
        Returns the names of the clips in a file, for formats of which one may hold several.
    left_out : callable, optional
        Returns what else a file holds, in words, which its reader leaves out.
    dialects : tuple of str
        What `--as` calls it, where its writer goes by that and not by the extension.
    needs : str
        What reading it takes beside the file, for people.
    options : tuple of str
        What else the reader takes: "clip" (which of several), "fps" (to sample at), "beside" (a
        function that opens files beside this one), "body_model", "robot" (a file), "quaternion"
        (the order of one), "allow_pickle" (which others overlook).
    """

    name: str
    extensions: tuple[str, ...]
    probe: Callable[[bytes], bool]
    read: Callable[..., AnyClip] | None = None
    write: Callable[..., bytes] | None = None
    kinds: tuple[str, ...] = ("skeleton",)
    holds: tuple[str, ...] = ()
    beside: tuple[str, Callable[..., bytes]] | None = None
    write_scene: Callable[[Mapping[str, AnyClip]], bytes] | None = None
    find_skeleton: Callable[[Path], Path] | None = None
    names_beside: Callable[..., list[str]] | None = None
    names: Callable[..., list[str]] | None = None
    left_out: Callable[..., list[str]] | None = None
    dialects: tuple[str, ...] = ()
    needs: str = ""
    options: tuple[str, ...] = ()


def _later(module: str, function: str = "read") -> Callable[..., Any]:
    """Return a function of a module of this package that is imported when it is called."""

    def call(*words: Any, **options: Any) -> Any:
        return getattr(import_module(f"mocpack.io.{module}"), function)(*words, **options)

    return call


def _of_robot(module: str, what: str, *, in_metres: bool = True) -> Callable[..., Any]:
    """Return a reader of robots' motions, which is given the robot of the file `--robot` names."""

    def call(
        data: bytes, *, robot: str | Path | None = None, unit: float | None = None, **options: Any
    ) -> Any:
        if in_metres and unit is not None:
            raise UsageError(f"{what} is in metres, as the program that made it is: no unit")
        if robot is None:
            raise FormatError(
                f"{what} needs the robot that it moves: {ROBOT}, its URDF or MJCF "
                "(robot= in Python)"
            )
        body = _later("robots.files", "read_robot")(robot)
        own = {} if in_metres else {"unit": unit}
        return _later(f"robots.{module}")(data, body, **own, **options)

    return call


FORMATS = (
    Format("BVH", (".bvh",), bvh.probe, bvh.read, bvh.write),
    Format(
        "AMC",
        (".amc",),
        amc.probe,
        amc.read,
        amc.write,
        beside=(".asf", amc.write_skeleton),
        find_skeleton=amc.find_skeleton,
        needs="its .asf",
    ),
    Format("ASF", (".asf",), asf.probe, amc.rest_pose),
    Format("npz", (".npz",), clip_npz.probe, clip_npz.read, clip_npz.write, holds=("all",)),
    Format(
        "AMASS",
        (".npz",),
        probes.amass,
        _later("amass"),
        dialects=("amass",),
        options=("body_model",),
    ),
    Format(
        "npz of vertices",
        (".npz",),
        vertices_npz.probe,
        vertices_npz.read,
        vertices_npz.write,
        kinds=("vertices",),
    ),
    Format("PC2", (".pc2",), pc2.probe, pc2.read, pc2.write, kinds=("vertices",)),
    Format("MDD", (".mdd",), mdd.probe, mdd.read, mdd.write, kinds=("vertices",)),
    *(
        Format(
            name,
            endings,
            probe,
            _later("gltf"),
            writer,
            holds=("roots", "scales", "times"),
            names_beside=_later("gltf_file", "names_beside"),
            names=_later("gltf", "names"),
            left_out=_later("gltf", "left_out"),
            options=("clip", "fps", "beside"),
        )
        for name, endings, probe, writer in (
            ("VRM animation", (".vrma",), probes.vrm_animation, _later("vrm", "write")),
            ("glTF", (".glb",), glb.probe, glb.write),
            ("glTF as text", (".gltf",), probes.gltf_text, glb.write_text),
        )
    ),
    # known by content alone: other .txt and .json files of a folder are no motions
    Format("DeepMimic", (), probes.deepmimic, _later("deepmimic")),
    Format(
        "TRC",
        (".trc",),
        probes.trc,
        _later("trc"),
        _later("trc", "write"),
        holds=("roots", "times"),
    ),
    Format(
        "robot csv",
        (".csv",),
        probes.robot_table,
        _of_robot("csv", "a table of a robot's motion", in_metres=False),
        _later("robots.exports", "write_csv"),
        holds=("roots",),
        needs=ROBOT,
        options=ROBOT_OPTIONS,
    ),
    Format(
        "qpos npz",
        (".npz",),
        probes.qpos,
        _of_robot("qpos", "a file of qpos"),
        dialects=("qpos",),
        needs=ROBOT,
        options=ROBOT_OPTIONS,
    ),
    Format(
        "tracking npz (mjlab, BeyondMimic)",
        (".npz",),
        probes.tracking,
        _of_robot("tracking_npz", "a tracking file (joint_pos, body_pos_w)"),
        dialects=("mjlab", "beyondmimic"),
        needs=ROBOT,
        options=ROBOT_OPTIONS,
    ),
    Format(
        "pickled motion (GMR, ASAP, ProtoMotions)",
        (".pkl", ".pickle", ".pt", ".motion"),
        probes.pickled,
        _of_robot("pickled", "a pickled motion"),
        dialects=("gmr", "protomotions"),
        needs=f"{ROBOT}, --allow-pickle",
        options=(*ROBOT_OPTIONS, "clip", "allow_pickle"),
    ),
    Format(
        "FBX",
        (".fbx",),
        probes.fbx,
        _later("fbx"),
        names=_later("fbx", "names"),
        needs="mocpack[fbx]",
        options=("clip", "fps"),
    ),
    *(
        Format(
            name,
            endings,
            probe,
            _later("usd"),
            _later("usd_write", writer),
            needs="mocpack[usd]",
            holds=("roots", "scales", "times"),
            names_beside=_later("usd", "names_beside"),
            names=_later("usd", "names"),
            options=("clip", "fps", "beside"),
        )
        for name, endings, probe, writer in (
            ("USD", (".usdc", ".usd"), probes.usd_binary, "write"),
            ("USD as text", (".usda",), probes.usd_text, "write_text"),
            ("USD package", (".usdz",), probes.usd_package, "write_package"),
        )
    ),
    Format(
        "C3D",
        (".c3d",),
        probes.c3d,
        _later("c3d"),
        _later("c3d", "write"),
        holds=("roots",),
        write_scene=_later("c3d", "write_scene"),
        names=_later("c3d", "names"),
        options=("clip",),
    ),
)


@dataclass(frozen=True)
class BodyDialect:
    """How some collection of bodies in motion wants its files, which share their extension."""

    extensions: tuple[str, ...]
    write: Callable[[AnyClip], bytes]


BODY_DIALECTS = {"amass": BodyDialect((".npz",), _later("amass", "write"))}


def extensions(*, writable: bool = False) -> list[str]:
    """Return the extensions that can be read, or written."""
    able = [f for f in FORMATS if (f.write if writable else f.read)]
    return sorted({e for f in able for e in f.extensions})


def read_file(
    path: str | Path,
    *,
    unit: float | None = None,
    skeleton: str | Path | None = None,
    data: bytes | None = None,
    **options: Any,
) -> AnyClip:
    """Read a motion file; complaints name the file.

    `skeleton` is the skeleton file of a motion file that needs one (the .asf of an .amc; other
    formats have their own). Left out, it is looked for beside the motion. `data` is what the file
    holds, where somebody has read it: a pipe can be read only once. `options` are those of
    `read_bytes`.
    """
    path = Path(path)
    data = contents(path) if data is None else data
    chosen = _format_of(data, str(path))
    if chosen.find_skeleton is None:
        return read_bytes(data, name=str(path), unit=unit, beside=files_beside(path), **options)
    companion = _companion(chosen, path, skeleton)
    assert companion is not None
    name = f"{path} (skeleton {companion})"
    return read_bytes(data, name=name, unit=unit, skeleton=contents(companion), **options)


def contents(path: str | Path) -> bytes:
    """Return the bytes of a file or a pipe, opened once; more than `MAX_FILE` is refused."""
    with Path(path).open("rb") as file:
        found = os.fstat(file.fileno())
        if found.st_size > MAX_FILE:
            raise _too_large(str(path))
        return file.read() if S_ISREG(found.st_mode) else stream_contents(file, str(path))


def stream_contents(stream: BinaryIO, name: str) -> bytes:
    """Return the bytes of an open stream, `name` for complaints."""
    # a pipe does not say how much will come, so it is counted as it comes
    data = bytearray()
    while part := stream.read(READ_AT_ONCE):
        data += part
        if len(data) > MAX_FILE:
            raise _too_large(name)
    return bytes(data)


def read_bytes(
    data: bytes,
    *,
    name: str = "input",
    unit: float | None = None,
    skeleton: bytes | None = None,
    beside: Callable[[str], bytes] | None = None,
    **options: Any,
) -> AnyClip:
    """Read a motion file's bytes: by content first, by the extension of `name` second.

    `skeleton` is the bytes of the skeleton file, for formats that need one, and `beside` returns
    those of a file beside this one. `options` are for formats that take them: `clip`, which of
    several clips; `fps`, the frames a second to sample at, or that a robot's table has;
    `body_model` and `robot`, files; `quaternion`, the order of a robot's.
    """
    chosen = _format_of(data, name)
    if chosen.find_skeleton is not None and skeleton is None:
        raise FormatError(f"{name}: {chosen.name} needs a skeleton file (--skeleton FILE)")
    extra: dict[str, Any] = {} if chosen.find_skeleton is None else {"skeleton": skeleton}
    for option, value in options.items():
        if value is not None and option in REFUSED and option not in chosen.options:
            raise UsageError(f"{name}: {chosen.name} {REFUSED[option]}")
    extra |= {option: value for option, value in options.items() if option in chosen.options}
    extra |= {"beside": beside} if "beside" in chosen.options else {}
    assert chosen.read is not None
    try:
        # of numbers that cannot be, readers and clips complain; numpy's warnings would come before
        with np.errstate(all="ignore"):
            clip = chosen.read(data, unit=unit, **extra)
            check_reach(clip)
    except (FormatError, UsageError) as error:
        raise type(error)(f"{name}: {error}") from error
    except UnsupportedClipError as error:
        raise CorruptionError(f"{name}: {error}") from error
    return clip


def clip_names_in(
    data: bytes, *, name: str = "input", beside: Callable[[str], bytes] | None = None
) -> list[str]:
    """Return the names of the clips in a motion file's bytes; none of a format of one clip."""
    chosen = _format_of(data, name)
    if chosen.names is None:
        return []
    given = {"beside": beside} if "beside" in chosen.options else {}
    try:
        return chosen.names(data, **given)
    except FormatError as error:
        raise type(error)(f"{name}: {error}") from error


def left_out(
    data: bytes, *, name: str = "input", beside: Callable[[str], bytes] | None = None
) -> list[str]:
    """Return what a motion file holds that is no motion, in words, where its reader can say so."""
    chosen = _format_of(data, name)
    if chosen.left_out is None:
        return []
    given = {"beside": beside} if "beside" in chosen.options else {}
    return chosen.left_out(data, **given)


def format_name(data: bytes, name: str) -> str:
    """Return what a motion file is, in a word."""
    return _format_of(data, name).name


def clip_names_of(path: str | Path) -> list[str]:
    """Return the names of the clips in a motion file; none of a format of one clip."""
    return clip_names_in(contents(path), name=str(path), beside=files_beside(path))


def files_beside(path: str | Path) -> Callable[[str], bytes]:
    """Return a function that returns the bytes of a file by its path from where `path` is."""
    return lambda relative: contents(Path(path).parent / relative)


def write_bytes(clip: AnyClip, extension: str, dialect: str | None = None) -> bytes:
    """Return the clip as a file of that extension; of a format of two files, as that one.

    A `dialect` is how some program that trains robots wants its files.
    """
    if dialect is not None:
        chosen_dialect = written_dialect(dialect, extension)
        if isinstance(chosen_dialect, BodyDialect):
            return chosen_dialect.write(clip)
        made: bytes = _later("robots.exports", "write")(clip, dialect, extension)
        return made
    kind = clip.header.kind
    able = [f for f in FORMATS if kind in f.kinds]
    writers = {e: (f.write, f) for f in able if f.write for e in f.extensions}
    writers |= {f.beside[0]: (f.beside[1], f) for f in able if f.beside}
    if extension.lower() not in writers:
        known = [f for f in FORMATS if extension.lower() in f.extensions]
        read_alone = [f.name for f in known if not f.write and not f.dialects]
        why = f": {read_alone[0]} is read, not written" if read_alone else ""
        raise UsageError(
            f"cannot write a clip of {kind} as {extension!r}{why}; "
            f"mocpack writes it as: {', '.join(_writable(kind))}"
        )
    write, chosen = writers[extension.lower()]
    return write(_fitted(clip, chosen))


def holds_scenes(extension: str) -> bool:
    """Say whether one file of that extension can be written with several clips."""
    return any(f.write_scene and extension.lower() in f.extensions for f in FORMATS)


def write_scene_bytes(clips: Mapping[str, AnyClip], extension: str) -> bytes:
    """Return several clips of one clock as one file of that extension."""
    chosen = next(f for f in FORMATS if f.write_scene and extension.lower() in f.extensions)
    assert chosen.write_scene is not None
    return chosen.write_scene({name: _fitted(clip, chosen) for name, clip in clips.items()})


def written_dialect(name: str, extension: str | None = None) -> Any:
    """Return the dialect of that name; complains of one that is not, or has other files."""
    found = BODY_DIALECTS.get(name)
    if found is None:
        return _later("robots.exports", "dialect")(name, extension)
    if extension is not None and extension.lower() not in found.extensions:
        raise UsageError(
            f"files of {name} end in {' or '.join(found.extensions)}, not {extension!r}"
        )
    return found


def _fitted(clip: AnyClip, chosen: Format) -> AnyClip:
    """Return what of a clip a format holds; what changes a pose or its time is never left out."""
    if not isinstance(clip, Clip) or "all" in chosen.holds:
        return clip
    if clip.header.is_scaled and "scales" not in chosen.holds:
        raise UnsupportedClipError(f"{chosen.name} holds no scales, and this clip has some")
    if clip.extras.times is not None and "times" not in chosen.holds:
        raise UnsupportedClipError(
            f"{chosen.name} holds even times alone, and this clip's frames are not evenly spaced; "
            "mocpack convert --fps 30 (clip.resample(30)) samples it evenly"
        )
    return clip if "roots" in chosen.holds else plain(clip)


def files_to_write(path: str | Path) -> list[Path]:
    """Return the files that writing `path` makes: itself, and what belongs beside it, first."""
    path = Path(path)
    for f in FORMATS:
        if path.suffix.lower() in f.extensions and f.beside:
            return [path.with_suffix(f.beside[0]), path]
    return [path]


def files_to_read(path: str | Path, *, skeleton: str | Path | None = None) -> list[Path]:
    """Return the files that reading `path` opens: itself, and those that belong to it."""
    return [Path(path), *companions(path, skeleton=skeleton)[0]]


def companions(path: str | Path, *, skeleton: str | Path | None = None) -> tuple[list[Path], bool]:
    """Return the files that are read with one, and whether their names stand in it.

    Otherwise they are looked for, and files that come and go beside it may change which they are.
    """
    path = Path(path)
    if not path.is_file():
        return [], False
    with path.open("rb") as file:
        chosen = _format_of(file.read(PROBED), str(path))
    if chosen.find_skeleton is not None:
        companion = _companion(chosen, path, skeleton)
        return ([] if companion is None else [companion]), False
    if chosen.names_beside is None:
        return [], True
    found = chosen.names_beside(contents(path), files_beside(path))
    return [path.parent / name for name in found], True


def names_beside(
    data: bytes, *, name: str = "input", beside: Callable[[str], bytes] | None = None
) -> list[str]:
    """Return the paths of the files that a motion file's bytes name, and `beside` would open."""
    chosen = _format_of(data, name)
    return [] if chosen.names_beside is None else chosen.names_beside(data, beside)


def robot_files(path: str | Path) -> list[Path]:
    """Return the files that reading a robot opens: its own, and those that it includes."""
    found: list[Path] = _later("robots.files", "robot_files")(path)
    return found


def write_file(
    clip: AnyClip,
    path: str | Path,
    *,
    dialect: str | None = None,
    into: str | Path | None = None,
) -> None:
    """Write the clip in the format of the path's extension, atomically.

    A format of two files gets both: walk.amc comes with walk.asf beside it. `dialect` as in
    `write_bytes`. `into` names a glTF file that the clip is put into as an animation.
    """
    path = Path(path)
    if into is not None:
        write_atomically(_put_into(clip, Path(into), path), path)
        return
    if dialect is not None:
        write_atomically(write_bytes(clip, path.suffix, dialect), path)
        return
    if path.suffix.lower() not in _writable(clip.header.kind):
        owner = next((f for f in FORMATS if f.beside and f.beside[0] == path.suffix.lower()), None)
        if owner is not None:
            raise UsageError(
                f"{path}: holds no motion; write {path.with_suffix(owner.extensions[0])}, "
                f"which makes {path.name} too"
            )
    write_all_atomically({p: write_bytes(clip, p.suffix) for p in files_to_write(path)})


def _put_into(clip: AnyClip, character: Path, path: Path) -> bytes:
    """Return a character's file with the clip in it."""
    if path.suffix.lower() not in CHARACTERS:
        raise UsageError(f"{path}: a clip is put into a character as {', '.join(CHARACTERS)} alone")
    if not isinstance(clip, Clip):
        raise UsageError(f"{path}: a vertex animation has no joints to put into a character")
    data, binary = contents(character), path.suffix.lower() != ".gltf"
    try:
        made: bytes = _later("gltf_into", "write")(
            clip, data, beside=files_beside(character), binary=binary
        )
    except (FormatError, UsageError) as error:
        raise type(error)(f"{character}: {error}") from error
    return made


def _writable(kind: str) -> list[str]:
    return sorted({e for f in FORMATS if f.write and kind in f.kinds for e in f.extensions})


def _companion(chosen: Format, path: Path, skeleton: str | Path | None) -> Path | None:
    """Return the skeleton file that a motion file needs: the one named, or the one beside it."""
    if chosen.find_skeleton is None:
        return None
    return Path(skeleton) if skeleton is not None else chosen.find_skeleton(path)


def _too_large(name: str) -> FormatError:
    return FormatError(f"{name}: larger than {MAX_FILE >> 30} GiB")


def _format_of(data: bytes, name: str) -> Format:
    found = [f for f in FORMATS if f.probe(data)]
    found = found or [f for f in FORMATS if Path(name).suffix.lower() in f.extensions]
    if not found or found[0].read is None:
        what = "not a motion file" if not found else f"{found[0].name}, not a kind of motion file"
        hint = advice(data, name)
        raise FormatError(
            f"{name}: {what} that mocpack reads; {hint or 'it reads: ' + ', '.join(extensions())}"
        )
    return found[0]
