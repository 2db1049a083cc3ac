"""The table of formats: how each kind of file is recognized, read and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from mocpack.errors import FormatError, TruncatedError, UsageError
from mocpack.io import amc, asf, bvh, clip_npz, glb, mdd, pc2, probes, vertices_npz
from mocpack.io.conversion_advice import suggest_conversion
from mocpack.io.up_axis import read_with_up_axis
from mocpack.model.clip import AnyClip

ROBOT = "--robot FILE"
ROBOT_OPTIONS = ("robot", "fps", "quaternion", "ignore_limits")


@dataclass(frozen=True)
class Format:
    """One row of the table: how to recognize, read and write a kind of file.

    Attributes
    ----------
    write : callable, optional
        None if mocpack only reads this format.
    kinds : tuple of str
        The clips it can hold: "skeleton" (`Clip`), "vertices" (`VertexClip`).
    holds : tuple of str
        What else of a skeletal clip it can hold: "scales", uneven "times", several "roots", or
        "all". Clips with scales or times are rejected if the format cannot hold them.
    second_file : (extension, writer), optional
        The second file of a format that uses two.
    write_scene : callable, optional
        Writes several clips by name into one file.
    find_skeleton : callable, optional
        Finds the skeleton file of a motion file; takes a function that lists a folder's.
    list_external_files : callable, optional
        Returns the paths of the external files that a file refers to.
    list_clips : callable, optional
        Returns the names of the clips in a file, if it may hold several.
    count_ignored : callable, optional
        Counts the content of a file that its reader ignores, such as meshes.
    dialects : tuple of str
        Names for `--as`, if that chooses the writer instead of the extension.
    needs : str
        What reading it needs besides the file, for users.
    options : tuple of str
        Options of the reader: "clip" (one of several), "fps" (sampling rate), "read_external" (a
        function that opens external files), "body_model", "robot" (files), "quaternion"
        (component order), "up" (up axis), "ignore_limits", "allow_pickle" (both ignored by other
        formats).
    """

    name: str
    extensions: tuple[str, ...]
    probe: Callable[[bytes], bool]
    read: Callable[..., AnyClip]
    write: Callable[..., bytes] | None = None
    kinds: tuple[str, ...] = ("skeleton",)
    holds: tuple[str, ...] = ()
    second_file: tuple[str, Callable[..., bytes]] | None = None
    write_scene: Callable[[Mapping[str, AnyClip]], bytes] | None = None
    find_skeleton: Callable[..., Path] | None = None
    list_external_files: Callable[..., list[str]] | None = None
    list_clips: Callable[..., list[str]] | None = None
    count_ignored: Callable[..., dict[str, int]] | None = None
    dialects: tuple[str, ...] = ()
    needs: str = ""
    options: tuple[str, ...] = ()


def lazy_function(module: str, function: str = "read") -> Callable[..., Any]:
    """Return a function that imports `function` from a module of this package when called."""

    def call(*words: object, **options: object) -> Any:
        return getattr(import_module(f"mocpack.io.{module}"), function)(*words, **options)

    return call


def _robot_reader(module: str, what: str, *, in_meters: bool = True) -> Callable[..., AnyClip]:
    """Return a reader of robot motions that gets the robot from the file given with `--robot`."""

    def call(
        data: bytes,
        *,
        robot: str | Path | None = None,
        unit: float | None = None,
        allow_outside: bool = False,
        ignore_limits: bool = False,
        **options: object,
    ) -> AnyClip:
        if in_meters and unit is not None:
            raise UsageError(f"{what} is always in meters, so it takes no unit")
        if robot is None:
            raise FormatError(
                f"{what} needs the robot that it moves: pass {ROBOT}, its URDF or MJCF (robot= in "
                "Python)"
            )
        body = lazy_function("robots.files", "read_robot")(robot, allow_outside=allow_outside)
        own = {} if in_meters else {"unit": unit}
        clip: AnyClip = lazy_function(f"robots.{module}")(data, body, **own, **options)
        if not ignore_limits:
            lazy_function("robots.limits", "check_limits")(clip, body)
        return clip

    return call


FORMATS = (
    Format("BVH", (".bvh",), bvh.probe, read_with_up_axis(bvh.read), bvh.write, options=("up",)),
    Format(
        "AMC",
        (".amc",),
        amc.probe,
        read_with_up_axis(amc.read),
        amc.write,
        second_file=(".asf", amc.write_skeleton),
        find_skeleton=amc.find_skeleton,
        needs="its .asf",
        options=("up",),
    ),
    Format("ASF", (".asf",), asf.probe, read_with_up_axis(amc.read_rest_pose), options=("up",)),
    Format(
        "npz",
        (".npz",),
        clip_npz.probe,
        read_with_up_axis(clip_npz.read, guess=False),
        clip_npz.write,
        holds=("all",),
        options=("fps", "up"),
    ),
    Format(
        "AMASS",
        (".npz",),
        probes.is_amass,
        lazy_function("amass"),
        dialects=("amass",),
        options=("body_model", "fps"),
    ),
    Format(
        "HumanML3D",
        (".npy",),
        probes.is_npy,
        lazy_function("humanml3d"),
        dialects=("humanml3d",),
        options=("fps",),
    ),
    Format(
        "npz of vertices",
        (".npz",),
        vertices_npz.probe,
        read_with_up_axis(vertices_npz.read, guess=False),
        vertices_npz.write,
        kinds=("vertices",),
        options=("fps", "up"),
    ),
    Format(
        "PC2",
        (".pc2",),
        pc2.probe,
        read_with_up_axis(pc2.read, guess=False),
        pc2.write,
        kinds=("vertices",),
        options=("fps", "up"),
    ),
    Format(
        "MDD",
        (".mdd",),
        mdd.probe,
        read_with_up_axis(mdd.read, guess=False),
        mdd.write,
        kinds=("vertices",),
        options=("up",),
    ),
    *(
        Format(
            name,
            endings,
            probe,
            lazy_function("gltf"),
            writer,
            holds=("roots", "scales", "times"),
            list_external_files=lazy_function("gltf_file", "list_external_files"),
            list_clips=lazy_function("gltf", "list_clips"),
            count_ignored=lazy_function("gltf", "count_ignored"),
            options=("clip", "fps", "read_external"),
        )
        for name, endings, probe, writer in (
            ("VRM animation", (".vrma",), probes.is_vrm_animation, lazy_function("vrm", "write")),
            ("glTF", (".glb",), glb.probe, glb.write),
            ("glTF as text", (".gltf",), probes.is_gltf_text, glb.write_text),
        )
    ),
    # Recognized only by content, because most .txt and .json files are not motions.
    Format("DeepMimic", (), probes.is_deepmimic, lazy_function("deepmimic")),
    Format(
        "TRC",
        (".trc",),
        probes.is_trc,
        read_with_up_axis(lazy_function("trc")),
        lazy_function("trc", "write"),
        holds=("roots", "times"),
        options=("up",),
    ),
    Format(
        "robot csv",
        (".csv",),
        probes.is_robot_table,
        _robot_reader("csv", "a robot motion table", in_meters=False),
        lazy_function("robots.exports", "write_csv"),
        holds=("roots",),
        dialects=("bones-seed",),
        needs=ROBOT,
        options=ROBOT_OPTIONS,
    ),
    Format(
        "qpos npz",
        (".npz",),
        probes.is_qpos,
        _robot_reader("qpos", "a qpos file"),
        dialects=("qpos",),
        needs=ROBOT,
        options=ROBOT_OPTIONS,
    ),
    Format(
        "tracking npz (mjlab, BeyondMimic)",
        (".npz",),
        probes.is_tracking,
        _robot_reader("tracking_npz", "a tracking file (joint_pos, body_pos_w)"),
        dialects=("mjlab", "beyondmimic"),
        needs=ROBOT,
        options=ROBOT_OPTIONS,
    ),
    Format(
        "pickled motion (GMR, ASAP, ProtoMotions)",
        (".pkl", ".pickle", ".pt", ".motion"),
        probes.is_pickled,
        _robot_reader("motion_pickle", "a pickled motion"),
        dialects=("gmr", "protomotions"),
        needs=f"{ROBOT}, --allow-pickle",
        options=(*ROBOT_OPTIONS, "clip", "allow_pickle"),
    ),
    Format(
        "FBX",
        (".fbx",),
        probes.is_fbx,
        lazy_function("fbx"),
        list_clips=lazy_function("fbx", "list_clips"),
        count_ignored=lazy_function("fbx", "count_ignored"),
        needs="mocpack[fbx]",
        options=("clip", "fps"),
    ),
    *(
        Format(
            name,
            endings,
            probe,
            lazy_function("usd"),
            lazy_function("usd_write", writer),
            needs="mocpack[usd]",
            holds=("roots", "scales", "times"),
            list_external_files=lazy_function("usd", "list_external_files"),
            list_clips=lazy_function("usd", "list_clips"),
            count_ignored=lazy_function("usd", "count_ignored"),
            options=("clip", "fps", "read_external"),
        )
        for name, endings, probe, writer in (
            ("USD", (".usdc", ".usd"), probes.is_usd_binary, "write"),
            ("USD as text", (".usda",), probes.is_usd_text, "write_text"),
            ("USD package", (".usdz",), probes.is_usd_package, "write_package"),
        )
    ),
    Format(
        "C3D",
        (".c3d",),
        probes.is_c3d,
        lazy_function("c3d"),
        lazy_function("c3d", "write"),
        holds=("roots",),
        write_scene=lazy_function("c3d", "write_scene"),
        list_clips=lazy_function("c3d", "list_clips"),
        options=("clip", "up"),
    ),
)


# Dialects: file layouts of datasets and training programs, which share their extensions with other
# formats. The first extension is the default.
ROBOT_DIALECTS = {
    "mjlab": (".npz",),
    "beyondmimic": (".npz",),
    "gmr": (".pkl", ".pickle"),
    "protomotions": (".motion", ".pt"),
    "qpos": (".npz",),
    "csv": (".csv",),
    "bones-seed": (".csv",),
}
BODY_DIALECTS = {"amass": (".npz",), "humanml3d": (".npy",)}  # each is a module with a `write`
DIALECTS = ROBOT_DIALECTS | BODY_DIALECTS


def supported_extensions(*, writable: bool = False) -> list[str]:
    """Return the extensions that can be read, or those that can be written."""
    return sorted({e for f in FORMATS if f.write or not writable for e in f.extensions})


def find_format(data: bytes, name: str) -> Format:
    """Return the format of a file, by its content or else by its extension."""
    if not data:
        raise TruncatedError(f"{name}: the file is empty")
    for probed in FORMATS:
        if probed.probe(data):
            return probed
    for named in FORMATS:
        if Path(name).suffix.lower() in named.extensions:
            return named
    hint = suggest_conversion(data, name) or f"it reads: {', '.join(supported_extensions())}"
    raise FormatError(f"{name}: mocpack does not recognize this motion file; {hint}")
