"""Markers and analogs of a real trial: small, within their bounds, gaps exact."""

import importlib.util
import sys

import numpy as np
import pytest

import mocpack
from mocpack.bench.datasets import CHECKOUT
from mocpack.container.track import pack_track


@pytest.fixture(scope="module")
def trial(data):
    path = data / "c3d" / "markers_analogs.c3d"
    if not path.exists():
        pytest.skip(f"{path} is not there: pyomeca's sample of markers and analogs")
    place = CHECKOUT / "benchmarks" / "c3d.py"
    spec = importlib.util.spec_from_file_location("c3d", place)
    reader = sys.modules["c3d"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reader)
    return reader.read(path)


def test_markers_take_at_most_7_kb_at_a_millimeter_with_their_gaps(trial):
    clip = mocpack.Clip.from_points(trial.points, trial.names, frame_rate=trial.rate, unit=1e-3)
    data = mocpack.encode(clip, max_error="1mm")
    back = mocpack.decode(data)
    assert len(data) <= 7000
    np.testing.assert_array_equal(np.isnan(back.points()), np.isnan(trial.points))
    assert np.nanmax(np.linalg.norm(back.points() - trial.points, axis=-1)) <= 1e-3


def test_analogs_take_at_most_half_of_float16_and_zstd_at_its_own_error(trial):
    squeeze = pytest.importorskip("zstandard").ZstdCompressor(level=19).compress
    sizes = []
    for values in trial.analogs.T[np.ptp(trial.analogs, axis=0) > 0]:
        half = values.astype("<f2")
        bound = float(np.abs(half - values).max())
        track = mocpack.Track("scalar", values, 1 / trial.analog_rate, bound=bound)
        sizes.append((len(pack_track("", track)), len(squeeze(half.tobytes()))))
    ours, theirs = np.sum(sizes, axis=0)
    assert ours <= theirs / 2
