"""Acclaim skeleton files (ASF): bones with a direction in the rest pose, and their axes.

A bone rotates at its start and carries its children at its end, so the joint named after a bone
lies at the end of the parent bone. `amc.py` reads the motion; `asf_fit.py` adapts other skeletons.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from mocpack import _core
from mocpack.common.arrays import F64
from mocpack.errors import CorruptionError, FormatError, TruncatedError
from mocpack.io.text import format_number, length_decimals, parse_number, to_source_numbers
from mocpack.io.unit_guess import guess_unit, is_plausible
from mocpack.model import rotations
from mocpack.model.hinges import Hinges
from mocpack.model.skeleton import Skeleton, channel_hinges

INCH_M = 0.0254
LIMIT_DECIMALS = 4  # of radians; finer than joints are measured, and small in the file
ROOT = "root"
DOFS = ("tx", "ty", "tz", "rx", "ry", "rz", "l")
STRETCH_SUFFIX = "_stretch"  # suffix of the extra joint that slides along a bone with the dof "l"


@dataclass(frozen=True)
class Bone:
    """One bone in file units; the root is a bone of length 0."""

    name: str
    vector: F64 = field(default_factory=lambda: np.zeros(3))
    axis: F64 = field(default_factory=lambda: rotations.IDENTITY)
    dofs: tuple[str, ...] = ()
    position: F64 = field(default_factory=lambda: np.zeros(3))
    limits: F64 = field(default_factory=lambda: np.zeros((0, 2)))  # radians, of the first dofs


@dataclass(frozen=True)
class Asf:
    """A skeleton file: bones with parents before children, and its units."""

    bones: tuple[Bone, ...]
    parents: tuple[int, ...]
    length: float | None
    degrees: bool


def probe(data: bytes) -> bool:
    """Return whether `data` looks like an ASF file."""
    head = re.sub(rb"#[^\r\n]*", b"", data[:65536]).lower()
    return bool(re.search(rb"^\s*:(bonedata|root)\b", head, re.MULTILINE | re.ASCII)) and bool(
        re.match(rb"(\xef\xbb\xbf)?\s*:", head)
    )


def parse(data: bytes) -> Asf:
    """Return the bones of an ASF file."""
    sections = _split_sections(data)
    for name in (":root", ":hierarchy"):
        if name not in sections:
            raise TruncatedError(f"the skeleton has no {name} section")
    length, degrees = _parse_units(sections.get(":units", []))
    bones: dict[str, Bone] = {}
    for block in _split_blocks(sections.get(":bonedata", [])):
        bone = _parse_bone(block, degrees)
        if bone.name in bones or bone.name == ROOT:
            raise block[0].fault(f"bone {bone.name!r} is defined twice")
        bones[bone.name] = bone
    hierarchy = [line for block in _split_blocks(sections[":hierarchy"]) for line in block[1:]]
    return Asf(
        *_order_bones(_parse_root(sections[":root"], degrees), bones, hierarchy), length, degrees
    )


def add_stretch_joints(asf: Asf) -> Asf:
    """Attach the children of each bone with the dof "l" to a joint that slides along it."""
    bones: list[Bone] = []
    parents: list[int] = []
    end: dict[int, int] = {}
    for b, (bone, parent) in enumerate(zip(asf.bones, asf.parents, strict=True)):
        bones.append(replace(bone, dofs=tuple(d for d in bone.dofs if d != "l")))
        parents.append(end.get(parent, -1))
        end[b] = len(bones) - 1
        if "l" in bone.dofs:
            bones.append(Bone(bone.name + STRETCH_SUFFIX, dofs=("tx", "ty", "tz")))
            parents.append(end[b])
            end[b] = len(bones) - 1
    return replace(asf, bones=tuple(bones), parents=tuple(parents))


def choose_unit(asf: Asf) -> tuple[float, str | None]:
    """Return (meters per file unit, name of the unit if it was guessed).

    The file's `length` is units per inch: CMU's 0.45 means 5.644 cm per unit. Some programs always
    write 1; that value is used only if it gives a body of plausible size.
    """
    tree = _Tree(asf)
    if asf.length is not None and (asf.length != 1 or is_plausible(tree, INCH_M)):
        return INCH_M / asf.length, None
    return guess_unit(tree)


def to_skeleton(asf: Asf, unit: float) -> Skeleton:
    """Return the skeleton: one joint for the root and for each bone, at the start of the bone."""
    decimals = length_decimals(unit)
    # A tenth of a micrometer is below the file's own precision, and rounded vectors compress well.
    vectors = [np.round(bone.vector, decimals) * unit for bone in asf.bones]
    offsets = [vectors[p] if p >= 0 else np.zeros(3) for p in asf.parents]
    offsets[0] = asf.bones[0].position * unit
    leaves = [b for b in _find_leaves(asf) if asf.bones[b].vector.any()]
    skeleton = Skeleton(
        tuple(bone.name for bone in asf.bones),
        asf.parents,
        np.array(offsets),
        np.array([vectors[b] for b in leaves]).reshape(-1, 3),
        tuple(leaves),
        tuple(bone.dofs for bone in asf.bones),
        np.array([bone.axis for bone in asf.bones]),
    )
    return replace(skeleton, hinges=_apply_limits(channel_hinges(skeleton), asf))


def write(skeleton: Skeleton, unit: float) -> bytes:
    """Return a skeleton that `asf_fit` prepared as ASF text."""
    lines = ["# Acclaim skeleton written by mocpack", ":version 1.10", ":name mocpack", ":units"]
    lines += [
        "  mass 1.0",
        f"  length {_format_length_unit(unit)}",
        "  angle deg",
        ":documentation",
    ]
    lines += ["  limits are not those of a body: they allow every angle", ":root"]
    order = " ".join(c.upper() for c in skeleton.channels[0])
    lines += [f"  order {order}", "  axis XYZ"]
    lines.append(f"  position {_format_numbers(to_source_numbers(skeleton.offsets[0], unit))}")
    lines += [f"  orientation {_format_axis(skeleton.axes[0])}", ":bonedata"]
    vectors = bone_vectors(skeleton)
    for j in range(1, len(skeleton)):
        lines += _write_bone(skeleton, j, vectors[j] / unit)
    lines += [":hierarchy", "  begin"]
    children: dict[int, list[str]] = {}
    for name, parent in zip(skeleton.names[1:], skeleton.parents[1:], strict=True):
        children.setdefault(parent, []).append(name)
    for j, names in children.items():
        lines.append(f"    {' '.join([skeleton.names[j] if j else ROOT, *names])}")
    return ("\n".join([*lines, "  end"]) + "\n").encode()


def bone_vectors(skeleton: Skeleton) -> F64:
    """Return the vectors (J, 3) from the start to the end of each joint's bone, in meters."""
    vectors = np.zeros((len(skeleton), 3))
    vectors[list(skeleton.end_site_joints)] = skeleton.end_sites
    vectors[list(skeleton.parents[1:])] = skeleton.offsets[1:]
    return vectors


@dataclass(frozen=True)
class Line:
    """The words of one line, without comments."""

    number: int
    words: list[bytes]

    def fault(self, message: str) -> FormatError:
        return CorruptionError(f"line {self.number}: {message}")

    def numbers(self, count: int) -> F64:
        values = [parse_number(word) for word in self.words[1 : count + 1]]
        if len(values) < count or any(v is None or abs(v) > 1e9 for v in values):
            key = self.words[0].decode("utf-8", "replace")
            raise self.fault(f"expected {count} number{'s' * (count > 1)} after {key!r}")
        return np.array(values, np.float64)


def normalize_line_endings(data: bytes) -> bytes:
    """Return text with line feeds only and without a byte order mark."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def iterate_lines(text: bytes, at: int = 0) -> Iterator[tuple[int, Line]]:
    """Yield (offset, line) for each line that is not blank or a comment, starting at `at`."""
    number = 1 + text.count(b"\n", 0, at)
    while at < len(text):
        end = text.find(b"\n", at)
        end = len(text) if end < 0 else end
        words = text[at:end].partition(b"#")[0].split()
        if words:
            yield at, Line(number, words)
        at, number = end + 1, number + 1


class _Tree:
    """A skeleton in the form that `guess_unit` expects."""

    def __init__(self, asf: Asf) -> None:
        self.channels: list[tuple[str, ...]] = [()] * len(asf.bones)
        self.parents = list(asf.parents)
        self.offsets = [[0.0, 0.0, 0.0]] + [list(asf.bones[p].vector) for p in asf.parents[1:]]
        self.end_joints = _find_leaves(asf)
        self.end_sites = [list(asf.bones[b].vector) for b in self.end_joints]


def _find_leaves(asf: Asf) -> list[int]:
    """Return the bones without children."""
    carrying = set(asf.parents)
    return [b for b in range(len(asf.bones)) if b not in carrying]


def _split_sections(data: bytes) -> dict[str, list[Line]]:
    sections: dict[str, list[Line]] = {}
    current: list[Line] = []
    text = normalize_line_endings(data).translate(bytes.maketrans(b"(),", b"   "))
    for _, line in iterate_lines(text):
        if line.words[0].startswith(b":"):
            name = line.words[0].decode("utf-8", "replace").lower()
            if name in sections:
                raise line.fault(f"section {name} is defined twice")
            current = sections[name] = []
        else:
            current.append(line)
    return sections


def _split_blocks(lines: list[Line]) -> Iterator[list[Line]]:
    """Yield the lines from each `begin` to its `end`."""
    block: list[Line] | None = None
    for line in lines:
        word = line.words[0].lower()
        if word == b"begin" and block is None:
            block = [line]
        elif word == b"end" and block is not None and len(line.words) == 1:
            yield block
            block = None
        elif block is None:
            raise line.fault(f"expected 'begin', got {word[:40].decode('utf-8', 'replace')!r}")
        else:
            block.append(line)
    if block is not None:
        raise TruncatedError(f"line {block[0].number}: this block has no 'end'")


def _parse_units(lines: list[Line]) -> tuple[float | None, bool]:
    """Return the units per inch, if given, and whether angles are in degrees."""
    given = {line.words[0].lower(): line for line in lines}
    degrees = b"angle" not in given or not given[b"angle"].words[-1].lower().startswith(b"rad")
    if b"length" not in given:
        return None, degrees
    length = float(given[b"length"].numbers(1)[0])
    if not 1e-6 < length < 1e6:
        raise given[b"length"].fault(f"the length of a unit must be in 1e-6..1e6, got {length:g}")
    return length, degrees


def _parse_root(lines: list[Line], degrees: bool) -> Bone:
    given = {line.words[0].lower(): line for line in lines}
    dofs = _parse_dofs(given[b"order"]) if b"order" in given else DOFS[:6]
    if "l" in dofs:
        raise given[b"order"].fault(
            "the root cannot have the degree of freedom 'l': it has no length"
        )
    position = given[b"position"].numbers(3) if b"position" in given else np.zeros(3)
    axis = rotations.IDENTITY
    if b"orientation" in given:
        order = given[b"axis"].words[-1] if b"axis" in given else b"XYZ"
        axis = _parse_axis(given[b"orientation"], order, degrees)
    return Bone(ROOT, np.zeros(3), axis, dofs, position)


def _parse_bone(block: list[Line], degrees: bool) -> Bone:
    # Limits can continue on lines that begin with a number, which is never a keyword.
    given = {line.words[0].lower(): line for line in block[1:]}
    for key in (b"name", b"direction", b"length"):
        if key not in given:
            raise block[0].fault(f"this bone has no {key.decode()}")
    name = b" ".join(given[b"name"].words[1:]).decode("utf-8", "replace")
    if not name:
        raise given[b"name"].fault("a bone has no name")
    direction = given[b"direction"].numbers(3)
    length = given[b"length"].numbers(1)[0]
    size = float(np.linalg.norm(direction))
    if size == 0 and length != 0:
        raise given[b"direction"].fault(f"bone {name!r} has a length but no direction")
    axis = rotations.IDENTITY
    if b"axis" in given:
        words = given[b"axis"].words
        axis = _parse_axis(given[b"axis"], words[4] if len(words) > 4 else b"XYZ", degrees)
    dofs = _parse_dofs(given[b"dof"]) if b"dof" in given else ()
    vector = direction / max(size, 1e-300) * length
    return Bone(name, vector, axis, dofs, limits=_parse_limits(block, len(dofs), degrees))


def _parse_limits(block: list[Line], count: int, degrees: bool) -> F64:
    """Return the (low, high) limits of the first degrees of freedom (N, 2).

    Limits can continue on lines that begin with a number.
    """
    words: list[bytes] = []
    for line in block[1:]:
        if line.words[0].lower() == b"limits":
            words = list(line.words[1:])
        elif words and _is_number(line.words[0]):
            words += line.words
    if len(words) % 2 or not all(map(_is_number, words)):
        return np.zeros((0, 2))
    pairs = np.array(words, float).reshape(-1, 2)[:count]
    return np.radians(pairs) if degrees else pairs


def _is_number(word: bytes) -> bool:
    try:
        return not np.isnan(float(word))
    except ValueError:
        return False


def _apply_limits(hinges: Hinges | None, asf: Asf) -> Hinges | None:
    """Return the hinges with the limits of their bones; (0 0) or a decreasing pair means none."""
    if hinges is None:
        return None
    limits = hinges.limits.copy()
    for joint, rows in hinges.rows_by_joint():
        bone = asf.bones[joint]
        for row in rows:
            i = bone.dofs.index(hinges.names[row].rpartition(".")[2])
            if i < len(bone.limits) and bone.limits[i, 0] < bone.limits[i, 1]:
                limits[row] = np.round(bone.limits[i], LIMIT_DECIMALS)
    return replace(hinges, limits=limits)


def _parse_dofs(line: Line) -> tuple[str, ...]:
    """Return the listed degrees of freedom; limits do not change them, not even (0 0)."""
    dofs = tuple(word.decode("utf-8", "replace").lower() for word in line.words[1:])
    if any(d not in DOFS for d in dofs) or len(set(dofs)) < len(dofs):
        raise line.fault(f"expected some of {' '.join(DOFS)}, got {' '.join(dofs)[:60]!r}")
    return dofs


def _parse_axis(line: Line, order: bytes, degrees: bool) -> F64:
    """Return the rotation by angles about fixed x, y and z axes, applied in this order."""
    letters = order.decode("utf-8", "replace").upper()
    if sorted(letters) != ["X", "Y", "Z"]:
        raise line.fault(f"expected an axis order such as XYZ, got {letters[:40]!r}")
    angles = line.numbers(3)
    if not angles.any():
        return rotations.IDENTITY
    angles = np.radians(angles) if degrees else angles
    inner_last = letters[::-1]
    axis = rotations.from_euler(angles[["XYZ".index(letter) for letter in inner_last]], inner_last)
    frames = _core.axis_frames(_axis_to_degrees(axis)[np.newaxis])
    return np.asarray(frames, np.float64).reshape(4)


def _axis_to_degrees(axis: F64) -> F64:
    """Return an axis as angles about z, y and x, rounded to a billionth of a degree.

    Files print noise such as 7.6e-16, which would compress badly.
    """
    degrees: F64 = np.degrees(rotations.as_euler(axis, "ZYX"))
    return np.round(degrees, 9)


def _order_bones(
    root: Bone, bones: dict[str, Bone], hierarchy: list[Line]
) -> tuple[tuple[Bone, ...], tuple[int, ...]]:
    """Return the bones depth first from the root, and the index of each parent."""
    children: dict[str, list[str]] = {}
    parent_of: dict[str, str] = {}
    for line in hierarchy:
        parent, *names = (word.decode("utf-8", "replace") for word in line.words)
        for name in names:
            if name not in bones:
                raise line.fault(f"there is no bone {name[:40]!r}")
            if name in parent_of:
                raise line.fault(f"bone {name!r} has two parents")
            parent_of[name] = parent
            children.setdefault(parent, []).append(name)
    ordered: list[Bone] = []
    parents: list[int] = []
    stack = [(ROOT, -1)]
    while stack:
        name, parent_at = stack.pop()
        stack += [(child, len(ordered)) for child in reversed(children.get(name, []))]
        ordered.append(root if name == ROOT else bones[name])
        parents.append(parent_at)
    reached = {bone.name for bone in ordered}
    for name in (name for name in bones if name not in reached):
        raise CorruptionError(f"bone {name!r} is not connected to the root")
    return tuple(ordered), tuple(parents)


def _write_bone(skeleton: Skeleton, joint: int, vector: F64) -> list[str]:
    length = float(np.linalg.norm(vector))
    direction = vector / length if length else np.array([0.0, 1.0, 0.0])
    lines = ["  begin", f"    id {joint}", f"    name {skeleton.names[joint]}"]
    lines += [f"    direction {_format_numbers(direction)}", f"    length {format_number(length)}"]
    lines.append(f"    axis {_format_axis(skeleton.axes[joint])} XYZ")
    dofs = skeleton.channels[joint]
    if dofs:
        limits = ["(-180.0 180.0)" if d[0] == "r" else "(-inf inf)" for d in dofs]
        lines += [f"    dof {' '.join(dofs)}", f"    limits {limits[0]}"]
        lines += [f"           {limit}" for limit in limits[1:]]
    return [*lines, "  end"]


def _format_length_unit(unit: float) -> str:
    """Return the shortest `length` that reads back as exactly this unit."""
    for digits in range(1, 17):
        length = float(f"{INCH_M / unit:.{digits}g}")
        if INCH_M / length == unit:
            return format_number(length)
    return format_number(INCH_M / unit)


def _format_axis(axis: F64) -> str:
    """Format the angles of an axis, x first."""
    return _format_numbers(_axis_to_degrees(axis)[::-1])


def _format_numbers(values: F64) -> str:
    return " ".join(format_number(v) for v in values + 0.0)  # + 0.0 turns -0 into 0
