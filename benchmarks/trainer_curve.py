"""Train an autoencoder from a motion library and from float tensors; draw both losses.

    MOCPACK_DATA=… .venv-torch/bin/python benchmarks/trainer_curve.py docs/pictures/trainers.svg

`make test-torch` makes the environment. Reads the six motions of a Unitree G1 of `robot/` of the
folder that MOCPACK_DATA names. The tensors are kinematics of these motions in double precision,
before compression. The library reads an archive of them within 1 mm and 0.02 rad. Weights of the
network and frames of all batches have the same seed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/support"))
import mocpack
from archives import write_archive
from autoencoder import from_library, from_tensors, train
from bench_trainers import motions
from mocpack.trainers import MotionLibrary
from papers_figures import Curve, Panel, picture

STEPS, SMOOTHED = 3000, 50


def main(out: str) -> None:
    clips = motions()
    lengths = [clip.frame_count for clip in clips]
    packed = {
        f"clip{k}": mocpack.encode(clip, max_error="1mm", max_angle="0.02rad")
        for k, clip in enumerate(clips)
    }
    with tempfile.TemporaryDirectory() as folder:
        library = MotionLibrary(write_archive(Path(folder) / "g1.mocps", packed), "cpu")
    bytes_per_frame = sum(map(len, packed.values())) / sum(lengths)
    names = {
        f"archive, {bytes_per_frame:.0f} B per frame": from_library(library),
        "float tensors": from_tensors(clips),
    }
    curves = []
    for name, frames in names.items():
        losses = train(frames, lengths, STEPS)
        parts = [losses[at : at + SMOOTHED] for at in range(0, STEPS, SMOOTHED)]
        means = [sum(part) / len(part) for part in parts]
        curves.append(Curve(name, [((k + 0.5) * SMOOTHED, y) for k, y in enumerate(means)]))
        print(f"| {name} | loss of the last {SMOOTHED} steps | {means[-1]:.5f} |", flush=True)
    title = "Autoencoder of a G1's states"
    panel = Panel(title, "step", "loss (mean square)", curves, log="y")
    Path(out).write_text(picture([panel]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
