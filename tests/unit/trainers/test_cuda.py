"""The calls of the CUDA driver and the exchange of tensors, on a driver that computes on the CPU.

`tests/gpu` has the tests on a real GPU.
"""

import ctypes
import gc
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from archives import write_archive
from mocpack.errors import DeviceWarning, UsageError
from mocpack.trainers import MotionLibrary, MotionState, cuda, library, tensors
from mocpack.trainers.velocities import VELOCITIES
from motion_library_clips import robot_clips, walking_clips

ROOT = Path(__file__).parents[3]
KERNELS = ("joints_float32", "joints_float16", "bodies_float32", "bodies_float16")


@pytest.fixture(scope="module")
def fake_driver(tmp_path_factory):
    """A library with the driver's functions."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    made = tmp_path_factory.mktemp("driver") / "libcuda.so.1"
    core = ROOT / "core/src"
    sources = ROOT / "tests/support/fake_driver.cpp", core / "features/motion_states.cpp"
    options = "-std=c++17", "-O1", "-shared", "-fPIC", f"-I{core}", "-o", made
    subprocess.run([compiler, *options, *sources], check=True)
    return made


@pytest.fixture
def device(fake_driver, tmp_path, monkeypatch):
    """A machine with a GPU, as far as the package can see."""
    ptx = tmp_path / "motion_states.ptx"
    ptx.write_text("".join(f".visible .entry {name}()\n" for name in KERNELS))
    monkeypatch.setattr(cuda, "LIBRARY", str(fake_driver))
    monkeypatch.setattr(cuda, "PTX", ptx)
    for cached in (cuda.driver, library._open_device, library._warn_once):
        cached.cache_clear()
    yield ctypes.CDLL(str(fake_driver))
    gc.collect()
    for cached in (cuda.driver, library._open_device, library._warn_once):
        cached.cache_clear()


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cuda")
    return write_archive(folder / "all.mocps", robot_clips(folder) | walking_clips())


@pytest.mark.parametrize("velocity", VELOCITIES)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_arguments_of_kernels_are_those_of_the_header(device, archive, velocity, dtype):
    gpu = MotionLibrary(archive, "cuda", dtype, velocity=velocity, quaternion="wxyz")
    cpu = MotionLibrary(archive, "cpu", dtype, velocity=velocity, quaternion="wxyz")
    assert gpu.device == "cuda:0"
    rng = np.random.default_rng(0)
    clips = rng.integers(0, len(cpu), 200)
    times = rng.uniform(-0.1, 1.2, 200)
    for own, other in zip(gpu.state(clips, times), cpu.state(clips, times), strict=True):
        assert own.shape == other.shape
        assert own.numpy() == pytest.approx(other, abs=1e-4)
    window, expected = (
        gpu.windows([[2], [5]], [[3], [0]], 9),
        cpu.windows([[2], [5]], [[3], [0]], 9),
    )
    for own, other in zip(window, expected, strict=True):
        assert own.numpy() == pytest.approx(other, abs=1e-4)


def test_clips_that_do_not_exist_are_nan(device, archive):
    gpu = MotionLibrary(archive)
    state = gpu.frames([0, 99, 1], [0, 0, 40])
    for array in state[:6]:
        assert np.isfinite(array.numpy()[0]).all()
        assert np.isnan(array.numpy()[1:]).all()


def test_device_memory_is_freed_with_its_arrays(device, archive):
    gpu = MotionLibrary(archive)
    before = device.fake_allocations()
    state = gpu.state([0], [0.5])
    capsule = state.positions.__dlpack__()
    other = state.angles.__dlpack__()
    assert device.fake_allocations() == before + 7
    del state, other
    assert device.fake_allocations() == before + 1  # the capsule keeps its array
    del capsule
    assert device.fake_allocations() == before
    del gpu
    gc.collect()
    assert device.fake_allocations() == 0


def test_arrays_on_the_device_are_read_and_written_in_place(device, archive):
    gpu = MotionLibrary(archive)
    whole = gpu.state([0, 1], [0.5, 0.25])
    owner = library._open_device(0)
    queries = []
    for values in (np.array([0, 1], np.int32), np.array([0.5, 0.25], np.float32)):
        array = cuda.DeviceArray(owner, values.shape, values.dtype.name)
        ctypes.memmove(array.memory.pointer, values.ctypes.data, values.nbytes)
        queries.append(array)
    positions = cuda.DeviceArray(owner, whole.positions.shape)
    out = MotionState(positions, *[None] * 6)
    found = gpu.state(*queries, out=out)
    assert found.positions is positions
    assert found.angles is None
    assert (positions.numpy() == whole.positions.numpy()).all()
    with pytest.raises(UsageError, match="positions"):
        gpu.state(*queries, out=out._replace(positions=whole.rotations))
    with pytest.raises(UsageError, match="shape"):
        gpu.state(queries[0], [0.5])
    with pytest.raises(UsageError):
        gpu.state(*queries[::-1])


def test_a_device_that_does_not_exist_or_refuses_the_kernels_is_reported(device, archive):
    with pytest.warns(DeviceWarning, match="cuDeviceGet"):
        assert MotionLibrary(archive, "cuda:3").device == "cpu"
    cuda.PTX.write_text("nothing")
    with pytest.warns(DeviceWarning, match="no kernel inside"):
        assert MotionLibrary(archive, "cuda").device == "cpu"


def test_an_installation_without_kernels_says_so(device, archive):
    cuda.PTX.unlink()
    with pytest.warns(DeviceWarning, match="nvidia-cuda-nvrtc-cu12"):
        assert MotionLibrary(archive).device == "cpu"


def test_tensors_of_other_packages_are_read_where_they_are():
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    found = tensors.memory_of(array, "x")
    assert found == tensors.Memory(array.ctypes.data, (3, 4), tensors.FLOAT, 32, (tensors.CPU, 0))
    part = tensors.memory_of(array[1:], "x")
    assert part.pointer == array.ctypes.data + 16
    for wrong in (array[:, ::2], array.T):
        with pytest.raises(UsageError, match="contiguous"):
            tensors.memory_of(wrong, "x")


def test_an_exported_array_shares_its_memory_and_keeps_its_owner():
    class Owner:
        def __init__(self):
            self.array = np.arange(6.0).reshape(2, 3)

        def __dlpack_device__(self):
            return tensors.CPU, 0

        def __dlpack__(self, **_):
            return tensors.export(self, tensors.memory_of(self.array, "x"))

    owner = Owner()
    taken = np.from_dlpack(owner)
    assert (taken == owner.array).all()
    owner.array[0, 0] = 7
    assert taken[0, 0] == 7
    del owner
    gc.collect()
    assert taken.sum() == 22
    before = len(tensors._exported)
    del taken
    gc.collect()
    assert len(tensors._exported) == before - 1
