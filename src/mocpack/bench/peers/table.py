"""General compressors as codecs, for comparison.

They are baselines of the bench, not file formats, so the registry does not list them. Each encodes
the matrix of degrees of freedom (`dofs.py`), except `bvh-xz`, which encodes the text, and those of
`gltf.py`. ``pip install 'mocpack[bench]'`` installs their libraries.
"""

from __future__ import annotations

import io
import lzma
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

import numpy as np

from mocpack.bench.peers.gltf import GLTF_PEERS
from mocpack.codec import Codec, Quality
from mocpack.codecs.registry import codec_class, codec_ids, parse_assignments
from mocpack.common.arrays import F64
from mocpack.common.optional_packages import require
from mocpack.errors import UnknownCodecError, convert_errors
from mocpack.io import bvh
from mocpack.model.clip import Clip, ClipHeader
from mocpack.model.dofs import from_dofs, moving_dofs, to_dofs


def _import_library(name: str) -> ModuleType:
    module: ModuleType = require(name, extra="bench", purpose="this peer")
    return module


@dataclass(frozen=True)
class MatrixPeer(Codec[Clip, ClipHeader]):
    """A general compressor of the moving columns; constant columns are stored as float64."""

    bitstream_version = 1

    @abstractmethod
    def pack(self, matrix: F64) -> bytes:
        """Return the compressed matrix (frames, moving columns)."""

    @abstractmethod
    def unpack(self, data: bytes, shape: tuple[int, int]) -> F64:
        """Return what `pack` compressed."""

    def encode(self, clip: Clip) -> bytes:
        matrix = to_dofs(clip)
        moving = moving_dofs(matrix)
        still = bytes(matrix[0, ~moving].astype("<f8").tobytes())
        flags = bytes(np.packbits(moving).tobytes())
        return flags + still + self.pack(np.ascontiguousarray(matrix[:, moving]))

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        columns = header.skeleton.channel_count
        flags = -(-columns // 8)
        moving = np.unpackbits(np.frombuffer(payload[:flags], np.uint8), count=columns).astype(bool)
        body = flags + 8 * int((~moving).sum())
        matrix = np.empty((header.frame_count, columns))
        matrix[:, ~moving] = np.frombuffer(payload[flags:body], "<f8")
        shape = (header.frame_count, int(moving.sum()))
        matrix[:, moving] = np.asarray(self.unpack(payload[body:], shape)).reshape(shape)
        return from_dofs(matrix, header)


@dataclass(frozen=True)
class Float32Zstd(MatrixPeer):
    """Float32 and zstandard, channel by channel."""

    codec_id = "float32-zstd"
    dtype: ClassVar[str] = "<f4"
    level: int = 19

    def pack(self, matrix: F64) -> bytes:
        packer = _import_library("zstandard").ZstdCompressor(level=self.level)
        return bytes(packer.compress(matrix.T.astype(self.dtype).tobytes()))

    def unpack(self, data: bytes, shape: tuple[int, int]) -> F64:
        raw = _import_library("zstandard").ZstdDecompressor().decompress(data)
        return np.frombuffer(raw, self.dtype).astype(np.float64).reshape(shape[::-1]).T


@dataclass(frozen=True)
class Float16Zstd(Float32Zstd):
    """Float16 and zstandard, channel by channel."""

    codec_id = "float16-zstd"
    dtype = "<f2"


@dataclass(frozen=True)
class Npz(MatrixPeer):
    """The format of most datasets: a compressed numpy archive of float32."""

    codec_id = "npz"

    def pack(self, matrix: F64) -> bytes:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, motion=matrix.astype(np.float32))
        return buffer.getvalue()

    def unpack(self, data: bytes, shape: tuple[int, int]) -> F64:
        with np.load(io.BytesIO(data)) as archive:
            return np.asarray(archive["motion"], np.float64)


@dataclass(frozen=True)
class Zfp(MatrixPeer):
    """zfp with an absolute tolerance on each degree of freedom."""

    codec_id = "zfp"
    quality: ClassVar[Quality] = Quality("tolerance", 1e-7, 1.0)
    tolerance: float = 1e-3

    def pack(self, matrix: F64) -> bytes:
        return bytes(_import_library("zfpy").compress_numpy(matrix, tolerance=self.tolerance))

    def unpack(self, data: bytes, shape: tuple[int, int]) -> F64:
        return np.asarray(_import_library("zfpy").decompress_numpy(data))


@dataclass(frozen=True)
class Sz3(MatrixPeer):
    """SZ3 with an absolute error bound on each degree of freedom."""

    codec_id = "sz3"
    quality: ClassVar[Quality] = Quality("tolerance", 1e-7, 1.0)
    tolerance: float = 1e-3

    def pack(self, matrix: F64) -> bytes:
        sz = _import_library("pysz")
        config = sz.szConfig(matrix.shape)
        config.errorBoundMode = sz.szErrorBoundMode.ABS
        config.absErrorBound = self.tolerance
        packed, _ = sz.sz.compress(matrix, config)
        return bytes(packed)

    def unpack(self, data: bytes, shape: tuple[int, int]) -> F64:
        sz = _import_library("pysz")
        values, _ = sz.sz.decompress(np.frombuffer(data, np.uint8), np.float64, shape)
        return np.asarray(values)


@dataclass(frozen=True)
class Pcodec(MatrixPeer):
    """Degrees of freedom rounded to a step, then pcodec, channel by channel."""

    codec_id = "pcodec"
    quality: ClassVar[Quality] = Quality("step", 1e-7, 1.0)
    step: float = 1e-3

    def pack(self, matrix: F64) -> bytes:
        config = _import_library("pcodec").ChunkConfig()
        numbers = np.rint(matrix.T / self.step).astype(np.int32)
        return bytes(
            _import_library("pcodec.standalone").simple_compress(np.ravel(numbers), config)
        )

    def unpack(self, data: bytes, shape: tuple[int, int]) -> F64:
        numbers = _import_library("pcodec.standalone").simple_decompress(data)
        return np.asarray(numbers).reshape(shape[::-1]).T * self.step


@dataclass(frozen=True)
class Blosc2(MatrixPeer):
    """Degrees of freedom rounded to a step, then blosc2 (zstd, byte shuffle, delta)."""

    codec_id = "blosc2"
    quality: ClassVar[Quality] = Quality("step", 1e-7, 1.0)
    step: float = 1e-3

    def pack(self, matrix: F64) -> bytes:
        blosc2 = _import_library("blosc2")
        numbers = np.rint(matrix.T / self.step).astype(np.int32)
        differences = np.ascontiguousarray(np.diff(numbers, axis=1, prepend=0), np.int32)
        settings = {"codec": blosc2.Codec.ZSTD, "clevel": 9, "typesize": 4}
        return bytes(blosc2.compress2(differences, **settings))

    def unpack(self, data: bytes, shape: tuple[int, int]) -> F64:
        raw = _import_library("blosc2").decompress2(data)
        numbers = np.frombuffer(raw, np.int32).reshape(shape[::-1])
        return np.cumsum(numbers, axis=1).T * self.step


@dataclass(frozen=True)
class BvhXz(Codec[Clip, ClipHeader]):
    """The BVH text, compressed with xz at its highest level."""

    codec_id = "bvh-xz"
    bitstream_version = 1

    def encode(self, clip: Clip) -> bytes:
        return lzma.compress(bvh.write(clip), preset=9 | lzma.PRESET_EXTREME)

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        with convert_errors(lzma.LZMAError, "xz"):
            clip = bvh.read(lzma.decompress(payload), unit=header.unit)
        return Clip(header, clip.rotations, clip.translations)


ALL: tuple[type[Codec], ...] = (
    Float32Zstd,
    Float16Zstd,
    Npz,
    Zfp,
    Sz3,
    Pcodec,
    Blosc2,
    BvhXz,
    *GLTF_PEERS,
)
PEERS = {cls.codec_id: cls for cls in ALL}


def parse_any_codec(spec: str) -> Codec:
    """Build a codec, or a compressor of this table, from its spec."""
    codec_id, params = parse_assignments(spec)
    find: Callable[[str], type[Codec]] = codec_class if codec_id in codec_ids() else _find_peer
    return find(codec_id).from_params(params)


def _find_peer(codec_id: str) -> type[Codec]:
    if codec_id not in PEERS:
        raise UnknownCodecError(
            f"unknown codec {codec_id!r}; installed: {', '.join(codec_ids())}; for comparison: "
            f"{', '.join(PEERS)}"
        )
    return PEERS[codec_id]
