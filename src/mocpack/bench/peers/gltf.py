"""glTF optimizers as codecs, the usual choice for games and the web.

`gltfpack` and `gltf-transform` come from npm and run in node, from the folder `benchmarks/node`
of a checkout (``make gltf-peers``) or the one that ``MOCPACK_NODE`` names. A payload is the .glb
file that they write, so it contains the skeleton again (about 3 kB for 31 joints).
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
from abc import abstractmethod
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import numpy as np

from mocpack.bench.datasets import CHECKOUT
from mocpack.codec import Codec, Quality
from mocpack.common.arrays import F64
from mocpack.common.json_object import JsonObject
from mocpack.errors import CorruptionError, FormatError, UsageError
from mocpack.io import glb, gltf, gltf_file
from mocpack.model import rotations
from mocpack.model.clip import Clip, ClipHeader

EXTRA_TRANSLATION_BITS = 4  # as in the defaults of gltfpack: 12 for rotations, 16 for translations


@dataclass(frozen=True)
class GltfPeer(Codec[Clip, ClipHeader]):
    """A clip as .glb, rewritten by a tool."""

    bitstream_version = 1

    @abstractmethod
    def request(self) -> JsonObject:
        """Return the options of the tool."""

    def encode(self, clip: Clip) -> bytes:
        return rewrite_glb(glb.write(clip, figure=False), self.request())

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        return read_motion(payload, header)


@dataclass(frozen=True)
class Gltfpack(GltfPeer):
    """gltfpack with its highest compression and every key of the source.

    Parameters
    ----------
    bits : int, 4..16
        Bits of each component of a rotation; translations have four more.
    """

    codec_id = "gltfpack"
    quality: ClassVar[Quality] = Quality("bits", 4, 16, error_sign=-1, integer=True)
    bits: int = 12

    def __post_init__(self) -> None:
        self.check_range("bits", 4, 16)

    def request(self) -> JsonObject:
        precision = ["-ar", str(self.bits), "-at", str(self.bits + EXTRA_TRANSLATION_BITS)]
        return {"tool": "gltfpack", "options": ["-cc", "-kn", "-af", "0", *precision]}


@dataclass(frozen=True)
class GltfTransform(GltfPeer):
    """glTF-Transform: keys dropped within a tolerance, the rest compressed by meshoptimizer.

    Dropping keys gives each track its own times. If that makes the file larger, all keys stay.

    Parameters
    ----------
    tolerance : float
        Largest error of a component at a dropped key.
    level : str
        "medium" keeps float32; "high" rounds rotations to 16 bits and translations to 12.
    """

    codec_id = "gltf-transform"
    quality: ClassVar[Quality] = Quality("tolerance", 1e-7, 1.0)
    tolerance: float = 1e-4
    level: str = "medium"

    def __post_init__(self) -> None:
        self.check_choice("level", ("medium", "high"))

    def request(self) -> JsonObject:
        return {"tool": self.codec_id, "tolerance": self.tolerance, "level": self.level}

    def encode(self, clip: Clip) -> bytes:
        source, dense = glb.write(clip, figure=False), {**self.request(), "tolerance": None}
        return min((rewrite_glb(source, r) for r in (self.request(), dense)), key=len)


def read_motion(data: bytes, header: ClipHeader) -> Clip:
    """Return the motion of the nodes that have the names of the header's joints."""
    try:
        document = gltf_file.parse(data)
        nodes, keys = gltf.parse_nodes(document), gltf.parse_channels(document, 0)
    except (FormatError, IndexError) as error:
        raise CorruptionError(f"glTF: {error}") from error
    # times in glTF are float32; these are exactly those of the keys
    times = (np.arange(header.frame_count) * header.frame_time).astype("<f4").astype(np.float64)
    missing = [name for name in header.skeleton.names if name not in nodes.names]
    if missing:
        raise CorruptionError(f"glTF: node {missing[0]!r} is missing")
    joints = [nodes.names.index(name) for name in header.skeleton.names]

    def sample_node(node: int, path: str) -> F64:
        if (node, path) in keys:
            return keys[node, path].at(times)
        return np.tile(getattr(nodes, path)[node], (len(times), 1))

    turns = np.stack([sample_node(node, "rotation") for node in joints], axis=1)
    places = np.zeros((header.frame_count, len(header.translated_joints), 3))
    for m, j in enumerate(header.translated_joints):
        places[:, m] = sample_node(joints[j], "translation")
    return Clip(header, rotations.normalize(turns), places)


GLTF_PEERS: tuple[type[Codec], ...] = (Gltfpack, GltfTransform)


def rewrite_glb(data: bytes, request: JsonObject) -> bytes:
    """Return a .glb file as a tool rewrites it."""
    node = _start_node(_find_tools())
    with TemporaryDirectory(prefix="mocpack-gltf-") as folder:
        source, target = Path(folder) / "in.glb", Path(folder) / "out.glb"
        source.write_bytes(data)
        options = {**request, "input": str(source), "output": str(target)}
        assert node.stdin is not None
        assert node.stdout is not None
        node.stdin.write(json.dumps(options) + "\n")
        node.stdin.flush()
        answer = json.loads(node.stdout.readline() or '{"error": "node ended"}')
        if "error" in answer:
            raise CorruptionError(f"{request['tool']}: {answer['error']}")
        return target.read_bytes()


def _find_tools() -> Path:
    """Return the folder of the tools."""
    folder = Path(os.environ.get("MOCPACK_NODE") or CHECKOUT / "benchmarks" / "node")
    if shutil.which("node") is None or not (folder / "node_modules").is_dir():
        raise UsageError("this codec needs node and the packages that `make gltf-peers` installs")
    return folder


@cache
def _start_node(folder: Path) -> subprocess.Popen[str]:
    """Return the process that runs the tools. It starts at first use and ends with this one."""
    process = subprocess.Popen(
        ["node", str(folder / "tools.mjs")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(_end_process, process)
    return process


def _end_process(process: subprocess.Popen[str]) -> None:
    with process:  # closes its input, which ends it, and waits
        pass
