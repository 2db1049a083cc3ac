"""Measure one row of the bench: one clip, one codec, one target."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median
from typing import TypeVar

from mocpack import _api, rate
from mocpack.bench.peers.table import parse_any_codec
from mocpack.bench.rows import Row, is_row
from mocpack.bench.runner.memory import peak_memory
from mocpack.codec import Codec
from mocpack.common.json_object import JsonObject
from mocpack.errors import MocpackError, UsageError
from mocpack.metrics import compare
from mocpack.model.clip import AnyClip
from mocpack.model.codec_clip import drop_take_data

T = TypeVar("T")
Clock = Callable[[], float]

SWEEP = ("50mm", "20mm", "10mm", "5mm", "2mm", "1mm", "0.5mm", "0.2mm", "0.1mm")
REPEATS, PATIENCE = 5, 0.5  # maximum number of runs; seconds after which no further run starts
SLOW = 5.0  # seconds; a slower first run is not repeated


@dataclass(frozen=True)
class Setting:
    """A codec's spec and a target, such as ("max_error", "1mm")."""

    spec: str
    target: tuple[str, str] | None

    @property
    def label(self) -> str:
        return self.spec if self.target is None else f"{self.spec} {'='.join(self.target)}"


def parse_targets(text: str) -> list[tuple[str, str]]:
    """Parse ``max_error=1mm,5mm``, ``ratio=20,40`` or ``sweep``.

    >>> parse_targets("ratio=20,40")
    [('ratio', '20'), ('ratio', '40')]
    """
    if text == "sweep":
        return [("max_error", bound) for bound in SWEEP]
    name, equals, values = text.partition("=")
    name = name.replace("-", "_")
    if not equals or name not in ("max_error", "mean_error", "ratio", "size"):
        raise UsageError(
            f"--target must be like max_error=1mm,5mm, mean_error=…, ratio=20,40, size=… or sweep, "
            f"got {text!r}"
        )
    targets = [(name, value) for value in values.split(",")]
    for target in targets:
        rate.parse_target(**_target_options(target))  # fail now, not in every row
    return targets


def measure_row(
    clip: AnyClip, setting: Setting, *, name: str = "", source_bytes: int = 0, timed: bool = True
) -> Row:
    """Return one row; if the codec fails, the row states the reason."""
    row: JsonObject = {
        "clip": name,
        "codec": setting.spec,
        "target": None if setting.target is None else "=".join(setting.target),
        "frames": clip.frame_count,
        "failure": None,
    }
    try:
        row |= _measure(clip, setting, source_bytes, timed)
    except MocpackError as error:
        row["failure"] = str(error)
    except Exception as error:  # one codec must not stop the bench
        row["failure"] = f"{type(error).__name__}: {error}"
    assert is_row(row)
    return row


def _measure(clip: AnyClip, setting: Setting, source_bytes: int, timed: bool) -> JsonObject:
    codec = parse_any_codec(setting.spec)
    started = time.perf_counter()
    attempt = _api.encode_measured(clip, codec, **_target_options(setting.target))
    search_seconds = time.perf_counter() - started
    data, used = attempt.data, attempt.codec
    cost = _measure_speed(used, clip) if timed else {}
    decoded = _api.Motion(data, codec=used, memory_limit=None).clip()
    sizes = _measure_sizes(data, used)
    metrics = compare(clip, decoded).to_dict()
    worst = metrics.pop("worst")
    metrics = {name: value for name, value in metrics.items() if not isinstance(value, list | dict)}
    return {
        "setting": used.params(),
        **sizes,
        "bits_per_frame": 8 * len(data) / clip.frame_count,
        "ratio_float32": rate.raw_size(clip) / len(data),
        "ratio_source": source_bytes / len(data),
        "search_seconds": search_seconds,
        **cost,
        **metrics,
        "worst": worst,
    }


def _measure_speed(codec: Codec, clip: AnyClip) -> dict[str, float | None]:
    if hasattr(codec, "threads"):  # measured with one thread
        codec = replace(codec, threads=1)  # type: ignore[call-arg]
    cost, _ = measure_cost(codec, clip)
    for name in ("encode", "decode"):
        seconds = cost.pop(f"{name}_seconds")
        assert seconds is not None
        cost[f"{name}_fps"] = clip.frame_count / seconds
    return cost


def measure_cost(
    codec: Codec, clip: AnyClip, *, clock: Clock = time.perf_counter
) -> tuple[dict[str, float | None], bytes]:
    """Return time and memory of encoding and decoding, and the payload."""
    clip = drop_take_data(clip)
    encoding, encode_mb, payload = _measure_time(lambda: codec.encode(clip), clock)
    decoding, decode_mb, _ = _measure_time(lambda: codec.decode(payload, clip.header), clock)
    cost = {
        "encode_seconds": encoding,
        "decode_seconds": decoding,
        "encode_peak_mb": encode_mb,
        "decode_peak_mb": decode_mb,
    }
    return cost, payload


def _target_options(target: tuple[str, str] | None) -> rate.TargetOptions:
    if target is None:
        return {}
    name, value = target
    if name == "max_error":
        return {"max_error": value}
    if name == "mean_error":
        return {"mean_error": value}
    if name == "size":
        return {"size": value}
    try:
        return {"ratio": float(value)}
    except ValueError:
        raise UsageError(f"ratio must be a number, got {value!r}") from None


def _measure_sizes(data: bytes, codec: Codec) -> dict[str, int]:
    """Return the sizes for comparisons, and of the parts of the file."""
    with _api.Motion(data, codec=codec) as motion:
        sizes, layout = motion.sizes, motion.layout()
    shipped = int(getattr(codec, "shipped_model_bytes", 0))
    return {
        "payload_bytes": sizes["file"] - sizes["skeleton"] - sizes["metadata"],
        "file_bytes": sizes["file"],
        "with_model_bytes": sizes["file"] + shipped,
        "skeleton_bytes": sizes["skeleton"],
        "metadata_bytes": sizes["metadata"],
        "index_bytes": layout.index_bytes,
        "model_bytes": layout.model_bytes,
    }


def _measure_time(work: Callable[[], T], clock: Clock) -> tuple[float, float | None, T]:
    """Return the median time after a warm-up run, the memory of that run, and its result."""
    results: list[T] = []
    started = clock()
    peak = peak_memory(lambda: results.append(work()))
    first = clock() - started
    if first > SLOW:  # warming up changes little, and a second run would take as long
        return first, peak, results[0]
    times: list[float] = []
    while len(times) < REPEATS and sum(times) < PATIENCE:
        started = clock()
        work()
        times.append(clock() - started)
    return median(times), peak, results[0]
