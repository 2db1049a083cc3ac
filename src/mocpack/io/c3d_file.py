"""Parse and write C3D files: parameters by group and name, point positions, analog samples.

The C3D user guide (2008) defines the format: 512-byte blocks with a header, parameters and frames;
numbers of Intel, DEC or MIPS processors; 16-bit integers or floats.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mocpack.common.arrays import F64
from mocpack.errors import CorruptionError, FormatError, TruncatedError, UnsupportedClipError

Value = str | list[str] | npt.NDArray[np.float64 | np.int16]

BLOCK_BYTES = 512
INTEL, DEC, MIPS = 84, 85, 86
ELEMENT_BYTES = {-1: 1, 1: 1, 2: 2, 4: 4}  # by parameter type
MAX_CELLS = 1 << 25  # frames × points
MAX_HEADER_COUNT = 65_535  # largest 16-bit count in the header
MAX_FRAMES = 1 << 30  # that can be written
MAX_DIMENSION = 255  # of a parameter, and bytes of a text


@dataclass(frozen=True)
class Recording:
    """The content of a file."""

    parameters: dict[str, Value]  # "GROUP:NAME" to texts or numbers (N,) in file order
    points: F64  # (T, P, 3), in the file's unit, NaN in gaps
    analogs: F64  # (N, A); N is the number of frames times the samples per frame
    first_frame: int  # from 1
    rate: float  # frames per second

    def texts(self, name: str) -> list[str]:
        """Return a list of texts, including continuations (LABELS2, …)."""
        texts: list[str] = []
        for value in self._continuations(name):
            if isinstance(value, np.ndarray):
                break
            texts += [value] if isinstance(value, str) else value
        return texts

    def numbers(self, name: str) -> F64:
        """Return numbers, including continuations."""
        parts = [np.zeros(0)]
        for value in self._continuations(name):
            if not isinstance(value, np.ndarray):
                break
            parts.append(value.astype(np.float64))
        return np.concatenate(parts)

    def text(self, name: str) -> str:
        """Return a text, or "" if it is missing."""
        return "".join(self.texts(name)[:1]).strip()

    def _continuations(self, name: str) -> Iterator[Value]:
        """Yield a parameter and those that continue it (LABELS, LABELS2, …)."""
        number, key = 1, name
        while key in self.parameters:
            yield self.parameters[key]
            number += 1
            key = f"{name}{number}"


def parse(data: bytes) -> Recording:
    """Parse the bytes of a file."""
    if len(data) < BLOCK_BYTES or data[1] != 0x50:
        raise TruncatedError(
            f"a C3D file starts with a header of {BLOCK_BYTES} bytes and the byte 0x50, got "
            f"{len(data)} bytes"
        )
    start = (data[0] - 1) * BLOCK_BYTES
    if not BLOCK_BYTES <= start < len(data) - 4:
        raise CorruptionError(
            f"the header places the parameters in block {data[0]}, outside the file"
        )
    processor = data[start + 3]
    if processor not in (INTEL, DEC, MIPS):
        raise CorruptionError(f"processor type must be {INTEL}, {DEC} or {MIPS}, got {processor}")
    numbers = _NumberDecoder(processor)
    parameters = _parse_parameters(data, start, numbers)
    counts = numbers.integers(data[2:12])
    points, per_frame, first, last = (int(n) for n in counts[:4])
    scale, rate = numbers.floats(data[12:16])[0], float(numbers.floats(data[20:24])[0])
    block, samples = (int(n) for n in numbers.integers(data[16:20]))
    count = _read_frame_count(parameters, first, last)
    if count < 1:
        raise FormatError("expected an animation, but this C3D has no frames")
    if count * max(points, 1) > MAX_CELLS:
        raise CorruptionError(
            f"{count} frames of {points} points exceed the limit of {MAX_CELLS} positions"
        )
    words = 4 * points + per_frame
    size = words * (4 if scale < 0 else 2)
    begin = (block - 1) * BLOCK_BYTES
    if begin < BLOCK_BYTES or begin + count * size > len(data):
        raise TruncatedError(
            f"{count} frames of {size} bytes from block {block} exceed the file of "
            f"{len(data)} bytes"
        )
    frames = data[begin : begin + count * size]
    unsigned = str(parameters.get("ANALOG:FORMAT", "")).strip().upper() == "UNSIGNED"
    values = (
        numbers.floats(frames) if scale < 0 else numbers.integers(frames, signed=True)
    ).reshape(count, words)
    positions = _decode_points(values[:, : 4 * points].reshape(count, points, 4), float(scale))
    analogs = np.asarray(values[:, 4 * points :], np.float64)
    if unsigned and scale >= 0:
        analogs = analogs % 65536
    channels = per_frame // samples if samples else 0
    if channels * samples != per_frame:
        raise CorruptionError(f"{per_frame} samples per frame are not a multiple of {samples}")
    return Recording(
        parameters,
        positions,
        analogs.reshape(count * samples, channels) if channels else np.zeros((0, 0)),
        _read_first_frame(parameters, first, last),
        rate,
    )


def pack(recording: Recording) -> bytes:
    """Return a recording as a file with Intel floats.

    Parameters are written as given, with those that describe the data layout added.
    """
    count, points = recording.points.shape[:2]
    samples = len(recording.analogs) // count
    channels = recording.analogs.shape[1]
    if not 1 <= count <= MAX_FRAMES or max(points, channels * samples) > MAX_HEADER_COUNT:
        raise UnsupportedClipError(
            f"a C3D file holds at most {MAX_HEADER_COUNT} points and samples per frame, got "
            f"{count} frames of {points} points and {channels * samples} samples"
        )
    first = recording.first_frame
    last = first + count - 1
    given = dict(recording.parameters)
    given |= {
        "POINT:USED": _to_int16(points),
        "POINT:FRAMES": _to_int16(min(count, MAX_HEADER_COUNT)),
        "POINT:SCALE": np.array(-1.0),
        "POINT:RATE": np.array(recording.rate),
        "ANALOG:USED": _to_int16(channels),
        "ANALOG:RATE": np.array(recording.rate * samples),
        "TRIAL:ACTUAL_START_FIELD": _to_int16_pair(first),
        "TRIAL:ACTUAL_END_FIELD": _to_int16_pair(last),
    }
    blocks = 1 + len(_pack_parameters({**given, "POINT:DATA_START": _to_int16(0)})) // BLOCK_BYTES
    given["POINT:DATA_START"] = _to_int16(blocks + 1)
    numbered = (min(n, MAX_HEADER_COUNT) for n in (first, last))
    head = struct.pack("<BB5H", 2, 0x50, points, channels * samples, *numbered, 0)
    head += struct.pack("<fHHf", -1.0, blocks + 1, samples, recording.rate)
    parts = (_pack_parameters(given), _pack_frames(recording, samples * channels))
    return head.ljust(BLOCK_BYTES, b"\0") + b"".join(parts)


def _to_int16(number: int) -> npt.NDArray[np.int16]:
    return np.array(number & 0xFFFF, np.uint16).view(np.int16)


def _to_int16_pair(number: int) -> npt.NDArray[np.int16]:
    return np.array([number & 0xFFFF, number >> 16], np.uint16).view(np.int16)


def _pack_frames(recording: Recording, per_frame: int) -> bytes:
    count, points = recording.points.shape[:2]
    words = np.zeros((count, 4 * points + per_frame), "<f4")
    positions = words[:, : 4 * points].reshape(count, points, 4)
    seen = np.asarray(np.isfinite(recording.points).all(-1))
    positions[..., :3] = np.where(seen[..., np.newaxis], recording.points, 0.0)
    positions[..., 3] = np.where(seen, 0.0, -1.0)
    words[:, : 4 * points] = positions.reshape(count, -1)
    words[:, 4 * points :] = recording.analogs.reshape(count, per_frame)
    body = words.tobytes()
    return body.ljust(-(-len(body) // BLOCK_BYTES) * BLOCK_BYTES, b"\0")


def _pack_parameters(given: Mapping[str, Value]) -> bytes:
    """Return the parameter blocks; lists of more than 255 entries continue in NAME2, NAME3, …."""
    groups = {name: k + 1 for k, name in enumerate(dict.fromkeys(n.split(":")[0] for n in given))}
    parts = [_pack_entry(name, -number, b"\0") for name, number in groups.items()]
    for full, value in given.items():
        group, _, name = full.partition(":")
        for k, body in enumerate(_pack_values(value)):
            parts.append(_pack_entry(f"{name}{k + 1}" if k else name, groups[group], body + b"\0"))
    body = b"".join(parts) + b"\0\0"
    size = -(-(len(body) + 4) // BLOCK_BYTES)
    if size > 255:
        raise UnsupportedClipError(
            "the marker names and parameters do not fit into the parameter section of a C3D file"
        )
    return struct.pack("BBBB", 1, 0x50, size, INTEL) + body.ljust(size * BLOCK_BYTES - 4, b"\0")


def _pack_entry(name: str, group: int, body: bytes) -> bytes:
    head = struct.pack("bb", len(name), group) + name.encode()
    return head + struct.pack("<H", 2 + len(body)) + body


def _pack_values(value: Value) -> list[bytes]:
    """Return a value as one or more parameters, each with its type and dimensions."""
    if isinstance(value, str):
        text = value.encode("latin-1", "replace")[:MAX_DIMENSION]
        return [struct.pack("bBB", -1, 1, len(text)) + text]
    if isinstance(value, list):
        texts = [text.encode("latin-1", "replace")[:MAX_DIMENSION] for text in value]
        width = max((len(text) for text in texts), default=0)
        rows = [texts[k : k + MAX_DIMENSION] for k in range(0, len(texts), MAX_DIMENSION)] or [[]]
        return [
            struct.pack("bBBB", -1, 2, width, len(row)) + b"".join(t.ljust(width) for t in row)
            for row in rows
        ]
    kind, dtype = (2, "<i2") if value.dtype == np.int16 else (4, "<f4")
    if value.ndim == 0:
        return [struct.pack("bB", kind, 0) + value.astype(dtype).tobytes()]
    parts = [value[k : k + MAX_DIMENSION] for k in range(0, len(value), MAX_DIMENSION)] or [value]
    # The first dimension varies fastest in the file, so it is numpy's last.
    return [
        struct.pack(f"bB{value.ndim}B", kind, value.ndim, *reversed(part.shape))
        + part.astype(dtype).tobytes()
        for part in parts
    ]


class _NumberDecoder:
    """Decodes the number formats of a processor."""

    def __init__(self, processor: int) -> None:
        self._order = ">" if processor == MIPS else "<"
        self._dec = processor == DEC

    def integers(self, data: bytes, *, signed: bool = False) -> npt.NDArray[np.int64]:
        return np.frombuffer(data, f"{self._order}{'i' if signed else 'u'}2").astype(np.int64)

    def floats(self, data: bytes) -> F64:
        if not self._dec:
            return np.frombuffer(data, f"{self._order}f4").astype(np.float64)
        # DEC swaps the 16-bit halves, and its exponent is larger by two.
        halves = np.frombuffer(data, "<u2").reshape(-1, 2)[:, ::-1]
        return np.ascontiguousarray(halves).view("<f4")[:, 0].astype(np.float64) / 4


def _decode_points(values: npt.NDArray[np.float64 | np.int64], scale: float) -> F64:
    """Return positions (T, P, 3) from x, y, z and a residual that is negative in gaps."""
    positions = np.array(values[..., :3], np.float64)
    if scale >= 0:
        positions *= scale
    # written so that NaN counts as a gap
    unseen = ~(values[..., 3] >= 0) | ~np.isfinite(positions).all(-1)
    positions[unseen] = np.nan
    return positions


def _read_frame_count(parameters: dict[str, Value], first: int, last: int) -> int:
    """Return the number of frames; long recordings store it in parameters."""
    if last < MAX_HEADER_COUNT:
        return last - first + 1
    low, high = _read_trial_field(parameters, "START"), _read_trial_field(parameters, "END")
    if low is not None and high is not None:
        return high - low + 1
    stated = parameters.get("POINT:FRAMES")
    if isinstance(stated, np.ndarray) and len(stated) and MAX_HEADER_COUNT <= stated[0] < 1e9:
        return int(stated[0])
    return last - first + 1


def _read_first_frame(parameters: dict[str, Value], first: int, last: int) -> int:
    """Return the number of the first frame, from 1; long recordings store it in parameters."""
    stated = _read_trial_field(parameters, "START")
    return first if last < MAX_HEADER_COUNT or stated is None else stated


def _read_trial_field(parameters: dict[str, Value], end: str) -> int | None:
    halves = parameters.get(f"TRIAL:ACTUAL_{end}_FIELD")
    if not isinstance(halves, np.ndarray) or len(halves) < 2:
        return None
    return int(halves[0]) % 65536 + 65536 * (int(halves[1]) % 65536)


def _parse_parameters(data: bytes, start: int, numbers: _NumberDecoder) -> dict[str, Value]:
    groups: dict[int, str] = {}
    entries: list[tuple[int, str, Value]] = []
    at = start + 4
    while at + 2 <= len(data):
        length, group = struct.unpack_from("bb", data, at)
        length = abs(length)
        if length == 0 or group == 0:
            break
        name = data[at + 2 : at + 2 + length].decode("latin-1").strip().upper()
        at += 2 + length
        if at + 2 > len(data):
            raise TruncatedError(f"parameter {name!r} is truncated")
        step = int(numbers.integers(data[at : at + 2])[0])
        if group < 0:
            groups[-group] = name
        else:
            entries.append((group, name, _parse_value(data, at + 2, name, numbers)))
        if step == 0:
            break
        at += step
    return {f"{groups.get(group, group)}:{name}": value for group, name, value in entries}


def _parse_value(data: bytes, at: int, name: str, numbers: _NumberDecoder) -> Value:
    head = data[at : at + 2]
    if len(head) < 2:
        raise TruncatedError(f"parameter {name!r} is truncated")
    kind, rank = struct.unpack("bB", head)
    shape = tuple(data[at + 2 : at + 2 + rank])
    if kind not in ELEMENT_BYTES or rank > 7 or len(shape) < rank:
        raise CorruptionError(
            f"parameter {name!r} has unknown type {kind} or too many dimensions ({rank})"
        )
    begin, size = at + 2 + rank, math.prod(shape) * ELEMENT_BYTES[kind]
    body = data[begin : begin + size]
    if len(body) < size:
        raise TruncatedError(f"parameter {name!r} is truncated")
    if kind == -1:
        text = body.decode("latin-1")
        if rank < 2:
            return text.strip()
        width = shape[0]
        return [text[k : k + width].strip() for k in range(0, len(text), width)] if width else []
    if kind == 4:
        return numbers.floats(body)
    if kind == 1:
        return np.frombuffer(body, "i1").astype(np.float64)
    return numbers.integers(body, signed=True).astype(np.float64)
