"""``corpus pack --engine ray`` from bucket to bucket: two nodes, an S3 server on the loopback."""

import json
import os
import subprocess
import sys

import pytest
from moto_server import Server

import mocpack
from mocpack.corpora import PackOptions, pack
from mocpack.testing import walk

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - else all that the machine does comes first
cluster_utils = pytest.importorskip("ray.cluster_utils")
s3fs = pytest.importorskip("s3fs")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with a bucket of takes, and the archive that one process packs from them."""
    found = Server(tmp_path_factory.mktemp("s3"))
    local = found.folder / "in"
    local.mkdir()
    for number in range(6):
        mocpack.write(walk(0.5, seed=number), local / f"take{number}.bvh")
    mocpack.write(walk(0.5, seed=7), local / "07_01.amc")
    (local / "bad.bvh").write_text("no motion")
    files = {path.stem: path for path in local.iterdir() if path.suffix != ".asf"}
    pack(files, found.folder / "one.mocps", PackOptions(target={"max_error": "5mm"}))
    system = s3fs.S3FileSystem(**found.options)
    for bucket in ("takes", "out"):
        system.mkdir(bucket)
    system.put(f"{local}/", "takes/2026/", recursive=True)
    found.system = system
    yield found
    found.stop()


@pytest.fixture(scope="module")
def cluster(server):
    """Two nodes; environment variables tell their workers the server's address."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        found = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        for _ in range(2):
            found.add_node(num_cpus=1)
        found.wait_for_nodes()
        yield found
        found.shutdown()


def test_a_bucket_is_packed_into_another_by_a_cluster(server, cluster):
    words = ["corpus", "pack", "s3://takes/2026/", "-o", "s3://out/all.mocps", "--max-error", "5mm"]
    words += ["--engine", "ray", "--address", cluster.address, "--report", "bad.jsonl"]
    for said in ("skeletons", "s3://out/all.mocps"):
        made = subprocess.run(
            [sys.executable, "-m", "mocpack", *words],
            cwd=server.folder,
            env={**os.environ, **server.environment},
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert made.returncode == 2, made.stderr  # one file is bad
        assert "Traceback" not in made.stderr
        assert said in made.stdout
        (row,) = map(json.loads, (server.folder / "bad.jsonl").read_text().splitlines())
        assert row["input"] == "s3://takes/2026/bad.bvh"
    made = server.system.cat_file("out/all.mocps")
    assert made == (server.folder / "one.mocps").read_bytes()
    assert not server.system.exists("out/all.mocps.parts")
