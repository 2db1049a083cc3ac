"""Small FBX files for tests and benchmarks of readers, binary or text.

An FBX file is a tree of records with a name, values and child records. `scene` makes the tree of
bones, takes, layers and curves from plain values; `binary` and `text` write any tree.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mocpack.common.arrays import F64

TICKS = 46_186_158_000  # of FBX's clock in a second
VERSION = 7400
LINEAR, CUBIC, CONSTANT = 0x4, 0x108, 0x2  # how a curve goes on from a key; cubics have auto slopes
CUSTOM_RATE = 14  # the time mode of scenes that say their frames per second as a number
ENUMERATIONS = {"TimeMode", "InheritType", "RotationOrder", "BlendMode"}
_TYPES = {"i4": b"i", "i8": b"l", "f4": b"f", "f8": b"d"}
_VECTORS = {
    "Lcl Translation": "Lcl Translation",
    "Lcl Rotation": "Lcl Rotation",
    "Lcl Scaling": "Lcl Scaling",
}


@dataclass
class Record:
    """One record of the tree.

    Attributes
    ----------
    name : str
    values : list
        Texts, whole numbers (of 64 bits, as those of objects and times, where they are int64),
        floats, arrays; a pair of texts is the name and class of an object.
    inside : list of Record
    """

    name: str
    values: list[Any] = field(default_factory=list)
    inside: list[Record] = field(default_factory=list)


@dataclass
class Curve:
    """The keys of one number: seconds, values, and how it goes on from each (`LINEAR` …)."""

    times: Sequence[float] | F64
    values: Sequence[float] | F64
    kind: int = LINEAR


@dataclass
class Model:
    """One node of the scene.

    Attributes
    ----------
    parent : int
        Its place in the list of models, -1 for the scene itself.
    kind : str
        "LimbNode" for bones, "Null", "Mesh", "Camera".
    properties : dict
        Numbers or vectors by FBX's names: "Lcl Translation", "PreRotation", "InheritType".
    """

    name: str
    parent: int = -1
    kind: str = "LimbNode"
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Take:
    """An animation: layers of curves by (model's place, property, axis 0 to 2).

    Attributes
    ----------
    layers : list of dict
    span : (float, float), optional
        Seconds of its begin and end; those of the keys where it is left out.
    layer_properties : list of dict
        Of each layer, such as ``{"Weight": 50.0, "BlendMode": 0}``.
    """

    name: str
    layers: list[dict[tuple[int, str, int], Curve]]
    span: tuple[float, float] | None = None
    layer_properties: list[dict[str, Any]] = field(default_factory=list)


def scene(
    models: Sequence[Model],
    takes: Sequence[Take] = (),
    *,
    unit: float = 1.0,
    up: int = 1,
    frame_rate: float = 30.0,
) -> list[Record]:
    """Return the records of a file.

    Parameters
    ----------
    unit : float
        Centimeters of one unit.
    up : int
        Which axis is: 1 for y, front z; 2 for z, front -y.
    """
    objects, wires = Record("Objects"), Record("Connections")
    for m, model in enumerate(models):
        _put_model(objects, wires, m, model)
    number = np.int64(1_000_000)
    for take in takes:
        number = _put_take(objects, wires, number, take, models)
    return [
        Record("FBXHeaderExtension", [], [Record("FBXVersion", [VERSION])]),
        Record("Creator", ["mocpack.testing"]),
        Record("GlobalSettings", [], [_settings(unit, up, frame_rate)]),
        objects,
        wires,
    ]


def binary(records: Sequence[Record]) -> bytes:
    """Return the file in binary form."""
    out = bytearray(b"Kaydara FBX Binary  \x00\x1a\x00" + struct.pack("<I", VERSION))
    for record in records:
        _put_binary(out, record)
    return bytes(out) + bytes(13)


def text(records: Sequence[Record]) -> bytes:
    """Return the file as text."""
    lines = ["; FBX 7.4.0 project file", ""]
    for record in records:
        _put_text(lines, record, "")
    return "\n".join([*lines, ""]).encode()


def curve_record(number: np.int64, curve: Curve) -> Record:
    """Return the record of a curve's keys, an object of that number."""
    count = len(curve.times)
    return Record(
        "AnimationCurve",
        [number, ("", "AnimCurve"), ""],
        [
            Record("Default", [0.0]),
            Record("KeyVer", [4008]),
            Record("KeyTime", [np.array([_ticks(t) for t in curve.times], np.int64)]),
            Record("KeyValueFloat", [np.array(curve.values, np.float32)]),
            Record("KeyAttrFlags", [np.array([curve.kind], np.int32)]),
            Record("KeyAttrDataFloat", [np.zeros(4, np.float32)]),
            Record("KeyAttrRefCount", [np.array([count], np.int32)]),
        ],
    )


def _settings(unit: float, up: int, frame_rate: float) -> Record:
    front, sign = (2, 1) if up == 1 else (1, -1)
    return _properties(
        {
            "UpAxis": up,
            "UpAxisSign": 1,
            "FrontAxis": front,
            "FrontAxisSign": sign,
            "CoordAxis": 0,
            "CoordAxisSign": 1,
            "UnitScaleFactor": float(unit),
            "TimeMode": CUSTOM_RATE,
            "CustomFrameRate": float(frame_rate),
        }
    )


def _properties(values: Mapping[str, Any]) -> Record:
    rows = []
    for name, value in values.items():
        if name in ENUMERATIONS:
            kind, second, numbers = "enum", "", [value]
        elif isinstance(value, bool):
            kind, second, numbers = "bool", "", [int(value)]
        elif isinstance(value, int):
            kind, second, numbers = "int", "Integer", [value]
        elif isinstance(value, float):
            kind, second, numbers = "double", "Number", [value]
        else:
            kind, second, numbers = _VECTORS.get(name, "Vector3D"), "Vector", [*map(float, value)]
        flags = "" if kind in ("enum", "bool") else "A"
        rows.append(Record("P", [name, kind, second, flags, *numbers]))
    return Record("Properties70", [], rows)


def _put_model(objects: Record, wires: Record, place: int, model: Model) -> None:
    number, attribute = _number(place), np.int64(500_000 + place)
    objects.inside.append(
        Record(
            "Model", [number, (model.name, "Model"), model.kind], [_properties(model.properties)]
        )
    )
    parent = _number(model.parent) if model.parent >= 0 else np.int64(0)
    wires.inside.append(Record("C", ["OO", number, parent]))
    if model.kind == "LimbNode":
        flags = Record("TypeFlags", ["Skeleton"])
        objects.inside.append(
            Record("NodeAttribute", [attribute, (model.name, "NodeAttribute"), "LimbNode"], [flags])
        )
        wires.inside.append(Record("C", ["OO", attribute, number]))


def _number(place: int) -> np.int64:
    return np.int64(1_000 + place)


def _put_take(
    objects: Record, wires: Record, number: np.int64, take: Take, models: Sequence[Model]
) -> np.int64:
    stack, number = number, number + np.int64(1)
    ends = [t for layer in take.layers for c in layer.values() for t in (c.times[0], c.times[-1])]
    begin, end = take.span or (min(ends, default=0.0), max(ends, default=0.0))
    span = [
        Record("P", [name, "KTime", "Time", "", _ticks(seconds)])
        for name, seconds in (("LocalStart", begin), ("LocalStop", end))
    ]
    objects.inside.append(
        Record(
            "AnimationStack",
            [stack, (take.name, "AnimStack"), ""],
            [Record("Properties70", [], span)],
        )
    )
    for k, curves in enumerate(take.layers):
        layer, number = number, number + np.int64(1)
        own = take.layer_properties[k] if k < len(take.layer_properties) else {}
        objects.inside.append(
            Record("AnimationLayer", [layer, (f"Layer{k}", "AnimLayer"), ""], [_properties(own)])
        )
        wires.inside.append(Record("C", ["OO", layer, stack]))
        number = _put_curves(objects, wires, number, layer, curves, models)
    return number


def _put_curves(
    objects: Record,
    wires: Record,
    number: np.int64,
    layer: np.int64,
    curves: Mapping[tuple[int, str, int], Curve],
    models: Sequence[Model],
) -> np.int64:
    nodes: dict[tuple[int, str], np.int64] = {}
    for (model, name, axis), curve in curves.items():
        if (model, name) not in nodes:
            nodes[model, name] = node = number
            number += np.int64(1)
            title = {"Lcl Translation": "T", "Lcl Rotation": "R", "Lcl Scaling": "S"}.get(
                name, name
            )
            objects.inside.append(
                Record(
                    "AnimationCurveNode",
                    [node, (title, "AnimCurveNode"), ""],
                    [_properties(_without_curves(models[model], name))],
                )
            )
            wires.inside.append(Record("C", ["OO", node, layer]))
            wires.inside.append(Record("C", ["OP", node, _number(model), name]))
        objects.inside.append(curve_record(number, curve))
        wires.inside.append(Record("C", ["OP", number, nodes[model, name], f"d|{'XYZ'[axis]}"]))
        number += np.int64(1)
    return number


def _without_curves(model: Model, name: str) -> dict[str, float]:
    """Return the values of a property's axes without a curve."""
    own = model.properties.get(name, (1.0,) * 3 if name == "Lcl Scaling" else (0.0,) * 3)
    return {f"d|{axis}": float(value) for axis, value in zip("XYZ", own, strict=True)}


def _ticks(seconds: float) -> np.int64:
    return np.int64(round(seconds * TICKS))


def _put_binary(out: bytearray, record: Record) -> None:
    values = b"".join(_binary_value(value) for value in record.values)
    name = record.name.encode()
    start = len(out)
    out += struct.pack("<IIIB", 0, len(record.values), len(values), len(name)) + name + values
    if record.inside:
        for inner in record.inside:
            _put_binary(out, inner)
        out += bytes(13)
    struct.pack_into("<I", out, start, len(out))


def _binary_value(value: Any) -> bytes:
    if isinstance(value, tuple):
        value = f"{value[0]}\0\1{value[1]}"
    if isinstance(value, str):
        body = value.encode()
        return b"S" + struct.pack("<I", len(body)) + body
    if isinstance(value, np.ndarray):
        body = value.tobytes()
        return _TYPES[value.dtype.str[1:]] + struct.pack("<III", len(value), 0, len(body)) + body
    if isinstance(value, float):
        return b"D" + struct.pack("<d", value)
    long = isinstance(value, np.int64)
    return b"L" + struct.pack("<q", value) if long else b"I" + struct.pack("<i", value)


def _put_text(lines: list[str], record: Record, margin: str) -> None:
    if len(record.values) == 1 and isinstance(record.values[0], np.ndarray):
        numbers = ",".join(map(repr, record.values[0].tolist()))
        lines.append(f"{margin}{record.name}: *{record.values[0].size} {{")
        lines += [f"{margin}\ta: {numbers}", f"{margin}}}"]
        return
    line = f"{margin}{record.name}: " + ", ".join(map(_text_value, record.values))
    if not record.inside:
        lines.append(line)
        return
    lines.append(line + " {")
    for inner in record.inside:
        _put_text(lines, inner, margin + "\t")
    lines.append(margin + "}")


def _text_value(value: Any) -> str:
    if isinstance(value, tuple):
        return f'"{value[1]}::{value[0]}"'
    return f'"{value}"' if isinstance(value, str) else str(value)
