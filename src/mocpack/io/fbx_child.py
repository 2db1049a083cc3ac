"""What reads an FBX file in a process of its own: a script of the standard library and ufbx.

The binding of ufbx frees its objects in an order that can end the process, and a broken file may
do so too; here it costs this process alone. Nothing is freed on the way (`gc.disable`, `KEPT`,
`os._exit`), memory and time have limits, and no other file is opened.

    python fbx_child.py UFBX QUESTION < file.fbx

UFBX is the package's `__init__.py`, wherever it is. QUESTION is JSON: `read` (whether poses are
wanted, or the names of the takes alone), `take` (its number among those that move something),
`fps`, `most_poses`, `limits`. The answer is a line of JSON, and after it the numbers of its
`blocks`, as 64-bit floats.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from array import array
from importlib.util import module_from_spec, spec_from_file_location
from itertools import chain, repeat
from pathlib import Path
from typing import Any

NEAR = 1e-7  # seconds: a key that is so near to a frame is at it
DENSER = 1.05  # times the scene's frame rate, from which keys set the rate
FASTEST = 1000.0  # frames a second that keys may set
CHANNELS = ("translation", "rotation", "scale")
# properties of a node that pose it; others show or hide it, or are the user's
POSING = {
    "Lcl Translation",
    "Lcl Rotation",
    "Lcl Scaling",
    "PreRotation",
    "PostRotation",
    "RotationOffset",
    "RotationPivot",
    "ScalingOffset",
    "ScalingPivot",
}
KEPT: list[Any] = []  # whatever ufbx has handed out: to free it may crash


def main() -> None:
    question = json.loads(sys.argv[2])
    data = sys.stdin.buffer.read()
    out = sys.stdout.buffer
    blocks: list[array[float]] = []
    try:
        _limit(**question["limits"])
        answer = _answer(_imported(sys.argv[1]), data, question, blocks)
    except MemoryError:
        answer = {"error": "it needs more memory than such a file should"}
    except Exception as error:  # of ufbx, which has a class for each complaint
        answer = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
    out.write(json.dumps(answer).encode() + b"\n")
    for block in blocks:
        out.write(block.tobytes())
    out.flush()
    os._exit(0)


def _limit(memory: int, seconds: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has none of these; the parent's clock still ends us
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _imported(path: str) -> Any:
    # by its file: what else is in its folder must not stand in for the standard library
    spec = spec_from_file_location(
        "ufbx", path, submodule_search_locations=[str(Path(path).parent)]
    )
    assert spec is not None
    assert spec.loader is not None
    ufbx = sys.modules["ufbx"] = module_from_spec(spec)
    spec.loader.exec_module(ufbx)
    return ufbx


def _answer(
    ufbx: Any, data: bytes, question: dict[str, Any], blocks: list[array[float]]
) -> dict[str, Any]:
    scene = _loaded(ufbx, data)
    nodes, stacks = _kept(scene.nodes), _kept(scene.anim_stacks)
    moved = [_moved(stack) for stack in stacks]
    names = [stack.name for stack in stacks]
    joints = _with_ancestors(nodes, _bones(scene, nodes))
    if not any(m & joints for m in moved):  # no bones, or bones that something else carries
        joints = _with_ancestors(nodes, set[int]().union(*moved))
    takes = [k for k, m in enumerate(moved) if m & joints]
    answer = {
        "takes": [names[k] for k in takes],
        "still": [names[k] for k in range(len(stacks)) if k not in takes],
    }
    if not question["read"] or not takes:
        return answer
    number = takes[min(question["take"], len(takes) - 1)]
    answer |= _skeleton(nodes, joints)
    answer |= _settings(ufbx, scene)
    answer |= _take(ufbx, scene, stacks[number], question, answer, blocks)
    return answer


def _loaded(ufbx: Any, data: bytes) -> Any:
    """Return the scene in metres, y up and right-handed, every transform as `T · R · S`."""
    axis = ufbx.CoordinateAxis
    scene = ufbx.load_memory(
        data,
        ignore_embedded=True,
        load_external_files=False,
        evaluate_skinning=False,
        skip_skin_vertices=True,
        skip_mesh_parts=True,
        target_axes=ufbx.CoordinateAxes(axis.POSITIVE_X, axis.POSITIVE_Y, axis.POSITIVE_Z),
        target_unit_meters=1.0,
        space_conversion=ufbx.SpaceConversion.MODIFY_GEOMETRY,
        inherit_mode_handling=ufbx.InheritModeHandling.COMPENSATE,
        unicode_error_handling=ufbx.UnicodeErrorHandling.REPLACEMENT_CHARACTER,
    )
    KEPT.append(scene)
    return scene


def _kept(items: Any) -> list[Any]:
    found = list(items)
    KEPT.append(items)
    KEPT.append(found)
    return found


def _moved(stack: Any) -> set[int]:
    """Return the nodes whose place or turn a take changes."""
    found: set[int] = set()
    for layer in _kept(stack.layers):
        for prop in _kept(layer.anim_props):
            element, value = prop.element, prop.anim_value
            KEPT.append((element, value))
            node = getattr(element, "node_depth", None) is not None
            if node and prop.prop_name in POSING and _changes(layer, value):
                found.add(element.typed_id)
    return found


def _changes(layer: Any, value: Any) -> bool:
    curves = [curve for curve in _kept(value.curves) if curve is not None]
    if layer.weight_is_animated:
        return bool(curves)
    return any(curve.min_value != curve.max_value for curve in curves)


def _bones(scene: Any, nodes: list[Any]) -> set[int]:
    """Return the nodes that are bones by their kind, or because a skin hangs on them."""
    found = {n for n, node in enumerate(nodes) if node.bone is not None and not node.is_root}
    for cluster in _kept(scene.skin_clusters):
        bone = cluster.bone_node
        KEPT.append(bone)
        if bone is not None and not bone.is_root:
            found.add(bone.typed_id)
    return found


def _with_ancestors(nodes: list[Any], wanted: set[int]) -> set[int]:
    found: set[int] = set()
    for number in wanted:
        node = nodes[number]
        while node is not None and not node.is_root and node.typed_id not in found:
            found.add(node.typed_id)
            node = node.parent
            KEPT.append(node)
    return found


def _skeleton(nodes: list[Any], joints: set[int]) -> dict[str, Any]:
    above = {}
    for number in joints:
        parent = nodes[number].parent
        KEPT.append(parent)
        above[number] = -1 if parent is None or parent.is_root else parent.typed_id
    order = _depth_first(above)
    place = {number: j for j, number in enumerate(order)}
    rest = [nodes[number].local_transform for number in order]
    names = [nodes[number].name for number in order]
    for j, number in enumerate(order):
        if nodes[number].is_scale_helper:
            names[j] = f"{nodes[above[number]].name}_scale"
    return {
        "joints": order,
        "names": names,
        "parents": [place.get(above[number], -1) for number in order],
        **{channel: [list(getattr(t, channel)) for t in rest] for channel in CHANNELS},
    }


def _depth_first(above: dict[int, int]) -> list[int]:
    below: dict[int, list[int]] = {}
    for number in sorted(above, reverse=True):
        below.setdefault(above[number], []).append(number)
    order: list[int] = []
    waiting = below.get(-1, [])
    while waiting:
        order.append(waiting.pop())
        waiting += below.get(order[-1], [])
    return order


def _settings(ufbx: Any, scene: Any) -> dict[str, Any]:
    settings, metadata = scene.settings, scene.metadata
    props = settings.props
    KEPT.append((settings, metadata, props))
    return {
        "unit": ufbx.find_real(props, "UnitScaleFactor", 1.0) / 100,
        "up": ufbx.find_int(props, "UpAxis", 1),
        "scene_rate": settings.frames_per_second,
        "creator": metadata.creator[:200],
        "version": metadata.version,
    }


def _take(
    ufbx: Any,
    scene: Any,
    stack: Any,
    question: dict[str, Any],
    known: dict[str, Any],
    blocks: list[array[float]],
) -> dict[str, Any]:
    anim = stack.anim
    KEPT.append(anim)
    begin, end = stack.time_begin, stack.time_end
    if not begin < end:
        begin, end = _key_span(stack)
    rate = question["fps"] or _rate(stack, known["scene_rate"], end - begin)
    count = (end - begin) * rate
    if not 0 <= count * len(known["joints"]) < question["most_poses"]:
        return {
            "error": f"take {stack.name[:100]!r} lasts {end - begin:.6g} s: at {rate:.6g} frames a "
            f"second of {len(known['joints'])} joints that is more than mocpack reads"
        }
    times = [begin + k / rate for k in range(int(count + 1e-3) + 1)]
    bake = ufbx.bake_anim(
        scene,
        anim,
        resample_rate=rate,
        minimum_sample_rate=1e9,
        max_keyframe_segments=len(times) + 1,
        step_handling=ufbx.BakeStepHandling.ADJACENT_DOUBLE,
    )
    KEPT.append(bake)
    column = {number: j for j, number in enumerate(known["joints"])}
    placed: list[tuple[int, str, int]] = []
    for baked in _kept(bake.nodes):
        if baked.typed_id in column:
            node = scene.nodes[baked.typed_id]
            KEPT.append(node)
            for channel, values in _poses(ufbx, anim, node, baked, times).items():
                placed.append((column[baked.typed_id], channel, len(values)))
                blocks.append(values)
    weights = _weights(ufbx, scene, anim, bake, times, blocks)
    return {"begin": begin, "rate": rate, "frames": len(times), "blocks": placed} | weights


def _rate(stack: Any, scene_rate: float, seconds: float) -> float:
    """Return the scene's frames a second, or those of keys that are denser."""
    rate = scene_rate if 1e-3 < scene_rate < FASTEST else 30.0
    fastest = 0.0
    for curve in _curves(stack):
        span = curve.max_time - curve.min_time
        if 0 < seconds / 2 <= span:
            fastest = max(fastest, (len(curve.keyframes) - 1) / span)
    if not rate * DENSER < fastest < FASTEST:
        return rate
    whole = float(round(fastest))
    return whole if abs(whole - fastest) < 0.01 * fastest else fastest


def _key_span(stack: Any) -> tuple[float, float]:
    spans = [(curve.min_time, curve.max_time) for curve in _curves(stack)]
    return min((s[0] for s in spans), default=0.0), max((s[1] for s in spans), default=0.0)


def _curves(stack: Any) -> list[Any]:
    values = [v for layer in _kept(stack.layers) for v in _kept(layer.anim_values)]
    return [curve for value in values for curve in _kept(value.curves) if curve is not None]


def _poses(
    ufbx: Any, anim: Any, node: Any, baked: Any, times: list[float]
) -> dict[str, array[float]]:
    """Return the channels of a node that move, at all times, and those that do not, once."""
    found: dict[str, array[float]] = {}
    for place, channel in enumerate(CHANNELS):
        keys = getattr(baked, f"{channel}_keys")
        KEPT.append(keys)
        if getattr(baked, f"constant_{channel}"):
            found[channel] = array("d", keys[0].value)
            continue
        values = _at([(key.time, key.value) for key in keys], times)
        if values is None:  # frames between the baked keys, where a line may miss the curve
            poses = map(ufbx.evaluate_transform, repeat(anim), repeat(node), times)
            values = [pose[place] for pose in poses]
        found[channel] = array("d", chain.from_iterable(values))
    return found


def _at(keys: list[tuple[float, Any]], times: list[float]) -> list[Any] | None:
    """Return the values at these times, if each has a key: the last one, where values jump."""
    found, at, last = [], 0, len(keys) - 1
    for time in times:
        while at < last and keys[at + 1][0] <= time + NEAR:
            at += 1
        if not -NEAR <= keys[at][0] - time <= NEAR:
            return None
        found.append(keys[at][1])
    return found


def _weights(
    ufbx: Any, scene: Any, anim: Any, bake: Any, times: list[float], blocks: list[array[float]]
) -> dict[str, Any]:
    """Return the names of the blend shapes that a take moves; their weights become blocks."""
    moved = {element.element_id for element in _kept(bake.elements)}
    names = []
    for channel in _kept(scene.blend_channels):
        if channel.element_id in moved:
            weigh = ufbx.evaluate_blend_weight
            blocks.append(array("d", map(weigh, repeat(anim), repeat(channel), times)))
            names.append(channel.name)
    return {"weights": names}


if __name__ == "__main__":
    gc.disable()
    main()
