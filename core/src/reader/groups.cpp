// Decodes groups of an open file on demand and caches them.
#include <cmath>

#include "common/small_build.h"
#include "math/quaternion.h"
#include "math/quaternions.h"
#include "reader/reader.h"

namespace mocpack
{

namespace
{

const double UNIT_TOLERANCE = 1e-3; // of the length of a quaternion
const double MAX_DECODED_M = 2e7;	// as in Python

// Applies the rotation of an added origin to the roots of one frame: rotations (decoded_count, 4),
// translations (moving, 3).
template <typename Number> void apply_origin_rotation(const mocpack_Reader& r, Number* turns, Number* places)
{
	const Quat origin = {double(turns[0]), double(turns[1]), double(turns[2]), double(turns[3])};
	if (origin.x == 0 && origin.y == 0 && origin.z == 0 && origin.w == 1)
		return;
	for (size_t j = 0; j < r.rig.count; ++j)
	{
		if (!r.origin_roots[j])
			continue;
		Number* q = turns + 4 * (j + 1);
		Quat turn = multiply(origin, Quat{double(q[0]), double(q[1]), double(q[2]), double(q[3])});
		q[0] = Number(turn.x), q[1] = Number(turn.y), q[2] = Number(turn.z), q[3] = Number(turn.w);
		if (r.rig.moving[j] < 0)
			continue;
		Number* p = places + 3 * r.rig.moving[j];
		Vec3 place = rotate(origin, Vec3{double(p[0]), double(p[1]), double(p[2])});
		p[0] = Number(place.x), p[1] = Number(place.y), p[2] = Number(place.z);
	}
}

// Also false for values that are not finite.
template <typename Number> bool are_in_range(const Number* translations, size_t count)
{
	Number farthest = 0;
	for (size_t i = 0; i < count; ++i)
		farthest = std::fabs(translations[i]) <= farthest ? farthest : std::fabs(translations[i]);
	return farthest < MAX_DECODED_M;
}

// Converts translations (moving, 3) from the codec's scale to the file's.
template <typename Number> void restore_translation_scale(const mocpack_Reader& r, Number* places)
{
	for (size_t i = 0; r.translation_factors && i < 3 * r.rig.moving_count; ++i)
		places[i] = Number(double(places[i]) * r.translation_factors[i / 3]);
}

// Normalizes the decoded frames in a lane's arrays.
bool normalize_lane(const mocpack_Reader& r, const Lane& lane, size_t frames)
{
	const size_t moving = r.rig.moving_count;
	if (!normalize_frames(lane.rotations, lane.translations, frames, r.decoded_count, moving))
		return false;
	for (size_t t = 0; t < frames; ++t)
	{
		restore_translation_scale(r, lane.translations + 3 * t * moving);
		if (r.origin_roots)
			apply_origin_rotation(r, lane.rotations + 4 * t * r.decoded_count,
								  lane.translations + 3 * t * moving);
	}
	return are_in_range(lane.translations, 3 * frames * moving);
}

// The same for rows that were decoded directly as floats.
bool normalize_rows(const mocpack_Reader& r, float* rows, size_t frames)
{
	const size_t turns = 4 * r.decoded_count, places = 3 * r.rig.moving_count;
	for (size_t t = 0; t < frames; ++t)
		if (!are_in_range(rows + t * (turns + places) + turns, places))
			return false;
	if (mocpack_normalize_rotation_rows(rows, frames, r.decoded_count, turns + places,
										float(UNIT_TOLERANCE)) >= 0)
		return false;
	for (size_t t = 0; t < frames; ++t, rows += turns + places)
	{
		restore_translation_scale(r, rows + turns);
		if (r.origin_roots)
			apply_origin_rotation(r, rows, rows + turns);
		if (!are_in_range(rows + turns, places))
			return false;
	}
	return true;
}

template <typename Number>
void copy_rows(const mocpack_Reader& r, const Lane& lane, size_t frames, Number* rows)
{
	const size_t turns = 4 * r.decoded_count, places = 3 * r.rig.moving_count;
	const double *from = lane.rotations, *place = lane.translations;
	for (size_t t = 0; t < frames; ++t)
	{
		for (size_t i = 0; i < turns; ++i)
			rows[i] = Number(from[i]);
		for (size_t i = 0; i < places; ++i)
			rows[turns + i] = Number(place[i]);
		from += turns, place += places, rows += turns + places;
	}
}

// Converts the frames in a lane's arrays to rows in output precision.
bool finish_lane(const mocpack_Reader& r, const Lane& lane, size_t frames, void* rows)
{
	if (!normalize_lane(r, lane, frames))
		return false;
	if (!SMALL_BUILD && r.precision == MOCPACK_FLOAT32)
		copy_rows(r, lane, frames, static_cast<float*>(rows));
	else
		copy_rows(r, lane, frames, static_cast<double*>(rows));
	return true;
}

FrameArrays arrays_of(const mocpack_Reader& r, const Lane& lane, void* rows)
{
	FrameArrays out = {r.decoded_columns(), r.decoded_count, r.rig.moving_count, lane.rotations,
					   lane.translations};
	out.rows = !SMALL_BUILD && r.decodes_floats ? static_cast<float*>(rows) : nullptr;
	out.stride = r.row_stride();
	return out;
}

} // namespace

bool normalize_frames(double* rotations, double* translations, size_t frames, size_t joints, size_t moving)
{
	return are_in_range(translations, 3 * frames * moving) &&
		   mocpack_normalize_rotations(rotations, frames, joints, UNIT_TOLERANCE) < 0;
}

bool finish_rows(const mocpack_Reader& r, const Lane& lane, const int32_t* key, size_t frames, void* rows)
{
	decode_key(*r.motion, key, arrays_of(r, lane, rows).after(frames));
	return !SMALL_BUILD && r.decodes_floats ? normalize_rows(r, static_cast<float*>(rows), frames + 1)
											: finish_lane(r, lane, frames + 1, rows);
}

namespace
{

bool decode_keysine_group(const mocpack_Reader& r, Lane* lane, size_t group, void* rows, mocpack_Error* error)
{
	const mocpack_Motion& m = *r.motion;
	size_t key = group, frames = 0;
	if (m.layout.group_count)
		frames = m.key_frame(++key) - m.key_frame(group);
	if (!(frames ? decode_group_frames(m, lane, group, 0, frames, r.layers, arrays_of(r, *lane, rows), error)
				 : load_keys(m, lane, m.segment_of(group), 0, error)))
		return false;
	if (finish_rows(r, *lane, key_of(m, *lane, key), frames, rows))
		return true;
	return fail_group(m, group, MOCPACK_CORRUPT, ": invalid rotations or translations", error);
}

bool holds(const Slot& slot, uint64_t frame)
{
	return slot.group != NO_GROUP && slot.first <= frame && frame < slot.stop;
}

} // namespace

bool decode_group(const mocpack_Reader& r, Lane* lane, size_t group, void* rows, mocpack_Error* error)
{
	const mocpack_Motion& m = *r.motion;
	if (m.codec == KEYSINE)
		return decode_keysine_group(r, lane, group, rows, error);
	const size_t first = m.key_frame(group), stop = m.key_frame(group + 1) + 1;
	if (!(m.codec == RAW ? decode_raw(r, *lane, group, error) : decode_lossless(r, *lane, group)))
		return false;
	if (finish_lane(r, *lane, stop - first, rows))
		return true;
	ErrorMessage(error, MOCPACK_CORRUPT, m.raw.rows_offset)
		<< "frames " << uint64_t(first) << " to " << uint64_t(stop) << ": invalid rotations or translations";
	return false;
}

Slot* slot_at(mocpack_Reader* r, uint64_t frame, mocpack_Error* error)
{
	Slot* found = &r->slots[r->last_slot];
	if (holds(*found, frame))
		return found;
	size_t oldest = 0;
	for (size_t i = 0; i < r->slot_count; ++i)
	{
		if (holds(r->slots[i], frame))
		{
			r->last_slot = i;
			r->slots[i].used = ++r->clock;
			return &r->slots[i];
		}
		if (r->slots[i].used < r->slots[oldest].used)
			oldest = i;
	}
	const mocpack_Motion& m = *r->motion;
	found = &r->slots[oldest];
	size_t group = m.group_at(frame);
	found->group = NO_GROUP;
	found->used = 0;
	if (!decode_group(*r, &r->lanes[0], group, found->rows, error))
		return nullptr;
	bool last = group + 1 >= m.group_count();
	found->group = group;
	found->first = m.key_frame(group);
	found->stop = last ? m.info.frame_count : m.key_frame(group + 1);
	found->used = ++r->clock;
	r->last_slot = oldest;
	return found;
}

} // namespace mocpack
