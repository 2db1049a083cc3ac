"""Print node positions as ufbx evaluates a scene; runs in its own process, which may crash.

python ufbx_poses.py FILE TIMES

Prints JSON: meters per unit, and for each time [name, position in the file's unit] of every node.
Without options, so that ufbx handles pivots and inherited scales at every time.
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
