"""Pack a folder of CSV files and read random windows of a robot's motions for training.

    python examples/robots.py [FOLDER ROBOT.urdf]

Without words it makes a robot and two motions of its own. Of tables such as LAFAN1 retargeted to
Unitree's G1: `python examples/robots.py g1/ g1_29dof.urdf`.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import mocpack
from mocpack.robots import robot_motion

SECONDS = 2.0
HINGES = 3
BASE = """
    <link name="world"/>
    <link name="link0"/>
    <joint name="float" type="floating"><parent link="world"/><child link="link0"/></joint>"""


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder, robot = map(Path, sys.argv[1:3]) if len(sys.argv) > 2 else made(Path(scratch))
        packed = Path(scratch) / "packed"
        packed.mkdir()
        for table in sorted(folder.glob("*.csv")):  # once: `mocpack compress` does the same
            clip = mocpack.read(table, robot=robot, fps=30)
            (packed / f"{table.stem}.mocp").write_bytes(mocpack.encode(clip, max_error="1mm"))
        train(packed)


def train(packed: Path, steps: int = 3) -> None:
    """Read random windows, as in a training loop."""
    motions = [mocpack.open(path) for path in sorted(packed.glob("*.mocp"))]
    rng = np.random.default_rng(0)
    for step in range(steps):
        motion = motions[rng.integers(len(motions))]
        length = round(SECONDS * motion.header.frame_rate)
        start = int(rng.integers(motion.frame_count - length))
        window = robot_motion(motion.frames(start, start + length))
        places, velocities = window.body_poses[0], window.body_velocities[0]
        print(
            f"step {step}: qpos {window.qpos.shape}, bodies {places.shape}, fastest body "
            f"{np.linalg.norm(velocities, axis=-1).max():.2f} m/s"
        )


def made(folder: Path) -> tuple[Path, Path]:
    """Write a robot with three hinges on a floating base, and two motions."""
    robot = folder / "robot.urdf"
    robot.write_text(f'<robot name="arm">{BASE}{"".join(map(link, range(HINGES)))}</robot>')
    rng = np.random.default_rng(0)
    time = np.arange(150)[:, np.newaxis] / 30
    for k in range(2):
        angles = np.sin(rng.uniform(1, 6, HINGES) * time + rng.uniform(0, 6, HINGES))
        root = np.tile([0, 0, 0.8, 0, 0, 0, 1.0], (len(time), 1))
        table = np.concatenate([root, angles], axis=1)
        np.savetxt(folder / f"motion{k}.csv", table, fmt="%.6f", delimiter=",")
    return folder, robot


def link(k: int) -> str:
    """Return a link 30 cm above the previous one, and the hinge between them."""
    return f"""
    <link name="link{k + 1}"/>
    <joint name="joint{k}" type="revolute">
      <parent link="link{k}"/><child link="link{k + 1}"/>
      <origin xyz="0 0 0.3"/><axis xyz="0 {k % 2} {1 - k % 2}"/>
      <limit lower="-2.5" upper="2.5" effort="1" velocity="1"/>
    </joint>"""


if __name__ == "__main__":
    main()
