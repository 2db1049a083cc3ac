"""Compute node positions of a binary FBX file by the formula of the format, in double precision.

A third implementation next to ufbx and Blender's importers; only the parser is Blender's. Supports
linear interpolation between keys, the first take, and y or z up.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

TICKS = 46_186_158_000  # of FBX's clock in a second
ORDERS = ("xyz", "xzy", "yzx", "yxz", "zxy", "zyx")
NEUTRAL = {"Lcl Scaling": (1.0, 1.0, 1.0)}
SEPARATE, TOGETHER, WITHOUT_PARENTS = range(3)  # values of InheritType
ADDITIVE, OVERRIDE, PASS_THROUGH = range(3)  # modes of a layer; the second knows no weight


def positions(path: Path, names: list[str], times: np.ndarray) -> np.ndarray:
    """Return world positions (T, J, 3) in meters of nodes by name; NaN for missing nodes."""
    from io_scene_fbx import parse_fbx

    root, _ = parse_fbx.parse(str(path))
    sections = {elem.id: elem for elem in root.elems}
    objects = {elem.props[0]: elem for elem in sections[b"Objects"].elems}
    wires = [elem.props for elem in sections[b"Connections"].elems]
    models = {n: elem for n, elem in objects.items() if elem.id == b"Model"}
    parents = {w[1]: w[2] for w in wires if w[0] == b"OO" and {w[1], w[2]} <= models.keys()}
    layers = _layers(objects, wires)
    settings = _properties(sections[b"GlobalSettings"])
    unit = settings.get("UnitScaleFactor", [1.0])[0] / 100
    found = np.full((len(times), len(names), 3), np.nan)
    for row, time in enumerate(times):
        world: dict[int, tuple[np.ndarray, ...]] = {}
        for number, elem in models.items():
            name = elem.props[1].split(b"\x00")[0].decode()
            if name in names:
                place = _world(number, models, parents, layers, time, world)[0]
                found[row, names.index(name)] = place * unit
    if settings.get("UpAxis", [1])[0] == 2:
        return np.stack([found[..., 0], found[..., 2], -found[..., 1]], axis=-1)
    return found


def _layers(objects: dict, wires: list) -> list[tuple[dict, dict]]:
    """Return each layer's properties, and its curves by (model, property) and axis."""
    stack = next(n for n, elem in objects.items() if elem.id == b"AnimationStack")
    inside = [w[1] for w in wires if w[0] == b"OO" and w[2] == stack]
    layers = [n for n in inside if objects[n].id == b"AnimationLayer"]
    return [(_properties(objects[n]), _curves(objects, wires, n)) for n in layers]


def _curves(objects: dict, wires: list, layer: int) -> dict[tuple[int, str], dict[int, tuple]]:
    inside = {w[1] for w in wires if w[0] == b"OO" and w[2] == layer}
    wired = [w for w in wires if w[0] == b"OP" and w[1] in inside]
    moved = {w[1]: (w[2], w[3].decode()) for w in wired if objects[w[2]].id == b"Model"}
    found: dict[tuple[int, str], dict[int, tuple]] = defaultdict(dict)
    for wire in wires:
        if wire[0] == b"OP" and wire[2] in moved and objects[wire[1]].id == b"AnimationCurve":
            parts = {elem.id: elem.props[0] for elem in objects[wire[1]].elems if elem.props}
            seconds = np.array(parts[b"KeyTime"], np.float64) / TICKS
            values = np.array(parts[b"KeyValueFloat"], np.float64)
            found[moved[wire[2]]]["XYZ".index(wire[3].decode()[-1])] = seconds, values
    return found


def _value(layers: list, number: int, name: str, resting: np.ndarray, time: float) -> np.ndarray:
    """Return a vector of a model at a time, one layer on the other."""
    found = resting
    for own, mode, weight in _of_layers(layers, number, name, resting, time):
        found = {
            ADDITIVE: found + weight * own,
            OVERRIDE: own,
            PASS_THROUGH: found + weight * (own - found),
        }[mode]
    return found


def _turned(layers: list, number: int, resting: np.ndarray, time: float, order: str) -> np.ndarray:
    """Return the matrix of a model's rotation; layers of rotations follow one another."""
    found = _turn(resting, order)
    for own, mode, weight in _of_layers(layers, number, "Lcl Rotation", resting, time):
        turn = _turn(own, order)
        found = {
            ADDITIVE: found @ _part(turn, weight),
            OVERRIDE: turn,
            PASS_THROUGH: found @ _part(found.T @ turn, weight),
        }[mode]
    return found


def _of_layers(layers: list, number: int, name: str, resting: np.ndarray, time: float) -> list:
    """Return (value, mode, weight) of each layer that moves a vector, the base value first."""
    found = []
    for settings, curves in layers:
        mode = settings.get("BlendMode", [ADDITIVE])[0] if found else OVERRIDE
        own = np.zeros(3) if mode == ADDITIVE else resting.copy()
        for axis, (seconds, values) in curves.get((number, name), {}).items():
            own[axis] = np.interp(time, seconds, values)
        if (number, name) in curves:
            found.append((own, mode, settings.get("Weight", [100.0])[0] / 100))
    return found


def _part(turn: np.ndarray, weight: float) -> np.ndarray:
    """Return a part of a rotation, about its own axis."""
    angle = np.arccos(np.clip((np.trace(turn) - 1) / 2, -1, 1))
    if angle < 1e-9:
        return np.eye(3)
    skew = (turn - turn.T) / (2 * np.sin(angle))
    part = weight * angle
    return np.eye(3) + np.sin(part) * skew + (1 - np.cos(part)) * skew @ skew


def _properties(elem) -> dict[str, list]:
    rows = [e for inner in elem.elems if inner.id == b"Properties70" for e in inner.elems]
    return {row.props[0].decode(): list(row.props[4:]) for row in rows}


def _world(
    number: int, models: dict, parents: dict, layers: list, time: float, known: dict
) -> tuple[np.ndarray, ...]:
    """Return the place, the rotation and scale as one matrix, the rotation, and the own scale."""
    if number not in models:
        return np.zeros(3), np.eye(3), np.eye(3), np.eye(3)
    if number in known:
        return known[number]
    above = _world(parents.get(number, 0), models, parents, layers, time, known)
    place, matrix, turn, scale = above
    own = _properties(models[number])

    def value(name: str) -> np.ndarray:
        resting = np.array(own.get(name, NEUTRAL.get(name, (0.0,) * 3)), np.float64)
        return _value(layers, number, name, resting, time)

    active = bool(own.get("RotationActive", [0])[0])
    order = ORDERS[own.get("RotationOrder", [0])[0]] if active else "xyz"
    resting = np.array(own.get("Lcl Rotation", (0.0,) * 3), np.float64)
    turned = _turned(layers, number, resting, time, order)
    if active:
        before, after = _turn(value("PreRotation")), _turn(value("PostRotation"))
        turned = before @ turned @ after.T
    grown = np.diag(value("Lcl Scaling"))
    pivot, center = value("RotationPivot"), value("ScalingPivot")
    beside = center + value("ScalingOffset") - grown @ center
    local = value("Lcl Translation") + value("RotationOffset") + pivot + turned @ (beside - pivot)
    stretch = turn.T @ matrix  # effect of the parents' scales on directions
    kind = own.get("InheritType", [SEPARATE])[0]
    if kind == TOGETHER:
        mine = turn @ stretch @ turned @ grown
    elif kind == SEPARATE:
        mine = turn @ turned @ stretch @ grown
    else:
        mine = turn @ turned @ stretch @ np.linalg.inv(scale) @ grown
    known[number] = place + matrix @ local, mine, turn @ turned, grown
    return known[number]


def _turn(degrees: np.ndarray, order: str = "xyz") -> np.ndarray:
    found = np.eye(3)
    for letter in order:
        axis = "xyz".index(letter)
        a, b = (axis + 1) % 3, (axis + 2) % 3
        cosine, sine = np.cos(np.radians(degrees[axis])), np.sin(np.radians(degrees[axis]))
        one = np.eye(3)
        one[a, a], one[a, b], one[b, a], one[b, b] = cosine, -sine, sine, cosine
        found = one @ found
    return found
