"""Many clips for the tracking task of mjlab 1.6, which reads one clip from an .npz file.

In `mjlab/tasks/tracking/tracking_env_cfg.py`, import `MotionCommandCfg` from here. Then
`motion_file` may be an archive. Its steps are those of the environment, so clips of any frame rate
are interpolated. An environment never goes from one clip to the next: after the last step of a clip
it starts again. Importing this module imports mjlab and torch.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from mjlab.tasks.tracking.mdp import commands

from mocpack.trainers.library import MotionLibrary, MotionState

if TYPE_CHECKING:
    from mjlab.envs import ManagerBasedRlEnv

__all__ = ["MotionCommand", "MotionCommandCfg"]
SUFFIX = ".mocps"
FIELDS = {
    "joint_pos": "angles",
    "joint_vel": "angle_velocities",
    "body_pos_w": "positions",
    "body_quat_w": "rotations",
    "body_lin_vel_w": "linear_velocities",
    "body_ang_vel_w": "angular_velocities",
}


class Motion:
    """All steps of all clips, one after the other, with the fields of mjlab's `MotionLoader`."""

    def __init__(
        self,
        path: str,
        body_names: tuple[str, ...],
        joint_names: tuple[str, ...],
        step_s: float,
        device: str,
    ) -> None:
        self.library = MotionLibrary(path, str(device), quaternion="wxyz")
        self._step_s, self._device = step_s, device
        names = set(zip(self.library.body_names, self.library.joint_names, strict=True))
        if len(names) != 1:
            raise ValueError(f"expected clips of one robot, got {len(names)} robots")
        ((bodies, joints),) = names
        self.columns = {
            "body": _columns("body", body_names, bodies, device),
            "joint": _columns("joint", joint_names, joints, device),
        }
        counts = np.floor(self.library.lengths / step_s + 1e-6).astype(np.int64) + 1
        self._counts = torch.as_tensor(counts, device=device)
        self._ends = torch.as_tensor(np.cumsum(counts), device=device)
        self.time_step_total = int(counts.sum())

    def clip_of(self, steps: torch.Tensor) -> torch.Tensor:
        """Return the clip of each step."""
        return torch.searchsorted(self._ends, steps, right=True)

    def is_last(self, steps: torch.Tensor) -> torch.Tensor:
        """Return which steps are the last of their clip."""
        return steps + 1 == self._ends[self.clip_of(steps)]

    def first(self, steps: torch.Tensor) -> torch.Tensor:
        """Return the first step of the clip of each step."""
        clips = self.clip_of(steps)
        return self._ends[clips] - self._counts[clips]

    def read(self, name: str, steps: torch.Tensor) -> torch.Tensor:
        """Return a field at these steps."""
        clips = self.clip_of(steps)
        times = (steps - self._ends[clips] + self._counts[clips]) * float(self._step_s)
        field, library = FIELDS[name], self.library
        kind, width = name.partition("_")[0], 4 if name == "body_quat_w" else 3
        size = (library.angle_count,) if kind == "joint" else (library.body_count, width)
        out = torch.empty((*steps.shape, *size), device=self._device)
        nothing = MotionState(*[None] * len(MotionState._fields))
        library.state(clips, times.to(torch.float64), out=nothing._replace(**{field: out}))
        return out[:, self.columns[kind]]

    def __getattr__(self, name: str) -> Field:
        if name not in FIELDS:
            raise AttributeError(name)
        return Field(self, name)


@dataclass(frozen=True)
class Field:
    """A field at all steps, computed where it is indexed."""

    motion: Motion
    name: str

    def __getitem__(self, key: torch.Tensor | tuple[torch.Tensor, int]) -> torch.Tensor:
        steps, *rest = key if isinstance(key, tuple) else (key,)
        return self.motion.read(self.name, steps)[(slice(None), *rest)]

    def to(self, device: str) -> torch.Tensor:
        """Return the first clip, which mjlab stores in exported policies."""
        steps = torch.arange(int(self.motion._ends[0]), device=self.motion._device)
        return self[steps].to(device)


class MotionCommand(commands.MotionCommand):
    """mjlab's command over many clips."""

    motion: Motion

    def __init__(self, cfg: MotionCommandCfg, env: ManagerBasedRlEnv) -> None:
        # "start" is the first step of any clip, not that of all
        self._is_from_start = cfg.sampling_mode == "start"
        if self._is_from_start:
            cfg = copy.copy(cfg)
            cfg.sampling_mode = "uniform"

        def load(path: str, body_indexes: torch.Tensor, device: str) -> Motion:
            joints = tuple(self.robot.joint_names)
            return Motion(path, tuple(cfg.body_names), joints, env.step_dt, device)

        loader, commands.MotionLoader = commands.MotionLoader, load
        try:
            super().__init__(cfg, env)
        finally:
            commands.MotionLoader = loader

    def _uniform_sampling(self, env_ids: torch.Tensor) -> None:
        super()._uniform_sampling(env_ids)
        if self._is_from_start:
            self.time_steps[env_ids] = self.motion.first(self.time_steps[env_ids])

    def _update_command(self, env_ids: torch.Tensor | None = None) -> None:
        # mjlab starts again after the last of all steps, so the last step of each clip becomes that
        chosen = slice(None) if env_ids is None else env_ids
        steps = self.time_steps[chosen]
        last = torch.full_like(steps, self.motion.time_step_total - 1)
        self.time_steps[chosen] = torch.where(self.motion.is_last(steps), last, steps)
        super()._update_command(env_ids)


@dataclass(kw_only=True)
class MotionCommandCfg(commands.MotionCommandCfg):
    """mjlab's configuration; `motion_file` may be an archive."""

    def build(self, env: ManagerBasedRlEnv) -> commands.MotionCommand:
        if not self.motion_file.endswith(SUFFIX):
            return super().build(env)
        return MotionCommand(self, env)


def _columns(
    kind: str, wanted: tuple[str, ...], found: tuple[str, ...], device: str
) -> torch.Tensor:
    missing = [name for name in wanted if name not in found]
    if missing:
        raise ValueError(f"the archive's robot lacks the {kind} {missing[0]!r} of mjlab's robot")
    return torch.tensor([found.index(name) for name in wanted], device=device)
