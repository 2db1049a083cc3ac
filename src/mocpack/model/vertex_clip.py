"""Vertex animations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from mocpack.common.arguments import check_number
from mocpack.common.arrays import F64, I32
from mocpack.common.frozen import FrozenPickle, freeze_array
from mocpack.common.json_object import Json
from mocpack.errors import InvalidClipError, UsageError
from mocpack.model.header import (
    BaseClip,
    Selection,
    VertexHeader,
    check_frames,
    parse_selection,
    time_to_frame,
)
from mocpack.model.space import MAX_DECODED_COORDINATE_M


@dataclass(frozen=True, eq=False)
class VertexClip(BaseClip, FrozenPickle):
    """A vertex animation: a mesh in motion.

    Parameters
    ----------
    header : VertexHeader
    vertices : array, shape (T, V, 3)
        Positions in meters.
    """

    header: VertexHeader
    vertices: F64

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", freeze_array(self.vertices))
        shape = (self.header.frame_count, self.header.vertex_count, 3)
        if self.vertices.shape != shape:
            raise InvalidClipError(f"expected vertices of shape {shape}, got {self.vertices.shape}")
        if not np.abs(self.vertices).max(initial=0.0) < MAX_DECODED_COORDINATE_M:
            raise InvalidClipError(
                f"vertices must be finite and below {MAX_DECODED_COORDINATE_M:.0e} m"
            )

    def __repr__(self) -> str:
        """Return three lines: length, mesh and bounding box."""
        reach = np.ptp(self.vertices, axis=(0, 1))
        frames = "1 frame" if len(self) == 1 else f"{len(self)} frames"
        return (
            f"VertexClip of {frames} at {self.fps:g} fps, {self.duration:.3f} s\n"
            f"  {self.header.vertex_count} vertices, {len(self.faces)} triangles\n"
            f"  within {reach[0]:.3g} x {reach[1]:.3g} x {reach[2]:.3g} m"
        )

    def __getitem__(self, key: Selection) -> VertexClip:
        """Return some frames: ``clip[10:200]``, ``clip[::4]``, ``clip[-1]``.

        >>> from mocpack.testing.motions import vertex_wave
        >>> clip = vertex_wave(frames=12)
        >>> len(clip[2:8]), len(clip[-1]), clip[::3].fps == clip.fps / 3
        (6, 1, True)
        """
        start, stop, step, joints = parse_selection(key, self.frame_count)
        if joints is not None:
            self.joints(joints)
        chosen = self.vertices[start:stop:step]
        header = replace(self.header, frame_count=len(chosen), frame_time=self.frame_time * step)
        return VertexClip(header, chosen)

    @classmethod
    def build(
        cls,
        vertices: npt.ArrayLike,
        faces: npt.ArrayLike | None = None,
        *,
        frame_rate: float = 30.0,
        metadata: Mapping[str, Json] | None = None,
    ) -> Self:
        """Make a vertex animation from arrays (T, V, 3) and (F, 3)."""
        vertices = np.asarray(vertices, np.float64)
        if vertices.ndim != 3:
            raise InvalidClipError(f"expected vertices of shape (T, V, 3), got {vertices.shape}")
        indices = np.zeros((0, 3), np.int32) if faces is None else np.asarray(faces)
        frame_time = 1 / check_number("frame_rate", frame_rate, 1e-6, 1e6, error=InvalidClipError)
        header = VertexHeader(vertices.shape[1], indices, len(vertices), frame_time, metadata or {})
        return cls(header, vertices)

    @property
    def faces(self) -> I32:
        return self.header.faces

    @property
    def duration(self) -> float:
        """Duration in seconds, including the last frame.

        >>> from mocpack.testing.motions import vertex_wave
        >>> vertex_wave(frames=60).duration
        2.0
        """
        return self.frame_count * self.frame_time

    @property
    def times(self) -> F64:
        """Time of each frame in seconds, (T,)."""
        return np.asarray(np.arange(self.frame_count) * self.frame_time)

    def positions(self) -> F64:
        """Return `vertices`."""
        return self.vertices

    def joints(self, joints: Sequence[str | int]) -> Self:
        """Raise `UsageError`: a mesh has no joints."""
        self.header.indices(joints)
        return self

    def frames(self, start: int, stop: int) -> Self:
        """Return frames `start` to `stop`, half-open."""
        check_frames(start, stop, self.frame_count)
        header = replace(self.header, frame_count=stop - start)
        return type(self)(header, self.vertices[start:stop])

    def velocities(self) -> F64:
        """Return velocities (T, V, 3) of all vertices, in meters per second.

        Central differences, one-sided at the ends; 0 for a clip of one frame.
        """
        if len(self) == 1:
            return np.zeros_like(self.vertices)
        return np.asarray(np.gradient(self.vertices, self.frame_time, axis=0))

    def resample(self, fps: float) -> VertexClip:
        """Return the motion at another frame rate, with linear interpolation.

        The first frame keeps its time; no frame lies after the end.

        >>> from mocpack.testing.motions import vertex_wave
        >>> len(vertex_wave(frames=31).resample(15))
        16
        """
        check_number("fps", fps, 1e-6, 1e6)
        count = int((self.frame_count - 1) * self.frame_time * fps + 1e-6) + 1
        at = np.minimum(np.arange(count) / (fps * self.frame_time), self.frame_count - 1)
        header = replace(self.header, frame_count=count, frame_time=1 / fps)
        return VertexClip(header, self._interpolate(at))

    def concat(self, *others: VertexClip) -> VertexClip:
        """Return this clip followed by others of the same mesh and frame rate.

        >>> from mocpack.testing.motions import vertex_wave
        >>> clip = vertex_wave(frames=12)
        >>> len(clip.concat(clip))
        24
        """
        clips = [self, *others]
        for k, other in enumerate(clips[1:], 2):
            if not np.array_equal(other.faces, self.faces):
                raise UsageError(f"clip {k} of {len(clips)} has different faces than the first")
            for name in ("vertex_count", "frame_time"):
                if getattr(other.header, name) != getattr(self.header, name):
                    raise UsageError(
                        f"clip {k} of {len(clips)} has a different {name} than the first"
                    )
        header = replace(self.header, frame_count=sum(map(len, clips)))
        return VertexClip(header, np.concatenate([clip.vertices for clip in clips]))

    def sample(self, time: float) -> VertexClip:
        """Return the shape at `time` seconds as a one-frame clip: linear, clamped."""
        return self.pose_at(time_to_frame(time, self.header, None))

    def pose_at(self, at: float) -> Self:
        """Return the shape at a frame index, which may be fractional, as a one-frame clip."""
        check_number("at", at, 0, self.frame_count - 1)
        header = replace(self.header, frame_count=1)
        return type(self)(header, self._interpolate(np.array([at])))

    def _interpolate(self, at: F64) -> F64:
        """Return the vertices (N, V, 3) at frame indices (N,), interpolated linearly."""
        first = np.minimum(at.astype(np.intp), self.frame_count - 1)
        last = np.minimum(first + 1, self.frame_count - 1)
        share = (at - first)[:, np.newaxis, np.newaxis]
        return np.asarray((1 - share) * self.vertices[first] + share * self.vertices[last])
