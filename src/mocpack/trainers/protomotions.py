"""A motion library for ProtoMotions 3.1 that also reads archives: ``--motion-file g1.mocps``.

In `protomotions/utils/component_builder.py`, import `MotionLib` from here. Other files are read as
before. Pack the archive with the MJCF file of ProtoMotions' robot, so that its bodies are those of
the simulator. Importing this module imports protomotions and torch.
"""

from __future__ import annotations

import torch
from protomotions.components import motion_lib
from protomotions.simulator.base_simulator.simulator_state import RobotState, StateConversion

from mocpack.trainers.library import MotionLibrary, MotionState

__all__ = ["MotionLib"]
SUFFIX = ".mocps"


class MotionLib(motion_lib.MotionLib):
    """ProtoMotions' library; motions of an archive take 144 bytes per frame of a G1, not 1,981."""

    library: MotionLibrary | None = None

    def __init__(
        self, config: motion_lib.MotionLibConfig, device: str = "cpu", shard_cycle: int = 0
    ) -> None:
        if not str(config.motion_file).endswith(SUFFIX):
            super().__init__(config, device, shard_cycle)
            return
        if config.max_seconds is not None:
            raise ValueError("max_seconds is not supported for archives; cut the clips in packing")
        self.config, self.device, self.motion_file = config, device, config.motion_file
        self.motion_file_shard_cycle, self.motion_file_shard_index = shard_cycle, None
        self.different_motion_files_across_ranks = False
        self.get_motion_state_use_blend = config.get_motion_state_use_blend
        library = MotionLibrary(config.motion_file, str(device), velocity="protomotions")
        self.library, self.motion_files = library, library.names
        self.contacts = self.lrs = self.goal_states = None
        self.motion_num_frames = torch.as_tensor(library.frame_counts, device=device)
        self.length_starts = torch.as_tensor(library.boundaries[:-1].copy(), device=device)
        self.motion_weights = torch.as_tensor(library.weights, device=device)
        self.motion_lengths = torch.as_tensor(library.lengths, device=device).float()
        self.motion_dt = torch.as_tensor(1 / library.frame_rates, device=device).float()

    def get_motion_state(
        self, motion_ids: torch.Tensor, motion_times: torch.Tensor, joint_3d_format: str = "exp_map"
    ) -> RobotState:
        if self.library is None:
            return super().get_motion_state(motion_ids, motion_times, joint_3d_format)
        return _robot_state(self.library.state(*_pair(motion_ids, motion_times.to(torch.float32))))

    def get_motion_state_exact_frame(
        self, motion_ids: torch.Tensor, frame_indices: torch.Tensor
    ) -> RobotState:
        if self.library is None:
            return super().get_motion_state_exact_frame(motion_ids, frame_indices)
        return _robot_state(self.library.frames(*_pair(motion_ids, frame_indices)))


def _pair(ids: torch.Tensor, moments: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    ids, moments = torch.broadcast_tensors(ids, moments)
    return ids.contiguous(), moments.contiguous()


def _robot_state(state: MotionState) -> RobotState:
    return RobotState.from_dict(
        {
            "rigid_body_pos": state.positions,
            "rigid_body_rot": state.rotations,
            "rigid_body_vel": state.linear_velocities,
            "rigid_body_ang_vel": state.angular_velocities,
            "dof_pos": state.angles,
            "dof_vel": state.angle_velocities,
        },
        state_conversion=StateConversion.COMMON,
    )
