"""Read frames of Acclaim motion files in plain Python, to compare the native reader with."""

from __future__ import annotations

import numpy as np

from mocpack.common.arrays import F64
from mocpack.io.asf import Asf, Line, iterate_lines, normalize_line_endings
from mocpack.io.text import parse_number

MAX_NUMBER_LENGTH = 15  # digits of a frame's number


def read_frames(data: bytes, bones: Asf, *, complete: bool) -> F64:
    """Return the numbers (frames, columns) of a motion, as the file prints them.

    Errors name the first line at fault; of a frame with a bone twice, or without one, it is
    the line of the frame's number.
    """
    columns, width = _columns(bones)
    rows: list[F64] = []
    number: Line | None = None
    given: set[bytes] = set()
    first = 0
    for _, line in iterate_lines(normalize_line_endings(data)):
        if number is None and line.words[0].startswith(b":"):
            continue
        if number is not None and not _is_number(line):
            count = _read_bone(line, columns, rows[-1])
            if count and line.words[0] in given:
                raise number.fault(f"frame {len(rows)} lists a bone twice")
            given |= {line.words[0]} if count else set()
            continue
        if number is not None:
            _check_complete(number, columns, given, len(rows), complete=complete)
        value = _frame_number(line)
        first = value if number is None else first
        if value != first + len(rows):
            raise line.fault(f"expected frame {first + len(rows)}, got {value}")
        rows.append(rows[-1].copy() if rows else np.zeros(width))
        number, given = line, set()
    if number is not None:
        _check_complete(number, columns, given, len(rows), complete=complete)
    return np.array(rows).reshape(-1, width)


def _columns(bones: Asf) -> tuple[dict[bytes, tuple[int, int]], int]:
    columns, at = {}, 0
    for bone in bones.bones:
        columns[bone.name.encode()] = (at, len(bone.dofs))
        at += len(bone.dofs)
    return columns, at


def _read_bone(line: Line, columns: dict[bytes, tuple[int, int]], row: F64) -> int:
    name = line.words[0].decode("utf-8", "replace")
    if line.words[0] not in columns:
        raise line.fault(f"the skeleton has no bone {name[:40]!r}")
    start, count = columns[line.words[0]]
    if len(line.words) != count + 1:
        raise line.fault(
            f"bone {name!r} has {count} degrees of freedom, got {len(line.words) - 1} values"
        )
    for k, word in enumerate(line.words[1:]):
        value = parse_number(word)
        if value is None:
            raise line.fault(f"expected a number, got {word[:40].decode('utf-8', 'replace')!r}")
        row[start + k] = value
    return count


def _check_complete(
    number: Line,
    columns: dict[bytes, tuple[int, int]],
    given: set[bytes],
    frame: int,
    *,
    complete: bool,
) -> None:
    missing = [name for name, (_, count) in columns.items() if count and name not in given]
    if complete and missing:
        raise number.fault(f"frame {frame} has no values for bone {missing[0].decode()!r}")


def _is_number(line: Line) -> bool:
    return len(line.words) == 1 and line.words[0].isdigit()


def _frame_number(line: Line) -> int:
    word = line.words[0]
    if not _is_number(line) or len(word) > MAX_NUMBER_LENGTH:
        raise line.fault(f"expected a frame number, got {word[:40].decode('utf-8', 'replace')!r}")
    return int(word)
