"""PyTorch datasets of an archive's windows: `Windows` for samplers, `Stream` as an iterable.

Both work with forked and spawned workers of a `torch.utils.data.DataLoader`. torch is imported when
one of the two names is first used.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from mocpack.common.arguments import check_integer
from mocpack.corpora.reading import Corpus
from mocpack.corpora.stream import Stream as _Stream
from mocpack.corpora.windows import Windows as _Windows
from mocpack.errors import MissingExtraError, WorkerPositionWarning

NAMES = ("Stream", "Windows")


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return _classes()[name]
    raise AttributeError(f"module 'mocpack.torch' has no attribute {name!r}")


@cache
def _classes() -> dict[str, Any]:
    """Create the classes, whose base classes need torch."""
    try:
        torch, data = import_module("torch"), import_module("torch.utils.data")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        # no extra installs torch, because its build depends on the machine
        raise MissingExtraError("mocpack.torch needs torch, which is not installed") from error

    class Windows(data.Dataset):  # type: ignore[misc, name-defined]
        """Windows of an archive as float32 tensors (rows, width).

        Takes the arguments of `mocpack.corpora.Windows`; `arrays` is that object.
        """

        def __init__(self, corpus: Corpus, seconds: float = 2.0, **options: Any) -> None:
            self.arrays = _Windows(corpus, seconds, **options)

        def __len__(self) -> int:
            return len(self.arrays)

        def __getitem__(self, index: int) -> Any:
            return torch.from_numpy(self.arrays[operator.index(index)])

        def __getitems__(self, indices: Sequence[int]) -> list[Any]:
            """Return a batch, fetched in parallel; DataLoader calls this."""
            return list(torch.from_numpy(self.arrays.batch([operator.index(n) for n in indices])))

    class Stream(data.IterableDataset):  # type: ignore[misc, name-defined]
        """All windows of an archive in random order; decodes each clip once per epoch.

        Takes the arguments of `Windows` and of `mocpack.corpora.Stream`. Each DataLoader worker and
        each rank of `torch.distributed` (or `share`) gets its own clips. `state_dict` returns the
        position in this process. Each worker has its own, which torchdata's StatefulDataLoader
        saves.
        """

        def __init__(
            self,
            corpus: Corpus,
            seconds: float = 2.0,
            *,
            shuffle: int = 1024,
            seed: int = 0,
            share: tuple[int, int] | None = None,
            **options: Any,
        ) -> None:
            self.arrays = _Windows(corpus, seconds, **options)
            self._share = share
            self._stream = _Stream(self.arrays, shuffle=shuffle, seed=seed)
            # whether workers read the windows; they and the process that started them share it
            self._is_read_by_workers = torch.zeros(1, dtype=torch.bool).share_memory_()

        def __iter__(self) -> Iterator[Any]:
            rank, ranks = self._share or _rank(torch)
            worker = data.get_worker_info()
            at, workers = (0, 1) if worker is None else (worker.id, worker.num_workers)
            self._stream.share = rank * workers + at, ranks * workers
            self._is_read_by_workers[0] = worker is not None
            for window in self._stream:
                yield torch.from_numpy(window)

        def set_epoch(self, epoch: int) -> None:
            """Set the next epoch, as for samplers; persistent workers count epochs themselves."""
            check_integer("epoch", epoch, 0)
            self._stream.load_state_dict({**self._stream.state_dict(), "epoch": epoch, "given": 0})

        def state_dict(self) -> dict[str, int]:
            if self._is_read_by_workers[0] and data.get_worker_info() is None:
                warnings.warn(
                    "this process does not know the positions of the DataLoader's workers, so "
                    "resuming from this state repeats windows; use StatefulDataLoader of torchdata "
                    "and save the state_dict of the loader",
                    WorkerPositionWarning,
                    stacklevel=2,
                )
            return self._stream.state_dict()

        def load_state_dict(self, state: dict[str, Any]) -> None:
            self._stream.load_state_dict(state)

    for made in (Windows, Stream):
        # so that pickle finds them in any process
        made.__qualname__, made.__module__ = made.__name__, __name__
    return {"Windows": Windows, "Stream": Stream}


def _rank(torch: Any) -> tuple[int, int]:
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1
