"""From each format to each where meaning allows: what comes back, and what is said to be lost.

`conversions.txt` beside this holds a line for each pair; `python tests/unit/io/test_conversions.py`
writes it anew, on purpose.
"""

import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2] / "js"))

from motion_files import SKELETONS, VERTICES

import mocpack
from mocpack.cli.convert import read_back
from mocpack.clip import Clip
from mocpack.errors import MocpackError
from mocpack.io import losses

KNOWN = Path(__file__).with_name("conversions.txt")
TARGETS = (".bvh", ".amc", ".npz", ".glb", ".gltf", ".vrma", ".trc", ".c3d", ".csv")
TARGETS += (".usdc", ".mocp")
VERTEX_TARGETS = (".npz", ".pc2", ".mdd", ".mocp")
ROUNDING = 1e-5  # of a clip's reach: single precision, over a chain of joints
PAIRS = [(source, target) for source in SKELETONS for target in TARGETS]
PAIRS += [(source, target) for source in VERTICES for target in VERTEX_TARGETS]


def converted(source, target, folder):
    """Convert and read back; return what was lost in words, how far joints moved, how far may."""
    path, options = (SKELETONS | VERTICES)[source](folder)
    clip = mocpack.read(path, **options)
    clip = clip.frames(0, min(clip.frame_count, 20))
    goal = folder / f"goal{target}"
    bound = (1e-3 if target == ".mocp" else ROUNDING) * reach(clip)
    try:
        if target == ".mocp":
            codec = "keysine:effort=fast" if isinstance(clip, Clip) else "latent-spline"
            goal.write_bytes(mocpack.encode(clip, codec, max_error=mocpack.m(bound)))
        else:
            mocpack.write(clip, goal)
    except MocpackError as error:
        return f"refused: {str(error)[:70]}", None, None
    if target == ".csv" and "robot" not in options:
        return "is written, and needs a robot to be read", None, None
    back, guessed = read_back(clip, str(goal), options if target == ".csv" else {})
    words = losses.describe(clip, back, guessed).rpartition("; ")[0]
    return words, losses.largest_move(clip, back), bound


def reach(clip):
    points = clip.positions() if isinstance(clip, Clip) else clip.vertices
    return 1 + abs(points).max()


def line(source, target, words):
    return f"{source} → {target}: {words}"


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_what_is_lost_is_what_is_known_and_joints_stay_in_place(source, target, tmp_path):
    words, moved, bound = converted(source, target, tmp_path)
    assert line(source, target, words) in KNOWN.read_text(encoding="utf-8").splitlines()
    if moved is not None:
        assert moved <= bound


def main():
    import tempfile

    lines = []
    for source, target in PAIRS:
        with tempfile.TemporaryDirectory() as folder:
            words, moved, _ = converted(source, target, Path(folder))
        lines.append(line(source, target, words))
        print(lines[-1], moved)
    KNOWN.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
