"""The codec people come for: the smallest file that keeps every point within a stated distance.

Joints are coded from the root outwards, each relative to what was decoded above it and turned so
that what it carries lands where it should: key poses, straight lines between them, and a sine
series on top, quantised by a search that knows the bound. `docs/codecs/keysine.md` has the bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import attrgetter
from typing import ClassVar, Self

import numpy as np

from mocpack import progress
from mocpack.arrays import I32
from mocpack.clip import Clip, ClipHeader, measure_error
from mocpack.codec import Codec, Encoded, Payload, Quality, as_payload, verify_own_payload
from mocpack.codecs.keysine import planning, prediction, search
from mocpack.codecs.keysine.artefacts import (
    BOUND_SHARES,
    UNMEASURED,
    USUAL_LEVELS,
    Artefacts,
    BoundedEncoding,
    RetryPolicy,
    encode_without_artefacts,
)
from mocpack.codecs.keysine.decoding import KeysineDecoder, thread_count
from mocpack.codecs.keysine.layers import layered
from mocpack.codecs.keysine.packing import Draft, draft, observe
from mocpack.codecs.keysine.payload import (
    GRID,
    LONGEST_BLOCK,
    LONGEST_GROUP,
    MOST_GRID_CHANNELS,
    MOST_LAYERS,
)
from mocpack.codecs.keysine.tracks import UNIT_STEP
from mocpack.errors import BoundError
from mocpack.metrics.angles import largest_angle
from mocpack.units import format_angle, format_length, parse_angle, parse_length

GRID_STEPS = (1.1, 0.95, 0.8, 0.65, 0.5, 0.4)  # of a grid in time, of the bound: each try's
MEAN_TRIES, MEAN_SLOPE = 12, 0.8
MEAN_NEAR, MEAN_AIM, MEAN_APART = 0.997, 0.999, 1.001  # of the bound; of the step
MEAN_STEP = 6.0  # of a bound on the mean, to begin with
OTHER_STEP = 1.4  # times the step that predictors were chosen by: from here on, others are
USUAL_TRIES = 3  # of them, for the time left
SAMPLE_FRAMES = 4800  # from the middle, by which predictors are chosen
WORTHWHILE = 0.995  # of the bytes without predictors, that those with them may take
EFFORTS = tuple(search.EFFORTS)
MODES = ("auto", "transform", "grid")
BEST_WORK, GRID_WORK = 6.0, 0.4  # times the work of a default encode, for the time left
GRID_BOUND = 6e-4  # metres: from here down a grid in time may be smaller


@dataclass(frozen=True)
class Keysine(Codec):
    """Key poses and sine series, within a promised error.

    Parameters
    ----------
    max_error : float or str
        Bound on the displacement of joints, bone ends and shell points: metres, or text ("1mm").
    mean_error : float or str, optional
        Bound on the mean displacement of joints; takes the place of `max_error`.
    step : float or str, optional
        Step of the quantiser, about the displacement that its rounding may cause: takes the place
        of both bounds, and promises nothing.
    max_angle : float or str, optional
        Bound on the error of the angle of every hinge, and of the local rotation of every other
        joint, beside `max_error`: radians, or text ("0.3deg").
    effort : {"fast", "default", "best"}
        How long the encoder may search.
    mode : {"auto", "transform", "grid"}
        Key poses and sine series; or whole numbers on a grid in time, for tight bounds; or
        whichever is smaller. A grid is not tried by `fast`, nor without a bound on `max_error`.
    group_seconds : float
        A seek point at least this often.
    block_seconds : float, optional
        Distance of key poses; by default chosen by group. At most `group_seconds`.
    layers : int
        Parts of the file that refine one another; cut after any of them, it plays at a stated,
        coarser error. Fewer are made where so many would take more than 8 % of the bytes.
    layer_ratio : float
        How many times the error of the next a layer's error may be.
    threads : int
        Threads of encoder and decoder; 0: as many as it may use cores, for long clips.
    """

    codec_id = "keysine"
    bitstream_version = 1
    decoder_params = ()
    keeps_bounds = True
    quality: ClassVar[Quality] = Quality("max_error", 1e-5, 1.0)
    lengths: ClassVar[tuple[str, ...]] = ("max_error", "mean_error", "step")
    angles: ClassVar[tuple[str, ...]] = ("max_angle",)
    encoder_params: ClassVar[frozenset[str]] = frozenset({"effort", "threads"})

    max_error: float = 1e-3
    mean_error: float | None = None
    step: float | None = None
    effort: str = "default"
    mode: str = "auto"
    group_seconds: float = 1.0
    block_seconds: float | None = None
    layers: int = 1
    layer_ratio: float = 8.0
    threads: int = 0
    max_angle: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_error", parse_length(self.max_error))
        for name in ("mean_error", "step"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, parse_length(getattr(self, name)))
        if self.max_angle is not None:
            object.__setattr__(self, "max_angle", parse_angle(self.max_angle))
            if self.mean_error is not None or self.step is not None:
                raise ValueError("max_angle is kept beside max_error, not mean_error or step")
        if self.effort not in EFFORTS:
            raise ValueError(f"effort must be one of {', '.join(EFFORTS)}, got {self.effort!r}")
        if self.mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, got {self.mode!r}")
        if self.mode == "grid" and (self.mean_error is not None or self.step is not None):
            raise ValueError("mode grid keeps max_error: it has no mean_error and no step")
        if self.mode == "grid" and self.layers > 1:
            raise ValueError("mode grid has no layers")
        if not 0 < self.group_seconds < 1e6:
            raise ValueError(f"group_seconds must be in 0..1e6, got {self.group_seconds}")
        if self.block_seconds is not None and not 0 < self.block_seconds < 1e6:
            raise ValueError(f"block_seconds must be in 0..1e6, got {self.block_seconds}")
        if not 1 <= self.layers <= MOST_LAYERS:
            raise ValueError(f"layers must be in 1..{MOST_LAYERS}, got {self.layers}")
        if not 1 < self.layer_ratio <= 100:
            raise ValueError(f"layer_ratio must be above 1, up to 100, got {self.layer_ratio}")
        if not 0 <= self.threads <= 256:
            raise ValueError(f"threads must be in 0..256, got {self.threads}")

    @property
    def error_bound(self) -> float | None:
        """`max_error`, where it is what the encoder keeps."""
        return self.max_error if self.mean_error is None and self.step is None else None

    def with_bounds(
        self,
        *,
        max_error: float | None = None,
        mean_error: float | None = None,
        max_angle: float | None = None,
    ) -> Self:
        """Return the codec that keeps these bounds; without one on the error, its own."""
        bound = self.max_error if max_error is None else max_error
        return replace(self, max_error=bound, mean_error=mean_error, max_angle=max_angle, step=None)

    @property
    def angle_bound(self) -> float | None:
        """`max_angle`."""
        return self.max_angle

    def encode(self, clip: Clip) -> bytes:
        return self.encode_verified(clip).payload

    def encode_verified(self, clip: Clip) -> Encoded:
        """Return the payload, and what the decoder makes of these very bytes."""
        with verify_own_payload(self):
            return (self._best(clip) if self.effort == "best" else self._encoded(clip)).encoded

    def _best(self, clip: Clip) -> BoundedEncoding:
        """Return what the longest search finds, unless the default one finds a smaller file.

        Where the default search of a transform fails, the longest one fails too, after many times
        the work: then only a grid in time is searched further.
        """
        progress.expect(1 + BEST_WORK)
        with progress.stage():
            usual = replace(self, effort="default")._encoded(clip)
        # artefacts that no retry of the default search removes, the longest one need not retry
        retries = usual.artefacts.worst <= 1
        longest = self
        if usual.transform_failed:
            if not self._is_grid(clip, usual):
                return usual
            longest = replace(self, mode="grid", layers=1)
        with progress.stage(BEST_WORK):
            best = _unless_unreachable(longest, clip, retries=retries)
        if best is None:
            return usual
        if len(best.encoded.payload) > len(usual.encoded.payload):
            return usual
        return min(usual, best, key=attrgetter("cost"))

    def _encoded(self, clip: Clip, *, retries: bool = True) -> BoundedEncoding:
        """Return the encoding in as many layers as are asked for; a grid in time has one."""
        single = self._single_layer(clip, retries=retries)
        if self.layers == 1 or self._is_grid(clip, single):
            return single
        payload, decoded = single.encoded.payload, single.encoded.decoded
        threads = thread_count(self.threads, clip.frame_count)
        made = layered(payload, clip, count=self.layers, ratio=self.layer_ratio, threads=threads)
        # the layers hold the same symbols, so this cannot be, and a promise is never taken on trust
        back = self.decode(made, clip.header)
        if not np.array_equal(back.rotations, decoded.rotations):
            raise BoundError("keysine: the layers do not add up to the motion they were made of")
        return replace(single, encoded=Encoded(made, back, single.encoded.error))

    def _is_grid(self, clip: Clip, made: BoundedEncoding) -> bool:
        return self.open(made.encoded.payload, clip.header).native.mode & GRID != 0

    def _single_layer(self, clip: Clip, *, retries: bool) -> BoundedEncoding:
        if self.step is not None:
            return BoundedEncoding(
                self._free(clip, self.step, self._free_predictors(clip, self.step)), UNMEASURED
            )
        if self.mean_error is not None:
            return BoundedEncoding(self._within_mean(clip, self.mean_error), UNMEASURED)
        if self.mode == "grid" and not _fits_a_grid(clip):
            raise BoundError(f"mode grid is for clips of at most {MOST_GRID_CHANNELS} channels")
        grid_may_pay = self.max_error <= GRID_BOUND and self.effort != "fast" and self.layers == 1
        on_grid = self.mode == "grid" or (
            self.mode == "auto" and grid_may_pay and _fits_a_grid(clip)
        )
        progress.expect((self.mode != "grid") + GRID_WORK * on_grid)
        transform = None if self.mode == "grid" else self._within_bound(clip, retries=retries)
        grid = self._on_grid(clip, retries=retries) if on_grid else None
        kept = [one for one in (transform, grid) if one is not None]
        if not kept and self.mode != "grid":
            kept = self._more_strictly(clip, grid_failed=on_grid, retries=retries)
        if not kept:
            bound = format_length(self.max_error)
            angles = (
                f" and its angles within {format_angle(self.max_angle)}" if self.max_angle else ""
            )
            raise BoundError(f"keysine cannot keep this clip within {bound}{angles}")
        failed = self.mode != "grid" and transform is None
        return replace(min(kept, key=attrgetter("cost")), transform_failed=failed)

    def decode(self, payload: bytes, header: ClipHeader) -> Clip:
        return self.open(payload, header).clip()

    def open(self, payload: Payload | bytes, header: ClipHeader) -> KeysineDecoder:
        return KeysineDecoder(self, as_payload(payload), header)

    def _within_bound(self, clip: Clip, *, retries: bool) -> BoundedEncoding | None:
        """Return key poses and sine series that keep the bound, with as few artefacts as may be."""
        outline = self._outlines(clip)
        predictors = self._predictors(clip, self.max_error, outline(self.max_error), bounded=True)
        make = partial(self._bounded, clip, outline)
        made = self._measured(clip, partial(make, predictors=predictors), retries=retries)
        if made is not None or predictors is None:
            return made
        return self._measured(clip, make, retries=retries)

    def _more_strictly(
        self, clip: Clip, *, grid_failed: bool, retries: bool
    ) -> list[BoundedEncoding]:
        """Return what stricter settings find, for clips that the usual ones cannot encode.

        Each setting is stricter, and its files are larger, than the one before: the first that
        succeeds is the last to be tried. A grid in time, which effort `fast` and loose bounds do
        not try otherwise, competes with the first.
        """
        make = partial(self._bounded, clip, self._outlines(clip))
        may_grid = self.mode == "auto" and _fits_a_grid(clip)
        found = [] if grid_failed or not may_grid else [self._on_grid(clip, retries=retries)]
        for strictness in search.STRICTER_ANGLES if self.max_angle else search.STRICTER:
            attempt = partial(make, strictness=strictness)
            made = self._measured(clip, attempt, levels=1, retries=retries)
            found.append(made)
            kept = [one for one in found if one is not None]
            if kept:
                return kept
        return []

    def _outlines(self, clip: Clip) -> Callable[[float], planning.Outline]:
        """Return the outlines of a clip by bound, each of which is made once."""
        quick = self.effort == "fast"
        return cache(partial(planning.outline, clip, key_step=UNIT_STEP, quick=quick))

    def _on_grid(self, clip: Clip, *, retries: bool) -> BoundedEncoding | None:
        """Return a grid in time that keeps the bound, with as few artefacts as may be."""
        found: dict[tuple[object, ...], Draft | None] = {}

        def make(policy: RetryPolicy) -> Draft | None:
            # a finer grid is what helps against jitter, too: so that several policies are one try
            finer = min(max(policy.level, policy.jitter_level), len(GRID_STEPS) - 1)
            tried = finer, *policy.foot_shares.items()
            if tried not in found:
                shares = policy.joint_shares(len(clip.skeleton))
                found[tried] = self._gridded(clip, GRID_STEPS[finer], shares)
            return found[tried]

        return self._measured(clip, make, GRID_WORK, len(BOUND_SHARES), retries=retries)

    def _measured(
        self,
        clip: Clip,
        make: Callable[[RetryPolicy], Draft | None],
        work: float = 1.0,
        levels: int = USUAL_LEVELS,
        *,
        retries: bool,
    ) -> BoundedEncoding | None:
        """Return what `make` finds, decoded once, within the bound.

        `levels` and `retries` are those of `encode_without_artefacts`.
        """
        limit = self.max_error - min(search.MARGIN, 0.01 * self.max_error)

        def attempt(policy: RetryPolicy) -> BoundedEncoding | None:
            with progress.stage(work):
                made = self._written(clip, make(policy))
            made = made and replace(made, error=measure_error(clip, made.decoded))
            if made is None or made.error is None or made.error.max > limit:
                return None
            if self.max_angle and largest_angle(clip, made.decoded) > self.max_angle:
                return None
            if self.effort == "fast":
                return BoundedEncoding(made, UNMEASURED)
            return BoundedEncoding(made, Artefacts.measure(clip, made.decoded, self.max_error))

        return encode_without_artefacts(attempt, levels, retries=retries)

    def _written(self, clip: Clip, found: Draft | None) -> Encoded | None:
        """Write a draft and decode the very bytes."""
        if found is None:
            return None
        payload = found.payload(clip, thread_count(self.threads, clip.frame_count))
        return Encoded(payload, self.decode(payload, clip.header))

    def _bounded(
        self,
        clip: Clip,
        outline: Callable[[float], planning.Outline],
        policy: RetryPolicy,
        predictors: I32 | None = None,
        strictness: search.Strictness = search.USUAL,
    ) -> Draft | None:
        """Return a draft that aims at the bound, or None where the search cannot reach it."""
        bound = policy.bound_share * strictness.bound_share * self.max_error
        settings = search.bounded(
            self.effort,
            bound,
            clip.frame_rate,
            jitter_factor=policy.jitter_factor,
            hinged=clip.skeleton.hinges is not None,
            max_angle=self.max_angle,
            strictness=strictness,
        )
        shares = policy.joint_shares(len(clip.skeleton))
        return draft(
            clip,
            *self._cut(clip, settings, bound),
            outline(bound),
            threads=thread_count(self.threads, clip.frame_count),
            predictors=predictors,
            shares=shares,
        )

    def _gridded(self, clip: Clip, step: float, shares: list[float] | None) -> Draft | None:
        """Return a grid in time within the bound, or None where the search finds none.

        `step` is its share of the bound, and `shares` are those of joints.
        """
        return draft(
            clip,
            search.gridded(
                self.effort,
                self.max_error,
                clip.frame_rate,
                hinged=clip.skeleton.hinges is not None,
                max_angle=self.max_angle,
            ),
            planning.cut(clip, group_seconds=self.group_seconds, longest=LONGEST_BLOCK),
            planning.outline(
                clip,
                step * self.max_error,
                key_step=UNIT_STEP,
                precision=planning.GRID_AXES_PRECISION,
            ),
            threads=thread_count(self.threads, clip.frame_count),
            shares=shares,
            on_grid=True,
        )

    def _predictors(
        self, clip: Clip, size: float, outline: planning.Outline, *, bounded: bool
    ) -> I32 | None:
        """Return the predictors that make a quickly encoded sample smaller, None if none do."""
        if self.effort == "fast":
            return None
        part = clip
        if self.effort != "best" and clip.frame_count > SAMPLE_FRAMES:
            start = (clip.frame_count - SAMPLE_FRAMES) // 2
            part = clip.frames(start, start + SAMPLE_FRAMES)
        if bounded:
            hinged = clip.skeleton.hinges is not None
            settings = search.bounded(
                "fast", size, part.frame_rate, hinged=hinged, max_angle=self.max_angle
            )
        else:
            settings = search.free("fast", size, part.frame_rate)
        settings, groups = self._cut(part, settings, size)
        seen = observe(part, settings, groups, outline)
        if seen is None:
            return None
        repeats = clip.frame_count / part.frame_count
        found = prediction.choose(seen, repeats=repeats)
        if not len(found):
            return None
        with progress.stage(0.0):  # little beside the rest, and no more for long clips
            made = draft(part, settings, groups, outline, threads=1, predictors=found)
        listed = prediction.LISTED_BITS / 8 * len(found) / repeats
        smaller = made and sum(map(len, made.groups)) + listed < WORTHWHILE * seen.size
        return found if smaller else None

    def _free(self, clip: Clip, step: float, predictors: I32 | None) -> Encoded:
        """Return the payload of a step, whatever its error."""
        settings = search.free(self.effort, step, clip.frame_rate)
        found = draft(
            clip,
            *self._cut(clip, settings, step),
            self._free_outline(clip, step),
            threads=thread_count(self.threads, clip.frame_count),
            predictors=predictors,
        )
        made = self._written(clip, found)
        if made is None:
            raise BoundError(f"a step of {format_length(step)} is too fine for this clip")
        return made

    def _free_predictors(self, clip: Clip, step: float) -> I32 | None:
        outline = self._free_outline(clip, step)
        return self._predictors(clip, step, outline, bounded=False)

    def _free_outline(self, clip: Clip, step: float) -> planning.Outline:
        quick = self.effort == "fast"
        return planning.outline(clip, step, key_step=search.free_key_step(step), quick=quick)

    def _within_mean(self, clip: Clip, bound: float) -> Encoded:
        """Return the payload of about the coarsest step whose mean error keeps the bound.

        The mean error grows about as the step to the power of MEAN_SLOPE, and between a step that
        keeps the bound and one that does not, about as the line between. A clip that hardly moves
        may never come near: there, a coarser step that saves no byte is the last.
        """
        step, best, seen = MEAN_STEP * bound, None, 0.0
        inside: tuple[float, float] | None = None  # the coarsest step that keeps it, and its error
        outside: tuple[float, float] | None = None  # the finest that does not
        predictors = None
        progress.expect(USUAL_TRIES)
        for _ in range(MEAN_TRIES):
            if not seen / OTHER_STEP <= step <= seen * OTHER_STEP:
                predictors, seen = self._free_predictors(clip, step), step
            with progress.stage():
                made = self._free(clip, step, predictors)
            made = replace(made, error=measure_error(clip, made.decoded))
            error = max(made.error.joint_mean if made.error else 0.0, 1e-3 * bound)
            if error <= bound:
                saved = best is None or len(made.payload) < len(best.payload)
                best = made if saved else best
                if error >= MEAN_NEAR * bound or not (saved or outside):
                    break
                inside = step, error
            else:
                outside = step, error
            if inside and outside and outside[0] < MEAN_APART * inside[0]:
                outside = None  # which was bad luck: errors leap by some per cent
            step = _next_step(inside, outside, MEAN_AIM * bound)
        if best is None:
            raise BoundError(f"keysine cannot keep this clip's mean within {format_length(bound)}")
        return best

    def _cut(
        self, clip: Clip, settings: search.Settings, size: float
    ) -> tuple[search.Settings, planning.Groups]:
        """Return the groups of a clip, and settings that split them as asked, or as usual first."""
        groups = planning.cut(clip, group_seconds=self.group_seconds, longest=LONGEST_GROUP)
        splits = groups.splits_for(self.block_seconds or search.usual_block(size))
        tries = settings.split_tries if self.block_seconds is None else 0
        return replace(settings, splits=splits, split_tries=tries), groups


def _next_step(
    inside: tuple[float, float] | None, outside: tuple[float, float] | None, aim: float
) -> float:
    """Return the step whose error is likely to be `aim`, by (step, error) on either side of it."""
    if inside is None or outside is None:
        known = inside or outside
        assert known is not None
        return float(known[0] * (aim / known[1]) ** (1 / MEAN_SLOPE))
    (low, least), (high, most) = np.log([inside, outside])
    share = (np.log(aim) - least) / (most - least) if most > least else 0.5
    return float(np.exp(low + min(max(share, 0.1), 0.9) * (high - low)))


def _fits_a_grid(clip: Clip) -> bool:
    most = 4 * len(clip.skeleton) + 3 * len(clip.translated_joints)
    return most <= MOST_GRID_CHANNELS


def _unless_unreachable(codec: Keysine, clip: Clip, *, retries: bool) -> BoundedEncoding | None:
    try:
        return codec._encoded(clip, retries=retries)
    except BoundError:
        return None
