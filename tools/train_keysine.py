"""Train where keysine's models start, on the clips of `cmu-train` alone.

    python tools/train_keysine.py [--clips N] [--frames N]

Encodes a stretch of each clip at several bounds, lets the models follow the symbols, holds every
fourth clip out to say what the training buys, then trains on all of them and rewrites
`core/src/keysine/decode/tables.inc`. The native core must be built again afterwards, and since
the new table changes the bits, `bitstream_version` must grow once files are out.
"""

import argparse
from pathlib import Path

import numpy as np

import mocpack
from mocpack import _core
from mocpack.bench.datasets import collection
from mocpack.codecs.keysine import Keysine
from mocpack.codecs.keysine.payload import read_head

TABLE = Path(__file__).resolve().parents[1] / "core" / "src" / "keysine" / "decode" / "tables.inc"
# bounds, plain steps, and the distance of keys in seconds (None: as the encoder chooses)
SETS = {
    "general": ((6e-3, 3e-3, 1.5e-3, 0.6e-3), (5e-3, 2e-3), None),
    "loose, long blocks": ((30e-3, 20e-3, 12e-3), (20e-3, 10e-3), 1.0),
    "loose, short blocks": ((30e-3, 20e-3, 12e-3), (20e-3, 10e-3), 0.5),
}
COUNT_STEP, MOST_COUNT = 2, 30  # of the start: four bits hold the count, halved
SIGNIFICANT = 5  # bits of a probability that was learnt well
PATIENT = 1023  # count limit while training: nearly an average
PASSES = 2


def stretch(path, frames):
    clip = mocpack.read(path)
    start = max(1, (clip.frame_count - frames) // 2)
    return clip.frames(start, min(clip.frame_count, start + frames))


def codecs(bounds, steps, seconds):
    return [
        *(Keysine(max_error=bound, block_seconds=seconds) for bound in bounds),
        *(Keysine(step=step, block_seconds=seconds) for step in steps),
    ]


def symbols(clip, codec):
    """Return the arguments that let models follow the symbols that a codec makes of a clip."""
    payload = codec.encode(clip)
    head = read_head(lambda offset, size: payload[offset : offset + size], clip.header)
    keys, groups = head.segments_at(0, head.part_counts[0]), head.groups_at(0, head.part_counts[1])
    return head.parsed, *(payload[at : at + size] for at, size in (keys, groups))


def follow(corpus, models, *, fresh):
    counts = np.zeros(16 * 8 * 8 * 40)
    limit = 127 if fresh else PATIENT
    return sum(sum(_core.keysine_learn(*item, models, counts, limit, fresh)) for item in corpus) / 8


def parts(models):
    """Return views of states, weights and single states."""
    sizes = [np.asarray(a).size for a in _core.keysine_start(-1)]
    words = models.view(np.uint32)
    first, second, third = np.cumsum(sizes)
    return words[:first], models.view(np.int32)[first:second], words[second:third]


def trained(corpus):
    models = np.array(_core.keysine_models(-1))
    order = np.random.default_rng(0)
    for _ in range(PASSES):
        follow([corpus[i] for i in order.permutation(len(corpus))], models, fresh=False)
    return rounded(models)


def rounded(models):
    """Return the models as the table can hold them."""
    models = models.copy()
    states, weights, singles = parts(models)
    for part in (states, singles):
        part[:] = expand(pack(part))
    weights[:] = np.round(weights / 256).astype(np.int32) * 256
    return models


def pack(states):
    """Return states in 16 bits: 12 of probability, 4 of count.

    What much evidence found keeps SIGNIFICANT bits of the rarer outcome. All twelve would save a
    byte in twenty thousand of files, and make the decoder for browsers a third larger.
    """
    count = np.minimum(states & 1023, MOST_COUNT) // COUNT_STEP
    found = (states >> 20).astype(np.int64)
    rarer = np.minimum(found, 4095 - found)
    cut = np.maximum(0, np.frexp(rarer)[1] - SIGNIFICANT)
    coarse = rarer >> cut << cut | 1 << cut >> 1
    coarse = np.where(found < 2048, coarse, 4095 - coarse)
    found = np.where(count == MOST_COUNT // COUNT_STEP, coarse, found)
    return (found << 4 | count).astype(np.uint16)


def expand(packed):
    packed = packed.astype(np.uint32)
    return packed >> 4 << 20 | 1 << 19 | (packed & 15) * COUNT_STEP


def write(sets):
    lines = ["// Made by tools/train_keysine.py from cmu-train; do not edit.\n"]
    for name, pick in (("STATES", 0), ("WEIGHTS", 1), ("SINGLES", 2)):
        kind, size = (
            ("int16_t", "WEIGHT_COUNT") if pick == 1 else ("uint16_t", f"{name[:-1]}_COUNT")
        )
        size = "SINGLE_STATES" if pick == 2 else size
        lines.append(f"constexpr {kind} TRAINED_{name}[{len(sets)}][{size}] = {{\n")
        for models in sets:
            part = parts(models)[pick]
            numbers = part // 256 if pick == 1 else pack(part)
            rows = [",".join(map(str, numbers[i : i + 24])) for i in range(0, len(numbers), 24)]
            lines.append("{" + ",\n".join(rows) + "},\n")
        lines.append("};\n")
    TABLE.write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clips", type=int, default=1000)
    parser.add_argument("--frames", type=int, default=1441)
    given = parser.parse_args()
    paths = collection("cmu-train")[: given.clips]
    clips = [stretch(path, given.frames) for path in paths]
    sets = []
    for name, settings in SETS.items():
        corpus = [[symbols(clip, codec) for codec in codecs(*settings)] for clip in clips]
        held = [item for items in corpus[2::4] for item in items]
        rest = [item for i, items in enumerate(corpus) if i % 4 != 2 for item in items]
        before = follow(held, np.array(_core.keysine_models(-1)), fresh=True)
        after = follow(held, trained(rest), fresh=True)
        print(
            f"{name}: held-out clips {before:.0f} bytes from nothing, {after:.0f} trained "
            f"({100 * (after / before - 1):+.1f} %)",
            flush=True,
        )
        sets.append(trained([item for items in corpus for item in items]))
    write(sets)


if __name__ == "__main__":
    main()
