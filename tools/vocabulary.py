"""Find words that the writing rules of CONTRIBUTING.md replace: archaic, private or British ones.

    python tools/vocabulary.py [PATH ...]        list them; exit 1 if there are any
    python tools/vocabulary.py --fix-spelling    rewrite British spellings, also in names

Reads identifiers, comments, docstrings and messages of Python, C++ and TypeScript, sentences in
strings of tests, and Markdown.
`tools/vocabulary_allowed.txt` lists the exceptions, one per line: a path pattern, the word and the
reason, separated by tabs. A word with an underscore or a hyphen is a name that stays as it is, such
as a key in a file.
"""

from __future__ import annotations

import argparse
import fnmatch
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ALLOWED = Path(__file__).with_name("vocabulary_allowed.txt")
SUFFIXES = {".py", ".pyi", ".md", ".cpp", ".h", ".hpp", ".c", ".ts", ".mjs", ".js"}
SUFFIXES |= {".inc", ".toml", ".css", ".html", ".yml", ".cff"}
SKIPPED = (
    "LICENSES/*",
    "tests/golden/*",
    "tools/vocabulary*",
)

# Words anywhere, in prose or as a part of an identifier.
ARCHAIC = {
    "heed": "apply, read",
    "heeds": "applies, reads",
    "heeded": "applied, read",
    "foretell": "predict",
    "foretells": "predicts",
    "foretold": "predicted",
    "foretelling": "prediction",
    "anew": "again",
    "hither": "here",
    "thence": "from there",
    "whence": "from which",
    "henceforth": "from now on",
    "lest": "so that … not",
    "amidst": "among",
    "whilst": "while",
    "yonder": "there",
    "needless": "unnecessary",
    "complain": "raise, report",
    "complains": "raises, reports",
    "complaint": "error, message",
    "complaints": "errors, messages",
    "shall": "must, will",
    "spoilt": "damaged",
    "fate": "status",
    "fates": "statuses",
}
# Phrases in prose.
PHRASES = {
    r"in vain": "without effect",
    r"as told": "as requested",
    r"than asked": "than requested",
    r"what is asked": "the request",
    r"is asked for": "is requested",
    r"are asked for": "are requested",
    r"such as are": "that are",
    r"that of which": "whose",
    r"whoever": "the caller, anyone who",
    r"at hand": "available",
    r"of ours": "our",
    r"of one's own": "your own",
    r"what became of": "the result of",
    r"what (?:is|was) (?:not )?there": "what exists, what is missing",
    r"held equal to": "compared with",
    r"(?:is|are|was|were) (?:said|told)(?! apart)": "reported",
    r"left alone": "unchanged",
    r"by chance": "random",
    r"(?:frames|bits|bytes|metres|meters|radians|times|packets|milliseconds|ms) an? "
    r"(?:second|frame|joint|byte|clip|packet|pixel|row|column|sample)": "per",
    r"(?:bits|bytes) a (?:number|value|channel|vertex)": "per",
}
# Names of functions: a verb, or a noun for a value, not a participle.
FUNCTIONS = {"asked", "kept", "told", "held", "given", "settled", "dressed", "pulled", "written_up"}
# Sentences of tests, in strings, start with their subject.
FRAGMENTS = re.compile(r"\"((?:what|nor|that there) [^\"\n]*)\"")
# Constants say what they limit.
CONSTANTS = re.compile(r"^(?:MOST|LEAST|LARGEST|LONGEST|SMALLEST|FARTHEST)_[A-Z]|_AN?_[A-Z]")
AMERICAN = {
    "metre": "meter",
    "millimetre": "millimeter",
    "centimetre": "centimeter",
    "micrometre": "micrometer",
    "nanometre": "nanometer",
    "kilometre": "kilometer",
    "colour": "color",
    "behaviour": "behavior",
    "neighbour": "neighbor",
    "centre": "center",
    "favour": "favor",
    "honour": "honor",
    "artefact": "artifact",
    "grey": "gray",
    "catalogue": "catalog",
    "analyse": "analyze",
    "quantiser": "quantizer",
    "quantise": "quantize",
    "quantisation": "quantization",
    "normalise": "normalize",
    "optimise": "optimize",
    "optimiser": "optimizer",
    "equalise": "equalize",
    "equalisation": "equalization",
    "recognise": "recognize",
    "organise": "organize",
    "serialise": "serialize",
    "initialise": "initialize",
    "summarise": "summarize",
    "minimise": "minimize",
    "maximise": "maximize",
    "travelling": "traveling",
    "labelled": "labeled",
    "cancelled": "canceled",
    "modelled": "modeled",
}
ENDINGS = ("", "s", "d", "ed", "ing")
BRITISH = {f"{old}{end}": f"{new}{end}" for old, new in AMERICAN.items() for end in ENDINGS}
CODE = re.compile(r"`[^`\n]*`|^```.*?^```", re.S | re.M)  # of Markdown, which quotes names
DEFINED = re.compile(
    r"^\s*(?:def|class|function)\s+(\w+)|^([A-Z][A-Z0-9_]{2,})\b\s*(?::[^=]+)?=", re.M
)


def find_words(text: str, suffix: str, *, is_test: bool = False) -> Iterator[tuple[int, str, str]]:
    """Yield (line number, word found, suggestion) for a file's text."""
    lines = text.splitlines()
    prose = CODE.sub(lambda m: re.sub(r"\S", " ", m.group()), text) if suffix == ".md" else text
    for number, line in enumerate(prose.splitlines(), 1):
        # identifiers are split at underscores and capitals, so that parts of them count
        for match in re.finditer(r"[A-Z]?[a-z]+", line):
            word = match.group().lower()
            if word in ARCHAIC or word in BRITISH:
                yield number, word, ARCHAIC.get(word) or BRITISH[word]
        for pattern, suggestion in PHRASES.items():
            for match in re.finditer(rf"\b{pattern}\b", line, re.IGNORECASE):
                yield number, match.group().lower(), suggestion
        for match in FRAGMENTS.finditer(line) if is_test else ():
            yield number, match.group(1), "a sentence that starts with its subject"
    if suffix == ".md":
        return
    for match in DEFINED.finditer(text):
        number = text.count("\n", 0, match.start(match.lastindex or 0)) + 1
        function, constant = match.groups()
        if function and function.lstrip("_") in FUNCTIONS and "property" not in lines[number - 2]:
            yield number, function, "a verb"
        if function and function.startswith("test_what"):
            yield number, function, "test_ and the subject"
        if constant and CONSTANTS.search(constant):
            yield number, constant, "MAX_…, MIN_…, …_PER_…"


def read_allowed() -> list[tuple[str, str]]:
    """Return (path pattern, word) of every exception."""
    rows = [line.split("\t") for line in ALLOWED.read_text().splitlines() if line.strip()]
    return [(row[0], row[1]) for row in rows if not row[0].startswith("#")]


def list_files(paths: list[str]) -> Iterator[Path]:
    """Yield the tracked files to check, relative to the repository's root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *paths], cwd=ROOT, capture_output=True, check=True
    )
    for name in listed.stdout.decode().split("\0"):
        skipped = any(fnmatch.fnmatch(name, pattern) for pattern in SKIPPED)
        if name and Path(name).suffix in SUFFIXES and not skipped and (ROOT / name).is_file():
            yield Path(name)


def hide_names(text: str, words: set[str]) -> str:
    """Return the text with blanks in place of allowed names, so that lines keep their length."""
    for name in (word for word in words if re.search(r"[_-]", word)):
        text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", " " * len(name), text)
    return text


def fix_spelling(text: str, skipped: set[str]) -> str:
    """Return the text with American spellings; words joined by underscores count one by one."""

    def replace(match: re.Match[str]) -> str:
        written = match.group()
        word = written.lower()
        if word not in BRITISH or word in skipped:
            return written
        new = BRITISH[word]
        return (
            new.upper() if written.isupper() else new.capitalize() if written[0].isupper() else new
        )

    hidden = hide_names(text, skipped)
    words = re.finditer(r"(?<![A-Za-z])(?:[A-Z]?[a-z]+|[A-Z]+)(?![A-Za-z])", hidden)
    parts, at = [], 0
    for match in words:
        parts += [text[at : match.start()], replace(match)]
        at = match.end()
    return "".join([*parts, text[at:]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("paths", nargs="*", help="tracked files or folders; default: all")
    parser.add_argument("--fix-spelling", action="store_true", help="rewrite British spellings")
    options = parser.parse_args()
    allowed, count = read_allowed(), 0
    for path in list_files(options.paths):
        mine = {word for pattern, word in allowed if fnmatch.fnmatch(str(path), pattern)}
        text = (ROOT / path).read_text(encoding="utf-8")
        if options.fix_spelling:
            fixed = fix_spelling(text, mine)
            if fixed != text:
                (ROOT / path).write_text(fixed, encoding="utf-8")
                count += 1
            name = fix_spelling(str(path), mine)
            if name != str(path):
                subprocess.run(["git", "mv", str(path), name], cwd=ROOT, check=True)
            continue
        is_test = "tests" in path.parts
        for line, word, suggestion in find_words(
            hide_names(text, mine), path.suffix, is_test=is_test
        ):
            if word not in mine:
                print(f"{path}:{line}: {word!r}: write {suggestion!r}")
                count += 1
    if options.fix_spelling:
        print(f"{count} files changed")
        return 0
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
