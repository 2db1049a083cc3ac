"""The catalog of an archive is Parquet that anyone may have written."""

import io
import subprocess
import sys

import numpy as np
import pytest

import mocpack
from mocpack.common.source import BytesSource
from mocpack.container import ArchiveWriter, read_stored_clips, read_trailer
from mocpack.corpora import catalog, open_corpus, pack
from mocpack.corpora.packing import PackOptions
from mocpack.errors import CorruptionError, FormatError, MemoryLimitError, UsageError
from mocpack.testing import walk
from naming import naming
from parquet_file import claimed_groups, many_columns, one_column, texts

pa = pytest.importorskip("pyarrow")
LIMIT = 20_000_000


def write_parquet(table, **options):
    out = pa.BufferOutputStream()
    options = {"compression": "zstd", "store_schema": False, "write_statistics": False} | options
    catalog.import_parquet().write_table(table, out, **options)
    return bytes(out.getvalue())


def names_of(rows):
    return pa.array([str(k) for k in range(rows)])


def long_page():
    return 1, write_parquet(
        pa.table({"clip": ["0"], "x": ["x" * 25_000_000]}), use_dictionary=False
    )


def repeated_text():
    column = pa.DictionaryArray.from_arrays(np.zeros(300, np.int32), ["x" * 100_000])
    return 300, write_parquet(pa.table({"clip": names_of(300), "x": column}))


def repeated_text_in_lists():
    texts = pa.DictionaryArray.from_arrays(np.zeros(300, np.int32), ["x" * 100_000])
    column = pa.ListArray.from_arrays(pa.array([0, 300], pa.int32()), texts)
    return 1, write_parquet(pa.table({"clip": ["0"], "x": column}))


def repeated_starts():
    column = ["x" * 100_000 + str(k) for k in range(300)]
    table = pa.table({"clip": names_of(300), "x": column})
    options = {"use_dictionary": ["clip"], "column_encoding": {"x": "DELTA_BYTE_ARRAY"}}
    return 300, write_parquet(table, **options)


def long_list():
    column = pa.array([np.zeros(1_000_000, np.int8)], pa.list_(pa.int8()))
    return 1, write_parquet(pa.table({"clip": ["0"], "x": column}))


def false_page_size():
    return 1, one_column(b"x" * 20, inflated=2_000_000_000)


def false_value_count():
    return 1, one_column(texts([b"0"]), values=2_000_000_000)


def many_small_columns():
    return 0, many_columns(10_000)


HOSTILE = [
    long_page,
    repeated_text,
    repeated_text_in_lists,
    repeated_starts,
    long_list,
    false_page_size,
    false_value_count,
    many_small_columns,
]


@pytest.mark.parametrize("make", HOSTILE)
def test_a_catalog_that_needs_more_than_the_limit_is_refused(make):
    rows, data = make()
    with pytest.raises(MemoryLimitError, match=naming("catalog memory_limit")):
        catalog.read_table(data, rows, LIMIT)


@pytest.mark.skipif(sys.platform != "linux", reason="measures the resident memory of Linux")
def test_a_refused_catalog_takes_little_memory(tmp_path):
    made = [*(make() for make in HOSTILE), (1, claimed_groups(1_000_000))]
    for k, (_, data) in enumerate(made):
        (tmp_path / str(k)).write_bytes(data)
    rows = [count for count, _ in made]
    code = f"""
import resource
from pathlib import Path
from mocpack.corpora import catalog
from mocpack.errors import CorruptionError, MemoryLimitError
catalog.import_parquet()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for k, rows in enumerate({rows}):
    try:
        catalog.read_table(Path({str(tmp_path)!r}, str(k)).read_bytes(), rows, {LIMIT})
        raise AssertionError("accepted")
    except (CorruptionError, MemoryLimitError):
        pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) * 1024 < 3 * LIMIT


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"data_page_version": "2.0", "row_group_size": 7, "compression": "snappy"},
        {"use_dictionary": False, "compression": "none", "write_statistics": True},
        {"use_dictionary": False, "column_encoding": {"clip": "DELTA_BYTE_ARRAY"}},
        {"data_page_size": 1, "store_schema": True, "write_page_index": True},
    ],
)
def test_a_catalog_of_another_writer_is_read_whole(options):
    table = pa.table(
        {
            "clip": [f"clip {k}" for k in range(30)],
            "mood": [None, *(str(k) * 10_000 for k in range(10, 39))],
            "takes": [[k, None] if k % 3 else None for k in range(30)],
            "body": [{"height": 1.8, "tags": ["a", "b"][: k % 3]} for k in range(30)],
            "when": pa.array(range(30), pa.timestamp("us", "UTC")),
        }
    )
    # the dictionary of moods leaves room for one row per batch
    for limit in (None, 1_300_000):
        found = catalog.read_table(write_parquet(table, **options), 30, limit)
        assert found.to_pylist() == table.to_pylist()


def test_a_catalog_with_more_rows_than_clips_is_refused_before_it_is_read():
    data = write_parquet(pa.table({"clip": pa.array(["a"] * 1000)}))
    with pytest.raises(CorruptionError, match=naming("1000 1")):
        catalog.read_table(data, 1, LIMIT)


@pytest.mark.parametrize(
    "data",
    [
        one_column(texts([b"0"]), name=b"cl\xffip"),
        one_column(texts([b"\xff"])),
        claimed_groups(1_000_000),
        b"PAR1",
        b"",
    ],
)
def test_a_damaged_catalog_is_corrupt(data):
    with pytest.raises(CorruptionError, match="catalog"):
        catalog.read_table(data, 1, LIMIT)


def test_mutated_catalogs_are_format_errors_and_nothing_else():
    table = pa.table({"clip": names_of(9), "x": ["a", "b", "c"] * 3, "y": [[k] for k in range(9)]})
    good = write_parquet(table, compression="none")
    random = np.random.default_rng(5)
    for _ in range(1500):
        data = bytearray(good)
        for at in random.integers(0, len(data), random.integers(1, 4)):
            data[at] = random.integers(256)
        try:
            found = catalog.read_table(bytes(data), 9, LIMIT)
            catalog.to_rows(found)
        except (FormatError, MemoryLimitError):
            pass


@pytest.fixture
def make_archive(tmp_path):
    """Return a function that writes an archive of one clip with another catalog."""
    mocpack.write(walk(0.2), tmp_path / "a.bvh")
    assert pack({"a": tmp_path / "a.bvh"}, tmp_path / "good.mocps", PackOptions()) == []
    data = (tmp_path / "good.mocps").read_bytes()
    source = BytesSource(data)

    def make(table: bytes):
        out = io.BytesIO()
        writer = ArchiveWriter(out)
        for clip in read_stored_clips(source, read_trailer(source).index.places()):
            writer.add(clip)
        writer.end(table)
        (tmp_path / "made.mocps").write_bytes(out.getvalue())
        return tmp_path / "made.mocps"

    return make


def test_the_limit_of_an_archive_is_that_of_its_catalog(make_archive):
    path = make_archive(write_parquet(pa.table({"clip": ["a"], "x": ["x" * 20_000_000]})))
    with open_corpus(path) as found:
        assert found.table.num_rows == 1
    found = open_corpus(path, memory_limit="1MB")
    with found, pytest.raises(MemoryLimitError, match=naming("made.mocps catalog")):
        _ = found.table


def test_columns_that_the_index_has_come_from_the_index(make_archive):
    path = make_archive(write_parquet(pa.table({"clip": ["a"], "frames": [7], "bytes": ["x"]})))
    with open_corpus(path) as found:
        assert found.columns == ["clip", "frames", "fps", "bytes"]
        assert found.table["frames"].to_pylist() == found.index.frame_counts.tolist()


def test_values_that_json_cannot_hold_become_text():
    made = pa.table(
        {
            "day": pa.array([2**30, 0], pa.int32()).view(pa.date32()),
            "zone": pa.array([1, None], pa.timestamp("us", "Nowhere/At_all")),
            "raw": pa.array([b"\xff", b"text"]),
            "number": [1.5, None],
        }
    )
    rows = catalog.to_rows(made)
    assert rows[1] == {"day": "1970-01-01", "zone": None, "raw": "<binary>", "number": None}
    assert all(isinstance(rows[0][name], str) for name in ("day", "zone", "raw"))


STATEMENTS = [
    "1=1); SELECT 1; SELECT (1=1",
    "1=1) UNION SELECT 0 FROM catalogue WHERE (1=1",
    "1=1) ORDER BY (clip",
    "1=1 LIMIT 1",
    "1=1; SELECT 1",
    "1=1 -- ) UNION",
    "1=1 /*",
    "SELECT true",
    "",
    "clip) IS NOT NULL OR (true",
]


@pytest.mark.parametrize("where", STATEMENTS)
def test_a_condition_is_one_expression(where):
    pytest.importorskip("duckdb")
    table = pa.table({"clip": ["a", "b"]})
    if where == "1=1 -- ) UNION":  # a comment is no statement
        assert catalog.filter_rows(table, where).num_rows == 2
        return
    with pytest.raises(UsageError, match="condition"):
        catalog.filter_rows(table, where)


def test_a_condition_may_use_everything_that_an_expression_has():
    pytest.importorskip("duckdb")
    table = pa.table({"clip": ["a", "b)", "c"], "Row Number": [5, 6, 7], "takes": [[1], [2], None]})
    for where, kept in [
        ("clip = 'b)' -- the second", ["b)"]),
        ("list_contains(takes, 1) OR clip IN (SELECT max(clip) FROM catalogue)", ["a", "c"]),
        ('"Row Number" > 5\n', ["b)", "c"]),
        ("takes IS NULL", ["c"]),
        ("NULL", []),
    ]:
        assert catalog.filter_rows(table, where)["clip"].to_pylist() == kept
