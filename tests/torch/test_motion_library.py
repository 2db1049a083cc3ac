"""Motion libraries with PyTorch on the CPU; run by `make test-torch`."""

import numpy as np
import pytest
import torch

import mocpack
from archives import write_archive
from autoencoder import from_library, from_tensors, train
from mocpack.errors import UsageError
from mocpack.trainers import MotionLibrary, MotionState, tensors
from motion_library_clips import robot_clip, robot_clips, walking_clips
from robots import urdf

STEPS = 40


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    path = write_archive(folder / "all.mocps", robot_clips(folder) | walking_clips())
    return MotionLibrary(path, "cpu")


def queries(library):
    rng = np.random.default_rng(0)
    clips = rng.integers(0, len(library), (20, 3))
    return clips, rng.random((20, 3)) * library.lengths[clips]


def test_tensors_give_tensors_with_the_values_of_arrays(library):
    clips, times = queries(library)
    expected = library.state(clips, times)
    for dtype in (torch.int32, torch.int64):
        found = library.state(torch.tensor(clips, dtype=dtype), torch.tensor(times))
        for own, other in zip(found, expected, strict=True):
            assert own.dtype == torch.float32
            assert (own.numpy() == other).all()


def test_out_tensors_are_written_in_place(library):
    clips, times = map(torch.tensor, queries(library))
    whole = library.state(clips, times)
    out = MotionState(torch.zeros_like(whole.positions), *[None] * 6)
    assert library.state(clips, times, out=out).positions is out.positions
    assert torch.equal(out.positions, whole.positions)
    with pytest.raises(UsageError, match="positions"):
        library.state(clips, times, out=out._replace(positions=out.positions.double()))


@pytest.mark.parametrize(
    "dtype", [torch.int32, torch.int64, torch.float16, torch.float32, torch.complex64]
)
def test_the_memory_of_a_tensor_is_that_of_its_capsule(dtype):
    tensor = torch.zeros(6, 4, dtype=dtype)[2:]
    found = tensors.memory_of(tensor, "x")
    capsule = np.from_dlpack(tensor)
    assert (found.pointer, found.shape) == (capsule.ctypes.data, capsule.shape)
    assert found.bits == 8 * capsule.itemsize
    codes = {"i": tensors.INTEGER, "f": tensors.FLOAT, "c": tensors.COMPLEX}
    assert found.code == codes[capsule.dtype.kind]
    assert found.device == (tensors.CPU, 0)


def test_tensors_that_cannot_be_read_in_place_are_refused():
    with pytest.raises(UsageError, match="contiguous"):
        tensors.memory_of(torch.zeros(4, 6).T, "x")
    with pytest.raises(UsageError, match="gradients"):
        tensors.memory_of(torch.zeros(4, requires_grad=True), "x")


@pytest.mark.parametrize(("options", "change"), [({"codec": "lossless"}, 1e-3), ({}, 0.01)])
def test_training_from_an_archive_and_from_tensors_gives_the_same_curve(tmp_path, options, change):
    clips = [robot_clip(urdf(1), tmp_path, seed=k, frames=60) for k in range(2)]
    options = options or {"max_error": "1mm", "max_angle": "0.02rad", "effort": "fast"}
    packed = {f"clip{k}": mocpack.encode(clip, **options) for k, clip in enumerate(clips)}
    library = MotionLibrary(write_archive(tmp_path / "robot.mocps", packed), "cpu")
    lengths = [clip.frame_count for clip in clips]
    own = train(from_library(library), lengths, STEPS)
    other = train(from_tensors(clips), lengths, STEPS)
    assert own == pytest.approx(other, rel=change)
    assert own[-1] < 0.8 * own[0]
    assert train(from_tensors(clips), lengths, 3, seed=1) != pytest.approx(other[:3], rel=0.01)
