"""Generate mutants of a C++ or Python source: one small change each, by a set of operators.

Comments, literals, preprocessor lines, imports, declarations and the text of error messages stay
unchanged.
"""

from __future__ import annotations

import bisect
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

FILLER = "\x01"  # replaces characters that no operator may change
SWAPS = {
    "comparison": [("<", "<="), ("<=", "<"), (">", ">="), (">=", ">"), ("==", "!="), ("!=", "==")],
    "neighbor": [("+ 1", "- 1"), ("- 1", "+ 1")],
}
CPP_SWAPS = {
    **SWAPS,
    "logic": [("&&", "||"), ("||", "&&")],
    "truth": [("true", "false"), ("false", "true")],
}
PYTHON_SWAPS = {
    **SWAPS,
    "comparison": [*SWAPS["comparison"], ("is not", "is"), ("is", "is not")],
    "logic": [("and", "or"), ("or", "and")],
    "truth": [("True", "False"), ("False", "True")],
}
CPP_LITERAL = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
# a forward declaration, a template's head, the size of an array that is declared
CPP_DECLARATION = re.compile(
    r"^[ \t]*(?:template\b|using\b|typedef\b|static_assert\b|extern\b)[^\n]*"
    r"|^[ \t]*(?:static |const )*[\w:<>]+\*? \w+\[[^\]\n]*\]",
    re.MULTILINE,
)
NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
# Calls whose only effect is to free memory early, so no test can notice that they are missing.
RELEASES = re.compile(r"free|give_|close|reserve|release|shrink_to_fit|drop")


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    `before` and `after` are the changed source lines as single lines, `context` those with two
    lines around them, `start` and `end` the place of the replaced text in the file.
    """

    path: str
    line: int
    operator: str
    before: str
    after: str
    context: str
    start: int
    end: int
    replacement: str

    def apply(self, text: str) -> str:
        return text[: self.start] + self.replacement + text[self.end :]


def list_mutants(path: str, text: str) -> list[Mutant]:
    """Return every mutant of a source file, in the order of the text."""
    cpp = path.endswith(".cpp")
    code = (_mask_cpp if cpp else _mask_python)(text)
    starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
    edits: list[tuple[int, int, str, str]] = []
    for operator, swaps in (CPP_SWAPS if cpp else PYTHON_SWAPS).items():
        for old, new in swaps:
            pattern = rf"(?<=\s){re.escape(old)}(?=\s)" if operator != "truth" else rf"\b{old}\b"
            if operator == "neighbor":
                pattern = rf"(?<=\s){re.escape(old)}(?![\w.])"
            edits += [(*m.span(), operator, new) for m in re.finditer(pattern, code)]
    for m in NUMBER.finditer(code):
        edits.append((*m.span(), "constant", str(int(m[0]) + 1)))
    edits += _cpp_statements(code, text) if cpp else _python_statements(code, text)
    return [_describe(path, text, starts, edit) for edit in sorted(set(edits))]


def _describe(path: str, text: str, starts: list[int], edit: tuple[int, int, str, str]) -> Mutant:
    start, end, operator, new = edit
    line = bisect.bisect_right(starts, start)
    first, last = starts[line - 1], text.find("\n", end)
    last = len(text) if last < 0 else last
    before, after = text[first:last], text[first:start] + new + text[end:last]
    lines = text.splitlines()
    around = lines[max(line - 3, 0) : line + before.count("\n") + 2]
    return Mutant(
        path,
        line,
        operator,
        _join_lines(before),
        _join_lines(after),
        _join_lines(*around),
        start,
        end,
        new,
    )


def _join_lines(*lines: str) -> str:
    return " ".join(" ".join(lines).split())


def _mask_cpp(text: str) -> str:
    code = CPP_LITERAL.sub(_blank, text)
    code = CPP_DECLARATION.sub(_blank, code)
    # a message: `fail(…) << "…" << value;` from the first text on, to the end of the statement
    return re.sub(r"(?:\.quote\(|<<\s*\x01)[^;{}]*", _blank, code)


def _mask_python(text: str) -> str:
    lines = text.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    code = list(text)
    strings = (tokenize.STRING, tokenize.COMMENT)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in strings:
            first = starts[token.start[0] - 1] + token.start[1]
            last = starts[token.end[0] - 1] + token.end[1]
            code[first:last] = _fill("".join(code[first:last]))
    masked = "".join(code)
    masked = re.sub(r"^[ \t]*(?:from|import|@)[^\n]*", _blank, masked, flags=re.MULTILINE)
    # error messages
    return _mask_calls(masked, r"\braise \w+(?:\.\w+)*\(")


def _mask_calls(code: str, opening: str) -> str:
    for m in re.finditer(opening, code):
        end = _find_closing(code, m.end() - 1)
        code = code[: m.end()] + _fill(code[m.end() : end]) + code[end:]
    return code


def _blank(match: re.Match[str]) -> str:
    return _fill(match[0])


def _fill(text: str) -> str:
    return re.sub(r"[^\n]", FILLER, text)


def _find_closing(code: str, opening: int) -> int:
    """Return the index of the parenthesis that closes the one at `opening`."""
    depth = 0
    for place in range(opening, len(code)):
        depth += (code[place] == "(") - (code[place] == ")")
        if depth == 0:
            return place
    return len(code)


def _cpp_statements(code: str, text: str) -> Iterator[tuple[int, int, str, str]]:
    for m in re.finditer(r"\bif \(", code):
        start, end = m.end(), _find_closing(code, m.end() - 1)
        yield start, end, "negation", f"!({text[start:end]})"
    for m in re.finditer(r"^([ \t]+)((?:\w+(?:\.|->|::))*\w+)\(", code, re.MULTILINE):
        end = _find_closing(code, m.end() - 1) + 1
        stops = code[end : end + 1] == ";" and not RELEASES.search(m[2])
        if stops and m[2] not in ("if", "for", "while", "switch", "return"):
            yield m.start(2), end, "dropped call", ""
    for m in re.finditer(r"\breturn false(?=;)", code):
        if _is_conditional(code, m.start()):
            yield *m.span(), "dropped return", ""


def _is_conditional(code: str, place: int) -> bool:
    """Return whether a statement is inside an `if` and its function continues after it."""
    head = code[:place].rstrip().rstrip(FILLER).rstrip()
    depth = 0
    while head and (depth or head[-1] != "{") and head[-1] != ")":
        depth += {"}": 1, "{": -1}.get(head[-1], 0)
        head = head[:-1]
        if head.endswith(";") and not depth:  # an earlier statement of the same block
            head = head[: max(head.rfind("{"), 0) + 1]
            break
    if head.endswith("{"):
        head = head[:-1].rstrip()
    if not head.endswith(")"):
        return head.endswith("else")
    opening = _find_opening(head)
    return bool(re.search(r"\b(?:if|for|while) ?$", head[:opening]))


def _find_opening(head: str) -> int:
    depth = 0
    for place in range(len(head) - 1, -1, -1):
        depth += (head[place] == ")") - (head[place] == "(")
        if depth == 0:
            return place
    return 0


def _python_statements(code: str, text: str) -> Iterator[tuple[int, int, str, str]]:
    for m in re.finditer(r"^[ \t]*(?:if|elif) ([^\n]+):$", code, re.MULTILINE):
        yield *m.span(1), "negation", f"not ({text[m.start(1) : m.end(1)]})"
    for m in re.finditer(r"^[ \t]+(raise\b[^\n(]*\()", code, re.MULTILINE):
        end = _find_closing(code, m.end() - 1) + 1
        rest = code.find("\n", end)
        yield m.start(1), rest if rest >= 0 else len(code), "dropped raise", "pass"
    for m in re.finditer(r"^[ \t]+((?:\w+\.)*\w+)\(", code, re.MULTILINE):
        end = _find_closing(code, m.end() - 1) + 1
        if code[end : end + 1] == "\n" and not RELEASES.search(m[1]):
            yield m.start(1), end, "dropped call", "pass"
