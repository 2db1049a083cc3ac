"""The library for ProtoMotions gives what its own loader gives.

ProtoMotions is not in the package index: `PYTHONPATH=…/ProtoMotions make test-trainers` runs this.
"""

import numpy as np
import pytest
import torch

import mocpack
from archives import write_archive
from mocpack.robots import robot_motion
from mocpack.trainers import MotionLibrary
from motion_library_clips import robot_clip
from robots import urdf

motion_lib = pytest.importorskip("protomotions.components.motion_lib")
FIELDS = {
    "rigid_body_pos": "positions",
    "rigid_body_rot": "rotations",
    "rigid_body_vel": "linear_velocities",
    "rigid_body_ang_vel": "angular_velocities",
    "dof_pos": "angles",
    "dof_vel": "angle_velocities",
}


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """Their library of .motion files, and ours of an archive with the same motions."""
    from mocpack.trainers.protomotions import MotionLib

    folder = tmp_path_factory.mktemp("protomotions")
    clips = {f"clip{k}": robot_clip(urdf(1), folder, seed=k, frames=30 + 7 * k) for k in range(3)}
    archive = write_archive(folder / "all.mocps", clips)
    own = MotionLibrary(archive, "cpu", velocity="protomotions")
    (folder / "motions").mkdir()
    entries = []
    for clip, name in enumerate(own.names):
        state = own.windows([clip], [0], int(own.frame_counts[clip]))
        fields = {key: torch.tensor(getattr(state, field)[0]) for key, field in FIELDS.items()}
        torch.save(fields | {"fps": 30}, folder / "motions" / f"{name}.motion")
        entries.append(f"  - file: {name}.motion\n    weight: 1.0\n")
    (folder / "motions/all.yaml").write_text("motions:\n" + "".join(entries))
    config = motion_lib.MotionLibConfig
    theirs = motion_lib.MotionLib(config(motion_file=str(folder / "motions/all.yaml")))
    return theirs, MotionLib(config(motion_file=str(archive))), archive


def queries(library, count=500):
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, library.num_motions(), (count,), generator=generator)
    return ids, torch.rand(count, generator=generator) * library.get_motion_length(ids)


def test_descriptions_of_the_motions_are_equal(libraries):
    theirs, ours, _ = libraries
    assert ours.num_motions() == theirs.num_motions()
    for name in ("motion_num_frames", "length_starts", "motion_weights"):
        assert torch.equal(getattr(ours, name), getattr(theirs, name))
    assert ours.motion_lengths == pytest.approx(theirs.motion_lengths, abs=1e-6)
    assert ours.motion_dt == pytest.approx(theirs.motion_dt, abs=1e-7)
    assert float(ours.get_total_length()) == pytest.approx(float(theirs.get_total_length()))
    assert not ours.has_goal_states()
    ours.smooth_contacts(3)  # there are none, which is not an error


def test_states_at_frames_are_equal(libraries):
    theirs, ours, _ = libraries
    ids, times = queries(ours)
    frames = (times * 30).round().long()
    one, other = (found.get_motion_state_exact_frame(ids, frames) for found in (ours, theirs))
    for name in FIELDS:
        assert torch.equal(getattr(one, name), getattr(other, name)), name
    assert one.rigid_body_contacts is None


def test_states_between_frames_differ_by_the_arc_of_a_frame(libraries):
    theirs, ours, archive = libraries
    ids, times = queries(ours)
    one, other = (found.get_motion_state(ids, times) for found in (ours, theirs))
    for name in ("rigid_body_vel", "rigid_body_ang_vel", "dof_pos", "dof_vel"):
        limit = 1e-4 * float(getattr(other, name).abs().max())
        assert float((getattr(one, name) - getattr(other, name)).abs().max()) <= limit, name
    with mocpack.open_corpus(archive) as corpus:
        positions = [robot_motion(motion[:]).body_poses[0] for motion in corpus]
    # a straight line deviates from a curve by an eighth of its second difference
    bends = [np.linalg.norm(np.diff(p, n=2, axis=0), axis=-1).max() for p in positions]
    apart = (one.rigid_body_pos - other.rigid_body_pos).norm(dim=-1).max()
    assert float(apart) <= max(bends) / 8 * 1.5
    dots = (one.rigid_body_rot * other.rigid_body_rot).sum(dim=-1).abs()
    assert float(dots.min()) > 0.999


def test_other_files_are_read_as_before(libraries, tmp_path):
    theirs, ours, _ = libraries
    theirs.save_to_file(tmp_path / "packed.pt")
    again = type(ours)(motion_lib.MotionLibConfig(motion_file=str(tmp_path / "packed.pt")))
    ids, times = queries(theirs)
    assert torch.equal(
        again.get_motion_state(ids, times).rigid_body_pos,
        theirs.get_motion_state(ids, times).rigid_body_pos,
    )
