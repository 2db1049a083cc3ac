"""Motion files dropped on the page, compressed at the bound that the page requests."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from threading import Lock

from mocpack import _api
from mocpack.common.units import Length
from mocpack.errors import UsageError
from mocpack.io.motion_file import MotionFile
from mocpack.viewing.motions import ShownMotion, show_source

MAX_SOURCES = 8  # the page shows one at a time
MAX_PACKED_FILES = 64  # cached, because a slider returns to earlier values
MIN_BOUND_UM, MAX_BOUND_UM = 10, 200_000


@dataclass
class DroppedFiles:
    """The dropped motions by number, and a cache of their compressed files.

    The oldest are removed when there are too many. Numbers are not reused.
    """

    sources: OrderedDict[int, ShownMotion] = field(default_factory=OrderedDict)
    packed: OrderedDict[tuple[int, int], bytes] = field(default_factory=OrderedDict)
    count: int = 0
    sources_lock: Lock = field(default_factory=Lock)
    encoder_lock: Lock = field(default_factory=Lock)

    def add(self, name: str, data: bytes) -> tuple[int, ShownMotion]:
        """Read a motion file of any format; return its number and the shown motion."""
        plain = PurePosixPath(name.replace("\\", "/")).name or "motion"
        shown = show_source(MotionFile(data, plain))
        with self.sources_lock:
            self.count += 1
            self.sources[self.count] = shown
            while len(self.sources) > MAX_SOURCES:
                self.sources.popitem(last=False)
            return self.count, shown

    def pack(self, number: int, micrometers: int) -> bytes | None:
        """Return the .mocp file of a motion within a bound, or None if the number is unknown."""
        if not MIN_BOUND_UM <= micrometers <= MAX_BOUND_UM:
            raise UsageError(
                f"the bound must be {MIN_BOUND_UM} to {MAX_BOUND_UM} µm, got {micrometers}"
            )
        shown = self.sources.get(number)
        if shown is None:
            return None
        key = number, micrometers
        # one at a time: parallel encoding would delay the last position of a moving slider
        with self.encoder_lock:
            if key not in self.packed:
                bound = Length(micrometers * 1e-6)
                self.packed[key] = _api.encode(shown.clip, max_error=bound, effort="fast")
                while len(self.packed) > MAX_PACKED_FILES:
                    self.packed.popitem(last=False)
            return self.packed[key]
