"""libmocpack keeps the joint limits that the source keeps, in both precisions."""

import numpy as np
import pytest
from native_reader import read_clip

import mocpack
from robots import limited_motion, passed_limits

TOLERANCES = {np.float64: 1e-9, np.float32: 2e-6}  # radians, meters
WANTED = (
    {"max_error": mocpack.mm(30)},
    {"max_error": mocpack.mm(0.05)},
    {"mean_error": mocpack.mm(5)},
    {"max_error": mocpack.mm(3), "max_angle": mocpack.rad(0.004)},
)


@pytest.mark.parametrize("kind", TOLERANCES)
@pytest.mark.parametrize("leaving", [0.0, 1e-3, 0.1])
def test_limits_hold_in_c(read_in_c, tmp_path, kind, leaving):
    path = tmp_path / "clip.mocp"
    for seed, wanted in enumerate(2 * WANTED):
        clip = limited_motion(seed, leaving=leaving)
        path.write_bytes(mocpack.encode(clip, effort="fast", **wanted))
        found = read_clip(read_in_c, path, clip, kind)
        assert passed_limits(clip, found).max() <= TOLERANCES[kind], (seed, wanted)
