"""Small motion files of every format that mocpack reads, for conversions between all formats.

Files of other programs are in `tests/originals` and `tests/samples`. The others are generated here
byte by byte, without mocpack's writers where possible.
"""

import json
import struct
from pathlib import Path

import numpy as np
from made_gltf import Made

import fbx_file
import mocpack
from mocpack.testing import walk
from mocpack.testing.motions import vertex_wave

TESTS = Path(__file__).parents[1]
FRAMES = 20
ARM = """<robot name="arm"><link name="base"/><link name="upper"/><link name="lower"/>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
 <origin xyz="0 0.1 0.2"/><axis xyz="0 0 -1"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
 <origin xyz="0 0 0.3"/><axis xyz="0 1 0"/><limit lower="-1" upper="2.5"/></joint></robot>"""
# the bones that an animation for VRM models must have, each below the one named after it
HUMAN = {"hips": None, "spine": "hips", "head": "spine"}
for _side in ("left", "right"):
    for _limb, _above in (("Leg", "hips"), ("Arm", "spine")):
        _end = {"Leg": "Foot", "Arm": "Hand"}[_limb]
        HUMAN[f"{_side}Upper{_limb}"] = _above
        HUMAN[f"{_side}Lower{_limb}"] = f"{_side}Upper{_limb}"
        HUMAN[f"{_side}{_end}"] = f"{_side}Lower{_limb}"


def bvh(folder):
    return TESTS / "originals/cmu/09_01.bvh", {}


def amc(folder):
    return TESTS / "originals/asfamc/02_03.amc", {}


def glb(folder):
    return TESTS / "samples/Fox.glb", {"clip": "Run"}


def packed_glb(folder):
    return TESTS / "samples/fox-run-ext.glb", {}


def gltf(folder):
    """Two nodes of which one jumps, and one grows: uneven times and scales."""
    made = Made([{"name": "arm", "children": [1]}, {"name": "hand", "translation": [0.3, 0, 0]}])
    made.document |= {"scenes": [{"nodes": [0]}], "scene": 0}
    sizes = [[1, 1, 1], [1, 2, 1], [1, 1, 1]]
    made.animate(
        (0, "rotation", [0, 0.1, 0.5], [[0, 0, 0, 1], [0.6, 0, 0, 0.8], [0, 0, 0, 1]], "LINEAR"),
        (1, "translation", [0, 0.3, 0.5], [[0.3, 0, 0], [0.4, 0, 0], [0.3, 0, 0]], "STEP"),
        (1, "scale", [0, 0.25, 0.5], sizes, "LINEAR"),
        name="wave",
    )
    (folder / "wave.bin").write_bytes(made.body)
    (folder / "wave.gltf").write_bytes(made.gltf("wave.bin"))
    return folder / "wave.gltf", {}


def vrma(folder):
    names = list(HUMAN)
    nodes = [{"name": name, "translation": [0.1, 0.2, 0]} for name in names]
    for name, parent in HUMAN.items():
        if parent is not None:
            nodes[names.index(parent)].setdefault("children", []).append(names.index(name))
    nodes.append({"name": "happy"})
    extension = {
        "specVersion": "1.0",
        "humanoid": {"humanBones": {name: {"node": n} for n, name in enumerate(names)}},
        "expressions": {"preset": {"happy": {"node": len(names)}}},
    }
    made = Made(nodes, extensions={"VRMC_vrm_animation": extension})
    made.document |= {"scenes": [{"nodes": [0, len(names)]}], "scene": 0}
    made.document["extensionsUsed"] = ["VRMC_vrm_animation"]
    times = np.arange(FRAMES) / 30
    turns = [[np.sin(t), 0, 0, np.cos(t)] for t in times / 3]
    made.animate(
        (0, "translation", times, [[t, 1, 0] for t in times], "LINEAR"),
        (1, "rotation", times, turns, "LINEAR"),
        (len(names), "translation", times, [[t, 0, 0] for t in times], "LINEAR"),
        name="nod",
    )
    (folder / "nod.vrma").write_bytes(made.glb())
    return folder / "nod.vrma", {}


def npz(folder):
    return _written(walk(0.3), folder / "walk.npz"), {}


def mocp(folder):
    (folder / "walk.mocp").write_bytes(mocpack.encode(walk(0.3), max_error="1mm", effort="fast"))
    return folder / "walk.mocp", {}


def c3d(folder):
    """Three markers in millimeters, one of them hidden for a while."""
    points = _marker_places()
    points[3:6, 1] = 0

    def entry(name, group, body):
        head = struct.pack("bb", len(name), group) + name.encode()
        return head + struct.pack("<H", 2 + len(body)) + body

    def text(values, width=4):
        cells = b"".join(v.encode().ljust(width) for v in values)
        return struct.pack("bBBB", -1, 2, width, len(values)) + cells + b"\0"

    parts = entry("POINT", -1, b"\0") + entry("LABELS", 1, text(["LKNE", "RKNE", "HEAD"]))
    parts += entry("UNITS", 1, text(["mm"])) + b"\0\0"
    head = struct.pack("<BB5Hf2Hf", 2, 0x50, 3, 0, 1, FRAMES, 0, -1.0, 3, 0, 50.0)
    rows = np.concatenate([points, np.zeros((FRAMES, 3, 1))], axis=2)
    rows[3:6, 1, 3] = -1
    parameters = struct.pack("BBBB", 1, 80, 1, 84) + parts
    data = head.ljust(512, b"\0") + parameters.ljust(512, b"\0") + rows.astype("<f4").tobytes()
    (folder / "markers.c3d").write_bytes(data)
    return folder / "markers.c3d", {}


def trc(folder):
    names = ["LKNE", "RKNE", "HEAD"]
    lines = ["PathFileType\t4\t(X/Y/Z)\tmarkers.trc"]
    lines.append("DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits")
    lines.append(f"50\t50\t{FRAMES}\t3\tmm")
    lines.append("Frame#\tTime\t" + "\t\t\t".join(names) + "\t\t")
    lines += ["\t\t" + "\t".join(f"{axis}{k}" for k in (1, 2, 3) for axis in "XYZ"), ""]
    for t, row in enumerate(_marker_places().reshape(FRAMES, 9)):
        cells = [f"{v:.3f}" for v in row]
        cells[3:6] = ["", "", ""] if 3 <= t < 6 else cells[3:6]
        lines.append("\t".join([str(t + 1), f"{t / 50:.3f}", *cells]))
    (folder / "markers.trc").write_text("\n".join(lines) + "\n")
    return folder / "markers.trc", {}


def deepmimic(folder):
    frames = []
    for t in range(FRAMES):
        pose = [1 / 30, 0.01 * t, 0.9, 0]
        for width in (4, 4, 4, 4, 1, 4, 4, 1, 4, 1, 4, 4, 1):
            pose += [np.cos(t / 30), 0, np.sin(t / 30), 0] if width == 4 else [-0.02 * t]
        frames.append(pose)
    (folder / "walk.txt").write_text(json.dumps({"Loop": "wrap", "Frames": frames}))
    return folder / "walk.txt", {}


def amass(folder):
    rng = np.random.default_rng(0)
    swing = np.sin(np.arange(FRAMES)[:, np.newaxis] / 10 + rng.uniform(0, 6, 156))
    np.savez(
        folder / "amass.npz",
        poses=0.3 * swing,
        trans=np.linspace([0, 0, 0.9], [1, 0, 0.9], FRAMES),
        mocap_framerate=60.0,
        betas=np.zeros(16),
        gender="neutral",
        dmpls=0.1 * swing[:, :2],
    )
    return folder / "amass.npz", {}


def humanml3d(folder):
    """Positions of a body that turns and swings its limbs."""
    above = [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19]
    angle = np.arange(FRAMES)[:, np.newaxis] / 20
    places = np.zeros((FRAMES, 22, 3))
    places[:, 0] = np.concatenate([angle, 0.9 + 0 * angle, 0 * angle], axis=1)
    for joint, parent in enumerate(above[1:], 1):
        bone = np.random.default_rng(joint).normal(size=3) / 5
        turn = angle[:, 0] + (joint > 3) * np.sin(angle[:, 0] + parent)
        x, z = bone[0] * np.cos(turn), bone[0] * np.sin(turn)
        places[:, joint] = places[:, parent] + np.stack([x, bone[1] + 0 * x, z + bone[2]], axis=1)
    np.save(folder / "joints.npy", places)
    return folder / "joints.npy", {}


def robot(folder):
    (folder / "arm.urdf").write_text(ARM)
    time = np.arange(FRAMES) / 30
    rows = np.zeros((FRAMES, 9))
    rows[:, :3] = np.stack([time, 0 * time, 0 * time + 1], axis=1)
    rows[:, 6] = 1
    rows[:, 7:] = np.stack([np.sin(time), np.cos(time)], axis=1)
    np.savetxt(folder / "arm.csv", rows, "%.9f", ",")
    return folder / "arm.csv", {"robot": folder / "arm.urdf", "fps": 30}


def bones_seed(folder):
    path, options = robot(folder)
    rows = np.loadtxt(path, delimiter=",")
    root = [f"root_{part}{axis}" for part in ("translate", "rotate") for axis in "XYZ"]
    table = np.concatenate([np.arange(FRAMES)[:, np.newaxis], 100 * rows[:, :3]], axis=1)
    table = np.concatenate([table, 5 * rows[:, :3], np.degrees(rows[:, 7:])], axis=1)
    header = ",".join(["Frame", *root, "shoulder_dof", "elbow"])
    np.savetxt(folder / "seed.csv", table, "%.9f", ",", header=header, comments="")
    return folder / "seed.csv", {"robot": options["robot"]}


def fbx(folder):
    """Two bones of which the first swings."""
    move, turn = "Lcl Translation", "Lcl Rotation"
    models = [
        fbx_file.Model("Upper", -1, properties={move: (1.0, 2.0, 3.0)}),
        fbx_file.Model("Lower", 0, properties={move: (10.0, 0.0, 0.0)}),
    ]
    times = np.arange(FRAMES) / 30
    swing = {(0, turn, axis): fbx_file.Curve(times, 20 * np.sin(times + axis)) for axis in range(3)}
    data = fbx_file.binary(fbx_file.scene(models, [fbx_file.Take("Swing", [swing])]))
    (folder / "arm.fbx").write_bytes(data)
    return folder / "arm.fbx", {}


def usd(folder):
    """The same in USD's words, as USD's own library would print them."""
    times = range(FRAMES)
    angles = [np.sin(t / 30) / 2 for t in times]
    turns = ", ".join(
        f"{t}: [({np.cos(a):.6f}, 0, {np.sin(a):.6f}, 0), (1, 0, 0, 0)]"
        for t, a in zip(times, angles, strict=True)
    )
    one = "( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), ({}, 0, 0, 1) )"
    joints = 'uniform token[] joints = ["upper", "upper/lower"]'
    rest = f"[{one.format(0)}, {one.format(0.3)}]"
    (folder / "arm.usda").write_text(f"""#usda 1.0
(
    metersPerUnit = 1
    timeCodesPerSecond = 30
    upAxis = "Y"
)
def SkelRoot "arm"
{{
    def Skeleton "bones" (prepend apiSchemas = ["SkelBindingAPI"])
    {{
        {joints}
        uniform matrix4d[] bindTransforms = {rest}
        uniform matrix4d[] restTransforms = {rest}
        rel skel:animationSource = </arm/swing>
    }}
    def SkelAnimation "swing"
    {{
        {joints}
        quatf[] rotations.timeSamples = {{ {turns} }}
        half3[] scales = [(1, 1, 1), (1, 1, 1)]
        float3[] translations = [(0, 0, 0), (0.3, 0, 0)]
    }}
}}
""")
    return folder / "arm.usda", {}


def pc2(folder):
    return _written(vertex_wave(), folder / "wave.pc2"), {}


def mdd(folder):
    return _written(vertex_wave(), folder / "wave.mdd"), {}


def vertices(folder):
    return _written(vertex_wave(), folder / "wave.npz"), {}


SKELETONS = {
    "BVH": bvh,
    "AMC": amc,
    "GLB": glb,
    "packed GLB": packed_glb,
    "glTF": gltf,
    "VRMA": vrma,
    "npz": npz,
    "mocp": mocp,
    "C3D": c3d,
    "TRC": trc,
    "DeepMimic": deepmimic,
    "AMASS": amass,
    "HumanML3D": humanml3d,
    "robot csv": robot,
    "BONES-SEED": bones_seed,
    "FBX": fbx,
    "USD": usd,
}
VERTICES = {"PC2": pc2, "MDD": mdd, "npz of vertices": vertices}


def _written(clip, path):
    mocpack.write(clip, path)
    return path


def _marker_places():
    """Places (T, 3, 3) in millimeters."""
    time = np.arange(FRAMES)[:, np.newaxis, np.newaxis] / 50
    phase = np.arange(9).reshape(1, 3, 3)
    return np.round(1000 + 300 * np.sin(2 * time + phase), 3)
