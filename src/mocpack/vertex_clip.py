"""A mesh in motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mocpack.arrays import F64, I32
from mocpack.errors import InvalidClipError, UsageError
from mocpack.header import VertexHeader
from mocpack.skeleton import FrozenPickle, frozen_array
from mocpack.space import FARTHEST_DECODED


@dataclass(frozen=True, eq=False)
class VertexClip(FrozenPickle):
    """A mesh in motion.

    Parameters
    ----------
    header : VertexHeader
    vertices : array, shape (T, V, 3)
    """

    header: VertexHeader
    vertices: F64

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", frozen_array(self.vertices))
        shape = (self.header.frame_count, self.header.vertex_count, 3)
        if self.vertices.shape != shape:
            raise InvalidClipError(f"expected vertices of shape {shape}, got {self.vertices.shape}")
        if not np.abs(self.vertices).max(initial=0.0) < FARTHEST_DECODED:
            raise InvalidClipError(f"vertices must be finite and below {FARTHEST_DECODED:.0e}")

    @classmethod
    def build(
        cls,
        vertices: npt.ArrayLike,
        faces: npt.ArrayLike | None = None,
        *,
        frame_rate: float = 30.0,
        metadata: Mapping[str, Any] | None = None,
    ) -> Self:
        """Make a vertex animation from arrays (T, V, 3) and (F, 3)."""
        vertices = np.asarray(vertices, np.float64)
        if vertices.ndim != 3:
            raise InvalidClipError(f"expected vertices of shape (T, V, 3), got {vertices.shape}")
        indices = np.zeros((0, 3), np.int32) if faces is None else np.asarray(faces)
        header = VertexHeader(
            vertices.shape[1], indices, len(vertices), 1 / frame_rate, metadata or {}
        )
        return cls(header, vertices)

    @property
    def faces(self) -> I32:
        return self.header.faces

    @property
    def frame_count(self) -> int:
        return self.header.frame_count

    @property
    def frame_time(self) -> float:
        return self.header.frame_time

    @property
    def frame_rate(self) -> float:
        return self.header.frame_rate

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self.header.metadata

    def frames(self, start: int, stop: int) -> VertexClip:
        """Return frames `start` to `stop`, half-open."""
        if not 0 <= start < stop <= self.frame_count:
            raise UsageError(
                f"frames {start}:{stop} do not lie in a clip of {self.frame_count} frames"
            )
        return VertexClip(replace(self.header, frame_count=stop - start), self.vertices[start:stop])

    def sample(self, time: float) -> VertexClip:
        """Return the shape at `time` seconds as a one-frame clip, linear between, clamped."""
        at = min(max(time / self.frame_time, 0.0), self.frame_count - 1.0)
        first = min(int(at), self.frame_count - 1)
        last = min(first + 1, self.frame_count - 1)
        mixed = (1 - at + first) * self.vertices[first] + (at - first) * self.vertices[last]
        return VertexClip(replace(self.header, frame_count=1), mixed[np.newaxis])
