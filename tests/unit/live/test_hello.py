import contextlib

import numpy as np
import pytest

from mocpack.errors import FormatError, UsageError
from mocpack.live import Hello, Sender, is_hello
from mocpack.testing import hard_clips, walk

WALK = walk(1.0)


@pytest.mark.parametrize("name", ["walk", "joints with fewer axes"])
def test_a_hello_gives_the_header_back(name):
    clip = {"walk": WALK, **hard_clips()}[name]
    hello = Hello(clip.header, 0.003, 77)
    again = Hello.from_bytes(hello.to_bytes())
    assert again.header.skeleton == clip.header.skeleton
    assert again.header.translated_joints == clip.header.translated_joints
    assert again.header.frame_time == clip.header.frame_time
    assert (again.max_error, again.session, again.model) == (0.003, 77, hello.model)
    assert again.checksum == hello.checksum


def test_a_hello_of_a_person_is_small():
    assert len(Hello(WALK.header, 0.005, 1).to_bytes()) < 1024


def test_a_new_stream_has_a_session_of_its_own():
    a, b = Sender(WALK.header).hello, Sender(WALK.header).hello
    assert a.session != b.session
    assert a.checksum != b.checksum


def test_a_hello_is_no_packet():
    sender = Sender(WALK.header)
    assert is_hello(sender.hello.to_bytes())
    assert not is_hello(sender.send(WALK.rotations[0], WALK.translations[0]))


@pytest.mark.parametrize("error", [0.0, 2.0, float("nan")])
def test_a_bound_out_of_range_is_named(error):
    with pytest.raises(UsageError, match="max_error"):
        Hello(WALK.header, error)


def test_damaged_hellos_are_format_errors_or_hellos():
    whole = Hello(WALK.header, 0.005, 1).to_bytes()
    rng = np.random.default_rng(5)
    for _ in range(300):
        bad = bytearray(whole)
        bad[rng.integers(len(bad))] ^= 1 << int(rng.integers(8))
        with contextlib.suppress(FormatError, UsageError):
            Hello.from_bytes(bytes(bad[: rng.integers(1, len(bad) + 1)]))


def test_models_of_any_bytes_are_format_errors_or_models():
    from mocpack import _core

    whole = Hello(hard_clips()["joints with fewer axes"].header, 0.005, 1).model
    rng = np.random.default_rng(6)
    opened = 0
    for _ in range(3000):
        bad = bytearray(whole)
        for _ in range(rng.integers(1, 4)):
            bad[rng.integers(4, len(bad))] = int(rng.integers(256))
        try:
            _core.LiveReceiver(bytes(bad), 4)
            opened += 1
        except FormatError:
            pass
    assert opened > 300
