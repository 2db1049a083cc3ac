"""The catalog of an archive: a Parquet table with one row per clip."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from mocpack.common.json_object import Json, JsonObject
from mocpack.common.optional_packages import require
from mocpack.common.units import to_millimeters
from mocpack.container import DEFAULT_LIMIT, Index, base_id, to_stored_clip
from mocpack.corpora.parquet import read_parquet
from mocpack.errors import CorruptionError, UsageError, convert_errors, name_errors
from mocpack.motion import Motion

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, Table

PURPOSE = "the catalog of an archive"
CLIP_COLUMN = "clip"
# explicit types, so that an empty column has the same type as a full one
COLUMN_TYPES = {
    CLIP_COLUMN: "string",
    "frames": "int64",
    "fps": "float64",
    "seconds": "float32",
    "joints": "int32",
    "skeleton": "string",
    "codec": "string",
    "bytes": "int64",
    "bound_mm": "float32",
    "max_error_mm": "float32",
    "mean_error_mm": "float32",
    "source": "string",
    "source_sha256": "string",
}
LOSSLESS_COLUMN = "lossless_reason"  # why the automatic choice stored a clip without loss
# what readers and the encoder assumed; only in catalogs of clips that have it
NOTE_COLUMNS = (
    "bones",
    "unit_guessed",
    "frame_rate_assumed",
    "up_guessed",
    "up_doubtful",
    LOSSLESS_COLUMN,
)

# as pyarrow.types names them
JSON_TYPES = ("string", "large_string", "integer", "floating", "boolean", "null")
# matches names in a process of its own, because a regular expression can take exponential time
MATCHER = """
import json, re, sys
pattern, seconds, names = json.load(sys.stdin)
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
except ModuleNotFoundError:  # on Windows, where only the parent limits the time
    pass
find = re.compile(pattern).search
json.dump([match.groupdict() if (match := find(name)) else {} for name in names], sys.stdout)
"""
MATCH_CPU_S, MATCH_WALL_S = 10, 120

INDEX_COLUMNS = ("frames", "fps", "bytes")  # in the archive's index, so the Parquet has no copy

Row = JsonObject


def describe_clip(name: str, data: bytes) -> Row:
    """Return the catalog row of a .mocp file."""
    skeleton = to_stored_clip(name, data).skeleton
    with Motion(data, memory_limit=None) as motion:
        header, errors = motion.header, motion.errors
        first, last = motion.span
        return {
            CLIP_COLUMN: name,
            "frames": header.frame_count,
            "fps": float(header.frame_rate),
            "seconds": float(last - first),
            "joints": header.point_count,
            "skeleton": base_id(skeleton).hex() if skeleton else None,
            "codec": motion.codec.codec_id,
            "bytes": len(data),
            "bound_mm": to_millimeters(errors.declared),
            "max_error_mm": to_millimeters(errors.max),
            "mean_error_mm": to_millimeters(errors.mean),
            **{name: str(v) for name in NOTE_COLUMNS if (v := header.metadata.get(name))},
        }


def import_arrow() -> ModuleType:
    return require("pyarrow", extra="corpus", purpose=PURPOSE)


def make_table(rows: Sequence[Row]) -> Table:
    """Return rows as an Arrow table."""
    pa = import_arrow()
    noted = [name for name in NOTE_COLUMNS if any(name in row for row in rows)]
    types = COLUMN_TYPES | dict.fromkeys(noted, "string")
    fields = [pa.field(name, pa.type_for_alias(kind)) for name, kind in types.items()]
    return pa.Table.from_pylist([{n: row.get(n) for n in types} for row in rows], pa.schema(fields))


def check_labels(
    names: Iterable[str], meta: Table | None, pattern: str | None, old: Table | None = None
) -> None:
    """Raise `UsageError` if labels do not fit the catalog of these clips, or an old one.

    Call it before packing: it builds such a catalog, so that nothing can fail after packing.
    """
    table = add_labels(make_table([{CLIP_COLUMN: name} for name in names]), meta, pattern)
    with convert_errors(
        import_arrow().ArrowException, "a catalog cannot hold the columns of --meta", to=UsageError
    ):
        table_to_bytes(table if old is None else concat_tables([old, table]))


def add_labels(own: Table, meta: Table | None, pattern: str | None) -> Table:
    """Return a catalog with the columns that `meta` and the groups of `pattern` add."""
    if pattern is not None:
        names = own.column(CLIP_COLUMN).to_pylist()
        own = join_columns(own, names_to_columns(names, pattern), "--name-pattern")
    return own if meta is None else join_columns(own, meta, "--meta")


def join_columns(own: Table, meta: Table, option: str) -> Table:
    """Return a catalog with the columns of a user's table; null for clips that it does not list."""
    pa = import_arrow()
    if CLIP_COLUMN not in meta.column_names:
        raise UsageError(
            f"the table of {option} needs a column {CLIP_COLUMN!r}, got {meta.column_names}"
        )
    # SQL does not distinguish upper and lower case
    added = [name.lower() for name in meta.column_names if name != CLIP_COLUMN]
    taken = {name.lower() for name in (*own.column_names, *COLUMN_TYPES, *NOTE_COLUMNS)}
    both = [name for name in meta.column_names if name != CLIP_COLUMN and name.lower() in taken]
    if both:
        raise UsageError(f"{option}: the catalog has columns {', '.join(both)}; rename yours")
    twice = sorted({name for name in meta.column_names if added.count(name.lower()) > 1})
    if twice or meta.column_names.count(CLIP_COLUMN) > 1:
        raise UsageError(f"{option}: columns are repeated: {', '.join(twice or [CLIP_COLUMN])}")
    kind = meta.schema.field(CLIP_COLUMN).type
    if not pa.types.is_string(getattr(kind, "value_type", kind)) and not pa.types.is_large_string(
        kind
    ):
        raise UsageError(f"{option}: column {CLIP_COLUMN} must hold text, got {kind}")
    keys = meta.column(CLIP_COLUMN).to_pylist()
    rows = {key: place for place, key in enumerate(keys)}
    if len(rows) < len(keys):
        again = next(key for key in keys if keys.count(key) > 1)
        raise UsageError(f"the table of {option} lists clip {again!r} twice")
    places = pa.array([rows.get(name) for name in own.column(CLIP_COLUMN).to_pylist()], pa.int64())
    for name in meta.column_names:
        if name != CLIP_COLUMN:
            own = own.append_column(name, meta.column(name).take(places))
    return own


def concat_tables(tables: Sequence[Table]) -> Table:
    """Return the rows of several catalogs; missing columns become null."""
    pa = import_arrow()
    with convert_errors(pa.ArrowException, "catalogs have incompatible columns", to=UsageError):
        return pa.concat_tables(tables, promote_options="permissive")


def names_to_columns(names: Sequence[str], pattern: str) -> Table:
    """Return a table of the named groups that `pattern` matches in each name."""
    with convert_errors(
        (re.error, OverflowError, RecursionError), f"--name-pattern {pattern!r}", to=UsageError
    ):
        groups = [*re.compile(pattern).groupindex]
    if not groups:
        raise UsageError(f"--name-pattern {pattern!r} needs a named group, such as (?P<subject>…)")
    rows = [
        {CLIP_COLUMN: name, **row}
        for name, row in zip(names, _match_names(names, pattern), strict=True)
    ]
    pa = import_arrow()
    columns = [CLIP_COLUMN, *groups]
    return pa.Table.from_pylist(rows, pa.schema([(column, pa.string()) for column in columns]))


def _match_names(names: Sequence[str], pattern: str) -> list[dict[str, str | None]]:
    """Return the named groups of each name, from a process that ends if matching takes too long."""
    request = json.dumps([pattern, MATCH_CPU_S, list(names)])
    words = [sys.executable, "-I", "-S", "-c", MATCHER]
    try:
        done = subprocess.run(
            words, input=request.encode(), capture_output=True, timeout=MATCH_WALL_S, check=True
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        raise UsageError(
            f"--name-pattern {pattern!r} does not match {len(names)} clip names within "
            f"{MATCH_CPU_S} s; nested repeats such as (a+)+ take exponential time"
        ) from error
    groups: list[dict[str, str | None]] = json.loads(done.stdout)
    return groups


def read_meta(path: str | Path) -> Table:
    """Read a user's table: Parquet, CSV or JSON lines, by its suffix."""
    path, suffix = str(path), Path(path).suffix.lower()
    pa = import_arrow()
    with convert_errors(pa.ArrowException, f"{path}", to=UsageError):
        if suffix == ".csv":
            # a clip named 0123 must stay text
            csv = require("pyarrow.csv", extra="corpus", purpose=PURPOSE)
            options = csv.ConvertOptions(column_types={CLIP_COLUMN: pa.string()})
            return csv.read_csv(path, convert_options=options)
        if suffix in (".jsonl", ".ndjson"):
            return require("pyarrow.json", extra="corpus", purpose=PURPOSE).read_json(path)
        if suffix in (".parquet", ".pq"):
            return import_parquet().read_table(path)
    raise UsageError(f"{path}: a table must be .parquet, .csv or .jsonl")


def import_parquet() -> ModuleType:
    return require("pyarrow.parquet", extra="corpus", purpose=PURPOSE)


def table_to_bytes(table: Table) -> bytes:
    """Return a table as Parquet bytes; they are the same for the same rows and pyarrow release."""
    out = import_arrow().BufferOutputStream()
    # one chunk, so that the bytes do not depend on how the table was assembled
    table = table.replace_schema_metadata(None).combine_chunks()
    table = table.drop_columns([name for name in INDEX_COLUMNS if name in table.column_names])
    repeats = [2 * len(column.unique()) <= len(column) for column in table.columns]
    import_parquet().write_table(
        table,
        out,
        use_dictionary=[n for n, has in zip(table.column_names, repeats, strict=True) if has],
        compression="zstd",
        compression_level=9,
        write_statistics=False,
        store_schema=False,
    )
    return bytes(out.getvalue())


def add_index_columns(table: Table, index: Index) -> Table:
    """Return a catalog as users see it, with the columns that the index knows."""
    pa = import_arrow()
    bases = np.array([0, *map(len, index.bases)])
    values = {
        "frames": index.frame_counts,
        "fps": 1 / index.frame_times,
        "bytes": index.columns[:, 3] + bases[index.columns[:, 0]],
    }
    known = list(COLUMN_TYPES)
    for name, column in values.items():
        place = sum(before in table.column_names for before in known[: known.index(name)])
        table = table.add_column(place, name, pa.array(column))
    return table


def read_table(data: bytes, rows: int | None = None, limit: int | None = DEFAULT_LIMIT) -> Table:
    """Parse the Parquet bytes of a catalog; it must have `rows` rows, if that is known.

    `limit` is the memory in bytes that the table may take, None for no limit.
    """
    pa = import_arrow()
    with convert_errors((pa.ArrowException, OSError, UnicodeDecodeError), "catalog"):
        with name_errors("catalog"):
            table = read_parquet(data, rows, limit).replace_schema_metadata(None)
        table.validate(full=True)  # texts that are not UTF-8
        names = table.column_names
        if CLIP_COLUMN in names:
            table.column(CLIP_COLUMN).cast(pa.string())
    if CLIP_COLUMN not in names:
        raise CorruptionError(f"catalog: column {CLIP_COLUMN!r} is missing")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CorruptionError(f"catalog: two columns are named {twice!r}")
    return table.drop_columns([name for name in INDEX_COLUMNS if name in names])


def filter_rows(table: Table, where: str | None) -> Table:
    """Return the rows that match an SQL condition, in their order."""
    if where is None:
        return table
    duckdb = require("duckdb", extra="corpus", purpose="selecting clips by a condition")
    connection = duckdb.connect(config={"enable_external_access": "false"})
    try:
        rows = import_arrow().array(np.arange(table.num_rows))
        number = "_" * (1 + max(map(len, table.column_names)))  # no column has this name
        connection.register("catalogue", table.append_column(number, rows))
        query = f"SELECT {number} FROM catalogue WHERE ({where}\n) ORDER BY {number}"
        # Text that is valid with and without the parentheses closes only its own, so the query
        # has it as one expression.
        for text in (f"SELECT 1 WHERE {where}", query):
            if len(connection.extract_statements(text)) != 1:
                raise UsageError(f"condition {where!r} must be one SQL expression")
        kept = connection.sql(query).fetchnumpy()[number]
    except duckdb.Error as error:
        first, columns = str(error).splitlines()[0], ", ".join(table.column_names)
        sentence = f"condition {where!r} is not valid SQL for the columns {columns}: {first}"
        raise UsageError(sentence) from error
    finally:
        connection.close()
    return table.take(import_arrow().array(np.asarray(kept, np.int64)))


def to_rows(table: Table) -> list[Row]:
    """Return rows of values that JSON can hold; others become text, such as a day or bytes."""
    columns = [_to_values(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _to_values(column: ChunkedArray) -> list[Json]:
    pa = import_arrow()
    kind, types = column.type, require("pyarrow.types", extra="corpus", purpose=PURPOSE)
    while types.is_list(kind) or types.is_large_list(kind) or types.is_dictionary(kind):
        kind = kind.value_type
    if any(getattr(types, f"is_{name}")(kind) for name in JSON_TYPES):
        values: list[Json] = column.to_pylist()
        return values
    try:
        return list(column.cast(pa.string()).to_pylist())
    except (pa.ArrowException, UnicodeDecodeError):
        return [f"<{column.type}>" if valid else None for valid in column.is_valid().to_pylist()]


def check_clips(table: Table, names: Sequence[str]) -> None:
    """Raise if the catalog does not list the same clips as the index, in the same order."""
    if table.column(CLIP_COLUMN).to_pylist() != list(names):
        raise CorruptionError("catalog: lists other clips than the index (the archive is corrupt)")
