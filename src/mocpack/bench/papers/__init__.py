"""The papers that `mocpack.papers` reproduces, and code that their reproductions share.

A paper's module ``tables.reproduce`` has

- ``CLIPS``, the names of the clips that it measures, and ``REQUIRED``, those it cannot do without;
- ``PAGE_NOTES``, how we read the paper, for the top of its page;
- ``reproduce(clips: Mapping[str, Path], seeds: int) -> Results``, from the files of the clips that
  are present; everything random is measured with seeds 0 to `seeds` - 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from mocpack.errors import UsageError

SEEDS = 5  # of everything random


@dataclass(frozen=True)
class Paper:
    """A paper that can be reproduced; ``--paper`` takes its `key` or `name`."""

    key: str
    name: str
    authors: str
    year: int
    title: str

    def __str__(self) -> str:
        return f"{self.authors} {self.year}, “{self.title}”"

    def module(self) -> ModuleType:
        """Import and return the module that reproduces its tables."""
        return import_module(f"mocpack.papers.{self.name}.tables.reproduce")


PAPERS = (
    Paper(
        "000",
        "beaudoin",
        "Beaudoin, Poulin and van de Panne",
        2007,
        "Adapting Wavelet Compression to Human Motion Capture Clips",
    ),
    Paper(
        "001",
        "chattopadhyay",
        "Chattopadhyay, Bhandarkar and Li",
        2007,
        "Model Dependent Power Aware Compression Algorithms for MPEG-4 Virtual Human Animation "
        "in Mobile Computers",
    ),
    Paper("002", "mukai", "Mukai", 2012, "Latent Nonuniform Splines for Animation Approximation"),
    Paper(
        "003",
        "vasa",
        "Váša and Brunnett",
        2014,
        "Rate-distortion optimized compression of motion capture data",
    ),
    Paper(
        "004",
        "li",
        "Li, Okuda and Takahashi",
        2008,
        "Compression of Human Motion Animation Using the Reduction of Interjoint Correlation",
    ),
)


def find_paper(text: str) -> Paper:
    """Return the paper of a key or a first author.

    >>> find_paper("0").name, find_paper("000").name, find_paper("Beaudoin").key
    ('beaudoin', 'beaudoin', '000')
    """
    for paper in PAPERS:
        if text.lower() == paper.name or (text.isdecimal() and int(text) == int(paper.key)):
            return paper
    known = ", ".join(f"{paper.key} or {paper.name}" for paper in PAPERS)
    raise UsageError(f"unknown paper {text!r}; papers: {known}")
