"""The datasets of `mocpack.torch` in real DataLoaders; run by `make test-torch`."""

import pickle
import warnings
from itertools import islice

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, RandomSampler
from torchdata.stateful_dataloader import StatefulDataLoader

import mocpack
from mocpack.corpora import pack
from mocpack.errors import UsageError, WorkerPositionWarning
from mocpack.testing import walk
from mocpack.torch import Stream, Windows
from naming import naming


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("torch")
    files = {}
    for number, seconds in enumerate((3.0, 5.0, 2.5, 4.0, 6.0)):
        path = folder / f"walk{number}.mocp"
        clip = walk(seconds, seed=number)
        path.write_bytes(mocpack.encode(clip, max_error="5mm", effort="fast"))
        files[path.stem] = path
    pack(files, folder / "walks.mocps")
    return folder / "walks.mocps"


@pytest.fixture
def corpus(archive):
    with mocpack.open_corpus(archive) as found:
        yield found


def sums(batches):
    return sorted(round(float(window.double().sum()), 2) for batch in batches for window in batch)


@pytest.mark.parametrize("cache", [None, "40MB", "700kB"])
@pytest.mark.parametrize(("workers", "method"), [(0, None), (2, "fork"), (2, "spawn")])
def test_a_dataloader_gives_every_window_once(corpus, workers, method, cache):
    data = Windows(
        corpus, 1, fps=30, stride=0.25, features=["rotation6d", "positions"], cache=cache
    )
    expected = sums([[torch.from_numpy(data.arrays[n]) for n in range(len(data))]])
    loader = DataLoader(
        data, batch_size=8, shuffle=True, num_workers=workers, multiprocessing_context=method
    )
    for _ in range(2):
        batches = list(loader)
        assert batches[0].shape == (8, 30, data.arrays.width)
        assert batches[0].dtype == torch.float32
        assert sums(batches) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("dataset", [Windows, Stream])
def test_labels_and_masks_are_batched_with_their_windows(corpus, dataset):
    data = dataset(corpus, 4, stride=1, labels=["clip", "frames"], pad=True)
    loader = DataLoader(data, batch_size=3)
    lengths = {}
    for windows, labels in loader:
        assert windows.shape[1:] == (*labels["mask"].shape[1:], data.arrays.width)
        assert not windows[~labels["mask"]].any()
        for name, frames, mask in zip(
            labels["clip"], labels["frames"], labels["mask"], strict=True
        ):
            lengths[name] = int(mask.sum())
            assert lengths[name] == min(240, int(frames))
    assert len(lengths) == 5
    assert len(set(lengths.values())) == 3


def test_samplers_choose_windows(corpus):
    data = Windows(corpus, 1)
    parse_selection = DataLoader(data, batch_size=4, sampler=RandomSampler(data, num_samples=20))
    assert sum(len(batch) for batch in parse_selection) == 20
    assert torch.equal(data[3], torch.from_numpy(data.arrays[3]))


@pytest.mark.parametrize(("workers", "method"), [(0, None), (2, "fork"), (2, "spawn")])
def test_a_stream_gives_every_window_once_for_any_number_of_workers(corpus, workers, method):
    data = Stream(corpus, 1, stride=0.5, shuffle=10, seed=3)
    expected = sums([[torch.from_numpy(window) for window in data.arrays]])
    loader = DataLoader(data, batch_size=4, num_workers=workers, multiprocessing_context=method)
    assert sums(list(loader)) == pytest.approx(expected, abs=0.03)


def test_ranks_share_a_stream(corpus):
    parts = [list(Stream(corpus, 1, stride=0.5, share=(rank, 2))) for rank in range(2)]
    whole = Stream(corpus, 1, stride=0.5)
    assert sums(parts) == sums([list(whole)])
    assert all(parts)


def test_initialized_ranks_are_found(corpus, tmp_path):
    store = f"file://{tmp_path}/ranks"
    torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    try:
        assert len(list(Stream(corpus, 1))) == len(Windows(corpus, 1))
    finally:
        torch.distributed.destroy_process_group()


def test_a_stream_continues_from_its_state(corpus):
    whole = list(Stream(corpus, 1, stride=0.5, shuffle=8, seed=5))
    first = Stream(corpus, 1, stride=0.5, shuffle=8, seed=5)
    going = iter(first)
    for _ in range(7):
        next(going)
    second = Stream(corpus, 1, stride=0.5, shuffle=8)
    second.load_state_dict(first.state_dict())
    rest = list(second)
    assert len(rest) == len(whole) - 7
    assert all(torch.equal(a, b) for a, b in zip(rest, whole[7:], strict=True))


def load_some(loader, count):
    """Take `count` batches, as a training that stops within an epoch."""
    return list(islice(loader, count))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_position_of_workers_is_not_that_of_the_stream(corpus, method):
    stream = Stream(corpus, 1, stride=0.5, shuffle=8)
    load_some(DataLoader(stream, batch_size=2, num_workers=2, multiprocessing_context=method), 3)
    with pytest.warns(WorkerPositionWarning, match=naming("StatefulDataLoader")):
        assert stream.state_dict()["given"] == 0
    load_some(DataLoader(stream, batch_size=2), 3)  # this process knows its own position
    with warnings.catch_warnings():
        warnings.simplefilter("error", WorkerPositionWarning)
        assert stream.state_dict()["given"] == 6


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # torchdata 0.11 calls it
@pytest.mark.parametrize(("workers", "method"), [(0, None), (2, "fork"), (2, "spawn")])
def test_a_stateful_dataloader_resumes_within_an_epoch(corpus, workers, method):
    def loader():
        stream = Stream(corpus, 1, stride=0.5, shuffle=8, seed=5)
        stream.set_epoch(3)
        return StatefulDataLoader(
            stream, batch_size=2, num_workers=workers, multiprocessing_context=method
        )

    whole, stopped, resumed = list(loader()), loader(), loader()
    first = load_some(stopped, 7)
    resumed.load_state_dict(pickle.loads(pickle.dumps(stopped.state_dict())))
    both = [*first, *resumed]
    assert len(both) == len(whole)
    assert all(torch.equal(a, b) for a, b in zip(both, whole, strict=True))


def test_epochs_differ_and_can_be_set(corpus):
    stream = Stream(corpus, 1, stride=0.25, seed=1)
    first, second = list(stream), list(stream)
    assert not all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    stream.set_epoch(0)
    assert all(torch.equal(a, b) for a, b in zip(first, stream, strict=True))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2.5, True, -1])
def test_a_wrong_epoch_is_a_usage_error(corpus, value):
    with pytest.raises(UsageError, match=naming("epoch")):
        Stream(corpus, 1).set_epoch(value)


def test_datasets_can_be_sent(corpus):
    data = pickle.loads(pickle.dumps(Windows(corpus, 1, fps=30)))
    assert np.allclose(data[1], Windows(corpus, 1, fps=30)[1])
    data.arrays.corpus.close()


def test_a_network_learns_from_windows(corpus):
    """The tutorial's loop: a few steps, and the loss falls."""
    torch.manual_seed(0)
    data = Windows(corpus, 1, fps=30, stride=0.1, features=["rotation6d"], root_relative=True)
    model = torch.nn.Sequential(
        torch.nn.Linear(data.arrays.width, 32),
        torch.nn.ReLU(),
        torch.nn.Linear(32, data.arrays.width),
    )
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(3):
        for batch in DataLoader(data, batch_size=32, shuffle=True):
            loss = ((model(batch[:, :-1]) - batch[:, 1:]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
    assert losses[-1] < 0.3 * losses[0]
