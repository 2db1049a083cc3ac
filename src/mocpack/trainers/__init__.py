"""Motion for trainers of robots and characters: the states of many clips at any time.

library = MotionLibrary("g1.mocps", device="cuda")
state = library.state(clip_ids, times)
state.positions  # (N, bodies, 3), in the world, z up

Importing this module imports neither torch nor a CUDA package.
"""

from mocpack.trainers.library import MotionLibrary, MotionState

__all__ = ["MotionLibrary", "MotionState"]
