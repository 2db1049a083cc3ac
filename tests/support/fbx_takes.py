"""FBX files of one dancing body, each with one of the things that the format has to place a bone.

Made by the rules of the format, for readers to be compared with each other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fbx_file import Curve, Model, Record, Take, scene

MOVE, TURN, SCALE = "Lcl Translation", "Lcl Rotation", "Lcl Scaling"
ADDITIVE, OVERRIDE, PASS_THROUGH = range(3)  # modes of a layer; the second knows no weight
HIPS, SPINE, NECK, LEG, FOOT = range(5)
RATE = 30
SECONDS = np.arange(40) / RATE
PRE_AND_POST = {
    "RotationActive": True,
    "PreRotation": (20.0, -35.0, 50.0),
    "PostRotation": (10.0, 15.0, -25.0),
}
GROWN = {SCALE: (1.5, 1.5, 1.5)}


def takes() -> dict[str, list[Record]]:
    """Return the records of each file, by what is in it."""
    dancing = [Take("Dance", [dance()])]
    layered = {
        "added": {"Weight": 100.0, "BlendMode": ADDITIVE},
        "added-in-part": {"Weight": 30.0, "BlendMode": ADDITIVE},
        "covered": {"Weight": 100.0, "BlendMode": OVERRIDE},
        "mixed": {"Weight": 40.0, "BlendMode": PASS_THROUGH},
    }
    two = [dance(), sway()]
    return {
        "centimeters": scene(body(), dancing),
        "inches-z-up": scene(body(), dancing, up=2, unit=2.54),
        "meters": scene(body(size=0.01), [Take("Dance", [dance(0.01)])], unit=100.0),
        "noise": scene(body({SPINE: {SCALE: (1.0, 1.00001, 1.00003)}}), dancing),
        "rotation-orders": scene(
            body({b: {"RotationActive": True, "RotationOrder": b + 1} for b in range(5)}), dancing
        ),
        "pre-and-post-rotations": scene(body({SPINE: PRE_AND_POST, LEG: PRE_AND_POST}), dancing),
        "rotation-pivots": scene(
            body(
                {
                    SPINE: {"RotationPivot": (2.0, -4.0, 3.0)},
                    LEG: {"RotationPivot": (-3.0, 2.0, 1.0), "RotationOffset": (1.0, 2.0, -3.0)},
                }
            ),
            dancing,
        ),
        "scaling-pivots": scene(
            body(
                {
                    SPINE: {"ScalingPivot": (2.0, -4.0, 3.0), **GROWN},
                    LEG: {
                        "ScalingPivot": (1.0, 5.0, 2.0),
                        "ScalingOffset": (1.0, 2.0, -3.0),
                        **GROWN,
                    },
                }
            ),
            dancing,
        ),
        "geometric-transforms": scene(
            body(
                {
                    SPINE: {
                        "GeometricTranslation": (5.0, 6.0, 7.0),
                        "GeometricRotation": (10.0, 20.0, 30.0),
                        "GeometricScaling": (2.0, 2.0, 2.0),
                    }
                }
            ),
            dancing,
        ),
        **{
            f"inherited-scale-{kind}": scene(body({HIPS: GROWN} | _inheriting(kind)), dancing)
            for kind in range(3)
        },
        **{
            f"inherited-moving-scale-{kind}": scene(
                body(_inheriting(kind)), [Take("Dance", [dance() | grow(HIPS)])]
            )
            for kind in range(3)
        },
        "moving-scale": scene(body(), [Take("Dance", [dance() | grow(SPINE)])]),
        **{
            f"layers-{name}": scene(body(), [Take("Dance", two, layer_properties=[{}, how])])
            for name, how in layered.items()
        },
        "two-takes": scene(body(), [*dancing, Take("Sway", [sway()])]),
    }


def body(special: dict[int, dict[str, Any]] | None = None, size: float = 1.0) -> list[Model]:
    """Return a body of five bones; `special` are more properties of some of them."""
    rows = (
        ("Hips", -1, (0.0, 90.0, 0.0)),
        ("Spine", HIPS, (0.0, 20.0, 3.0)),
        ("Neck", SPINE, (0.0, 30.0, -2.0)),
        ("Leg", HIPS, (9.0, -5.0, 0.0)),
        ("Foot", LEG, (0.0, -80.0, 0.0)),
    )
    found = [
        Model(name, parent, properties={MOVE: tuple(size * x for x in place)})
        for name, parent, place in rows
    ]
    for bone, more in (special or {}).items():
        found[bone] = replace(found[bone], properties={**found[bone].properties, **more})
    return found


def dance(size: float = 1.0) -> dict[tuple[int, str, int], Curve]:
    """Return curves with a key for each frame that turn all bones and move the hips."""
    turning = {
        (bone, TURN, axis): Curve(SECONDS, 30 * np.sin((2 + bone) * SECONDS + axis))
        for bone in range(5)
        for axis in range(3)
    }
    places = {a: Curve(SECONDS, 50 * size * np.sin(SECONDS + a)) for a in range(3)}
    return turning | {(HIPS, MOVE, axis): place for axis, place in places.items()}


def sway() -> dict[tuple[int, str, int], Curve]:
    """Return curves that turn the spine and a leg about one axis, and move the hips."""
    angle, place = Curve(SECONDS, 20 * np.cos(5 * SECONDS)), Curve(SECONDS, 10 * np.cos(SECONDS))
    return {(SPINE, TURN, 2): angle, (LEG, TURN, 0): angle, (HIPS, MOVE, 1): place}


def grow(bone: int) -> dict[tuple[int, str, int], Curve]:
    """Return curves that scale a bone alike along all axes."""
    size = Curve(SECONDS, 1 + 0.3 * np.sin(3 * SECONDS))
    return {(bone, SCALE, axis): size for axis in range(3)}


def _inheriting(kind: int) -> dict[int, dict[str, Any]]:
    return {SPINE: {"InheritType": kind}, LEG: {"InheritType": kind}}
