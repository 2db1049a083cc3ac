"""Compare `keysine` with another version in one run: sizes, and speed of decoder and encoder.

    python benchmarks/keysine_versions.py OTHER/src [decode] [encode] [window] [slices] [means]
        [heads] [cmu] [bandai] [dog]

OTHER/src is the `src` folder of another checkout whose native core has been built. Each version
runs in processes of its own, in turns, on one core; processor time, best of several. The words
`cmu` (T-pose dropped), `bandai` and `dog` (where `MOCPACK_DATA` has them) give payload bytes over
all of these clips, default effort, a seek point every second. `means` gives payload bytes at equal
mean errors of joint centers, and those of the other version's `fk-wavelet` beside them; `heads`
those of heads alone, of two seconds from each of the clips of cmu. `window` reads 120 frames of an
open payload; `slices` reads `motion[a : a + 120]` of an open file, from 100 random frames on.
"""

import json
import subprocess
import sys
import sysconfig
from functools import partial
from pathlib import Path

import numpy as np

from mocpack.bench.datasets import collection
from mocpack.errors import UsageError

HERE = Path(__file__).resolve().parents[1] / "src"
ROUNDS = 3
MEAN_CLIPS = ("17_10", "17_08", "85_12", "49_02")
MEANS = (10, 1, 0.3)  # mm
CHILD = """
import json, sys, time
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import mocpack
from mocpack.codecs.keysine import Keysine
path, skip, what = sys.argv[3], int(sys.argv[4]), json.loads(sys.argv[5])
clip = mocpack.read(path)
clip = clip.frames(skip, min(clip.frame_count, skip + what.get("frames", clip.frame_count)))

def best(work, runs):
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return max(min(times), 1e-9)

codec = Keysine(**{"threads": 1, **what.get("codec", {})})
found = {}
if what["kind"] == "window":
    while clip.frame_count < 72_000:
        clip = mocpack.Clip(
            clip.header.__class__(**{**vars(clip.header), "frame_count": 2 * clip.frame_count}),
            *(__import__("numpy").concatenate([a, a]) for a in (clip.rotations, clip.translations)),
        )
    payload = codec.encode(clip)
    read = lambda offset, size: payload[offset : offset + size]
    if hasattr(codec, "decode_frames"):  # versions before the opened decoder
        part = lambda: codec.decode_frames(read, clip.header, 36_000, 36_120, None)
    else:
        opened = codec.open(payload, clip.header)
        part = lambda: opened.frames(36_000, 36_120)
    found["seconds"] = best(part, 15)
elif what["kind"] == "slices":
    motion = mocpack.open(mocpack.encode(clip, codec=codec))
    rng = __import__("numpy").random.default_rng(0)
    starts = rng.integers(clip.frame_count - 120, size=100).tolist()
    found["seconds"] = best(lambda: [motion[a : a + 120] for a in starts], 15) / len(starts)
elif what["kind"] == "mean":
    from mocpack.rate import Target, encode_to_target
    from mocpack.codecs.registry import parse_codec
    target = Target(mean_error=what["mean"])
    found["size"] = encode_to_target(clip, parse_codec(what["name"]), target).payload_size
elif what["kind"] == "encode":
    made = []
    found["seconds"] = best(lambda: made.append(codec.encode(clip)), what["runs"])
    found["size"] = len(made[0])
else:
    payload = codec.encode(clip)
    found["size"] = len(payload)
    if what["kind"] == "head":
        from mocpack.coding.fields import FieldReader
        found["head"] = FieldReader(payload, "payload").varint(len(payload))
    if what["kind"] == "decode":
        found["seconds"] = best(lambda: codec.decode(payload, clip.header), 15)
print(json.dumps(found))
"""


def run(source, path, skip, what):
    packages = sysconfig.get_paths()["platlib"]
    command = [sys.executable, "-S", "-c", CHILD, str(source), packages, str(path), str(skip)]
    made = subprocess.run([*command, json.dumps(what)], check=True, capture_output=True, text=True)
    return json.loads(made.stdout)


def in_turns(other, path, skip, what, rounds=ROUNDS):
    """Return the best of several runs of both versions: the other, then this one."""
    found = [[run(source, path, skip, what) for source in (other, HERE)] for _ in range(rounds)]
    return [
        {
            "seconds": min(turn[i].get("seconds", 0) for turn in found),
            "size": found[0][i].get("size", 0),
        }
        for i in range(2)
    ]


def sizes(name, other):
    paths = clips(name)
    for millimeters in (10, 1, 0.1):
        what = {"kind": "size", "codec": {"max_error": millimeters / 1000}}
        total = np.zeros(2)
        for path in paths:
            skip = int(name == "cmu")
            total += [run(source, path, skip, what)["size"] for source in (other, HERE)]
        if total[0]:
            print(
                f"{name} at {millimeters:g} mm: {total[0]:.0f} -> {total[1]:.0f} bytes: "
                f"{total[1] / total[0]:.3f}",
                flush=True,
            )


def heads(other):
    for millimeters in (10, 1, 0.1):
        what = {"kind": "head", "frames": 240, "codec": {"max_error": millimeters / 1000}}
        made = [[run(side, path, 1, what) for side in (other, HERE)] for path in clips("cmu")]
        if made:
            before, after = (np.mean([pair[i]["head"] for pair in made]) for i in range(2))
            whole = np.mean([pair[1]["size"] for pair in made])
            print(
                f"heads of 240 frames at {millimeters:g} mm: {before:.0f} -> {after:.0f} bytes: "
                f"{after / before:.3f}; of payloads of {whole:.0f}",
                flush=True,
            )


def decode(other):
    (path,) = (p for p in clips("cmu") if p.stem == "49_02")
    for bound in (10e-3, 5e-3, 1e-3):
        what = {"kind": "decode", "codec": {"max_error": bound, "mode": "transform"}}
        print_ratio("decode 49_02", bound, *in_turns(other, path, 1, what))


def encode(other):
    (path,) = (p for p in clips("cmu") if p.stem == "49_02")
    for effort, runs in (("fast", 9), ("default", 2), ("best", 1)):
        what = {"kind": "encode", "runs": runs, "codec": {"max_error": 5e-3, "effort": effort}}
        print_ratio(f"encode 49_02, {effort}", 5e-3, *in_turns(other, path, 1, what, rounds=3))


def window(other):
    (path,) = (p for p in clips("cmu") if p.stem == "49_02")
    what = {"kind": "window", "codec": {"max_error": 5e-3, "effort": "fast"}}
    print_ratio("120 frames of ten minutes", 5e-3, *in_turns(other, path, 1, what, rounds=3))


def slices(other):
    (path,) = (p for p in clips("cmu") if p.stem == "49_02")
    for bound in (5e-3, 1e-3):
        what = {"kind": "slices", "codec": {"max_error": bound, "effort": "fast"}}
        print_ratio("motion[a : a + 120] of 49_02", bound, *in_turns(other, path, 1, what))


def means(other):
    paths = [p for p in clips("cmu") if p.stem in MEAN_CLIPS]
    sides = ((other, "fk-wavelet"), (other, "keysine"), (HERE, "keysine"))
    for mean in MEANS:
        what, total = {"kind": "mean", "mean": mean / 1000}, np.zeros(3)
        for path in paths:
            total += [run(side, path, 1, {**what, "name": name})["size"] for side, name in sides]
        if paths:
            wavelet, before, after = total
            print(
                f"mean {mean:g} mm: {before:.0f} -> {after:.0f} bytes: {after / before:.3f}; "
                f"of the other version's fk-wavelet, {wavelet:.0f}: {after / wavelet:.3f}",
                flush=True,
            )


def print_ratio(label, bound, before, after):
    ratio = before["seconds"] / after["seconds"]
    print(
        f"{label} at {1000 * bound:g} mm: {1e3 * before['seconds']:.3f} -> "
        f"{1e3 * after['seconds']:.3f} ms: {ratio:.2f} times as fast; "
        f"{before['size']} -> {after['size']} bytes",
        flush=True,
    )


def clips(folder):
    """Return the files of a collection; none if it is missing."""
    try:
        return [Path(path) for path in collection(folder)]
    except UsageError as error:
        print(error)
        return []


def main():
    if len(sys.argv) < 2 or not (Path(sys.argv[1]) / "mocpack").is_dir():
        sys.exit(__doc__)
    for word in sys.argv[2:] or PARTS:
        PARTS[word](sys.argv[1])


PARTS = {
    "decode": decode,
    "encode": encode,
    "window": window,
    "slices": slices,
    "means": means,
    "heads": heads,
    **{name: partial(sizes, name) for name in ("cmu", "bandai", "dog")},
}


if __name__ == "__main__":
    main()
