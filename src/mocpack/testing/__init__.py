"""For those who test codecs: motions made from a seed, and the contract every codec keeps.

Public, so that a codec in another package can be held to the same contract.
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
