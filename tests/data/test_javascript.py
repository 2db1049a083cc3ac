"""The JavaScript package on animals and people of other databases."""

import pytest
from in_node import (
    check_packed,
    check_same_header,
    check_same_motion,
    find_package,
    in_javascript,
)

import mocpack

NAMES = [
    "dog/D1_007_KAN01_001",
    "bandai/dataset-1_kick_normal_001",
    "bandai/dataset-1_walk_normal_001",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_real_clip_reads_and_decodes_as_in_python(real, tmp_path, name):
    package, path = find_package(), real(name)
    clip = mocpack.read(path)
    (found,) = in_javascript(package, tmp_path, [{"name": path.stem, "file": str(path)}])
    check_same_motion(found, clip)
    check_same_header(found, clip)
    short = {path.stem: clip.frames(0, min(600, clip.frame_count))}
    check_packed(package, tmp_path, short, "keysine:max_error=5mm,effort=fast")
