"""Compare animation bytes with `gltfpack -cc` at its maximum error; needs `make gltf-peers`.

    python benchmarks/bench_gltf.py [between] [FILE.glb ...]

With `between`: the cost of keeping the bound (1/2000 of the model's size) between frames too,
compared with clips that keep it only at their frames, and the errors of those between frames.

Without files: the sample of the tests, and the models of the folder that MOCPACK_DATA names. Each
animation of at least one second is packed separately by gltfpack, with its default settings (30
keys per second, rotations of 12 bits, translations of 16) and with the rest of the model.

Its size is that of the buffer views of the animation, without the JSON document; ours is the
codec's payload with scales, times and tracks. The size of the whole file is printed too. Errors are
the largest distance of a joint, or of a point 3 cm from it along one of its axes, from the
original, at the frames and at 1,000 random times, in 1/1000 of the model's size. Our `max_error` is
the error of gltfpack, or a millionth of the size if that is zero.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import mocpack
from mocpack.bench.datasets import CHECKOUT, data_folder
from mocpack.bench.peers.gltf import rewrite_glb
from mocpack.io import external_file_reader, gltf, gltf_build, gltf_file, meshopt
from mocpack.io.gltf_file import Document
from mocpack.model.clip import Clip, measure_error
from mocpack.model.kinematics import SHELL_RADIUS_M, scale_exponents

SHORTEST = 1.0  # seconds
TIMES = 1000
FINEST = 1e-6  # of the size
OPTIONS = ["-cc", "-kn"]


@dataclass(frozen=True)
class Row:
    """One animation: bytes and errors (meters) of both."""

    name: str
    theirs: int
    ours: int
    file: int
    their_error: float
    our_error: float
    size: float


def main() -> None:
    words = sys.argv[1:]
    paths = [Path(p) for p in words if p != "between"] or _known()
    if "between" in words:
        between(paths)
    else:
        against_gltfpack(paths)


def between(paths: list[Path]) -> None:
    """Print bytes and errors of every animation, with the bound at frames only and everywhere."""
    print(f"{'animation':<44}{'frames alone':>13}{'passes by':>10}{'everywhere':>11}{'more':>8}")
    totals = np.zeros(2)
    for path in paths:
        for name in gltf.list_clips(path.read_bytes(), external_file_reader(path)):
            clip = mocpack.read(path, clip=name)
            bound = float(np.ptp(clip.positions().reshape(-1, 3), axis=0).max() + 1) / 2000
            plain = clip.replace(metadata={**clip.metadata, "source": "bare"})
            files = [mocpack.encode(c, max_error=mocpack.m(bound)) for c in (plain, clip)]
            at = np.linspace(0, clip.frame_count - 1, 12 * clip.frame_count)
            apart = measure_error(clip.poses_at(at), mocpack.decode(files[0]).poses_at(at)).max
            sizes = np.array([len(file) for file in files])
            totals += sizes
            row = f"{sizes[0]:>13}{apart / bound:>10.2f}{sizes[1]:>11}"
            print(f"{path.stem + ' ' + name:<44}{row}{sizes[1] / sizes[0] - 1:>8.1%}", flush=True)
    print(f"together {totals[1] / totals[0] - 1:.1%} more")


def against_gltfpack(paths: list[Path]) -> None:
    print(f"{'animation':<36}{'gltfpack':>9}{'ours':>8}{'ratio':>7}{'file':>8}  errors, ‰")
    rows = []
    for row in (row for path in paths for row in measure(path)):
        rows.append(row)
        errors = f"{1e3 * row.their_error / row.size:8.3f}{1e3 * row.our_error / row.size:8.3f}"
        ratio = row.ours / row.theirs
        print(
            f"{row.name:<36}{row.theirs:>9}{row.ours:>8}{ratio:>7.3f}{row.file:>8}{errors}",
            flush=True,
        )
    ours, theirs = (sum(getattr(row, name) for row in rows) for name in ("ours", "theirs"))
    each = np.exp(np.mean([np.log(row.ours / row.theirs) for row in rows]))
    print(f"together {theirs} and {ours} bytes: {ours / theirs:.3f}; mean ratio {each:.3f}")


def measure(path: Path) -> Iterator[Row]:
    document = gltf_file.parse(path.read_bytes(), lambda name: (path.parent / name).read_bytes())
    for number, name in enumerate(gltf.list_animations(document)):
        alone = _alone(document, number)
        clip = gltf.read(alone)
        if clip.times[-1] - clip.times[0] >= SHORTEST:
            yield _row(f"{path.stem} {name}", alone, clip)


def _row(name: str, alone: bytes, clip: Clip) -> Row:
    packed = rewrite_glb(alone, {"tool": "gltfpack", "options": OPTIONS})
    rng = np.random.default_rng(0)
    times = np.sort(np.append(clip.times, rng.uniform(clip.times[0], clip.times[-1], TIMES)))
    # gltfpack leaves out joints that only a map of human bones names
    joints = _at_times(gltf_file.parse(packed), 0, times[:1]).skeleton.names
    names = tuple(name for name in clip.skeleton.names if name in joints)
    exact = _places(gltf_file.parse(alone), names, times)
    size = float(np.ptp(exact.reshape(-1, 3), axis=0).max())
    theirs = _apart(_places(gltf_file.parse(packed), names, times), exact)
    bound = max(theirs, FINEST * size)
    made = mocpack.encode(clip, max_error=mocpack.m(bound))
    decoded = mocpack.decode(made)
    at = np.interp(times, clip.times, np.arange(clip.frame_count))
    column = [clip.skeleton.names.index(name) for name in names]
    ours = _points(decoded.poses_at(at))[:, column].reshape(len(times), -1, 3)
    with mocpack.open(made) as motion:
        sizes = motion.sizes
    moving = sum(sizes[part] for part in ("payload", "scales", "times", "tracks"))
    return Row(name, _animation_bytes(packed), moving, len(made), theirs, _apart(ours, exact), size)


def _alone(document: Document, number: int) -> bytes:
    """Return a file with one animation and unique node names."""
    nodes = [{**node, "name": f"n{n}"} for n, node in enumerate(document.items("nodes"))]
    root = {**document.root, "nodes": nodes, "animations": [document.items("animations")[number]]}
    return gltf_build.pack_binary(root, document.buffer(0))


def _at_times(document: Document, number: int, times: np.ndarray) -> Clip:
    """Return an animation of an open file, sampled at these times (T,)."""
    name = gltf.list_animations(document)[number]
    return gltf.sample_animation(document, gltf.parse_channels(document, number), times, name, 1.0)


def _places(document: Document, names: tuple[str, ...], times: np.ndarray) -> np.ndarray:
    """Return positions (T, N, 3) of named nodes, and of points near them, at any times."""
    clip = _at_times(document, 0, times)
    known = clip.skeleton.names
    column = [known.index(name) for name in names]
    return _points(clip)[:, column].reshape(len(times), -1, 3)


def _points(clip: Clip) -> np.ndarray:
    """Return the positions (T, J, 4, 3) of joints and of three points near each."""
    places, axes = clip.world_matrices()
    sizes = SHELL_RADIUS_M * np.exp2(-scale_exponents(clip.skeleton).astype(float))
    read_external = places[..., np.newaxis] + sizes[:, np.newaxis, np.newaxis] * axes
    return np.concatenate([places[:, :, np.newaxis], read_external.swapaxes(-1, -2)], axis=2)


def _apart(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.linalg.norm(a - b, axis=-1).max())


def _animation_bytes(data: bytes) -> int:
    """Return the compressed size of the buffer views of an animation."""
    document = gltf_file.parse(data)
    (animation,) = document.items("animations")
    arrays = {sampler[key] for sampler in animation["samplers"] for key in ("input", "output")}
    views = {document.item("accessors", array)["bufferView"] for array in arrays}
    total = 0
    for view in views:
        holder = document.item("bufferViews", view)
        packed = [holder["extensions"][e] for e in meshopt.EXTENSIONS if e in holder["extensions"]]
        total += packed[0]["byteLength"]
    return total


def _known() -> list[Path]:
    folder = data_folder()
    models = sorted([*folder.glob("gltf/*.glb"), *folder.glob("vrma/*.vrma")]) if folder else []
    return models or [CHECKOUT / "tests/samples/Fox.glb"]


if __name__ == "__main__":
    main()
