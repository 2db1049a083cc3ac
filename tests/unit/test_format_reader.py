"""The reader written from docs/format.md, compared with mocpack's reader and writer."""

import numpy as np
import pytest
from format_file import read_scene
from format_page import SEEN, check, read_file

import mocpack
from mocpack.testing import walk
from takes import FEATURES, coded_tracks, markers, take


@pytest.mark.parametrize("feature", [*FEATURES, "all of them"])
def test_the_page_reads_what_a_take_holds(feature):
    features = FEATURES if feature == "all of them" else [feature]
    clip = take(features, frames=40)
    check(clip, mocpack.encode(clip, "raw"))


@pytest.mark.parametrize("codec", ["lossless", "keysine"])
def test_the_page_reads_the_files_of_other_codecs(codec):
    clip = take(frames=40)
    check(clip, mocpack.encode(clip, codec))


def test_the_page_reads_markers():
    clip = markers(60)
    check(clip, mocpack.encode(clip, max_error="1mm"))


def test_the_page_reads_bounds_of_joints():
    clip = take(frames=40)
    first, last = clip.skeleton.names[0], clip.skeleton.names[-1]
    own = [(last, "9mm"), (first, "0.5deg")]
    data = mocpack.encode(clip, "keysine:effort=fast", max_error="2mm", joint_errors=own)
    with mocpack.open(data) as motion:
        joints = motion.errors.joints
    found = np.array(read_file(data)["bnds"])
    np.testing.assert_array_equal(found[:, 0], joints.declared)
    np.testing.assert_array_equal(found[:, 1], joints.declared_angle)
    check(clip, data)


def test_the_page_reads_tracks_of_every_coder():
    clip = walk(0.5).replace(tracks=coded_tracks())
    SEEN.clear()
    check(clip, mocpack.encode(clip, "raw"))
    assert {"form 0", "form 1", "form 2", "coder 0", "coder 5"} <= SEEN
    assert {"no form", "brief constant", "rotations 1", "rotations 2"} <= SEEN
    assert {f"brief {order}, whole steps" for order in range(4)} <= SEEN
    assert {"coder 1", "coder 2", "coder 3", "coder 4"} & SEEN


def test_the_page_reads_a_scene():
    clips = {"anna": walk(0.2), "ben": take(["space"])}
    found = read_scene(mocpack.encode_scene(clips, "raw"))
    assert list(found) == ["anna", "ben"]
    for name, data in found.items():
        check(clips[name], data)
