"""keysine: error bound, equality with the reference decoder, seeking, preview and hostile bytes."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import mocpack
from keysine_payload import checksum, open_in_core
from mocpack import _core
from mocpack.bench.datasets import COMMITTED, load_clip
from mocpack.codec import Payload
from mocpack.codecs.keysine import Keysine
from mocpack.codecs.keysine.codec import encode_natively
from mocpack.coding.fields import FieldReader
from mocpack.container import unpack
from mocpack.errors import CorruptionError, FormatError, TruncatedError
from mocpack.model import rotations
from mocpack.model.clip import Clip, ClipHeader, measure_error
from mocpack.model.skeleton import Skeleton
from mocpack.samples import JUMP
from mocpack.testing import hard_clips, jump, turn, walk
from naming import naming
from reference import keysine as reference
from reference.keysine import fix_checksums
from reference.keysine_head import head_of
from reference.keysine_head_writer import write_head, write_payload
from reference.keysine_plan import descendants, step_size

CLIPS = hard_clips()


def reader(payload):
    return lambda offset, size: payload[offset : offset + size]


@pytest.mark.parametrize("effort", ["fast", "default"])
@pytest.mark.parametrize("bound", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("clip", [walk(1.0), turn(1.0), jump(1.0)], ids=["walk", "turn", "jump"])
def test_the_bound_holds(clip, bound, effort):
    codec = Keysine(max_error=bound, effort=effort)
    back = codec.decode(codec.encode(clip), clip.header)
    assert measure_error(clip, back).max <= bound


@pytest.mark.parametrize("clip", CLIPS.values(), ids=CLIPS.keys())
def test_the_bound_holds_on_hard_clips(clip):
    codec = Keysine(max_error=2e-3, effort="fast")
    back = codec.decode(codec.encode(clip), clip.header)
    assert measure_error(clip, back).max <= 2e-3


@pytest.mark.parametrize("clip", [walk(0.6), turn(0.5), CLIPS["one frame"]])
def test_the_readable_decoder_gives_the_same_motion(clip):
    codec = Keysine(max_error=5e-3)
    payload = codec.encode(clip)
    native, plain = codec.decode(payload, clip.header), reference.decode(payload, clip.header)
    np.testing.assert_allclose(native.rotations, plain.rotations, rtol=0, atol=1e-12)
    np.testing.assert_allclose(native.translations, plain.translations, rtol=0, atol=1e-12)


def test_a_pose_added_before_the_first_frame_is_detected():
    walking = walk(2.0, frame_rate=60)
    turns, places = walking.rotations.copy(), walking.translations.copy()
    turns[0], places[0] = [0, 0, 0, 1], [0, 0, 0]
    clip = Clip(walking.header, turns, places)
    codec = Keysine(max_error=5e-3)
    payload, usual = codec.encode(clip), codec.encode(walking)
    head = head_of(payload, clip.header)
    assert head.first_frame_alone
    assert [head.key_frame(k, clip.frame_count) for k in (0, 1)] == [0, 1]
    assert head.key_frame(head.group_count, clip.frame_count) == clip.frame_count - 1
    assert not head_of(usual, walking.header).first_frame_alone
    assert len(payload) < len(usual) + 250
    whole = codec.decode(payload, clip.header)
    assert measure_error(clip, whole).max <= 5e-3
    again = reference.decode(payload, clip.header)
    np.testing.assert_allclose(again.rotations, whole.rotations, atol=1e-9)
    for start, stop in ((0, 1), (0, 2), (1, 3), (50, 70), (clip.frame_count - 1, clip.frame_count)):
        part = codec.open(payload, clip.header).frames(start, stop)
        np.testing.assert_array_equal(part.rotations, whole.rotations[start:stop])


def test_a_looser_bound_gives_a_smaller_file():
    clip = walk(2.0)
    sizes = [len(Keysine(max_error=b).encode(clip)) for b in (1e-2, 1e-3, 1e-4)]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("bound", [1e-2, 1e-3])
def test_the_best_effort_is_never_larger_than_the_default_one(bound):
    clip = mocpack.read(JUMP)
    best, default = (
        mocpack.encode(clip, max_error=mocpack.mm(1000 * bound), effort=effort)
        for effort in ("best", "default")
    )
    assert len(best) <= len(default)


def test_the_returned_clip_is_the_decoded_payload():
    clip = walk(1.0)
    for codec in (Keysine(), Keysine(layers=3), Keysine(step="2mm"), Keysine(max_error="0.2mm")):
        made = codec.encode_verified(clip)
        back = codec.decode(made.payload, clip.header)
        np.testing.assert_array_equal(made.decoded.rotations, back.rotations)
        np.testing.assert_array_equal(made.decoded.translations, back.translations)


def test_constants_of_the_encoder_are_listed_and_can_be_changed_by_name():
    rows = {name: values for name, _, values in _core.keysine_constants()}
    assert all(text for _, text, _ in _core.keysine_constants())
    clip, codec = walk(1.0), Keysine()
    same = encode_natively(codec, clip, {"rounding": rows["rounding"][0]})
    assert same.payload == codec.encode(clip)
    assert encode_natively(codec, clip, {"rounding": 0.1}).payload != same.payload
    with pytest.raises(ValueError, match=naming("weight_tries 2 1")):
        encode_natively(codec, clip, {"weight_tries": 1.0})
    with pytest.raises(KeyError, match="softness"):
        encode_natively(codec, clip, {"softness": 1.0})


def rewritten_head(payload, header, **changes):
    """Return a payload with a changed head and a valid checksum."""
    head = head_of(payload, header)
    return write_payload(replace(head, **changes), header, head.split(payload))


def key_step_of_joint(payload, header, joint, step):
    table = head_of(payload, header).table.copy()
    table[joint, 8] = step
    return rewritten_head(payload, header, table=table)


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (lambda p, h: key_step_of_joint(p, h, 2, 80), "head joint 2 rotation step 80 0..63"),
        (
            lambda p, h: rewritten_head(p, h, fine_bits=61),
            "head bits 61 0..60",
        ),
        (lambda p, h: rewritten_head(p, h, tempo=0), "head tempo 0 1..255"),
        (lambda p, h: rewritten_head(p, h, unit=-1.0), "head unit -1"),
        (lambda p, h: rewritten_head(p, h, group_count=900), "head groups 900 1..29"),
        (lambda p, h: rewritten_head(p, h, groups_per_segment=0), "head groups segment 0"),
    ],
)
def test_a_head_out_of_range_names_field_value_and_range(spoil, named):
    clip = walk(0.5)
    payload = spoil(Keysine(effort="fast").encode(clip), clip.header)
    for decode in (Keysine().decode, reference.decode):
        with pytest.raises(CorruptionError, match=naming(named)):
            decode(payload, clip.header)


@pytest.mark.parametrize(("joint", "column"), [(2, 8), (0, 12)], ids=["rotation", "translation"])
def test_the_last_key_step_is_read_and_the_next_is_not(joint, column):
    clip = walk(0.5)
    payload = Keysine(effort="fast").encode(clip)
    table = head_of(payload, clip.header).table
    for step, refused in ((63, False), (64, True)):
        changed = table.copy()
        changed[joint, column] = step
        other = rewritten_head(payload, clip.header, table=changed)
        for read in (open_in_core, head_of):
            assert isinstance(outcome(read, other, clip.header), CorruptionError) == refused


def test_the_mean_bound_holds():
    clip = jump(1.0)
    codec = Keysine(mean_error="1mm", effort="fast")
    assert measure_error(clip, codec.decode(codec.encode(clip), clip.header)).joint_mean <= 1e-3


@pytest.mark.parametrize("bound", [1e-2, 3e-4])
def test_most_of_a_mean_bound_is_used(bound):
    clip = walk(4.0)
    codec = Keysine(mean_error=bound)
    back = codec.decode(codec.encode(clip), clip.header)
    assert 0.95 * bound < measure_error(clip, back).joint_mean <= bound


def test_where_a_mean_is_bounded_joints_that_carry_more_are_nearer_to_their_places():
    clip = load_clip("cmu/09_01", COMMITTED).frames(0, 120)
    codec = Keysine(mean_error=1e-3)
    back = codec.decode(codec.encode(clip), clip.header)
    errors = np.linalg.norm(clip.positions() - back.positions(), axis=2).mean(axis=0)
    carried = descendants(clip.skeleton.parents)
    assert errors[carried > 5].mean() < 0.8 * errors[carried == 1].mean()


@pytest.mark.parametrize("effort", ["fast", "default"])
@pytest.mark.parametrize("joints", [2, 31])
def test_ten_minutes_at_rest_are_packed(joints, effort):
    clip = at_rest(joints, 6000, frame_rate=10)
    data = mocpack.encode(clip, "keysine", max_error="1mm", effort=effort)
    back = mocpack.decode(data)
    assert measure_error(clip, back).max <= 1e-3


@pytest.mark.parametrize("frame_rate", [600.0, 1000.0, 10_000.0])
@pytest.mark.parametrize(
    "target",
    [{"max_error": 0.02}, {"mean_error": 5e-3}, {"step": 0.05}, {"streamed": True}],
    ids=str,
)
def test_motion_of_a_high_speed_camera_is_cut_into_blocks_that_decoders_read(frame_rate, target):
    clip = walk(1500 / frame_rate, frame_rate=frame_rate)
    codec = Keysine(effort="fast", **{"max_error": 0.02, **target})
    payload = codec.encode(clip)  # a block has at most 512 frames
    plain = reference.decode(payload, clip.header)
    assert measure_error(clip, plain).max <= 0.02 or "max_error" not in target
    assert len(payload) < clip.frame_count


@pytest.mark.parametrize("effort", ["fast", "default", "best"])
def test_the_budget_of_work_changes_no_ordinary_file(effort):
    codec, clip = Keysine(effort=effort, max_error=2e-3), walk(1.0)
    made = codec.encode_verified(clip)
    assert made.payload == encode_natively(codec, clip, {"max_work": 1e300}).payload
    assert 0 < made.work_share < 0.1


def test_an_encode_whose_budget_is_spent_keeps_its_bound_in_a_larger_file():
    codec, clip = Keysine(effort="best", max_error=2e-3), walk(1.0)
    whole, spent = (encode_natively(codec, clip, {"max_work": work}) for work in (1e300, 1.0))
    assert len(whole.payload) < len(spent.payload)
    assert measure_error(clip, spent.decoded).max <= 2e-3
    assert spent.work_share > 0.5


@pytest.mark.parametrize("threads", [2, 3])
def test_the_work_of_an_encode_is_the_same_on_any_number_of_threads(threads):
    clip = walk(2.0)
    alone, many = (
        encode_natively(Keysine(threads=n), clip, {"max_work": 2e4}) for n in (1, threads)
    )
    assert (alone.payload, alone.work_share) == (many.payload, many.work_share)


def test_both_decoders_read_many_groups_of_one_size():
    clip = at_rest(2, 4000, frame_rate=10)
    codec = Keysine(max_error=1e-3, effort="fast", group_seconds=0.2, block_seconds=0.2)
    payload = codec.encode(clip)
    assert head_of(payload, clip.header).group_count == 2000
    native, plain = codec.decode(payload, clip.header), reference.decode(payload, clip.header)
    np.testing.assert_allclose(native.rotations, plain.rotations, rtol=0, atol=1e-12)


def test_a_head_too_short_for_the_groups_it_announces_is_corrupt():
    clip = at_rest(1, 100_000)
    head = head_of(Keysine(effort="fast").encode(clip), clip.header)
    many = replace(head, group_count=clip.frame_count - 1, groups_per_segment=1)
    data = write_head(many, clip.header, [b"one", b"another"])
    with pytest.raises(CorruptionError, match=naming("head parts 199998 0..128")):
        Keysine().decode(data, clip.header)


@pytest.mark.parametrize("pose", ["at rest", "in the air", "bent"])
def test_the_mean_bound_holds_for_clips_that_do_not_move(pose):
    clip = at_rest(3, 200)
    turns, places = clip.rotations.copy(), clip.translations.copy()
    if pose != "at rest":
        places[:] = [0.1234567, 1.0, 0.3]
    if pose == "bent":
        turns[:] = rotations.from_rotvec(np.array([0.3, 0.1234567, -0.2]))
    clip = Clip(clip.header, turns, places)
    for bound in (1e-4, 1e-2):
        data = mocpack.encode(clip, "keysine", mean_error=mocpack.mm(1000 * bound))
        assert measure_error(clip, mocpack.decode(data)).joint_mean <= bound


def at_rest(joints, frames, frame_rate=30.0):
    """A chain of joints that never moves."""
    names = tuple(f"joint{j}" for j in range(joints))
    skeleton = Skeleton(names, tuple(range(-1, joints - 1)), np.full((joints, 3), 0.1))
    header = ClipHeader(skeleton, frames, 1 / frame_rate, (0,))
    turns = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (frames, joints, 4))
    return Clip(header, turns, np.zeros((frames, 1, 3)))


def test_a_window_reads_its_groups_alone():
    clip = walk(8.0)
    codec = Keysine(max_error=5e-3, effort="fast")
    payload = codec.encode(clip)
    taken = []

    def read(offset, size):
        taken.append(size)
        return payload[offset : offset + size]

    source = SimpleNamespace(size=len(payload), data=None, start=b"", read=read)
    part = codec.open(Payload(source, 0, len(payload)), clip.header).frames(200, 230)
    whole = codec.decode(payload, clip.header)
    np.testing.assert_allclose(part.rotations, whole.rotations[200:230], atol=1e-12)
    assert sum(taken) < 0.6 * len(payload)


@pytest.mark.parametrize("clip", [walk(2.0), CLIPS["every joint translates"]])
def test_some_joints_are_those_of_the_whole_motion(clip):
    codec = Keysine(max_error=5e-3, effort="fast")
    payload = codec.encode(clip)
    stop = clip.frame_count
    whole = codec.decode(payload, clip.header)
    for joint in range(len(clip.skeleton)):
        part = codec.open(payload, clip.header).frames(0, stop, [joint])
        kept = whole.joints([joint])
        assert part.header == kept.header
        np.testing.assert_array_equal(part.rotations, kept.rotations)
        np.testing.assert_array_equal(part.translations, kept.translations)


def test_joints_behind_the_wanted_ones_are_not_even_read():
    clip = walk(0.5)
    payload = Keysine(max_error=5e-3, effort="fast").encode(clip)
    bad = bytearray(payload)
    bad[-1] ^= 1
    damaged = fix_checksums(bytes(bad))
    first = Keysine().open(damaged, clip.header).frames(0, clip.frame_count, [0])
    true = Keysine().open(payload, clip.header).frames(0, clip.frame_count, [0])
    np.testing.assert_array_equal(first.rotations, true.rotations)


def test_there_is_a_seek_point_every_second():
    clip = walk(5.0)
    head = head_of(Keysine().encode(clip), clip.header)
    starts = [head.key_frame(g, clip.frame_count) for g in range(head.group_count)]
    inside = [s for s in starts if s < clip.frame_count]
    assert max(np.diff(inside)) <= clip.frame_rate
    assert len(head.layer_sizes[0]) >= 5


def test_every_frame_needs_the_bytes_of_its_group():
    clip = walk(5.0)
    payload = Keysine(effort="fast").encode(clip)
    decoder = Keysine(effort="fast").open(payload, clip.header)
    head = head_of(payload, clip.header)
    starts = [head.key_frame(g, clip.frame_count) for g in range(len(head.layer_sizes[0]))]
    for frame in range(clip.frame_count):
        group = int(np.searchsorted(starts, frame, "right")) - 1
        keys, own = head.segments_at(head.segment_of(group), 1), head.groups_at(group, 1)
        assert decoder.byte_ranges(frame, frame + 1) == [keys, own]


def test_threads_change_nothing():
    clip = walk(3.0)
    one, two = Keysine(effort="fast", threads=1), Keysine(effort="fast", threads=2)
    payload = one.encode(clip)
    assert payload == two.encode(clip)
    a, b = one.decode(payload, clip.header), two.decode(payload, clip.header)
    assert np.array_equal(a.rotations, b.rotations)


def test_the_preview_is_the_key_poses():
    clip = walk(2.0)
    codec = Keysine(max_error=2e-3, effort="fast")
    payload = codec.encode(clip)
    keys = codec.open(payload, clip.header).preview()
    head = head_of(payload, clip.header)
    frames = [head.key_frame(k, clip.frame_count) for k in range(head.group_count + 1)]
    whole = codec.decode(payload, clip.header)
    np.testing.assert_allclose(keys.translations, whole.translations[frames], atol=1e-12)
    assert keys.frame_count == head.group_count + 1


def test_a_file_of_one_layer_that_is_cut_plays_nothing():
    clip = walk(5.0)
    codec = Keysine(max_error=5e-3, effort="fast")
    payload = codec.encode(clip)
    with pytest.raises(TruncatedError, match=str(len(payload))):
        codec.open(payload[:-1], clip.header).partial()


def test_a_wrong_checksum_is_found():
    clip = walk(1.0)
    payload = bytearray(Keysine(effort="fast").encode(clip))
    payload[-1] ^= 1
    with pytest.raises(CorruptionError, match=naming("keysine group")):
        Keysine().decode(bytes(payload), clip.header)


def test_a_short_payload_is_truncated():
    clip = walk(1.0)
    payload = Keysine(effort="fast").encode(clip)
    with pytest.raises(TruncatedError):
        Keysine().decode(payload[:-1], clip.header)


@pytest.mark.parametrize("how", [{}, {"layers": 3}, {"mode": "grid"}], ids=["one", "three", "grid"])
def test_damaged_bytes_are_a_clip_or_a_format_error(how):
    clip = walk(0.5)
    codec = Keysine(effort="fast", group_seconds=0.2, **how)
    payload = codec.encode(clip)
    rng = np.random.default_rng(5)
    ways = (
        lambda bad: codec.decode(bad, clip.header),
        lambda bad: codec.open(bad[: rng.integers(len(bad)) + 1], clip.header).partial(),
        lambda bad: codec.open(bad, clip.header).frames(5, 9, [3]),
        lambda bad: codec.open(bad, clip.header).preview(),
    )
    taken = 0
    for number in range(800):
        bad = bytearray(payload)
        for at in rng.integers(0, len(payload), rng.integers(1, 5)):
            bad[at] = rng.integers(256)
        try:
            ways[number % 4](fix_checksums(bytes(bad)))
            taken += 1
        except FormatError:
            continue
    assert 50 < taken < 750


def outcome(decode, payload, header):
    try:
        return decode(payload, header)
    except FormatError as error:
        return error


@pytest.mark.parametrize("how", [{}, {"layers": 3}, {"mode": "grid"}], ids=["one", "three", "grid"])
def test_both_decoders_refuse_the_same_payloads_and_give_the_same_motion_of_others(how):
    clip = walk(0.4)
    codec = Keysine(effort="fast", group_seconds=0.15, max_error=0.002, **how)
    payload = codec.encode(clip)
    head = FieldReader(payload, "payload").varint(len(payload))
    group = head_of(payload, clip.header).groups_at(0, 1)[0] + 2  # how it is split comes first
    spans = ((0, len(payload)), (head, len(payload)), (group, group + 4))
    rng = np.random.default_rng(11)
    taken = 0
    rounds = 30 if how.get("mode") else 150
    for number in range(rounds):
        bad = bytearray(payload)
        for at in rng.integers(*spans[number % 3], rng.integers(1, 3)):
            bad[at] = rng.integers(256)
        bad = fix_checksums(bytes(bad))
        native = outcome(Keysine().decode, bad, clip.header)
        readable = outcome(reference.decode, bad, clip.header)
        assert isinstance(native, FormatError) == isinstance(readable, FormatError)
        if not isinstance(native, FormatError):
            np.testing.assert_allclose(native.rotations, readable.rotations, atol=1e-9)
            np.testing.assert_allclose(
                native.translations, readable.translations, rtol=1e-9, atol=1e-9
            )
            taken += 1
    assert 2 <= taken < rounds


def test_sliding_joints_below_rotating_joints_keep_the_bound():
    time = np.linspace(0, 2, 121)
    skeleton = Skeleton(
        ("Hand", "Bow", "Tip"),
        (-1, 0, 1),
        np.array([[0.0, 0, 0], [0.1, 0, 0], [0, 0.7, 0]]),
        np.array([[0.0, 0.3, 0]]),
        (1,),
    )
    turns = np.zeros((len(time), 3, 3))
    turns[:, 0] = np.sin(np.outer(time, [3.0, 5.0, 8.0]))
    places = np.stack([np.outer(np.sin(2 * time), [1, 0, 0]), np.outer(time, [0.2, 0, 0])], 1)
    clip = Clip.build(
        skeleton, rotations.from_rotvec(turns), places, frame_rate=60, translated_joints=(0, 1)
    )
    codec = Keysine(max_error=1e-3, effort="fast")
    assert measure_error(clip, codec.decode(codec.encode(clip), clip.header)).max <= 1e-3


def test_joints_far_from_their_parent_keep_the_bound():
    skeleton = Skeleton(("Here", "There"), (-1, 0), np.zeros((2, 3)), np.zeros((0, 3)), ())
    turn = rotations.from_rotvec(np.array([0.31, 0.22, 0.13]))
    clip = Clip.build(
        skeleton,
        np.tile(turn, (5, 2, 1)),
        np.tile([[0.0, 0, 0], [2000, 1500, 0]], (5, 1, 1)),
        translated_joints=(0, 1),
    )
    codec = Keysine(max_error=1e-3, effort="fast")
    assert measure_error(clip, codec.decode(codec.encode(clip), clip.header)).max <= 1e-3


def test_a_joint_that_never_moves_costs_next_to_nothing():
    body = walk(2.0)
    extra = Skeleton(
        (*body.skeleton.names, *(f"Extra{k}" for k in range(10))),
        (*body.skeleton.parents, *([4] * 10)),
        np.concatenate([body.skeleton.offsets, np.full((10, 3), 0.01)]),
        body.skeleton.end_sites,
        body.skeleton.end_site_joints,
    )
    still = np.tile(rotations.IDENTITY, (body.frame_count, 10, 1))
    more = Clip.build(
        extra, np.concatenate([body.rotations, still], 1), body.translations, frame_rate=60
    )
    codec = Keysine(max_error=5e-3, effort="fast")
    assert len(codec.encode(more)) < len(codec.encode(body)) + 90


def test_steps_fall_by_the_root_of_two():
    assert step_size(0.5, 8) == 0.5
    assert step_size(0.5, 10) == 0.25
    assert step_size(0.5, 9) == pytest.approx(0.5 / np.sqrt(2))


def test_descendants_count_the_joint_itself():
    assert list(descendants((-1, 0, 1, 0))) == [4, 2, 1, 1]


def test_the_checksum_is_crc16_ccitt():
    assert checksum(b"123456789") == (0x29B1).to_bytes(2, "little")


def test_lengths_may_be_text():
    assert Keysine(max_error="5mm").max_error == pytest.approx(0.005)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("effort", "lazy"),
        ("group_seconds", 0.0),
        ("block_seconds", -1.0),
        ("threads", -1),
        ("layers", 17),
    ],
)
def test_bad_parameters_are_refused(field, value):
    with pytest.raises(ValueError, match=naming(f"keysine {field}")):
        Keysine(**{field: value})


@pytest.mark.parametrize("name", ["cmu/09_01", "cmu/05_03", "asfamc/03_01"])
def test_the_bound_holds_on_real_clips(name):
    clip = load_clip(name, COMMITTED).frames(0, 100)
    codec = Keysine(max_error=5e-3, effort="fast")
    assert measure_error(clip, codec.decode(codec.encode(clip), clip.header)).max <= 5e-3


@pytest.mark.parametrize(
    ("spec", "declared"),
    [
        ("keysine:max_error=5mm", 0.005),
        ("keysine:mean_error=5mm", None),
        ("keysine:step=5mm", None),
    ],
)
def test_a_file_declares_the_largest_error_only_where_it_keeps_one(spec, declared):
    errors = unpack(mocpack.encode(walk(0.5), spec)).errors
    assert errors.declared == (declared if declared is None else pytest.approx(declared))
