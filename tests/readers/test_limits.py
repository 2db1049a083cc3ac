"""Joint limits in libmocpack, in both precisions: what the source kept, it keeps."""

import subprocess

import numpy as np
import pytest

import mocpack
from robots import limited_motion, passed_limits

TOLERANCES = {"dump": (np.float64, 1e-9), "dump32": (np.float32, 2e-6)}  # radians, metres
WANTED = (
    {"max_error": mocpack.mm(30)},
    {"max_error": mocpack.mm(0.05)},
    {"mean_error": mocpack.mm(5)},
    {"max_error": mocpack.mm(3), "max_angle": mocpack.rad(0.004)},
)


def read_all(program, call, path, clip, kind):
    """Return the clip that libmocpack decodes."""
    done = subprocess.run(
        [program, call, "local", path], capture_output=True, check=True, timeout=60
    )
    poses = np.frombuffer(done.stdout, kind).astype(np.float64)
    poses = poses.reshape(clip.frame_count, len(clip.skeleton), 7)
    moving = list(clip.translated_joints)
    return mocpack.Clip(clip.header, poses[..., :4].copy(), poses[:, moving, 4:].copy())


@pytest.mark.parametrize("call", TOLERANCES)
@pytest.mark.parametrize("leaving", [0.0, 1e-3, 0.1])
def test_limits_hold_in_c(read_in_c, tmp_path, call, leaving):
    kind, tolerance = TOLERANCES[call]
    path = tmp_path / "clip.mocp"
    for seed, wanted in enumerate(2 * WANTED):
        clip = limited_motion(seed, leaving=leaving)
        path.write_bytes(mocpack.encode(clip, effort="fast", **wanted))
        found = read_all(read_in_c, call, path, clip, kind)
        assert passed_limits(clip, found).max() <= tolerance, (seed, wanted)
