"""PyTorch datasets of an archive's windows: `Windows` for samplers, `Stream` as an iterable.

Both work with forked and spawned workers of a `torch.utils.data.DataLoader`. Importing this module
imports torch.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Unpack

from mocpack.common.arguments import check_integer
from mocpack.corpora.reading import Corpus
from mocpack.corpora.stream import Stream as ArrayStream
from mocpack.corpora.windows import WindowOptions
from mocpack.corpora.windows import Windows as ArrayWindows
from mocpack.errors import MissingExtraError, WorkerPositionWarning

try:
    import torch
    from torch.utils.data import Dataset, IterableDataset, get_worker_info
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    # no extra installs torch, because its build depends on the machine
    raise MissingExtraError("mocpack.torch needs torch, which is not installed") from error

__all__ = ["Stream", "Windows"]


class Windows(Dataset[Any]):
    """Windows of an archive as float32 tensors (rows, width).

    Takes the arguments of `mocpack.corpora.Windows`; `arrays` is that object. With `labels` or
    `pad`, items are pairs of a tensor and a dict of labels; a DataLoader makes batches of both.
    """

    def __init__(
        self, corpus: Corpus, seconds: float = 2.0, **options: Unpack[WindowOptions]
    ) -> None:
        self.arrays = ArrayWindows(corpus, seconds, **options)

    def __len__(self) -> int:
        return len(self.arrays)

    def __getitem__(self, index: int) -> Any:
        return _to_tensor(self.arrays[operator.index(index)])

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Return a batch, fetched in parallel; DataLoader calls this."""
        chosen = [operator.index(n) for n in indices]
        self.arrays.prefetch(chosen)
        return [self[index] for index in chosen]


class Stream(IterableDataset[Any]):
    """All windows of an archive in random order; decodes each clip once per epoch.

    Takes the arguments of `Windows` and of `mocpack.corpora.Stream`. Each DataLoader worker and
    each rank of `torch.distributed` (or `share`) gets its own clips. `state_dict` returns the
    position in this process. Each worker has its own, which torchdata's StatefulDataLoader saves.
    """

    def __init__(
        self,
        corpus: Corpus,
        seconds: float = 2.0,
        *,
        shuffle: int = 1024,
        seed: int = 0,
        share: tuple[int, int] | None = None,
        **options: Unpack[WindowOptions],
    ) -> None:
        self.arrays = ArrayWindows(corpus, seconds, **options)
        self._share = share
        self._stream = ArrayStream(self.arrays, shuffle=shuffle, seed=seed)
        # whether workers read the windows; they and the process that started them share it
        self._is_read_by_workers = torch.zeros(1, dtype=torch.bool).share_memory_()

    def __iter__(self) -> Iterator[Any]:
        rank, ranks = self._share or _rank()
        worker = get_worker_info()
        at, workers = (0, 1) if worker is None else (worker.id, worker.num_workers)
        self._stream.share = rank * workers + at, ranks * workers
        self._is_read_by_workers[0] = worker is not None
        for window in self._stream:
            yield _to_tensor(window)

    def set_epoch(self, epoch: int) -> None:
        """Set the next epoch, as for samplers; persistent workers count epochs themselves."""
        check_integer("epoch", epoch, 0)
        self._stream.load_state_dict({**self._stream.state_dict(), "epoch": epoch, "given": 0})

    def state_dict(self) -> dict[str, int]:
        if self._is_read_by_workers[0] and get_worker_info() is None:
            warnings.warn(
                "this process does not know the positions of the DataLoader's workers, so resuming "
                "from this state repeats windows; use StatefulDataLoader of torchdata and save the "
                "state_dict of the loader",
                WorkerPositionWarning,
                stacklevel=2,
            )
        return self._stream.state_dict()

    def load_state_dict(self, state: dict[str, int]) -> None:
        self._stream.load_state_dict(state)


def _to_tensor(item: Any) -> Any:
    """Return a window as a tensor, or a pair with its labels."""
    if isinstance(item, tuple):
        return torch.from_numpy(item[0]), item[1]
    return torch.from_numpy(item)


def _rank() -> tuple[int, int]:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1
