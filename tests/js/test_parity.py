"""JavaScript decodes the same numbers as Python, to a nanometer."""

import gzip
import re

import numpy as np
import pytest
from in_node import (
    NANOMETER,
    Found,
    check_packed,
    check_same_header,
    check_same_motion,
    in_javascript,
    world_of,
)

import mocpack
from mocpack import samples
from mocpack.bench.datasets import CHECKOUT, COMMITTED, load_clip
from mocpack.model.clip import measure_error
from mocpack.model.hinges import Hinges
from mocpack.testing.motions import chain, hard_clips, walk
from robots import limited_motion, passed_limits
from takes import markers, take

ORIGINALS = CHECKOUT / "tests" / "originals"
LEAVING = (0.0, 0.0, 0.0, 1e-3, 1e-3, 0.1, 0.1, 0.1)  # radians that joints are off their axes


def test_hard_clips_decode_as_in_python(package, tmp_path):
    check_packed(package, tmp_path, hard_clips(), "keysine:max_error=1mm")


def test_raw_files_decode_as_in_python(package, tmp_path):
    features = {name: take([name]) for name in ("roots", "hinges", "space")}
    check_packed(package, tmp_path, hard_clips() | features | {"minute": walk(60.0)}, "raw")


def test_lossless_files_decode_as_in_python(package, tmp_path):
    features = {name: take([name]) for name in ("roots", "hinges", "space", "scales")}
    clips = hard_clips() | features | {"jump": mocpack.read(samples.JUMP).frames(0, 240)}
    check_packed(package, tmp_path, clips, "lossless")


@pytest.mark.parametrize("spec", ["raw", "keysine:max_error=1mm,effort=fast"])
def test_scales_decode_as_in_python(package, tmp_path, spec):
    features = (["scale"], ["scales"], ["scale", "scales", "roots", "rest"])
    check_packed(package, tmp_path, {" ".join(names): take(names) for names in features}, spec)


def test_errors_of_scaled_motion_are_those_of_python(package, tmp_path):
    clip = take(["scale", "scales"])
    paths = [tmp_path / f"{name}.mocp" for name in ("raw", "packed")]
    for path, spec in zip(paths, ("raw", "keysine:max_error=20mm,effort=fast"), strict=True):
        path.write_bytes(mocpack.encode(clip, spec))
    job = {"name": "both", "file": str(paths[1]), "original": str(paths[0])}
    (found,) = in_javascript(package, tmp_path, [job])
    expected = measure_error(mocpack.read(paths[0]), mocpack.read(paths[1]))
    promised = found.array("promised", clip.frame_count)
    np.testing.assert_allclose(promised, expected.frames, rtol=0, atol=NANOMETER)


def test_tracks_decode_as_in_python(package, tmp_path):
    path = tmp_path / "tracks.mocp"
    path.write_bytes(mocpack.encode(take(["tracks"]), max_error="10mm"))
    (found,) = in_javascript(package, tmp_path, [{"name": "take", "file": str(path)}])
    clip = mocpack.read(path)
    assert [track["name"] for track in found.header["take"]["tracks"]] == list(clip.tracks)
    for i, track in enumerate(clip.tracks.values()):
        times = found.array(f"track{i}.times", len(track))
        np.testing.assert_allclose(times, track.seconds(clip.frame_time), rtol=1e-15, atol=1e-12)
        if track.kind == "label":
            assert found.header["labels"][i] == list(track.values)
        else:
            values = np.asarray(track.values, float)
            decoded = found.array(f"track{i}.values", *values.shape)
            np.testing.assert_allclose(decoded, values, rtol=1e-12, atol=1e-12)


def test_groups_and_segments_decode_as_in_python(package, tmp_path):
    clips = {"minute": walk(60.0, frame_rate=30), "odd length": walk(7.3, frame_rate=60)}
    check_packed(package, tmp_path, clips, "keysine:max_error=2mm,effort=fast,group_seconds=0.5")


@pytest.mark.parametrize("effort", ["default", "best"])
def test_a_grid_in_time_decodes_as_in_python(package, tmp_path, effort):
    clips = {name: hard_clips()[name] for name in ("walk", "full turns", "every joint translates")}
    check_packed(package, tmp_path, clips, f"keysine:max_error=0.1mm,mode=grid,effort={effort}")


def test_layers_decode_as_in_python(package, tmp_path):
    clips = {"walk": walk(5.0), "one frame": hard_clips()["one frame"]}
    check_packed(package, tmp_path, clips, "keysine:max_error=1mm,effort=fast,layers=3")


def test_joint_limits_hold_as_in_python(package, tmp_path):
    clips = {f"{i}": limited_motion(i, leaving=leaving) for i, leaving in enumerate(LEAVING)}
    check_packed(package, tmp_path, clips, "keysine:max_error=20mm,effort=fast")
    for (name, clip), leaving in zip(clips.items(), LEAVING, strict=True):
        turns = Found(tmp_path / name).array("rotations", clip.frame_count, len(clip.skeleton), 4)
        places = Found(tmp_path / name).array(
            "translations", clip.frame_count, len(clip.skeleton), 3
        )
        moving = list(clip.translated_joints)
        found = mocpack.Clip(clip.header, turns, places[:, moving])
        assert passed_limits(clip, found).max() <= 1e-9, leaving


def test_keys_beyond_32_bits_are_found(package, tmp_path):
    # 2 · key · frames passes 2^32, which is all that the browser's native integers of size have
    clip = chain(1, 150_000)
    spec = "keysine:max_error=5mm,effort=fast,block_seconds=0.2,group_seconds=60"
    check_packed(package, tmp_path, {"long": clip}, spec)


SPECS = (
    "effort=default,max_error=1mm",  # with predictors
    "effort=fast,max_error=50mm,block_seconds=1,group_seconds=2",
    "effort=fast,max_error=5mm,block_seconds=0.125",
)


def test_blocks_and_predictors_of_any_kind_decode_as_in_python(package, tmp_path):
    clip = mocpack.read(samples.JUMP).frames(0, 240)
    for i, spec in enumerate(SPECS):
        folder = tmp_path / str(i)
        folder.mkdir()
        check_packed(package, folder, {"jump": clip}, f"keysine:{spec}")


def test_the_header_agrees_with_info(package, tmp_path):
    path = tmp_path / "jump.mocp"
    path.write_bytes(mocpack.encode(mocpack.read(samples.JUMP), "keysine:max_error=5mm"))
    (found,) = in_javascript(package, tmp_path, [{"name": "jump", "file": str(path)}])
    with mocpack.open(path) as motion:
        errors, sizes = motion.errors, motion.sizes
    assert found.header["codec"] == "keysine"
    assert found.header["declaredError"] == errors.declared
    measured = [found.header["measured"][key] for key in ("max", "mean", "rms", "p99")]
    np.testing.assert_allclose(measured, [errors.max, errors.mean, errors.rms, errors.p99])
    parts = {"skeleton": sizes["skeleton"], "metadata": sizes["metadata"], "file": sizes["file"]}
    parts["payload"] = sizes["file"] - sizes["skeleton"] - sizes["metadata"]
    assert found.header["bytes"] == parts


def test_the_header_has_the_bound_on_angles(package, tmp_path):
    clip = mocpack.read(samples.JUMP)[:60]
    path = tmp_path / "jump.mocp"
    path.write_bytes(mocpack.encode(clip, max_error="5mm", max_angle="0.5deg", effort="fast"))
    (found,) = in_javascript(package, tmp_path, [{"name": "jump", "file": str(path)}])
    with mocpack.open(path) as motion:
        errors = motion.errors
    assert found.header["angles"] == pytest.approx(
        {"declared": errors.declared_angle, "measured": errors.max_angle}
    )


def test_a_bvh_reads_as_in_python(package, tmp_path):
    files = {"jump": samples.JUMP}
    for i, (name, clip) in enumerate(hard_clips().items()):
        files[name] = tmp_path / f"{i}.bvh"
        mocpack.write(clip, files[name])
    files["a mark and carriage returns"] = tmp_path / "odd.bvh"
    text = files["walk"].read_text().replace("\n", "\r\n").replace("JOINT", "joint")
    files["a mark and carriage returns"].write_bytes(b"\xef\xbb\xbf" + text.encode())
    jobs = [{"name": name, "file": str(path)} for name, path in files.items()]
    for path, found in zip(files.values(), in_javascript(package, tmp_path, jobs), strict=True):
        clip = mocpack.read(path)
        check_same_motion(found, clip)
        check_same_header(found, clip)


def test_errors_are_those_of_python(package, tmp_path):
    original = mocpack.read(samples.JUMP)
    data = mocpack.encode(original, "keysine:max_error=8mm,effort=fast")
    path = tmp_path / "jump.mocp"
    path.write_bytes(data)
    job = {"name": "jump", "file": str(path), "original": str(samples.JUMP)}
    (found,) = in_javascript(package, tmp_path, [job])
    decoded = mocpack.decode(data)
    expected = measure_error(original, decoded)
    frames, joints = decoded.frame_count, len(decoded.skeleton)
    promised = found.array("promised", frames)
    np.testing.assert_allclose(promised, expected.frames, rtol=0, atol=NANOMETER)
    by_joint = found.array("byJoint", frames, joints)
    np.testing.assert_allclose(by_joint.max(axis=0), expected.joints, rtol=0, atol=NANOMETER)
    apart = np.linalg.norm(world_of(original)[0] - world_of(decoded)[0], axis=-1)
    centers = found.array("centers", frames, joints)
    np.testing.assert_allclose(centers, apart, rtol=0, atol=NANOMETER)


def test_real_clips_read_and_decode_as_in_python(package, tmp_path):
    paths = [ORIGINALS / "cmu" / "09_01.bvh", tmp_path / "49_02.bvh"]
    mocpack.write(load_clip("cmu/49_02", COMMITTED).frames(0, 600), paths[1])
    clips = {path.stem: mocpack.read(path) for path in paths}
    jobs = [{"name": path.stem, "file": str(path)} for path in paths]
    for clip, found in zip(clips.values(), in_javascript(package, tmp_path, jobs), strict=True):
        check_same_motion(found, clip)
        check_same_header(found, clip)
    check_packed(package, tmp_path, clips, "keysine:max_error=5mm,effort=fast")


def test_the_decoder_is_small(package):
    wasm = (package / "dist/mocpack.wasm").read_bytes()
    assert len(gzip.compress(wasm, 9)) <= 65_200


TAKES = {
    "roots and rest": take(["roots", "rest", "names"], frames=50),
    "times and tracks": take(["times", "tracks", "valid"], frames=50),
    "another start": take(["space", "roots"], frames=50),
    "markers": markers(),
    "hinges": take(["hinges", "rest"], frames=50),
}


def test_take_data_reads_the_same(package, tmp_path):
    jobs = []
    for name, clip in TAKES.items():
        path = tmp_path / f"{re.sub(r'[^a-z]', '_', name)}.mocp"
        path.write_bytes(mocpack.encode(clip, max_error="1mm"))
        jobs.append({"name": name, "file": str(path)})
    for job, found in zip(jobs, in_javascript(package, tmp_path, jobs), strict=True):
        clip = mocpack.read(job["file"])
        check_same_motion(found, clip)
        check_same_header(found, clip)
        header, read_external = clip.header, found.header["take"]
        assert read_external["startTime"] == header.start_time
        assert (read_external["loop"], read_external["up"]) == (header.loop, header.up)
        assert read_external["handedness"] == header.handedness
        assert read_external["interpolated"] == header.interpolated
        times = clip.take_data.times
        assert read_external["times"] == (None if times is None else times.tolist())
        seen = clip.take_data.valid
        assert read_external["valid"] == (
            None if seen is None else seen.ravel().astype(int).tolist()
        )
        assert [t["name"] for t in read_external["tracks"]] == list(clip.tracks)
        assert [t["kind"] for t in read_external["tracks"]] == [
            t.kind for t in clip.tracks.values()
        ]
        if clip.skeleton.has_rest:
            assert found.header["skeleton"]["restRotations"] == clip.skeleton.rest.ravel().tolist()
        assert hinges_of(found.header["skeleton"]) == clip.skeleton.hinges


def hinges_of(skeleton):
    """Return the hinges from JavaScript; null stands for infinity, which JSON lacks."""
    rows = skeleton.get("hinges")
    if rows is None:
        return None
    limits = [(row["lowerLimit"], row["upperLimit"]) for row in rows]
    return Hinges(
        tuple(row["joint"] for row in rows),
        np.array([row["axis"] for row in rows]),
        np.array([[-np.inf if a is None else a, np.inf if b is None else b] for a, b in limits]),
        np.array([row["slides"] for row in rows]),
        tuple(row["name"] for row in rows),
    )


def test_each_clip_of_a_scene_decodes_as_in_python(package, tmp_path):
    clips = {"a": walk(0.4), "b é": walk(2.1), "": take(["roots", "scale"])}
    path = tmp_path / "scene.mocp"
    path.write_bytes(mocpack.encode_scene(clips, max_error="5mm"))
    jobs = [{"name": f"clip {i}", "file": str(path), "clip": name} for i, name in enumerate(clips)]
    decoded = mocpack.read_scene(path)
    for name, found in zip(clips, in_javascript(package, tmp_path, jobs), strict=True):
        check_same_motion(found, decoded[name])
        check_same_header(found, decoded[name])
