"""Test codecs: synthetic motions from a seed, and the contract of every codec.

Public, so that codecs in other packages can run the same checks.
"""

from mocpack.testing.contract import CLIP_CHECKS, CODEC_CHECKS, ContractError
from mocpack.testing.motions import hard_clips, humanoid, jump, still, turn, walk
from mocpack.testing.takes import all_takes, markers, take

__all__ = [
    "CLIP_CHECKS",
    "CODEC_CHECKS",
    "ContractError",
    "all_takes",
    "hard_clips",
    "humanoid",
    "jump",
    "markers",
    "still",
    "take",
    "turn",
    "walk",
]
