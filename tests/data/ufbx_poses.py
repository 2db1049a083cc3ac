"""Where ufbx's own evaluation of a scene puts its nodes; a process of its own, which may crash.

python ufbx_poses.py FILE TIMES

Prints JSON: meters of a unit, and for each time [name, place in the file's unit] of every node. No
option is given, so that pivots and inherited scales are handled by ufbx at every time again.
"""

import gc
import json
import os
import sys
from pathlib import Path

import ufbx

KEPT = []


def main():
    gc.disable()
    scene = ufbx.load_memory(Path(sys.argv[1]).read_bytes())
    stacks = list(scene.anim_stacks)
    anim = stacks[0].anim
    KEPT.extend([scene, stacks, anim])
    frames = []
    for time in json.loads(sys.argv[2]):
        evaluated = ufbx.evaluate_scene(scene, anim, time)
        nodes = list(evaluated.nodes)
        KEPT.extend([evaluated, nodes])
        frames.append([[node.name, list(node.node_to_world.c3)] for node in nodes])
    print(json.dumps({"unit": scene.settings.unit_meters, "frames": frames}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
