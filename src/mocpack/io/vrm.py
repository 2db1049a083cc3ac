"""Write skeletal clips as animations for VRM models (.vrma): glTF with a map of human bones.

Clips read from such a file know their human bones. For other clips, common joint names identify
them. Tracks `expression.<name>` are written as nodes, as VRM specifies.
"""

from __future__ import annotations

import re

import numpy as np

from mocpack.common.json_object import JsonObject
from mocpack.errors import UnsupportedClipError
from mocpack.io import glb, gltf_build
from mocpack.io.gltf_build import Animation, Buffer
from mocpack.io.gltf_file import GENERATOR
from mocpack.model.clip import Clip
from mocpack.model.skeleton import Skeleton

EXTENSION, VERSION = "VRMC_vrm_animation", "1.0"
EXPRESSION_PREFIX = "expression."
PRESETS = {"happy", "angry", "sad", "relaxed", "surprised", "neutral", "aa", "ih", "ou", "ee"}
PRESETS |= {"oh", "blink", "blinkLeft", "blinkRight"}
SIDES = (("left", "l"), ("right", "r"))
TORSO = ("hips", "spine", "chest", "upperChest", "neck", "head")
LIMBS = ("Shoulder", "UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot", "Toes")
REQUIRED = frozenset(
    ["hips", "spine", "head"]
    + [side + limb for side, _ in SIDES for limb in LIMBS if limb not in ("Shoulder", "Toes")]
)
# Joint names in the order of TORSO and LIMBS: of VRM models; of Mixamo, MotionBuilder and most BVH
# files; of Acclaim files; of SMPL. `%` is the side.
NAMING_STYLES = (
    (
        "hips spine chest upperchest neck head",
        "%shoulder %upperarm %lowerarm %hand %upperleg %lowerleg %foot %toes",
    ),
    (
        "hips spine spine1 spine2 neck head",
        "%shoulder %arm %forearm %hand %upleg %leg %foot %toebase",
    ),
    (
        "root lowerback upperback thorax lowerneck head",
        "%clavicle %humerus %radius %wrist %femur %tibia %foot %toes",
    ),
    (
        "pelvis spine1 spine2 spine3 neck head",
        "%collar %shoulder %elbow %wrist %hip %knee %ankle %foot",
    ),
)


def write(clip: Clip) -> bytes:
    """Return the clip as a .vrma file; raise an error if bones that VRM requires are missing."""
    bones = find_human_bones(clip)
    buffer = Buffer()
    nodes = glb.build_nodes(clip.skeleton)
    animation = glb.build_animation(clip, buffer, nodes)
    expressions = _add_expressions(clip, buffer, nodes, animation)
    for node in nodes:
        if "children" not in node:  # keeps programs from removing nodes that look unused
            node.setdefault("extras", {"mocpack": "joint"})
    tops = [*clip.skeleton.roots, *expressions.values()]
    extension: JsonObject = {
        "specVersion": VERSION,
        "humanoid": {"humanBones": {bone: {"node": node} for bone, node in bones.items()}},
    }
    if expressions:
        extension["expressions"] = {
            group: {
                name: {"node": n} for name, n in expressions.items() if (name in PRESETS) == own
            }
            for group, own in (("preset", True), ("custom", False))
        }
    document: JsonObject = {
        "asset": {"version": "2.0", "generator": GENERATOR},
        "extensionsUsed": [EXTENSION],
        "extensions": {EXTENSION: extension},
        "scene": 0,
        "scenes": [{"nodes": tops}],
        "nodes": nodes,
        "animations": [animation.build(glb.animation_name(clip))],
        "accessors": buffer.accessors,
        "bufferViews": buffer.views,
    }
    return gltf_build.pack_binary(document, bytes(buffer.data))


def find_human_bones(clip: Clip) -> dict[str, int]:
    """Return the joint of each human bone, by VRM's bone name."""
    names = clip.skeleton.names
    stated = clip.metadata.get("vrm_humanoid")
    if isinstance(stated, dict):
        bones = {str(bone): names.index(name) for bone, name in stated.items() if name in names}
    else:
        bones = max((_match_names(clip.skeleton, style) for style in NAMING_STYLES), key=len)
    missing = sorted(REQUIRED - set(bones))
    if missing:
        raise UnsupportedClipError(
            "a VRM animation needs the bones of a human body, but this clip has no joint for "
            f"{', '.join(missing)}"
        )
    return bones


def _match_names(skeleton: Skeleton, style: tuple[str, str]) -> dict[str, int]:
    """Return the joints whose names match a naming style, by bone."""
    joints = {_normalize_name(name): j for j, name in reversed(list(enumerate(skeleton.names)))}
    middle, limbs = (part.split() for part in style)
    wanted = dict(zip(TORSO, ([name] for name in middle), strict=True))
    for side, letter in SIDES:
        for limb, name in zip(LIMBS, limbs, strict=True):
            wanted[side + limb] = [name.replace("%", side), name.replace("%", letter)]
    matches = {bone: [joints[n] for n in names if n in joints] for bone, names in wanted.items()}
    return {bone: at[0] for bone, at in matches.items() if at}


def _normalize_name(name: str) -> str:
    """Return a joint name in lower case, without prefix and separators.

    >>> _normalize_name("mixamorig:LeftUpLeg"), _normalize_name("left_hip")
    ('leftupleg', 'lefthip')
    """
    return re.sub(r"[^a-z0-9]", "", name.rpartition(":")[2].lower())


def _add_expressions(
    clip: Clip, buffer: Buffer, nodes: list[JsonObject], animation: Animation
) -> dict[str, int]:
    """Add a node for each expression; its x translation is the weight."""
    expressions: dict[str, int] = {}
    for name, track in clip.tracks.items():
        if not name.startswith(EXPRESSION_PREFIX) or track.kind != "scalar" or not len(track):
            continue
        expression = name.removeprefix(EXPRESSION_PREFIX)
        seconds = track.seconds(clip.frame_time)
        times = buffer.add(seconds - min(0.0, clip.times[0], seconds[0]), bounds=True)
        positions = np.zeros((len(track), 3))
        positions[:, 0] = track.values
        expressions[expression] = len(nodes)
        nodes.append({"name": expression})
        animation.add(expressions[expression], "translation", times, buffer.add(positions))
    return expressions
