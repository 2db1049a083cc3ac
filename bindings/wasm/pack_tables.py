"""Pack keysine's trained tables for browsers, where every byte travels.

    python bindings/wasm/pack_tables.py TABLES FOLDER

Reads the arrays of `tables.inc` and writes `packed_tables.h`, which declares them, and
`packed_tables.inc`, from which `trained_tables.cpp` makes them when the program starts. Every
number is predicted from the one above it, which is that of the class before, from one beside it,
and from the one above scaled as the number to its left was. Its bit length and then its digits go
through the core's range coder, under the mean of two probabilities that learn.
"""

import argparse
import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path

WHOLE = 4096  # shares of a table
Context = tuple[int, ...]
MOVED = (4,)  # whether the largest share is not where the row above has it
ARRAY = re.compile(r"inline constexpr (u?int16_t) (\w+)((?:\[\d+\])+) = (\{.*?\});", re.DOTALL)


@dataclass(frozen=True)
class Array:
    type: str
    name: str
    shape: tuple[int, ...]
    numbers: tuple[int, ...]

    @property
    def is_starts(self) -> bool:
        """Whether its rows are tables of symbols: where their shares begin."""
        return self.type == "uint16_t"

    @property
    def above(self) -> int:
        """Distance in rows from each row to that of the class before."""
        return prod(self.shape[1:-1])

    def rows(self) -> list[tuple[int, ...]]:
        width = self.shape[-1]
        return [self.numbers[i : i + width] for i in range(0, len(self.numbers), width)]


def read_arrays(text: str) -> list[Array]:
    found = []
    for kind, name, sizes, body in ARRAY.findall(text):
        shape = tuple(int(size) for size in re.findall(r"\d+", sizes))
        array = Array(kind, name, shape, tuple(int(n) for n in re.findall(r"-?\d+", body)))
        if len(array.numbers) != prod(shape):
            raise SystemExit(f"{name} has {len(array.numbers)} numbers, expected {prod(shape)}")
        found.append(array)
    if text.count("inline constexpr") != len(found):
        raise SystemExit("tables.inc holds an array that is not of int16_t or uint16_t")
    return found


class AdaptiveChoice:
    """`keysine::AdaptiveChoice` of grid.h."""

    def __init__(self) -> None:
        self.state = 1 << 31

    def one(self) -> int:
        return min(max(self.state >> 16, 64), 65472)

    def learn(self, bit: int) -> None:
        count, p, goal = self.state & 1023, self.state >> 10, 4194303 if bit else 0
        p += ((goal - p) * (131072 // (2 * count + 3))) >> 16
        self.state = p << 10 | min(count + 1, 127)


class Packer:
    """`RangeEncoder` of range_coder.h, and the numbers of `trained_tables.cpp`."""

    def __init__(self) -> None:
        self.low, self.high, self.bytes = 0, 0xFFFFFFFF, bytearray()
        self.start_array()

    def start_array(self) -> None:
        self.states: defaultdict[Context, AdaptiveChoice] = defaultdict(AdaptiveChoice)

    def bit(self, contexts: tuple[Context, Context], bit: int) -> None:
        a, b = (self.states[context] for context in contexts)
        middle = self.low + ((self.high - self.low) * ((a.one() + b.one()) // 2) >> 16)
        a.learn(bit)
        b.learn(bit)
        self.low, self.high = (self.low, middle) if bit else (middle + 1, self.high)
        while (self.low ^ self.high) & 0xFF000000 == 0:
            self.bytes.append(self.high >> 24)
            self.low, self.high = self.low << 8 & 0xFFFFFFFF, (self.high << 8 & 0xFFFFFFFF) | 255

    def size(self, value: int, above: int, beside: int, scaled: int) -> None:
        """Write a number of at most 15 bits, given three like it."""
        length = value.bit_length()
        first = (0, above.bit_length(), beside.bit_length())
        node = 1
        for k in (3, 2, 1, 0):
            bit = length >> k & 1
            self.bit(((*first, node), (1, scaled.bit_length(), node)), bit)
            node = 2 * node + bit
        for depth, k in enumerate(range(length - 2, -1, -1)):
            a, b = (
                (kind, min(depth, 5), similar_digit(value, similar, k))
                for kind, similar in ((2, beside), (3, scaled))
            )
            self.bit((a, b), value >> k & 1)

    def finish(self) -> bytes:
        self.bytes.append((self.low >> 24) + 1)  # zeros follow, and the first bytes differ
        return bytes(self.bytes)


def similar_digit(value: int, similar: int, k: int) -> int:
    """Return 1 + binary digit k of a similar number; 0 if it differs in a digit before."""
    return 1 + (similar >> k & 1) if similar >> k + 1 == value >> k + 1 else 0


def scaled(row: list[int], above: list[int], i: int) -> int:
    """Return the number above, scaled as the number to the left is to the one above that."""
    if i == 0:
        return abs(above[0])
    return abs(above[i]) * (abs(row[i - 1]) + 1) // (abs(above[i - 1]) + 1)


def pack_shares(packer: Packer, row: list[int], above: list[int], beside: list[int]) -> None:
    """Write a table's shares; the largest is what the others leave."""
    largest, expected = row.index(max(row)), above.index(max(above))
    packer.bit((MOVED, MOVED), largest != expected)
    if largest != expected:
        packer.size(largest, expected, expected, expected)
    known = [*row[:largest], above[largest], *row[largest + 1 :]]
    for i, share in enumerate(row):
        if i != largest:
            packer.size(share, above[i], beside[i], scaled(known, above, i))


def pack(arrays: list[Array]) -> bytes:
    packer = Packer()
    for array in arrays:
        packer.start_array()
        rows = [list(row) for row in array.rows()]
        if array.is_starts:
            rows = [[b - a for a, b in pairwise(row)] for row in rows]
        for r, row in enumerate(rows):
            before = rows[r - 1] if r else [0] * len(row)
            above = rows[r - array.above] if r >= array.above else before
            if array.is_starts:
                if sum(row) != WHOLE or min(row) < 0:
                    raise SystemExit(f"{array.name}, row {r}: shares that are no {WHOLE}")
                pack_shares(packer, row, above, before)
                continue
            for i, number in enumerate(row):
                left = abs(row[i - 1]) if i else 0
                packer.size(abs(number), abs(above[i]), left, scaled(row, above, i))
                if number:
                    sign = (5, (above[i] > 0) - (above[i] < 0))
                    packer.bit((sign, sign), number < 0)
    return packer.finish()


DECLARATIONS = """\
// Made by bindings/wasm/pack_tables.py from tables.inc.
#pragma once

struct Tables
{{
{members}
}};

extern Tables TABLES; // filled when the program starts

{names}
"""
PACKED = """\
// Made by bindings/wasm/pack_tables.py from tables.inc.
const PackedArray ARRAYS[] = {{
{arrays}
}};
const uint8_t PACKED[] = {{
{bytes}
}};
"""


def declarations(arrays: list[Array]) -> str:
    members = [f"\t{a.type} {a.name}{''.join(f'[{n}]' for n in a.shape)};" for a in arrays]
    names = [f"inline constexpr auto& {array.name} = TABLES.{array.name};" for array in arrays]
    return DECLARATIONS.format(members="\n".join(members), names="\n".join(names))


def packed(arrays: list[Array]) -> str:
    lines = []
    for array in arrays:
        rows, width = prod(array.shape[:-1]), array.shape[-1]
        lines.append(f"\t{{{rows}, {width}, {array.above}, {int(array.is_starts)}}},")
    numbers = ", ".join(str(byte) for byte in pack(arrays))
    return PACKED.format(arrays="\n".join(lines), bytes=numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    arrays = read_arrays(options.tables.read_text())
    (options.folder / "packed_tables.h").write_text(declarations(arrays))
    (options.folder / "packed_tables.inc").write_text(packed(arrays))


if __name__ == "__main__":
    main()
