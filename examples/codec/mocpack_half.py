"""A codec in a package of its own: every number as float16."""

from dataclasses import dataclass

import numpy as np

from mocpack import Clip
from mocpack.codec import Codec
from mocpack.errors import CorruptionError, InvalidClipError


@dataclass(frozen=True)
class Half(Codec):
    codec_id, bitstream_version = "half", 1

    def encode(self, clip):
        return b"".join(a.astype("<f2").tobytes() for a in (clip.rotations, clip.translations))

    def decode(self, payload, header):
        frames, joints = header.frame_count, len(header.skeleton)
        try:
            values = np.frombuffer(payload, "<f2").astype(float)
            turns, places = np.split(values, [4 * frames * joints])
            turns, places = turns.reshape(frames, joints, 4), places.reshape(frames, -1, 3)
            return Clip(header, turns, places)
        except (ValueError, InvalidClipError) as error:  # a damaged file
            raise CorruptionError(f"half payload: {error}") from error
