# ruff: noqa: E501 - the lines of modules are quoted whole
"""Change single lines of the papers' modules and list the changes that no test notices.

python tools/mutants.py [words of the module's path]

Each mutant replaces one line of a module by a wrong one and runs the tests of that module. A mutant
survives if they pass. The exit code is the number of survivors. Sources are always restored.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
SOURCES = CHECKOUT / "src" / "mocpack"
TESTS = CHECKOUT / "tests" / "unit"


@dataclass(frozen=True)
class Mutant:
    """A text of a module, its wrong replacement, and the tests that should fail."""

    module: str
    right: str
    wrong: str
    tests: str


SPLINE, EDITING = "papers/mukai", "papers/mukai/test_editing.py"
FK, IK = "papers/li/test_fk_wavelet.py", "papers/li/test_ik_predict.py"
GOLDEN = "../golden/test_golden.py"
SEARCH = "papers/beaudoin/test_coefficient_search.py"
BAP, GRID, MPEG4 = (
    f"papers/chattopadhyay/test_{name}.py" for name in ("bap", "grid_search", "mpeg4_bap")
)
CHATTOPADHYAY = "papers/chattopadhyay/test_tables.py"
MUTANTS = (
    Mutant(
        "papers/mukai/codec/latent_spline.py",
        "knots = knots_on_grid(searched, degree, len(rows))",
        "knots = searched",
        SPLINE,
    ),
    Mutant("papers/mukai/codec/latent_spline.py", "KNOT_GRID = 32", "KNOT_GRID = 1", GOLDEN),
    Mutant("papers/mukai/codec/bspline.py", "widths = np.maximum(increments, 0.0)", "widths = np.abs(increments)", SPLINE),
    Mutant("papers/mukai/codec/bspline.py", "[1:-1], degree)", "[:-2], degree)", SPLINE),
    Mutant("papers/mukai/codec/knots.py", "rest = without[errors.argmin()]", "rest = without[errors.argmax()]", SPLINE),
    Mutant("papers/mukai/codec/knots.py", "slope = share * (by_width - np.dot(share, by_width))", "slope = share * by_width", SPLINE),
    Mutant("papers/mukai/codec/descent.py", "q = q - share * turned", "q = q + share * turned", SPLINE),
    Mutant("papers/mukai/codec/latent.py", "return int((energies >= amount).sum())", "return int((energies > 10 * amount).sum())", SPLINE),
    Mutant("papers/mukai/codec/geodesic.py", "* 2 / 3 + skin**2", "* 5 + skin**2", SPLINE),
    Mutant("papers/mukai/codec/handles.py", "return _constrained(square, over.T @ (fade @ scores), through, scores)", "return _constrained(square, over.T @ (fade @ scores), through[:0], scores[:0])", EDITING),
    Mutant("papers/mukai/codec/handles.py", "weighted = keep[:, np.newaxis, np.newaxis] ** 2 * by_joint", "weighted = by_joint", EDITING),
    Mutant("papers/mukai/codec/handles.py", "if length > CLOSE:", "if False:", EDITING),
    Mutant("papers/mukai/codec/handles.py", "left = rotations.multiply(goal.rotation, rotations.conjugate(turns[:, goal.joint]))", "left = rotations.multiply(goal.rotation, turns[:, goal.joint])", EDITING),
    Mutant("papers/li/codec/bit_planes.py", "((np.abs(values) + 0.5) * size - 0.5)", "(np.abs(values) * size)", FK),
    Mutant("papers/li/codec/bit_planes.py", "return np.maximum(layer - lead, 0)", "return np.maximum(layer - 0 * lead, 0)", GOLDEN),
    Mutant("papers/li/codec/bit_planes.py", "count = max(1, round(frames * frame_time))", "count = 1", FK),
    Mutant("papers/li/codec/bit_planes.py", "new[fixed[: len(new)]] != 0", "new[fixed[: len(new)]] > 1", FK),
    Mutant("papers/li/codec/fk_wavelet.py", "np.float32(np.inf))", "np.float32(-np.inf))", FK),
    Mutant("papers/li/codec/fk_wavelet.py", "turn = np.where(bodies.twist_places[level, np.newaxis], turn, better)", "pass", FK),
    Mutant("papers/li/codec/fk_wavelet.py", "local[:, ranged] = within_ranges(local[:, ranged], rig.ranges)", "pass", FK),
    Mutant("papers/li/codec/fk_wavelet.py", "known[region] = coefficients[region]", "pass", FK),
    Mutant("papers/li/codec/constraints.py", "inside = np.clip(vectors, ranges[:, 0], ranges[:, 1])", "inside = np.maximum(vectors, ranges[:, 0])", FK),
    Mutant("papers/beaudoin/codec/coefficient_search.py", "failures = failures + 1 if receiver == donor else 0", "failures = failures + 1 if receiver == donor else failures", SEARCH),
    Mutant("papers/beaudoin/codec/coefficient_search.py", "return best if errors[best] < errors[donor] else donor", "return best", SEARCH),
    Mutant("papers/beaudoin/codec/coefficient_search.py", "size = min(step, int(counts[donor]))", "size = step", SEARCH),
    Mutant("papers/chattopadhyay/codec/columns.py", "levels = np.minimum(1 + depths, DEEPEST_LEVEL)", "levels = 1 + depths", BAP),
    Mutant("papers/chattopadhyay/codec/bap_index.py", "self.K * levels * differences.std(axis=0)", "self.K * differences.std(axis=0)", BAP),
    Mutant("papers/chattopadhyay/codec/bap_index.py", "return np.asarray(initial + np.cumsum(speeds, axis=0))", "return np.asarray(initial + speeds)", BAP),
    Mutant("papers/chattopadhyay/codec/bap_index.py", "for share in (1.0, 0.5, 0.2, 0.0)]", "for share in (1.0, 0.5, 0.2)]", BAP),
    Mutant("papers/chattopadhyay/codec/bap_index.py", "first_masked = 0 if self.sparse_fixed else plain.fixed", "first_masked = plain.fixed", BAP),
    Mutant("papers/chattopadhyay/codec/segments.py", "np.diff(cuts) ** (2 / 3)", "np.diff(cuts) ** (1 / 3)", BAP),
    Mutant("papers/chattopadhyay/codec/segments.py", "limits = np.where(unmasked, ALWAYS, choice.limits)", "limits = choice.limits", BAP),
    Mutant("papers/chattopadhyay/codec/columns.py", "np.argsort(-_influence(clip.skeleton)[moving], kind=", "np.argsort(_influence(clip.skeleton)[moving], kind=", BAP),
    Mutant("papers/chattopadhyay/codec/grid_search.py", "kept = (sizes <= limit).sum(axis=0)", "kept = (sizes > limit).sum(axis=0)", BAP),
    Mutant("papers/chattopadhyay/codec/grid_search.py", "return limit is None or bool(size <= SLACK * limit)", "return True", GRID),
    Mutant("papers/chattopadhyay/codec/mpeg4_bap.py", "change[np.abs(target - state - means) <= limits] = 0", "change[np.abs(target - state - means) > limits] = 0", MPEG4),
    Mutant("papers/chattopadhyay/energy.py", "sleeping * max(0.0, duration - seconds)", "sleeping * (duration - seconds)", "papers/chattopadhyay/test_energy.py"),
    Mutant("papers/chattopadhyay/energy.py", "if seconds < duration:  # then there is time to sleep", "if True:", "papers/chattopadhyay/test_energy.py"),
    Mutant("papers/chattopadhyay/tables/motions.py", "- head - 4 * changes", "- head", CHATTOPADHYAY),
    Mutant("papers/chattopadhyay/tables/energy_lines.py", "return (RECEIVING - SLEEPING) * receiving", "return RECEIVING * receiving", CHATTOPADHYAY),
    Mutant("papers/chattopadhyay/tables/figures.py", "fitting = found.sizes <= share * found.original", "fitting = found.sizes > 0", CHATTOPADHYAY),
    Mutant("bench/papers/verdicts.py", "(ours < paper) == less_is_better", "(ours < paper)", "bench/papers/test_verdicts.py"),
    Mutant("workers.py", "self._crew = [worker for worker in self._crew if worker.place is None]", "pass", "test_workers.py"),
    Mutant("papers/vasa/codec/rd_pca.py", "for _ in range(REFINEMENTS):", "for _ in range(1):", "papers/vasa"),
    Mutant("papers/vasa/codec/wide_planes.py", "return far * SPLIT + near", "return far * SPLIT - near", "papers/vasa"),
    Mutant("papers/vasa/codec/temporal_pca.py", "sizes * np.abs(mixes).sum(axis=1)", "sizes", "papers/vasa"),
    Mutant("papers/beaudoin/codec/limb_ik.py", " * (2 if count > 1 else 1)", "", "papers/beaudoin"),
    Mutant("papers/beaudoin/codec/coefficients.py", "(np.cumsum(is_place) - 1)[", "(np.cumsum(is_place) - 2)[", "papers/beaudoin"),
    Mutant("papers/beaudoin/codec/wavelet_ik.py", "header.skeleton.with_ancestors([*kept, *(limb.end for limb in limbs)])", "header.skeleton.with_ancestors(kept)", "papers/beaudoin"),
    Mutant("papers/vasa/codec/rd_pca.py", "means = np.round(weighted.mean(axis=0) / bitstream.mean_step(len(matrix)))", "means = np.round(weighted[0] / bitstream.mean_step(len(matrix)))", "papers/vasa"),
)  # fmt: skip


def main(words: list[str]) -> int:
    chosen = [m for m in MUTANTS if all(word in m.module for word in words)]
    survivors = 0
    for mutant in chosen:
        seen = is_noticed(mutant)
        survivors += not seen
        print(f"{'killed  ' if seen else 'SURVIVES'} {mutant.module}: {mutant.wrong}", flush=True)
    print(f"{len(chosen)} mutants, {survivors} survive")
    return survivors


def is_noticed(mutant: Mutant) -> bool:
    """Return whether the tests fail with the mutant in its module."""
    path = SOURCES / mutant.module
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.right) != 1:
        raise SystemExit(f"{mutant.module}: expected {mutant.right!r} exactly once")
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    try:
        path.write_text(text.replace(mutant.right, mutant.wrong), encoding="utf-8")
        done = subprocess.run(
            [*words, TESTS / mutant.tests], cwd=CHECKOUT, capture_output=True, check=False
        )
    finally:
        path.write_text(text, encoding="utf-8")
    return done.returncode != 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
