"""Streamed payloads: the order in which an encoder can write a file in one pass."""

import zlib
from dataclasses import replace

import numpy as np
import pytest

import mocpack
from mocpack.codecs.keysine import Keysine
from mocpack.coding.fields import FieldWriter
from mocpack.container.chunks import pack_chunk
from mocpack.errors import CorruptionError
from mocpack.model.clip import measure_error
from mocpack.testing import walk
from reference import keysine as reference
from reference.keysine_head import head_of
from reference.keysine_head_writer import write_head, write_payload

CLIP = walk(4.03, frame_rate=60, seed=5)
STREAMED = "keysine:streamed=true,group_seconds=0.1"
RESERVED = 4000  # bytes at the start of the file


def split_payload(payload):
    """Return the head of a payload, and its parts in their order."""
    head = head_of(payload, CLIP.header)
    return head, head.split(payload)


def test_every_group_has_the_same_length_except_the_last():
    codec = Keysine(streamed=True, group_seconds=0.1)
    head = head_of(codec.encode(CLIP), CLIP.header)
    keys = [head.key_frame(g, CLIP.frame_count) for g in range(head.group_count + 1)]
    assert set(np.diff(keys[:-1])) == {6}
    assert 0 < keys[-1] - keys[-2] < 6
    assert keys[-1] == CLIP.frame_count - 1


@pytest.mark.parametrize("mode", ["transform", "grid"])
@pytest.mark.parametrize("frames", [1, 2, 6, 7, 8, 97, 98, CLIP.frame_count])
def test_a_streamed_file_keeps_the_bound_and_decodes_like_the_reference(mode, frames):
    clip = CLIP.frames(0, frames)
    codec = Keysine(max_error=1e-3, streamed=True, group_seconds=0.1, mode=mode)
    payload = codec.encode(clip)
    decoded = codec.decode(payload, clip.header)
    assert measure_error(clip, decoded).max <= 1e-3
    slow = reference.decode(payload, clip.header)
    np.testing.assert_allclose(decoded.rotations, slow.rotations, atol=1e-9)
    np.testing.assert_allclose(decoded.translations, slow.translations, atol=1e-9)


def test_windows_of_a_streamed_file_read_only_their_segments():
    data = mocpack.encode(CLIP, STREAMED, max_error="1mm")
    with mocpack.open(data) as motion:
        whole = motion[:]
        for start, stop in ((0, 3), (90, 110), (200, 240), (0, CLIP.frame_count)):
            np.testing.assert_array_equal(motion[start:stop].rotations, whole.rotations[start:stop])
        ranges = motion.decoder.byte_ranges(200, 210)
        assert sum(size for _, size in ranges) < len(data) / 4
        assert motion.preview().frame_count == len(range(0, CLIP.frame_count - 1, 6)) + 1


def test_a_streamed_payload_has_one_layer():
    with pytest.raises(ValueError, match="layers"):
        Keysine(streamed=True, layers=2)


@pytest.mark.parametrize(
    ("field", "value"), [("group_count", 7), ("group_frames", 5), ("group_frames", 9000)]
)
def test_a_streamed_head_whose_groups_do_not_fit_its_frames_is_corrupt(field, value):
    codec = Keysine(streamed=True, group_seconds=0.1)
    head, parts = split_payload(codec.encode(CLIP))
    payload = write_payload(replace(head, **{field: value}), CLIP.header, parts)
    with pytest.raises(CorruptionError):
        codec.decode(payload, CLIP.header)
    with pytest.raises(CorruptionError):
        reference.decode(payload, CLIP.header)


def test_a_recorder_writes_a_file_in_one_pass_and_patches_its_start(tmp_path):
    codec = Keysine(max_error=1e-3, streamed=True, group_seconds=0.1)
    head, parts = split_payload(codec.encode(CLIP))
    path = tmp_path / "recording.mocp"
    per_segment = 1 + head.groups_per_segment
    with path.open("w+b") as file:
        file.seek(RESERVED)
        checksum = size = 0
        for count, part in enumerate(parts, start=1):
            file.write(part)
            checksum, size = zlib.crc32(part, checksum), size + len(part)
            if count % per_segment and count < len(parts):
                continue
            # a segment is complete: the file up to here is made valid
            groups = count - -(-count // per_segment)
            frames = min(groups * head.group_frames + 1, CLIP.frame_count)
            start = write_head(replace(head, group_count=groups), CLIP.header, parts[:count])
            header = replace(CLIP.header, frame_count=frames)
            file.seek(0)
            file.write(file_start(header, codec, start, checksum, size))
            file.flush()
            with mocpack.open(path) as motion:
                motion.verify_checksum()
                assert motion.frame_count == frames
                assert measure_error(CLIP.frames(0, frames), motion[:]).max <= 1e-3
            file.seek(0, 2)


def file_start(header, codec, head, checksum, size):
    """Return the bytes before the first part: chunks, among them `fill`, and the payload's head."""
    packed = mocpack.container.FileContents(header, codec.codec_id, 1, {}, head)
    before = mocpack.container.pack(packed)[: -len(pack_chunk(b"DATA", head))]
    whole = combine_crc32(zlib.crc32(head, zlib.crc32(b"DATA")), checksum, size)
    data = FieldWriter()
    data.raw(b"DATA")
    data.varint(len(head) + size)
    data.raw(whole.to_bytes(4, "little") + head)
    # a fill chunk of this size has 10 bytes before its body
    fill = pack_chunk(b"fill", bytes(RESERVED - len(before) - len(data.bytes()) - 10))
    return before + fill + data.bytes()


def combine_crc32(first, second, size):
    """Return the CRC-32 of two neighbors, given the CRC-32 of each and the bytes of the second.

    Zeros appended to the first change its checksum linearly, so that `size` zero bytes do what
    their checksums say.
    """
    zeros = bytes(size)
    return zlib.crc32(zeros, first) ^ zlib.crc32(zeros) ^ second
