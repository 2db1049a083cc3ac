"""Untrusted pickles: arrays and plain values load, everything else is rejected by name."""

import io
import json
import os
import pickle
import pickletools
import zipfile
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mocpack.errors import FormatError
from mocpack.io import child
from mocpack.io.robots import pickle_child, restricted_pickle, torch_file
from mocpack.io.robots.restricted_pickle import decode_response, to_array
from naming import naming


def load(data):
    """Read a pickle in this process, which is quicker than one for each."""
    blocks = []
    answer = pickle_child.respond(data, blocks)
    answer = json.loads(json.dumps(answer))
    return decode_response(answer, b"".join(blocks))


VALUES = {
    "fps": 30,
    "rate": 29.97,
    "name": "dänce",
    "flags": [True, None, b"bytes", (1, 2)],
    "angles": np.arange(12.0).reshape(3, 4),
    "fortran": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
    "big": np.arange(4, dtype=">i4"),
    "empty": np.zeros((0, 3)),
    "one": np.float64(2.5),
    "words": np.array(["left", "right"]),
    "inner": {"deep": np.ones(2, bool)},
}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_arrays_and_plain_values_round_trip_from_every_protocol(protocol):
    found = load(pickle.dumps(VALUES, protocol))
    assert found.keys() == VALUES.keys()
    for name in ("fps", "rate", "name", "flags", "one"):
        assert found[name] == VALUES[name]
    for name in ("angles", "fortran", "big", "empty", "words"):
        np.testing.assert_array_equal(found[name], VALUES[name])
    np.testing.assert_array_equal(found["inner"]["deep"], [True, True])


class Command:
    def __reduce__(self):
        return os.system, ("touch /tmp/mocpack-was-here",)


class Evaluation:
    def __reduce__(self):
        return eval, ("__import__('os').getcwd()",)


class Getter:
    def __reduce__(self):
        return getattr, ("text", "upper")


HOSTILE = {
    "a command": pickle.dumps(Command()),
    "an evaluation": pickle.dumps({"dof_pos": Evaluation()}),
    "getattr": pickle.dumps(Getter()),
    "a class of this module": pickle.dumps(Command, 4),
    "numpy.load by its path": b"cnumpy\nload\n(S'/etc/passwd'\ntR.",
    "runstring": b"cnumpy.testing._private.utils\nrunstring\n(S'print(1)'\n}tR.",
    "an old instance": b"(S'id'\nios\nsystem\n.",
    "an old object": b"(cos\nsystem\nS'id'\no.",
    "an extension": b"\x80\x02\x82\x01.",
    "a persistent id": b"\x80\x02X\x01\x00\x00\x00aQ.",
    "a dotted name": b"\x80\x04\x8c\x05numpy\x8c\x12ndarray.__init__.x\x93.",
    "state for a function": b"cnumpy.core.multiarray\n_reconstruct\n}S'x'\nI1\nsb.",
    "a class attribute": b"cnumpy\nndarray\n}S'set_state'\nI1\nsb.",
    "calling a text": b"S'abc'\n(tR.",
    "calling an array": b"cnumpy\nndarray\n(tR(tR.",
    "buffers": b"\x80\x05\x97.",
    "an array of objects": pickle.dumps(np.array([Command()], object)),
    "no pickle": b"hello",
    "nothing": b"",
    "only a protocol": b"\x80\x04",
    "a stack that is empty": b"R.",
    "a memo that is not there": b"\x80\x02h\x09.",
    "a key that is a list": b"}]I1\ns.",
    "text that is no UTF-8": b"\x80\x02X\x01\x00\x00\x00\xff.",
    "a zip of nothing": b"PK\x03\x04",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_are_refused(name):
    with pytest.raises(FormatError):
        load(HOSTILE[name])
    assert not Path("/tmp/mocpack-was-here").exists()


def test_the_error_names_the_refused_object():
    with pytest.raises(FormatError, match=r"(posix|nt|os)\.system"):
        load(pickle.dumps(Command()))


def array_pickle(shape, dtype="f8", raw=b""):
    return (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n"
        b"(cnumpy\nndarray\nK\x00\x85U\x01btR(K\x01"
        + b"(" + b"".join(b"\x8a\x08" + n.to_bytes(8, "little") for n in shape) + b"t"
        + b"cnumpy\ndtype\n(U" + bytes([len(dtype)]) + dtype.encode() + b"K\x00K\x01tR"
        + b"\x89T" + len(raw).to_bytes(4, "little") + raw + b"tb."
    )  # fmt: skip


def test_a_hand_made_array_is_read():
    raw = np.arange(3.0).tobytes()
    np.testing.assert_array_equal(load(array_pickle((3,), raw=raw)), [0, 1, 2])


@pytest.mark.parametrize("shape", [(2**39,), (2**30, 2**30), (10**9, 8), (2**62,)])
def test_an_array_larger_than_its_bytes_takes_no_memory(shape):
    with pytest.raises(FormatError):
        load(array_pickle(shape, raw=b"12345678"))


def test_a_memo_of_a_huge_number_takes_no_memory():
    assert load(b"\x80\x02K\x01r\xff\xff\xff\x7f.") == 1


def test_a_swelling_pickle_is_refused():
    import zlib

    with pytest.raises(FormatError, match="expands"):
        load(zlib.compress(bytes(1 << 26), 9))


@pytest.mark.parametrize("protocol", [2, 5])
def test_every_cut_and_every_flip_is_a_format_error_or_a_value(protocol):
    data = pickle.dumps(VALUES, protocol)
    for end in range(0, len(data), 3):
        with pytest.raises(FormatError):
            load(data[:end])
    rng = np.random.default_rng(0)
    for _ in range(1000):
        bad = bytearray(data)
        bad[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        try:
            load(bytes(bad))
        except FormatError:
            continue


def test_files_of_pytorch_are_written_and_read_without_it():
    values = {
        "fps": 30.5,
        "count": 7,
        "names": ["a", "b"],
        "places": np.arange(24, dtype=np.float32).reshape(2, 4, 3),
        "contacts": np.array([[True, False]]),
    }
    data = torch_file.pack(values)
    found = load(data)
    assert found["fps"] == 30.5
    assert found["count"] == 7
    assert found["names"] == ["a", "b"]
    np.testing.assert_array_equal(found["places"], values["places"])
    np.testing.assert_array_equal(found["contacts"], values["contacts"])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        pickletools.dis(archive.read("archive/data.pkl"), io.StringIO())  # a sound pickle
    for end in range(0, len(data), 40):
        with pytest.raises(FormatError):
            load(data[:end])


def test_a_tensor_beyond_its_numbers_is_refused():
    data = torch_file.pack({"x": np.zeros(4, np.float32)})
    members = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["archive/data/0"] = b"1234"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, raw in members.items():
            archive.writestr(name, raw)
    with pytest.raises(FormatError, match=naming("(4,) 1")):
        load(buffer.getvalue())


def test_ordered_dicts_are_read():
    assert load(pickle.dumps(OrderedDict(a=1, b=2), 2)) == {"a": 1, "b": 2}


def test_a_value_that_is_no_array_is_an_error():
    for value in ("text", {"a": 1}, [[1, 2], [3]], None, object):
        with pytest.raises(FormatError, match=naming("dof_pos")):
            to_array(value, "dof_pos")


def test_a_separate_process_returns_the_same_values():
    data = pickle.dumps(VALUES)
    found, here = restricted_pickle.load(data), load(data)
    assert found.keys() == here.keys()
    for name, value in here.items():
        np.testing.assert_equal(found[name], value)


def shared_lists(depth):
    value = [0.0] * 10
    for _ in range(depth):
        value = [value] * 10
    return pickle.dumps({"dof_pos": value})


def hashed_tuples(depth):
    value = ()
    for _ in range(depth):
        value = (value, value)
    body = pickle.dumps([value])[:-1]  # without the end: the tuple becomes a key
    return body.replace(b"]\x94", b"}\x94", 1)[:-1] + b"K\x01s."


def shared_storage(times, numbers=1 << 20):
    """A file of PyTorch's whose tensors all name the same numbers."""
    tensor = np.zeros(numbers, np.float32)
    data = torch_file.pack({"x": tensor, "y": tensor[:1]})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    program = members["archive/data.pkl"]
    start = program.index(b"X\x01\x00\x00\x00x") + 6
    stop = program.index(b"X\x01\x00\x00\x00y")
    one = program[start:stop]
    members["archive/data.pkl"] = b"\x80\x02](" + one * times + b"e."
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in members.items():
            archive.writestr(name, raw)
    return made.getvalue()


@pytest.mark.parametrize("depth", [9, 30])
def test_shared_lists_that_would_fill_the_memory_are_refused(depth):
    with pytest.raises(FormatError):
        load(shared_lists(depth))


def test_a_list_that_holds_itself_is_refused():
    value = []
    value.append(value)
    with pytest.raises(FormatError, match="nested"):
        load(pickle.dumps(value))


def test_tensors_that_share_their_numbers_share_memory():
    found = load(shared_storage(2000, numbers=1 << 16))
    assert len(found) == 2000
    assert len({part.__array_interface__["data"][0] for part in found}) == 1


def test_a_pickle_that_computes_for_ever_is_ended(monkeypatch):
    monkeypatch.setattr(child, "WALL_TIME_RATIO", 1)
    quick = replace(restricted_pickle.PICKLE, seconds=1)
    monkeypatch.setattr(restricted_pickle, "PICKLE", quick)
    with pytest.raises(FormatError):
        restricted_pickle.load(hashed_tuples(60))


def test_a_pickle_that_fills_the_memory_is_ended():
    # each of these bytes is a list of 56
    data = b"\x80\x02](" + b"]" * (20 << 20) + b"e."
    tight = replace(restricted_pickle.PICKLE, memory=-(1 << 30))
    with pytest.raises(FormatError):
        decode_response(*child.run_reader(tight, data))
