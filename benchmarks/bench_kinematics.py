"""Measure frames per second of forward kinematics and error measurement, against numpy.

    python benchmarks/bench_kinematics.py

The goal on one core with 31 joints is 1,000,000 frames per second for forward kinematics and
500,000 for the error between two clips.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import mocpack
from mocpack.bench.runner.timing import fastest, inflate_speed
from mocpack.metrics.position import displacements
from mocpack.model.clip import Clip, measure_error
from mocpack.model.kinematics import end_positions, forward_kinematics
from mocpack.model.rotations import from_rotvec, multiply
from mocpack.samples import JUMP

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from reference.kinematics import forward_kinematics_numpy

FRAMES = 2_000  # of 31 joints; 2 MB of rotations


def main() -> None:
    clip = bundled_clip(FRAMES)
    other = moved(clip)
    motion = (clip.skeleton, clip.rotations, clip.translations, clip.translated_joints)
    print(f"calibration: zlib inflates {inflate_speed():.0f} MB/s here")
    print(f"{len(clip.skeleton)} joints, {FRAMES} frames; frames per second, best of many runs")
    report(
        "forward kinematics",
        FRAMES / fastest(lambda: forward_kinematics(*motion), 100),
        FRAMES / fastest(lambda: forward_kinematics_numpy(*motion), 10),
    )
    report(
        "promised error",
        FRAMES / fastest(lambda: measure_error(clip, other), 100),
        FRAMES / fastest(lambda: promised_error_numpy(clip, other), 10),
    )


def bundled_clip(frames: int) -> Clip:
    clip = mocpack.read(JUMP)
    assert isinstance(clip, Clip)
    order = np.arange(frames) % clip.frame_count
    return Clip(
        replace(clip.header, frame_count=frames), clip.rotations[order], clip.translations[order]
    )


def moved(clip: Clip) -> Clip:
    """Return the clip with every joint rotated by about a tenth of a degree."""
    noise = np.random.default_rng(0).normal(0, 1e-3, (*clip.rotations.shape[:2], 3))
    return Clip(clip.header, multiply(clip.rotations, from_rotvec(noise)), clip.translations)


def promised_error_numpy(a: Clip, b: Clip) -> float:
    worlds = [
        forward_kinematics_numpy(c.skeleton, c.rotations, c.translations, c.translated_joints)
        for c in (a, b)
    ]
    ends = [end_positions(a.skeleton, *world) for world in worlds]
    carriers = a.skeleton.end_site_joints
    return float(displacements(worlds[0], worlds[1], (ends[0], ends[1]), carriers).max())


def report(what: str, native: float, plain: float) -> None:
    print(f"{what:20} {native:12,.0f}  numpy {plain:10,.0f}  ratio {native / plain:6.1f}")


if __name__ == "__main__":
    main()
