"""Attack the promises of `mocpack.encode` with random clips: `make attack ATTACKS=1500`.

Each case encodes a random clip, decodes the file and measures it with kinematics of its own. A
promise breaks if a declared bound does not hold, if joint limits that the source kept are exceeded,
if a clip is refused that a bound above float precision should admit, or if encoding raises anything
but a refusal.
"""

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import attack_kinematics as kinematics
import numpy as np
from attack_clips import make_case

from mocpack import _api
from mocpack.errors import BoundError

FLOAT_PRECISION = 2.0**-48  # of the reach: rounding of long sums of doubles
LIMIT_TOLERANCE = 1e-9  # radians, meters
SLOW_SECONDS = 30.0


@dataclass(frozen=True)
class Outcome:
    """The result of a case.

    Attributes
    ----------
    verdict : str
        "kept", "size too small", "refused by name" (a named codec may refuse) or a broken promise.
    """

    seed: int
    verdict: str
    text: str
    codec: str = ""
    seconds: float = 0.0


BROKEN = ("bound broken", "limit exceeded", "refused", "failed")


def attack(seed):
    """Return the outcome of the case of a seed."""
    case = make_case(seed)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            verdict, detail, codec = judge(case)
    except Exception:
        verdict, detail, codec = "failed", traceback.format_exc(limit=-3), ""
    seconds = time.perf_counter() - start
    text = f"{case.text}: {detail}" if detail else case.text
    return Outcome(seed, verdict, text, codec, seconds)


def judge(case):
    """Encode and decode a case; return the verdict, details and the codec."""
    try:
        made = _api.encode_measured(
            case.clip,
            **({} if case.codec is None else {"codec": case.codec}),
            effort=case.effort,
            **arguments(case.target),
        )
    except BoundError as error:
        if "size" in case.target:
            return "size too small", str(error), ""
        return ("refused" if case.codec is None else "refused by name"), str(error), ""
    codec, errors = made.codec.codec_id, made.errors
    decoded = _api.decode(made.data)
    largest, mean = kinematics.measure_errors(case.clip, decoded)
    rounding = FLOAT_PRECISION * reach_of(case.clip)
    promised = [
        ("max_error", largest, case.target.get("max_error")),
        ("declared max_error", largest, errors.declared),
        ("mean_error", mean, case.target.get("mean_error")),
        ("size", len(made.data), case.target.get("size")),
    ]
    for name, found, bound in promised:
        if bound is not None and not found <= bound * (1 + 1e-9) + rounding:
            return "bound broken", f"{name} is {found:.9g}", codec
    bound = case.target.get("max_angle")
    if bound is not None:
        found = kinematics.measure_angle(case.clip, decoded)
        if not found <= bound * (1 + 1e-9) + FLOAT_PRECISION:
            return "bound broken", f"max_angle is {found:.9g}", codec
    excess = kinematics.measure_excess(case.clip, decoded)
    if excess > LIMIT_TOLERANCE:
        return "limit exceeded", f"by {excess:.3g}", codec
    return "kept", "", codec


def arguments(target):
    """Return a target as `mocpack.encode` takes it."""
    found = {}
    for name, value in target.items():
        length, angle = name in ("max_error", "mean_error"), name == "max_angle"
        found[name] = f"{value!r}m" if length else f"{value!r}rad" if angle else value
    return found


def reach_of(clip):
    """Return the largest coordinate that sums of a clip's bones may come to, in meters."""
    bones = np.abs(clip.skeleton.offsets).sum() + np.abs(clip.skeleton.end_sites).max(initial=0)
    return float(bones + np.abs(clip.translations).max(axis=0, initial=0).sum())


def run(first, count, workers):
    """Attack with `count` seeds from `first` on, print failures, and return all outcomes."""
    outcomes = []
    with ProcessPoolExecutor(workers) as pool:
        futures = [pool.submit(attack, first + at) for at in range(count)]
        for future in futures:
            outcome = future.result()
            outcomes.append(outcome)
            if outcome.verdict in BROKEN:
                print(f"{outcome.verdict}: {outcome.text}", flush=True)
            elif outcome.seconds > SLOW_SECONDS:
                print(f"slow, {outcome.seconds:.0f} s: {outcome.text}", flush=True)
    return outcomes


def summarize(outcomes):
    """Return one line about all outcomes."""
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    codecs = Counter(outcome.codec for outcome in outcomes if outcome.codec)
    slowest = max(outcomes, key=lambda outcome: outcome.seconds)
    return (
        f"{len(outcomes)} clips: {verdicts['bound broken']} bounds broken, "
        f"{verdicts['limit exceeded']} limits exceeded, {verdicts['refused']} refused, "
        f"{verdicts['failed']} failed; {verdicts['refused by name']} refused by a named codec, "
        f"{verdicts['size too small']} sizes too small; "
        f"{', '.join(f'{count} by {codec}' for codec, count in codecs.most_common())}; "
        f"slowest {slowest.seconds:.1f} s (seed {slowest.seed})"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clips", type=int, default=1500)
    parser.add_argument("--seed", type=int, help="first seed; by default a new one each time")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    first = args.seed if args.seed is not None else time.time_ns() // 10**6 * 10**6 % 2**60
    print(f"seeds from {first} on", flush=True)
    outcomes = run(first, args.clips, args.workers)
    print(summarize(outcomes))
    return int(any(outcome.verdict in BROKEN for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
