# /// script
# dependencies = ["mocpack", "numpy"]
# ///
"""Edit the bundled jump so that one hand touches a target at the top of the jump.

python examples/edit_handles.py
"""

import numpy as np

import mocpack
from mocpack.papers.mukai.editing import Handle, open_spline
from mocpack.samples import JUMP

clip = mocpack.read(JUMP)
spline = open_spline(mocpack.encode(clip, "latent-spline"))

top = clip.positions()[:, 0, 1].argmax() * clip.frame_time
goal = spline.place("Head", top) + np.array([0.25, 0.45, 0.0])
edit = spline.apply_handles([Handle("LeftHand", top, to=goal)], falloff=0.4)

names, moved = clip.skeleton.names, edit.changes_at_handles
most = sorted(zip(moved, names, strict=True), reverse=True)[:8]
print(f"LeftHand at {top:.2f} s is {1000 * edit.misses[0]:.2f} mm from its target")
print("moved there:", ", ".join(f"{name} {100 * by:.1f} cm" for by, name in most))
print(f"frames {edit.frames.start} to {edit.frames.stop - 1}; {len(edit.spline.pack())} bytes")
