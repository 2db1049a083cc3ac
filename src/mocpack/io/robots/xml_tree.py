"""Parse untrusted XML to a tree; document types are rejected because of their entities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

import numpy as np

from mocpack.common.arrays import F64
from mocpack.errors import CorruptionError, FormatError

MAX_BYTES = 64 << 20
MAX_DEPTH = 500
MAX_ELEMENTS = 1_000_000


@dataclass
class Element:
    """A tag with its attributes and child elements, in file order."""

    tag: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list)

    def all(self, *tags: str) -> Iterator[Element]:
        """Yield the children with these tags."""
        return (child for child in self.children if child.tag in tags)

    @property
    def size(self) -> int:
        """The number of elements in this tree."""
        count, waiting = 0, [self]
        while waiting:
            count += 1
            waiting += waiting.pop().children
        return count

    def first(self, tag: str) -> Element | None:
        return next(self.all(tag), None)

    def word(self, name: str, default: str | None = None) -> str:
        """Return an attribute; raise an error if it is missing and has no default."""
        value = self.attributes.get(name, default)
        if value is None:
            raise CorruptionError(f"<{self.tag}> {self._quote_name()}has no {name}")
        return value

    def number(self, name: str, default: float) -> float:
        return float(self.numbers(name, 1, [default])[0])

    def numbers(self, name: str, count: int, default: list[float]) -> F64:
        """Return an attribute with `count` finite numbers."""
        if name not in self.attributes:
            return np.array(default, np.float64)
        try:
            values = np.array([float(word) for word in self.attributes[name].split()], np.float64)
        except ValueError:
            values = np.zeros(0)
        if len(values) != count or not (np.abs(values) <= 1e6).all():  # written so that NaN fails
            words = "a number" if count == 1 else f"{count} numbers"
            raise CorruptionError(
                f"{name} of <{self.tag}> {self._quote_name()}must be {words} within ±1e6, "
                f"got {self.attributes[name][:60]!r}"
            )
        return values

    def _quote_name(self) -> str:
        name = self.attributes.get("name")
        return "" if name is None else f"{name[:60]!r} "


def parse(data: bytes, max_elements: int = MAX_ELEMENTS) -> Element:
    """Return the root element of an XML file with at most `max_elements` elements."""
    if len(data) > MAX_BYTES:
        raise FormatError(f"XML must be at most {MAX_BYTES >> 20} MiB")
    top = Element("")
    open_elements = [top]
    count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(open_elements) > MAX_DEPTH or count > max_elements:
            raise FormatError(
                f"XML must have at most {MAX_ELEMENTS} elements, nested at most {MAX_DEPTH} deep"
            )
        element = Element(tag, attributes)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(_: str) -> None:
        open_elements.pop()

    def refuse(*_: object) -> None:
        raise FormatError("XML with a document type is not supported, because entities are unsafe")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise CorruptionError(f"invalid XML: {error}") from error
    except (LookupError, ValueError) as error:  # an unknown encoding
        if isinstance(error, FormatError):
            raise
        raise CorruptionError(f"not XML: {error}") from error
    return top.children[0]
