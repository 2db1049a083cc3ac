"""URDF, the robot format of ROS: links and joints.

Angles are in the order of the joints in the file, as in motions retargeted to the robot. Links
fixed to others become bone ends.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from mocpack.common.arrays import F64
from mocpack.errors import CorruptionError
from mocpack.io.robots.model import UNLIMITED, Robot, RobotBody, RobotJoint, build_robot
from mocpack.io.robots.xml_tree import Element
from mocpack.model import rotations

JOINT_KINDS = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "fixed": ""}
MAX_JOINTS = 10_000


def read(top: Element) -> Robot:
    """Return the robot of a file's root element."""
    links = check_distinct_names([link.word("name") for link in top.all("link")], "link")
    joints = list(top.all("joint"))
    if len(joints) > MAX_JOINTS or len(links) > MAX_JOINTS:
        raise CorruptionError(f"a robot must have at most {MAX_JOINTS} links and joints")
    check_distinct_names([joint.word("name") for joint in joints], "joint")
    above = {_find_link(joint, "child", links): joint for joint in joints}
    if len(above) != len(joints):
        raise CorruptionError("a link is the child of two joints")
    roots = [link for link in links if link not in above]
    if len(roots) != 1:
        words = ", ".join(roots[:5]) or "none"
        raise CorruptionError(f"a robot must have one link without a parent, got: {words}")
    root, floating = _find_floating_root(roots[0], joints, links)
    below: dict[str, list[Element]] = {}
    for joint in joints:
        below.setdefault(_find_link(joint, "parent", links), []).append(joint)
    bodies = [RobotBody(root, -1, np.zeros(3), rotations.IDENTITY)]
    # Depth first, in file order.
    waiting = [(joint, 0) for joint in reversed(below.get(root, []))]
    while waiting:
        joint, parent = waiting.pop()
        bodies.append(_parse_body(joint, parent, links))
        child = bodies[-1].name
        waiting += [(further, len(bodies) - 1) for further in reversed(below.get(child, []))]
    if len(bodies) + (root != roots[0]) != len(links):
        raise CorruptionError("links form a cycle")
    return build_robot(
        top.attributes.get("name", ""),
        bodies,
        order=[joint.word("name") for joint in joints],
        fixed_bodies=False,
        floating=floating,
    )


def _find_floating_root(
    root: str, joints: list[Element], links: Collection[str]
) -> tuple[str, bool | None]:
    """Return the link below a floating joint, if the root has one, else the root."""
    own = [joint for joint in joints if _find_link(joint, "parent", links) == root]
    if len(own) == 1 and own[0].word("type") == "floating":
        return _find_link(own[0], "child", links), True
    return root, None


def _parse_body(joint: Element, parent: int, links: Collection[str]) -> RobotBody:
    name, kind = joint.word("name"), joint.word("type")
    if kind not in JOINT_KINDS:
        raise CorruptionError(
            f"type of joint {name!r} must be one of {', '.join(JOINT_KINDS)}, or floating at "
            f"the root; got {kind[:40]!r}"
        )
    origin = joint.first("origin") or Element("origin")
    roll, pitch, yaw = origin.numbers("rpy", 3, [0, 0, 0])
    turned = rotations.IDENTITY
    if roll or pitch or yaw:
        turned = rotations.from_euler(np.array([yaw, pitch, roll]), "ZYX")
    moves = () if not JOINT_KINDS[kind] else (_parse_joint(joint, name, kind),)
    place = origin.numbers("xyz", 3, [0, 0, 0])
    return RobotBody(_find_link(joint, "child", links), parent, place, turned, moves)


def _parse_joint(joint: Element, name: str, kind: str) -> RobotJoint:
    axis = (joint.first("axis") or Element("axis")).numbers("xyz", 3, [1, 0, 0])
    limit, mimic = joint.first("limit"), joint.first("mimic")
    limits = UNLIMITED
    if limit is not None and kind != "continuous":
        limits = limit.number("lower", 0.0), limit.number("upper", 0.0)
        if limits == (0.0, 0.0):  # the default of both
            limits = UNLIMITED
    follows = None
    if mimic is not None:
        follows = mimic.word("joint"), mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    return RobotJoint(
        name, JOINT_KINDS[kind], normalize_axis(axis, name), limits=limits, mimics=follows
    )


def normalize_axis(axis: F64, name: str) -> F64:
    """Return an axis with unit length."""
    length = float(np.linalg.norm(axis))
    if not length > 1e-9:
        raise CorruptionError(
            f"axis of joint {name!r} must not be zero, got {' '.join(map(str, axis))}"
        )
    return axis if abs(length - 1) < 1e-12 else axis / length


def _find_link(joint: Element, which: str, links: Collection[str]) -> str:
    end = joint.first(which)
    name = "" if end is None else end.word("link")
    if name not in links:
        raise CorruptionError(
            f"{which} of joint {joint.word('name')!r} is link {name!r}, which does not exist"
        )
    return name


def check_distinct_names(names: list[str], what: str) -> dict[str, None]:
    """Return the names as dict keys; raise an error if one is used twice."""
    seen: dict[str, None] = {}
    for name in names:
        if name in seen:
            raise CorruptionError(f"two {what}s are named {name[:60]!r}")
        seen[name] = None
    return seen
