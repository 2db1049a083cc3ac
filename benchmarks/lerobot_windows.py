"""Measure random windows of LeRobotDataset; `bench_robots.py` runs it in LeRobot's environment.

    .venv-lerobot/bin/python benchmarks/lerobot_windows.py FOLDER FPS WINDOWS

FOLDER has a robot's positions as one .npy file per episode. Prints windows per second of CPU time
and the size of the dataset in bytes, as JSON. Windows are 2 s long (`delta_timestamps`).
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from lerobot import __version__
from lerobot.datasets.lerobot_dataset import LeRobotDataset


def main() -> None:
    folder, fps, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    episodes = [np.load(path) for path in sorted(folder.glob("*.npy"))]
    width = episodes[0].shape[1]
    episodes = [episode for episode in episodes if episode.shape[1] == width]
    features = {
        "observation.state": {"dtype": "float32", "shape": (width,), "names": None},
    }
    root = folder / f"lerobot-{os.getpid()}"  # must not exist yet
    made = LeRobotDataset.create("local/robot", fps, features=features, root=root, use_videos=False)
    for episode in episodes:
        for row in episode:
            made.add_frame({"observation.state": row, "task": "move"})
        made.save_episode()
    if hasattr(made, "finalize"):
        made.finalize()
    length = 2 * fps
    steps = {"observation.state": [k / fps for k in range(length)]}
    data = LeRobotDataset("local/robot", root=root, delta_timestamps=steps)
    rng = np.random.default_rng(0)
    starts = np.cumsum([0, *map(len, episodes)])
    picks = []
    for episode in rng.integers(len(episodes), size=count):
        picks.append(int(starts[episode] + rng.integers(len(episodes[episode]) - length)))
    for pick in picks[:10]:
        data[pick]
    began = time.process_time()
    for pick in picks:
        assert data[pick]["observation.state"].shape == (length, width)
    spent = time.process_time() - began
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    print(json.dumps({"rate": count / spent, "MB": size / 1e6, "version": __version__}))


if __name__ == "__main__":
    main()
