"""Write the golden files that do not exist yet: `make golden`.

Each is a folder ``tests/golden/<id>/v<bitstream version>`` with a file as this release writes it,
the codec's parameters, and ``decoded.npz``, the arrays that every later release must decode from it
(README.md). Parameters that differ from their defaults, and motions other than the walk, have
folders of their own. Files of a released version are never written again. Before the release,
delete a folder to write its file again, or ``decoded.npz`` to write its arrays again.
"""

import io
import json
import shutil
import sys
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
from reader_cases import built, chunks, head, needing

import mocpack
from damaged_archives import with_chunk, with_kind, with_version
from golden_arrays import file_arrays, pose_arrays
from mocpack.codecs.registry import non_default_params
from mocpack.container import ArchiveWriter, pack_scene, to_stored_clip
from mocpack.corpora.catalog import CLIP_COLUMN
from mocpack.corpora.writing import CorpusWriter
from mocpack.model.skeleton import channel_hinges
from mocpack.samples import JUMP
from mocpack.testing import hard_clips, walk
from mocpack.testing.motions import chain, vertex_wave
from reference.keysine_symbols import tables
from robots import hinged_motion, hinged_skeleton
from takes import FEATURES, asf_clip, coded_tracks, markers, take

HERE = Path(__file__).parent
METADATA = {"scene": 4, "notes": [1, 2.5e3, None, {"naïve": "\U0001f600"}], "rights": "CC0"}
SHARD_BYTES = 4000
JOINT_BOUNDS = {"hand": "9mm", "knee": "0.5deg"}


def posed():
    """Return a walk that starts in the skeleton's rest pose."""
    clip = MOTIONS[""]()
    turns = clip.rotations.copy()
    turns[0] = [0, 0, 0, 1]
    return mocpack.Clip(clip.header, turns, clip.translations)


def still():
    """Return a pose held for so long that the file needs a `fill` chunk."""
    pose = chain(2, 1)
    arrays = (np.repeat(array, 20_000, axis=0) for array in (pose.rotations, pose.translations))
    return mocpack.Clip.build(pose.skeleton, *arrays, frame_rate=30)


def described():
    """Return a walk with metadata."""
    clip = MOTIONS[""]()
    return replace(clip, header=replace(clip.header, metadata=METADATA))


def hinged_asf():
    """Return a clip with the channels of ASF, whose hinges follow from its channels."""
    clip = asf_clip()
    hinges = channel_hinges(clip.skeleton)
    limits = np.array([[-9.0, 9.0], [-np.inf, 8.5], [-np.inf, np.inf]])
    skeleton = replace(clip.skeleton, hinges=replace(hinges, limits=limits))
    return replace(clip, header=replace(clip.header, skeleton=skeleton))


MOTIONS = {
    "": partial(walk, 0.5, frame_rate=60, seed=11),
    "posed": posed,
    "markers": markers,
    "mesh": vertex_wave,
    "robot": lambda: hinged_motion(hinged_skeleton(2), 2),
    "jump": lambda: mocpack.read(JUMP).frames(0, 130),
    "asf": hinged_asf,
    "noise": lambda: hard_clips()["noise"],
    "one-frame": lambda: hard_clips()["one frame"],
    "still": still,
    "metadata": described,
    "joint-bounds": lambda: take(["rest"]),
    "tracks": lambda: walk(0.2).replace(tracks=coded_tracks()),
    "take": take,
} | {f"take-{feature}": partial(take, [feature]) for feature in FEATURES}
"""What golden files are made of, by name."""

TAKES = ["take", *(f"take-{feature}" for feature in FEATURES)]
FROZEN = {
    "raw": ["", "markers", "mesh", "asf", "tracks", "metadata", *TAKES],
    "lossless": ["", "markers", "mesh", "asf", "jump", "noise", "take", "still"],
    "keysine": ["", "posed", "markers", "robot", "one-frame", "still", "joint-bounds", *TAKES],
    "keysine:effort=fast": [""],
    "keysine:effort=best": [""],
    "keysine:mean_error=1mm": [""],
    "keysine:layers=3": ["", "jump"],
    "keysine:layers=3,group_seconds=0.1": [""],
    "keysine:max_error=5mm": ["jump"],
    "keysine:max_error=10mm,group_seconds=0.1": [""],
    "keysine:streamed=true,group_seconds=0.1": ["", "jump"],
    "keysine:streamed=true,mode=grid,group_seconds=0.1": [""],
    "keysine:mode=grid": ["", "robot"],
    "keysine:mode=grid,max_error=0.1mm": ["jump"],
    "keysine:mode=grid,effort=best": [""],
    "keysine:mode=grid,max_angle=0.1deg": ["take-hinges"],
}
"""Motions of each setting whose files every later release reads."""
EXPERIMENTAL = [
    *("bap-index", "bap-index:b=12,variant=literal,order=by_influence"),
    *("bap-sparse", "bap-sparse:K=0.0", "bap-sparse:indexed=false"),
    "bap-sparse:n_d=7,b=5,sparse_fixed=true",
    *("dwt97", "fk-wavelet", "fk-wavelet:roi=contacts,ranges=auto", "ik-predict", "keyframe"),
    *("last-frame", "latent-spline", "mpeg4-bap", "mpeg4-bap:intra=9,lossless=true"),
    *("mpeg4-bap:keep=3,fill=hold,K=0.1", "pca", "rd-pca", "rd-pca:lam=0.001,L=10,tpca=false"),
    *("rd-pca:lam=0.0002,L=6,ppca=false,centered=true", "rd-pca:lam=1e-9,Q_l=0.01"),
    *("wavelet", "wavelet:deflate=false", "wavelet:rotation=quaternion,update=4-2"),
    *("wavelet:rotation=rotvec,update=none", "wavelet-ik", "wavelet-ik:ik=analytic"),
    *("wavelet-ik:feet=LeftToe+RightToe,chain=3", "wavelet-opt"),
]
SCENE = {"anna": "raw/v1", "ben": "keysine/v1-take-space", "box": "raw/v1-markers"}
ARCHIVE = {
    "walks/first": "keysine/v1",
    "walks/same again": "keysine/v1",
    "walks/fine": "keysine/v1-layers-3",
    "walks/described": "raw/v1-metadata",
    "take": "keysine/v1-take",
    "exact": "lossless/v1",
    "mesh": "raw/v1-mesh",
    "exact again": "lossless/v1",
}
"""Clips of the scene and the archives: names, and the golden files that they are."""


def settings():
    """Yield every (spec, motion)."""
    for spec, motions in FROZEN.items():
        yield from ((spec, motion) for motion in motions)
    yield from ((spec, "") for spec in EXPERIMENTAL)


def folder_of(spec, motion):
    codec = mocpack.parse_codec(spec)
    parts = [f"v{codec.bitstream_version}"]
    for name, value in non_default_params(codec).items():
        parts += [name, f"{value:.4g}" if type(value) is float and value else str(value)]
    return HERE / codec.codec_id / "-".join([*parts, motion] if motion else parts)


@cache
def source_of(spec, motion):
    codec = mocpack.parse_codec(spec)
    return MOTIONS[motion]() if "skeleton" in codec.kinds else vertex_wave()


def write(spec, motion):
    """Write the missing parts of one golden file; return whether any was missing."""
    codec, folder = mocpack.parse_codec(spec), folder_of(spec, motion)
    file, decoded = folder / "file.mocp", folder / "decoded.npz"
    if file.exists() and decoded.exists():
        return False
    source = source_of(spec, motion)
    folder.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        bounds = JOINT_BOUNDS if motion == "joint-bounds" else None
        file.write_bytes(mocpack.encode(source, codec, joint_errors=bounds))
        params = json.dumps(codec.params(), indent=1, sort_keys=True)
        (folder / "codec.json").write_text(params + "\n")
    data = file.read_bytes()
    frozen = codec.is_frozen
    save(decoded, file_arrays(data, source) if frozen else pose_arrays(mocpack.decode(data)))
    return True


def save(path, arrays):
    """Write arrays as an npz file, the same bytes for the same arrays."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    path.write_bytes(buffer.getvalue())


def golden_file(name):
    return (HERE / name / "file.mocp").read_bytes()


def write_scene():
    (HERE / "scene").mkdir()
    data = pack_scene({name: golden_file(path) for name, path in SCENE.items()})
    (HERE / "scene/file.mocp").write_bytes(data)
    write_contents(HERE / "scene", SCENE)


def write_archives():
    """Write an archive whose trailer repeats the starts of clips, and one in shards."""
    for folder in ("archive", "shards"):
        (HERE / folder).mkdir()
        write_contents(HERE / folder, ARCHIVE)
    with (HERE / "archive/file.mocps").open("wb") as stream:
        writer = ArchiveWriter(stream)
        for name, path in ARCHIVE.items():
            writer.add(to_stored_clip(name, golden_file(path), front=60))
        writer.end()
    with CorpusWriter(HERE / "shards/file.mocps", shard_size=SHARD_BYTES) as corpus:
        for name, path in ARCHIVE.items():
            corpus.add(to_stored_clip(name, golden_file(path)), {CLIP_COLUMN: name})


def write_refused():
    """Write files that need a newer reader, and the words that each error must contain."""
    walk = golden_file("keysine/v1")
    stream = io.BytesIO()
    writer = ArchiveWriter(stream)
    writer.add(to_stored_clip("walk", walk))
    writer.end()
    archive = stream.getvalue()
    parts = chunks(walk)
    scene = [(b"CLIP", b"\1a" + walk), (b"GRIP", b"x")]
    files = {
        "container-version.mocp": (built(parts, version=2), "format version 2"),
        "scene-version.mocp": (built(scene[:1], version=2), "format version 2"),
        "bitstream-version.mocp": (head(bitstream=99), "keysine bitstream version 99"),
        "codec.mocp": (head(codec=b"nonesuch"), "nonesuch"),
        "flag.mocp": (head(flags=128 + 3), "HEAD flags 128"),
        "chunk.mocp": (built([*parts[:-1], (b"GRIP", b"x"), parts[-1]]), "GRIP"),
        "scene-chunk.mocp": (built(scene), "GRIP"),
        "parameter.mocp": (needing(b'{"zeal":11}'), "keysine zeal"),
        "archive-version.mocps": (with_version(archive, 2), "archive version 2"),
        "archive-chunk.mocps": (with_chunk(archive, b"GRIP"), "GRIP"),
        "archive-kind.mocps": (with_kind(archive, clip=0, kind=7), "walk kind 7"),
    }
    (HERE / "refused").mkdir()
    for name, (data, _) in files.items():
        (HERE / "refused" / name).write_bytes(data)
    text = json.dumps({name: things for name, (_, things) in files.items()}, indent=1)
    (HERE / "refused/contents.json").write_text(text + "\n")


def write_tables():
    """Write the trained tables of keysine, under the names of docs/codecs/keysine.md."""
    (HERE / "tables").mkdir()
    save(HERE / "tables/keysine.npz", tables())


def write_contents(folder, clips):
    text = json.dumps({name: f"{path}/file.mocp" for name, path in clips.items()}, indent=1)
    (folder / "contents.json").write_text(text + "\n")


def main():
    for spec, motion in settings():
        if write(spec, motion):
            print(folder_of(spec, motion).relative_to(HERE))
    if not (HERE / "tables/keysine.npz").exists():
        write_tables()
    for make, *folders in (
        (write_scene, "scene"),
        (write_archives, "archive", "shards"),
        (write_refused, "refused"),
    ):
        if not all((HERE / folder / "contents.json").exists() for folder in folders):
            for folder in folders:
                shutil.rmtree(HERE / folder, ignore_errors=True)
            make()
            print(*folders)


if __name__ == "__main__":
    sys.exit(main())
