"""The motion library on an NVIDIA GPU: `make test-gpu` runs it on a machine that has one."""

import numpy as np
import pytest
import torch

import mocpack
from archives import write_archive
from mocpack.errors import UsageError
from mocpack.model.clip import Clip
from mocpack.model.skeleton import Skeleton
from mocpack.robots import robot_motion
from mocpack.trainers import MotionLibrary, MotionState
from mocpack.trainers.velocities import VELOCITIES
from motion_library_clips import robot_clips, walking_clips

STATES = 3000
# positions, rotations, linear and angular velocities, angles, their velocities, contacts
TOLERANCES = 5e-6, 2e-6, 5e-4, 5e-4, 5e-6, 5e-4, 0


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpu")
    return write_archive(folder / "all.mocps", robot_clips(folder) | walking_clips())


def queries(library, *, seed=0):
    rng = np.random.default_rng(seed)
    clips = rng.integers(0, len(library), STATES)
    times = rng.uniform(-0.1, 1.1, STATES) * library.lengths[clips]
    times[::3] = np.round(times[::3] * 30) / 30
    return clips, times


def on_gpu(archive, *options, **named):
    library = MotionLibrary(archive, "cuda", *options, **named)
    assert library.device == "cuda:0"
    return library


def as_numpy(state):
    return [torch.from_dlpack(array).cpu().numpy() for array in state]


@pytest.mark.parametrize("velocity", VELOCITIES)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_gpu_computes_what_the_cpu_computes(archive, velocity, dtype):
    cpu = MotionLibrary(archive, "cpu", dtype, velocity=velocity)
    gpu = on_gpu(archive, dtype, velocity=velocity)
    clips, times = queries(cpu)
    expected = cpu.state(clips, times)
    found = gpu.state(torch.tensor(clips).cuda(), torch.tensor(times).cuda())
    names = MotionState._fields
    for name, own, other, limit in zip(names, as_numpy(found), expected, TOLERANCES, strict=True):
        difference = np.abs(own - other)
        if name == "rotations":
            difference = np.minimum(difference, np.abs(own + other))
        if velocity == "protomotions" and "velocities" in name:
            # where two horizons are equally fast, rounding decides between them
            assert (difference > limit).mean() < 1e-3, name
        else:
            assert difference.max(initial=0) <= limit, name


def test_states_on_the_gpu_equal_a_robots_own_kinematics_in_double(archive):
    gpu = on_gpu(archive)
    with mocpack.open_corpus(archive) as corpus:
        for clip in range(5):
            motion = robot_motion(corpus[clip][:])
            count = len(motion.angles)
            state = as_numpy(
                gpu.frames(torch.full((count,), clip).cuda(), torch.arange(count).cuda())
            )
            bodies = motion.body_poses[0].shape[1]
            assert np.abs(state[0][:, :bodies] - motion.body_poses[0]).max() < 1e-5
            linear, angular = motion.body_velocities
            assert np.abs(state[2][:, :bodies] - linear).max() < 1e-4
            assert np.abs(state[3][:, :bodies] - angular).max() < 1e-4


def test_orders_are_those_of_the_cpu(archive):
    options = {"order": "physx", "quaternion": "wxyz"}
    clips, times = queries(cpu := MotionLibrary(archive, "cpu", **options))
    found = on_gpu(archive, **options).state(torch.tensor(clips).cuda(), torch.tensor(times).cuda())
    expected = cpu.state(clips, times)
    for own, other, limit in zip(as_numpy(found), expected, TOLERANCES, strict=True):
        assert np.minimum(np.abs(own - other), np.abs(own + other)).max(initial=0) <= limit


@pytest.mark.parametrize("ids", [torch.int32, torch.int64])
@pytest.mark.parametrize("numbers", [torch.float32, torch.float64, torch.int32, torch.int64])
def test_tensors_of_every_type_are_read_in_place(archive, ids, numbers):
    gpu = on_gpu(archive)
    clips = torch.tensor([0, 3, 5, 6]).cuda()
    frames = torch.tensor([0, 7, 12, 29]).cuda()
    expected = gpu.frames(clips, frames)
    if numbers.is_floating_point:
        rates = torch.tensor(gpu.frame_rates).cuda()[clips]
        state = gpu.state(clips.to(ids), (frames / rates).to(numbers))
        limit = 1e-3
    else:
        state, limit = gpu.frames(clips.to(ids), frames.to(numbers)), 0
    for own, other in zip(state, expected, strict=True):
        assert own.is_cuda
        assert own.dtype == torch.float32
        if own.numel():
            assert (own - other).abs().max() <= limit


def test_windows_are_frames_and_shapes_follow_the_queries(archive):
    gpu = on_gpu(archive)
    clips, starts = torch.tensor([[0, 3], [2, 1]]).cuda(), torch.tensor([[5, 0], [30, 7]]).cuda()
    window = gpu.windows(clips, starts, 10)
    assert window.positions.shape[:3] == (2, 2, 10)
    each = clips[..., None].expand(2, 2, 10).contiguous()
    state = gpu.frames(each, starts[..., None] + torch.arange(10).cuda())
    for own, other in zip(window, state, strict=True):
        assert torch.equal(own, other)


def test_clips_and_frames_that_do_not_exist_are_nan_and_harm_no_other(archive):
    gpu = on_gpu(archive)
    clips = torch.tensor([0, len(gpu), -1, 1, 2]).cuda()
    frames = torch.tensor([3, 0, 0, 40, 5]).cuda()
    state = gpu.frames(clips, frames)
    good = gpu.frames(clips[[0, 4]], frames[[0, 4]])
    for own, other in zip(state, good, strict=True):
        assert own[1:4].isnan().all()
        assert torch.equal(own[[0, 4]], other)
    state = gpu.state(clips[:1], torch.tensor([float("nan")]).cuda())
    assert state.positions.isnan().all()


def test_out_tensors_are_written_and_checked(archive):
    gpu = on_gpu(archive)
    clips, times = torch.tensor([0, 1]).cuda(), torch.tensor([0.5, 0.3]).cuda()
    whole = gpu.state(clips, times)
    positions = torch.zeros_like(whole.positions)
    out = MotionState(positions, None, None, None, torch.zeros_like(whole.angles), None, None)
    found = gpu.state(clips, times, out=out)
    assert found.positions is positions
    assert found.rotations is None
    assert torch.equal(positions, whole.positions)
    assert torch.equal(out.angles, whole.angles)
    for wrong in (positions[:1], positions.double(), positions.cpu(), positions.mT.contiguous().mT):
        with pytest.raises(UsageError, match="positions"):
            gpu.state(clips, times, out=out._replace(positions=wrong))
    with pytest.raises(UsageError, match="clip_ids"):
        gpu.state(torch.zeros(8, dtype=torch.int64).cuda()[::2], torch.zeros(4).cuda())


def test_numpy_queries_give_arrays_that_torch_takes(archive):
    gpu = on_gpu(archive)
    state = gpu.state(np.array([0, 1]), np.array([0.5, 0.3]))
    expected = gpu.state(torch.tensor([0, 1]).cuda(), torch.tensor([0.5, 0.3]).cuda().double())
    taken = torch.from_dlpack(state.positions)
    assert taken.is_cuda
    pointer = taken.data_ptr()
    del state  # the tensor keeps the memory
    assert taken.data_ptr() == pointer
    assert (taken - expected.positions).abs().max() < 1e-5


def test_calls_use_the_current_stream_of_torch(archive):
    gpu = on_gpu(archive)
    stream = torch.cuda.Stream()
    clips = torch.zeros(4000, dtype=torch.int64).cuda()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        late = torch.full((4000,), 2).cuda()
        clips.copy_(late, non_blocking=True)
        state = gpu.frames(clips, clips)
        total = state.positions.sum()
    stream.synchronize()
    other = gpu.frames(clips, clips)
    assert torch.equal(state.positions, other.positions)
    assert total.isfinite()


def test_cupy_arrays_are_taken_and_given(archive):
    cupy = pytest.importorskip("cupy")
    gpu = on_gpu(archive)
    state = gpu.state(cupy.array([0, 1]), cupy.array([0.5, 0.3]))
    assert isinstance(state.positions, cupy.ndarray)
    expected = gpu.state(np.array([0, 1]), np.array([0.5, 0.3]))
    assert np.array_equal(cupy.asnumpy(state.positions), expected.positions.numpy())


@pytest.mark.parametrize("velocity", ["central", "sonic"])
def test_skeletons_of_hundreds_of_joints_fit(tmp_path, velocity):
    rng = np.random.default_rng(0)
    count = 250
    skeleton = Skeleton(
        tuple(f"j{j}" for j in range(count)),
        (-1, *(int(rng.integers(max(0, j - 20), j)) for j in range(1, count))),
        0.1 * rng.normal(size=(count, 3)),
    )
    turns = rng.normal(size=(30, count, 4))
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    clip = Clip.build(skeleton, turns, np.zeros((30, 1, 3)), frame_time=1 / 30)
    path = write_archive(tmp_path / "big.mocps", {"big": clip})
    clips, times = np.zeros(50, np.int64), np.linspace(0, 0.9, 50)
    expected = MotionLibrary(path, "cpu", velocity=velocity).state(clips, times)
    found = as_numpy(on_gpu(path, velocity=velocity).state(clips, times))
    assert np.abs(found[0] - expected.positions).max() < 2e-5


def test_memory_of_a_library_is_given_back(archive):
    def free():
        torch.cuda.synchronize()
        return torch.cuda.mem_get_info()[0]

    library = on_gpu(archive)
    library.state(np.array([0]), np.array([0.0]))
    del library
    before = free()
    for _ in range(20):
        library = on_gpu(archive)
        library.state(np.zeros(10_000, np.int64), np.zeros(10_000))
        del library
    assert abs(before - free()) < 8 << 20
