"""A small autoencoder of poses and velocities, trained on states of any source."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from mocpack.model.clip import Clip
from mocpack.robots import robot_motion
from mocpack.trainers import MotionLibrary

BATCH, LATENT, HIDDEN, RATE = 512, 16, 256, 1e-3
Frames = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # of clips and frame indices


def features(*fields: torch.Tensor) -> torch.Tensor:
    """Return positions beside the root's, rotations and velocities of all bodies (N, 13 B)."""
    positions, turns, linear, angular = fields
    turns = torch.where(turns[..., 3:] < 0, -turns, turns)
    beside = positions - positions[:, :1]
    return torch.cat([beside, turns, linear, angular], dim=-1).flatten(1)


def from_library(library: MotionLibrary) -> Frames:
    """Return the features of a library's frames, computed when they are needed."""
    return lambda clips, frames: features(*library.frames(clips, frames)[:4])


def from_tensors(clips: Sequence[Clip]) -> Frames:
    """Return the features of clips, computed in double precision and kept as float tensors."""
    motions = [robot_motion(clip) for clip in clips]
    starts = torch.tensor([0, *(clip.frame_count for clip in clips)]).cumsum(0)
    columns = zip(*((*m.body_poses, *m.body_velocities) for m in motions), strict=True)
    rows = [torch.cat([torch.from_numpy(one).float() for one in column]) for column in columns]
    return lambda clips, frames: features(*(one[starts[clips] + frames] for one in rows))


def train(frames: Frames, lengths: Sequence[int], steps: int, *, seed: int = 0) -> list[float]:
    """Return the loss of each step. The seed decides the weights and the frames of all batches."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # more would add in another order
    counts = torch.tensor(lengths)
    width = frames(torch.zeros(1, dtype=torch.long), torch.zeros(1, dtype=torch.long)).shape[1]
    layers = [torch.nn.Linear(width, HIDDEN), torch.nn.ELU(), torch.nn.Linear(HIDDEN, LATENT)]
    layers += [torch.nn.Linear(LATENT, HIDDEN), torch.nn.ELU(), torch.nn.Linear(HIDDEN, width)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    losses = []
    for _ in range(steps):
        clips = torch.multinomial(counts.float(), BATCH, replacement=True)
        batch = frames(clips, (torch.rand(BATCH) * counts[clips]).long())
        loss = torch.nn.functional.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses
