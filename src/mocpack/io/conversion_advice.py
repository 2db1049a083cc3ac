"""Advice for files that mocpack does not read: how to convert them to a format that it reads."""

from __future__ import annotations

from pathlib import Path

BLENDER = "import it into Blender and export BVH or glTF (.glb)"
CACHE = "export a point cache (.pc2, .mdd) or glTF from the program that made it"
PICKLE = (
    "a pickle can run code when it is opened, so mocpack does not open it: save the "
    "arrays with numpy.savez"
)
STATIC = "it is a static mesh without motion"
# (first bytes, or extension; program; advice)
ADVICE_BY_MAGIC = (
    (b"BLENDER", "Blender", "export BVH or glTF (.glb) from Blender"),
    (b"Ogawa", "Alembic", CACHE),
    (b"Vocaloid Motion Data", "MMD", "import it with Blender's mmd_tools and export BVH"),
)
ADVICE_BY_EXTENSION = {
    ".dae": ("COLLADA", BLENDER),
    ".abc": ("Alembic", CACHE),
    ".blend": ("Blender", "export BVH or glTF (.glb) from Blender"),
    ".ma": ("Maya", "export FBX from Maya"),
    ".mb": ("Maya", "export FBX from Maya"),
    ".max": ("3ds Max", "export FBX from 3ds Max"),
    ".bip": ("3ds Max Biped", "export BVH from 3ds Max"),
    ".anim": ("Unity or Maya", "export FBX from Unity or Maya"),
    ".uasset": ("Unreal", "export FBX from Unreal"),
    ".vmd": ("MMD", "import it with Blender's mmd_tools and export BVH"),
    ".htr": ("HTR", "export BVH from the capture software"),
    ".tak": ("Motive", "export C3D or BVH from Motive"),
    ".mvn": ("MVN", "export BVH or C3D from MVN"),
    ".mvnx": ("MVN", "export BVH or C3D from MVN"),
    ".x1d": ("Vicon", "export C3D from Nexus or Shogun"),
    ".x2d": ("Vicon", "export C3D from Nexus or Shogun"),
    ".vsk": ("Vicon", "it is a skeleton without motion; export C3D or BVH from Nexus or Shogun"),
    ".qtm": ("Qualisys", "export C3D from QTM"),
    ".imotion": ("iClone", "export BVH from iClone, or FBX from 3DXchange"),
    ".rlmotion": ("iClone", "export BVH from iClone, or FBX from 3DXchange"),
    ".rkk": ("Rokoko", "export BVH from Rokoko Studio"),
    ".vpd": ("MMD", "it is a single pose; import a .vmd with Blender's mmd_tools and export BVH"),
    ".xaf": ("3ds Max", "export BVH or FBX from 3ds Max"),
    ".v3d": ("Visual3D", "export C3D from Visual3D"),
    ".mot": ("OpenSim", "export TRC of the markers from OpenSim"),
    ".sto": ("OpenSim", "export TRC of the markers from OpenSim"),
    ".pth": ("PyTorch", PICKLE),
    ".obj": ("OBJ", STATIC),
    ".stl": ("STL", STATIC),
    ".ply": ("PLY", STATIC),
}


def suggest_conversion(data: bytes, name: str) -> str | None:
    """Return advice for a file that cannot be read, or None."""
    known = next(
        ((kind, way) for start, kind, way in ADVICE_BY_MAGIC if data.startswith(start)), None
    )
    known = known or ADVICE_BY_EXTENSION.get(Path(name).suffix.lower())
    return None if known is None else f"this is {known[0]}: {known[1]}"
