"""Measure `keysine`: sizes at equal error, speed, random access, layers.

    python benchmarks/bench_keysine.py [means] [wavelet] [eps] [bounds] [acl] [efforts] [without]
        [speed] [joints] [layers] [grid] [promise]

Without arguments, all parts run. `promise` (`promise.py`) takes hours and continues where it
stopped.
Sizes are payload bytes (file - skeleton - metadata) with random access on, the whole file beside
them; the T-pose frame that the conversion added is dropped, except against ACL, whose figures have
it. Each line prints the size, mean error, velocity error, SkTED, speed of planted feet, E15, E30,
and how far the motion jitters and skates (above 1 is too much). Speed is processor time, best of
several; zlib's inflate in the same run compares machines.
"""

import csv
import os
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np

import mocpack
import progressive
import promise as held
from mocpack.bench.datasets import collection, load_clip
from mocpack.bench.runner.timing import fastest
from mocpack.codecs.keysine import Keysine
from mocpack.codecs.keysine.codec import encode_natively
from mocpack.codecs.registry import parse_codec
from mocpack.metrics.contacts import foot_skate_excess
from mocpack.metrics.spectrum import jitter
from mocpack.metrics.table import compare
from mocpack.model.clip import Clip
from mocpack.rate import Target, encode_to_target

# clip, error in cm, the paper's kB
MEANS = (
    ("17_10", 0.99, 17.2),
    ("17_08", 0.70, 25.4),
    ("85_12", 1.87, 24.2),
)
EPS = (
    ("49_02", 0.45, 13.8),
    ("49_02", 0.29, 18.8),
    ("49_02", 0.14, 33.7),
    ("09_01", 0.58, 1.27),
    ("09_01", 0.26, 2.23),
)
BOUNDS = (20, 10, 5, 2, 1)  # mm
WAVELET_CLIPS = ("17_10", "17_08", "85_12", "49_02")
WAVELET_MEANS = (10, 1, 0.3)  # mm
ACL = Path(__file__).parent / "results" / "acl-2.1-cmu.csv"
ACL_PRECISIONS = (1, 0.1, 0.01)  # cm
LONG = 72_000  # frames: ten minutes
STRETCH = 400  # frames


def clip_of(name, *, pose=False):
    clip = load_clip(f"cmu/{name}")
    return clip if pose else clip.frames(1, clip.frame_count)


def row(label, clip, codec):
    payload = codec.encode(clip)
    whole = len(mocpack.encode(clip, codec)) / 1000
    size = len(payload) / 1000
    print(
        f"{label}: {size:.3f} kB (file {whole:.3f})\n    {beside(clip, codec, payload)}", flush=True
    )


def beside(clip, codec, payload):
    """Return the metrics that are printed next to every size."""
    back = codec.decode(payload, clip.header)
    found = {key: value or 0.0 for key, value in compare(clip, back).values.items()}
    error = found["max_error_mm"] / 1000
    return "  ".join(
        (
            f"mean {found['mean_mm']:.3f} mm",
            f"velocity {found['velocity_cm_s']:.2f} cm/s",
            f"SkTED {found['sk_ted']:.4f}",
            f"skate {found['foot_skate_cm_s']:.2f}/{found['foot_skate_source_cm_s']:.2f} cm/s",
            f"E15 {found['e15']:.3f}/{found['e15_source']:.3f}",
            f"E30 {found['e30']:.3f}/{found['e30_source']:.3f} mm²",
            f"jitter {jitter(clip, back, error):.2f}",
            f"foot skate {foot_skate_excess(clip, back, error):.2f}",
        )
    )


def means():
    print("\nagainst Váša and Brunnett 2014, at equal mean error")
    for name, mean, theirs in MEANS:
        codec = Keysine(mean_error=mean / 100)
        row(f"{name} mean {mean} cm ({theirs} kB theirs)", clip_of(name), codec)


def wavelet():
    print("\nagainst fk-wavelet at equal mean error of joint centers: payload bytes")
    clips = {name: clip_of(name) for name in WAVELET_CLIPS}
    for mean in WAVELET_MEANS:
        ours = theirs = 0
        for name, clip in clips.items():
            target = Target(mean_error=mean / 1000)
            sizes = []
            for codec in (Keysine(), parse_codec("fk-wavelet")):
                made = encode_to_target(clip, codec, target)
                sizes.append(made.payload_size)
            ours, theirs = ours + sizes[0], theirs + sizes[1]
            print(f"{name} mean {mean:g} mm: {sizes[0]} of {sizes[1]}, {sizes[0] / sizes[1]:.3f}")
        print(f"mean {mean:g} mm, all: {ours / theirs:.3f}", flush=True)


def eps():
    print("\nagainst Beaudoin, Poulin and van de Panne 2007 optimized, at equal eps_x")
    for name, error, theirs in EPS:
        clip = clip_of(name)
        label = f"{name} eps_x {error} cm ({theirs} kB theirs)"
        row(label, clip, at_eps(clip, error))


def at_eps(clip, error):
    """Return the codec with the coarsest step that keeps eps_x (in cm), by bisection."""
    low, high = 5e-3 * error, 0.2 * error
    for _ in range(11):
        step = float(np.sqrt(low * high))
        codec = Keysine(step=step)
        found = compare(clip, codec.decode(codec.encode(clip), clip.header))["eps_x_cm"]
        low, high = (step, high) if found <= error else (low, step)
    return Keysine(step=low)


def bounds():
    print("\n49_02, bound on the largest error, bone ends included")
    clip = clip_of("49_02")
    for bound in BOUNDS:
        row(f"{bound} mm", clip, Keysine(max_error=bound / 1000))


def acl():
    print("\nagainst ACL 2.1 at its own largest error (ours with bone ends)")
    with ACL.open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["fps"] == "120"]
    for precision in ACL_PRECISIONS:
        theirs = ours = 0
        for r in rows:
            if float(r["precision_cm"]) == precision:
                clip = clip_of(r["clip"], pose=True)
                payload = Keysine(max_error=float(r["max_shell_cm"]) / 100).encode(clip)
                theirs, ours = theirs + int(r["bytes"]), ours + len(payload)
        share = f"1/{theirs / ours:.2f}"
        print(f"precision {precision} cm: {theirs} bytes theirs, {ours} ours, {share}", flush=True)


def speed():
    print("\nspeed, one core, 31 joints, processor time")
    clip = clip_of("49_02")
    for bound in (5, 1):
        codec = Keysine(max_error=bound / 1000, threads=1)
        payload = codec.encode(clip)
        rate = clip.frame_count / fastest(lambda c=codec, p=payload: c.decode(p, clip.header), 15)
        print(f"decode at {bound} mm: {rate:.0f} frames/s")
    for effort, runs in (("fast", 25), ("default", 2), ("best", 1)):
        codec = Keysine(max_error=5e-3, effort=effort, threads=1)
        made = []
        rate = clip.frame_count / fastest(lambda c=codec, m=made: m.append(c.encode(clip)), runs)
        print(f"encode {effort}: {rate:.0f} frames/s, {len(made[0])} bytes", flush=True)
    window()
    data = np.random.default_rng(0).integers(0, 16, 4_000_000, np.uint8).tobytes()
    packed = zlib.compress(data)
    print(f"zlib inflate: {len(data) / fastest(lambda: zlib.decompress(packed)) / 1e6:.0f} MB/s")


def efforts():
    """Compare size and time of the efforts, on clips that the statistics were trained on."""
    print(f"\nefforts: every eighth clip of cmu-train, {STRETCH} frames from its middle, one core")
    clips = stretches()
    frames = sum(clip.frame_count for clip in clips)
    for bound in (10, 5, 1):
        usual, told = 0, []
        for effort in ("default", "fast", "best"):
            codec = Keysine(max_error=bound / 1000, effort=effort, threads=1)
            made = []
            seconds = fastest(lambda c=codec, m=made: m.extend(map(len, map(c.encode, clips))), 1)
            size = sum(made)
            usual = usual or size
            told.append(
                f"{effort} {size} bytes ({100 * (size / usual - 1):+.1f} %), "
                f"{frames / seconds:.0f} frames/s"
            )
        print(f"{bound} mm: " + "; ".join(told), flush=True)


def stretches():
    clips = []
    for path in collection("cmu-train")[3::8]:
        clip = mocpack.read(path)
        start = max(1, (clip.frame_count - STRETCH) // 2)
        clips.append(clip.frames(start, min(start + STRETCH, clip.frame_count)))
    return clips


def without():
    """Print how much larger files are without each part of the search."""
    print(f"\nwithout: bytes, every eighth clip of cmu-train, {STRETCH} frames from its middle")
    clips = stretches()
    usual = None
    for name, constants in (
        ("with all", {}),
        ("without lengths of blocks by group", {"split_tries": 0.0}),
        ("without a price of errors by group", {"weight_tries": (0.0, 0.0)}),
        ("without prediction across channels", {"predictor_bits": 1e9}),
        ("without a price of turning away", {"turn_price": 0.0}),
        ("without descent, rounding and repair alone", {"sweeps": 0.0}),
    ):
        sizes = [
            sum(len(encode_natively(codec, clip, constants).payload) for clip in clips)
            for codec in searched()
        ]
        usual = usual or sizes
        more = (f"{n} ({100 * (n / u - 1):+.1f} %)" for n, u in zip(sizes, usual, strict=True))
        print(f"{name}: " + ", ".join(more) + " within 10, 5, 1 mm, mean 1 mm", flush=True)


def searched():
    bounds = ({"max_error": 1e-2}, {"max_error": 5e-3}, {"max_error": 1e-3}, {"mean_error": 1e-3})
    return [Keysine(threads=1, mode="transform", **bound) for bound in bounds]


def joints():
    """Decode some joints and their ancestors only, of the whole clip."""
    print("\nsome joints of 49_02 at 5 mm, one core, processor time")
    clip = clip_of("49_02")
    codec = Keysine(max_error=5e-3, threads=1)
    payload = codec.encode(clip)

    whole = None
    for name in (None, "Hips", "LeftToeBase", "RightToeBase", "Head", "LeftHand", "RThumb"):
        wanted = None if name is None else [clip.skeleton.index(name)]
        seconds = fastest(
            lambda w=wanted: codec.open(payload, clip.header).frames(0, clip.frame_count, w), 9
        )
        whole = whole or seconds
        kept = len(clip.skeleton if name is None else clip.skeleton.with_ancestors(wanted))
        print(
            f"{name or 'all':12} {kept:2} joints: {clip.frame_count / seconds:.0f} frames/s, "
            f"{100 * seconds / whole:.0f} % of the time of all"
        )


def layers():
    """Compare cut files of four layers with direct coding and fk-wavelet at equal bytes."""
    print("\nfour layers, cut at 25, 50 and 75 % of the payload, all clips of cmu")
    for bound in (1, 5):
        print(f"{bound} mm: {progressive.run(collection('cmu'), bound / 1000)}", flush=True)


def joint_bounds():
    """Print the bytes that looser bounds of fingers and toes save within 1 mm."""
    print("\n1 mm, fingers and toes within 4 mm, all clips of cmu: bytes of files")
    own = dict.fromkeys(("*Finger*", "*HandIndex*", "*Thumb*", "*Toe*"), "4mm")
    ratios, sums = [], np.zeros(2)
    for path in collection("cmu"):
        clip = mocpack.read(path)
        sizes = [
            len(mocpack.encode(clip, "keysine:threads=1", max_error="1mm", joint_errors=bounds))
            for bounds in (None, own)
        ]
        sums += sizes
        ratios.append(sizes[1] / sizes[0])
        print(f"{path.stem}: {sizes[0]} {sizes[1]} ({ratios[-1]:.3f})", flush=True)
    print(
        f"all: {sums[0]:.0f} {sums[1]:.0f} ({sums[1] / sums[0]:.4f}); geometric mean "
        f"{np.exp(np.mean(np.log(ratios))):.4f}, {min(ratios):.3f} to {max(ratios):.3f}"
    )


def grid():
    """Compare time grids with the transform at tight bounds, and print the gain of their search."""
    print("\ntight bounds, every eighth clip of cmu-train, at most 800 frames: bytes")
    paths = collection("cmu-train")[2::8]
    clips = [mocpack.read(path) for path in paths]
    clips = [clip.frames(1, min(clip.frame_count, 800)) for clip in clips]
    for millimeters in (0.1, 0.2, 0.4, 0.6):
        sums = dict.fromkeys(("transform", "grid", "auto"), 0)
        smaller = 0
        for clip in clips:
            sizes = {m: len(tight(millimeters, m).encode(clip)) for m in sums}
            smaller += sizes["grid"] < sizes["transform"]
            sums = {mode: sums[mode] + sizes[mode] for mode in sums}
        print(
            f"{millimeters} mm: transform {sums['transform']}, grid {sums['grid']}, "
            f"auto {sums['auto']} ({100 * (sums['auto'] / sums['transform'] - 1):+.1f} %); the "
            f"grid is smaller on {smaller} of {len(clips)}",
            flush=True,
        )
    plain = None
    usual = 3.0
    for ways, penalty in ((1, 1000.0), (1, usual), (8, usual), (32, usual)):
        others = {"beam_width": float(ways), "beam_growth": 1.0, "grid_error_penalty": penalty}
        codec = tight(0.1, "grid")
        size = sum(len(encode_natively(codec, clip, others).payload) for clip in clips)
        plain = plain or size
        worth = f"{ways} ways, all of an allowance worth {penalty:g} bits"
        print(f"{worth}: {size} ({100 * (size / plain - 1):+.1f} %)", flush=True)
    clip = max(clips, key=lambda c: c.frame_count)
    for effort in ("default", "best"):
        codec = Keysine(max_error=1e-4, mode="grid", effort=effort, threads=1)
        payload = codec.encode(clip)
        writing = clip.frame_count / fastest(lambda c=codec: c.encode(clip), 2)
        reading = fastest(lambda c=codec, p=payload: c.decode(p, clip.header))
        print(
            f"{effort} at 0.1 mm, one core: encode {writing:.0f}, "
            f"decode {clip.frame_count / reading:.0f} frames/s"
        )


def tight(millimeters, mode):
    return Keysine(max_error=millimeters / 1000, mode=mode)


def window():
    """Decode 120 frames from the middle of an open file of ten minutes."""
    parts = [clip_of(n) for n in ("17_08", "17_10", "85_12", "14_02", "49_02")] * 4
    turns = np.concatenate([p.rotations for p in parts])[:LONG]
    places = np.concatenate([p.translations for p in parts])[:LONG]
    clip = Clip.build(parts[0].skeleton, turns, places, frame_time=parts[0].frame_time)
    file = mocpack.encode(clip, Keysine(max_error=5e-3, effort="fast"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.mocp"
        path.write_bytes(file)
        with mocpack.open(path) as motion:
            seconds = fastest(lambda: motion.frames(LONG // 2, LONG // 2 + 120), 30)
    print(f"120 frames from the middle of {clip.frame_count}: {1000 * seconds:.2f} ms")


def promise():
    """Check the bound on every clip at 10, 1 and 0.1 mm, fast and default; best on a few."""
    print("\nthe promise, on every clip of cmu, asfamc, bandai and dog")
    if held.run(jobs=os.cpu_count() or 1):
        sys.exit(1)


PARTS = {
    "means": means,
    "wavelet": wavelet,
    "eps": eps,
    "bounds": bounds,
    "acl": acl,
    "efforts": efforts,
    "without": without,
    "speed": speed,
    "joints": joints,
    "layers": layers,
    "joint_bounds": joint_bounds,
    "grid": grid,
    "promise": promise,
}

if __name__ == "__main__":
    for word in sys.argv[1:] or PARTS:
        PARTS[word]()
