"""Report what a conversion lost, by comparing a clip with what was read back from the new file.

The comparison needs no knowledge about any format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from mocpack.common.choice import list_names
from mocpack.common.units import format_length
from mocpack.model.clip import AnyClip, Clip, VertexClip, measure_error, require_skeleton

# Written by readers themselves; a difference is not a loss.
OWN_METADATA = {"source", "generator", "unit_guessed", "frame_rate_assumed", "up_guessed"}
OWN_METADATA |= {"up_doubtful", "animation", "bones", "scale_noise_dropped"}
MAX_NAMES_SHOWN = 4
MAX_CHARACTER_ERROR = 0.01  # of the body height; a larger error of a character is a warning


class Displacement(NamedTuple):
    """The largest distance between joints of two clips in meters, its joint, and its frame."""

    meters: float
    joint: str
    frame: int


class CharacterFit(NamedTuple):
    """How well a character follows a clip that was added to it."""

    meters: float  # the largest distance of a joint of the character from that of the clip
    joint: str
    frame: int
    body_height: float  # of the clip, in meters
    missing: tuple[str, ...]  # joints of the clip that the character does not have

    @property
    def is_close(self) -> bool:
        """Whether the error is at most 1 % of the body height."""
        return self.meters <= MAX_CHARACTER_ERROR * self.body_height

    def __str__(self) -> str:
        words = f"the character's joints are within {format_length(self.meters)} of the clip's"
        if self.meters > 0:
            words += f"; the farthest is {self.joint!r} in frame {self.frame}"
        if not self.is_close:
            share = self.meters / self.body_height if self.body_height else np.inf
            words += (
                f", {share:.1%} of the body height. Rest pose or proportions of the character "
                "differ, and mocpack does not retarget"
            )
        if self.missing:
            words += f". Joints that the character does not have: {list_names(self.missing, 8)}"
        return words


def list_losses(clip: AnyClip, back: AnyClip) -> list[str]:
    """Return what `back` lacks of `clip`, a few words each."""
    if clip.header.kind != back.header.kind:
        return ["kind of motion"]
    if isinstance(clip, VertexClip):
        return list(_find_lost_vertex_data(clip, back))
    parts = (_find_lost_joints, _find_lost_timing, _find_lost_take_data, _find_lost_source_info)
    return [words for part in parts for words in part(clip, require_skeleton(back, "the report"))]


def max_displacement(clip: AnyClip, back: AnyClip) -> float | None:
    """Return the largest distance of a joint or vertex between two clips, in meters.

    Matches joints by name, compares at the frames of `clip` and skips gaps. Returns None if the
    clips have nothing in common.
    """
    if clip.header.kind != back.header.kind:
        return None
    if isinstance(clip, VertexClip):
        same = clip.vertices.shape == back.positions().shape
        return measure_error(clip, back).max if same else None
    pair = clip, require_skeleton(back, "the report")
    largest = find_displacement(*pair, _match_joints(*pair))
    return None if largest is None else largest.meters


def find_displacement(
    clip: Clip, back: Clip, pairs: Sequence[tuple[int, int]]
) -> Displacement | None:
    """Return the largest distance between joints of two clips, given as pairs of indices.

    Compares at the frames of `clip` and skips gaps. Returns None without pairs.
    """
    if not pairs:
        return None
    if clip.frame_count == back.frame_count:
        theirs = back.positions()
    else:
        shift = clip.times[0] - back.times[0]
        at = np.interp(clip.times - shift, back.times, np.arange(back.frame_count))
        theirs = back.poses_at(at).positions()
    ours, others = (list(column) for column in zip(*pairs, strict=True))
    distances = np.linalg.norm(clip.positions()[:, ours] - theirs[:, others], axis=-1)
    seen = clip.take_data.valid
    if seen is not None:
        distances = np.where(seen[:, ours], distances, 0.0)
    frame, pair = np.unravel_index(int(distances.argmax()), distances.shape)
    name = clip.skeleton.unique_names[ours[pair]]
    return Displacement(float(distances[frame, pair]), name, int(frame))


def measure_character(clip: Clip, back: Clip, missing: Sequence[str]) -> CharacterFit | None:
    """Return how well a character follows a clip, from the motion `back` that was read from it.

    `missing` are the joints of the clip that the character does not have.
    """
    place = {name: j for j, name in enumerate(back.skeleton.unique_names)}
    names = enumerate(clip.skeleton.unique_names)
    worst = find_displacement(clip, back, [(j, place[name]) for j, name in names if name in place])
    if worst is None:
        return None
    height = float(np.median(np.ptp(clip.positions(), axis=1).max(axis=1)))
    return CharacterFit(*worst, height, tuple(missing))


def describe(
    clip: AnyClip,
    back: AnyClip,
    guessed: str | None = None,
    ignored: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """Return a line with what was lost and how far joints or vertices moved.

    `guessed` is the unit that readers will guess, if the file names none and the guess is wrong.
    `ignored` counts what the source has in addition to the clip, such as meshes.
    """
    lost, moved = list_losses(clip, back), max_displacement(clip, back)
    lost += [f"unit (readers guess {guessed})"] if guessed else []
    lost += [_format_count(count, word, []) for word, count in ignored.items()]
    words = f"lost: {', '.join(lost)}" if lost else "nothing is lost"
    if moved is None:
        return f"{words}; positions cannot be compared"
    how_far = "exact" if moved == 0 else f"within {format_length(moved)}"
    return f"{words}; {clip.header.point_kind} {how_far}"


def _match_joints(clip: Clip, back: Clip) -> list[tuple[int, int]]:
    """Return pairs of matching joints: by name, or by order if the counts are equal."""
    ours, theirs = clip.skeleton.unique_names, back.skeleton.unique_names
    place = {name: j for j, name in enumerate(theirs)}
    pairs = [(j, place[name]) for j, name in enumerate(ours) if name in place]
    if len(pairs) < len(ours) == len(theirs):
        return [(j, j) for j in range(len(ours))]
    return pairs


def _find_lost_joints(clip: Clip, back: Clip) -> Iterator[str]:
    ours, theirs = clip.skeleton, back.skeleton
    if len(theirs.roots) < len(ours.roots):
        yield f"separate roots ({len(ours.roots)})"
    missing = [name for name in ours.names if name not in theirs.names]
    if len(theirs) < len(ours):
        yield _format_count(len(ours) - len(theirs), "joint", missing)
    elif missing or theirs.names.count("") < ours.names.count(""):
        yield _format_count(max(1, len(missing)), "name", missing)
    elif len(set(ours.names)) < len(ours.names) and len(set(theirs.names)) == len(theirs.names):
        yield "repeated names"
    if len(theirs) > len(ours):
        yield f"joint count ({len(ours)}, now {len(theirs)})"
    if len(theirs.end_sites) < len(ours.end_sites):
        yield _format_count(len(ours.end_sites) - len(theirs.end_sites), "end site", [])
    if ours.has_rest and not theirs.has_rest:
        yield "rest rotations"
    if ours.hinges is not None and theirs.hinges is None:
        yield f"hinges of {len(set(ours.hinges.joints))} joints"
    if clip.header.is_scaled and not back.header.is_scaled:
        yield "scales (baked into lengths)"


def _find_lost_timing(clip: Clip, back: Clip) -> Iterator[str]:
    if back.frame_count != clip.frame_count:
        yield f"frame count ({clip.frame_count}, now {back.frame_count})"
    if clip.take_data.times is not None and back.take_data.times is None:
        yield "uneven times"
    elif abs(back.times[0] - clip.times[0]) > 1e-6:
        yield f"start at {clip.times[0]:g} s"
    if clip.header.loop and not back.header.loop:
        yield "loop flag"


def _find_lost_take_data(clip: Clip, back: Clip) -> Iterator[str]:
    missing = [name for name in clip.tracks if name not in back.tracks]
    if missing:
        yield _format_count(len(missing), "track", missing)
    if clip.take_data.valid is not None and back.take_data.valid is None:
        yield f"gaps ({int((~clip.take_data.valid).sum())} positions)"


def _find_lost_source_info(clip: Clip, back: Clip) -> Iterator[str]:
    if (clip.header.up, clip.header.handedness) != (back.header.up, back.header.handedness):
        yield f"source axes ({clip.header.up} up, {clip.header.handedness}-handed)"
    if clip.channels is not None and back.channels is None:
        yield "source angles"
    missing = [key for key in clip.metadata if key not in back.metadata and key not in OWN_METADATA]
    if missing:
        yield _format_count(len(missing), "metadata field", missing)


def _find_lost_vertex_data(clip: VertexClip, back: AnyClip) -> Iterator[str]:
    if len(clip.faces) and not (isinstance(back, VertexClip) and len(back.faces)):
        yield f"{len(clip.faces)} triangles"
    if abs(back.frame_time / clip.frame_time - 1) > 1e-6:
        yield f"frame rate ({1 / clip.frame_time:g} frames per second)"


def _format_count(count: int, what: str, names: Sequence[str]) -> str:
    """Return a count with the first names.

    >>> _format_count(2, "track", ["smile", "frown"])
    '2 tracks (smile, frown)'
    """
    shown = [name[:40] for name in names[:MAX_NAMES_SHOWN] if name]
    listed = ", ".join(shown) + (", …" if len(names) > MAX_NAMES_SHOWN else "")
    plural = "es" if what.endswith("sh") else "s"
    words = f"{count} {what}{plural * (count > 1)}"
    return f"{words} ({listed})" if shown else words
