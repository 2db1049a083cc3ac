"""Where the real clips are: what MOCPACK_DATA names, or ../shared/data beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

from mocpack.errors import UsageError

CHECKOUT = Path(__file__).resolve().parents[3]


def data_folder() -> Path | None:
    """Return the folder of real clips, or None where there is none."""
    named = os.environ.get("MOCPACK_DATA")
    folder = Path(named) if named else CHECKOUT.parent / "shared" / "data"
    return folder if folder.is_dir() else None


def require_data() -> Path:
    """Return the folder of real clips, or say how to name one."""
    folder = data_folder()
    if folder is None:
        raise UsageError("no folder of real clips here; name one with MOCPACK_DATA")
    return folder
