"""Find the clips of benchmarks by name.

The name of a clip is its collection and its file, such as ``cmu/49_02``. The repository contains
the clips that may be redistributed, compressed by `lossless`, in ``benchmarks/clips``. The variable
MOCPACK_DATA names a folder with all other clips; a clip in that folder takes precedence.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mocpack import _api
from mocpack.errors import UsageError
from mocpack.model.clip import AnyClip, Clip, require_skeleton

CHECKOUT = Path(__file__).resolve().parents[3]
COMMITTED = CHECKOUT / "benchmarks" / "clips"
CONTENTS = "clips.csv"  # in COMMITTED: the original of each file
SUFFIXES = (".bvh", ".amc", ".npz", ".mocp")


@dataclass(frozen=True)
class Origin:
    """A collection: the extension of its files, what they show, and the public database."""

    suffix: str
    what: str
    database: str


CMU = "the CMU Graphics Lab Motion Capture Database, mocap.cs.cmu.edu"
ORIGINS = {
    "cmu": Origin(".bvh", "a person at 120 frames per second", f"{CMU}, as BVH by cgspeed"),
    "cmu-train": Origin(
        ".bvh", "a person at 120 frames per second, for training", f"{CMU}, as BVH by cgspeed"
    ),
    "asfamc": Origin(".amc", "a person at 120 frames per second, beside its .asf", CMU),
    "bandai": Origin(
        ".bvh",
        "a person at 30 frames per second",
        "the Bandai Namco Research Motion Dataset, "
        "github.com/BandaiNamcoResearchInc/Bandai-Namco-Research-Motiondataset",
    ),
    "dog": Origin(
        ".bvh",
        "a dog at 60 frames per second",
        "Mode-Adaptive Neural Networks for Quadruped Motion Control, "
        "github.com/sebastianstarke/AI4Animation",
    ),
    "mesh/chickenCrossing": Origin(
        ".npz",
        "Chicken Crossing: vertices of 400 frames, and faces",
        "Microsoft's animation of 1996, handed on with Lengyel's Compression of Time-Dependent "
        "Geometry (1999)",
    ),
    "mesh/horse-gallop": Origin(
        ".npz",
        "a galloping horse: vertices of 48 frames, and faces",
        "Deformation Transfer for Triangle Meshes (Sumner and Popović 2004), "
        "people.csail.mit.edu/sumner/research/deftransfer/data.html",
    ),
}


def data_folder() -> Path | None:
    """Return the folder that MOCPACK_DATA names; None if it is not set."""
    named = os.environ.get("MOCPACK_DATA")
    if not named:
        return None
    if not Path(named).is_dir():
        raise UsageError(f"MOCPACK_DATA must name a folder, got {named}")
    return Path(named)


def find_clip(name: str, data: Path | None = None) -> Path | None:
    """Return the file of a clip; None if it is missing.

    Parameters
    ----------
    name : str
        Such as ``cmu/49_02``.
    data : path, optional
        The only folder to look in.
    """
    for folder in _list_folders(data):
        for suffix in SUFFIXES:
            path = folder / (name + suffix)
            if path.is_file():
                return path
    return None


def require_clip(name: str, data: Path | None = None) -> Path:
    """Return the file of a clip; the error for a missing one says where to get it."""
    path = find_clip(name, data)
    if path is None:
        raise UsageError(f"missing clip: {describe_missing(name)}. {_explain_places(data)}")
    return path


def find_clips_of(names: Sequence[str], data: Path | None = None) -> dict[str, Path]:
    """Return the files of those clips that are present; raise `UsageError` if none is."""
    paths = {name: path for name in names if (path := find_clip(name, data)) is not None}
    if not paths:
        missing = "; ".join(map(describe_missing, names))
        raise UsageError(f"found none of these clips: {missing}. {_explain_places(data)}")
    return paths


def collection(name: str, data: Path | None = None) -> list[Path]:
    """Return the files of a collection such as ``cmu``, sorted by name."""
    for folder in _list_folders(data):
        for suffix in SUFFIXES:
            paths = sorted((folder / name).glob(f"*{suffix}"))
            if paths:
                return paths
    origin = ORIGINS[name]
    raise UsageError(
        f"there is no folder {name}/ of {origin.suffix} files ({origin.what}), "
        f"from {origin.database}. {_explain_places(data)}"
    )


def load_clip(name: str, data: Path | None = None) -> Clip:
    """Read a skeletal clip by name. BVH files of CMU start with an added T-pose."""
    return require_skeleton(load_any(name, data), f"{name}: the measurement")


def load_any(name: str, data: Path | None = None) -> AnyClip:
    """Read a clip by name."""
    return _api.read(require_clip(name, data))


def describe_missing(name: str) -> str:
    """Return the file of a missing clip, what it shows, and its public database."""
    origin = ORIGINS.get(name) or ORIGINS[name.partition("/")[0]]
    return f"{name}{origin.suffix} ({origin.what}; from {origin.database})"


def source_size(path: Path) -> int:
    """Return the size of a clip's file in bytes; for a clip of the repository, of its original."""
    if path.suffix == ".mocp" and path.is_relative_to(COMMITTED):
        name = path.relative_to(COMMITTED).with_suffix("").as_posix()
        with (COMMITTED / CONTENTS).open(newline="") as file:
            return next(int(r["source_bytes"]) for r in csv.DictReader(file) if r["clip"] == name)
    return path.stat().st_size


def _list_folders(data: Path | None) -> list[Path]:
    if data is not None:
        return [data]
    named = data_folder()
    return [COMMITTED] if named is None else [named, COMMITTED]


def _explain_places(data: Path | None) -> str:
    looked = ", ".join(map(str, _list_folders(data)))
    clone = "" if COMMITTED.is_dir() else "; or run it in a clone, which has CMU's clips"
    return (
        "Save each under that name in a folder, such as FOLDER/cmu/49_02.bvh, and set "
        f"MOCPACK_DATA=FOLDER or pass --data FOLDER{clone} (looked in {looked})"
    )
