"""What the browser shows is what Python decodes: every number, to a nanometre."""

import gzip
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import mocpack
from mocpack import samples
from mocpack.bench.datasets import data_folder
from mocpack.clip import promised_error
from mocpack.container import unpack
from mocpack.kinematics import end_positions, forward_kinematics
from mocpack.testing import markers, take
from mocpack.testing.motions import chain, hard_clips, walk

NANOMETRE = 1e-9
TIMES = (-1.0, 0.0, 0.0123, 0.31, 1e6)  # seconds, some outside of every clip


def in_javascript(package, folder, jobs):
    """Let node open files; returns for each the header and a function that reads an array."""
    for job in jobs:
        job |= {"out": str(folder / re.sub(r"\W+", "_", job["name"])), "times": TIMES}
    listed = folder / "jobs.json"
    listed.write_text(json.dumps(jobs))
    command = ["node", str(package / "test/dump.mjs"), str(listed)]
    subprocess.run(command, check=True, timeout=300)
    return [Found(job["out"]) for job in jobs]


class Found:
    def __init__(self, out):
        self.out = out
        self.header = json.loads(Path(f"{out}.json").read_text())

    def array(self, name, *shape):
        return np.fromfile(f"{self.out}.{name}", "<f8").reshape(*shape)


def world_of(clip):
    positions, world = forward_kinematics(
        clip.skeleton, clip.rotations, clip.translations, clip.translated_joints
    )
    return positions, end_positions(clip.skeleton, positions, world)


def check_same_motion(found, clip):
    frames, joints = clip.frame_count, len(clip.skeleton)
    rotations = found.array("rotations", frames, joints, 4)
    # either sign is the same rotation
    turned = np.abs((rotations * clip.rotations).sum(-1))
    np.testing.assert_allclose(turned, 1, rtol=0, atol=1e-12)
    places = np.tile(clip.skeleton.offsets, (frames, 1, 1))
    places[:, list(clip.translated_joints)] = clip.translations
    found_places = found.array("translations", frames, joints, 3)
    np.testing.assert_allclose(found_places, places, rtol=0, atol=NANOMETRE)
    positions, ends = world_of(clip)
    found_positions = found.array("joints", frames, joints, 3)
    np.testing.assert_allclose(found_positions, positions, rtol=0, atol=NANOMETRE)
    found_ends = found.array("ends", frames, len(clip.skeleton.end_sites), 3)
    np.testing.assert_allclose(found_ends, ends, rtol=0, atol=NANOMETRE)
    for i, time in enumerate(TIMES):
        expected, _ = world_of(clip.sample(time))
        sampled = found.array(f"sample{i}", 1, joints, 3)
        np.testing.assert_allclose(sampled, expected, rtol=0, atol=NANOMETRE)


def check_same_header(found, clip):
    skeleton, header = clip.skeleton, found.header
    assert header["skeleton"]["names"] == list(skeleton.names)
    assert header["skeleton"]["parents"] == list(skeleton.parents)
    assert header["skeleton"]["endJoints"] == list(skeleton.end_site_joints)
    assert header["skeleton"]["translated"] == list(clip.translated_joints)
    np.testing.assert_array_equal(header["skeleton"]["offsets"], skeleton.offsets.ravel())
    np.testing.assert_array_equal(header["skeleton"]["endOffsets"], skeleton.end_sites.ravel())
    assert header["frameCount"] == clip.frame_count
    assert header["frameTime"] == clip.frame_time
    assert header["metadata"] == dict(clip.header.metadata)


def check_packed(package, folder, clips, spec):
    files = {name: mocpack.encode(clip, spec) for name, clip in clips.items()}
    jobs = []
    for i, (name, data) in enumerate(files.items()):
        path = folder / f"{i}.mocp"
        path.write_bytes(data)
        jobs.append({"name": name, "file": str(path)})
    for (_, data), found in zip(files.items(), in_javascript(package, folder, jobs), strict=True):
        clip = mocpack.decode(data)
        check_same_motion(found, clip)
        check_same_header(found, clip)
        assert found.header["bytes"]["file"] == len(data)


def test_hard_clips_decode_as_in_python(package, tmp_path):
    check_packed(package, tmp_path, hard_clips(), "keysine:max_error=1mm")


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


def test_keys_beyond_32_bits_are_found(package, tmp_path):
    # 2 · key · frames passes 2^32, which is all that the browser's native integers of size have
    clip = chain(1, 150_000)
    spec = "keysine:max_error=5mm,effort=fast,block_seconds=0.2,group_seconds=60"
    check_packed(package, tmp_path, {"long": clip}, spec)


SETS = ("max_error=1mm", "max_error=50mm,block_seconds=1,group_seconds=2", "max_error=50mm")


def test_every_trained_set_decodes_as_in_python(package, tmp_path):
    clip = mocpack.read(samples.JUMP).frames(0, 240)
    used = set()
    for i, spec in enumerate(SETS):
        folder = tmp_path / str(i)
        folder.mkdir()
        check_packed(package, folder, {"jump": clip}, f"keysine:effort=fast,{spec}")
        payload = unpack((folder / "0.mocp").read_bytes()).payload
        used.add(payload[3] if payload[0] >= 128 else payload[2])
    assert used == {0, 1, 2}


def test_the_header_tells_what_info_tells(package, tmp_path):
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
    expected = promised_error(original, decoded)
    frames, joints = decoded.frame_count, len(decoded.skeleton)
    promised = found.array("promised", frames)
    np.testing.assert_allclose(promised, expected.frames, rtol=0, atol=NANOMETRE)
    by_joint = found.array("byJoint", frames, joints)
    np.testing.assert_allclose(by_joint.max(axis=0), expected.joints, rtol=0, atol=NANOMETRE)
    apart = np.linalg.norm(world_of(original)[0] - world_of(decoded)[0], axis=-1)
    centres = found.array("centres", frames, joints)
    np.testing.assert_allclose(centres, apart, rtol=0, atol=NANOMETRE)


def test_real_clips_read_and_decode_as_in_python(package, tmp_path):
    folder = data_folder()
    if folder is None:
        pytest.skip("no real clips here; name their folder with MOCPACK_DATA")
    paths = [folder / "cmu/02_01.bvh", folder / "cmu/49_02.bvh", *(folder / "dog").glob("*.bvh")]
    paths += sorted((folder / "bandai").glob("*.bvh"))[:2]
    paths = [path for path in paths if path.exists() and path.stat().st_size < 4_000_000]
    assert paths
    jobs = [{"name": path.stem, "file": str(path)} for path in paths]
    clips = [mocpack.read(path) for path in paths]
    for clip, found in zip(clips, in_javascript(package, tmp_path, jobs), strict=True):
        check_same_motion(found, clip)
        check_same_header(found, clip)
    short = {}
    for path, clip in zip(paths, clips, strict=True):
        short[path.stem] = clip.frames(0, min(600, clip.frame_count))
    check_packed(package, tmp_path, short, "keysine:max_error=5mm,effort=fast")


def test_the_decoder_is_small(package):
    wasm = (package / "dist/mocpack.wasm").read_bytes()
    assert len(wasm) <= 150_000
    assert len(gzip.compress(wasm, 9)) <= 60_000


TAKES = {
    "roots and rest": take(["roots", "rest", "names"], frames=50),
    "times and tracks": take(["times", "tracks", "valid"], frames=50),
    "another start": take(["space", "roots"], frames=50),
    "markers": markers(),
}


def test_what_a_take_holds_besides_reads_the_same(package, tmp_path):
    jobs = []
    for name, clip in TAKES.items():
        path = tmp_path / f"{re.sub(r'[^a-z]', '_', name)}.mocp"
        path.write_bytes(mocpack.encode(clip, max_error="1mm"))
        jobs.append({"name": name, "file": str(path)})
    for job, found in zip(jobs, in_javascript(package, tmp_path, jobs), strict=True):
        clip = mocpack.read(job["file"])
        check_same_motion(found, clip)
        check_same_header(found, clip)
        header, beside = clip.header, found.header["take"]
        assert beside["startTime"] == header.start_time
        assert (beside["loop"], beside["up"]) == (header.loop, header.up)
        assert beside["handedness"] == header.handedness
        times = clip.extras.times
        assert beside["times"] == (None if times is None else times.tolist())
        seen = clip.extras.valid
        assert beside["valid"] == (None if seen is None else seen.ravel().astype(int).tolist())
        assert [t["name"] for t in beside["tracks"]] == list(clip.tracks)
        assert [t["kind"] for t in beside["tracks"]] == [t.kind for t in clip.tracks.values()]
        if clip.skeleton.has_rest:
            assert found.header["skeleton"]["rest"] == clip.skeleton.rest.ravel().tolist()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: mocpack.encode(take(["scale"])), "SCAL: joints with scales"),
        (lambda: mocpack.encode(take(["scales"])), "SCAL: joints with scales"),
        (lambda: mocpack.encode_scene({"a": walk(0.2)}), "CLIP: a scene of several clips"),
    ],
    ids=["scale", "scales", "scene"],
)
def test_what_javascript_does_not_play_is_refused_by_name(package, tmp_path, make, sentence):
    path = tmp_path / "take.mocp"
    path.write_bytes(make())
    jobs = tmp_path / "jobs.json"
    jobs.write_text(json.dumps([{"file": str(path), "out": str(tmp_path / "out"), "times": []}]))
    command = ["node", str(package / "test/dump.mjs"), str(jobs)]
    found = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert found.returncode
    assert sentence in found.stderr
