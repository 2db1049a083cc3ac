"""Every later release decodes the live packets of version 1 to the same poses."""

import struct
import zlib
from pathlib import Path

import numpy as np

from mocpack.live import Receiver

FOLDER = Path(__file__).parent / "live"


def packets():
    data, at = (FOLDER / "v1.packets").read_bytes(), 0
    while at < len(data):
        (size,) = struct.unpack_from("<H", data, at)
        yield data[at + 2 : at + 2 + size]
        at += 2 + size


def test_an_old_stream_decodes_to_the_same_whole_numbers():
    receiver = Receiver((FOLDER / "v1.hello").read_bytes())
    prints = []
    for packet in packets():
        (pose,) = receiver.receive(packet)
        prints.append(receiver.checksum())
    stored = np.frombuffer((FOLDER / "v1.prints").read_bytes(), "<u4")
    assert prints == stored.tolist()
    assert (pose.frame_number, receiver.max_error, receiver.frame_step) == (79, 0.01, 1)
    assert zlib.crc32(np.round(pose.translations * 1e6).astype("<i8").tobytes()) == 0x12F587C0
