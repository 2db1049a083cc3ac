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
from functools import lru_cache
from itertools import chain, pairwise, repeat
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    import ufbx

    from mocpack.common.json_object import JsonObject
    from mocpack.io.child_main import Request

T = TypeVar("T")

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
KEEP_ALIVE: list[object] = []


class FbxFile(NamedTuple):
    """A scene, its nodes, the nodes that are joints, and its takes with and without motion."""

    scene: ufbx.Scene
    nodes: list[ufbx.Node]
    joints: set[int]
    takes: list[ufbx.AnimStack]
    still: list[ufbx.AnimStack]


class SparseCurves(NamedTuple):
    """Curves with few keys, and the nodes that they move."""

    nodes: list[int]
    curves: list[ufbx.AnimCurve]


def open_file(data: bytes, request: Request) -> FbxFile:
    """Open the scene of a file."""
    scene = _load_scene(data)
    nodes, stacks = _keep_all_alive(scene.nodes), _keep_all_alive(scene.anim_stacks)
    moved = [_find_animated_nodes(stack) for stack in stacks]
    joints = _add_ancestors(nodes, _find_bones(scene, nodes))
    if not any(m & joints for m in moved):  # no bones, or bones that are moved by other nodes
        joints = _add_ancestors(nodes, set[int]().union(*moved))
    takes = [stack for stack, m in zip(stacks, moved, strict=True) if m & joints]
    still = [stack for stack, m in zip(stacks, moved, strict=True) if not m & joints]
    return FbxFile(scene, nodes, joints, takes, still)


def names(opened: FbxFile) -> tuple[list[str], list[str]]:
    """Return the names of takes that move joints, and of those that do not."""
    return [take.name for take in opened.takes], [take.name for take in opened.still]


def count_ignored(opened: FbxFile) -> dict[str, int]:
    """Count the content of the file that clips do not hold."""
    return {word: len(_keep_alive(getattr(opened.scene, name))) for word, name in IGNORED.items()}


def poses(opened: FbxFile, number: int, request: Request, blocks: list[bytes]) -> JsonObject:
    """Return the skeleton and one take; append its numbers to the blocks."""
    parents = _find_parents(opened.nodes, opened.joints)
    order = _order_depth_first(parents)
    return {
        **_describe_skeleton(opened.nodes, parents, order),
        **_read_settings(opened.scene),
        **_sample_take(opened, opened.takes[number], order, request, blocks),
    }


def _load_scene(data: bytes) -> ufbx.Scene:
    """Load the scene in meters, y up and right-handed, every transform as `T · R · S`.

    A left-handed scene is mirrored so that its axes keep their meaning (right, up, front).
    """
    import ufbx

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


def _keep_alive(item: T) -> T:
    KEEP_ALIVE.append(item)
    return item


def _keep_all_alive(items: Iterable[T]) -> list[T]:
    return list(_keep_alive(list(_keep_alive(items))))


def _find_animated_nodes(stack: ufbx.AnimStack) -> set[int]:
    """Return the nodes whose transform a take changes."""
    return {
        node.typed_id
        for layer in _keep_all_alive(stack.layers)
        for node, value in _list_poses(layer)
        if (curves := _list_curves(value))
        and (layer.weight_is_animated or any(c.min_value != c.max_value for c in curves))
    }


def _list_poses(layer: ufbx.AnimLayer) -> list[tuple[ufbx.Node, ufbx.AnimValue]]:
    """Return the values of a layer that affect the pose of a node, with the node."""
    import ufbx

    return [
        (element, _keep_alive(prop.anim_value))
        for prop in _keep_all_alive(layer.anim_props)
        if isinstance(element := _keep_alive(prop.element), ufbx.Node)
        and prop.prop_name in POSE_PROPERTIES
    ]


def _list_curves(value: ufbx.AnimValue) -> list[ufbx.AnimCurve]:
    return [curve for curve in _keep_all_alive(value.curves) if curve is not None]


def _find_bones(scene: ufbx.Scene, nodes: list[ufbx.Node]) -> set[int]:
    """Return the nodes that are bones by type, or because a skin uses them."""
    bones = {n for n, node in enumerate(nodes) if _keep_alive(node.bone) and not node.is_root}
    for cluster in _keep_all_alive(scene.skin_clusters):
        bone = _keep_alive(cluster.bone_node)
        if bone is not None and not bone.is_root:
            bones.add(bone.typed_id)
    return bones


def _add_ancestors(nodes: list[ufbx.Node], wanted: set[int]) -> set[int]:
    joints: set[int] = set()
    for number in wanted:
        node: ufbx.Node | None = nodes[number]
        while node is not None and not node.is_root and node.typed_id not in joints:
            joints.add(node.typed_id)
            node = _keep_alive(node.parent)
    return joints


def _find_parents(nodes: list[ufbx.Node], joints: set[int]) -> dict[int, int]:
    """Return the parent of each joint, -1 for roots."""
    parents = {}
    for number in joints:
        parent = _keep_alive(nodes[number].parent)
        parents[number] = -1 if parent is None or parent.is_root else parent.typed_id
    return parents


def _describe_skeleton(
    nodes: list[ufbx.Node], parents: dict[int, int], order: list[int]
) -> JsonObject:
    place = {number: j for j, number in enumerate(order)}
    rest = [nodes[number].local_transform for number in order]
    names = [nodes[number].name for number in order]
    for j, number in enumerate(order):
        if nodes[number].is_scale_helper:
            names[j] = f"{nodes[parents[number]].name}_scale"
    return {
        "names": names,
        "parents": [place.get(parents[number], -1) for number in order],
        "rest": {channel: [list(getattr(t, channel)) for t in rest] for channel in CHANNELS},
    }


def _order_depth_first(parents: dict[int, int]) -> list[int]:
    children: dict[int, list[int]] = {}
    for number in sorted(parents, reverse=True):
        children.setdefault(parents[number], []).append(number)
    order: list[int] = []
    waiting = children.get(-1, [])
    while waiting:
        order.append(waiting.pop())
        waiting += children.get(order[-1], [])
    return order


def _read_settings(scene: ufbx.Scene) -> JsonObject:
    import ufbx

    settings = _keep_alive(scene.settings)
    props = _keep_alive(settings.props)
    return {
        "unit": ufbx.find_real(props, "UnitScaleFactor", 1.0) / 100,
        "axes": [
            [ufbx.find_int(props, f"{axis}Axis{part}", usual) for part, usual in parts]
            for axis, parts in AXES.items()
        ],
        "creator": _keep_alive(scene.metadata).creator[:200],
    }


def _sample_take(
    opened: FbxFile, stack: ufbx.AnimStack, joints: list[int], request: Request, blocks: list[bytes]
) -> JsonObject:
    import ufbx

    anim = _keep_alive(stack.anim)
    begin, end = stack.time_begin, stack.time_end
    if not begin < end:
        begin, end = _find_key_span(stack)
    scene_rate = _keep_alive(opened.scene.settings).frames_per_second
    rate = request["fps"] or _choose_rate(stack, scene_rate, end - begin)
    column = {number: j for j, number in enumerate(joints)}
    keyed = [] if request["fps"] else _find_sparse_curves(stack, rate, begin, end)
    corners, jumps = _find_corners_and_jumps(keyed, begin, end)
    parts = 2 * request["divided"] if keyed else 1
    count = (end - begin) * rate * parts
    if not 0 <= (count + len(corners)) * len(column) < request["max_poses"]:
        return {
            "error": f"take {stack.name[:100]!r} lasts {end - begin:.6g} s; at {rate * parts:.6g} "
            f"frames per second, {len(joints)} joints exceed the limit; pass a lower --fps"
        }
    times = tuple(begin + k / (rate * parts) for k in range(int(count + 1e-3) + 1))
    beside = [time + side for time in jumps for side in (-JUMP_OFFSET_S, JUMP_OFFSET_S)]
    inside = [time for time in beside if begin <= time <= end]
    extra = _drop_even_times([*corners, *inside], begin, rate * parts, len(times))
    bake = ufbx.bake_anim(
        opened.scene,
        anim,
        resample_rate=rate * parts,
        minimum_sample_rate=1e9,
        maximum_sample_rate=1e9,
        max_keyframe_segments=len(times) + 1,
        step_handling=ufbx.BakeStepHandling.ADJACENT_DOUBLE,
    )
    _keep_alive(bake)
    placed: list[tuple[int, str, int]] = []
    for baked in _keep_all_alive(bake.nodes):
        if baked.typed_id in column:
            node = opened.nodes[baked.typed_id]
            for channel, values in _sample_node(anim, node, baked, times, extra).items():
                placed.append((column[baked.typed_id], channel, len(values)))
                blocks.append(values.tobytes())
    weights = _sample_weights(opened.scene, anim, bake, [*times, *extra], blocks)
    moved = {number for sparse in keyed for number in sparse.nodes}
    return {
        "begin": begin,
        "rate": rate * parts,
        "frames": len(times),
        "extra": extra,
        "beside_jumps": inside,
        "keyed": sorted(column[number] for number in moved if number in column),
        "blocks": placed,
        "weights": weights,
    }


def _find_sparse_curves(
    stack: ufbx.AnimStack, rate: float, begin: float, end: float
) -> list[SparseCurves]:
    """Return the curves that sparse keys animate, whose poses between frames matter.

    Empty for a recording: one curve has a key in each frame, or all curves together do. Children
    are included because the scale of a parent may be compensated in them.
    """
    enough = min(RECORDING_KEYS_PER_S, 0.9 * rate)
    sparse: list[SparseCurves] = []
    for layer in _keep_all_alive(stack.layers):
        for node, value in _list_poses(layer):
            curves = [c for c in _list_curves(value) if c.min_value != c.max_value]
            if any(_keys_per_second(c, (end - begin) / 2) >= enough for c in curves):
                return []
            if curves or layer.weight_is_animated:
                children = [child.typed_id for child in _keep_all_alive(node.children)]
                sparse.append(SparseCurves([node.typed_id, *children], curves))
    keys = (k for _, curves in sparse for c in curves for k in _keep_all_alive(c.keyframes))
    stamps = {round((key.time - begin) * rate) for key in keys}
    frames = (end - begin) * rate
    return [] if frames > 2 and len(stamps) >= min(0.9, enough / rate) * frames else sparse


def _keys_per_second(curve: ufbx.AnimCurve, seconds: float) -> float:
    """Return a curve's keys per second, over at least this duration."""
    span = max(curve.max_time - curve.min_time, seconds)
    return (len(_keep_alive(curve.keyframes)) - 1) / span if span > 0 else 0.0


def _find_corners_and_jumps(
    keyed: list[SparseCurves], begin: float, end: float
) -> tuple[list[float], list[float]]:
    """Return the times at which sparse curves may bend sharply, and those at which they jump."""
    import ufbx

    if not keyed:
        return [], []
    kinds = ufbx.Interpolation
    corners, jumps = {end}, set()
    for curve in {curve.element_id: curve for _, curves in keyed for curve in curves}.values():
        keys = [(k.time, k.value, k.interpolation) for k in _keep_all_alive(curve.keyframes)]
        corners.update(time for time, _, _ in keys)
        for (start, old, kind), (stop, new, _) in pairwise(keys):
            if old != new and kind in (kinds.CONSTANT_PREV, kinds.CONSTANT_NEXT):
                jumps.add(stop if kind == kinds.CONSTANT_PREV else start)
    inside = [sorted(t for t in times if begin <= t <= end) for times in (corners, jumps)]
    return inside[0], inside[1]


def _drop_even_times(wanted: list[float], begin: float, rate: float, count: int) -> list[float]:
    """Return the times that are not among `count` even ones, without duplicates."""
    extra: list[float] = []
    for time in sorted(wanted):
        nearest = min(max(round((time - begin) * rate), 0), count - 1)
        even = abs(begin + nearest / rate - time) <= SAME_TIME_S
        if not even and (not extra or time - extra[-1] > SAME_TIME_S):
            extra.append(time)
    return extra


def _choose_rate(stack: ufbx.AnimStack, scene_rate: float, seconds: float) -> float:
    """Return the scene's frame rate, or that of the keys if they are denser."""
    rate = scene_rate if 1e-3 < scene_rate < MAX_KEYS_PER_S else 30.0
    fastest = 0.0
    for curve in _list_stack_curves(stack):
        if 0 < seconds / 2 <= curve.max_time - curve.min_time:
            fastest = max(fastest, _keys_per_second(curve, 0.0))
    if not rate * DENSE_KEYS_RATIO < fastest < MAX_KEYS_PER_S:
        return rate
    whole = float(round(fastest))
    return whole if abs(whole - fastest) < 0.01 * fastest else fastest


def _find_key_span(stack: ufbx.AnimStack) -> tuple[float, float]:
    spans = [(curve.min_time, curve.max_time) for curve in _list_stack_curves(stack)]
    return min((s[0] for s in spans), default=0.0), max((s[1] for s in spans), default=0.0)


def _list_stack_curves(stack: ufbx.AnimStack) -> list[ufbx.AnimCurve]:
    layers = _keep_all_alive(stack.layers)
    values = [value for layer in layers for value in _keep_all_alive(layer.anim_values)]
    return [curve for value in values for curve in _list_curves(value)]


def _sample_node(
    anim: ufbx.Anim,
    node: ufbx.Node,
    baked: ufbx.BakedNode,
    times: tuple[float, ...],
    extra: list[float],
) -> dict[str, array[float]]:
    """Return the channels of a node: moving ones at all times, constant ones once."""
    import ufbx

    channels: dict[str, array[float]] = {}
    others = [ufbx.evaluate_transform(anim, node, time) for time in extra]
    for place, channel in enumerate(CHANNELS):
        keys = _keep_alive(getattr(baked, f"{channel}_keys"))
        if getattr(baked, f"constant_{channel}"):
            channels[channel] = array("d", keys[0].value)
            continue
        values = _pick_baked_values(keys, times)
        if values is None:  # frames between baked keys, where linear interpolation would be wrong
            poses = map(ufbx.evaluate_transform, repeat(anim), repeat(node), times)
            values = [pose[place] for pose in poses]
        values += [pose[place] for pose in others]
        channels[channel] = array("d", chain.from_iterable(values))
    return channels


def _pick_baked_values(
    keys: ufbx.BakedVec3List | ufbx.BakedQuatList, times: tuple[float, ...]
) -> list[ufbx.Vec3 | ufbx.Quat] | None:
    """Return the values at these times if each has a key; at a jump, the last key."""
    stamps, values = zip(*((key.time, key.value) for key in keys), strict=True)
    positions = _match_times(stamps, times)
    if positions is None:
        return None
    return list(values) if len(positions) == len(values) else [values[place] for place in positions]


@lru_cache(maxsize=1)  # most channels have the same keys
def _match_times(stamps: tuple[float, ...], times: tuple[float, ...]) -> list[int] | None:
    """Return for each time the index of its stamp (increasing), or None if one has none."""
    positions, at, last = [], 0, len(stamps) - 1
    for time in times:
        while at < last and stamps[at + 1] <= time + SAME_TIME_S:
            at += 1
        if not -SAME_TIME_S <= stamps[at] - time <= SAME_TIME_S:
            return None
        positions.append(at)
    return positions


def _sample_weights(
    scene: ufbx.Scene,
    anim: ufbx.Anim,
    bake: ufbx.BakedAnim,
    times: list[float],
    blocks: list[bytes],
) -> list[str]:
    """Return the names of the animated blend shapes; append their weights to the blocks."""
    import ufbx

    moved = {element.element_id for element in _keep_all_alive(bake.elements)}
    names = []
    for channel in _keep_all_alive(scene.blend_channels):
        if channel.element_id in moved:
            weigh = ufbx.evaluate_blend_weight
            weights = array("d", map(weigh, repeat(anim), repeat(channel), times))
            blocks.append(weights.tobytes())
            names.append(channel.name)
    return names
