"""MJCF, MuJoCo's robot format: reads the positions of bodies and how they move.

Bodies and angles are in MuJoCo's order, depth first. Paths of includes are relative to the main
file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from mocpack.common.arrays import F64
from mocpack.errors import CorruptionError
from mocpack.io.robots.model import UNLIMITED, Robot, RobotBody, RobotJoint, build_robot
from mocpack.io.robots.urdf import check_distinct_names, normalize_axis
from mocpack.io.robots.xml_tree import MAX_ELEMENTS, Element, parse
from mocpack.model import rotations

JOINT_TYPES = ("hinge", "slide", "ball", "free")
UNSUPPORTED_TAGS = ("replicate", "attach", "composite", "flexcomp")
MAX_INCLUDED_FILES = 100
MAX_BODIES = 10_000
Defaults = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class _Settings:
    """Settings of the whole file: how angles are written, and joint defaults by class."""

    degrees: bool
    euler: str
    autolimits: bool
    defaults: Defaults

    def angle(self, value: float) -> float:
        return float(np.radians(value)) if self.degrees else value


@dataclass
class _IncludeBudget:
    """The number of files and elements that may still be included."""

    files: int
    elements: int


def read(top: Element, read_external: Callable[[str], bytes]) -> Robot:
    """Return the robot of a file's root element; `read_external` opens its includes."""
    budget = _IncludeBudget(MAX_INCLUDED_FILES, MAX_ELEMENTS - top.size)
    top = Element(
        top.tag, top.attributes, list(_expand_includes(top.children, read_external, budget))
    )
    settings = _parse_settings(top)
    world = Element("worldbody", {}, [e for w in top.all("worldbody") for e in w.children])
    bodies: list[RobotBody] = []
    for tree in _iterate_trees(world, settings):
        if tree:
            bodies += [replace(b, parent=b.parent + len(bodies) * (b.parent >= 0)) for b in tree]
    check_distinct_names([body.name for body in bodies if body.name], "body")
    bodies = _name_joints(bodies)
    roots = [body for body in bodies if body.parent < 0]
    if len(roots) != 1:
        words = ", ".join(body.name for body in roots) or "none"
        raise CorruptionError(f"expected one tree of moving bodies, got: {words}")
    free = [j for j in roots[0].joints if j.kind == "free"]
    if any(j.kind == "free" for body in bodies[1:] for j in body.joints):
        raise CorruptionError("only the root may have a free joint")
    if free and len(roots[0].joints) > 1:
        raise CorruptionError(
            f"body {roots[0].name!r} has a free joint and others; a free joint must be alone"
        )
    name = top.attributes.get("model", "")
    return build_robot(name, bodies, fixed_bodies=True, floating=bool(free))


def _name_joints(bodies: list[RobotBody]) -> list[RobotBody]:
    """Return the bodies with a name for every joint: its own, or one derived from the body."""
    moving = [j.name for body in bodies for j in body.joints if j.kind in ("hinge", "slide")]
    taken = check_distinct_names([name for name in moving if name], "joint")
    named = []
    for body in bodies:
        joints = list(body.joints)
        for k, joint in enumerate(joints):
            name, number = joint.name or f"{body.name}_joint", k
            while not joint.name and (name in taken or (len(joints) > 1 and number == k)):
                name, number = f"{body.name}_joint{number}", number + 1
            taken[name] = None
            joints[k] = replace(joint, name=name)
        named.append(replace(body, joints=tuple(joints)))
    return named


def _expand_includes(
    elements: list[Element], read_external: Callable[[str], bytes], budget: _IncludeBudget
) -> Iterator[Element]:
    """Yield the elements with includes replaced by the content of the included files."""
    for element in elements:
        if element.tag in UNSUPPORTED_TAGS:
            raise CorruptionError(
                f"<{element.tag}> is not supported; save the compiled model as MJCF"
            )
        if element.tag != "include":
            inside = list(_expand_includes(element.children, read_external, budget))
            yield Element(element.tag, element.attributes, inside)
            continue
        budget.files -= 1
        path = element.word("file")
        if budget.files < 0:
            raise CorruptionError(f"more than {MAX_INCLUDED_FILES} files are included")
        included = parse(read_external(path), budget.elements)
        budget.elements -= included.size
        yield from _expand_includes(included.children, read_external, budget)


def _parse_settings(top: Element) -> _Settings:
    compiler: dict[str, str] = {}
    for element in top.all("compiler"):
        compiler |= element.attributes
    defaults: dict[str, dict[str, str]] = {}
    for element in top.all("default"):
        _collect_defaults(element, {}, "main", defaults)
    if compiler.get("coordinate", "local") != "local":
        raise CorruptionError("global coordinates are not supported, as in current MuJoCo versions")
    return _Settings(
        compiler.get("angle", "degree") != "radian",
        compiler.get("eulerseq", "xyz"),
        compiler.get("autolimits", "true") != "false",
        defaults,
    )


def _collect_defaults(
    element: Element, above: Mapping[str, str], fallback: str, defaults: dict[str, dict[str, str]]
) -> None:
    """Collect the joint attributes of each default class, including inherited ones."""
    own = dict(above)
    for joint in element.all("joint"):
        own |= joint.attributes
    defaults[element.attributes.get("class", fallback)] = own
    for inner in element.all("default"):
        _collect_defaults(inner, own, "", defaults)


def _iterate_trees(world: Element, settings: _Settings) -> Iterator[list[RobotBody]]:
    """Yield the bodies of each tree in the world that can move."""
    for element, place, turned, kind in _iterate_bodies(world, _identity_pose(), "main", settings):
        bodies: list[RobotBody] = []
        # (body, parent, position, rotation, default class of its content)
        waiting = [(element, -1, place, turned, kind)]
        while waiting:
            element, parent, place, turned, kind = waiting.pop()
            if len(bodies) >= MAX_BODIES:
                raise CorruptionError(f"a robot must have at most {MAX_BODIES} bodies")
            joints = tuple(_iterate_joints(element, kind, settings))
            name = element.attributes.get("name") or f"body{len(bodies)}"
            bodies.append(RobotBody(name, parent, place, turned, joints))
            inside = [
                (child, len(bodies) - 1, at, turn, inner)
                for child, at, turn, inner in _iterate_bodies(
                    element, _identity_pose(), kind, settings
                )
            ]
            waiting += reversed(inside)
        if any(body.joints for body in bodies):
            yield bodies


def _iterate_bodies(
    element: Element, frame: tuple[F64, F64], kind: str, settings: _Settings
) -> Iterator[tuple[Element, F64, F64, str]]:
    """Yield the bodies in an element, through frames, with position, rotation and class."""
    for child in element.all("body", "frame"):
        place, turned = _parse_pose(child, settings)
        place = frame[0] + rotations.rotate(frame[1], place)
        turned = rotations.multiply(frame[1], turned)
        inner = child.attributes.get("childclass", kind)
        if child.tag == "frame":
            yield from _iterate_bodies(child, (place, turned), inner, settings)
        else:
            yield child, place, turned, inner


def _iterate_joints(body: Element, kind: str, settings: _Settings) -> Iterator[RobotJoint]:
    for element in body.all("joint", "freejoint"):
        given = Element("joint", settings.defaults.get("main", {}))
        for name in (kind, element.attributes.get("class")):
            if name is not None and name in settings.defaults:
                given = Element("joint", settings.defaults[name])
            elif name not in (None, "main"):
                raise CorruptionError(f"default class {name[:60]!r} is not defined")
        given = Element("joint", {**given.attributes, **element.attributes})
        yield _parse_joint(given, "free" if element.tag == "freejoint" else "", settings)


def _parse_joint(given: Element, kind: str, settings: _Settings) -> RobotJoint:
    name, kind = given.attributes.get("name", ""), kind or given.attributes.get("type", "hinge")
    if kind not in JOINT_TYPES:
        raise CorruptionError(
            f"type of joint {name!r} must be one of {', '.join(JOINT_TYPES)}, got {kind[:40]!r}"
        )
    if kind in ("ball", "free"):
        return RobotJoint(name, kind, anchor=given.numbers("pos", 3, [0, 0, 0]))
    turns = kind == "hinge"
    limited = given.attributes.get("limited", "auto")
    limits = UNLIMITED
    if limited == "true" or (
        limited == "auto" and settings.autolimits and "range" in given.attributes
    ):
        low, high = given.numbers("range", 2, [0, 0])
        limits = (settings.angle(low), settings.angle(high)) if turns else (float(low), float(high))
    reference = given.number("ref", 0.0)
    return RobotJoint(
        name,
        kind,
        normalize_axis(given.numbers("axis", 3, [0, 0, 1]), name),
        given.numbers("pos", 3, [0, 0, 0]),
        limits,
        settings.angle(reference) if turns else reference,
    )


def _parse_pose(element: Element, settings: _Settings) -> tuple[F64, F64]:
    """Return position and rotation of a body or frame, in any of MJCF's notations."""
    place = element.numbers("pos", 3, [0, 0, 0])
    given = element.attributes
    turned = rotations.IDENTITY
    if "quat" in given:
        w, x, y, z = element.numbers("quat", 4, [])
        turned = _normalize(np.array([x, y, z, w]), element)
    elif "axisangle" in given:
        x, y, z, angle = element.numbers("axisangle", 4, [])
        axis = normalize_axis(np.array([x, y, z]), given.get("name", ""))
        turned = rotations.from_rotvec(axis * settings.angle(angle))
    elif "euler" in given:
        turned = _euler_to_quaternion(element.numbers("euler", 3, []), settings)
    elif "xyaxes" in given:
        numbers = element.numbers("xyaxes", 6, [])
        x_axis = normalize_axis(numbers[:3], given.get("name", ""))
        across = numbers[3:] - (numbers[3:] @ x_axis) * x_axis
        y_axis = normalize_axis(across, given.get("name", ""))
        axes = np.array([x_axis, y_axis, rotations.cross(x_axis, y_axis)])
        turned = rotations.from_matrix(axes.T)
    elif "zaxis" in given:
        axis = normalize_axis(element.numbers("zaxis", 3, []), given.get("name", ""))
        turned = _rotation_from_z(axis)
    return place, turned


def _euler_to_quaternion(angles: F64, settings: _Settings) -> F64:
    """Return the rotation of Euler angles: rotating axes in lower case, fixed in upper case."""
    if len(settings.euler) != 3 or set(settings.euler.lower()) - set("xyz"):
        raise CorruptionError(f"eulerseq must be three of xyzXYZ, got {settings.euler[:20]!r}")
    turned = rotations.IDENTITY
    for letter, angle in zip(settings.euler, angles, strict=True):
        axis = np.eye(3)["xyz".index(letter.lower())]
        step = rotations.from_rotvec(axis * settings.angle(float(angle)))
        pair = (turned, step) if letter.islower() else (step, turned)
        turned = rotations.multiply(*pair)
    return turned


def _rotation_from_z(axis: F64) -> F64:
    """Return the shortest rotation that takes z to an axis."""
    if axis[2] < -1 + 1e-12:
        return np.array([1.0, 0.0, 0.0, 0.0])
    turned = np.array([-axis[1], axis[0], 0.0, 1.0 + axis[2]])
    return np.asarray(turned / np.linalg.norm(turned))


def _normalize(turned: F64, element: Element) -> F64:
    length = float(np.linalg.norm(turned))
    if not length > 1e-9:
        raise CorruptionError(f"quat of <{element.tag}> must not be zero")
    return turned if abs(length - 1) < 1e-12 else turned / length


def _identity_pose() -> tuple[F64, F64]:
    return np.zeros(3), rotations.IDENTITY
