"""The record of an archive that was packed in parts, from which a repeated command sees it is done.

The record is a hidden JSON file next to the archive. It holds a digest of the parts and of the
catalog options, size and time of the archive, and the rejected files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from mocpack.common.json_object import Json, JsonObject, is_object, parse_json
from mocpack.corpora import catalog, storage
from mocpack.corpora.packing import RejectedFile, parse_rejected
from mocpack.corpora.planning import Part
from mocpack.corpora.reading import open_corpus
from mocpack.corpora.writing import WriterOptions
from mocpack.errors import MocpackError


def record_path(archive: str) -> str:
    """Return the path of an archive's record.

    >>> record_path("s3://corpora/all.mocps")
    's3://corpora/.all.mocps.packed'
    """
    return storage.sibling(archive, f".{storage.base_name(archive)}.packed")


def has_record(archive: str) -> bool:
    """Return whether an archive has a record, valid or not."""
    return storage.exists(record_path(archive))


def write_record(
    parts: Sequence[Part],
    archive: str,
    ending: WriterOptions,
    rejected: Sequence[RejectedFile],
) -> None:
    """Write the record of a new archive; `ending` holds the options of `join`."""
    record = {
        "parts": _parts_digest(parts),
        "ending": _join_options_digest(ending),
        "archive": _file_identity(archive),
        "refused": [one.to_json() for one in rejected],
    }
    storage.write(json.dumps(record, sort_keys=True).encode(), record_path(archive))


def read_rejected(
    parts: Sequence[Part], archive: str, ending: WriterOptions | None = None
) -> list[RejectedFile] | None:
    """Return the files that were rejected when the existing archive was made from these parts.

    Return None if the archive is missing, was changed, or was made from other parts or with other
    `ending` options. Without `ending`, any options match.
    """
    try:
        record = parse_json(storage.read(record_path(archive)))
        rejected = list(parse_rejected(record, "refused"))
        expected: JsonObject = {"parts": _parts_digest(parts), "archive": _file_identity(archive)}
        if ending is not None:
            expected["ending"] = _join_options_digest(ending)
        same = is_object(record) and expected.items() <= record.items()
        return rejected if same and _shards_exist(archive) else None
    except (OSError, MocpackError, ValueError, RecursionError):
        return None  # an unreadable record means that the archive is not done


def remove_record(archive: str) -> None:
    """Remove the record, so that the archive is packed again."""
    storage.remove(record_path(archive))


def _parts_digest(parts: Sequence[Part]) -> str:
    names = "\n".join(part.file_name for part in parts)
    return hashlib.sha256(names.encode()).hexdigest()


def _join_options_digest(ending: WriterOptions) -> str:
    meta = ending.get("meta")
    labels = None if meta is None else hashlib.sha256(catalog.table_to_bytes(meta)).hexdigest()
    text = json.dumps([labels, ending.get("name_pattern"), ending.get("shard_size")])
    return hashlib.sha256(text.encode()).hexdigest()


def _file_identity(archive: str) -> list[Json]:
    info = storage.file_info(archive)
    return [info.size, info.mark or info.time]


def _shards_exist(archive: str) -> bool:
    with open_corpus(archive) as made:
        shards = made.index.files
    return all(
        storage.file_info(storage.sibling(archive, name)).size == size for name, size in shards
    )
