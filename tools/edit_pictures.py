"""Draw docs/pictures/edit-handles.png: the bundled jump before and after a hand is moved.

python tools/edit_pictures.py docs/pictures
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from mocpack import _api
from mocpack.model.clip import Clip
from mocpack.model.kinematics import end_positions
from mocpack.papers.mukai.editing import Handle, open_spline
from mocpack.samples import JUMP

F64 = npt.NDArray[np.float64]

BEFORE, AFTER, TARGET = "#b0b0b0", "#2563a8", "#c0392b"
TIMES_S = (-0.3, -0.15, 0.0, 0.15, 0.3)  # relative to the handle


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    clip = _api.read(JUMP)
    assert isinstance(clip, Clip)
    spline = open_spline(_api.encode(clip, "latent-spline"))
    top = int(clip.positions()[:, 0, 1].argmax())
    target = spline.place("Head", top * clip.frame_time) + np.array([0.25, 0.45, 0.0])
    edit = spline.apply_handles([Handle("LeftHand", top * clip.frame_time, to=target)], falloff=0.4)
    before, after = spline.clip(), edit.spline.clip()
    assert isinstance(before, Clip)
    assert isinstance(after, Clip)
    frames = [round(top + offset * clip.frame_rate) for offset in TIMES_S]
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    for index, frame in enumerate(frames):
        axes = figure.add_subplot(1, len(frames), index + 1)
        for motion, color in ((before, BEFORE), (after, AFTER)):
            for line in _bones(motion, frame):
                axes.plot(line[:, 0], line[:, 1], color=color, linewidth=2)
        if frame == top:
            axes.plot(target[0], target[1], "o", color=TARGET, markersize=9, fillstyle="none")
        axes.set(title=f"{TIMES_S[index]:+.2f} s", aspect="equal", xlim=(-0.3, 1.4), ylim=(0, 2.6))
        axes.axis("off")
    figure.suptitle("gray: before; blue: after; circle: target of the left hand")
    path = folder / "edit-handles.png"
    figure.savefig(path, dpi=100)
    print(f"{path}: {path.stat().st_size} bytes")


def _bones(clip: Clip, frame: int) -> list[F64]:
    """Return the two end points of each bone in a frame, (2, 3) each."""
    positions, world = clip.frames(frame, frame + 1).world()
    ends = end_positions(clip.skeleton, positions, world)[0]
    parents = clip.skeleton.parents
    joints = [positions[0, [parent, j]] for j, parent in enumerate(parents) if parent >= 0]
    carriers = clip.skeleton.end_site_joints
    return joints + [np.stack([positions[0, j], e]) for j, e in zip(carriers, ends, strict=True)]


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures"))
