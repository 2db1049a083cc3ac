"""Mutants that no test can or need notice, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from mutation_operators import Mutant


@dataclass(frozen=True)
class Allowed:
    """A source line, what mutants of it become (empty: any text), and why that is allowed.

    `near` is text of the two lines before or after, for files that repeat the same line.
    """

    path: str
    before: str
    after: str
    reason: str
    near: str = ""


DECODE, FORMAT = "core/src/keysine/decode", "core/src/keysine/format"
READER = "core/src/reader"
GRID_STEP = '": the grid step must be above 0 and finite"'
ALLOWED: tuple[Allowed, ...] = (
    Allowed(
        f"{FORMAT}/curves.cpp",
        "for (int32_t t = first; t < stop; ++t)",
        "for (int32_t t = first; t <= stop; ++t)",
        "equivalent: rows are padded by at least one number, and nobody reads it",
        near="values[t] = key + slope",
    ),
    Allowed(
        f"{FORMAT}/grid.cpp",
        "return own + 2 * 3 + 2 * 4 * (reach - 1);",
        "return own + 2 * 3 + 2 * 4 * (reach + 1);",
        "takes more scratch memory than needed; results are the same",
    ),
    Allowed(
        f"{READER}/pose.cpp",
        "Number s = dot < 0 ? Number(-1) : Number(1);",
        "Number s = dot <= 0 ? Number(-1) : Number(1);",
        "equivalent: quaternions with a product of 0 are too far apart for the series",
    ),
    Allowed(
        f"{READER}/hinges.cpp",
        "limited += ((kinds[h] & HAS_LOWEST) > 0) + ((kinds[h] & HAS_HIGHEST) > 0);",
        "limited += ((kinds[h] & HAS_LOWEST) > 1) + ((kinds[h] & HAS_HIGHEST) > 0);",
        "equivalent: the bit's value is 16",
    ),
    Allowed(
        f"{READER}/hinges.cpp",
        "uint8_t *dictionary = memory->allocate_array<uint8_t>(letters + 1), *to = dictionary;",
        "uint8_t *dictionary = memory->allocate_array<uint8_t>(letters - 1), *to = dictionary;",
        "the zero after the last name is used only if a skeleton is one joint without a name",
    ),
    Allowed(
        f"{READER}/inflate.cpp",
        "for (int i = 0; i < count; ++i)",
        "for (int i = 0; i <= count; ++i)",
        "equivalent: the arrays are longer, and the number after the last is not looked at",
        near="lengths[i] = found[i];",
    ),
    Allowed(
        f"{READER}/inflate.cpp",
        "if (s < 256)",
        "if (s < 257)",
        "equivalent: 256 returned before",
    ),
    Allowed(
        f"{READER}/numbers.cpp",
        f"in->check(step > 0 && step <= 1.7976931348623157e308, {GRID_STEP});",
        f"in->check(step > 0 && step < 1.7976931348623157e308, {GRID_STEP});",
        "equivalent: a step is a float32 or far below",
    ),
    Allowed(
        f"{READER}/pose.cpp",
        "for (int c = 0; c < 3; ++c)",
        "for (int c = 0; c <= 3; ++c)",
        "equivalent: the next joint's place is written later, and what follows the last is unused",
        near="positions[3 * parent + c] + m[3 * c] * p[0]",
    ),
    Allowed(
        f"{READER}/reader.cpp",
        "rooms.kept[o.joints[i]] = 1;",
        "rooms.kept[o.joints[i]] = 2;",
        "equivalent: only zero and other numbers are told apart",
    ),
    Allowed(
        f"{READER}/json.cpp",
        "if (code > 0xdbff || end_ - at_ < 3 || at_[1] != '\\\\' || at_[2] != 'u')",
        "if (code > 0xdbff || end_ - at_ <= 3 || at_[1] != '\\\\' || at_[2] != 'u')",
        "equivalent: with three bytes left there are no digits, which is refused too",
    ),
    Allowed(
        f"{DECODE}/head.cpp",
        "return 128 + 4 * part_count + 16 * predictor_count"
        " + joints * (6 * PLAN_COLUMNS + 8 * MAX_LAYERS + 64);",
        "return 128 + 4 * part_count + 16 * predictor_count"
        " + joints * (7 * PLAN_COLUMNS + 8 * MAX_LAYERS + 64);",
        "takes more memory than needed; results are the same",
    ),
)


def find_reason(mutant: Mutant) -> str:
    """Return why a mutant may survive; empty if it may not."""
    for entry in ALLOWED:
        same = (entry.path, entry.before) == (mutant.path, mutant.before)
        if same and entry.after in ("", mutant.after) and entry.near in mutant.context:
            return entry.reason
    return ""
