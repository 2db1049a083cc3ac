"""Packing from and to a real S3 server on the loopback; run by `make test-s3`."""

import json
import os
import re
import subprocess
import sys

import pytest
import s3fs

import mocpack
from mocpack.corpora import PackOptions, pack, storage
from mocpack.corpora.engines import local_engine
from mocpack.corpora.parts import join, missing_parts, pack_parts
from mocpack.corpora.planning import PackPlan
from mocpack.errors import MocpackError
from mocpack.testing import walk
from naming import names, naming

HOW = ["--max-error", "5mm", "--effort", "fast"]
FAST = PackOptions(target={"max_error": "5mm", "effort": "fast"})


@pytest.fixture(scope="module")
def server(started):
    """A server with a bucket of motion files, of formats of one and of two files."""
    local = started.folder / "in"
    (local / "s2").mkdir(parents=True)
    for number in range(4):
        mocpack.write(walk(0.5, seed=number), local / f"s2/take{number}.bvh")
    mocpack.write(walk(0.5, seed=7), local / "07_01.amc")
    mocpack.write(walk(0.5, seed=8), local / "walk.gltf")
    (local / "bad.bvh").write_text("no motion")
    (local / "readme.txt").write_text("no motion either")
    made = run("corpus", "pack", "in", "-o", "one.mocps", *HOW, server=started)
    assert made.returncode == 2, made.stderr
    system = s3fs.S3FileSystem(**started.options)
    for bucket in ("takes", "out"):
        system.mkdir(bucket)
    system.put(str(local) + "/", "takes/2026/", recursive=True)
    started.system = system
    return started


def run(*words, server):
    return subprocess.run(
        [sys.executable, "-m", "mocpack", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=server.folder,
        timeout=240,
        env={**os.environ, **server.environment},
    )


@pytest.fixture
def credentials(server, monkeypatch):
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)


def same(server, name):
    return server.system.cat_file(f"out/{name}") == (server.folder / "one.mocps").read_bytes()


@pytest.mark.parametrize("how", [[], ["--resume"], ["--engine", "local", "-j", "2"]])
def test_a_bucket_is_packed_into_another_to_the_bytes_of_local_files(server, how):
    name = f"all{len(how)}.mocps"
    words = [
        "corpus",
        "pack",
        "s3://takes/2026/",
        "-o",
        f"s3://out/{name}",
        "--report",
        "bad.jsonl",
    ]
    made = run(*words, *HOW, *how, server=server)
    assert made.returncode == 2, made.stderr
    (row,) = map(json.loads, (server.folder / "bad.jsonl").read_text().splitlines())
    assert row["input"] == "s3://takes/2026/bad.bvh"
    assert same(server, name)
    assert not server.system.exists(f"out/{name}.parts")
    again = run(*words, *HOW, *how, server=server)
    assert again.returncode == 2
    if how:
        assert names(again.stdout, f"s3://out/{name}")
    else:
        assert names(again.stderr, f"s3://out/{name} -f")


def test_jobs_work_from_a_plan_in_a_bucket(server):
    made = run(
        "cluster", "plan", "s3://takes/2026", "-o", "s3://out/plan.jsonl", *HOW, server=server
    )
    assert made.returncode == 0, made.stderr
    words = ["s3://out/plan.jsonl", "-o", "s3://out/planned.mocps"]
    shards = [["cluster", "pack", *words, "--shard", f"{n}/3"] for n in (2, 3, 1)]
    codes = [run(*shard, server=server).returncode for shard in shards]
    assert sorted(codes) == [0, 0, 2]
    status = json.loads(run("cluster", "status", *words, "--json", server=server).stdout)
    assert status[0]["files_done"] == status[0]["files"] == 7
    assert run("cluster", "join", *words, server=server).returncode == 2
    assert same(server, "planned.mocps")


def test_a_plan_of_a_bucket_reads_no_object(server, credentials):
    before = server.log.read_text()
    entries = {one.path: one for one in storage.list_files("s3://takes/2026")}
    files = {one: one for one in entries if one.endswith(".bvh")}
    plan = PackPlan.make(files, FAST, entries=entries)
    said = re.sub(r"\x1b\[\d+m", "", server.log.read_text()[len(before) :])
    assert len(plan.files) == 5
    assert all(one.mark and one.size for one in plan.files)
    assert not re.search(r"(GET|HEAD) /takes/\S+\.bvh", said)


def test_an_object_that_changes_is_packed_again_and_no_other(server, credentials):
    system = server.system
    urls = {f"take{n}": f"s3://takes/2026/s2/take{n}.bvh" for n in range(4)}
    folder = "s3://out/changed.parts"
    pack_parts(PackPlan.make(urls, FAST).parts, folder, local_engine(1))
    path = server.folder / "other.bvh"
    mocpack.write(walk(0.5, seed=9), path)
    before = system.cat_file("takes/2026/s2/take2.bvh")
    system.put_file(str(path), "takes/2026/s2/take2.bvh")
    try:
        plan = PackPlan.make(urls, FAST)
        assert [part.number for part in missing_parts(plan.parts, folder)] == [2]
        pack_parts(plan.parts, folder, local_engine(1))
        assert join(plan.parts, folder, "s3://out/changed.mocps") == []
    finally:
        system.pipe_file("takes/2026/s2/take2.bvh", before)
    local = {name: server.folder / f"in/s2/{name}.bvh" for name in urls} | {"take2": path}
    pack(local, server.folder / "changed.mocps", FAST)
    assert system.cat_file("out/changed.mocps") == (server.folder / "changed.mocps").read_bytes()


def test_large_archives_are_sent_in_parts_and_small_files_at_once(server, credentials):
    data = bytes(101 << 20)  # s3fs sends more than 100 MB in parts
    with storage.stream("s3://out/large.bin") as file:
        file.write(data)
    assert storage.read("s3://out/large.bin") == data
    said = re.sub(r"\x1b\[\d+m", "", server.log.read_text())
    assert "PUT /out/large.bin?partNumber" in said
    storage.write(b"small", "s3://out/small.bin")
    assert "PUT /out/small.bin HTTP" in re.sub(r"\x1b\[\d+m", "", server.log.read_text())


def test_a_missing_bucket_is_reported_and_not_created(server):
    none = run("corpus", "pack", "s3://nowhere/takes", "-o", "x.mocps", server=server)
    assert none.returncode == 2
    assert none.stderr.count("\n") == 1, none.stderr
    out = run("corpus", "pack", "in/s2", "-o", "s3://nowhere/x.mocps", *HOW, server=server)
    assert out.returncode == 2
    assert "s3://nowhere/x.mocps" in out.stderr
    assert out.stderr.count("\n") == 1, out.stderr
    assert not server.system.exists("nowhere")


def test_a_server_that_is_gone_is_an_error_and_refuses_no_file(server, credentials, monkeypatch):
    url = "s3://takes/2026/s2/take0.bvh"
    plan = PackPlan.make({"take0": url}, FAST)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    folder = server.folder / "gone.parts"
    with pytest.raises(MocpackError, match=naming("1 --resume s3://takes/2026/s2/take0.bvh")):
        pack_parts(plan.parts, str(folder), local_engine(1))
    assert not list(folder.glob("*.part"))
