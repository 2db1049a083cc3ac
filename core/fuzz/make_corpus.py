"""Writes the seed inputs of the fuzz targets from the golden files: make_corpus.py FOLDER.

FOLDER/file gets .mocp files, FOLDER/archive .mocps archives, FOLDER/live a hello and packets.
"""

import argparse
import io
import itertools
import struct
from pathlib import Path

import mocpack
from mocpack.coding.fields import FieldReader, inflate
from mocpack.container import ArchiveWriter, to_stored_clip

GOLDEN = Path(__file__).parents[2] / "tests" / "golden"
FRAMES = 12  # of a seed: few, so that inputs run fast
SPECS = {
    "curves": "keysine:max_error=5mm,effort=fast",
    "layers": "keysine:max_error=5mm,effort=fast,layers=3,group_seconds=0.1",
    "grid": "keysine:max_error=0.5mm,mode=grid",
    "thorough": "keysine:max_error=0.5mm,mode=grid,effort=best",
}
PACKETS = (4, 24)  # in a seed of the live target
HELLO_LIMIT = 1 << 20  # bytes, inflated


def main(folder: Path) -> None:
    files = dict(short_clips()) | dict(takes())
    scene = {"scene": (GOLDEN / "scene" / "file.mocp").read_bytes()}
    write(folder / "file", files | scene)
    write(folder / "archive", archives(list(files.items())))
    write(folder / "live", streams())


def short_clips():
    """Yield the first frames of a golden clip in each mode of keysine."""
    clip = mocpack.decode((GOLDEN / "keysine" / "v1-take-hinges" / "file.mocp").read_bytes())
    for mode, spec in SPECS.items():
        yield mode, mocpack.encode(clip.frames(0, FRAMES), spec)


def takes():
    """Yield the first frames of the golden takes, encoded with each codec that the core decodes."""
    for path in sorted(GOLDEN.glob("raw/v1-*/file.mocp")):
        clip = mocpack.decode(path.read_bytes())
        clip = clip.frames(0, min(FRAMES, clip.frame_count))
        for codec in (SPECS["curves"], "raw", "lossless"):
            yield f"{path.parent.name}-{codec.split(':')[0]}", mocpack.encode(clip, codec)


def archives(files):
    """Return archives of one to four clips, with and without fronts and shared skeletons."""
    found = {}
    for count, front in itertools.product((1, 2, 4), (0, 60)):
        stream = io.BytesIO()
        writer = ArchiveWriter(stream)
        for n in range(count):
            name, data = files[(n + front) % len(files)]
            writer.add(to_stored_clip(f"{name}-{n}", data, front))
        writer.end()
        found[f"{count}-{front}"] = stream.getvalue()
    return found


def streams():
    """Return the golden stream, cut after some packets: each part with its size before it."""
    hello = (GOLDEN / "live" / "v2.hello").read_bytes()
    model = FieldReader(inflate(hello[4:], HELLO_LIMIT), "hello").sized()
    packets = (GOLDEN / "live" / "v2.packets").read_bytes()
    ends = [0]
    while ends[-1] < len(packets):
        ends.append(ends[-1] + 2 + struct.unpack_from("<H", packets, ends[-1])[0])
    head = struct.pack("<H", len(model)) + model
    return {str(count): head + packets[: ends[count]] for count in PACKETS}


def write(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    main(parser.parse_args().folder)
