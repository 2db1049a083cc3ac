"""An archive held against itself: every chunk, every clip, and what its trailer says of them."""

from __future__ import annotations

from collections.abc import Iterator

from mocpack.corpora.reading import Corpus
from mocpack.errors import MocpackError
from mocpack.motion import Motion


def verify(corpus: Corpus, *, decode: bool = False) -> Iterator[tuple[str, str | None]]:
    """Go through the clips; with each its name and what is wrong with it, None if nothing is.

    A clip's checksums are held against its bytes, and what the trailer repeats against the clip;
    with `decode` it is decoded too.
    """
    for index, name in enumerate(corpus.names):
        yield name, _find_fault(corpus, index, decode)


def _find_fault(corpus: Corpus, index: int, decode: bool) -> str | None:
    place = corpus.index.place(index)
    try:
        data = corpus.read(index)
        stored = data[: place.at] + data[place.at + len(place.base) :]
        if stored[: len(place.front)] != place.front:
            return "the trailer repeats its beginning otherwise"
        with Motion(data, memory_limit=None) as motion:
            motion.check()
            header = motion.header
            if (header.frame_count, header.frame_time) != (place.frames, place.frame_time):
                return f"the trailer says {place.frames} frames of {place.frame_time} s"
            if decode:
                motion.clip()
    except MocpackError as error:
        return str(error)
    return None
