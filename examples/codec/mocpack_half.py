"""A codec in a package of its own: every number as float16, rounded to a step."""

import zlib
from dataclasses import dataclass

import numpy as np

from mocpack import Clip
from mocpack.codec import Codec, Quality
from mocpack.errors import CorruptionError, InvalidClipError


@dataclass(frozen=True)
class Half(Codec):
    step: float = 2.0**-12

    codec_id, bitstream_version = "half", 1
    # `--max-error 5mm` searches the step; errors grow with it
    quality = Quality("step", low=2.0**-14, high=2.0**-4)
    encoder_params = frozenset({"step"})  # the decoder does not need it

    def __post_init__(self):
        self.check_range("step", 2.0**-14, 2.0**-4)

    def encode(self, clip):
        arrays = (clip.rotations, clip.translations)
        rounded = (self.step * np.round(a / self.step) for a in arrays)
        return zlib.compress(b"".join(a.astype("<f2").tobytes() for a in rounded))

    def decode(self, payload, header):
        frames, joints = header.frame_count, len(header.skeleton)
        size = 2 * frames * (4 * joints + 3 * len(header.translated_joints))
        try:
            unpacked = zlib.decompressobj().decompress(payload, size)  # at most these bytes
            values = np.frombuffer(unpacked, "<f2").astype(float)
            if not np.isfinite(values).all():
                raise ValueError("numbers must be finite")
            turns, places = np.split(values, [4 * frames * joints])
            turns, places = turns.reshape(frames, joints, 4), places.reshape(frames, -1, 3)
            lengths = np.linalg.norm(turns, axis=-1, keepdims=True)
            if lengths.min() < 0.5:
                raise ValueError("rotations must be near unit length")
            return Clip(header, turns / lengths, places)
        except (ValueError, zlib.error, InvalidClipError) as error:  # a damaged file
            raise CorruptionError(f"half payload: {error}") from error
