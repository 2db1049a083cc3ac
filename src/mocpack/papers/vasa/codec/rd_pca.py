"""Pose PCA over the clip, temporal PCA by chunk, both after Lagrangian equalization.

L. Váša and G. Brunnett, "Rate-distortion optimized compression of motion capture data", Computer
Graphics Forum 33 (2014). `docs/codecs/rd-pca.md` says what we changed and specifies the payload.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from mocpack.codec import (
    Codec,
    Decoder,
    Goal,
    Payload,
    PayloadLayout,
    Quality,
    Read,
    Rounds,
)
from mocpack.common.arrays import F64, I64
from mocpack.errors import CorruptionError, InvalidClipError, UsageError, convert_errors
from mocpack.metrics.papers import (
    TED_DISTANCE_M,
    TED_WINDOW_FRAMES,
    sk_ted,
    temporal_edges,
    windowed_mean,
)
from mocpack.model.clip import Clip, ClipHeader, measure_error
from mocpack.model.dofs import from_dofs, to_dofs
from mocpack.papers.vasa.codec import cobra, temporal_pca
from mocpack.papers.vasa.codec import payload as bitstream
from mocpack.papers.vasa.codec.equalization import kinematic_gram, noise_sensitivities
from mocpack.papers.vasa.codec.search import EXPECTED_TRIALS, equal_slopes

Equalization = Literal["full", "diagonal", "noise", "literal", "off"]
Metric = Literal["me", "max", "skted"]
Truncated = Literal["variance", "magnitudes"]
EulerAngles = Literal["continuous", "source"]
QuadraticForm = Callable[[Clip], npt.ArrayLike]
"""From a clip to the matrix (C, C) whose quadratic form is the squared error of a small change of
its degrees of freedom: positions in meters, angles in radians, in the order of its channels."""

STILL = 1e-8  # meters or radians; smaller motion is rounding
LARGEST = 2.0**40  # steps of a weighted chunk, within the range of a wide plane
NO_INFLUENCE = 1e-6  # weight, relative to the largest, of a column that the metric does not feel
_MEASURED: WeakKeyDictionary[Clip, dict[Hashable, F64]] = WeakKeyDictionary()
MORE_FRAMES = 192  # poses to evaluate for metrics whose weights vary over time
POSE_COST = 0.2  # squared steps per column; a pose of less energy costs more bytes than it saves
REFINEMENTS = 3  # of a fit; the first has an error of 1e-7
ROUNDING = 1e-15  # per column, relative to the largest energy
MIN_ENERGY = 1e-7  # relative to the total; smaller directions cannot be distinguished from rounding


@dataclass(frozen=True)
class RdPca(Codec[Clip, ClipHeader]):
    """Lagrangian equalization, pose PCA, temporal PCA by chunk, arithmetic coding.

    Parameters
    ----------
    lam : float
        λ in meters: how far one step of a coefficient moves the body. The quality knob.
    K : int, optional
        Poses kept; by default those of more than `pose_floor` steps RMS.
    P : float, optional
        Share of the energy that dropped trajectories may have; by default those of less than
        `trajectory_floor` squared steps are dropped.
    truncation : {"variance", "magnitudes"}
        The total that P refers to: the clip's variance, or the sum of the magnitudes of a chunk's
        coefficients.
    Q_l, Q_g : float
        Steps of the local (trajectory) and global (pose) bases; at 1 a bit spent on them saves as
        much error as one spent on the coefficients.
    s : int, optional
        Keep every s-th sample of a trajectory; by default as few as each chunk allows.
    L : int
        Frames of a chunk, the unit of random access.
    metric : {"me", "max", "skted"} or callable
        The error that equalization serves: mean joint error, the promised largest error, SkTED; or
        your own function that returns a quadratic form (see `QuadraticForm`). Files store the name
        of such a function and do not need it.
    le : {"full", "diagonal", "noise", "literal", "off"}
        Lagrangian equalization: from the kinematics, with the cross terms between columns or
        column by column; by noise, as in the paper; by noise and its equation 5 to the letter;
        none, every column in the source's own unit.
    ppca, tpca : bool
        Whether to use pose PCA and temporal PCA.
    centered : bool
        Subtract the mean of all channels in temporal PCA, as the paper does.
    pose_floor, trajectory_floor : float
        See `K` and `P`.
    closed_loop : bool
        Fit coefficients to the quantized bases, which the decoder has; without it to the bases
        before quantization, as the paper does.
    skin : float
        Weight of points on the skin relative to the joints, so that every column has an influence;
        0 in the paper, where rotating a last joint has none.
    euler : {"continuous", "source"}
        Continue Euler angles on the branch nearest to the frame before, or take those of the source
        file as they are, where the clip has them.
    noise_seed : int
        Seed of the noise of ``le=noise`` and ``le=literal``.
    trained : bool
        Start the arithmetic coder from trained statistics; otherwise from a uniform distribution,
        as the paper does.
    """

    codec_id = "rd-pca"
    bitstream_version = 1
    quality: ClassVar[Quality] = Quality("lam", 1e-9, 1.0)
    decoder_params = ("trained",)
    # s and Q_l, which the paper does not print, come from its own search on CMU 17_08 at 25.4 kB
    paper_settings = MappingProxyType(
        {
            "le": "literal",
            "centered": True,
            "closed_loop": False,
            "trained": False,
            "skin": 0.0,
            "euler": "source",
            "s": 12,
            "Q_l": 1.5,
        }
    )

    lam: float = 0.003
    K: int | None = None
    P: float | None = None
    Q_l: float = 1.0
    Q_g: float = 1.0
    s: int | None = None
    L: int = 120
    metric: Metric | QuadraticForm = "me"
    le: Equalization = "full"
    ppca: bool = True
    tpca: bool = True
    centered: bool = False
    pose_floor: float = 0.15
    trajectory_floor: float = 8.0
    truncation: Truncated = "variance"
    closed_loop: bool = True
    trained: bool = True
    skin: float = 0.1
    euler: EulerAngles = "continuous"
    noise_seed: int = 0

    def __post_init__(self) -> None:
        self.check_range("lam", 1e-10, 1e3)
        self.check_range("K", 1, 65_535)
        self.check_range("P", 0, 1)
        self.check_range("Q_l", 1e-3, 1e3)
        self.check_range("Q_g", 1e-3, 1e3)
        self.check_range("s", 1, 255)
        self.check_range("L", 2, bitstream.MAX_CHUNK_FRAMES)
        self.check_range("pose_floor", 0, 1e6)
        self.check_range("trajectory_floor", 0, 1e12)
        self.check_choice("le", get_args(Equalization))
        self.check_choice("truncation", get_args(Truncated))
        self.check_choice("euler", get_args(EulerAngles))
        self.check_range("skin", 0, 1)
        self.check_range("noise_seed", 0)
        if not callable(self.metric):
            self.check_choice("metric", get_args(Metric))
        elif self.le in ("noise", "literal"):
            raise ValueError(f"le={self.le} needs a metric of two clips, got a quadratic form")
        if self.truncation == "magnitudes" and self.P is None:
            raise ValueError("truncation=magnitudes needs P, the share of magnitudes to drop")

    def params(self) -> dict[str, Any]:
        return super().params() | {"metric": metric_name(self.metric)}

    def encode(self, clip: Clip) -> bytes:
        matrix = to_dofs(clip, unwrap=self.euler == "continuous")
        moving = np.ptp(matrix, axis=0) > STILL
        felt, gram = self._sensitivities(clip, matrix, moving)
        weights = _weight_exponents(matrix, felt / self.lam, self.L)
        weighted = matrix * 2.0 ** (weights / bitstream.WEIGHT_STEPS)
        means = np.round(weighted.mean(axis=0) / bitstream.mean_step(len(matrix)))
        centered = (weighted - means * bitstream.mean_step(len(matrix)))[:, moving]
        poses, exponents, exact = self._poses(centered, gram)
        model = bitstream.Model(
            self.L,
            self.tpca,
            self.centered,
            float(np.float32(self.Q_l)),
            float(np.float32(self.Q_g)),
            moving,
            weights,
            means.astype(np.int64),
            exponents,
            poses,
        )
        basis = model.basis() if self.closed_loop or exact is None else exact
        channels = _project(centered, basis, gram)
        return bitstream.pack(model, self._chunks(channels), trained=self.trained)

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        return self.open(payload, header).clip()

    def open(self, payload: Payload | bytes, header: ClipHeader) -> RdPcaDecoder:
        return RdPcaDecoder(self, payload, header)

    def tuning_rounds(self, clip: Any, goal: Goal, *, effort: str) -> Rounds:
        return equal_slopes(self, goal, effort=effort)

    def expected_trials(self, clip: Any, *, effort: str) -> int:
        return EXPECTED_TRIALS[effort]

    def _sensitivities(
        self, clip: Clip, matrix: F64, moving: npt.NDArray[np.bool_]
    ) -> tuple[F64, F64 | None]:
        """Return how far each column moves the body, in meters per meter or radian: λ w_i.

        Also returns the Gram matrix of the weighted moving columns, or None if columns are weighted
        one by one.
        """
        gram = _gram(clip, self.metric, self.skin)
        known = np.sqrt(np.diag(gram))
        if self.le == "diagonal" or not moving.any():
            return known, None
        if self.le == "full":
            some = known[moving]
            return known, gram[np.ix_(moving, moving)] / np.outer(some, some)
        if self.le == "off":
            found = 1 / np.where(clip.skeleton.columns.is_angle, np.pi / 180, clip.unit)
        else:
            found = self._noise(clip, matrix)
            # columns without influence on this metric still move the skin
            scale = found[moving].mean() / known[moving].mean()
            found = np.hypot(found, self.skin * scale * known)
            found = np.maximum(found, NO_INFLUENCE * found.max())
        # the total number of bits stays that of the kinematics, so that λ keeps its meaning
        found = found * np.exp(np.mean(np.log(known[moving] / found[moving])))
        return np.where(moving, found, known), None

    def _noise(self, clip: Clip, matrix: F64) -> F64:
        """Return the sensitivities by noise, measured once per clip in all its encodings."""
        measured = _MEASURED.setdefault(clip, {})
        key = self.metric, self.le, self.euler, self.noise_seed
        if key not in measured:
            measured[key] = noise_sensitivities(
                clip,
                _metric(clip, str(self.metric)),
                matrix=matrix,
                seeds=(self.noise_seed,),
                literal=self.le == "literal",
            )
        return measured[key]

    def _poses(self, centered: F64, gram: F64 | None) -> tuple[I64 | None, I64, F64 | None]:
        """Return the principal poses (K, N) of weighted columns (T, N), and their exponents.

        The b_j of equation (6).

        The last result are the poses before quantization.
        """
        count = centered.shape[1]
        if not self.ppca or not count:
            return None, np.zeros(0, np.int64), None
        energies, poses = _principal_poses(centered, gram)
        # directions that are small next to the largest may matter, so they stay
        unsure = ROUNDING * count * energies.max(initial=0.0)
        least = len(centered) * self.pose_floor**2 + POSE_COST * count
        felt = int(np.count_nonzero(energies + unsure > least))
        K = min(self.K or felt, len(energies))
        exponents = cobra.importance_exponents(np.sqrt(energies[:K]), poses[:, :K])
        whole = np.round(poses[:, :K] / cobra.steps(self.Q_g, exponents))
        return whole.astype(np.int64).T, exponents, poses[:, :K].T

    def _chunks(self, channels: F64) -> list[temporal_pca.Trajectories | I64]:
        parts = [channels[a : a + self.L] for a in range(0, len(channels), self.L)]
        if not self.tpca:
            return [np.round(part).astype(np.int64) for part in parts]
        budget = None if self.P is None else self.P * float(np.sum(channels**2)) / len(parts)
        share = self.P if self.truncation == "magnitudes" else None
        truncation = temporal_pca.Truncation(self.trajectory_floor, budget, share)
        return [
            temporal_pca.quantize(
                part,
                s=self.s,
                Q_l=self.Q_l,
                truncation=truncation,
                centered=self.centered,
                closed_loop=self.closed_loop,
            )
            for part in parts
        ]


class RdPcaDecoder(Decoder[Clip, ClipHeader]):
    """Decodes chunks separately."""

    codec: RdPca

    @cached_property
    def _head(self) -> bitstream.RdPcaHead:
        return bitstream.read_head(
            self.payload.read,
            self.header.frame_count,
            self.header.skeleton.channel_count,
            trained=self.codec.trained,
        )

    def clip(self) -> Clip:
        payload = Payload.from_bytes(self.payload.read_all())
        if self._head.offsets[-1] < payload.size:
            raise CorruptionError("rd-pca payload: unexpected bytes at the end (file is corrupt)")
        last = len(self._head.offsets) - 1
        return _decode_chunks(payload.read, self.header, self._head, 0, last)

    def frames(self, start: int, stop: int, joints: Sequence[int] | None = None) -> Clip:
        length = self._head.model.L
        first, last = start // length, -(-stop // length)
        clip = _decode_chunks(self.payload.read, self.header, self._head, first, last)
        clip = clip.frames(start - first * length, stop - first * length)
        return clip if joints is None else clip.joints(joints)

    def layout(self) -> PayloadLayout:
        head = self._head
        model = head.offsets[0] - head.index_bytes
        return PayloadLayout(len(head.offsets) - 1, 1, head.index_bytes, model)


def _decode_chunks(
    read: Read, header: ClipHeader, head: bitstream.RdPcaHead, first: int, last: int
) -> Clip:
    channels = bitstream.read_chunks(read, head, header.frame_count, first, last)
    matrix = head.model.columns(channels, header.frame_count)
    with convert_errors(InvalidClipError, "rd-pca payload"):
        return from_dofs(matrix, replace(header, frame_count=len(matrix)))


def metric_name(metric: Metric | QuadraticForm) -> str:
    """Return the name of a metric in files and searches."""
    return metric if isinstance(metric, str) else getattr(metric, "__name__", "form")


def _gram(clip: Clip, metric: Metric | QuadraticForm, skin: float) -> F64:
    """Return the Gram matrix (C, C) of point displacements, in square meters."""
    if callable(metric):
        gram = _own_form(clip, metric)
    elif metric == "max":
        gram = kinematic_gram(clip, points="shell")
    elif metric == "me":
        gram = kinematic_gram(clip, skin=skin)
    else:
        emphasis = _slowness(clip.positions())
        gram = kinematic_gram(clip, skin=skin, emphasis=emphasis, frames=MORE_FRAMES)
    # a column that moves nothing (a bone of length 0) still needs a step
    floor = 1e-6 * max(float(np.diag(gram).max(initial=0.0)), 1e-6)
    return gram + floor * np.eye(len(gram))


def _own_form(clip: Clip, metric: QuadraticForm) -> F64:
    """Return the form that a user's function gives, or raise an error."""
    form, name = np.asarray(metric(clip), np.float64), metric_name(metric)
    wanted = (clip.skeleton.channel_count,) * 2
    if form.shape != wanted:
        raise UsageError(
            f"metric {name} gave an array of shape {form.shape}, "
            f"a quadratic form of this clip has {wanted}"
        )
    if not np.isfinite(form).all():
        raise UsageError(f"metric {name} gave numbers that are not finite")
    form = (form + form.T) / 2
    lowest, *_, highest = np.linalg.eigvalsh(form)
    if not lowest >= -1e-9 * highest or not highest > 0:
        raise UsageError(
            f"metric {name} gave a form with eigenvalues from {lowest:g} to {highest:g}, "
            "a squared error has none below 0 and one above"
        )
    return form


def _slowness(positions: F64) -> F64:
    """Return the weight of position errors in SkTED, shape (T, J), with mean 1."""
    if len(positions) < 2:
        return np.ones(positions.shape[:2])
    lengths = windowed_mean(temporal_edges(positions, TED_DISTANCE_M), TED_WINDOW_FRAMES)
    weights = 1 / np.concatenate([lengths, lengths[-1:]]) ** 2
    return np.asarray(weights / weights.mean())


def _metric(clip: Clip, name: str) -> Any:
    """Return the error that noise is measured by, as a function of two clips."""
    source = clip.positions()

    def me(_: Clip, noisy: Clip) -> float:
        return float(np.linalg.norm(noisy.positions() - source, axis=-1).mean())

    def largest(original: Clip, noisy: Clip) -> float:
        return measure_error(original, noisy).max

    def skted(_: Clip, noisy: Clip) -> float:
        return sk_ted(source, noisy.positions()) or 0.0

    return {"me": me, "max": largest, "skted": skted}[name]


def _weight_exponents(matrix: F64, weights: F64, L: int) -> I64:
    """Return exponents of the weights, all of them lower where numbers would grow too large."""
    exponents = np.round(bitstream.WEIGHT_STEPS * np.log2(weights))
    spread = (matrix - matrix.mean(axis=0)) * 2.0 ** (exponents / bitstream.WEIGHT_STEPS)
    most = np.sqrt(np.sum(spread**2, axis=1).max() * L * matrix.shape[1])
    excess = max(0.0, np.ceil(bitstream.WEIGHT_STEPS * np.log2(max(most, 1.0) / LARGEST)))
    return np.asarray(exponents - excess, np.int64)


def _principal_poses(centered: F64, gram: F64 | None) -> tuple[F64, F64]:
    """Return energies, falling, and poses (N, n) of columns (T, N), orthonormal under `gram`."""
    frames, columns = centered.shape
    metric = np.eye(columns) if gram is None else gram
    if frames < columns:
        energies, sides = np.linalg.eigh(centered @ metric @ centered.T)
        energies, sides = energies[::-1], sides[:, ::-1]
        count = np.count_nonzero(energies > MIN_ENERGY * max(energies[0], MIN_ENERGY))
        poses = centered.T @ sides[:, :count] / np.sqrt(energies[:count])
        return energies[:count], poses
    # a change without displacement has no energy, but its pose must be finite
    root = np.linalg.cholesky(metric + MIN_ENERGY * columns * np.eye(columns))
    energies, axes = np.linalg.eigh(root.T @ (centered.T @ centered) @ root)
    return np.maximum(energies[::-1], 0), np.linalg.solve(root.T, axes[:, ::-1])


def _project(centered: F64, basis: F64, gram: F64 | None) -> F64:
    """Return the channels (T, K) by which the basis comes nearest to the columns: equation (7)."""
    felt = basis if gram is None else basis @ gram
    square = felt @ basis.T
    ridge = 1e-9 * max(float(np.trace(square)), 1e-30)
    firm = square + ridge * np.eye(len(square))
    channels = np.zeros((len(centered), len(basis)))
    # the ridge term shrinks the solution, so the residual is fitted again
    for _ in range(REFINEMENTS):
        left = centered - channels @ basis
        channels += np.linalg.solve(firm, felt @ left.T).T
    return channels
