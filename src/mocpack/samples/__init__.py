"""The bundled clip: four seconds of a person jumping, from the CMU motion database."""

from pathlib import Path

JUMP = Path(__file__).with_name("cmu_01_01_jump.bvh")
