# /// script
# dependencies = ["mocpack"]
# ///
"""Make the bundled jump higher by pulling one handle of its spline upwards.

python examples/edit_handles.py
"""

import mocpack
from mocpack.editing import open_spline
from mocpack.samples import JUMP

clip = mocpack.read(JUMP)
packed = mocpack.encode(clip, "latent-spline:control_points=40")
spline = open_spline(packed)

top = clip.positions()[:, 0, 1].argmax() * clip.frame_time
handle = int(abs(spline.control_times - top).argmin())
higher = spline.moved(control=handle, by=spline.towards(translation=(0.0, 0.3, 0.0)))

before = mocpack.decode(packed).positions()[:, 0, 1].max()
after = higher.clip().positions()[:, 0, 1].max()
print(f"hips at {before:.2f} m before, {after:.2f} m after moving handle {handle}")
