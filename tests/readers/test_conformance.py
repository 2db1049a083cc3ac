"""The golden archive in every reader: `make conformance`.

Python, libmocpack and JavaScript decode it to the stored arrays, and so does the reader that was
written from the docs.
"""

import importlib.util
import io
import json
import subprocess
import tarfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from format_file import decode_file, read_archive, read_scene, scan_archive, world_points

import mocpack
from golden_arrays import points, pose_arrays, skeleton_arrays
from mocpack.codecs.registry import BUILTIN, codec_class
from mocpack.common.source import open_source
from mocpack.container import ClipSource, read_trailer, scene_parts
from mocpack.errors import UnknownCodecError, UnsupportedVersionError
from naming import names
from reference.keysine_symbols import tables

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/golden"
FOLDERS = ("keysine", "lossless", "raw")
FILES = sorted(
    p.parent.relative_to(GOLDEN) for f in FOLDERS for p in GOLDEN.glob(f"{f}/v*/file.mocp")
)
MESHES = [file for file in FILES if file.name.endswith("-mesh")]
MICROMETER = 1e-6
EXACT = 1e-12
TOLERANCES = {
    **dict.fromkeys(("rotations", "translations", "angles"), 1e-6),
    **dict.fromkeys(("offsets", "end_offsets", "skeleton_rest", "skeleton_scales"), EXACT),
    **dict.fromkeys(("hinge_axes", "hinge_limits"), EXACT),
    **dict.fromkeys(("scales", "times"), 1e-9),
}
"""How far arrays of floats may be from the stored ones; arrays that are not here are equal."""


@cache
def builder():
    spec = importlib.util.spec_from_file_location("builder", ROOT / "tools/golden_archive.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def archive(tmp_path_factory):
    """The golden archive, unpacked."""
    folder = tmp_path_factory.mktemp("golden")
    with tarfile.open(fileobj=io.BytesIO(builder().build())) as packed:
        packed.extractall(folder, filter="data")
    return folder / builder().NAME


@cache
def stored(file):
    with np.load(GOLDEN / file / "decoded.npz") as arrays:
        return dict(arrays)


def contents(folder):
    """Return the golden file that each clip of a scene or archive equals."""
    files = json.loads((GOLDEN / folder / "contents.json").read_text(encoding="utf-8"))
    return {name: Path(path).parent for name, path in files.items()}


def tolerance_of(name, expected):
    if name == "points":
        declared = float(expected.get("declared_error", np.inf))
        return min(MICROMETER, declared / 50) if declared else MICROMETER
    if name.startswith("track") and expected[name].dtype.kind == "f":
        return 1e-9
    return TOLERANCES.get(name)


def check(found, expected, file):
    """Compare arrays of a reader with the stored ones, as the archive's README says."""
    for name, array in found.items():
        tolerance, said = tolerance_of(name, expected), f"{file}: {name}"
        if tolerance is None:
            np.testing.assert_array_equal(array, expected[name], said)
            continue
        if name == "rotations":
            array = array * np.sign((array * expected[name]).sum(-1, keepdims=True))
        np.testing.assert_allclose(array, expected[name], rtol=0, atol=tolerance, err_msg=said)
    if "declared_error" in expected and "points" in found:
        moved = np.linalg.norm(found["points"] - expected["source_points"], axis=-1)
        assert moved.max(initial=0) <= expected["declared_error"] * (1 + 1e-6), file


def poses(file, rotations, places):
    """Return the poses of a reader: rotations (T, J, 4) and local translations (T, J, 3)."""
    expected = stored(file)
    clip = mocpack.read(GOLDEN / file / "file.mocp")
    moving = tuple(expected["translated_joints"].tolist())
    own = places[:, list(moving)]
    points = world_points(clip.skeleton, rotations, own, moving, clip.scales)
    return {"rotations": rotations, "translations": own, "points": points}


def test_the_page_states_the_size_and_checksum_of_the_golden_archive(monkeypatch):
    monkeypatch.setattr("sys.argv", ["golden_archive.py", "--check"])
    assert builder().main() == 0
    data = builder().build()
    assert len(data) <= builder().MAX_BYTES
    assert data == builder().build()


def test_another_archive_than_the_stated_one_is_noticed(monkeypatch):
    tool = builder()
    data = tool.build()
    monkeypatch.setattr("sys.argv", ["golden_archive.py", "--check"])
    monkeypatch.setattr(tool, "build", lambda: data + b"x")
    assert names(tool.main(), "docs/promise.md SHA-256")


def test_the_archive_has_every_frozen_codec_and_its_tables(archive):
    frozen = {codec for codec in BUILTIN if codec_class(codec).is_frozen}
    assert frozen == set(FOLDERS) <= set(builder().FOLDERS)
    with np.load(archive / "tables/keysine.npz") as found:
        assert {name: array.tolist() for name, array in found.items()} == {
            name: array.tolist() for name, array in tables().items()
        }


@pytest.mark.parametrize("file", FILES, ids=str)
def test_the_reader_from_the_docs_decodes_the_stored_arrays(archive, file):
    found, expected = decode_file((archive / file / "file.mocp").read_bytes()), stored(file)
    assert set(found) == set(expected) - {"source_points"}
    check(found, expected, file)
    if file.parts[0] == "lossless" and "channels" not in found and "rotations" in found:
        np.testing.assert_array_equal(found["rotations"], expected["rotations"])


def test_the_reader_from_the_docs_restores_the_files_of_scenes_and_archives(archive):
    def files(folder):
        return {n: (archive / f / "file.mocp").read_bytes() for n, f in contents(folder).items()}

    assert read_scene((archive / "scene/file.mocp").read_bytes()) == files("scene")
    for folder in ("archive", "shards"):
        assert read_archive(archive / folder / "file.mocps") == files(folder)
    assert scan_archive((archive / "archive/file.mocps").read_bytes()) == files("archive")


@pytest.mark.parametrize("file", FILES, ids=str)
def test_python_decodes_the_stored_arrays(archive, file):
    clip, expected = mocpack.read(archive / file / "file.mocp"), stored(file)
    found = pose_arrays(clip) | skeleton_arrays(clip)
    check(found | ({} if file in MESHES else {"points": points(clip)}), expected, file)


def test_python_restores_the_files_of_scenes_and_archives(archive):
    parts = scene_parts(open_source((archive / "scene/file.mocp").read_bytes()))
    for name, file in contents("scene").items():
        assert parts[name].read(0, parts[name].size) == (archive / file / "file.mocp").read_bytes()
    with mocpack.open_corpus(archive / "shards/file.mocps") as shards:
        for name, file in contents("shards").items():
            check(poses_of(shards[name].clip()), stored(file), file)
    source = open_source((archive / "archive/file.mocps").read_bytes())
    index = read_trailer(source).index
    assert list(index.names) == list(contents("archive"))
    for n, file in enumerate(contents("archive").values()):
        clip = ClipSource(source, index.place(n))
        assert clip.read(0, clip.size) == (archive / file / "file.mocp").read_bytes()


def poses_of(clip):
    if isinstance(clip, mocpack.VertexClip):
        return {"vertices": clip.vertices}
    return {"rotations": clip.rotations, "translations": clip.translations}


@pytest.fixture(scope="session")
def listed(archive):
    """Every file of the archive but the refused ones, and a list of them for other readers."""
    paths = [archive / file / "file.mocp" for file in FILES]
    paths += [archive / "scene/file.mocp", archive / "archive/file.mocps"]
    paths += sorted((archive / "shards").glob("file-*.mocps"))
    listed = archive / "list"
    listed.write_text("".join(f"{path}\n" for path in paths))
    return listed, paths


def run(*call):
    done = subprocess.run(
        [str(part) for part in call], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_libmocpack_decodes_the_stored_arrays(library, archive, listed):
    program = library.program(Path(__file__).parent / "compare.c")
    lines = run(program, listed[0]).splitlines()
    kinds = dict(zip(listed[1], lines, strict=True))
    for file in FILES:
        path = archive / file / "file.mocp"
        if file in MESHES:
            assert kinds[path] == "unsupported unsupported"
            continue
        assert kinds[path] == "ok ok", file
        check(native_arrays(file, np.fromfile(f"{path}.c")), stored(file), file)
    numbers = np.fromfile(archive / "scene/file.mocp.c")
    alone = [np.fromfile(archive / file / "file.mocp.c") for file in contents("scene").values()]
    np.testing.assert_array_equal(numbers, np.concatenate(alone))
    whole = b"".join(
        (archive / file / "file.mocp").read_bytes() for file in contents("archive").values()
    )
    assert (archive / "archive/file.mocps.c").read_bytes() == whole
    restored = sorted((archive / "shards").glob("file-*.mocps.c"))
    assert b"".join(path.read_bytes() for path in restored) == whole


def native_arrays(file, numbers):
    """Return the arrays that libmocpack decoded: frames, scales, angles, then tracks."""
    expected = stored(file)
    frames, joints = expected["rotations"].shape[:2]
    clip = mocpack.read(GOLDEN / file / "file.mocp")
    counts = [7 * frames * joints]
    counts.append(3 * frames * joints if clip.header.is_scaled else 0)
    counts.append(expected["angles"].size if "angles" in expected else 0)
    for track in clip.tracks.values():
        counts += [len(track.values), np.size(np.asarray(track.values))]
    parts = np.split(numbers, np.cumsum(counts))
    assert not len(parts[-1]), file
    frame, scales, angles, *tracks = parts[:-1]
    frame = frame.reshape(frames, joints, 7)
    found = poses(file, frame[..., :4], frame[..., 4:])
    if "scales" in expected:
        found["scales"] = scales.reshape(expected["scales"].shape)
    if "angles" in expected:
        found["angles"] = angles.reshape(expected["angles"].shape)
    for i, values in enumerate(tracks[1::2]):
        if expected[f"track{i}"].dtype.kind in "fb":
            found[f"track{i}"] = values.reshape(expected[f"track{i}"].shape)
    return found


def test_javascript_decodes_the_stored_arrays(package, archive, listed):
    kinds = json.loads(run("node", package / "test/compare.mjs", listed[0]))
    kinds = dict(zip(listed[1], kinds, strict=True))
    for file in FILES:
        path = archive / file / "file.mocp"
        assert kinds[path] == ("unsupported" if file in MESHES else "ok"), file
        if file not in MESHES:
            check_javascript(file, f"{path}.js")
    for folder, name in (("scene", "scene/file.mocp"), ("archive", "archive/file.mocps")):
        for n, file in enumerate(contents(folder).values()):
            if file not in MESHES:
                check_javascript(file, archive / f"{name}.{n}.js")


def check_javascript(file, path):
    """Compare rotations, translations and tracks; then metadata."""
    expected, numbers = stored(file), np.fromfile(path)
    shape = expected["rotations"].shape[:2]
    size = shape[0] * shape[1]
    rotations, places, rest = np.split(numbers, [4 * size, 7 * size])
    found = poses(file, rotations.reshape(*shape, 4), places.reshape(*shape, 3))
    for i, track in enumerate(mocpack.read(GOLDEN / file / "file.mocp").tracks.values()):
        count = np.size(np.asarray(track.values))
        _, values, rest = np.split(rest, [len(track.values), len(track.values) + count])
        if expected[f"track{i}"].dtype.kind in "fb":
            found[f"track{i}"] = values.reshape(expected[f"track{i}"].shape)
    assert not len(rest)
    check(found, expected, file)
    if "metadata" in expected:
        text = Path(f"{path}.json").read_text(encoding="utf-8")
        assert json.loads(text) == json.loads(str(expected["metadata"]))


REFUSED = json.loads((GOLDEN / "refused/contents.json").read_text(encoding="utf-8"))
OTHERS = {"raw/v1-mesh": "raw", "wavelet/v1": "wavelet"}
"""Files that libmocpack and JavaScript do not decode, and what they name."""


@pytest.mark.parametrize("name", REFUSED)
def test_python_names_unsupported_features(name):
    path = GOLDEN / "refused" / name
    read = read_first if path.suffix == ".mocps" else mocpack.read
    with pytest.raises((UnsupportedVersionError, UnknownCodecError)) as caught:
        read(path)
    assert names(str(caught.value), REFUSED[name]), str(caught.value)


def read_first(path):
    with mocpack.open_corpus(path) as corpus:
        corpus["walk"].clip()


def refused_files():
    files = {GOLDEN / "refused" / name: things for name, things in REFUSED.items()}
    return files | {GOLDEN / name / "file.mocp": things for name, things in OTHERS.items()}


def test_libmocpack_names_unsupported_features(read_in_c):
    for path, things in refused_files().items():
        mode = ["clips"] if path.suffix == ".mocps" else ["0", "memory"]
        said = run(read_in_c, *mode, path)
        assert names(said, f"unsupported {things}"), (path.name, said)


def test_javascript_names_unsupported_features(package, tmp_path):
    files = refused_files()
    listed = tmp_path / "jobs.json"
    listed.write_text(json.dumps([{"file": str(path), "message": True} for path in files]))
    said = json.loads(run("node", package / "test/kinds.mjs", listed))
    for (path, things), message in zip(files.items(), said, strict=True):
        assert names(message, f"unsupported {things}"), (path.name, message)
