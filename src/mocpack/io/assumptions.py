"""Say what a reader assumed because the file does not state it, and what a writer cannot state.

Readers record their assumptions in the metadata of the clip, so packed files and catalogs keep
them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from mocpack.common.json_object import Json
from mocpack.common.units import format_length
from mocpack.errors import FormatWarning
from mocpack.model.clip import AnyClip

STAND_IN_BONES = "stand-in"  # metadata "bones" of a body without a body model
MIN_FIT_ERROR_MM = 1.0  # smaller ones are rounding
STAND_IN_NOTE = (
    "the file has no bones, so those of a default adult stand in; errors are measured on them. "
    "Pass --body-model for the subject's bones"
)


def describe_assumptions(metadata: Mapping[str, Json]) -> list[str]:
    """Return a sentence for each assumption that affects positions, times, errors or the codec."""
    notes = [STAND_IN_NOTE] if metadata.get("bones") == STAND_IN_BONES else []
    if isinstance(unit := metadata.get("unit_guessed"), str):
        notes.append(f"guessed length unit: {unit}; use --unit to set it")
    if isinstance(reason := metadata.get("lossless_reason"), str):
        notes.append(f"stored without loss: {reason}")
    error = metadata.get("fit_error_mm")
    if isinstance(error, int | float) and error > MIN_FIT_ERROR_MM:
        notes.append(
            "rigid bones were fitted to joint positions whose distances change; joints moved by up "
            f"to {format_length(error / 1000)}"
        )
    return notes + describe_motion_assumptions(metadata)


def choose_frame_rate(stated: float | None, default: float, metadata: dict[str, Json]) -> float:
    """Return the stated frame rate, or record in the metadata that the default is assumed."""
    if stated is None:
        stated = metadata["frame_rate_assumed"] = default
    return stated


def warn_of_assumptions(clip: AnyClip, name: str) -> None:
    """Warn of the assumptions that a reader made about the motion."""
    for note in describe_motion_assumptions(clip.header.metadata):
        warnings.warn(f"{name}: {note}", FormatWarning, stacklevel=3)


def warn_of_frame_rate(frame_rate: float, assumed: float, what: str) -> None:
    """Warn if a file that states no frame rate will be read at another one."""
    if abs(frame_rate / assumed - 1) > 1e-6:
        warnings.warn(
            f"{what} states no frame rate: this motion has {frame_rate:.6g} frames per second, "
            f"but readers assume {assumed:g}; read it with --fps {frame_rate:.6g}",
            FormatWarning,
            stacklevel=3,
        )


def describe_motion_assumptions(metadata: Mapping[str, Json]) -> list[str]:
    """Return a sentence for each assumption that makes the motion wrong if it is wrong."""
    notes = []
    rate = metadata.get("frame_rate_assumed")
    if isinstance(rate, int | float | str):  # text in catalogs
        remedy = "use --fps to set it"
        if metadata.get("source") == "amc":  # its --fps resamples, because most files are CMU's
            remedy = "a line :SAMPLES-PER-SECOND in the file sets it"
        rate = str(rate).removesuffix(".0")
        notes.append(f"assumed {rate} frames per second, because the file states no rate; {remedy}")
    if isinstance(axis := metadata.get("up_guessed"), str):
        notes.append(f"guessed up axis: {axis}; the motion was turned, use --up to set the axis")
    if isinstance(axis := metadata.get("up_doubtful"), str):
        notes.append(f"the up axis may be {axis}; the motion was not turned, use --up to set it")
    return notes
