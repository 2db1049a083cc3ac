"""The chunks of what a take holds beside its poses, put together and taken apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mocpack.clip import ClipHeader
from mocpack.container.hinge import pack_hinges, unpack_hinges
from mocpack.container.rest import pack_rest, unpack_rest
from mocpack.container.runs import pack_valid, unpack_valid
from mocpack.container.scale import pack_scales, unpack_moving_scales, unpack_scaled_joints
from mocpack.container.timing import pack_play, pack_times, unpack_play, unpack_start, unpack_times
from mocpack.container.track import TrackHead, pack_track, unpack_track, unpack_track_head
from mocpack.errors import CorruptionError
from mocpack.take import WIDTHS, Extras

Chunk = tuple[str, bytes]
Bodies = Mapping[str, Sequence[bytes]]

REQUIRED = ("REST", "HING", "SCAL", "TIME")
NO_PLAY = bytes(1)  # the chunk `play` of a clip that needs none
SKIPPABLE = ("play", "vald", "trak")
REPEATED = ("trak",)


def pack_extras(header: ClipHeader, extras: Extras, scale_step: float = 0.0) -> list[Chunk]:
    """Return the chunks of a clip; scales that move are exact, or within half of `scale_step`."""
    skeleton = header.skeleton
    chunks: list[Chunk] = []
    if skeleton.has_rest:
        chunks.append(("REST", pack_rest(skeleton.rest)))
    if skeleton.hinges:
        chunks.append(("HING", pack_hinges(skeleton)))
    if header.is_scaled:
        body = pack_scales(skeleton.scales, header.scaled_joints, extras.scales, scale_step)
        chunks.append(("SCAL", body))
    if header.start_time or extras.times is not None:
        chunks.append(("TIME", pack_times(header.start_time, extras.times)))
    play = pack_play(header)
    if play != NO_PLAY:
        chunks.append(("play", play))
    if extras.valid is not None and not extras.valid.all():
        chunks.append(("vald", pack_valid(extras.valid)))
    chunks += [("trak", pack_track(name, track)) for name, track in extras.tracks.items()]
    return chunks


def with_extras(header: ClipHeader, bodies: Bodies) -> ClipHeader:
    """Return the header of a file's HEAD and SKEL with what its other chunks say of it."""
    changed: dict[str, Any] = {}
    joints = len(header.skeleton)
    parts: dict[str, Any] = {}
    if "REST" in bodies:
        parts["rest"] = unpack_rest(bodies["REST"][0], joints)
    if "HING" in bodies:
        parts["hinges"] = unpack_hinges(bodies["HING"][0], header.skeleton)
    if "SCAL" in bodies:
        parts["scales"], changed["scaled_joints"] = unpack_scaled_joints(bodies["SCAL"][0], joints)
    if parts:
        changed["skeleton"] = replace(header.skeleton, **parts)
    if "TIME" in bodies:
        changed["start_time"] = unpack_start(bodies["TIME"][0])
    if "play" in bodies:
        changed |= unpack_play(bodies["play"][0])
    return replace(header, **changed) if changed else header


def unpack_extras(header: ClipHeader, bodies: Bodies, most: int) -> Extras:
    """Return what a file's chunks hold; tracks have at most `most` numbers in all."""
    frames, joints = header.frame_count, len(header.skeleton)
    tracks = {}
    for body in bodies.get("trak", ()):
        name, track = unpack_track(body, most)
        if name in tracks:
            raise CorruptionError(f"file has two tracks {name[:40]!r}")
        tracks[name] = track
        most -= len(track) * WIDTHS[track.kind]
    return Extras(
        unpack_moving_scales(bodies["SCAL"][0], frames, joints) if "SCAL" in bodies else None,
        unpack_times(bodies["TIME"][0], frames) if "TIME" in bodies else None,
        unpack_valid(bodies["vald"][0], frames, joints) if "vald" in bodies else None,
        tracks,
    )


def track_heads(bodies: Bodies, most: int) -> list[TrackHead]:
    """Return what tracks a file has, without their values."""
    return [unpack_track_head(body, most) for body in bodies.get("trak", ())]
