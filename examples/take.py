"""Store more than poses: markers with gaps, tracks, and two clips on one clock."""

import numpy as np

import mocpack
from mocpack.testing import walk

# an actor with a contact, a face weight and the words of the script, each within its own bound
actor = walk(2.0)
seconds = actor.times
actor = mocpack.Clip.build(
    actor.skeleton,
    actor.rotations,
    actor.translations,
    frame_time=actor.frame_time,
    tracks={
        "smile": mocpack.Track("scalar", 0.5 + 0.5 * np.sin(3 * seconds), bound=0.002),
        "left foot down": mocpack.Track("flag", np.sin(6 * seconds) < 0),
        "script": mocpack.Track("label", ["walks in", "looks back"], times=np.array([0.0, 1.2])),
    },
)

# four markers of a box, which comes in after half a second; one is hidden for a while
corners = np.array([[0, 0, 0], [0.3, 0, 0], [0.3, 0, 0.2], [0, 0, 0.2]])
places = corners + np.linspace(0, 0.5, 100)[:, np.newaxis, np.newaxis]
places[40:55, 2] = np.nan
box = mocpack.Clip.from_points(places, list("abcd"), frame_rate=100, start_time=0.5)

data = mocpack.encode_scene({"actor": actor, "box": box}, max_error="1mm")
scene = mocpack.decode_scene(data)
print(f"{len(data)} bytes for {', '.join(scene)}")
for name, track in scene["actor"].tracks.items():
    original = actor.tracks[name]
    print(f"{name}: {track.kind}, {len(track)} samples, off by {original.error(track):.4g}")
gaps = np.isnan(scene["box"].points()).any(-1).sum(0)
print(f"the box starts at {scene['box'].start_time} s; samples not seen: {gaps.tolist()}")
