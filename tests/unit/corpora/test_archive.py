"""Archives restore every clip byte for byte, and damage affects only the damaged clips."""

import io
import itertools
import subprocess
import sys
import zlib
from collections import OrderedDict
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

import mocpack
from damaged_archives import damaged_indexes, with_columns, with_kind
from mocpack.common.source import open_source
from mocpack.container import (
    ARCHIVE_MAGIC,
    FOOTER_BYTES,
    ArchiveWriter,
    Index,
    read_clip_file,
    read_trailer,
    to_stored_clip,
)
from mocpack.container.archive_index import COLUMNS, pack_index
from mocpack.container.chunks import pack_chunk
from mocpack.corpora import (
    append,
    catalog,
    merge,
    open_corpus,
    pack,
    packing,
    reading,
    repair,
    verify,
)
from mocpack.corpora.packing import PackOptions
from mocpack.errors import (
    CorruptionError,
    FormatError,
    LosslessWarning,
    MocpackError,
    SceneError,
    TruncatedError,
    UnsupportedVersionError,
    UsageError,
)
from mocpack.testing import walk
from mocpack.testing.motions import vertex_wave
from naming import names, naming
from takes import markers

pytest.importorskip("pyarrow")
FAST = PackOptions(target={"max_error": "5mm", "effort": "fast"})


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    """Four takes of two skeletons, one of them in a folder."""
    folder = tmp_path_factory.mktemp("takes")
    (folder / "deep").mkdir()
    mocpack.write(walk(1.5), folder / "a.bvh")
    mocpack.write(walk(1.0, seed=2), folder / "b.bvh")
    mocpack.write(walk(2.0, seed=3), folder / "deep/c.bvh")
    (folder / "d.mocp").write_bytes(mocpack.encode(markers(30, 4), max_error="1mm"))
    names = {"a": "a.bvh", "b": "b.bvh", "deep/c": "deep/c.bvh", "d": "d.mocp"}
    return {name: folder / path for name, path in names.items()}


@pytest.fixture(scope="module")
def archive(takes, tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "takes.mocps"
    assert pack(takes, path, FAST) == []
    return path


def test_a_clip_comes_out_byte_for_byte_as_it_was_packed(takes, archive):
    with open_corpus(archive) as found:
        assert found.names == ("a", "b", "d", "deep/c")
        for name in ("a", "b", "deep/c"):
            clip = mocpack.read(takes[name])
            assert found.read(name) == mocpack.encode(clip, max_error="5mm", effort="fast")
        assert found.read("d") == takes["d"].read_bytes()


def test_clips_of_one_skeleton_share_it(archive):
    with open_corpus(archive) as found:
        skeletons = found.table.column("skeleton").to_pylist()
        assert skeletons[0] == skeletons[1] == skeletons[3] != skeletons[2]
        assert found.index.skeleton_count == 2
        data = archive.read_bytes()
        # once where it is needed; the trailer's copy is deflated
        assert data.count(found.index.bases[0]) == 1


def test_equal_clips_are_stored_once(takes, archive, tmp_path):
    files = takes | {"again": takes["a"], "deep/again": takes["a"]}
    path = tmp_path / "twice.mocps"
    pack(files, path, FAST)
    with open_corpus(path) as found:
        kinds = dict(zip(found.names, found.index.columns[:, 8].tolist(), strict=True))
        assert kinds == {"a": 0, "again": 1, "b": 0, "d": 0, "deep/again": 1, "deep/c": 0}
        assert found.read("again") == found.read("deep/again") == found.read("a")
        assert np.array_equal(found["again"].clip().rotations, found["a"].clip().rotations)
        assert all(fault is None for _, fault in verify(found, decode=True))
        # two names and index rows, and no copy of the clip
        assert path.stat().st_size - archive.stat().st_size < 500 < len(found.read("a"))
    merge([path], tmp_path / "merged.mocps")
    assert (tmp_path / "merged.mocps").read_bytes() == path.read_bytes()


def test_repair_restores_copies_and_reports_those_whose_original_is_lost(takes, tmp_path):
    path, broken, saved = (tmp_path / f"{name}.mocps" for name in ("twice", "broken", "saved"))
    pack({"a": takes["a"], "b": takes["b"], "copy": takes["a"]}, path, FAST)
    with open_corpus(path) as whole:
        for damaged, lost in ((None, set()), ("a", {"a", "copy"}), ("b", {"b"})):
            data = bytearray(path.read_bytes()[:-FOOTER_BYTES])
            if damaged is not None:
                place = whole.index.place(whole.clip_index(damaged))
                data[place.offset + place.size // 2] ^= 1
            broken.write_bytes(data)
            assert {one.path for one in repair(broken, saved)} == lost
            with open_corpus(saved) as found:
                assert set(found.names) == set(whole.names) - lost
                assert all(found.read(name) == whole.read(name) for name in found.names)


def test_a_clip_of_an_unknown_kind_is_named_and_the_others_open(archive, tmp_path):
    path = tmp_path / "newer.mocps"
    path.write_bytes(with_kind(archive.read_bytes(), clip=1, kind=7))
    with open_corpus(path) as found, open_corpus(archive) as whole:
        assert found.read("a") == whole.read("a")
        for use in (found.read, found.__getitem__):
            with pytest.raises(UnsupportedVersionError, match=naming("'b' 7")):
                use("b")
        assert [name for name, fault in verify(found) if fault] == ["b"]


def test_a_clip_with_its_chunks_in_another_order_comes_out_byte_for_byte(takes, tmp_path):
    data = mocpack.encode(mocpack.read(takes["a"]), max_error="5mm", effort="fast")
    sizes = [size for _, size in mocpack._core.File(data).chunk_sizes()]
    ends = np.cumsum([5, *sizes])
    parts = [data[start:end] for start, end in itertools.pairwise(ends)]
    orders = {"back": parts[::-1], "turned": [*parts[1:], parts[0]]}
    paths = {name: tmp_path / f"{name}.mocp" for name in orders}
    for name, order in orders.items():
        paths[name].write_bytes(data[:5] + b"".join(order))
    assert pack(paths, tmp_path / "all.mocps") == []
    with open_corpus(tmp_path / "all.mocps") as found:
        for name, path in paths.items():
            assert found.read(name) == path.read_bytes()
            np.testing.assert_array_equal(
                found[name].clip().rotations, mocpack.decode(data).rotations
            )


def test_metadata_is_shared_from_its_second_occurrence_on(tmp_path):
    files = {}
    for name, note in (("a", "same"), ("b", "same"), ("c", "other"), ("d", "same")):
        clip = walk(0.5, seed=ord(name))
        header = replace(clip.header, metadata={"note": 20 * note})
        clip = mocpack.Clip(header, clip.rotations, clip.translations)
        files[name] = tmp_path / f"{name}.mocp"
        files[name].write_bytes(mocpack.encode(clip, max_error="5mm", effort="fast"))
    pack(files, tmp_path / "notes.mocps")
    with open_corpus(tmp_path / "notes.mocps") as found:
        assert found.index.columns[:, 0].tolist() == [1, 2, 1, 2]
        assert all(found.read(name) == path.read_bytes() for name, path in files.items())
        assert len(set(found.table.column("skeleton").to_pylist())) == 1


def test_clips_are_open_motions_by_number_and_by_name(archive):
    with open_corpus(archive) as found:
        assert len(found) == 4
        assert found[1].frame_count == found["b"].frame_count == found[-3].frame_count
        assert "b" in found
        with pytest.raises(UsageError, match=naming("takes.mocps 'e'")):
            found["e"]
        with pytest.raises(IndexError):
            found[4]
        assert sum(motion.frame_count for motion in found) == found.index.frame_counts.sum()


def test_another_thread_may_close_an_archive_that_drops_its_oldest_clip(archive, monkeypatch):
    class ClosedMeanwhile(OrderedDict):
        def popitem(self, last=True):
            self.clear()
            return super().popitem(last)

    monkeypatch.setattr(reading, "MAX_OPEN_CLIPS", 0)
    with open_corpus(archive) as found:
        found._motions = ClosedMeanwhile()
        assert len(found[0]) > 0


def test_the_bytes_do_not_depend_on_how_many_worked(takes, archive, tmp_path):
    pack(dict(reversed(takes.items())), tmp_path / "takes.mocps", FAST, workers=2)
    assert (tmp_path / "takes.mocps").read_bytes() == archive.read_bytes()


def test_appending_gives_the_same_archive_as_packing_at_once(takes, archive, tmp_path):
    path = tmp_path / "takes.mocps"
    pack({name: takes[name] for name in ("a", "b")}, path, FAST)
    append({name: takes[name] for name in ("d", "deep/c")}, path, FAST)
    assert path.read_bytes() == archive.read_bytes()
    with pytest.raises(UsageError, match=naming("takes.mocps 'a'")):
        append({"a": takes["a"]}, path, FAST)
    assert path.read_bytes() == archive.read_bytes()


def test_shards_have_one_catalogue_and_the_same_clips(takes, archive, tmp_path):
    path = tmp_path / "many.mocps"
    pack(takes, path, FAST, shard_size=1000)
    with open_corpus(path) as many, open_corpus(archive) as one:
        assert len(many.index.files) > 1
        assert many.table == one.table
        assert all(many.read(name) == one.read(name) for name in one.names)
        assert all(fault is None for _, fault in verify(many, decode=True))
        shard = path.with_name(many.index.files[0][0])
    with open_corpus(shard) as alone, open_corpus(archive) as one:
        assert alone.read("a") == one.read("a")
        with pytest.raises(UsageError, match=naming("many-00000.mocps shard")):
            _ = alone.table


def test_appending_to_shards_touches_none_of_them(takes, archive, tmp_path):
    path = tmp_path / "many.mocps"
    pack({name: takes[name] for name in ("a", "b")}, path, FAST, shard_size=1000)
    before = {p.name: p.read_bytes() for p in tmp_path.glob("many-*.mocps")}
    append({"deep/c": takes["deep/c"]}, path, FAST)
    for name, data in before.items():
        assert (tmp_path / name).read_bytes() == data
    with open_corpus(path) as found, open_corpus(archive) as one:
        assert found.names == ("a", "b", "deep/c")
        assert all(found.read(name) == one.read(name) for name in found.names)


def test_merging_codes_nothing_again(takes, archive, tmp_path):
    pack({"e": takes["a"]}, tmp_path / "other.mocps", FAST)
    merge([archive, tmp_path / "other.mocps"], tmp_path / "both.mocps")
    with open_corpus(tmp_path / "both.mocps") as both, open_corpus(archive) as one:
        assert both.names == (*one.names, "e")
        assert all(both.read(name) == one.read(name) for name in one.names)
        assert both.index.skeleton_count == 2
    with pytest.raises(UsageError, match=naming("'a' --prefix")):
        merge([archive, archive], tmp_path / "twice.mocps")
    assert not (tmp_path / "twice.mocps").exists()
    merge([archive, tmp_path / "other.mocps"], tmp_path / "named.mocps", prefix=True)
    with open_corpus(tmp_path / "named.mocps") as named:
        assert named.names[-1] == "other/e"
        assert named.table.column("clip").to_pylist() == list(named.names)


def test_a_users_columns_are_in_the_catalogue_and_choose_clips(takes, tmp_path):
    import pyarrow as pa

    meta = pa.table({"clip": ["b", "a", "unknown"], "mood": ["glad", "sad", "none"]})
    path = tmp_path / "moods.mocps"
    pack(takes, path, FAST, meta=meta, name_pattern=r"^(?P<folder>\w+)/")
    with open_corpus(path) as found:
        assert found.table.column("mood").to_pylist() == ["sad", "glad", None, None]
        assert found.table.column("folder").to_pylist() == [None, None, None, "deep"]
        pytest.importorskip("duckdb")
        assert found.select("mood = 'glad'") == [1]
        assert found.select("seconds > 1.2 and joints > 4") == [0, 3]
        for bad in ("nonsense = 1", "1=1); DROP TABLE catalogue; --", "seconds >"):
            with pytest.raises(UsageError, match=naming(bad)):
                found.select(bad)


def wrong_labels():
    """Options of labels that do not fit, and what the error names."""
    import pyarrow as pa

    repeated = pa.Table.from_arrays([pa.array(["a"])] * 3, ["clip", "mood", "mood"])
    nested = pa.table({"clip": ["a"], "tags": [["x", "y"]]})
    return {
        "a built-in column": ({"meta": pa.table({"clip": ["a"], "frames": [1]})}, "frames"),
        "one of some clips": ({"meta": pa.table({"clip": ["a"], "bones": [1]})}, "bones"),
        "in other letters": ({"meta": pa.table({"clip": ["a"], "FPS": [1]})}, "FPS"),
        "a repeated clip": ({"meta": pa.table({"clip": ["a", "a"]})}, "--meta 'a'"),
        "a repeated column": ({"meta": repeated}, "--meta mood"),
        "no clips": ({"meta": pa.table({"name": ["a"]})}, "--meta 'clip' 'name'"),
        "numbers for clips": ({"meta": pa.table({"clip": [1]})}, "--meta clip int64"),
        "lists": ({"meta": nested}, "--meta"),
        "no group": ({"name_pattern": "a"}, "--name-pattern 'a'"),
        "no pattern": ({"name_pattern": "("}, "--name-pattern"),
        "a group and a column": (
            {"meta": pa.table({"clip": ["a"], "x": [1]}), "name_pattern": "(?P<x>a)"},
            "--meta x",
        ),
        "a group and a built-in column": ({"name_pattern": "(?P<fps>a)"}, "--name-pattern fps"),
    }


@pytest.mark.parametrize("name", wrong_labels() if find_spec("pyarrow") else [])
def test_labels_that_do_not_fit_are_refused_before_packing(takes, tmp_path, monkeypatch, name):
    given, named = wrong_labels()[name]
    pack({"b": takes["b"]}, tmp_path / "old.mocps", FAST)
    monkeypatch.setattr(packing, "pack_file", None)
    for work, path in ((pack, "no.mocps"), (append, "old.mocps")):
        with pytest.raises(UsageError, match=naming(named)):
            work({"a": takes["a"]}, tmp_path / path, FAST, **given)
    assert [path.name for path in tmp_path.iterdir()] == ["old.mocps"]


def test_labels_of_another_type_are_not_appended(takes, tmp_path, monkeypatch):
    import pyarrow as pa

    path = tmp_path / "old.mocps"
    pack({"b": takes["b"]}, path, FAST, meta=pa.table({"clip": ["b"], "take": ["one"]}))
    monkeypatch.setattr(packing, "pack_file", None)
    with pytest.raises(UsageError, match=naming("take")):
        append({"a": takes["a"]}, path, FAST, meta=pa.table({"clip": ["a"], "take": [[1]]}))


def test_a_pattern_that_does_not_end_is_refused_before_packing(takes, tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "pack_file", None)
    monkeypatch.setattr(catalog, "MATCH_CPU_S", 1)
    with pytest.raises(UsageError, match=naming("--name-pattern '(?P<x>(a+)+)$'")):
        pack({"a" * 40 + "b": takes["a"]}, tmp_path / "a.mocps", FAST, name_pattern="(?P<x>(a+)+)$")
    assert list(tmp_path.iterdir()) == []


def test_a_pattern_that_does_not_end_on_a_name_inside_a_file_costs_its_columns(
    tmp_path, monkeypatch
):
    import pyarrow as pa

    mocpack.write_scene({"a" * 40: walk(0.5), "y": walk(0.4, seed=2)}, tmp_path / "duo.mocp")
    monkeypatch.setattr(catalog, "MATCH_CPU_S", 1)
    with pytest.warns(UserWarning, match=naming("--name-pattern")):
        pack(
            {"duo": tmp_path / "duo.mocp"},
            tmp_path / "duo.mocps",
            meta=pa.table({"clip": ["duo/y"], "mood": ["glad"]}),
            name_pattern="(?P<x>duo)/(a+)+b",
        )
    with open_corpus(tmp_path / "duo.mocps") as found:
        assert found.table.column("mood").to_pylist() == [None, "glad"]
        assert "x" not in found.table.column_names


def test_files_that_cannot_be_packed_are_skipped_and_named(takes, tmp_path):
    (tmp_path / "bad.bvh").write_text("no motion")
    files = {"a": takes["a"], "bad": tmp_path / "bad.bvh", "gone": tmp_path / "gone.bvh"}
    refused = pack(files, tmp_path / "some.mocps", FAST)
    assert [one.path for one in refused] == [str(files["bad"]), str(files["gone"])]
    assert all(one.reason.startswith(one.path) for one in refused)
    with open_corpus(tmp_path / "some.mocps") as found:
        assert found.names == ("a",)


def test_each_motion_of_a_scene_is_a_clip(tmp_path):
    mocpack.write_scene({"x": walk(0.5), "y": walk(0.4, seed=2)}, tmp_path / "duo.mocp")
    pack({"duo": tmp_path / "duo.mocp"}, tmp_path / "duo.mocps")
    with open_corpus(tmp_path / "duo.mocps") as found:
        assert found.names == ("duo/x", "duo/y")


def test_packed_files_are_coded_again_only_for_a_tighter_bound(takes, tmp_path):
    coarse = tmp_path / "a.mocp"
    coarse.write_bytes(mocpack.encode(walk(1.0), max_error="5mm", effort="fast"))
    for bound, same in (("5mm", True), ("1cm", True), ("1mm", False)):
        packing = PackOptions(target={"max_error": bound, "effort": "fast"})
        pack({"a": coarse}, tmp_path / "a.mocps", packing)
        with open_corpus(tmp_path / "a.mocps") as found:
            assert (found.read("a") == coarse.read_bytes()) == same


def test_vertex_animations_and_codecs_without_groups_are_clips_too(tmp_path):
    (tmp_path / "wave.mocp").write_bytes(mocpack.encode(vertex_wave(), "raw"))
    (tmp_path / "raw.mocp").write_bytes(mocpack.encode(walk(0.5), "lossless"))
    files = {name: tmp_path / f"{name}.mocp" for name in ("wave", "raw")}
    assert pack(files, tmp_path / "odd.mocps") == []
    with open_corpus(tmp_path / "odd.mocps") as found:
        for name, path in files.items():
            assert found.read(name) == path.read_bytes()
        assert np.array_equal(found["raw"].clip().rotations, walk(0.5).rotations)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8, 0.99])
def test_a_truncated_archive_loses_only_the_truncated_clips(archive, tmp_path, share):
    data = archive.read_bytes()
    with open_corpus(archive) as whole:
        cut = tmp_path / "cut.mocps"
        kept = 5 + int(share * (len(data) - 5))
        cut.write_bytes(data[:kept])
        with pytest.raises(TruncatedError, match="mocpack corpus repair"):
            open_corpus(cut)
        lost = repair(cut, tmp_path / "saved.mocps")
        ends = [place.offset + place.size for _, place in whole.index.places()]
        expected = [name for name, end in zip(whole.names, ends, strict=True) if end <= kept]
        with open_corpus(tmp_path / "saved.mocps") as saved:
            assert list(saved.names) == expected
            assert all(saved.read(name) == whole.read(name) for name in expected)
        if len(expected) < len(whole):
            # the catalog is cut off too, so the number of clips is unknown
            assert lost[-1].path == str(cut)
            assert names(lost[-1].reason, f"{kept} bytes catalog")
            assert {one.path for one in lost[:-1]} <= {*whole.names} - {*expected}


def test_a_clip_that_the_end_of_the_file_cuts_is_named(archive, tmp_path):
    with open_corpus(archive) as whole:
        place = whole.index.place(2)
    (tmp_path / "cut.mocps").write_bytes(archive.read_bytes()[: place.offset + place.size - 1])
    lost = repair(tmp_path / "cut.mocps", tmp_path / "saved.mocps")
    assert [one.path for one in lost] == ["d", str(tmp_path / "cut.mocps")]
    with open_corpus(tmp_path / "saved.mocps") as saved:
        assert saved.names == ("a", "b")


def test_a_damaged_byte_costs_the_clip_that_it_is_in(archive, tmp_path):
    data = bytearray(archive.read_bytes())
    with open_corpus(archive) as whole:
        place = whole.index.place(1)
        data[place.offset + place.size // 2] ^= 0x40
        broken = tmp_path / "broken.mocps"
        broken.write_bytes(data)
        with open_corpus(broken) as found:
            faults = dict(verify(found))
        assert [name for name, fault in faults.items() if fault] == ["b"]
        lost = repair(broken, tmp_path / "saved.mocps")
        assert [one.path for one in lost] == ["b"]
        with open_corpus(tmp_path / "saved.mocps") as saved:
            assert saved.names == ("a", "d", "deep/c")
            assert all(saved.read(name) == whole.read(name) for name in saved.names)


def test_a_damaged_length_costs_no_clip_after_it(archive, tmp_path):
    with open_corpus(archive) as whole:
        data = bytearray(archive.read_bytes())
        at = data.find(b"CLIP")
        data[at + 4 : at + 7] = b"\xff\xff\xff"
        # with an intact trailer, not even this clip; with the catalog alone, it is named
        for cut, kept in ((0, ("b", "d", "deep/c", "a")), (FOOTER_BYTES, ("b", "d", "deep/c"))):
            (tmp_path / "broken.mocps").write_bytes(data[: len(data) - cut])
            lost = repair(tmp_path / "broken.mocps", tmp_path / "saved.mocps")
            assert [one.path for one in lost] == [name for name in whole.names if name not in kept]
            with open_corpus(tmp_path / "saved.mocps") as saved:
                assert saved.names == kept
                assert all(saved.read(name) == whole.read(name) for name in kept)


def test_repair_saves_the_clips_beside_one_of_an_unknown_kind(archive, tmp_path):
    (tmp_path / "newer.mocps").write_bytes(with_kind(archive.read_bytes(), 1, 7))
    data = bytearray((tmp_path / "newer.mocps").read_bytes())
    data[data.find(b"BASE") + 30] ^= 1
    (tmp_path / "newer.mocps").write_bytes(data)
    lost = repair(tmp_path / "newer.mocps", tmp_path / "saved.mocps")
    assert [one.path for one in lost] == ["b"]
    with open_corpus(tmp_path / "saved.mocps") as saved:
        assert sorted(saved.names) == ["a", "d", "deep/c"]


def test_a_damaged_skeleton_is_taken_from_the_trailer(archive, tmp_path):
    data = bytearray(archive.read_bytes())
    data[data.find(b"BASE") + 30] ^= 1
    (tmp_path / "broken.mocps").write_bytes(data)
    assert repair(tmp_path / "broken.mocps", tmp_path / "saved.mocps") == []
    with open_corpus(archive) as whole, open_corpus(tmp_path / "saved.mocps") as saved:
        assert sorted(saved.names) == sorted(whole.names)
        assert all(saved.read(name) == whole.read(name) for name in saved.names)


def test_clips_whose_skeleton_is_lost_are_reported(archive, tmp_path):
    data = bytearray(archive.read_bytes())
    data[data.find(b"BASE") + 30] ^= 1
    (tmp_path / "broken.mocps").write_bytes(data[:-FOOTER_BYTES])
    lost = repair(tmp_path / "broken.mocps", tmp_path / "saved.mocps")
    assert {one.path for one in lost} == {"a", "b", "deep/c"}
    assert all(names(one.reason, "skeleton") for one in lost)


def test_a_clip_with_a_damaged_chunk_is_not_saved_by_the_trailer(archive, tmp_path):
    with open_corpus(archive) as whole:
        place = whole.index.place(1)
        for at in range(place.offset, place.offset + place.size, 7):
            data = bytearray(archive.read_bytes())
            data[at] ^= 0x40
            (tmp_path / "broken.mocps").write_bytes(data)
            lost = repair(tmp_path / "broken.mocps", tmp_path / "saved.mocps")
            with open_corpus(tmp_path / "saved.mocps") as saved:
                assert all(saved.read(name) == whole.read(name) for name in saved.names)
                assert [one.path for one in lost] == [n for n in whole.names if n not in saved]


def test_repair_of_an_archive_in_shards_names_the_shards(takes, tmp_path):
    pack(takes, tmp_path / "s.mocps", FAST, shard_size=2000)
    with pytest.raises(UsageError, match=naming("s.mocps s-00000.mocps")):
        repair(tmp_path / "s.mocps", tmp_path / "saved.mocps")
    assert not (tmp_path / "saved.mocps").exists()


def test_repair_keeps_a_users_columns_if_the_catalogue_is_whole(takes, tmp_path):
    import pyarrow as pa

    meta = pa.table({"clip": ["a", "b"], "mood": ["sad", "glad"]})
    pack({name: takes[name] for name in ("a", "b")}, tmp_path / "m.mocps", FAST, meta=meta)
    data = (tmp_path / "m.mocps").read_bytes()
    (tmp_path / "cut.mocps").write_bytes(data[: -FOOTER_BYTES - 3])
    repair(tmp_path / "cut.mocps", tmp_path / "saved.mocps")
    with open_corpus(tmp_path / "saved.mocps") as saved:
        assert saved.table.column("mood").to_pylist() == ["sad", "glad"]


def test_every_flipped_byte_of_a_trailer_is_noticed(archive, tmp_path):
    data = archive.read_bytes()
    start = read_trailer(open_source(data)).start
    for at in range(start, len(data), 7):
        broken = bytearray(data)
        broken[at] ^= 0xFF
        with pytest.raises(FormatError):
            read_trailer(open_source(bytes(broken)))


def test_other_files_are_no_archives_and_an_archive_opens_by_clip(archive, tmp_path):
    (tmp_path / "no.mocps").write_bytes(b"something else entirely, longer than a footer")
    with pytest.raises(FormatError, match=naming("no.mocps .mocps")):
        open_corpus(tmp_path / "no.mocps")
    with pytest.raises(SceneError, match=naming("takes.mocps clip deep/c")):
        mocpack.open(archive)
    with mocpack.open(archive, clip="deep/c") as motion:
        assert motion.frame_count > 0
    with pytest.raises(SceneError, match=naming("takes.mocps clip deep/c")):
        mocpack.read(archive)
    with pytest.raises(UsageError, match=naming("x.zip .mocps")):
        pack({}, tmp_path / "x.zip")


def test_a_newer_archive_is_refused_by_its_version(archive):
    data = bytearray(archive.read_bytes())
    data[-8] = 2
    data[-7:-3] = zlib.crc32(bytes(data[-24:-7])).to_bytes(4, "little")
    with pytest.raises(UnsupportedVersionError, match="archive version 2"):
        read_trailer(open_source(bytes(data)))


def read_index(body, start=1 << 20):
    """Read an index as that of an archive whose trailer begins at `start`."""
    trailer = pack_chunk(b"INDX", body)
    said = start.to_bytes(8, "little") + (start + len(trailer) + 24).to_bytes(8, "little") + b"\x01"
    footer = said + zlib.crc32(said).to_bytes(4, "little") + b"SOM"
    return read_trailer(open_source(ARCHIVE_MAGIC + bytes(start - 4) + trailer + footer)).index


def test_an_index_that_names_files_elsewhere_is_refused():
    for name in ("../secret", "/etc/passwd", "a\\b", "", ".hidden", "c:x"):
        with pytest.raises(CorruptionError, match=naming(f"'{name}' index")):
            read_index(pack_index(Index(((name, 10),))))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seconds", [5e-324, 1e-300, 9e-7, 2e6, 1e308, np.inf, np.nan, 0.0, -1.0])
def test_an_index_with_a_frame_time_that_no_clip_has_is_refused(archive, tmp_path, seconds):
    data = archive.read_bytes()
    trailer = read_trailer(open_source(data))
    columns = trailer.index.columns.copy()
    columns[1, COLUMNS.index("frame_time")] = np.float64(seconds).view(np.int64)
    out = tmp_path / "made.mocps"
    out.write_bytes(with_columns(data, columns))
    with pytest.raises(CorruptionError, match=naming("b index")):
        open_corpus(out)


def test_an_index_cannot_inflate_without_end():
    from mocpack.coding.fields import deflate

    with pytest.raises(CorruptionError, match=naming("index")):
        read_index(deflate(bytes(1 << 24)))


def test_hostile_indices_are_format_errors_and_nothing_else():
    from mocpack.coding.fields import deflate, inflate

    data = mocpack.encode(walk(0.3), max_error="5mm", effort="fast")
    out = io.BytesIO()
    writer = ArchiveWriter(out)
    writer.add(to_stored_clip("a", data, 200))
    writer.add(to_stored_clip("b", data, 100))
    whole = inflate(pack_index(writer.index()), 1 << 20)
    rng = np.random.default_rng(1)
    for _ in range(300):
        broken = bytearray(whole)
        for at in rng.integers(0, len(whole), 3):
            broken[at] = rng.integers(256)
        try:
            index = read_index(deflate(bytes(broken)))
            for _, place in index.places():
                read_clip_file(open_source(out.getvalue()), place)
        except MocpackError:
            pass


def test_a_reader_written_from_the_page_alone_finds_a_clip(archive):
    """Read an archive by docs/format.md, without mocpack's reader."""
    data = archive.read_bytes()
    assert data[:5] == b"\x93MOS\x01"
    footer = data[-24:]
    assert footer[21:] == b"SOM"
    assert zlib.crc32(footer[:17]) == int.from_bytes(footer[17:21], "little")
    start, size, version = (
        int.from_bytes(footer[:8], "little"),
        int.from_bytes(footer[8:16], "little"),
        footer[16],
    )
    assert (size, version) == (len(data), 1)

    def varint(text, at):
        value = shift = 0
        while True:
            value |= (text[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if text[at - 1] < 128:
                return value, at

    def chunk(at):
        length, body = varint(data, at + 4)
        crc = int.from_bytes(data[body : body + 4], "little")
        text = data[body + 4 : body + 4 + length]
        assert zlib.crc32(data[at : at + 4] + text) == crc
        return data[at : at + 4], text, body + 4 + length

    tag, _, at = chunk(start)
    assert tag == b"tabl"
    tag, body, at = chunk(at)
    assert (tag, at) == (b"INDX", len(data) - 24)
    text = zlib.decompress(body, -15)
    files, at = varint(text, 0)
    assert files == 0
    count, at = varint(text, at)
    bases = []
    for _ in range(count):
        length, at = varint(text, at)
        bases.append(text[at : at + length])
        at += length
    count, at = varint(text, at)
    names = []
    for _ in range(count):
        length, at = varint(text, at)
        names.append(text[at : at + length].decode())
        at += length
    columns = []
    for column in range(9):
        planes = [text[at + (8 * column + b) * count :][:count] for b in range(8)]
        columns.append([sum(planes[b][n] << 8 * b for b in range(8)) for n in range(count)])
    before = end = 0
    for n, name in enumerate(names):
        step = columns[2][n]
        before = end + (step >> 1 if not step & 1 else -(step >> 1) - 1)
        end = before + columns[3][n]
        clip = data[before:end]
        base = bases[columns[0][n] - 1] if columns[0][n] else b""
        cut = columns[4][n]
        file = clip[:cut] + base + clip[cut:]
        with open_corpus(archive) as found:
            assert found.read(name) == file
            assert found.index.frame_counts[n] == columns[6][n]
        assert columns[8][n] == 0


def test_a_wrong_index_is_refused_or_its_clips_are(archive, tmp_path):
    opened = refused = 0
    for case in damaged_indexes(archive.read_bytes(), 17, 300):
        (tmp_path / "lies.mocps").write_bytes(case)
        try:
            found = open_corpus(tmp_path / "lies.mocps")
        except FormatError:
            refused += 1
            continue
        opened += 1
        with found:
            for number in range(len(found)):
                try:
                    found.read(number)
                    found.motion(number).frames(0, 1)
                except (FormatError, UsageError, FileNotFoundError):
                    pass
    assert opened > 20 < refused


def test_a_clip_after_the_trailer_is_refused(archive):
    data = archive.read_bytes()
    trailer = read_trailer(open_source(data))
    columns = trailer.index.columns.copy()
    columns[0, 2] = trailer.start - columns[0, 3]
    good = replace(trailer.index, columns=columns)
    assert len(read_index(pack_index(good), trailer.start)) == 4
    columns[0, 2] += 1
    with pytest.raises(CorruptionError, match=naming("'a' index")):
        read_index(pack_index(good), trailer.start)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_reading_a_catalogue_starts_no_threads(archive):
    # a process that ended while they worked was aborted
    code = f"""
import os
from mocpack.corpora import catalog, open_corpus
with open_corpus({str(archive)!r}) as found:
    catalog.import_parquet()
    before = len(os.listdir("/proc/self/task"))
    found.table
    assert len(os.listdir("/proc/self/task")) == before
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("workers", [None, 1])
def test_pack_warns_of_clips_that_are_stored_without_loss(takes, tmp_path, workers):
    tight = PackOptions(target={"max_error": "0.0001um", "effort": "fast"})
    path = tmp_path / "tight.mocps"
    pack({"loose": takes["b"]}, path, FAST)
    with pytest.warns(LosslessWarning, match=naming("1 tight lossless_reason")):
        append({"tight": takes["b"]}, path, replace(tight, frames="0:8"), workers=workers)
    with open_corpus(path) as found:
        loose, reason = found.table["lossless_reason"].to_pylist()
    assert loose is None
    assert names(reason, "0.1 nm")
