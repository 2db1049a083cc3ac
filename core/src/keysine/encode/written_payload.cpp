// Decodes a payload that the encoder has just written, with the format's own decoder, and measures its
// errors.
#include "keysine/encode/written_payload.h"

#include <algorithm>
#include <cmath>

#include "keysine/encode/settings.h"
#include "keysine/format/plan.h"
#include "math/elementary.h"
#include "math/hinge_angles.h"
#include "math/quaternion.h"
#include "math/quaternions.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const double UNIT_TOLERANCE = 1e-3; // deviation of a quaternion's length from 1
const double MAX_DISTANCE = 2e7;	// meters, of decoded translations

// Returns whether all translations are finite and below MAX_DISTANCE.
bool are_near(const Buffer<double>& translations)
{
	for (size_t i = 0; i < translations.size(); ++i)
		if (!(std::fabs(translations[i]) < MAX_DISTANCE))
			return false;
	return true;
}

} // namespace

bool WrittenPayload::open(EncodeTask* task, const uint8_t* bytes, size_t size)
{
	const size_t joints = task->skeleton.joint_count, frames = task->motion.frames;
	bytes_ = bytes;
	const size_t memory = mocpack_keysine_head_memory_size(bytes, size, joints, frames);
	if (!task->take(&memory_, memory))
		return false;
	if (mocpack_keysine_open(bytes, size, &task->skeleton, frames, memory_.data(), &head_, nullptr,
							 nullptr) != MOCPACK_OK)
		return task->stop(MOCPACK_CORRUPT);
	layout_ = mocpack_keysine_layout(head_);
	fields_ = mocpack_keysine_fields(head_);
	const size_t parts = layout_.part_count;
	if (!task->take(&offsets_, parts + 1))
		return false;
	offsets_[0] = layout_.head_size;
	for (size_t i = 0; i < parts; ++i)
		offsets_[i + 1] = offsets_[i] + layout_.sizes[i];
	if (offsets_[parts] != size)
		return task->stop(MOCPACK_CORRUPT);
	return decode_keys(task, layout_.layer_count);
}

Bytes WrittenPayload::part(size_t part) const
{
	return {const_cast<uint8_t*>(bytes_) + offsets_[part], size_t(layout_.sizes[part])};
}

Bytes WrittenPayload::group(size_t group) const
{
	size_t parts[MOCPACK_KEYSINE_MAX_GROUP_PARTS];
	mocpack_keysine_group_parts(head_, group, 1, parts);
	return part(parts[0]);
}

bool WrittenPayload::decode_keys(EncodeTask* task, size_t layers)
{
	if (key_layers_ == layers)
		return true;
	key_layers_ = layers;
	const size_t count = layout_.segment_count, per = layout_.groups_per_segment,
				 channels = layout_.channel_count, most = std::min(per, layout_.group_count) + 1,
				 workers = task->worker_count(count, false);
	const size_t scratch_size = mocpack_keysine_segment_scratch_size(head_);
	WorkerArenas arenas;
	if (!task->take(&keys_, (layout_.group_count + 1) * channels) ||
		!arenas.take(task, workers,
					 [&](Arena* arena)
					 {
						 arena->allocate<int32_t>(most * channels);
						 arena->allocate<uint8_t>(scratch_size);
					 }))
		return false;
	task->parallel_for(
		count, false,
		[&](size_t i, size_t worker)
		{
			const size_t first = i * per, own = std::min(per, layout_.group_count - first) + 1;
			Arena arena = arenas.of(worker);
			int32_t* keys = arena.allocate<int32_t>(most * channels);
			const Bytes base = part(mocpack_keysine_segment_part(head_, 0, i));
			mocpack_Status status = mocpack_keysine_decode_segment(
				head_, own, true, base.data, base.size, keys, arena.allocate<uint8_t>(scratch_size));
			for (size_t l = 1; l < layers && status == MOCPACK_OK; ++l)
			{
				const Bytes finer = part(mocpack_keysine_segment_part(head_, l, i));
				status = mocpack_keysine_refine_segment(head_, l, own, finer.data, finer.size, keys);
			}
			if (status != MOCPACK_OK)
				task->stop(MOCPACK_CORRUPT);
			// the next segment, if there is one, writes the last key
			std::copy_n(keys, (i + 1 < count ? own - 1 : own) * channels, keys_.data() + first * channels);
		});
	return !task->stopped();
}

template <typename DecodeGroup>
bool WrittenPayload::decode_groups(EncodeTask* task, size_t first, size_t count, DecodeGroup decode_group,
								   DecodedMotion* motion)
{
	const mocpack_Skeleton& s = task->skeleton;
	const size_t joints = s.joint_count, moving = s.translated_count;
	const size_t start = key_frame(first), stop = key_frame(first + count) + 1;
	motion->first = start, motion->frames = stop - start;
	if (!task->take_room(&motion->rotations, 4 * joints * motion->frames) ||
		!task->take_room(&motion->translations, 3 * moving * motion->frames))
		return false;
	double *turns = motion->rotations.data(), *places = motion->translations.data();
	task->parallel_for(
		count, false,
		[&](size_t i, size_t worker)
		{
			const size_t from = key_frame(first + i) - start;
			if (decode_group(i, worker, turns + 4 * joints * from, places + 3 * moving * from) != MOCPACK_OK)
				task->stop(MOCPACK_CORRUPT);
			task->poll();
		});
	mocpack_keysine_decode_key(head_, keys_of(first + count), nullptr,
							   turns + 4 * joints * (stop - 1 - start),
							   places + 3 * moving * (stop - 1 - start));
	if (task->stopped())
		return false;
	if (!are_near(motion->translations) ||
		mocpack_normalize_rotations(turns, motion->frames, joints, UNIT_TOLERANCE) >= 0)
		return task->stop(MOCPACK_CORRUPT);
	return true;
}

bool WrittenPayload::decode(EncodeTask* task, size_t first, size_t count, size_t layers,
							DecodedMotion* motion)
{
	const size_t workers = task->worker_count(count, false);
	const size_t scratch_size = mocpack_keysine_group_scratch_size(head_);
	WorkerArenas arenas;
	Buffer<mocpack_KeysineSineCache> sines;
	if (!decode_keys(task, layers ? layers : layout_.layer_count) || !task->take(&sines, workers) ||
		!arenas.take(task, workers, [&](Arena* arena) { arena->allocate<uint8_t>(scratch_size); }))
		return false;
	auto decode_group = [&](size_t i, size_t worker, double* turn, double* place)
	{
		const uint8_t* bytes[MOCPACK_KEYSINE_MAX_GROUP_PARTS];
		size_t sizes[MOCPACK_KEYSINE_MAX_GROUP_PARTS], parts[MOCPACK_KEYSINE_MAX_GROUP_PARTS];
		const size_t own = first + i, length = key_frame(own + 1) - key_frame(own),
					 parts_count = mocpack_keysine_group_parts(head_, own, layers, parts);
		for (size_t p = 0; p < parts_count; ++p)
			bytes[p] = part(parts[p]).data, sizes[p] = part(parts[p]).size;
		return mocpack_keysine_decode_span(head_, own, 0, length, keys_of(own), bytes, sizes, layers, nullptr,
										   turn, place, &sines[worker],
										   arenas.of(worker).allocate<uint8_t>(scratch_size));
	};
	return decode_groups(task, first, count, decode_group, motion);
}

bool WrittenPayload::decode_coarse(EncodeTask* task, size_t first, size_t count, const uint8_t* shifts,
								   DecodedMotion* motion)
{
	// memory of the same size is kept, with the symbols in it
	const size_t scratch_size = mocpack_keysine_coarse_scratch_size(head_);
	if (!decode_keys(task, 1) ||
		!coarse_.take(task, count, [&](Arena* arena) { arena->allocate<uint8_t>(scratch_size); }))
		return false;
	auto decode_group = [&](size_t i, size_t, double* turn, double* place)
	{
		const Bytes own = group(first + i);
		return mocpack_keysine_decode_coarse(head_, first + i, keys_of(first + i), own.data, own.size, shifts,
											 is_read_, turn, place,
											 coarse_.of(i).allocate<uint8_t>(scratch_size));
	};
	const bool is_decoded = decode_groups(task, first, count, decode_group, motion);
	is_read_ = is_decoded;
	return is_decoded;
}

mocpack_ClipErrors clip_errors(EncodeTask* task, size_t first, const DecodedMotion& decoded,
							   double* joint_max)
{
	const mocpack_Skeleton& s = task->skeleton;
	mocpack_ClipErrors errors = {};
	Buffer<uint8_t> scratch;
	if (task->take(&scratch, mocpack_clip_errors_scratch_size(s.joint_count)))
		mocpack_clip_errors(&s, task->motion.rotations + 4 * s.joint_count * first,
							task->motion.translations + 3 * s.translated_count * first,
							decoded.rotations.data(), decoded.translations.data(), decoded.frames, SHELL,
							scratch.data(), &errors, nullptr, nullptr, joint_max, nullptr);
	return errors;
}

bool measure_frames(EncodeTask* task, const DecodedMotion& decoded, FrameErrors* errors)
{
	const mocpack_Skeleton& s = task->skeleton;
	if (!task->take(&errors->largest, decoded.frames) || !task->take(&errors->mean, decoded.frames))
		return false;
	if (task->work.measure)
		return !task->work.measure(task->work.user, decoded.rotations.data(), decoded.translations.data(),
								   errors->largest.data(), errors->mean.data()) ||
			   task->stop(MOCPACK_CANCELED);
	Buffer<uint8_t> scratch;
	mocpack_ClipErrors clip;
	if (!task->take(&scratch, mocpack_clip_errors_scratch_size(s.joint_count)))
		return false;
	mocpack_clip_errors(&s, task->motion.rotations, task->motion.translations, decoded.rotations.data(),
						decoded.translations.data(), decoded.frames, SHELL, scratch.data(), &clip,
						errors->largest.data(), errors->mean.data(), nullptr, nullptr);
	return true;
}

namespace
{

// Finds the largest angle error of each joint (J), in radians: of its hinges, or of its local rotation if it
// has none.
bool largest_angles(EncodeTask* task, const DecodedMotion& decoded, Buffer<double>* largest)
{
	const mocpack_Skeleton& s = task->skeleton;
	const size_t joints = s.joint_count, frames = decoded.frames;
	const double turn = 6.28318530717958647692; // radians
	Buffer<double> angles, source;
	Buffer<bool> is_hinged;
	if (!task->take(&angles, frames * s.hinge_count) || !task->take(&source, frames * s.hinge_count) ||
		!task->take(&is_hinged, joints) || !task->take(largest, joints))
		return false;
	mocpack_compute_hinge_angles(&s, decoded.rotations.data(), decoded.translations.data(), frames,
								 angles.data());
	mocpack_compute_hinge_angles(&s, task->motion.rotations, task->motion.translations, frames,
								 source.data());
	for (size_t h = 0; h < s.hinge_count; ++h)
	{
		if (s.hinge_slides[h])
			continue;
		const size_t j = size_t(s.hinge_joints[h]);
		is_hinged[j] = true;
		for (size_t t = 0; t < frames; ++t)
		{
			const double apart = angles[t * s.hinge_count + h] - source[t * s.hinge_count + h];
			(*largest)[j] = std::max((*largest)[j], std::fabs(apart - turn * std::nearbyint(apart / turn)));
		}
	}
	for (size_t j = 0; j < joints; ++j)
		for (size_t t = 0; t < frames && !is_hinged[j]; ++t)
		{
			const size_t at = 4 * (t * joints + j);
			const Quat apart = multiply(conjugate(load_quat(task->motion.rotations + at)),
										load_quat(decoded.rotations.data() + at));
			const double sine = std::sqrt(apart.x * apart.x + apart.y * apart.y + apart.z * apart.z);
			(*largest)[j] = std::max((*largest)[j], 2 * math::atan2(sine, std::fabs(apart.w)));
		}
	return true;
}

} // namespace

bool keeps_bounds(EncodeTask* task, const DecodedMotion& decoded)
{
	const ClipTarget& target = task->target;
	const JointBounds& bounds = task->joint_bounds;
	const size_t joints = task->skeleton.joint_count;
	Buffer<double> largest;
	if (!task->take(&largest, joints))
		return false;
	clip_errors(task, 0, decoded, largest.data());
	for (size_t j = 0; j < joints; ++j)
	{
		const double bound = bounds.max_error(j, target.max_error);
		if (!(largest[j] <= bound - 0.5 * decoder_margin(bound)))
			return false;
	}
	if (!(bounds.least_angle(target.max_angle) > 0))
		return true;
	if (!largest_angles(task, decoded, &largest))
		return false;
	for (size_t j = 0; j < joints; ++j)
	{
		const double bound = bounds.max_angle(j, target.max_angle);
		if (bound > 0 && !(largest[j] <= bound))
			return false;
	}
	return true;
}

} // namespace keysine
} // namespace mocpack
