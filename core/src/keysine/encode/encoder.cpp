// Sets up the `keysine` encoder, and writes the keys of its segments.
#include "keysine/encode/encoder.h"

#include <cmath>
#include <cstring>

#include "common/crc16.h"
#include "keysine/encode/task.h"

namespace mocpack
{
namespace keysine
{

namespace
{

// Lists, for each joint, the children whose subtrees have hinges.
void list_hinged(Encoder* e, bool* hinged)
{
	const mocpack_Skeleton& skeleton = *e->plan.skeleton;
	int32_t joints = int32_t(skeleton.joint_count);
	for (int32_t j = 0; j < joints; ++j)
		e->first_hinged[j] = e->next_hinged[j] = -1, hinged[j] = false;
	for (size_t t = 0; t < e->plan.track_count; ++t)
		hinged[e->plan.tracks[t].joint] |= e->plan.tracks[t].hinge >= 0 || e->plan.tracks[t].clamped_hinges;
	for (int32_t j = joints; j-- > 0;)
	{
		int32_t parent = skeleton.parents[j];
		if (parent < 0)
			continue;
		hinged[parent] |= hinged[j];
		if (hinged[j])
			e->next_hinged[j] = e->first_hinged[parent], e->first_hinged[parent] = j;
	}
	for (int32_t j = 0; j < joints; ++j)
	{
		int32_t count = 0;
		for (int32_t k = e->first_hinged[j]; k >= 0; k = e->next_hinged[k])
			++count;
		e->most_hinged = count > e->most_hinged ? count : e->most_hinged;
	}
}

} // namespace

Bytes seal(uint8_t* dst, size_t body_size)
{
	if (!body_size)
		return {dst, 0};
	const uint16_t crc = crc16(dst + 2, body_size);
	dst[0] = uint8_t(crc), dst[1] = uint8_t(crc >> 8);
	return {dst, body_size + 2};
}

bool is_stopped(const Encoder& encoder)
{
	return encoder.job.task && encoder.job.task->poll();
}

mocpack_Status Encoder::open(const mocpack_Allocator& allocator, const Job& job_)
{
	job = job_, constants = job_.constants;
	grouping = {job.motion.frames, job.group_count, job.first_frame_alone, job.group_frames};
	if (!grouping.valid())
		return MOCPACK_BOUND_NOT_MET;
	plan = {}, rig = {}, record = {}, hinged = false, most_hinged = 0;
	plan.skeleton = job.skeleton, plan.table = job.table;
	plan.unit = job.unit, plan.fine = job.fine;
	const double most = job.settings.max_angle, inertia = job.settings.turn_price * SHELL * SHELL;
	leeway = {most,
			  inertia,
			  inertia / (job.settings.bound * job.settings.bound) +
				  (most > 0 ? job.settings.angle_price / (most * most) : 0.0),
			  job.settings.world_angle,
			  constants.angle_leeway,
			  constants.max_hinge_turn,
			  job.limits ? job.limits->max_angles : nullptr};
	fill_bits(&bits);
	for (int32_t i = 0; i < STEPS; ++i)
		steps[i] = step_of(job.unit, i);
	for (least_splits = 0; grouping.longest_group() > size_t(MAX_BLOCK_FRAMES) << least_splits;)
		++least_splits;
	Arena measuring(nullptr);
	lay_out(&measuring);
	if (!memory_.take_room(allocator, measuring.used()))
		return MOCPACK_NO_MEMORY;
	Arena arena(memory_.data());
	return lay_out(&arena) ? MOCPACK_OK : MOCPACK_BOUND_NOT_MET;
}

// Builds the plan and what follows from it. Returns false if a number of the table is out of range.
bool Encoder::lay_out(Arena* arena)
{
	const size_t joints = job.skeleton->joint_count;
	uint8_t* plan_memory = arena->allocate<uint8_t>(plan_size(joints));
	inverse_axes = arena->allocate<double>(18 * joints);
	usable_splits = arena->allocate<uint8_t>(job.group_count);
	first_hinged = arena->allocate<int32_t>(joints);
	next_hinged = arena->allocate<int32_t>(joints);
	bool* has_hinge = arena->allocate<bool>(joints);
	if (plan_memory)
	{
		if (!build_plan(&plan, plan_memory, nullptr))
			return false;
		std::memset(usable_splits, job.splits, job.group_count);
		for (size_t t = 0; t < plan.track_count; ++t)
		{
			const Track& track = plan.tracks[t];
			if (track.kind == VECTOR_TRACK)
				inverse(track.axes, inverse_axes + 9 * t);
			hinged = hinged || track.hinge >= 0 || track.clamped_hinges;
		}
		list_hinged(this, has_hinge);
	}
	build_rig(&rig, arena, plan, job.settings, job.shares, job.limits);
	return true;
}

mocpack_Status encode_segment(const Encoder& encoder, int32_t* keys, size_t count, Arena* arena,
							  Bytes* segment)
{
	const size_t channels = encoder.plan.channel_count, intervals = KEY_SHARES * count * channels,
				 room = 64 + 12 * channels * count;
	uint8_t *found = arena->allocate<uint8_t>(channels), *dst = arena->allocate<uint8_t>(room);
	TableWriter writer(arena->allocate<SymbolInterval>(intervals), intervals);
	if (!dst)
		return MOCPACK_OK;
	if (!KeySymbols<TableWriter>(writer, encoder.plan, found).sequence(keys, count))
		return MOCPACK_BOUND_NOT_MET;
	*segment = seal(dst, writer.finish(dst + 2, room - 2));
	return segment->size ? MOCPACK_OK : MOCPACK_BOUND_NOT_MET;
}

} // namespace keysine
} // namespace mocpack
