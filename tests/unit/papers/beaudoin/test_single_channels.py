"""Decoding single channels of `wavelet`, which its paper claims: without deflate."""

import numpy as np
import pytest

import mocpack
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.codec import Payload
from mocpack.common.source import BytesSource
from mocpack.errors import FormatError
from mocpack.papers.beaudoin.codec.wavelet import Wavelet
from mocpack.papers.beaudoin.codec.wavelet_opt import WaveletOpt
from mocpack.testing import walk

PLAIN = Wavelet(deflate=False, ratio=8)


class Counted(BytesSource):
    """Bytes in memory that count those that were read."""

    touched = 0

    def read(self, offset, size):
        self.touched += size
        return super().read(offset, size)


def channels_of(codec, clip, joints):
    """Return the motion of some joints, and the bytes that it took of how many."""
    data = codec.encode(clip)
    source = Counted(data)
    decoder = codec.open(Payload(source, 0, len(data)), clip.header)
    found = decoder.frames(3, 9, clip.skeleton.indices(joints))
    return found, source.touched, len(data)


@pytest.mark.parametrize("rotation", ["euler", "quaternion", "rotvec"])
@pytest.mark.parametrize("step_per_signal", [False, True])
def test_a_joint_alone_is_as_in_the_whole_clip(rotation, step_per_signal):
    clip = walk(1.0)
    codec = Wavelet(deflate=False, ratio=8, rotation=rotation, step_per_signal=step_per_signal)
    whole = codec.decode(codec.encode(clip), clip.header).frames(3, 9)
    found, _, _ = channels_of(codec, clip, ["LeftArm", "RightUpLeg"])
    wanted = whole.joints(["LeftArm", "RightUpLeg"])
    assert found.skeleton.names == wanted.skeleton.names
    np.testing.assert_array_equal(found.rotations, wanted.rotations)
    np.testing.assert_array_equal(found.translations, wanted.translations)


def test_a_limb_early_in_the_file_touches_a_part_of_it():
    clip = load_clip("cmu/49_02", COMMITTED)
    _, touched, size = channels_of(Wavelet(deflate=False, bits=16), clip, ["LeftUpLeg"])
    assert touched < 0.3 * size
    _, touched, size = channels_of(Wavelet(bits=16), clip, ["LeftUpLeg"])
    assert touched == size


def test_open_files_decode_single_channels(tmp_path):
    clip = walk(1.0)
    path = tmp_path / "walk.mocp"
    path.write_bytes(mocpack.encode(clip, PLAIN))
    with mocpack.open(path) as motion:
        found = motion.frames(2, 5, joints=["LeftArm"])
        wanted = motion.clip().frames(2, 5).joints(["LeftArm"])
    np.testing.assert_array_equal(found.rotations, wanted.rotations)


def test_the_optimized_codec_decodes_them_too():
    clip = walk(1.0)
    found, _, _ = channels_of(WaveletOpt(deflate=False), clip, ["Spine"])
    assert found.skeleton.names[-1] == "Spine"


def test_every_cut_before_the_wanted_signals_is_a_format_error():
    clip = walk(0.2)
    data = PLAIN.encode(clip)
    for end in range(0, len(data) // 2, 7):
        decoder = PLAIN.open(data[:end], clip.header)
        with pytest.raises(FormatError):
            decoder.joints([len(clip.skeleton) - 1])
