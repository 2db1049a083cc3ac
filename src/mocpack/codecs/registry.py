"""Codecs by name: the built-in table, then entry points of other packages."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from typing import TYPE_CHECKING

from mocpack.codec import Codec, check_effort
from mocpack.common.arguments import did_you_mean
from mocpack.common.json_object import Json, JsonObject, parse_json
from mocpack.common.optional_packages import has_part, load_part
from mocpack.errors import UnknownCodecError, UnsupportedClipError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

BUILTIN = {
    "bap-index": "mocpack.papers.chattopadhyay.codec.bap_index:BapIndex",
    "bap-sparse": "mocpack.papers.chattopadhyay.codec.bap_index:BapSparse",
    "dwt97": "mocpack.papers.li.codec.dwt97:Dwt97",
    "fk-wavelet": "mocpack.papers.li.codec.fk_wavelet:FkWavelet",
    "ik-predict": "mocpack.papers.li.codec.ik_predict:IkPredict",
    "keyframe": "mocpack.papers.li.codec.keyframe:Keyframe",
    "keysine": "mocpack.codecs.keysine:Keysine",
    "last-frame": "mocpack.papers.li.codec.last_frame:LastFrame",
    "latent-spline": "mocpack.papers.mukai.codec.latent_spline:LatentSpline",
    "lossless": "mocpack.codecs.lossless.codec:Lossless",
    "mpeg4-bap": "mocpack.papers.chattopadhyay.codec.mpeg4_bap:Mpeg4Bap",
    "pca": "mocpack.papers.beaudoin.codec.pca:Pca",
    "raw": "mocpack.codecs.raw:Raw",
    "rd-pca": "mocpack.papers.vasa.codec:RdPca",
    "wavelet": "mocpack.papers.beaudoin.codec.wavelet:Wavelet",
    "wavelet-ik": "mocpack.papers.beaudoin.codec.wavelet_ik:WaveletIk",
    "wavelet-opt": "mocpack.papers.beaudoin.codec.wavelet_opt:WaveletOpt",
}
ENTRY_POINT_GROUP = "mocpack.codecs"
DEFAULT_CODEC = "keysine"
EXACT_CODEC = "lossless"
AUTO_CODEC = "auto"  # DEFAULT_CODEC, or EXACT_CODEC for clips whose bound that cannot keep


def codec_ids() -> list[str]:
    """Return the ids of all installed codecs, sorted; no codec is imported."""
    own = {codec_id for codec_id, home in BUILTIN.items() if has_part(home)}
    return sorted(own | {e.name for e in _entry_points()})


def codec_class(codec_id: str) -> type[Codec]:
    """Import and return a codec class by id."""
    if codec_id in BUILTIN:
        module, name = BUILTIN[codec_id].split(":")
        cls: type[Codec] = getattr(load_part(module, purpose=f"codec {codec_id}"), name)
        return cls
    for entry in _entry_points():
        if entry.name == codec_id:
            loaded: type[Codec] = entry.load()
            return loaded
    known = codec_ids()
    raise UnknownCodecError(
        f"unknown codec {codec_id!r}; installed: {', '.join(known)}{did_you_mean(codec_id, known)}"
    )


def parse_codecs(spec: str, *, effort: str | None = None) -> tuple[Codec, ...]:
    """Return the codecs to try in turn: the one of a spec, or for ``auto`` two.

    `effort` takes the place of the effort of the spec.
    """
    codec = parse_codec(spec, effort=effort)
    return (codec, parse_codec(EXACT_CODEC)) if spec == AUTO_CODEC else (codec,)


def parse_codec(spec: str, *, effort: str | None = None) -> Codec:
    """Build a codec from a command-line spec, ``id`` or ``id:name=value,name=value``.

    ``auto`` gives the default codec. ``id:settings=paper`` gives the codec as its paper has it.
    `effort` takes the place of the effort of the spec.

    >>> parse_codec("raw")
    Raw()
    """
    if not isinstance(spec, str):
        raise UsageError(
            f"codec spec must be a string such as 'keysine:layers=2', got {spec!r:.80}"
        )
    codec_id, params = parse_assignments(spec)
    if codec_id == AUTO_CODEC and params:
        raise UsageError(f"{AUTO_CODEC} takes no parameters, got {spec}; name a codec instead")
    cls = codec_class(DEFAULT_CODEC if codec_id == AUTO_CODEC else codec_id)
    for name in cls.lengths:
        if isinstance(params.get(name), int | float):
            raise UsageError(f"{codec_id}: {name}={params[name]} needs a unit, such as {name}=1mm")
    for name in cls.angles:
        if isinstance(params.get(name), int | float):
            raise UsageError(
                f"{codec_id}: {name}={params[name]} needs a unit, such as {name}=0.3deg"
            )
    if effort is not None:
        check_effort(effort)
        params |= {"effort": effort} if "effort" in cls.__dataclass_fields__ else {}
    return cls.from_params(params)


def describe_wrong_kind(codec: Codec, kind: str) -> UnsupportedClipError:
    """Return the error of a codec that cannot encode this kind of clip."""
    able = [i for i in codec_ids() if kind in codec_class(i).kinds]
    return UnsupportedClipError(
        f"{codec.codec_id} encodes {' and '.join(codec.kinds)}, but the clip contains {kind}; "
        f"codecs for {kind}: {', '.join(able)}"
    )


def parse_assignments(spec: str) -> tuple[str, JsonObject]:
    """Split a spec into id and parameters, without importing the codec.

    >>> parse_assignments("zfp:tolerance=0.001")
    ('zfp', {'tolerance': 0.001})
    """
    codec_id, _, rest = spec.partition(":")
    params: JsonObject = {}
    for assignment in rest.split(",") if rest else []:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise UsageError(f"parameters of {codec_id} must be name=value, got {assignment!r}")
        params[name.strip()] = _value(text.strip())
    return codec_id, params


def non_default_params(codec: Codec, *, without: Collection[str] = ()) -> JsonObject:
    """Return the parameters that differ from their defaults, except those in `without`."""
    found = codec.params()
    for field in fields(codec):
        if field.name in without or found.get(field.name) == field.default:
            found.pop(field.name, None)
    return found


def _entry_points() -> EntryPoints:
    """Return the codecs of other packages; the import is slow, so it is done here."""
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINT_GROUP)


def _value(text: str) -> Json:
    """Parse numbers, true, false and null as JSON; anything else is a string."""
    try:
        value = parse_json(text)
    except ValueError:
        return text
    return text if isinstance(value, list | dict) else value
