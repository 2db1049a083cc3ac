"""Add a clip to a glTF file as an animation; meshes, materials and everything else stay.

Joints are matched to the nodes that they came from, or else to nodes of the same name. An animation
with the clip's name is replaced and its data removed; others stay.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import numpy as np

from mocpack.common.arrays import F64
from mocpack.errors import CorruptionError, FormatError, UsageError
from mocpack.io import glb, gltf, gltf_build, gltf_file, meshopt
from mocpack.io.choice import list_names
from mocpack.io.gltf_build import Buffer
from mocpack.io.gltf_file import Document, Object
from mocpack.model.clip import AnyClip, Clip
from mocpack.model.take_data import Track

IMAGE_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
}
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
    """The nodes of a character that the joints of a clip move.

    Attributes
    ----------
    nodes : dict of int to int
        The node of each joint that has one.
    missing : tuple of str
        Joints without a node.
    """

    nodes: dict[int, int]
    missing: tuple[str, ...]


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
    found = match_joints(clip, document)
    name = animation_name(clip)
    known = gltf.list_animations(document)
    others = [a for a, own in zip(document.items("animations"), known, strict=True) if own != name]
    root["animations"] = others
    if name in known:
        root, body = _drop_unused(root, body)
    counts = {"view_count": len(root.get("bufferViews", []))}
    buffer = Buffer(body, accessor_count=len(root.get("accessors", [])), **counts)
    animation = _build_animation(clip, document, found, buffer)
    root["animations"] = [*others, {"name": name, **animation}]
    root["accessors"] = [*root.get("accessors", []), *buffer.accessors]
    root["bufferViews"] = [*root.get("bufferViews", []), *buffer.views]
    make = gltf_build.pack_binary if binary else gltf_build.pack_text
    return make(root, bytes(buffer.data))


def animation_name(clip: AnyClip) -> str:
    """Return the name of the animation that a clip becomes."""
    return str(clip.metadata.get("animation") or "motion")


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
    if [nodes.names[n] for n in joint_nodes] == list(names) and _is_same_tree(
        clip, nodes, joint_nodes
    ):
        return Match(dict(enumerate(joint_nodes)), ())
    positions: dict[str, list[int]] = {}
    for n, name in enumerate(nodes.names):
        positions.setdefault(name, []).append(n)
    found = {
        j: positions[name][0]
        for j, name in enumerate(names)
        if name and names.count(name) == 1 and len(positions.get(name, [])) == 1
    }
    if not found:
        theirs = list_names([name for name in sorted(positions) if name], 8)
        raise UsageError(
            f"no joint of this clip ({list_names(names, 8)}) has the name of a node of the "
            f"character ({theirs})"
        )
    return Match(found, tuple(name for j, name in enumerate(names) if j not in found))


def _is_same_tree(clip: Clip, nodes: gltf.Nodes, joint_nodes: list[int]) -> bool:
    column = {node: j for j, node in enumerate(joint_nodes)}
    return [column.get(nodes.parents[n], -1) for n in joint_nodes] == list(clip.skeleton.parents)


def _build_animation(clip: Clip, document: Document, found: Match, buffer: Buffer) -> Object:
    """Return the channels and samplers of a clip on the nodes of a character."""
    nodes = gltf.parse_nodes(document)
    times = glb.key_times(clip)
    every, first = buffer.add(times, bounds=True), None
    channels: list[Object] = []
    samplers: list[Object] = []

    def add_channel(node: int, path: str, at: int, values: F64) -> None:
        target = {"node": node, "path": path}
        channels.append({"sampler": len(samplers), "target": target})
        samplers.append({"input": at, "output": buffer.add(values)})

    for path, joint, keys in glb.iterate_channels(clip):
        if joint not in found.nodes:
            continue
        node = found.nodes[joint]
        _decompose_matrix(document, node)
        if np.ptp(keys, axis=0).any():
            add_channel(node, path, every, _to_file_units(clip, path, keys))
        elif not np.allclose(keys[0], getattr(nodes, path)[node]):
            if first is None:
                first = buffer.add(times[:1], bounds=True)
            add_channel(node, path, first, _to_file_units(clip, path, keys[:1]))
    for node, weights, seconds in _iterate_morphs(clip, document, nodes):
        add_channel(node, "weights", buffer.add(seconds, bounds=True), weights.ravel())
    for node, expression in gltf.find_expressions(document).items():
        track = clip.tracks.get(f"expression.{expression}")
        if track is not None and len(track):
            weights = np.column_stack([track.values, np.zeros((len(track), 2))])
            add_channel(
                node, "translation", buffer.add(_key_seconds(clip, track), bounds=True), weights
            )
    if not channels:  # keeps the duration of a clip without motion
        joint, node = next(iter(found.nodes.items()))
        add_channel(node, "rotation", every, clip.rotations[:, joint])
    return {"channels": channels, "samplers": samplers}


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
        count = _count_targets(document, own)
        titles = gltf.weight_names(document, nodes, node, count) if count else []
        tracks = [clip.tracks[title] for title in titles if title in clip.tracks]
        if not tracks or len(tracks) < count or not len(tracks[0]):
            continue
        seconds = _key_seconds(clip, tracks[0])
        values = [np.interp(seconds, _key_seconds(clip, t), t.values) for t in tracks]
        yield node, np.stack(values, axis=1), seconds


def _key_seconds(clip: Clip, track: Track) -> F64:
    """Return the sample times of a track as key times."""
    return np.asarray(np.maximum(track.seconds(clip.frame_time) - min(0.0, clip.times[0]), 0.0))


def _count_targets(document: Document, node: Object) -> int:
    if node.get("mesh") is None:
        return 0
    return gltf.count_morph_targets(document.item("meshes", node["mesh"]))


def _inline_files(document: Document) -> tuple[Object, bytes]:
    """Return the document and its first buffer, with external files embedded."""
    for name in CHECKED_LISTS:
        document.items(name)  # checks that it is a list of objects
    root = dict(document.root)
    buffers = [dict(b) for b in document.items("buffers")]
    body = document.buffer(0) if buffers else b""
    for number, buffer in enumerate(buffers[1:], 1):
        if isinstance(buffer.get("uri"), str) and not buffer["uri"].startswith("data:"):
            inside = base64.b64encode(document.buffer(number)).decode()
            buffer["uri"] = gltf_build.INLINE + inside
    images = [dict(image) for image in document.items("images")]
    for number, image in enumerate(images):
        uri = image.get("uri")
        if isinstance(uri, str) and not uri.startswith("data:"):
            kind = IMAGE_TYPES.get(PurePosixPath(unquote(uri)).suffix.lower(), "image/png")
            inside = base64.b64encode(document.read_side_file(uri, f"images[{number}]")).decode()
            image["uri"] = f"data:{kind};base64,{inside}"
    root |= {"buffers": buffers} if buffers else {}
    root |= {"images": images} if images else {}
    return root, body


def _drop_unused(root: Object, body: bytes) -> tuple[Object, bytes]:
    """Remove arrays that only a replaced animation used, and their bytes."""
    if any(
        e.startswith(UNSUPPORTED_EXTENSIONS)
        for e in root.get("extensionsUsed", [])
        if isinstance(e, str)
    ):
        return root, body
    try:
        return _compact(root, body)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise CorruptionError(
            f"the document refers to arrays that do not exist or have another form: {error}"[:200]
        ) from error


def _compact(root: Object, body: bytes) -> tuple[Object, bytes]:
    root = {**root, "accessors": [dict(a) for a in root.get("accessors", [])]}
    used = sorted({holder[key] for holder, key in _find_accessor_uses(root)})
    moved = {old: new for new, old in enumerate(used)}
    for holder, key in _find_accessor_uses(root):
        holder[key] = moved[holder[key]]
    root["accessors"] = [root["accessors"][old] for old in used]
    used = sorted({holder[key] for holder, key in _find_view_uses(root)})
    moved = {old: new for new, old in enumerate(used)}
    for holder, key in _find_view_uses(root):
        holder[key] = moved[holder[key]]
    views = [root["bufferViews"][old] for old in used]
    compacted = bytearray()
    for place in (p for view in views for p in _find_byte_ranges(view)):
        start, size = place.get("byteOffset", 0), place["byteLength"]
        compacted += bytes(-len(compacted) % 8)
        place["byteOffset"] = len(compacted)
        compacted += body[start : start + size]
    root["bufferViews"] = views
    return root, bytes(compacted)


def _find_accessor_uses(root: Object) -> Iterator[tuple[Any, Any]]:
    """Yield (holder, key) for everything that refers to an accessor."""
    for mesh in root.get("meshes", []):
        for primitive in mesh.get("primitives", []):
            for attributes in [primitive.get("attributes", {}), *primitive.get("targets", [])]:
                yield from ((attributes, name) for name in attributes)
            if "indices" in primitive:
                yield primitive, "indices"
    for skin in root.get("skins", []):
        if "inverseBindMatrices" in skin:
            yield skin, "inverseBindMatrices"
    for animation in root.get("animations", []):
        for sampler in animation.get("samplers", []):
            yield from ((sampler, name) for name in ("input", "output") if name in sampler)
    for node in root.get("nodes", []):
        instances = node.get("extensions", {}).get("EXT_mesh_gpu_instancing", {})
        yield from ((instances["attributes"], name) for name in instances.get("attributes", {}))


def _find_view_uses(root: Object) -> Iterator[tuple[Any, Any]]:
    """Yield (holder, key) for everything that refers to a buffer view."""
    holders = [*root.get("accessors", []), *root.get("images", [])]
    for accessor in root.get("accessors", []):
        sparse = accessor.get("sparse", {})
        holders += [sparse[part] for part in ("indices", "values") if part in sparse]
    for mesh in root.get("meshes", []):
        for primitive in mesh.get("primitives", []):
            packed = primitive.get("extensions", {})
            holders += [e for e in packed.values() if isinstance(e, dict)]
    yield from ((holder, "bufferView") for holder in holders if "bufferView" in holder)


def _find_byte_ranges(view: Object) -> Iterator[Object]:
    """Yield the objects that locate a view's bytes in the first buffer."""
    extensions = view.get("extensions", {})
    packed = [extensions[e] for e in meshopt.EXTENSIONS if e in extensions]
    yield from (place for place in [view, *packed] if place.get("buffer") == 0)
