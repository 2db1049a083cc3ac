"""Targets are reached with any codec that has a quality parameter, or an error is raised."""

import subprocess
import sys
import zlib
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import mocpack
from mocpack import rate
from mocpack.codec import Codec, Quality
from mocpack.codecs.keysine import Keysine
from mocpack.codecs.registry import parse_codec
from mocpack.container import unpack
from mocpack.corpora import PackOptions
from mocpack.errors import BoundError, UsageError
from mocpack.metrics.angles import largest_angle
from mocpack.model.clip import Clip, measure_error
from mocpack.model.dofs import from_dofs, to_dofs
from mocpack.rate import measuring, quality_search, windows, within_error, within_size
from mocpack.testing import still, walk
from mocpack.testing.motions import vertex_wave
from naming import naming


@dataclass(frozen=True)
class Rounding(Codec):
    """Rounds every degree of freedom to multiples of `step`: the simplest knob."""

    codec_id = "rounding"
    bitstream_version = 1
    quality: ClassVar[Quality] = Quality("step", 1e-6, 1.0)

    step: float = 0.01

    def encode(self, clip):
        return zlib.compress(np.rint(to_dofs(clip) / self.step).astype("<i4").T.tobytes())

    def decode(self, payload, header):
        numbers = np.frombuffer(zlib.decompress(payload), "<i4").reshape(-1, header.frame_count)
        return from_dofs(numbers.T * self.step, header)


CLIP = walk(1.0)


def measured(data):
    packed = unpack(data)
    decoded = Rounding(packed.params.get("step", Rounding.step)).decode(packed.payload, CLIP.header)
    return rate.measure(CLIP, decoded)


@pytest.mark.parametrize("bound", ["20mm", "1mm", mocpack.mm(0.1)])
def test_max_error_is_kept_and_nearly_used_up(bound):
    meters = bound if isinstance(bound, float) else float(bound[:-2]) / 1000
    data = mocpack.encode(CLIP, Rounding(), max_error=bound)
    found = measured(data).max
    assert found <= meters
    assert found > 0.5 * meters


def test_mean_error_is_kept_and_nearly_used_up():
    found = measured(mocpack.encode(CLIP, Rounding(), mean_error="2mm")).mean
    assert 0.001 < found <= 0.002


def test_size_is_kept_and_nearly_used_up():
    data = mocpack.encode(CLIP, Rounding(), size="3kB")
    assert 2400 < len(data) <= 3000


def test_size_is_nearly_used_up_at_the_rate_of_a_high_speed_camera():
    data = mocpack.encode(walk(0.5, frame_rate=4000), effort="fast", size="3kB")
    assert 2700 < len(data) <= 3000


def test_ratio_counts_the_whole_file_against_float32_of_moving_channels():
    data = mocpack.encode(CLIP, Rounding(), ratio=4)
    assert rate.raw_size(CLIP) == 4 * CLIP.frame_count * rate.moving_channels(CLIP)
    assert len(data) <= rate.raw_size(CLIP) / 4


def test_the_file_states_the_error_it_declares_and_the_one_it_has():
    data = mocpack.encode(CLIP, "raw", max_error="1mm")
    with mocpack.Motion(data) as motion:
        assert motion.errors.declared == pytest.approx(0.001)
        assert 0 < motion.errors.mean <= motion.errors.max < 1e-5


def test_a_bound_that_cannot_be_kept_is_a_bound_error_that_says_what_can():
    with pytest.raises(BoundError, match=r"raw .*0\.01 nm.* \d+\.?\d* [nµ]m"):
        mocpack.encode(CLIP, "raw", max_error=mocpack.m(1e-11))


def test_a_failed_search_reports_its_best_setting():
    with pytest.raises(BoundError, match=r"rounding .*1 nm.* \d+\.?\d* [nµ]m"):
        mocpack.encode(CLIP, Rounding(), max_error=mocpack.m(1e-9))


def test_a_size_that_cannot_be_kept_is_a_bound_error():
    with pytest.raises(BoundError, match=r"rounding .*200 B.* \d+ B"):
        mocpack.encode(CLIP, Rounding(), size=200)


@pytest.mark.parametrize(("size", "encodes"), [(100, 0), (200, 2)])
def test_a_size_that_is_clearly_too_small_is_refused_early(monkeypatch, size, encodes):
    made = count_encodes(monkeypatch)  # the header has 167 bytes, the coarsest file 275
    with pytest.raises(BoundError, match=naming(f"rounding {size} B")):
        mocpack.encode(CLIP, Rounding(), size=size)
    assert len(made) == encodes


@dataclass(frozen=True)
class Erratic(Rounding):
    """Payloads grow by a random amount, so that no search converges."""

    def encode(self, clip):
        extra = np.random.default_rng(int(1e9 * self.step)).integers(0, 40_000)
        return super().encode(clip) + bytes(int(extra))

    def decode(self, payload, header):
        return super().decode(zlib.compress(zlib.decompressobj().decompress(payload)), header)


@pytest.mark.parametrize("target", [{"size": "20kB"}, {"max_error": "1mm"}], ids=str)
def test_no_search_takes_more_encodes_than_its_budget(monkeypatch, target):
    made = count_encodes(monkeypatch)
    mocpack.encode(CLIP, Erratic(), **target)
    assert 2 <= len(made) <= quality_search.MAX_SEARCH_ENCODES


@dataclass(frozen=True)
class Laborious(Erratic):
    """Spends 0.4 budgets of work per encode, or 0.2 with effort fast."""

    effort: str = "default"

    def encode_verified(self, clip, measure=None):
        made = super().encode_verified(clip, measure)
        return replace(made, work_share=0.2 if self.effort == "fast" else 0.4)


def test_a_search_takes_effort_fast_and_then_ends_as_its_work_is_spent(monkeypatch):
    made = count_encodes(monkeypatch)
    assert len(mocpack.encode(CLIP, Laborious(), size="20kB")) <= 20_000
    assert len(made) == 4  # 0.4 budgets, then 0.2 each


def count_encodes(monkeypatch):
    """Return a list that grows by each encode from now on."""
    made, attempt = [], rate.attempt
    for module in (quality_search, within_error, within_size):
        monkeypatch.setattr(module, "attempt", lambda *args: made.append(1) or attempt(*args))
    return made


def test_errors_print_all_digits_of_sizes_that_round_equally():
    limit = len(mocpack.encode(CLIP, "lossless")) - 10
    with pytest.raises(BoundError, match=naming(f"lossless {limit} {limit + 10}")):
        mocpack.encode(CLIP, "lossless", size=limit)


def test_effort_counts_without_a_target_too():
    fast, default = (mocpack.encode(CLIP, effort=effort) for effort in ("fast", "default"))
    assert len(default) < len(fast)
    assert mocpack.encode(CLIP, "keysine:max_error=1mm", effort="fast") == fast


@pytest.mark.parametrize("target", [{}, {"max_error": "1mm"}], ids=["none", "a bound"])
def test_the_effort_of_a_spec_counts_where_no_other_is_given(target):
    asked = mocpack.encode(CLIP, "keysine:effort=fast", **target)
    assert asked == mocpack.encode(CLIP, "keysine", effort="fast", **target)
    assert len(mocpack.encode(CLIP, "keysine:effort=fast", effort="default", **target)) < len(asked)


def test_files_do_not_say_how_hard_was_searched():
    assert unpack(mocpack.encode(CLIP, effort="fast")).params == {}


def test_measured_errors_are_stored_in_the_file():
    made = rate.attempt(CLIP, Rounding(0.02))
    # files round errors up to a short number
    assert made.errors.max <= unpack(made.data).errors.max <= 1.01 * made.errors.max
    assert made.codec == Rounding(0.02)
    assert made.payload_size == len(unpack(made.data).payload)


def test_two_targets_are_refused():
    with pytest.raises(UsageError, match=naming("max_error ratio")):
        mocpack.encode(CLIP, "raw", max_error="1mm", ratio=3)


def test_unknown_effort_is_refused():
    with pytest.raises(UsageError, match=naming("effort fast default best 'more'")):
        mocpack.encode(CLIP, "raw", effort="more")


def test_a_ratio_is_reached_where_channels_cannot_express_the_motion(monkeypatch):
    walking = walk(1.0)
    moved = (0, 3)  # the root, and a joint without position channels
    places = np.repeat(walking.translations, 2, axis=1)
    places[:, 1] = walking.skeleton.offsets[3] + [[0.01, 0, 0]] * np.sin(np.arange(60))[:, None]
    clip = Clip.build(
        walking.skeleton, walking.rotations, places, frame_rate=60, translated_joints=moved
    )
    assert rate.moving_channels(clip) == rate.moving_channels(walking) + 1
    assert len(mocpack.encode(clip, ratio=10)) <= rate.raw_size(clip) / 10
    turned = replace(walking.skeleton, channels=(("Xposition",), *walking.skeleton.channels[1:]))
    clip = Clip.build(turned, walking.rotations, walking.translations, frame_rate=60)
    monkeypatch.setattr(windows, "WINDOW_FRAMES", 7)
    assert rate.moving_channels(clip) == rate.moving_channels(walking)


def test_a_still_clip_has_a_ratio_too():
    assert rate.moving_channels(still()) == 1


def test_vertex_animations_are_measured_at_their_vertices():
    clip = vertex_wave()
    moved = mocpack.VertexClip(clip.header, clip.vertices + np.array([0.0, 0.003, 0.0]))
    errors = rate.measure(clip, moved)
    assert errors.max == pytest.approx(0.003)
    assert errors.mean == pytest.approx(0.003)


def test_errors_of_a_long_clip_are_those_of_its_windows_together(monkeypatch):
    clip = walk(1.0)
    data = mocpack.encode(clip, "keysine", max_error="5mm", effort="fast")
    decoded = mocpack.decode(data)
    whole, moving = rate.measure(clip, decoded), rate.moving_channels(clip)
    monkeypatch.setattr(windows, "WINDOW_FRAMES", 7)
    assert rate.measure(clip, decoded) == whole
    assert rate.moving_channels(clip) == moving


def test_a_channel_that_moves_between_windows_is_counted(monkeypatch):
    clip = still(8)
    places = clip.translations.copy()
    places[4:, 0, 1] += 1.0
    stepped = Clip(clip.header, clip.rotations, places)
    monkeypatch.setattr(windows, "WINDOW_FRAMES", 4)
    assert rate.moving_channels(stepped) == 1


def test_moving_channels_are_those_of_the_sources_numbers():
    text = "HIERARCHY ROOT a { OFFSET 0 0 0 CHANNELS 3 Zrotation Yrotation Xrotation } MOTION\n"
    # Euler angles that go on from the second frame would make the first channel jump in the third
    lines = "Frames: 3\nFrame Time: 0.01\n5 80 1\n5 89 2\n5 100 182\n"
    clip = mocpack.read_data((text + lines).encode(), name="a.bvh", unit="m")
    assert rate.moving_channels(clip) == 2


LONG = """
import resource, sys
import numpy as np
import mocpack
from dataclasses import replace
from mocpack.model.clip import Clip
from mocpack.testing import walk

def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

part = walk(5.0)
mocpack.encode(part, max_error="1mm", effort="fast")
before = peak()
turns, places = (np.concatenate([a] * 160) for a in (part.rotations, part.translations))
clip = Clip.from_owned_arrays(replace(part.header, frame_count=len(turns)), turns, places)
mocpack.encode(clip, max_error="1mm", effort="fast")
print((peak() - before) / (turns.nbytes + places.nbytes))
"""


def test_a_long_clip_is_encoded_fast_within_three_times_its_arrays():
    found = subprocess.run(
        [sys.executable, "-c", LONG], capture_output=True, text=True, check=True, timeout=300
    )
    assert float(found.stdout) <= 3


@pytest.mark.parametrize("codec", [Rounding(), "keysine:effort=fast", "raw"])
@pytest.mark.parametrize("others", [{}, {"max_error": "5mm"}])
def test_a_bound_on_angles_is_kept_declared_and_measured(codec, others):
    made = mocpack._api.encode_measured(CLIP, codec, max_angle="0.1deg", **others)
    found = unpack(made.data).errors
    assert found.declared_angle == pytest.approx(np.radians(0.1))
    assert found.max_angle <= np.radians(0.1) * 1.001
    decoded = made.codec.decode(unpack(made.data).payload, CLIP.header)
    assert largest_angle(CLIP, decoded) == pytest.approx(found.max_angle, rel=1e-3)
    if others:
        assert found.max <= 5e-3
        assert found.declared == pytest.approx(5e-3)


def test_alone_a_bound_on_angles_leaves_keysine_its_own_bound():
    made = mocpack._api.encode_measured(CLIP, "keysine:effort=fast", max_angle="1deg")
    assert made.errors.declared == 1e-3
    assert made.errors.max <= 1e-3


def test_a_finer_bound_on_angles_takes_more_bytes():
    sizes = [
        len(mocpack.encode(CLIP, Rounding(), max_error="5mm", max_angle=bound))
        for bound in ("1deg", "0.1deg", "0.01deg")
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]


@pytest.mark.parametrize("other", [{"mean_error": "1mm"}, {"ratio": 20.0}, {"size": "2kB"}])
def test_a_bound_on_angles_goes_with_no_other_target(other):
    [name] = other
    with pytest.raises(UsageError, match=naming(f"max_angle max_error {name}")):
        mocpack.encode(CLIP, max_angle="1deg", **other)


def test_vertices_have_no_angles():
    with pytest.raises(UsageError, match=naming("max_angle vertex")):
        mocpack.encode(vertex_wave(), "raw", max_angle="1deg")


def test_a_preset_takes_a_bound_on_angles_beside_it():
    made = mocpack._api.encode_measured(CLIP, preset="web", max_angle="0.2deg", effort="fast")
    assert made.errors.max_angle <= np.radians(0.2)
    assert made.errors.declared > 1e-3


def test_angles_that_cannot_be_kept_are_a_bound_error():
    with pytest.raises(BoundError, match=naming("rounding 1e-09°")):
        mocpack.encode(CLIP, Rounding(), max_angle="1e-9deg")


def limb_of_keys(*, interpolated):
    """A limb that turns far from each of its few frames to the next."""
    rng = np.random.default_rng(3)
    offsets = np.array([[0, 0, 0], [0.5, 0, 0], [0.6, 0, 0]])
    skeleton = mocpack.Skeleton(("a", "b", "c"), (-1, 0, 1), offsets)
    turns = mocpack.rotations.normalize(rng.normal(size=(7, 3, 4)) + np.array([0, 0, 0, 3]))
    places = np.zeros((7, 1, 3))
    return Clip.build(skeleton, turns, places, frame_time=0.1, interpolated=interpolated)


def test_clips_of_keys_keep_their_bound_between_frames_too():
    at = np.linspace(0, 6, 500)

    def errors(interpolated):
        clip = limb_of_keys(interpolated=interpolated)
        made = rate.encode_to_target(
            clip, parse_codec("keysine:effort=fast"), rate.Target(max_error=0.02)
        )
        decoded = mocpack.decode(made.data)
        return measure_error(clip.poses_at(at), decoded.poses_at(at)).max, made.errors.max

    found, stated = errors(True)
    assert found <= stated <= 0.02
    found, stated = errors(False)
    assert stated <= 0.02 < found


def test_the_quality_search_includes_errors_between_keys():
    clip = limb_of_keys(interpolated=True)
    made = rate.encode_to_target(clip, Rounding(), rate.Target(max_error=0.005))
    decoded = made.codec.decode(unpack(made.data).payload, clip.header)
    at = np.linspace(0, 6, 500)
    assert measure_error(clip.poses_at(at), decoded.poses_at(at)).max <= 0.005


def test_a_codec_is_built_from_its_spec_and_once_more_with_its_bounds(monkeypatch):
    built, check = [], Keysine.__post_init__
    monkeypatch.setattr(Keysine, "__post_init__", lambda self: built.append(1) or check(self))
    mocpack.encode(CLIP, "keysine", max_error="1mm", effort="fast")
    assert len(built) == 2


def test_a_file_is_measured_once(monkeypatch):
    measured, measure_error = [], measuring.measure_error
    monkeypatch.setattr(
        measuring, "measure_error", lambda *clips: measured.append(1) or measure_error(*clips)
    )
    mocpack.encode(CLIP, max_error="1mm", effort="fast")
    assert len(measured) == 1


def test_pack_options_refuse_an_invalid_target_before_any_file_is_read():
    with pytest.raises(UsageError, match=naming("max_error 1")):
        PackOptions(target={"max_error": 1})
