"""Write the golden files of one codec: only versions that do not exist yet, never over an old one.

    PYTHONPATH=tests/support python tests/golden/make.py raw
    PYTHONPATH=tests/support python tests/golden/make.py mpeg4-bap:lossless=true
    PYTHONPATH=tests/support python tests/golden/make.py keysine posed

Each is a folder ``tests/golden/<id>/v<bitstream version>`` with the codec's parameters, a file as
this release writes it, and the samples that every later release must read from it. Parameters that
differ from their defaults make a folder of their own, for branches that the defaults do not reach,
and so does another motion than the walk: `posed` begins with a pose that was added in front, `take`
holds everything that a take can hold, `take-rest` and the like one thing of it.
"""

import io
import json
import sys
from functools import partial
from pathlib import Path

import numpy as np

import mocpack
from mocpack.errors import UnsupportedClipError
from mocpack.registry import non_default_params
from mocpack.testing import walk
from mocpack.testing.motions import vertex_wave
from takes import FEATURES, markers, take

HERE = Path(__file__).parent


def samples(clip):
    """Return the arrays of a clip, by name."""
    if isinstance(clip, mocpack.VertexClip):
        return {"vertices": clip.vertices}
    arrays = {"rotations": clip.rotations, "translations": clip.translations}
    take_data = clip.take_data
    for name in ("scales", "times", "valid"):
        if getattr(take_data, name) is not None:
            arrays[name] = getattr(clip, name)
    for i, track in enumerate(take_data.tracks.values()):
        arrays[f"track{i}"] = np.asarray(track.values)
    for name in ("rest", "scales"):
        if getattr(clip.skeleton, "has_rest" if name == "rest" else "is_scaled"):
            arrays[f"skeleton_{name}"] = getattr(clip.skeleton, name)
    if clip.skeleton.hinges:
        arrays["angles"] = clip.angles
    return arrays


def posed() -> mocpack.Clip:
    """Return a walk whose first frame is the skeleton's own pose."""
    clip = walk(0.5, frame_rate=60, seed=11)
    turns = clip.rotations.copy()
    turns[0] = [0, 0, 0, 1]
    return mocpack.Clip(clip.header, turns, clip.translations)


MOTIONS = {
    "": lambda: walk(0.5, frame_rate=60, seed=11),
    "posed": posed,
    "markers": markers,
    "take": take,
} | {f"take-{feature}": partial(take, [feature]) for feature in FEATURES}
"""What golden files are made of, by name."""


def make(spec: str, motion: str = "") -> Path:
    codec = mocpack.parse_codec(spec)
    codec_id = codec.codec_id
    changed = "".join(f"-{name}-{value}" for name, value in non_default_params(codec).items())
    folder = HERE / codec_id / f"v{codec.bitstream_version}{changed}"
    folder = folder.with_name(f"{folder.name}-{motion}") if motion else folder
    if folder.exists():
        sys.exit(f"{folder} exists; golden files are never rewritten")
    source = MOTIONS[motion]()
    if "skeleton" not in codec.kinds:
        source = vertex_wave()
    try:
        data = mocpack.encode(source, codec)
    except UnsupportedClipError as error:
        sys.exit(f"{codec_id}: {error}")
    folder.mkdir(parents=True)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **samples(mocpack.decode(data)))
    (folder / "decoded.npz").write_bytes(buffer.getvalue())
    (folder / "file.mocp").write_bytes(data)
    (folder / "codec.json").write_text(json.dumps(codec.params(), indent=1, sort_keys=True) + "\n")
    return folder


def make_scene() -> Path:
    """Write the golden scene: two actors and markers."""
    folder = HERE / "scene"
    if folder.exists():
        sys.exit(f"{folder} exists; golden files are never rewritten")
    clips = {"anna": walk(0.2), "ben": take(["space"]), "box": markers(10, 3)}
    data = mocpack.encode_scene(clips, "raw")
    folder.mkdir()
    buffer = io.BytesIO()
    found = mocpack.decode_scene(data).items()
    np.savez_compressed(buffer, **{f"{name}.rotations": clip.rotations for name, clip in found})
    (folder / "decoded.npz").write_bytes(buffer.getvalue())
    (folder / "file.mocp").write_bytes(data)
    return folder


if __name__ == "__main__":
    if sys.argv[1:] == ["scene"]:
        print(make_scene())
        sys.exit()
    if not 2 <= len(sys.argv) <= 3 or sys.argv[2:][:1] not in [[], *([m] for m in MOTIONS)]:
        sys.exit(f"name one codec, and a motion of {', '.join(filter(None, MOTIONS))} if need be")
    print(make(*sys.argv[1:]))
