"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated

import typer

from mocpack.codec import EFFORTS
from mocpack.rate.presets import PRESETS, describe_presets

MAX_PORT = 65_535


def complete_codec(incomplete: str) -> list[str]:
    """Return the codecs that complete a word in a shell."""
    from mocpack.codecs.registry import codec_ids

    return [name for name in codec_ids() if name.startswith(incomplete)]


def complete_from(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a function that completes a word in a shell to one of these names."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


CodecSpec = Annotated[
    str,
    typer.Option(
        "--codec",
        help="Choose the codec and its parameters, like wavelet:ratio=20. auto uses keysine, or "
        "lossless if keysine cannot keep the error.",
        autocompletion=complete_codec,
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        help=f"Choose the maximum error by purpose: {describe_presets()}.",
        autocompletion=complete_from(PRESETS),
    ),
]
MaxError = Annotated[
    str | None,
    typer.Option(help="Limit the maximum error, like 2mm; keysine keeps 1mm by default."),
]
JointError = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN=BOUND",
        help="Give the joints that match a pattern their own bound, like '*Finger*=5mm' or, for "
        "angles, left_knee=0.1deg; may be repeated, and later patterns win.",
    ),
]
MeanError = Annotated[str | None, typer.Option(help="Aim for this mean error, like 2mm.")]
MaxAngle = Annotated[
    str | None,
    typer.Option(
        help="Limit the error of hinge angles and joint rotations, like 0.3deg or 5mrad; alone or "
        "together with --max-error."
    ),
]
Lossless = Annotated[bool, typer.Option("--lossless", help="Keep every number exactly.")]
Effort = Annotated[
    str, typer.Option(help="Choose fast, default or best.", autocompletion=complete_from(EFFORTS))
]
OwnEffort = Annotated[
    str | None,
    typer.Option(
        "--effort",
        help="Choose fast, default or best; without it, the codec decides. fast takes about a "
        "tenth of the time of default for files about 20 % larger, best about 8 times as long for "
        "5 % smaller ones.",
        autocompletion=complete_from(EFFORTS),
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="List the files that would be written, without writing them."),
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite existing files.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print a JSON list with ok and error for each result.")
]
Unit = Annotated[
    str | None,
    typer.Option(
        help="Set the length unit of a file without one: m, cm, mm, inch, or like 5.644cm."
    ),
]
Frames = Annotated[
    str | None, typer.Option(help="Use only these frames, like 1: or 10:200; the first is 0.")
]
Seconds = Annotated[
    str | None,
    typer.Option(help="Use only these seconds, like 2:5 or 1.5:; 0 is the first frame."),
]
Speed = Annotated[
    float | None,
    typer.Option(help="Play the motion at this speed, like 0.5 for half; keeps the frame rate."),
]
Loop = Annotated[
    bool,
    typer.Option(
        "--loop",
        help="Join the ends, so that the motion repeats without a jump; a walk stays on the spot.",
    ),
]
PackFrames = Annotated[
    str, typer.Option("--frames", help="Keep only these frames of every file; 1: drops a T-pose.")
]
UpAxis = Annotated[
    str | None,
    typer.Option("--up", help="Set the up axis of a file that states none: x, y or z."),
]
SkeletonFile = Annotated[
    str | None,
    typer.Option("--skeleton", help="Read the skeleton of an .amc file from this .asf file."),
]
ClipName = Annotated[
    str | None,
    typer.Option(
        "--clip",
        help="Choose a motion of a file by name, or by number from 0: an animation, a take, a "
        "subject, or a clip of a scene or an archive.",
    ),
]
Fps = Annotated[
    float | None,
    typer.Option(
        "--fps",
        help="Resample to this frame rate, or set the rate of a file that states none, like a "
        "robot table (default 30).",
    ),
]
BodyModel = Annotated[
    str | None,
    typer.Option("--body-model", help="Use this SMPL-H or SMPL-X body (.npz) for an AMASS motion."),
]
RobotFile = Annotated[
    str | None,
    typer.Option("--robot", help="Use this robot (URDF or MJCF) for a .csv, .npz or .pkl file."),
]
Quaternion = Annotated[
    str | None,
    typer.Option("--quaternion", help="Set the order of a robot's quaternions: xyzw or wxyz."),
]
IgnoreLimits = Annotated[
    bool,
    typer.Option(
        "--ignore-limits",
        help="Read a robot's motion although its joints exceed the robot's limits, as they do if "
        "columns are in a wrong order or angles in degrees.",
    ),
]
AllowPickle = Annotated[
    bool,
    typer.Option(
        "--allow-pickle", help="Read pickle files. Only arrays and plain values load; no code runs."
    ),
]
AllowOutside = Annotated[
    bool,
    typer.Option(
        "--allow-outside",
        help="Let a file refer to files outside its folder; use it only for files you trust.",
    ),
]
BakeScales = Annotated[
    bool,
    typer.Option(
        "--bake-scales",
        help="Turn scales into bone lengths and joint positions; constant uniform scales are "
        "always baked for formats without scales.",
    ),
]
FindHinges = Annotated[
    bool,
    typer.Option("--find-hinges", help="Detect joints that rotate about one axis, and list them."),
]
MemoryLimit = Annotated[
    str,
    typer.Option(
        help="Limit the memory for decoding a .mocp file, like 4GB; none removes the limit."
    ),
]
DEFAULT_MEMORY_LIMIT = "1GB"
Workers = Annotated[
    int, typer.Option("--workers", "-j", help="Run this many worker processes; 0 uses all cores.")
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue an interrupted batch: skip outputs that are complete and unchanged.",
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", help="Write to this file or folder; - writes to standard output."
    ),
]
Format = Annotated[
    str | None,
    typer.Option("--to", help="Write this format, like bvh; default: the extension of the output."),
]
Dialect = Annotated[
    str | None,
    typer.Option(
        "--as",
        help="Choose the layout: mjlab, beyondmimic, gmr, protomotions, qpos, csv or bones-seed "
        "for robots, amass or humanml3d for bodies.",
    ),
]
PackInputs = Annotated[
    list[str], typer.Argument(help="Motion files, folders, patterns or s3:// URLs.")
]
PlanFile = Annotated[
    str, typer.Argument(help="Plan file (.jsonl) written by mocpack cluster plan.")
]
Archive = Annotated[
    str, typer.Option("--output", "-o", help="Archive to write (.mocps), a path or an s3:// URL.")
]
ShardSize = Annotated[
    str | None,
    typer.Option(help="Split the archive into files of about this size, like 256MB."),
]
Report = Annotated[
    str | None,
    typer.Option("--report", help="Write the rejected files to this file, as JSON lines."),
]
ArchiveSource = Annotated[str, typer.Argument(help="Archive: a path, an s3:// or an https:// URL.")]
Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        help="Select clips by an SQL expression, like \"subject = 's3' and seconds > 5\".",
    ),
]
