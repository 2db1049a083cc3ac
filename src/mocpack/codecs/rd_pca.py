"""Pose PCA over the clip, temporal PCA by chunk, both after Lagrangian equalisation.

L. Váša and G. Brunnett, "Rate-distortion optimized compression of motion capture data", Computer
Graphics Forum 33 (2014). `docs/codecs/rd-pca.md` says what we changed and specifies the payload.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from mocpack.clip import Clip, ClipHeader
from mocpack.codec import Codec, Quality, Read
from mocpack.dofs import from_dofs, is_angle, moving_dofs, to_dofs
from mocpack.entropy.fields import FieldReader, FieldWriter
from mocpack.entropy.planes import (
    decode_plane,
    decode_start,
    encode_plane,
    encode_start,
    shared_start,
)
from mocpack.errors import CorruptionError, InvalidClipError, TruncatedError, UnsupportedClipError
from mocpack.transforms import cobra, temporal_pca
from mocpack.transforms.equalisation import (
    kinematic_gram,
    kinematic_sensitivities,
    noise_sensitivities,
)

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

Equalisation = Literal["full", "diagonal", "noise", "literal", "off"]
Metric = Literal["me", "max", "skted", "skate"]

PPCA, TPCA, CENTRED, START = 1, 2, 4, 8  # bits of the flags
LONGEST_CHUNK = 4096
WEIGHT_STEPS = 4  # of a weight's exponent to a factor of two
LARGEST = 2.0**26  # of a weighted pose, in steps: what the entropy coder takes, with room to grow
MEAN_SPLIT = 1 << 20


@dataclass(frozen=True)
class RdPca(Codec):
    """Lagrangian equalisation, pose PCA, temporal PCA by chunk, arithmetic coding.

    Parameters
    ----------
    lam : float
        λ in metres: how far one step of a coefficient moves the body. The quality knob.
    K : int, optional
        Poses kept; by default those of more than `pose_floor` steps RMS.
    P : float, optional
        Share of the clip's variance that dropping trajectories may remove; by default those of
        less than `trajectory_floor` squared steps are dropped.
    Q_l, Q_g : float
        Steps of the local (trajectory) and global (pose) bases; 1 spends bits on them as well as
        on the coefficients.
    s : int, optional
        Keep every s-th sample of a trajectory; by default as the chunk allows.
    L : int
        Frames of a chunk, the unit of random access.
    metric : {"me", "max", "skted", "skate"}
        The error that equalisation serves: mean joint error, the promised largest error, SkTED,
        sliding of planted feet.
    le : {"full", "diagonal", "noise", "literal", "off"}, optional
        Lagrangian equalisation: by the kinematics with the cross terms between columns, or column
        by column; by noise as in the paper; by noise and its equation 5 to the letter; none, every
        column in the source's own unit. By default "full" for errors of position, else "noise".
    ppca, tpca : bool
        Whether pose PCA and temporal PCA take part.
    centred : bool
        Subtract the mean of all channels in temporal PCA, as the paper does.
    pose_floor, trajectory_floor : float
        See `K` and `P`.
    """

    codec_id = "rd-pca"
    bitstream_version = 1
    quality: ClassVar[Quality] = Quality("lam", 1e-5, 1.0)
    tuning_axes: ClassVar[tuple[str, str]] = ("size", "error")

    lam: float = 0.003
    K: int | None = None
    P: float | None = None
    Q_l: float = 1.0
    Q_g: float = 1.0
    s: int | None = None
    L: int = 120
    metric: Metric = "me"
    le: Equalisation | None = None
    ppca: bool = True
    tpca: bool = True
    centred: bool = False
    pose_floor: float = 0.2
    trajectory_floor: float = 8.0

    def __post_init__(self) -> None:
        _between("lam", self.lam, 1e-6, 1e3)
        _between("K", self.K, 1, 65_535)
        _between("P", self.P, 0.0, 1.0)
        _between("Q_l", self.Q_l, 1e-3, 1e3)
        _between("Q_g", self.Q_g, 1e-3, 1e3)
        _between("s", self.s, 1, 255)
        _between("L", self.L, 2, LONGEST_CHUNK)
        _between("pose_floor", self.pose_floor, 0.0, 1e6)
        _between("trajectory_floor", self.trajectory_floor, 0.0, 1e12)
        _among("metric", self.metric, get_args(Metric))
        _among("le", self.le or "full", get_args(Equalisation))
        if self.le in ("full", "diagonal") and self.metric in ("skted", "skate"):
            raise ValueError(f"le={self.le} is for errors of position; {self.metric} takes noise")

    def encode(self, clip: Clip) -> bytes:
        matrix = to_dofs(clip)
        scale = self._scale(clip, matrix)
        poses = _centre(matrix, scale)
        basis = self._pose_basis(poses.moving, scale.gram)
        channels = basis.project(poses.moving, scale.gram)
        classes, chunks = zip(*self._chunks(channels), strict=True)
        return _pack(self, scale, poses, basis, list(classes), list(chunks))

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        def read(offset: int, size: int) -> bytes:
            if offset + size > len(payload):
                raise TruncatedError("rd-pca payload ends too early")
            return payload[offset : offset + size]

        head = _read_head(read, header)
        if head.offsets[-1] < len(payload):
            raise CorruptionError("rd-pca payload has bytes too many")
        return _decode_chunks(read, header, head, 0, len(head.offsets) - 1)

    def decode_frames(
        self, read: Read, header: ClipHeader, start: int, stop: int, joints: Sequence[int] | None
    ) -> Clip:
        head = _read_head(read, header)
        first, last = start // head.L, -(-stop // head.L)
        clip = _decode_chunks(read, header, head, first, last)
        clip = clip.frames(start - first * head.L, stop - first * head.L)
        return clip if joints is None else clip.joints(joints)

    def _scale(self, clip: Clip, matrix: F64) -> Scale:
        """Return the weight of each column, and the Gram matrix of the weighted columns."""
        moving = moving_dofs(matrix)
        gram = None
        if (self.le or DEFAULT_LE[self.metric]) == "full":
            gram = _gram(clip, self.metric)
            felt = np.sqrt(np.diag(gram))
        else:
            felt = self._felt(clip, moving)
        exponents = np.round(WEIGHT_STEPS * np.log2(felt / self.lam)).astype(np.int64)
        exponents -= _too_fine(matrix, exponents, self.L)
        if gram is None or not moving.any():
            return Scale(moving, exponents, None)
        weighted = felt[moving]
        return Scale(moving, exponents, gram[np.ix_(moving, moving)] / np.outer(weighted, weighted))

    def _felt(self, clip: Clip, moving: npt.NDArray[np.bool_]) -> F64:
        """Return how far the body moves by each column alone, metres by metre or radian."""
        known = np.sqrt(np.diag(_gram(clip, self.metric)))
        if self.le == "diagonal":
            return np.asarray(known)
        middle = float(np.exp(np.log(known[moving]).mean())) if moving.any() else 1.0
        if self.le == "off":
            unit = np.where(is_angle(clip.skeleton), np.pi / 180, clip.unit)
            return _with_middle(1 / unit, moving, middle)
        metric = _noise_metric(self.metric)
        found = noise_sensitivities(clip, metric, literal=self.le == "literal")
        # a column that this metric does not feel still moves the skin
        found = np.maximum(found, LEAST_FELT * found[moving].max(initial=0.0))
        return _with_middle(np.where(found > 0, found, known), moving, middle)

    def _pose_basis(self, moving: F64, gram: F64 | None) -> PoseBasis:
        """Return the principal poses (K, N) of weighted columns (T, N), quantised."""
        count = moving.shape[1]
        if not self.ppca or not count:
            return PoseBasis(None, np.zeros(0, np.int64), np.eye(count))
        root = np.eye(count) if gram is None else _symmetric_root(gram)
        energies, axes = np.linalg.eigh(root @ (moving.T @ moving) @ root)
        energies, axes = np.maximum(energies[::-1], 0), axes[:, ::-1]
        K = self.K or int(np.count_nonzero(energies > len(moving) * self.pose_floor**2))
        poses = np.linalg.solve(root, axes[:, : min(K, count)])
        exponents = cobra.importance_exponents(np.sqrt(energies[: poses.shape[1]]), poses)
        steps = cobra.steps(self.Q_g, exponents)
        whole = np.round(poses / steps).astype(np.int64).T
        return PoseBasis(whole, exponents, whole * steps[:, np.newaxis])

    def _chunks(self, channels: F64) -> list[tuple[I64, tuple[bytes, I64]]]:
        """Return of each chunk its classes, and its fields and plane of integers."""
        K = channels.shape[1]
        starts = range(0, len(channels), self.L)
        if not self.tpca:
            none = np.zeros(K, np.int64)
            return [
                (none, (b"", np.round(channels[a : a + self.L]).astype(np.int64))) for a in starts
            ]
        budget = None if self.P is None else self.P * float(np.sum(channels**2)) / len(starts)
        truncation = temporal_pca.Truncation(self.trajectory_floor, budget)
        out = []
        for a in starts:
            found = temporal_pca.quantise(
                channels[a : a + self.L],
                s=self.s,
                Q_l=self.Q_l,
                truncation=truncation,
                centred=self.centred and K > 0,
            )
            out.append((_classes(len(found.knots), K), _chunk_plane(found)))
        return out
