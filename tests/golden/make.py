"""Write the golden files of one codec: only versions that do not exist yet, never over an old one.

    python tests/golden/make.py raw

Each is a folder ``tests/golden/<id>/v<bitstream version>`` with the codec's parameters, a file as
this release writes it, and the samples that every later release must read from it.
"""

import io
import json
import sys
from pathlib import Path

import numpy as np

import mocpack
from mocpack.errors import UnsupportedClipError
from mocpack.testing import walk
from mocpack.testing.motions import vertex_wave

HERE = Path(__file__).parent


def samples(clip):
    """Return the arrays of a clip, by name."""
    if isinstance(clip, mocpack.VertexClip):
        return {"vertices": clip.vertices}
    return {"rotations": clip.rotations, "translations": clip.translations}


def make(codec_id: str) -> Path:
    codec = mocpack.parse_codec(codec_id)
    folder = HERE / codec_id / f"v{codec.bitstream_version}"
    if folder.exists():
        sys.exit(f"{folder} exists; golden files are never rewritten")
    source = walk(0.5, frame_rate=60, seed=11)
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


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("name one codec: make golden CODEC=raw")
    print(make(sys.argv[1]))
