"""Many clips as one thing: archives (.mocps), their catalogue, and windows of them to train on."""

from mocpack.corpora.decoded import DecodedCache
from mocpack.corpora.merging import merge, repair
from mocpack.corpora.packing import Packing, Refused, append, pack
from mocpack.corpora.reading import Corpus, corpus
from mocpack.corpora.stream import Stream
from mocpack.corpora.verifying import verify
from mocpack.corpora.windows import Windows

__all__ = [
    "Corpus",
    "DecodedCache",
    "Packing",
    "Refused",
    "Stream",
    "Windows",
    "append",
    "corpus",
    "merge",
    "pack",
    "repair",
    "verify",
]
