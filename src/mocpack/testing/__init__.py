"""Test codecs: synthetic motions from a seed, and the contract of every codec.

Public, so that codecs in other packages can run the same checks.
"""

from mocpack.testing.contract import CLIP_CHECKS, CODEC_CHECKS, ContractError, check_codec
from mocpack.testing.motions import hard_clips, humanoid, jump, still, turn, walk

__all__ = [
    "CLIP_CHECKS",
    "CODEC_CHECKS",
    "ContractError",
    "check_codec",
    "hard_clips",
    "humanoid",
    "jump",
    "still",
    "turn",
    "walk",
]
