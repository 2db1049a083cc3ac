"""Commands on a full disk: the error names the file, old output stays, no partial file remains.

A limit on file size simulates the full disk: the kernel then rejects the same write.
"""

import contextlib
import errno
import os
import subprocess
import sys

import pytest

import mocpack
from mocpack.cli.app import main
from mocpack.common import file_errors
from mocpack.io import atomic
from mocpack.testing import walk

resource = pytest.importorskip("resource", reason="needs limits on the size of files")
FULL = "/dev/full"
LIMIT = 300  # bytes
LOG = "rows.jsonl"  # of the bench, which goes on with it and skips a line that was cut


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    clip = walk(0.5)
    (folder / "many").mkdir()
    for name in ("walk.bvh", "many/a.bvh", "many/b.bvh"):
        mocpack.write(clip, folder / name)
    (folder / "walk.mocp").write_bytes(mocpack.encode(clip, max_error="20mm", effort="fast"))
    archive = ("corpus", "pack", folder / "many", "-o", folder / "many.mocps", "--max-error", "1mm")
    assert call(*archive) == 0
    return folder


@pytest.fixture(autouse=True)
def keep_no_bytecode(monkeypatch):
    """Python itself would keep the modules that the limit cuts, and fail to load them later."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


def call(*words):
    """Run a command in this process; return its exit code."""
    with pytest.raises(SystemExit) as leaving:
        main([str(word) for word in words])
    return leaving.value.code or 0


@contextlib.contextmanager
def small_files():
    """Let no file grow beyond LIMIT."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


COMMANDS = {
    "compress": ("compress IN/walk.bvh --lossless -o OUT/x.mocp", "x.mocp"),
    "decompress": ("decompress IN/walk.mocp -o OUT/x.bvh", "x.bvh"),
    "convert": ("convert IN/walk.bvh OUT/x.glb", "x.glb"),
    "pack": ("corpus pack IN/many --max-error 1mm --effort fast -o OUT/x.mocps", "x.mocps"),
    "merge": ("corpus merge IN/many.mocps -o OUT/x.mocps", "x.mocps"),
    "repair": ("corpus repair IN/many.mocps -o OUT/x.mocps", "x.mocps"),
    "extract": ("corpus extract IN/many.mocps -o OUT", "a.mocp"),
    "export": ("corpus export IN/many.mocps --to parquet -o OUT/x.parquet", "x.parquet"),
    "scene": ("scene IN/walk.bvh IN/many/a.bvh --max-error 1mm -o OUT/x.mocp", "x.mocp"),
    "demo": ("demo --out OUT", "raw.mocp"),
    "bench": ("bench --data IN/walk.bvh --codec raw --no-speed --out OUT", "OUT"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_full_disk_is_reported_with_the_name_of_the_file(inputs, tmp_path, name, capsys):
    line, file = COMMANDS[name]
    words = line.replace("IN", str(inputs)).replace("OUT", str(tmp_path)).split(" ")
    with small_files():
        code = call(*words)
    said = capsys.readouterr().err
    assert code == 2
    assert file.replace("OUT", str(tmp_path)) in said
    assert os.strerror(errno.EFBIG) in said
    assert "Traceback" not in said
    cut = [path.name for path in tmp_path.rglob("*.*") if path.stat().st_size >= LIMIT]
    assert cut in ([], [LOG])
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()], "a rest of the output"


@pytest.mark.parametrize(
    "name", ["compress", "decompress", "convert", "pack", "merge", "repair", "export", "scene"]
)
def test_full_disk_leaves_the_old_output(inputs, tmp_path, name, capsys):
    line, file = COMMANDS[name]
    old = tmp_path / file
    old.write_bytes(b"old")
    words = line.replace("IN", str(inputs)).replace("OUT", str(tmp_path)).split(" ")
    with small_files():
        assert call(*words, "--force") == 2
    assert old.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == [file]


@pytest.mark.parametrize(
    ("words", "unbuffered"),
    [
        ("compress walk.bvh --lossless -o -", ""),
        ("compress walk.bvh --lossless -o -", "1"),
        ("codecs", "1"),
    ],
)
def test_full_disk_behind_standard_output_is_an_error(inputs, tmp_path, words, unbuffered):
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT}, {LIMIT}));"
        "from mocpack.cli import main; main()"
    )
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", code, *words.split(" ")],
            cwd=inputs, stdout=out, stderr=subprocess.PIPE, text=True, timeout=60,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert done.returncode == 2
    assert "standard output" in done.stderr
    assert os.strerror(errno.EFBIG) in done.stderr


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_every_step_of_writing_names_the_file(tmp_path, monkeypatch, number, step):
    path = tmp_path / "walk.mocp"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError(number, os.strerror(number))

    if step == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    else:
        monkeypatch.setattr(type(path), "replace", fail)
    for write in (atomic.write_atomically, stream_out):
        with pytest.raises(OSError, match=os.strerror(number)) as caught:
            write(b"new", path)
        assert (caught.value.errno, caught.value.filename) == (number, str(path))
        assert [p.name for p in tmp_path.iterdir()] == [path.name]
        assert path.read_bytes() == b"old"


def stream_out(data, path):
    with atomic.atomic_stream(path) as file:
        file.write(data)


def test_error_about_another_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, atomic.atomic_stream(tmp_path / "out"):
        (tmp_path / "in").read_bytes()
    assert caught.value.filename == str(tmp_path / "in")


def test_interrupted_write_is_not_repeated(tmp_path, monkeypatch):
    @contextlib.contextmanager
    def interrupted(_):
        monkeypatch.undo()  # once
        yield
        raise KeyboardInterrupt

    path, data = tmp_path / "out", bytes(range(256)) * 100
    with file_errors.NamedWriter(os.open(path, os.O_WRONLY | os.O_CREAT), path) as file:
        monkeypatch.setattr(file_errors, "add_path_to_errors", interrupted)
        with pytest.raises(KeyboardInterrupt):
            file.write(data)
    assert path.read_bytes() == data


@pytest.mark.skipif(not os.path.exists(FULL), reason="there is no /dev/full")  # noqa: PTH110
def test_full_device_is_named():
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as caught:
        atomic.write_atomically(b"motion", FULL)
    assert caught.value.filename == FULL
