"""The contract of every codec, as checks that any package can run on its codec.

`check_codec` runs them all: `CLIP_CHECKS` on every hard clip, `CODEC_CHECKS` once on a small one. A
failed check raises `ContractError`. A codec may raise `UnsupportedClipError` for a hard clip, but
not for an ordinary one.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import ParamSpec

import numpy as np

from mocpack import _api
from mocpack.codec import Codec
from mocpack.codecs.registry import non_default_params, parse_codec
from mocpack.coding.fields import FieldReader, FieldWriter
from mocpack.common.arrays import F64
from mocpack.container import FileContents, pack, unpack
from mocpack.errors import (
    FormatError,
    TruncatedError,
    UnknownCodecError,
    UnsupportedClipError,
    UsageError,
)
from mocpack.metrics import measure
from mocpack.model import rotations
from mocpack.model.clip import AnyClip, Clip, require_skeleton
from mocpack.model.codec_clip import drop_take_data
from mocpack.testing.motions import hard_clips, vertex_wave, walk

Check = Callable[[Codec, AnyClip], None]

FIX_CHECKSUMS: dict[str, Callable[[bytes], bytes]] = {}
"""By codec ID, a function that corrects the checksums inside a payload, so that flipped bits reach
the decoder. Tests of a codec with such checksums add their function."""

Given = ParamSpec("Given")
FLIP_COUNT = 60
CACHE_SIZE = 4  # clips whose files are cached between checks


class ContractError(AssertionError):
    """A codec violates the contract."""


def check_shapes_and_header_survive(codec: Codec, clip: AnyClip) -> None:
    back = _round_trip(codec, clip)
    _require(type(back) is type(clip), f"came back as {type(back).__name__}")
    _require(back.frame_count == clip.frame_count, f"came back with {back.frame_count} frames")
    _require(back.frame_time == clip.frame_time, "frame time changed")
    _require(dict(back.metadata) == dict(clip.metadata), "metadata changed")
    _require(back.header == clip.header, "header changed")
    shapes = zip(_samples(back), _samples(clip), strict=True)
    _require(all(a.shape == b.shape for a, b in shapes), "shapes of arrays changed")


def check_decoded_values_are_valid(codec: Codec, clip: AnyClip) -> None:
    back = _round_trip(codec, clip)
    for array in _samples(back):
        _require(bool(np.isfinite(array).all()), "values are not finite")
    if not isinstance(back, Clip):
        return
    norms = np.linalg.norm(back.rotations, axis=-1)
    _require(bool(np.abs(norms - 1).max() < 1e-6), "quaternions are not unit")
    between = np.sum(back.rotations[1:] * back.rotations[:-1], axis=-1)
    _require(bool((between >= 0).all()), "quaternions change hemisphere")


def check_take_data_survives(codec: Codec, clip: AnyClip) -> None:
    if not isinstance(clip, Clip):
        return
    back = require_skeleton(_round_trip(codec, clip), codec.codec_id)
    _require(np.array_equal(back.times, clip.times), "times of frames changed")
    _require(np.array_equal(back.valid, clip.valid), "gaps changed")
    _require(list(back.tracks) == list(clip.tracks), "names of tracks changed")
    for name, track in clip.tracks.items():
        found = back.tracks[name]
        _require(found.has_same_layout(track), f"track {name!r} changed its form")
        _require(track.error(found) <= track.bound, f"track {name!r} breaks its bound")


def check_hinges_and_angles_survive(codec: Codec, clip: AnyClip) -> None:
    if not isinstance(clip, Clip) or clip.skeleton.hinges is None:
        return
    back = require_skeleton(_round_trip(codec, clip), codec.codec_id)
    _require(back.skeleton.hinges == clip.skeleton.hinges, "hinges changed")
    found = back.hinge_angles()
    again = Clip.from_angles(back.skeleton, found.angles, local=back.rotations)
    away = rotations.angle_between(again.rotations, back.rotations)
    slides = clip.skeleton.hinges.slides
    off = float(found.off_axis[:, ~slides].max(initial=0.0))
    _require(float(away.max()) <= off + 1e-7, "angles are further off than they say")


def check_encoding_is_deterministic(codec: Codec, clip: AnyClip) -> None:
    _require(codec.encode(drop_take_data(clip)) == _payload(codec, clip), "two encodings differ")


def check_encode_verified_matches_encode(codec: Codec, clip: AnyClip) -> None:
    payload, clip = _payload(codec, clip), drop_take_data(clip)
    made = codec.encode_verified(clip)
    _require(made.payload == payload, "encode_verified and encode differ")
    again = codec.decode(made.payload, clip.header)
    same = zip(_samples(made.decoded), _samples(again), strict=True)
    _require(all(np.array_equal(a, b) for a, b in same), "what was verified is not what is decoded")


def check_input_is_untouched(codec: Codec, clip: AnyClip) -> None:
    clip = drop_take_data(clip)
    before = _samples(clip)
    codec.decode(codec.encode(clip), clip.header)
    same = all(np.array_equal(a, b) for a, b in zip(before, _samples(clip), strict=True))
    _require(same, "encoding changed the clip it was given")


def check_ordinary_clips_are_taken(codec: Codec, clip: AnyClip) -> None:
    """Encode a walk or a waving mesh: a codec must support ordinary clips."""
    for kind, ordinary in (("skeleton", walk(0.2)), ("vertices", vertex_wave(frames=3))):
        if kind not in codec.kinds:
            continue
        try:
            codec.encode(ordinary)
        except UnsupportedClipError as error:
            raise ContractError(f"the codec rejected an ordinary clip: {error}") from error
    _require(bool(codec.kinds), "the codec takes no kind of clip")


def check_quality_trades_size_for_error(codec: Codec, clip: AnyClip) -> None:
    """Encode an ordinary clip at both ends of the quality; the coarse end must be smaller."""
    quality = codec.quality
    if quality is None:
        return
    clip = walk(0.2) if "skeleton" in codec.kinds else vertex_wave(frames=6)
    sizes, errors = [], []
    for value in (quality.low, quality.high)[:: quality.error_sign]:
        setting = int(value) if quality.integer else value
        changed = replace(codec, **{quality.field: setting})
        payload = changed.encode(clip)
        sizes.append(len(payload))
        decoded = changed.decode(payload, clip.header)
        errors.append(measure("max_error_mm", clip, decoded) or 0.0)
    ends = f"from {quality.low:g} to {quality.high:g} of {quality.field}"
    _require(errors[0] <= errors[1], f"errors change from {errors[0]} to {errors[1]} mm {ends}")
    _require(sizes[0] >= sizes[1], f"sizes change from {sizes[0]} to {sizes[1]} bytes {ends}")


def check_params_round_trip_through_json(codec: Codec, clip: AnyClip) -> None:
    again = type(codec).from_params(json.loads(json.dumps(codec.params())))
    _require(again == codec, f"{again} is not {codec}")
    _require(hash(again) == hash(codec), "equal codecs have different hashes")


def check_repr_evaluates_to_the_codec(codec: Codec, clip: AnyClip) -> None:
    names = {type(codec).__name__: type(codec), "inf": math.inf}
    _require(eval(repr(codec), names) == codec, f"eval({codec!r}) differs")


def check_unknown_parameters_are_refused_by_name(codec: Codec, clip: AnyClip) -> None:
    try:
        type(codec).from_params({"no_such_parameter": 1})
    except UsageError as error:
        _require("no_such_parameter" in str(error), "the error does not name the parameter")
    else:
        raise ContractError("an unknown parameter was accepted")


def check_every_truncation_of_a_file_is_a_truncated_error(codec: Codec, clip: AnyClip) -> None:
    data = _file(codec, clip)
    for end in range(len(data)):
        try:
            _api.decode(data[:end])
        except TruncatedError:
            continue
        raise ContractError(f"{end} of {len(data)} bytes were accepted")


def check_every_truncation_of_a_payload_is_a_format_error_or_a_clip(
    codec: Codec, clip: AnyClip
) -> None:
    payload, clip = _payload(codec, clip), drop_take_data(clip)
    for end in _cuts(len(payload)):
        _decode_safely(f"cut at {end}", codec.decode, payload[:end], clip.header)


def check_partial_decodes_truncated_files(codec: Codec, clip: AnyClip) -> None:
    data = _file(codec, clip)
    for end in _cuts(len(data)):
        back = _decode_safely(f"partial cut at {end}", _decode_partial, data[:end])
        if back is not None:
            _require(back.frame_count <= clip.frame_count, "a part is longer than the whole")
    decoder = codec.open(_payload(codec, clip), drop_take_data(clip).header)
    if decoder.decodes_truncated:
        whole = decoder.partial()
        _require(whole.frame_count == clip.frame_count, "a whole payload did not play whole")


def check_bit_flips_give_a_format_error_or_a_clip(codec: Codec, clip: AnyClip) -> None:
    packed = unpack(_file(codec, clip))
    rng = np.random.default_rng(1)
    reseal = FIX_CHECKSUMS.get(codec.codec_id, bytes)
    for bit in rng.integers(0, max(8 * len(packed.payload), 1), FLIP_COUNT):
        if not packed.payload:
            break
        bad = bytearray(packed.payload)
        bad[bit // 8] ^= 1 << (bit % 8)
        data = pack(replace(packed, payload=reseal(bytes(bad))))
        _decode_safely(f"flip of payload bit {bit}", _api.decode, data)


def check_flips_in_the_header_give_a_format_error_or_a_clip(codec: Codec, clip: AnyClip) -> None:
    data = _file(codec, clip)
    rng = np.random.default_rng(2)
    head = len(data) - len(unpack(data).payload)
    for bit in rng.integers(0, 8 * head, FLIP_COUNT):
        bad = bytearray(data)
        bad[bit // 8] ^= 1 << (bit % 8)
        sealed = fix_checksums(bytes(bad))
        _decode_safely(f"flip of header bit {bit}", _api.decode, sealed)


def check_more_frames_than_bytes_can_hold_are_refused(codec: Codec, clip: AnyClip) -> None:
    size = len(_file(codec, clip))
    payload, clip = _payload(codec, clip), drop_take_data(clip)
    for frames in (10**9, 10**12):
        bomb = _build_bomb(codec, clip, payload, frames)
        try:
            _api.decode(bomb)
        except FormatError:
            continue
        raise ContractError(f"{frames} frames were accepted from {size} bytes")
    # as many as the container allows: the codec itself must reject or decode them
    header = replace(clip.header, frame_count=min(64 * size, 50_000))
    _decode_safely("frames that the payload does not have", codec.decode, payload, header)


def check_windows_match_full_decode(codec: Codec, clip: AnyClip) -> None:
    payload, clip = _payload(codec, clip), drop_take_data(clip)
    whole = codec.decode(payload, clip.header)
    frames = clip.frame_count
    for start, stop in {(0, 1), (frames - 1, frames), (frames // 3, frames // 3 + 1), (0, frames)}:
        decoder, expected = codec.open(payload, clip.header), whole.frames(start, stop)
        part = decoder.frames(start, stop)
        _require(_close(part, expected), f"window {start}:{stop} differs")
        for leaf in range(len(clip.header.point_names))[-1:]:  # vertices have no names
            part, expected = decoder.frames(start, stop, [leaf]), expected.joints([leaf])
            same = part.header.point_names == expected.header.point_names
            _require(same, "wrong joints in a window")
            _require(_close(part, expected), f"window {start}:{stop} of one joint differs")


def check_joint_subsets_match_full_decode(codec: Codec, clip: AnyClip) -> None:
    if not isinstance(clip, Clip):
        return
    payload, clip = _payload(codec, clip), drop_take_data(clip)
    whole = codec.decode(payload, clip.header)
    last = len(clip.skeleton) - 1
    for joints in ([0], [last], sorted({last // 2, last})):
        part = codec.open(payload, clip.header).frames(0, clip.frame_count, joints)
        expected = whole.joints(joints)
        _require(part.skeleton.names == expected.skeleton.names, "wrong joints in a part")
        _require(_close(part, expected), f"joints {joints} decoded alone differ")


CLIP_CHECKS: tuple[Check, ...] = (
    check_shapes_and_header_survive,
    check_decoded_values_are_valid,
    check_take_data_survives,
    check_hinges_and_angles_survive,
    check_encoding_is_deterministic,
    check_encode_verified_matches_encode,
    check_input_is_untouched,
    check_windows_match_full_decode,
    check_joint_subsets_match_full_decode,
)
CODEC_CHECKS: tuple[Check, ...] = (
    check_ordinary_clips_are_taken,
    check_quality_trades_size_for_error,
    check_params_round_trip_through_json,
    check_repr_evaluates_to_the_codec,
    check_unknown_parameters_are_refused_by_name,
    check_every_truncation_of_a_file_is_a_truncated_error,
    check_every_truncation_of_a_payload_is_a_format_error_or_a_clip,
    check_partial_decodes_truncated_files,
    check_bit_flips_give_a_format_error_or_a_clip,
    check_flips_in_the_header_give_a_format_error_or_a_clip,
    check_more_frames_than_bytes_can_hold_are_refused,
)


def check_codec(codec: Codec | str) -> None:
    """Check the whole contract of a codec; a `ContractError` names the check and the clip.

    Every clip of `hard_clips` takes part that the codec does not reject with
    `UnsupportedClipError`, and a waving mesh if the codec takes vertices.

    >>> check_codec("raw")
    """
    codec = parse_codec(codec) if isinstance(codec, str) else codec
    clips: dict[str, AnyClip] = {**hard_clips(), "mesh": vertex_wave(frames=6)}
    for name, clip in clips.items():
        for check in CLIP_CHECKS if clip.header.kind in codec.kinds else ():
            with suppress(UnsupportedClipError):
                _name_failure(check, codec, name, clip)
    small = walk(0.2) if "skeleton" in codec.kinds else vertex_wave(frames=6)
    for check in CODEC_CHECKS:
        _name_failure(check, codec, "small clip", small)


def _name_failure(check: Check, codec: Codec, name: str, clip: AnyClip) -> None:
    try:
        check(codec, clip)
    except ContractError as error:
        raise ContractError(f"{codec.codec_id}, {check.__name__}, {name}: {error}") from error


def fix_checksums(data: bytes) -> bytes:
    """Return the file with correct checksums in all chunks that can be parsed."""
    out = bytearray(data)
    at = 5
    while at < len(data):
        read = FieldReader(data[at:], "chunk")
        try:
            tag = read.raw(4)
            length = read.varint()
            crc_at = at + read.at
            read.raw(4)
        except FormatError:
            break
        body = data[crc_at + 4 : crc_at + 4 + length]
        out[crc_at : crc_at + 4] = zlib.crc32(body, zlib.crc32(tag)).to_bytes(4, "little")
        at = crc_at + 4 + length
    return bytes(out)


def _build_bomb(codec: Codec, clip: AnyClip, payload: bytes, frames: int) -> bytes:
    """Return a small file that declares `frames` frames, with correct checksums."""
    header = clip.header
    params = non_default_params(codec, without=codec.encoder_params)
    honest = pack(FileContents(header, codec.codec_id, codec.bitstream_version, params, payload))
    read = FieldReader(honest, "file")
    read.raw(9)
    length = read.varint()
    read.raw(4)
    head_at = read.at
    body = FieldReader(honest[head_at : head_at + length], "HEAD")
    out = FieldWriter()
    out.u8(body.u8())
    body.varint()
    out.varint(frames)
    out.raw(body.rest())
    chunk = FieldWriter()
    chunk.raw(honest[:9])
    chunk.varint(len(out.bytes()))
    chunk.raw(bytes(4))
    chunk.raw(out.bytes())
    return fix_checksums(chunk.bytes() + honest[head_at + length :])


# Checks of one clip run one after another and share its cached file. The checks for determinism and
# for unchanged input encode again.
@lru_cache(CACHE_SIZE)
def _file(codec: Codec, clip: AnyClip) -> bytes:
    return _api.encode(clip, codec)


@lru_cache(CACHE_SIZE)
def _payload(codec: Codec, clip: AnyClip) -> bytes:
    return codec.encode(drop_take_data(clip))


@lru_cache(CACHE_SIZE)
def _round_trip(codec: Codec, clip: AnyClip) -> AnyClip:
    return _api.decode(_file(codec, clip))


def _decode_partial(data: bytes) -> AnyClip:
    return _api.decode(data, partial=True)


def _decode_safely(
    what: str, decode: Callable[Given, AnyClip], *given: Given.args, **named: Given.kwargs
) -> AnyClip | None:
    try:
        return decode(*given, **named)
    except (FormatError, UnknownCodecError):  # a flipped bit in the codec id is a valid error
        return None
    except Exception as error:
        raise ContractError(f"{what} raised {type(error).__name__}: {error}") from error


def _cuts(size: int) -> list[int]:
    """Return every cut of a small payload, an even spread over a large one."""
    return sorted({round(x) for x in np.linspace(0, max(size - 1, 0), min(size, 400))})


def _samples(clip: AnyClip) -> list[F64]:
    names = ("rotations", "translations", "vertices")
    return [vars(clip)[name].copy() for name in names if name in vars(clip)]


def _close(a: AnyClip, b: AnyClip) -> bool:
    """Return whether two clips are the same motion, ignoring quaternion signs."""
    if not isinstance(a, Clip) or not isinstance(b, Clip):
        return all(np.array_equal(x, y) for x, y in zip(_samples(a), _samples(b), strict=True))
    if a.rotations.shape != b.rotations.shape or a.translations.shape != b.translations.shape:
        return False
    turned = np.abs(np.sum(a.rotations * b.rotations, axis=-1))
    moved = np.abs(a.translations - b.translations).max(initial=0.0)
    return bool((turned > 1 - 1e-9).all() and moved < 1e-7)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ContractError(message)
