"""Verify an archive: every checksum, every clip, and the trailer."""

from __future__ import annotations

from collections.abc import Iterator

from mocpack.corpora.reading import Corpus
from mocpack.errors import MocpackError
from mocpack.motion import Motion


def verify(corpus: Corpus, *, decode: bool = False) -> Iterator[tuple[str, str | None]]:
    """Yield the name of each clip with its fault, or None if it is intact.

    Checks each clip's checksums and compares the trailer's copy of its head with the clip. With
    `decode`, also decodes it.
    """
    for index, name in enumerate(corpus.names):
        yield name, _find_fault(corpus, index, decode)


def _find_fault(corpus: Corpus, index: int, decode: bool) -> str | None:
    try:
        place = corpus.index.place(index)
        data = corpus.read(index)
        stored = data[: place.at] + data[place.at + len(place.base) :]
        if stored[: len(place.front)] != place.front:
            return "the trailer's copy of its head differs from the clip"
        with Motion(data, memory_limit=None) as motion:
            motion.verify_checksum()
            frames, seconds = corpus.index.frame_counts[index], corpus.index.frame_times[index]
            if (motion.frame_count, motion.header.frame_time) != (frames, seconds):
                wrong = f"{frames} frames of {seconds} s"
                return f"its head differs from the trailer, which says {wrong}"
            if decode:
                motion.clip()
    except MocpackError as error:
        return str(error)
    except OSError as error:  # a shard is missing
        return f"{error.filename}: {error.strerror}"
    return None
