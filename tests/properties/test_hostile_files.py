"""Damaged files of every format give a clip or a one-line error, within a memory limit.

Each format's files are damaged and read in a process with a memory limit, which prints failures.
`make fuzz FUZZ=1000` sets the number of files; other runs try a few.

    python tests/properties/test_hostile_files.py KIND COUNT [FIRST]
"""

import io
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import traceback
import warnings
import zipfile
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("js", "support")]

from motion_files import SKELETONS, VERTICES

import fbx_file
import fbx_takes
import mocpack
from mocpack.errors import FormatWarning, MocpackError
from mocpack.testing import walk

FUZZ = int(os.environ.get("MOCPACK_FUZZ", "0"))
FEW = 12  # files per format by default
CHILDREN = ("FBX", "USD")  # read in a child process per file
MEMORY = 4 << 30  # bytes of address space, including libraries
MOST = 600 << 20  # bytes in use, of which Python and its packages take a fifth
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
NUMBERS = (
    *(b"999999999999", b"-1", b"1e400", b"nan", b"0", b"4294967295", b"1e-300", b""),
    *(b"inf", b"-inf", b"1e308", b"-1e308", b"18446744073709551616", b"65536", b"1_0", b"0x10"),
)
WORDS = (
    *(b"\xff" * 4, b"\xff\xff\xff\x7f", b"\x7f\xff\xff\xff", b"\0" * 8, b"\xff\xff"),
    *(b"\0\0\x80\x7f", b"\0\0\xc0\x7f", b"\0\0\0\0\0\0\xf0\x7f"),  # infinity, NaN
)
TOKEN = re.compile(rb"[A-Za-z_:{}\[\]\"(),;]+")
DEEP = (b"{", b"[", b"(", b"begin\n", b'"', b"x: {")
WAYS = ("flip", "cut", "huge", "number", "number", "copy", "lose", "swap", "double")
TEXT_WAYS = (*WAYS, "number", "token", "token", "nest", "encode")
SECONDS = 10  # of processors, that a file may take


def urdf(folder):
    """A robot that is damaged, with a motion that is not."""
    path, options = SKELETONS["robot csv"](folder)
    return Path(options["robot"]), {}, lambda: mocpack.read(path, **options)


def mjcf(folder):
    path, options = SKELETONS["robot csv"](folder)
    robot = folder / "arm.xml"
    robot.write_text(
        """<mujoco model="arm"><compiler angle="degree"/><worldbody><body name="base">
<freejoint/><body name="upper" pos="0 0.1 0.2"><joint name="shoulder" axis="0 0 -1"/>
<body name="lower" pos="0 0 0.3" quat="1 0 0 0"><joint name="elbow" axis="0 1 0" range="-60 140"/>
</body></body></body></worldbody></mujoco>"""
    )
    options |= {"robot": robot}
    return robot, {}, lambda: mocpack.read(path, **options)


def asf(folder):
    """A skeleton that is damaged, with a motion that is not."""
    mocpack.write(walk(0.2), folder / "walk.amc")
    return folder / "walk.asf", {}, lambda: mocpack.read(folder / "walk.amc")


def robots_file(name, dialect):
    """A robot's motion as some program that trains it has it."""

    def make(folder):
        path, options = SKELETONS["robot csv"](folder)
        clip = mocpack.read(path, **options)
        mocpack.write(clip, folder / name, dialect=dialect)
        options = {"robot": options["robot"], "fps": options["fps"] if dialect == "qpos" else None}
        return folder / name, options | {"allow_pickle": True}

    return make


def written(name):
    def make(folder):
        mocpack.write(walk(0.2), folder / name)
        return folder / name, {}

    return make


def fbx_text(folder):
    (folder / "dance.fbx").write_bytes(fbx_file.text(fbx_takes.takes()["layers-mixed"]))
    return folder / "dance.fbx", {}


MORE = {
    "URDF": urdf,
    "MJCF": mjcf,
    "ASF": asf,
    "qpos npz": robots_file("arm.npz", "qpos"),
    "tracking npz": robots_file("arm.npz", "mjlab"),
    "pickle": robots_file("arm.pkl", "gmr"),
    "FBX as text": fbx_text,
    "USD binary": written("walk.usdc"),
    "USD package": written("walk.usdz"),
}


def damaged(data, rng):
    """Return a damaged copy of a file; archives are mostly damaged inside their members."""
    if data.startswith(b"glTF") and rng.random() < 0.8:
        return hurt_glb(data, rng)
    if not data.startswith(b"PK") or rng.random() < 0.3:
        return hurt(data, rng)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    victim = rng.choice(list(held))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, body in held.items():
            archive.writestr(name, hurt(body, rng) if name == victim else body)
    return made.getvalue()


def hurt_glb(data, rng):
    """Return a binary glTF with something done to its text or to its numbers, of right sizes."""
    size = int.from_bytes(data[12:16], "little")
    text, body = data[20 : 20 + size], data[28 + size :]
    text, body = (hurt(text, rng), body) if rng.random() < 0.6 else (text, hurt(body, rng))
    text, body = text + b" " * (-len(text) % 4), body + bytes(-len(body) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text
    chunks += struct.pack("<I4s", len(body), b"BIN\0") + body
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def hurt(data, rng):
    """Return the bytes with one to three things done to them."""
    is_text = b"\0" not in data[:600]
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(max(1, len(data)))
        # the start of a file matters most
        at = rng.randrange(min(len(data), 600)) if data and rng.random() < 0.4 else at
        way = rng.choice(TEXT_WAYS if is_text else WAYS)
        if way == "flip":
            data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        elif way == "cut":
            data = data[:at]
        elif way == "huge":
            word = rng.choice(WORDS)
            data = data[:at] + word + data[at + len(word) :]
        elif way == "number":
            found = list(NUMBER.finditer(data[:20_000]))
            if found:
                one = rng.choice(found)
                data = data[: one.start()] + rng.choice(NUMBERS) + data[one.end() :]
        elif way == "copy":
            data = data[:at] + data[at : at + 200] + data[at:]
        elif way == "double":
            data += data[at : at + rng.choice((1000, 20_000))]
        elif way == "token":
            found = list(TOKEN.finditer(data[max(0, at - 2000) : at + 2000]))
            if found:
                one, start = rng.choice(found), max(0, at - 2000)
                other = rng.choice(found).group()
                data = data[: start + one.start()] + other + data[start + one.end() :]
        elif way == "nest":
            data = data[:at] + rng.choice(DEEP) * rng.choice((10, 1000, 50_000)) + data[at:]
        elif way == "encode":
            data = rng.choice(
                (
                    data.decode("latin1").encode("utf-16"),
                    b"\xef\xbb\xbf" + data,
                    data.replace(b"\n", b"\r"),
                    data.replace(b".", b","),
                    data.upper(),
                )
            )
        elif way == "lose":
            data = data[:at] + data[at + rng.randrange(1, 100) :]
        else:
            other = rng.randrange(max(1, len(data)))
            data = data[:at] + data[other : other + 16] + data[at + 16 :]
    return data


def tried(kind, count, first=0):
    """Yield (seed, failure) of each damaged file that gives neither a clip nor a one-line error."""
    folder = Path(tempfile.mkdtemp())
    path, options, *others = (SKELETONS | VERTICES | MORE)[kind](folder)
    good = path.read_bytes()
    victim = folder / f"damaged{path.suffix}"
    for beside in path.parent.glob("*.asf"):  # skeletons of an .amc, which it may find by name
        victim.with_suffix(".asf").write_bytes(beside.read_bytes())
    victim = path if others else victim
    if others:
        assert others[0]() is not None
    for seed in range(first, first + count):
        victim.write_bytes(damaged(good, random.Random(f"{kind} {seed}")))
        begun = processor_seconds()
        try:
            found = others[0]() if others else mocpack.read(victim, **options)
            assert found is not None
        except MocpackError as error:
            said = str(error)
            if not said or "Traceback" in said or len(said) > 2000:
                yield seed, f"says {said[:200]!r}"
        except BaseException:
            yield seed, traceback.format_exc()[-1500:]
        if (taken := processor_seconds() - begun) > SECONDS:
            yield seed, f"takes {taken:.0f} s"


def processor_seconds():
    """Return the time that this process and those that it started have taken of processors."""
    taken = os.times()
    return taken.user + taken.system + taken.children_user + taken.children_system


def main():
    kind, count, *first = sys.argv[1:]
    try:
        import resource
    except ImportError:  # Windows has no such limits
        resource = None
    else:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("error")  # numpy's warnings must not reach users
    warnings.simplefilter("ignore", FormatWarning)  # a damaged file may state no frame rate
    wrong = list(tried(kind, int(count), *map(int, first)))
    print(json.dumps({"wrong": wrong, "used": peak_memory()}))


def peak_memory():
    """Return the peak memory of this process in bytes; 0 if the system does not report it.

    Not `ru_maxrss`, which a process takes over from the one that started it: here from pytest.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return 0
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


@pytest.mark.parametrize("kind", [*SKELETONS, *VERTICES, *MORE])
def test_damaged_files_are_clips_or_sentences_in_little_memory(kind):
    slow = kind.startswith(CHILDREN)
    for package in ("ufbx",) if kind.startswith("FBX") else ("pxr",) if slow else ():
        pytest.importorskip(package)
    words = [sys.executable, __file__, kind, str(FUZZ or (3 if slow else FEW))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout)
    assert not told["wrong"], told["wrong"][0]
    assert told["used"] < MOST


if __name__ == "__main__":
    main()
