"""Read FBX files with ufbx in a child process (`child_main.py`).

ufbx's binding can crash when it frees its objects, so nothing is freed (`KEEP_ALIVE`) and the
process just ends. No other file is opened. Blocks are float64 values: [joint, channel, numbers],
then one block per blend shape.

The request has `fps`, an even sampling rate, and `divided`, the number of parts per frame. Without
`fps`, a take with sparse keys is sampled at twice its frame rate and at its keys, so that
`keyed_frames.py` can choose frames.
"""

from __future__ import annotations

from array import array
from itertools import chain, pairwise, repeat
from typing import Any, NamedTuple

SAME_TIME_S = 1e-7  # keys this close to a frame coincide with it
DENSE_KEYS_RATIO = 1.05  # keys set the frame rate if they are denser than the scene's by this ratio
MAX_KEYS_PER_S = 1000.0  # that can set the frame rate
RECORDING_KEYS_PER_S = 21.6  # a take with as many is a recording, if its frame rate is higher
JUMP_OFFSET_S = 1e-5
CHANNELS = ("translation", "rotation", "scale")
# Which scene axes point right, up and to the viewer, and with which sign.
AXES = {
    "Coord": (("", 0), ("Sign", 1)),
    "Up": (("", 1), ("Sign", 1)),
    "Front": (("", 2), ("Sign", 1)),
}
IGNORED = {
    "mesh": "meshes",
    "blend shape": "blend_channels",
    "material": "materials",
    "picture": "videos",
}
# Node properties that affect its pose.
POSE_PROPERTIES = {
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
# References to all ufbx objects: its binding returns freed objects again when asked for the same
# thing.
KEEP_ALIVE: list[Any] = []


class FbxFile(NamedTuple):
    """A scene, its nodes, the nodes that are joints, and its takes with and without motion."""

    ufbx: Any
    scene: Any
    nodes: list[Any]
    joints: set[int]
    takes: list[Any]
    still: list[Any]


def open_file(ufbx: Any, data: bytes, request: dict[str, Any]) -> FbxFile:
    """Open the scene of a file."""
    scene = _load_scene(ufbx, data)
    nodes, stacks = _keep_all_alive(scene.nodes), _keep_all_alive(scene.anim_stacks)
    moved = [_find_animated_nodes(stack) for stack in stacks]
    joints = _add_ancestors(nodes, _find_bones(scene, nodes))
    if not any(m & joints for m in moved):  # no bones, or bones that are moved by other nodes
        joints = _add_ancestors(nodes, set[int]().union(*moved))
    takes = [stack for stack, m in zip(stacks, moved, strict=True) if m & joints]
    still = [stack for stack, m in zip(stacks, moved, strict=True) if not m & joints]
    return FbxFile(ufbx, scene, nodes, joints, takes, still)


def names(opened: FbxFile) -> tuple[list[str], list[str]]:
    """Return the names of takes that move joints, and of those that do not."""
    return [take.name for take in opened.takes], [take.name for take in opened.still]


def count_ignored(opened: FbxFile) -> dict[str, int]:
    """Count the content of the file that clips do not hold."""
    return {word: len(_keep_alive(getattr(opened.scene, name))) for word, name in IGNORED.items()}


def poses(
    opened: FbxFile, number: int, request: dict[str, Any], blocks: list[bytes]
) -> dict[str, Any]:
    """Return the skeleton and one take; append its numbers to the blocks."""
    response = _describe_skeleton(opened.nodes, opened.joints) | _read_settings(
        opened.ufbx, opened.scene
    )
    take = opened.takes[number]
    return response | _sample_take(
        opened.ufbx, opened.scene, opened.nodes, take, request, response, blocks
    )


def _load_scene(ufbx: Any, data: bytes) -> Any:
    """Load the scene in meters, y up and right-handed, every transform as `T · R · S`.

    A left-handed scene is mirrored so that its axes keep their meaning (right, up, front).
    """
    axis = ufbx.CoordinateAxis
    scene = ufbx.load_memory(
        data,
        ignore_geometry=True,
        ignore_embedded=True,
        load_external_files=False,
        evaluate_skinning=False,
        skip_skin_vertices=True,
        skip_mesh_parts=True,
        target_axes=ufbx.CoordinateAxes(axis.POSITIVE_X, axis.POSITIVE_Y, axis.POSITIVE_Z),
        target_unit_meters=1.0,
        space_conversion=ufbx.SpaceConversion.MODIFY_GEOMETRY,
        handedness_conversion_axis=ufbx.MirrorAxis.X,
        inherit_mode_handling=ufbx.InheritModeHandling.COMPENSATE,
        unicode_error_handling=ufbx.UnicodeErrorHandling.REPLACEMENT_CHARACTER,
    )
    return _keep_alive(scene)


def _keep_alive(item: Any) -> Any:
    KEEP_ALIVE.append(item)
    return item


def _keep_all_alive(items: Any) -> list[Any]:
    return list(_keep_alive(list(_keep_alive(items))))


def _find_animated_nodes(stack: Any) -> set[int]:
    """Return the nodes whose transform a take changes."""
    found: set[int] = set()
    for layer in _keep_all_alive(stack.layers):
        for prop in _keep_all_alive(layer.anim_props):
            element, value = _keep_alive(prop.element), _keep_alive(prop.anim_value)
            node = getattr(element, "node_depth", None) is not None
            if node and prop.prop_name in POSE_PROPERTIES and _is_changing(layer, value):
                found.add(element.typed_id)
    return found


def _is_changing(layer: Any, value: Any) -> bool:
    curves = [curve for curve in _keep_all_alive(value.curves) if curve is not None]
    if layer.weight_is_animated:
        return bool(curves)
    return any(curve.min_value != curve.max_value for curve in curves)


def _find_bones(scene: Any, nodes: list[Any]) -> set[int]:
    """Return the nodes that are bones by type, or because a skin uses them."""
    found = {n for n, node in enumerate(nodes) if _keep_alive(node.bone) and not node.is_root}
    for cluster in _keep_all_alive(scene.skin_clusters):
        bone = _keep_alive(cluster.bone_node)
        if bone is not None and not bone.is_root:
            found.add(bone.typed_id)
    return found


def _add_ancestors(nodes: list[Any], wanted: set[int]) -> set[int]:
    found: set[int] = set()
    for number in wanted:
        node = nodes[number]
        while node is not None and not node.is_root and node.typed_id not in found:
            found.add(node.typed_id)
            node = _keep_alive(node.parent)
    return found


def _describe_skeleton(nodes: list[Any], joints: set[int]) -> dict[str, Any]:
    above = {}
    for number in joints:
        parent = _keep_alive(nodes[number].parent)
        above[number] = -1 if parent is None or parent.is_root else parent.typed_id
    order = _order_depth_first(above)
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


def _order_depth_first(above: dict[int, int]) -> list[int]:
    below: dict[int, list[int]] = {}
    for number in sorted(above, reverse=True):
        below.setdefault(above[number], []).append(number)
    order: list[int] = []
    waiting = below.get(-1, [])
    while waiting:
        order.append(waiting.pop())
        waiting += below.get(order[-1], [])
    return order


def _read_settings(ufbx: Any, scene: Any) -> dict[str, Any]:
    settings, metadata = _keep_alive(scene.settings), _keep_alive(scene.metadata)
    props = _keep_alive(settings.props)
    return {
        "unit": ufbx.find_real(props, "UnitScaleFactor", 1.0) / 100,
        "axes": [
            [ufbx.find_int(props, f"{axis}Axis{part}", usual) for part, usual in parts]
            for axis, parts in AXES.items()
        ],
        "scene_rate": settings.frames_per_second,
        "creator": metadata.creator[:200],
        "version": metadata.version,
    }


def _sample_take(
    ufbx: Any,
    scene: Any,
    nodes: list[Any],
    stack: Any,
    request: dict[str, Any],
    known: dict[str, Any],
    blocks: list[bytes],
) -> dict[str, Any]:
    anim = _keep_alive(stack.anim)
    begin, end = stack.time_begin, stack.time_end
    if not begin < end:
        begin, end = _find_key_span(stack)
    rate = request["fps"] or _choose_rate(stack, known["scene_rate"], end - begin)
    column = {number: j for j, number in enumerate(known["joints"])}
    keyed = [] if request["fps"] else _find_sparse_curves(stack, rate, begin, end)
    corners, jumps = _find_corners_and_jumps(ufbx, keyed, begin, end)
    parts = 2 * request["divided"] if keyed else 1
    count = (end - begin) * rate * parts
    if not 0 <= (count + len(corners)) * len(column) < request["max_poses"]:
        return {
            "error": f"take {stack.name[:100]!r} lasts {end - begin:.6g} s; at {rate * parts:.6g} "
            f"frames per second, {len(known['joints'])} joints exceed the limit; pass a lower "
            "--fps"
        }
    times = [begin + k / (rate * parts) for k in range(int(count + 1e-3) + 1)]
    beside = [time + side for time in jumps for side in (-JUMP_OFFSET_S, JUMP_OFFSET_S)]
    inside = [time for time in beside if begin <= time <= end]
    extra = _drop_even_times([*corners, *inside], begin, rate * parts, len(times))
    bake = ufbx.bake_anim(
        scene,
        anim,
        resample_rate=rate * parts,
        minimum_sample_rate=1e9,
        maximum_sample_rate=1e9,
        max_keyframe_segments=len(times) + 1,
        step_handling=ufbx.BakeStepHandling.ADJACENT_DOUBLE,
    )
    _keep_alive(bake)
    placed: list[tuple[int, str, int]] = []
    last: dict[Any, Any] = {}
    for baked in _keep_all_alive(bake.nodes):
        if baked.typed_id in column:
            node = nodes[baked.typed_id]
            for channel, values in _sample_node(
                ufbx, anim, node, baked, times, extra, last
            ).items():
                placed.append((column[baked.typed_id], channel, len(values)))
                blocks.append(values.tobytes())
    weights = _sample_weights(ufbx, scene, anim, bake, times + extra, blocks)
    moved = {number for numbers, _ in keyed for number in numbers}
    return {
        "begin": begin,
        "rate": rate * parts,
        "frames": len(times),
        "extra": extra,
        "beside_jumps": inside,
        "keyed": sorted(column[number] for number in moved if number in column),
        "blocks": placed,
    } | weights


def _find_sparse_curves(
    stack: Any, rate: float, begin: float, end: float
) -> list[tuple[list[int], list[Any]]]:
    """Return (nodes, curves) that sparse keys animate, whose poses between frames matter.

    Empty for a recording: one curve has a key in each frame, or all curves together do. Children
    are included because the scale of a parent may be compensated in them.
    """
    enough = min(RECORDING_KEYS_PER_S, 0.9 * rate)
    found = []
    for layer in _keep_all_alive(stack.layers):
        for prop in _keep_all_alive(layer.anim_props):
            element = _keep_alive(prop.element)
            if (
                getattr(element, "node_depth", None) is None
                or prop.prop_name not in POSE_PROPERTIES
            ):
                continue
            curves = [
                c for c in _keep_all_alive(_keep_alive(prop.anim_value).curves) if c is not None
            ]
            curves = [c for c in curves if c.min_value != c.max_value]
            if any(_keys_per_second(c, (end - begin) / 2) >= enough for c in curves):
                return []
            if curves or layer.weight_is_animated:
                below = [child.typed_id for child in _keep_all_alive(element.children)]
                found.append(([element.typed_id, *below], curves))
    stamps = {round((k.time - begin) * rate) for _, cs in found for c in cs for k in _list_keys(c)}
    frames = (end - begin) * rate
    return [] if frames > 2 and len(stamps) >= min(0.9, enough / rate) * frames else found


def _list_keys(curve: Any) -> list[Any]:
    return _keep_all_alive(curve.keyframes)


def _keys_per_second(curve: Any, seconds: float) -> float:
    """Return a curve's keys per second, over at least this duration."""
    span = max(curve.max_time - curve.min_time, seconds)
    return (len(_keep_alive(curve.keyframes)) - 1) / span if span > 0 else 0.0


def _find_corners_and_jumps(
    ufbx: Any, keyed: list[tuple[list[int], list[Any]]], begin: float, end: float
) -> tuple[list[float], list[float]]:
    """Return the times at which sparse curves may bend sharply, and those at which they jump."""
    if not keyed:
        return [], []
    kinds = ufbx.Interpolation
    corners, jumps = {end}, set()
    for curve in {curve.element_id: curve for _, curves in keyed for curve in curves}.values():
        keys = [(key.time, key.value, key.interpolation) for key in _list_keys(curve)]
        corners.update(time for time, _, _ in keys)
        for (start, old, kind), (stop, new, _) in pairwise(keys):
            if old != new and kind in (kinds.CONSTANT_PREV, kinds.CONSTANT_NEXT):
                jumps.add(stop if kind == kinds.CONSTANT_PREV else start)
    inside = [sorted(t for t in times if begin <= t <= end) for times in (corners, jumps)]
    return inside[0], inside[1]


def _drop_even_times(wanted: list[float], begin: float, rate: float, count: int) -> list[float]:
    """Return the times that are not among `count` even ones, without duplicates."""
    found: list[float] = []
    for time in sorted(wanted):
        nearest = min(max(round((time - begin) * rate), 0), count - 1)
        even = abs(begin + nearest / rate - time) <= SAME_TIME_S
        if not even and (not found or time - found[-1] > SAME_TIME_S):
            found.append(time)
    return found


def _choose_rate(stack: Any, scene_rate: float, seconds: float) -> float:
    """Return the scene's frame rate, or that of the keys if they are denser."""
    rate = scene_rate if 1e-3 < scene_rate < MAX_KEYS_PER_S else 30.0
    fastest = 0.0
    for curve in _list_curves(stack):
        if 0 < seconds / 2 <= curve.max_time - curve.min_time:
            fastest = max(fastest, _keys_per_second(curve, 0.0))
    if not rate * DENSE_KEYS_RATIO < fastest < MAX_KEYS_PER_S:
        return rate
    whole = float(round(fastest))
    return whole if abs(whole - fastest) < 0.01 * fastest else fastest


def _find_key_span(stack: Any) -> tuple[float, float]:
    spans = [(curve.min_time, curve.max_time) for curve in _list_curves(stack)]
    return min((s[0] for s in spans), default=0.0), max((s[1] for s in spans), default=0.0)


def _list_curves(stack: Any) -> list[Any]:
    values = [
        v for layer in _keep_all_alive(stack.layers) for v in _keep_all_alive(layer.anim_values)
    ]
    return [
        curve for value in values for curve in _keep_all_alive(value.curves) if curve is not None
    ]


def _sample_node(
    ufbx: Any,
    anim: Any,
    node: Any,
    baked: Any,
    times: list[float],
    extra: list[float],
    known: dict[Any, Any],
) -> dict[str, array[float]]:
    """Return the channels of a node: moving ones at all times, constant ones once."""
    found: dict[str, array[float]] = {}
    others = [ufbx.evaluate_transform(anim, node, time) for time in extra]
    for place, channel in enumerate(CHANNELS):
        keys = _keep_alive(getattr(baked, f"{channel}_keys"))
        if getattr(baked, f"constant_{channel}"):
            found[channel] = array("d", keys[0].value)
            continue
        values = _pick_baked_values(keys, times, known)
        if values is None:  # frames between baked keys, where linear interpolation would be wrong
            poses = map(ufbx.evaluate_transform, repeat(anim), repeat(node), times)
            values = [pose[place] for pose in poses]
        values += [pose[place] for pose in others]
        found[channel] = array("d", chain.from_iterable(values))
    return found


def _pick_baked_values(keys: Any, times: list[float], known: dict[Any, Any]) -> list[Any] | None:
    """Return the values at these times if each has a key; at a jump, the last key.

    Most channels have the same keys, so the matching indices are cached in `known`.
    """
    stamps, values = zip(*((key.time, key.value) for key in keys), strict=True)
    if known.get("stamps") != stamps:
        known["stamps"], known["positions"] = stamps, _match_times(stamps, times)
    positions = known["positions"]
    if positions is None:
        return None
    return list(values) if len(positions) == len(values) else [values[place] for place in positions]


def _match_times(stamps: tuple[float, ...], times: list[float]) -> list[int] | None:
    """Return for each time the index of its stamp (increasing), or None if one has none."""
    found, at, last = [], 0, len(stamps) - 1
    for time in times:
        while at < last and stamps[at + 1] <= time + SAME_TIME_S:
            at += 1
        if not -SAME_TIME_S <= stamps[at] - time <= SAME_TIME_S:
            return None
        found.append(at)
    return found


def _sample_weights(
    ufbx: Any, scene: Any, anim: Any, bake: Any, times: list[float], blocks: list[bytes]
) -> dict[str, Any]:
    """Return the names of the animated blend shapes; append their weights to the blocks."""
    moved = {element.element_id for element in _keep_all_alive(bake.elements)}
    names = []
    for channel in _keep_all_alive(scene.blend_channels):
        if channel.element_id in moved:
            weigh = ufbx.evaluate_blend_weight
            weights = array("d", map(weigh, repeat(anim), repeat(channel), times))
            blocks.append(weights.tobytes())
            names.append(channel.name)
    return {"weights": names}
