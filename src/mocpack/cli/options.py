"""Options that several commands take, said once."""

from __future__ import annotations

from typing import Annotated

import typer

from mocpack.presets import describe_presets

EFFORTS = ("fast", "default", "best")
LAST_PORT = 65_535


def complete_codec(incomplete: str) -> list[str]:
    """Return the codecs that a shell may offer."""
    from mocpack.registry import codec_ids

    return [name for name in codec_ids() if name.startswith(incomplete)]


def complete_preset(incomplete: str) -> list[str]:
    """Return the presets that a shell may offer."""
    from mocpack.presets import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def complete_effort(incomplete: str) -> list[str]:
    """Return the efforts that a shell may offer."""
    return [name for name in EFFORTS if name.startswith(incomplete)]


CodecSpec = Annotated[
    str,
    typer.Option(
        "--codec",
        help="Codec and parameters, like wavelet:ratio=20; auto: keysine, or lossless where "
        "keysine cannot keep the bound.",
        autocompletion=complete_codec,
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        help=f"Largest error by purpose: {describe_presets()}.", autocompletion=complete_preset
    ),
]
MaxError = Annotated[
    str | None,
    typer.Option(help="Largest error anywhere, like 1mm, which keysine keeps by default."),
]
MeanError = Annotated[str | None, typer.Option(help="Mean error, like 2mm.")]
Lossless = Annotated[bool, typer.Option("--lossless", help="Every number comes back.")]
Effort = Annotated[str, typer.Option(help="fast, default or best.", autocompletion=complete_effort)]
OwnEffort = Annotated[
    str | None,
    typer.Option(
        "--effort",
        help="fast, default or best; else the codec's own.",
        autocompletion=complete_effort,
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be made of what, and make nothing.")
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite files that exist.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print a JSON list, with ok and error for each.")
]
Unit = Annotated[
    str | None,
    typer.Option(help="One unit of a file that does not say: m, cm, mm, inch, or like 5.644cm."),
]
Frames = Annotated[
    str | None, typer.Option(help="Only these frames, like 1: or 10:200 (0 is the first).")
]
SkeletonFile = Annotated[
    str | None, typer.Option("--skeleton", help="The .asf of an .amc, where it is not beside it.")
]
ClipName = Annotated[
    str | None, typer.Option("--clip", help="Which clip of a scene, where it has several.")
]
Animation = Annotated[
    str | None,
    typer.Option(
        "--animation",
        "--clip",
        help="Which animation, subject or clip of a file of several, by name or number from 0.",
    ),
]
Fps = Annotated[
    float | None,
    typer.Option(
        "--fps",
        help="Frames a second to sample a glTF, FBX, USD or .mocp at, or that a robot's table "
        "has (30).",
    ),
]
BodyModel = Annotated[
    str | None,
    typer.Option("--body-model", help="The .npz of the SMPL-H or SMPL-X body of an AMASS motion."),
]
RobotFile = Annotated[
    str | None,
    typer.Option("--robot", help="The URDF or MJCF of the robot that a csv, npz or pkl moves."),
]
Quaternion = Annotated[
    str | None,
    typer.Option("--quaternion", help="Order of a robot's quaternions, xyzw or wxyz."),
]
AllowPickle = Annotated[
    bool,
    typer.Option("--allow-pickle", help="Read pickles: arrays and plain values, nothing is run."),
]
AllowOutside = Annotated[
    bool,
    typer.Option(
        "--allow-outside", help="Let a file name others outside its folder; only if you trust it."
    ),
]
FindHinges = Annotated[
    bool,
    typer.Option("--find-hinges", help="Look for joints that turn about one axis, and say which."),
]
MemoryLimit = Annotated[
    str,
    typer.Option(help="The most memory that a .mocp file may take, like 4GB; none for no limit."),
]
DEFAULT_MEMORY_LIMIT = "1GB"
Workers = Annotated[
    int, typer.Option("--jobs", "-j", help="Files at a time; 0 for as many as there are cores.")
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with a batch that was stopped: only what is missing, changed or damaged.",
    ),
]
PackInputs = Annotated[
    list[str], typer.Argument(help="Motion files, folders, patterns, s3:// addresses.")
]
PlanFile = Annotated[str, typer.Argument(help="The plan, .jsonl, of mocpack cluster plan.")]
Archive = Annotated[str, typer.Option("--output", "-o", help="The archive, .mocps; s3:// too.")]
KeyPoses = Annotated[
    bool,
    typer.Option(
        "--keys",
        help="Repeat key poses in the trailer: some 5 % larger, and a remote window is one "
        "request of nothing but its own bytes.",
    ),
]
Report = Annotated[
    str | None, typer.Option("--report", help="File for a list of what was refused, JSON lines.")
]
ArchiveSource = Annotated[str, typer.Argument(help="The archive: a path, s3://…, https://…")]
Where = Annotated[
    str | None,
    typer.Option(
        "--where", help="SQL condition on the catalogue: \"subject = 's3' and seconds > 5\"."
    ),
]
