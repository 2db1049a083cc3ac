"""Windows of an archive for PyTorch: `Windows` to pick from by any sampler, `Stream` to go through.

Both go to the workers of a `torch.utils.data.DataLoader`, forked or spawned. torch is imported when
one of the two names is first used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from mocpack.corpora.reading import Corpus
from mocpack.corpora.stream import Stream as _Stream
from mocpack.corpora.windows import Windows as _Windows
from mocpack.errors import MissingExtraError

NAMES = ("Stream", "Windows")


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return _classes()[name]
    raise AttributeError(f"module 'mocpack.torch' has no attribute {name!r}")


@cache
def _classes() -> dict[str, Any]:
    """Return the classes; torch's own bases are known only now."""
    try:
        torch, data = import_module("torch"), import_module("torch.utils.data")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        # no extra has it: which build fits a machine is for its owner to say
        raise MissingExtraError("mocpack.torch needs torch, which is not installed") from error

    class Windows(data.Dataset):  # type: ignore[misc, name-defined]
        """Windows of an archive as tensors (rows, width) of float32.

        Takes what `mocpack.corpora.Windows` takes; `arrays` is that object.
        """

        def __init__(self, corpus: Corpus, seconds: float = 2.0, **options: Any) -> None:
            self.arrays = _Windows(corpus, seconds, **options)

        def __len__(self) -> int:
            return len(self.arrays)

        def __getitem__(self, index: int) -> Any:
            return torch.from_numpy(self.arrays[int(index)])

        def __getitems__(self, indices: Sequence[int]) -> list[Any]:
            """Return a batch, fetched together; a DataLoader asks so."""
            return list(torch.from_numpy(self.arrays.batch([int(n) for n in indices])))

    class Stream(data.IterableDataset):  # type: ignore[misc, name-defined]
        """All windows of an archive in an order by chance, each clip decoded once an epoch.

        Takes what `Windows` takes, and what `mocpack.corpora.Stream` takes. Workers of a DataLoader
        and ranks of `torch.distributed` (or `share`) get clips of their own. `state_dict` says
        where it is; with workers, that of each (torchdata's StatefulDataLoader keeps them).
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

        def __iter__(self) -> Iterator[Any]:
            rank, ranks = self._share or _rank(torch)
            worker = data.get_worker_info()
            at, workers = (0, 1) if worker is None else (worker.id, worker.num_workers)
            self._stream.share = rank * workers + at, ranks * workers
            for window in self._stream:
                yield torch.from_numpy(window)

        def set_epoch(self, epoch: int) -> None:
            """Say which pass is next, as samplers are told; workers that stay count themselves."""
            self._stream.load_state_dict({**self._stream.state_dict(), "epoch": epoch, "given": 0})

        def state_dict(self) -> dict[str, int]:
            return self._stream.state_dict()

        def load_state_dict(self, state: dict[str, Any]) -> None:
            self._stream.load_state_dict(state)

    for made in (Windows, Stream):
        # where pickle looks for them, in whatever process
        made.__qualname__, made.__module__ = made.__name__, __name__
    return {"Windows": Windows, "Stream": Stream}


def _rank(torch: Any) -> tuple[int, int]:
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1
