"""The HING chunk: hinge and slider axes of joints, and their limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mocpack import _core
from mocpack.model.skeleton import Skeleton, channel_hinges


def pack_hinges(skeleton: Skeleton) -> bytes:
    """Return the chunk of a skeleton that has hinges."""
    hinges = skeleton.hinges
    assert hinges is not None
    unlimited = replace(hinges, limits=np.zeros((0, 2)))
    return _core.pack_hinges(
        [name.encode() for name in skeleton.names],
        np.array(hinges.joints, np.int32),
        hinges.slides.astype(np.uint8),
        [name.encode() for name in hinges.names],
        hinges.axes,
        hinges.limits,
        unlimited == channel_hinges(skeleton),
    )
