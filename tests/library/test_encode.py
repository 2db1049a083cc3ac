"""Files that libmocpack writes: the bytes of Python's, and errors by name."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mocpack
from encode_in_c import encode_in_c, open_library
from mocpack import samples
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.testing import jump, walk
from naming import names
from robots import hinged_motion, hinged_skeleton
from takes import markers, take

CHECKOUT = Path(__file__).parents[2]
CLIPS = {
    "walk": walk(1.0, seed=3),
    "jump": jump(1.0, frame_rate=30, seed=4),
    "captured": load_clip("cmu/49_02", COMMITTED).frames(0, 300),
    "captured, with metadata": mocpack.read(samples.JUMP).frames(0, 60),
    "one frame": walk(1.0).frames(3, 4),
    "robot": hinged_motion(hinged_skeleton(1), 1),
    "robot on sliders": hinged_motion(hinged_skeleton(2), 2),
    "another robot": hinged_motion(hinged_skeleton(5), 5),
    "markers": markers(),
    "uneven times, gaps, rest pose": take(["rest", "valid", "times", "names"], frames=40),
    "several roots": take(["roots", "valid", "rest"], frames=40),
}


@pytest.fixture(scope="module")
def shared():
    folder = CHECKOUT / "build/library/shared/lib"
    if not folder.exists():
        pytest.skip("needs libmocpack as `make library` leaves it")
    return open_library(folder)


@pytest.mark.parametrize("name", CLIPS)
@pytest.mark.parametrize(
    ("effort", "streamed"), [("fast", False), ("fast", True), ("default", False)]
)
@pytest.mark.parametrize("millimeters", [10, 1, 0.2])
def test_c_writes_the_bytes_of_python(shared, name, effort, streamed, millimeters):
    clip, bound = CLIPS[name], mocpack.mm(millimeters)
    codec = mocpack.parse_codec("keysine").with_effort(effort)
    made = encode_in_c(shared, clip, float(bound), effort=effort, streamed=streamed)
    assert made.status == "ok", made.message
    assert made.max_error <= bound
    assert made.data == mocpack.encode(clip, replace(codec, streamed=streamed), max_error=bound)


def test_a_bound_that_cannot_be_kept_is_an_error_and_no_file(shared):
    made = encode_in_c(shared, CLIPS["walk"], 1e-15)
    assert (made.status, made.data) == ("bound", b"")
    assert names(made.message, "keysine")


def test_a_callback_cancels_the_call(shared):
    made = encode_in_c(shared, CLIPS["captured"], 1e-3, stops=True)
    assert (made.status, made.data) == ("canceled", b"")


def test_a_rotation_that_is_none_is_named(shared):
    clip = walk(0.5)
    rotations = clip.rotations.copy()
    rotations[7, 3] = np.nan
    object.__setattr__(clip, "rotations", rotations)
    made = encode_in_c(shared, clip, 1e-3)
    assert (made.status, made.data) == ("argument", b"")
    assert names(made.message, f"frame 7 {clip.skeleton.names[3]}")
