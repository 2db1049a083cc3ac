"""Write clips as motion files; the extension chooses the writer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

from mocpack.errors import FormatError, FormatWarning, UnsupportedClipError, UsageError, name_errors
from mocpack.io.atomic import write_all_atomically, write_atomically
from mocpack.io.conversion_report import CharacterFit, measure_character
from mocpack.io.external_files import external_file_reader
from mocpack.io.reading import parse_bytes, read_file_bytes
from mocpack.io.table import DIALECTS, FORMATS, ROBOT_DIALECTS, Format, find_format, lazy_function
from mocpack.model.clip import AnyClip, Clip, require_skeleton
from mocpack.model.codec_clip import drop_take_data

CHARACTER_EXTENSIONS = (".glb", ".gltf", ".vrma")  # of files that a clip can be added to


def write_file(
    clip: AnyClip,
    path: str | Path,
    *,
    dialect: str | None = None,
    into: str | Path | None = None,
    allow_outside: bool = False,
) -> CharacterFit | None:
    """Write the clip atomically, in the format of the path's extension.

    Formats with two files get both: walk.amc comes with walk.asf. `dialect` is that of
    `write_bytes`. `into` is a glTF file that the clip is added to as an animation; its external
    files may be outside its folder if `allow_outside`. Returns how well that character follows the
    clip, and warns if it is far off.
    """
    path = Path(path)
    if into is not None:
        made, fit = _insert_into_character(clip, Path(into), path, allow_outside)
        write_atomically(made, path)
        if fit is not None and not fit.is_close:
            warnings.warn(f"{path}: {fit}", FormatWarning, stacklevel=3)
        return fit
    if dialect is not None:
        write_atomically(write_bytes(clip, path.suffix, dialect), path)
        return None
    if path.suffix.lower() not in _writable_extensions(clip.header.kind):
        owner = next(
            (f for f in FORMATS if f.second_file and f.second_file[0] == path.suffix.lower()), None
        )
        if owner is not None:
            raise UsageError(
                f"{path}: this format holds no motion; write "
                f"{path.with_suffix(owner.extensions[0])}, which also creates {path.name}"
            )
    write_all_atomically({p: write_bytes(clip, p.suffix) for p in files_to_write(path)})
    return None


def write_bytes(clip: AnyClip, extension: str, dialect: str | None = None) -> bytes:
    """Return the clip as a file with this extension; formats with two files have two extensions.

    A `dialect` is the file layout of a dataset or training program.
    """
    if dialect is not None:
        dialect_extensions(dialect, extension)
        clip = require_skeleton(clip, dialect)
        if dialect in ROBOT_DIALECTS:
            return bytes(lazy_function("robots.exports", "write")(clip, dialect))
        return bytes(lazy_function(dialect, "write")(clip))
    kind = clip.header.kind
    able = [f for f in FORMATS if kind in f.kinds]
    writers = {e: (f.write, f) for f in able if f.write for e in f.extensions}
    writers |= {f.second_file[0]: (f.second_file[1], f) for f in able if f.second_file}
    if extension.lower() not in writers:
        known = [f for f in FORMATS if extension.lower() in f.extensions]
        read_alone = [f.name for f in known if not f.write and not f.dialects]
        why = f" ({read_alone[0]} can only be read)" if read_alone else ""
        what = repr(extension) if extension else "a file without an extension"
        raise UsageError(
            f"cannot write {what}{why}; clips of kind {kind!r} can be written as "
            f"{', '.join(_writable_extensions(kind))}"
        )
    write, chosen = writers[extension.lower()]
    return write(_fit_to_format(clip, chosen))


def write_scene_bytes(clips: Mapping[str, AnyClip], extension: str) -> bytes:
    """Return several clips on one clock as one file with this extension."""
    chosen = next(f for f in FORMATS if f.write_scene and extension.lower() in f.extensions)
    assert chosen.write_scene is not None
    return chosen.write_scene({name: _fit_to_format(clip, chosen) for name, clip in clips.items()})


def supports_scenes(extension: str) -> bool:
    """Return whether a file with this extension can hold several clips."""
    return any(f.write_scene and extension.lower() in f.extensions for f in FORMATS)


def files_to_write(path: str | Path) -> list[Path]:
    """Return the files that writing `path` creates: its second file, if any, then itself."""
    path = Path(path)
    for f in FORMATS:
        if path.suffix.lower() in f.extensions and f.second_file:
            return [path.with_suffix(f.second_file[0]), path]
    return [path]


def dialect_extensions(name: str, extension: str | None = None) -> tuple[str, ...]:
    """Return the extensions of a dialect; an unknown name or a wrong `extension` is an error."""
    if name not in DIALECTS:
        raise UsageError(f"unknown dialect {name[:40]!r}; expected one of {', '.join(DIALECTS)}")
    found = DIALECTS[name]
    if extension is not None and extension.lower() not in found:
        raise UsageError(f"{name} files must end in {' or '.join(found)}, got {extension!r}")
    return found


def _insert_into_character(
    clip: AnyClip, character: Path, path: Path, allow_outside: bool
) -> tuple[bytes, CharacterFit | None]:
    """Return a character's file with the clip added, and how well the character follows it."""
    if path.suffix.lower() not in CHARACTER_EXTENSIONS:
        raise UsageError(
            f"{path}: a clip can be added to a character only as {', '.join(CHARACTER_EXTENSIONS)}"
        )
    clip = require_skeleton(clip, f"{path}: adding a clip to a character")
    data, binary = read_file_bytes(character), path.suffix.lower() != ".gltf"
    read_external = external_file_reader(character, allow_outside=allow_outside)
    with name_errors(character, FormatError, UsageError):
        made: bytes = lazy_function("gltf_into", "write")(
            clip, data, read_external=read_external, binary=binary
        )
        missing = lazy_function("gltf_into", "find_missing_joints")(clip, made)
    name = lazy_function("glb", "animation_name")(clip)
    # the clip keeps the unit of its glTF file, and so does the character
    unit = clip.unit if clip.metadata.get("source") == "gltf" else None
    chosen = find_format(made, str(path))
    back = parse_bytes(made, chosen, {"clip": name}, name=str(path), unit=unit)
    return made, measure_character(clip, require_skeleton(back, str(path)), missing)


def _fit_to_format(clip: AnyClip, chosen: Format) -> AnyClip:
    """Return what a format can hold of a clip; raise an error if poses or times would change."""
    if not isinstance(clip, Clip) or "all" in chosen.holds:
        return clip
    if clip.header.is_scaled and "scales" not in chosen.holds:
        if not clip.header.has_uniform_scales:
            raise UnsupportedClipError(
                f"{chosen.name} cannot hold scales, and those of this clip are animated or not "
                "uniform; turn them into joint positions with --bake-scales (clip.bake_scales())"
            )
        clip = clip.bake_scales()
    if clip.take_data.times is not None and "times" not in chosen.holds:
        raise UnsupportedClipError(
            f"{chosen.name} needs evenly spaced frames, but this clip has uneven times; "
            "resample it with --fps 30 (clip.resample(30))"
        )
    return clip if "roots" in chosen.holds else drop_take_data(clip)


def _writable_extensions(kind: str) -> list[str]:
    return sorted({e for f in FORMATS if f.write and kind in f.kinds for e in f.extensions})
