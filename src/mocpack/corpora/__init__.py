"""Archives of many clips (.mocps), their catalog, and training windows."""

from mocpack.corpora.decoded_cache import DecodedCache
from mocpack.corpora.merging import merge, repair
from mocpack.corpora.packing import PackOptions, RejectedFile, append, pack
from mocpack.corpora.reading import Corpus, open_corpus
from mocpack.corpora.stream import Stream
from mocpack.corpora.verifying import verify
from mocpack.corpora.windows import Windows

__all__ = [
    "Corpus",
    "DecodedCache",
    "PackOptions",
    "RejectedFile",
    "Stream",
    "Windows",
    "append",
    "merge",
    "open_corpus",
    "pack",
    "repair",
    "verify",
]
