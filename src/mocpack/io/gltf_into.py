"""Add a clip to a glTF file as an animation; meshes, materials and everything else stay.

Joints are matched to the nodes that they came from, or else to nodes of the same name. An animation
with the clip's name is replaced and its data removed; others stay.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote

import numpy as np

from mocpack.common.arrays import F64
from mocpack.common.choice import list_names
from mocpack.common.json_object import JsonObject, is_list, is_object
from mocpack.errors import FormatError, UsageError
from mocpack.io import glb, gltf, gltf_build, gltf_file, meshopt
from mocpack.io.gltf_build import Animation, Buffer
from mocpack.io.gltf_file import Document, get_integer, get_object, get_objects, is_external
from mocpack.model.clip import Clip
from mocpack.model.take_data import Track

IMAGE_TYPES = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}  # others are PNG
CHECKED_LISTS = ("accessors", "animations", "bufferViews", "images", "meshes", "nodes", "skins")
# Extensions that refer to views or accessors in places that this module does not know.
UNSUPPORTED_EXTENSIONS = (
    "EXT_structural_metadata",
    "EXT_mesh_features",
    "EXT_instance_features",
    "MPEG_",
    "AGI_",
)


@dataclass(frozen=True)
class Match:
    """The nodes of a character that the joints of a clip move."""

    nodes: dict[int, int]  # the node of each joint that has one
    missing: tuple[str, ...]  # joints without a node


def write(
    clip: Clip,
    character: bytes,
    *,
    read_external: Callable[[str], bytes] | None = None,
    binary: bool = True,
) -> bytes:
    """Return the character's file with the clip added, as .glb if `binary`, else as .gltf."""
    document = gltf_file.parse(character, read_external)
    root, body = _inline_files(document)
    match = match_joints(clip, document)
    name = glb.animation_name(clip)
    known = gltf.list_animations(document)
    others = [a for a, own in zip(document.items("animations"), known, strict=True) if own != name]
    root["animations"] = others
    if name in known:
        root, body = _drop_unused(root, body)
    accessors, views = get_objects(root, "accessors"), get_objects(root, "bufferViews")
    buffer = Buffer(body, accessor_count=len(accessors), view_count=len(views))
    animation = _build_animation(clip, document, match, buffer)
    root["animations"] = [*others, animation.build(name)]
    root["accessors"] = [*accessors, *buffer.accessors]
    root["bufferViews"] = [*views, *buffer.views]
    make = gltf_build.pack_binary if binary else gltf_build.pack_text
    return make(root, bytes(buffer.data))


def find_missing_joints(clip: Clip, character: bytes) -> tuple[str, ...]:
    """Return the joints of a clip that a character does not have."""
    return match_joints(clip, gltf_file.parse(character, None)).missing


def match_joints(clip: Clip, document: Document) -> Match:
    """Match a clip's joints to nodes; raise an error if none matches."""
    nodes = gltf.parse_nodes(document)
    names = clip.skeleton.names
    try:
        joint_nodes = gltf.find_joint_nodes(document)
    except FormatError:
        joint_nodes = []
    column = {node: j for j, node in enumerate(joint_nodes)}
    tree = [(nodes.names[n], column.get(nodes.parents[n], -1)) for n in joint_nodes]
    if tree == list(zip(names, clip.skeleton.parents, strict=True)):
        return Match(dict(enumerate(joint_nodes)), ())
    positions: dict[str, list[int]] = {}
    for n, name in enumerate(nodes.names):
        positions.setdefault(name, []).append(n)
    matched = {
        j: positions[name][0]
        for j, name in enumerate(names)
        if name and names.count(name) == 1 and len(positions.get(name, [])) == 1
    }
    if not matched:
        theirs = list_names([name for name in sorted(positions) if name], 8)
        raise UsageError(
            f"no joint of this clip ({list_names(names, 8)}) has the name of a node of the "
            f"character ({theirs})"
        )
    return Match(matched, tuple(name for j, name in enumerate(names) if j not in matched))


def _build_animation(clip: Clip, document: Document, match: Match, buffer: Buffer) -> Animation:
    """Return the channels and samplers of a clip on the nodes of a character."""
    nodes = gltf.parse_nodes(document)
    times = glb.key_times(clip)
    every, first = buffer.add(times, bounds=True), None
    animation = Animation()
    for path, joint, keys in glb.iterate_channels(clip):
        if joint not in match.nodes:
            continue
        node = match.nodes[joint]
        _decompose_matrix(document, node)
        values = _to_file_units(clip, path, keys)
        if np.ptp(keys, axis=0).any():
            animation.add(node, path, every, buffer.add(values))
        elif not np.allclose(values[0], getattr(nodes, path)[node]):
            if first is None:
                first = buffer.add(times[:1], bounds=True)
            animation.add(node, path, first, buffer.add(values[:1]))
    for node, weights, seconds in _iterate_morphs(clip, document, nodes):
        at = buffer.add(seconds, bounds=True)
        animation.add(node, "weights", at, buffer.add(weights.ravel()))
    for node, expression in gltf.find_expressions(document).items():
        track = clip.tracks.get(f"expression.{expression}")
        if track is not None and len(track):
            weights = np.column_stack([track.values, np.zeros((len(track), 2))])
            at = buffer.add(_key_seconds(clip, track), bounds=True)
            animation.add(node, "translation", at, buffer.add(weights))
    if not animation.channels:  # keeps the duration of a clip without motion
        joint, node = next(iter(match.nodes.items()))
        animation.add(node, "rotation", every, buffer.add(clip.rotations[:, joint]))
    return animation


def _to_file_units(clip: Clip, path: str, keys: F64) -> F64:
    """Return keys in the units of the file; lengths of clips are in meters."""
    from_gltf = clip.metadata.get("source") == "gltf"
    return keys / clip.unit if path == "translation" and from_gltf else keys


def _decompose_matrix(document: Document, node: int) -> None:
    """Replace the matrix of an animated node with translation, rotation and scale.

    glTF does not allow animated nodes to have a matrix.
    """
    own = document.items("nodes")[node]
    if "matrix" in own:
        nodes = gltf.parse_nodes(document)
        own |= {path: getattr(nodes, path)[node].tolist() for path in gltf.PATH_WIDTHS}
        del own["matrix"]


def _iterate_morphs(
    clip: Clip, document: Document, nodes: gltf.Nodes
) -> Iterator[tuple[int, F64, F64]]:
    """Yield (node, weights (T, W), seconds (T,)) of nodes whose morph weights are tracks."""
    for node, own in enumerate(document.items("nodes")):
        mesh = {} if own.get("mesh") is None else document.item("meshes", own["mesh"])
        count = gltf.count_morph_targets(mesh)
        titles = gltf.weight_names(document, nodes, node, count)
        tracks = [clip.tracks[title] for title in titles if title in clip.tracks]
        if not tracks or len(tracks) < count or not len(tracks[0]):
            continue
        seconds = _key_seconds(clip, tracks[0])
        values = [np.interp(seconds, _key_seconds(clip, t), t.values) for t in tracks]
        yield node, np.stack(values, axis=1), seconds


def _key_seconds(clip: Clip, track: Track) -> F64:
    """Return the sample times of a track as key times."""
    return np.asarray(np.maximum(track.seconds(clip.frame_time) - min(0.0, clip.times[0]), 0.0))


def _inline_files(document: Document) -> tuple[JsonObject, bytes]:
    """Return the document and its first buffer, with external files embedded."""
    for name in CHECKED_LISTS:
        document.items(name)  # checks that it is a list of objects
    root = dict(document.root)
    buffers = [dict(b) for b in document.items("buffers")]
    body = document.buffer(0) if buffers else b""
    for number, buffer in enumerate(buffers[1:], 1):
        if is_external(buffer.get("uri")):
            inside = base64.b64encode(document.buffer(number)).decode()
            buffer["uri"] = gltf_build.INLINE + inside
    images = [dict(image) for image in document.items("images")]
    for number, image in enumerate(images):
        uri = image.get("uri")
        if is_external(uri):
            kind = IMAGE_TYPES.get(PurePosixPath(unquote(uri)).suffix.lower(), "image/png")
            inside = base64.b64encode(document.read_side_file(uri, f"images[{number}]")).decode()
            image["uri"] = f"data:{kind};base64,{inside}"
    root |= {"buffers": buffers} if buffers else {}
    root |= {"images": images} if images else {}
    return root, body


def _drop_unused(root: JsonObject, body: bytes) -> tuple[JsonObject, bytes]:
    """Remove arrays that only a replaced animation used, and their bytes."""
    extensions = root.get("extensionsUsed", [])
    for name in extensions if is_list(extensions) else []:
        if isinstance(name, str) and name.startswith(UNSUPPORTED_EXTENSIONS):
            return root, body
    root = {**root, "accessors": [dict(a) for a in get_objects(root, "accessors")]}
    root["accessors"] = _keep_used(get_objects(root, "accessors"), [*_find_accessor_uses(root)])
    views = _keep_used(get_objects(root, "bufferViews"), [*_find_view_uses(root)])
    compacted = bytearray()
    for place in (p for view in views for p in _find_byte_ranges(view)):
        start = get_integer(place, "byteOffset", "bufferView", default=0)
        size = get_integer(place, "byteLength", "bufferView")
        compacted += bytes(-len(compacted) % 8)
        place["byteOffset"] = len(compacted)
        compacted += body[start : start + size]
    return {**root, "bufferViews": views}, bytes(compacted)


def _keep_used(items: list[JsonObject], uses: list[tuple[JsonObject, str]]) -> list[JsonObject]:
    """Return the items that an index in one of the fields (holder, key) uses; adjust the fields."""
    last = len(items) - 1
    numbers = [get_integer(holder, key, "document", high=last) for holder, key in uses]
    kept = sorted(set(numbers))
    moved = {old: new for new, old in enumerate(kept)}
    for (holder, key), number in zip(uses, numbers, strict=True):
        holder[key] = moved[number]
    return [items[old] for old in kept]


def _find_accessor_uses(root: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    """Yield (holder, key) for everything that refers to an accessor."""
    for primitive in _list_nested(root, "meshes", "primitives"):
        attributes = get_object(primitive, "attributes")
        for names in [attributes, *get_objects(primitive, "targets")]:
            yield from ((names, name) for name in names)
        if "indices" in primitive:
            yield primitive, "indices"
    for skin in get_objects(root, "skins"):
        if "inverseBindMatrices" in skin:
            yield skin, "inverseBindMatrices"
    for sampler in _list_nested(root, "animations", "samplers"):
        yield from ((sampler, name) for name in ("input", "output") if name in sampler)
    for node in get_objects(root, "nodes"):
        instances = get_object(node, "extensions", "EXT_mesh_gpu_instancing", "attributes")
        yield from ((instances, name) for name in instances)


def _find_view_uses(root: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    """Yield (holder, key) for everything that refers to a buffer view."""
    accessors = get_objects(root, "accessors")
    holders = [*accessors, *get_objects(root, "images")]
    holders += [get_object(a, "sparse", part) for a in accessors for part in ("indices", "values")]
    for primitive in _list_nested(root, "meshes", "primitives"):
        holders += filter(is_object, get_object(primitive, "extensions").values())
    yield from ((holder, "bufferView") for holder in holders if "bufferView" in holder)


def _list_nested(root: JsonObject, name: str, inside: str) -> list[JsonObject]:
    return [part for item in get_objects(root, name) for part in get_objects(item, inside)]


def _find_byte_ranges(view: JsonObject) -> Iterator[JsonObject]:
    """Yield the objects that locate a view's bytes in the first buffer."""
    packed = [get_object(view, "extensions", name) for name in meshopt.EXTENSIONS]
    yield from (place for place in [view, *packed] if place.get("buffer") == 0)
