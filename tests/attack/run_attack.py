"""Attack the promises of `mocpack.encode` with random clips: `make attack ATTACKS=1500`.

Each case encodes a random clip, decodes the file and measures it with kinematics of its own. It
cuts a file of several layers at random bytes. A promise breaks if a declared bound does not hold,
if a cut file exceeds the errors that it states, if joint limits that the source kept are exceeded,
if a clip is refused that a bound above float precision should admit, if encoding takes more CPU
time than its budget, or if encoding raises anything but a refusal.
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

from mocpack import _api, rate
from mocpack.errors import BoundError, TruncatedError

FLOAT_PRECISION = 2.0**-48  # of the reach: rounding of long sums of doubles
LIMIT_TOLERANCE = 1e-9  # radians, meters
CUTS = 20  # of each file of several layers
CPU_BUDGET_S = 60.0  # of one encode; no clip here has 20,000 joint frames
MAX_PRECISION = 1e-5  # smallest bound that keysine promises to reach, as a share of the reach


@dataclass(frozen=True)
class Outcome:
    """The result of a case.

    Attributes
    ----------
    verdict : str
        "kept", "size too small", "refused by name" (a named codec may refuse a bound near its
        precision) or a broken promise.
    cpu_s : float
        CPU time of the encoder, in seconds.
    cuts : int
        Number of cut files that were measured.
    """

    seed: int
    verdict: str
    text: str
    codec: str = ""
    cpu_s: float = 0.0
    cuts: int = 0


BROKEN = (
    "bound broken",
    "stated error exceeded",
    "limit exceeded",
    "refused",
    "over budget",
    "failed",
)


def attack(seed):
    """Return the outcome of the case of a seed."""
    case = make_case(seed)
    codec, cpu_s, cuts = "", 0.0, 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # of numpy
            start = time.process_time()
            try:
                made = encode(case)
            finally:
                cpu_s = time.process_time() - start
            codec = made.codec.codec_id
            verdict, detail = judge(case, made)
            if verdict == "kept" and made.codec.params().get("layers", 1) > 1:
                verdict, detail, cuts = judge_cuts(case, made.data)
    except BoundError as error:
        verdict, detail = judge_refusal(case), str(error)
    except Exception:
        verdict, detail = "failed", traceback.format_exc(limit=-3)
    if cpu_s > CPU_BUDGET_S and verdict not in BROKEN:
        verdict, detail = "over budget", f"{cpu_s:.0f} s of CPU time, {verdict}. {detail}"
    text = f"{case.text}: {detail}" if detail else case.text
    return Outcome(seed, verdict, text, codec, cpu_s, cuts)


def encode(case):
    """Encode the clip of a case; return the attempt with file, codec and errors."""
    named = {} if case.codec is None else {"codec": case.codec}
    return _api.encode_measured(case.clip, **named, effort=case.effort, **arguments(case.target))


def judge_refusal(case):
    """Return the verdict on a clip that was refused."""
    if "size" in case.target or "ratio" in case.target:
        return "size too small"
    return "refused" if case.codec is None or is_easy(case) else "refused by name"


def is_easy(case):
    """Return whether keysine must keep the bounds of a case: they are far above its precision."""
    if "max_angle" in case.target:  # it may contradict a bound on positions
        return False
    bounds = [bound for bound in case.target.values() if not isinstance(bound, dict)]
    bounds += case.target.get("joint_errors", {}).values()
    return min(bounds, default=1e-3) > MAX_PRECISION * max(1.0, reach_of(case.clip))


def judge(case, made):
    """Decode the file of a case and check its promises; return the verdict and details."""
    target, errors = case.target, made.errors
    decoded = _api.decode(made.data)
    largest, mean = kinematics.measure_joints(case.clip, decoded)
    rounding = FLOAT_PRECISION * reach_of(case.clip)
    own = target.get("joint_errors", {})
    bound = None if own else target.get("max_error")
    limit = rate.raw_size(case.clip) / target["ratio"] if "ratio" in target else target.get("size")
    promised = [
        ("max_error", largest.max(), bound),
        ("declared max_error", largest.max(), errors.declared),
        ("mean_error", mean, target.get("mean_error")),
        ("size", len(made.data), limit),
    ]
    for joint, name in enumerate(case.clip.skeleton.names if own else ()):
        promised.append((f"error of {name}", largest[joint], own.get(name, target["max_error"])))
    for name, found, bound in promised:
        if bound is not None and not found <= bound * (1 + 1e-9) + rounding:
            return "bound broken", f"{name} is {found:.9g}"
    bound = target.get("max_angle")
    if bound is not None:
        found = kinematics.measure_angle(case.clip, decoded)
        if not found <= bound * (1 + 1e-9) + FLOAT_PRECISION:
            return "bound broken", f"max_angle is {found:.9g}"
    if made.codec.codec_id == "lossless" and is_easy(case):
        return "refused", "by keysine: the file is lossless"
    excess = kinematics.measure_excess(case.clip, decoded)
    if excess > LIMIT_TOLERANCE:
        return "limit exceeded", f"by {excess:.3g}"
    return "kept", ""


def judge_cuts(case, data):
    """Cut a file of several layers at random bytes; return the verdict, details and the cuts.

    A cut inside the first layer must be refused. Any other cut must keep the errors that the last
    complete layer states.
    """
    with _api.open(data) as motion:
        layers = motion.layers
    if len(layers) < 2:
        return "kept", "", 0
    rng = np.random.default_rng(case.seed)
    ends = [layer.end for layer in layers]
    try:
        _api.decode(data[: int(rng.integers(ends[0] // 2, ends[0]))], partial=True)
    except TruncatedError:
        pass
    else:
        return "failed", "a file cut inside its first layer was decoded", 0
    rounding = FLOAT_PRECISION * reach_of(case.clip)
    cuts = [*ends[:-1], *rng.integers(ends[0], len(data), size=CUTS).tolist()]
    for cut in cuts:
        errors = kinematics.measure_errors(case.clip, _api.decode(data[:cut], partial=True))
        last = sum(end <= cut for end in ends) - 1
        stated = (layers[last].max_error, layers[last].mean_error)
        for name, found, bound in zip(("maximum", "mean"), errors, stated, strict=True):
            if bound is None or not found <= bound * (1 + 1e-9) + rounding:
                detail = (
                    f"cut at byte {cut} of {len(data)}, after layer {last + 1} of {len(layers)}"
                )
                wrong = f"{name} error {found:.6g} m, stated {bound} m"
                return "stated error exceeded", f"{detail}: {wrong}", len(cuts)
    return "kept", "", len(cuts)


def arguments(target):
    """Return a target as `mocpack.encode` takes it."""
    found = {}
    for name, value in target.items():
        if name == "joint_errors":
            found[name] = {joint: f"{bound!r}m" for joint, bound in value.items()}
        elif name in ("max_error", "mean_error"):
            found[name] = f"{value!r}m"
        else:
            found[name] = f"{value!r}rad" if name == "max_angle" else value
    return found


def reach_of(clip):
    """Return the largest coordinate that sums of a clip's bones may come to, in meters."""
    bones = np.abs(clip.skeleton.offsets).sum() + np.abs(clip.skeleton.end_sites).max(initial=0)
    stretch = np.prod(np.maximum(np.abs(clip.scales).max(axis=(0, 2)), 1.0))
    return float(stretch * (bones + np.abs(clip.translations).max(axis=0, initial=0).sum()))


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
    return outcomes


def summarize(outcomes):
    """Return one line about all outcomes."""
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    codecs = Counter(outcome.codec for outcome in outcomes if outcome.codec)
    slowest = max(outcomes, key=lambda outcome: outcome.cpu_s)
    cuts = [outcome.cuts for outcome in outcomes if outcome.cuts]
    return (
        f"{len(outcomes)} clips, {len(cuts)} of them with layers and cut at {sum(cuts)} bytes: "
        f"{verdicts['bound broken']} bounds broken, "
        f"{verdicts['stated error exceeded']} stated errors exceeded, "
        f"{verdicts['limit exceeded']} limits exceeded, {verdicts['refused']} refused, "
        f"{verdicts['over budget']} over {CPU_BUDGET_S:.0f} s of CPU time, "
        f"{verdicts['failed']} failed; "
        f"{verdicts['refused by name']} refused by a named codec near its precision, "
        f"{verdicts['size too small']} sizes too small; "
        f"{', '.join(f'{count} by {codec}' for codec, count in codecs.most_common())}; "
        f"slowest {slowest.cpu_s:.1f} s of CPU time (seed {slowest.seed})"
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
