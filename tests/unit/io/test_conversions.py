"""Conversions between all formats: positions, and the reported losses.

`conversions.txt` has a line for each pair; `python tests/unit/io/test_conversions.py` rewrites it.
"""

import sys
import tempfile
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2] / folder) for folder in ("js", "support")]

from motion_files import SKELETONS, VERTICES

import mocpack
from mocpack.cli.convert import read_back
from mocpack.errors import MocpackError
from mocpack.io import conversion_report
from mocpack.model.clip import Clip

KNOWN = Path(__file__).with_name("conversions.txt")
TARGETS = (".bvh", ".amc", ".npz", ".glb", ".gltf", ".vrma", ".trc", ".c3d", ".csv", ".usdc")
TARGETS += (".mocp",)
VERTEX_TARGETS = (".npz", ".pc2", ".mdd", ".mocp")
ROUNDING = 1e-5  # of a clip's reach: single precision, over a chain of joints


def conversions(source, folder):
    """Yield for each target the reported losses, the displacement of joints, and its limit."""
    path, options = (SKELETONS | VERTICES)[source](folder)
    clip = mocpack.read(path, **options)
    clip = clip.frames(0, min(clip.frame_count, 20))
    for target in TARGETS if source in SKELETONS else VERTEX_TARGETS:
        bound = (1e-3 if target == ".mocp" else ROUNDING) * reach(clip)
        words, moved = converted(clip, folder / f"goal{target}", options, bound)
        yield f"{source} → {target}: {words}", moved, bound


def converted(clip, goal, options, bound):
    """Convert and read back; return the reported losses and the displacement of joints."""
    try:
        if goal.suffix == ".mocp":
            codec = "keysine:effort=fast" if isinstance(clip, Clip) else "latent-spline"
            goal.write_bytes(mocpack.encode(clip, codec, max_error=mocpack.m(bound)))
        else:
            mocpack.write(clip, goal)
    except MocpackError as error:
        return f"refused: {str(error)[:70]}", 0.0
    if goal.suffix == ".csv" and "robot" not in options:
        return "is written, and needs a robot to be read", 0.0
    back, guessed = read_back(clip, str(goal), options if goal.suffix == ".csv" else {})
    words = conversion_report.describe(clip, back, guessed).rpartition("; ")[0]
    return words, conversion_report.max_displacement(clip, back)


def reach(clip):
    points = clip.positions() if isinstance(clip, Clip) else clip.vertices
    return 1 + abs(points).max()


@pytest.mark.parametrize("source", [*SKELETONS, *VERTICES])
def test_only_documented_losses_occur_and_joints_stay_in_place(source, tmp_path):
    pytest.importorskip("ufbx")
    pytest.importorskip("pxr")
    known = KNOWN.read_text(encoding="utf-8").splitlines()
    found = list(conversions(source, tmp_path))
    assert [line for line, *_ in found] == [k for k in known if k.startswith(f"{source} → ")]
    assert {line: moved for line, moved, bound in found if not moved <= bound} == {}


def main():
    lines = []
    for source in [*SKELETONS, *VERTICES]:
        with tempfile.TemporaryDirectory() as folder:
            for line, moved, _ in conversions(source, Path(folder)):
                lines.append(line)
                print(line, moved)
    KNOWN.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
