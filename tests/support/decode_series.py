"""Decode integer series with the core; the package itself only encodes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mocpack import _core
from mocpack.codecs.lossless.series import (
    NOISY_FORECAST,
    ColumnGroup,
    Forecast,
    build_model,
    initial_sizes,
)
from mocpack.common.arrays import I32
from mocpack.errors import CorruptionError

NUMBERS_PER_BYTE = 12_000  # each takes at least two binary decisions of 1/2840 bit


def decode_series(
    data: bytes,
    rows: int,
    columns: int,
    groups: Sequence[ColumnGroup],
    forecast: Forecast = NOISY_FORECAST,
    *,
    sizes: npt.ArrayLike = (),
) -> I32:
    """Decode integers (rows, columns); the options must be those of the encoder."""
    if rows * columns > NUMBERS_PER_BYTE * (len(data) + 4):
        raise CorruptionError(
            f"series: {len(data)} bytes cannot contain {rows} rows of {columns} numbers"
        )
    model = build_model(columns, tuple(groups), forecast, initial_sizes(sizes))
    return np.asarray(_core.series_decode(model, data, rows))
