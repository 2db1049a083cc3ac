// Sets up the `keysine` encoder, and writes the keys of its segments.
#include <cmath>
#include <cstring>

#include "common/crc16.h"
#include "keysine/encode/encoder.h"
#include "keysine/format/group.h"

using namespace mocpack;
using namespace mocpack::keysine;

// Writes the checksum of the body at dst + 2. Returns the size of both, 0 if the body is empty.
size_t mocpack::keysine::sealed(uint8_t* dst, size_t body_size)
{
	if (!body_size)
		return 0;
	uint16_t crc = crc16(dst + 2, body_size);
	dst[0] = uint8_t(crc), dst[1] = uint8_t(crc >> 8);
	return body_size + 2;
}

namespace
{

// Lists, for each joint, the children whose subtrees have hinges.
void list_hinged(mocpack_KeysineEncoder* e, Arena* arena)
{
	const mocpack_Skeleton& skeleton = *e->plan.skeleton;
	int32_t joints = int32_t(skeleton.joint_count);
	e->first_hinged = arena->allocate<int32_t>(size_t(joints));
	e->next_hinged = arena->allocate<int32_t>(size_t(joints));
	bool* hinged = arena->allocate<bool>(size_t(joints));
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

size_t mocpack_keysine_axes_scratch(size_t joints)
{
	return plan_size(joints);
}

int mocpack_keysine_axes(const mocpack_Skeleton* skeleton, const int32_t* table, double unit, double fine,
						 double* means, double* axes, void* scratch, mocpack_Fault* fault)
{
	Plan plan = {};
	plan.skeleton = skeleton, plan.table = table;
	plan.unit = unit, plan.fine = fine;
	if (!build_plan(&plan, scratch, fault))
		return 0;
	for (size_t t = 0; t < plan.track_count; ++t)
	{
		const Track& track = plan.tracks[t];
		if (track.kind != VECTOR_TRACK)
			continue;
		std::memcpy(means + 4 * track.joint, track.base, sizeof track.base);
		std::memcpy(axes + 9 * track.joint, track.axes, sizeof track.axes);
	}
	return 1;
}

size_t mocpack_keysine_encoder_size(const mocpack_KeysineJob* job)
{
	size_t joints = job->skeleton->joint_count;
	return sizeof(mocpack_KeysineEncoder) + plan_size(joints) + joints * 21 * sizeof(double) +
		   rig_point_limit(*job->skeleton) * sizeof(Point) + joints * (16 + sizeof(Moments)) +
		   job->group_count + 13 * 64;
}

mocpack_KeysineEncoder* mocpack_keysine_prepare(const mocpack_KeysineJob* job, void* memory)
{
	Arena arena(memory);
	mocpack_KeysineEncoder* e = arena.allocate<mocpack_KeysineEncoder>(1);
	std::memset(static_cast<void*>(e), 0, sizeof(*e));
	e->job = *job;
	e->constants = Constants();
	if (job->constants)
		std::memcpy(static_cast<void*>(&e->constants), job->constants, sizeof e->constants);
	e->grouping = {job->frame_count, job->group_count, job->first_frame_alone, job->group_frames};
	if (!e->grouping.valid())
		return nullptr;
	e->plan.skeleton = job->skeleton;
	e->plan.table = job->table;
	e->plan.unit = job->unit;
	e->plan.fine = job->fine;
	size_t joints = job->skeleton->joint_count;
	if (!build_plan(&e->plan, arena.allocate<uint8_t>(plan_size(joints)), nullptr))
		return nullptr;
	e->inverse_axes = arena.allocate<double>(18 * joints);
	for (size_t t = 0; t < e->plan.track_count; ++t)
		if (e->plan.tracks[t].kind == VECTOR_TRACK)
			inverse(e->plan.tracks[t].axes, e->inverse_axes + 9 * t);
	for (size_t t = 0; t < e->plan.track_count; ++t)
		e->hinged = e->hinged || e->plan.tracks[t].hinge >= 0 || e->plan.tracks[t].clamped_hinges;
	double most = job->settings.max_angle, inertia = job->settings.turn_price * SHELL * SHELL;
	e->leeway = {most,
				 inertia,
				 inertia / (job->settings.bound * job->settings.bound) +
					 (most > 0 ? job->settings.angle_price / (most * most) : 0.0),
				 job->settings.world_angle,
				 e->constants.angle_leeway,
				 e->constants.max_hinge_turn,
				 job->limits ? job->limits->max_angles : nullptr};
	e->usable_splits = arena.allocate<uint8_t>(job->group_count);
	std::memset(e->usable_splits, job->splits, job->group_count);
	while (e->grouping.longest_group() > size_t(MAX_BLOCK_FRAMES) << e->least_splits)
		++e->least_splits;
	fill_bits(&e->bits);
	build_rig(&e->rig, &arena, e->plan, job->settings, job->shares, job->limits);
	list_hinged(e, &arena);
	for (int32_t i = 0; i < STEPS; ++i)
		e->steps[i] = step_of(job->unit, i);
	return e;
}

void mocpack_keysine_watch(mocpack_KeysineEncoder* encoder, float* wanted, float* series, float* steps,
						   int32_t* paces)
{
	encoder->wanted = wanted, encoder->series = series, encoder->used_steps = steps, encoder->paces = paces;
}

size_t mocpack_keysine_channel_count(const mocpack_KeysineEncoder* encoder)
{
	return encoder->plan.channel_count;
}

size_t mocpack_keysine_track_count(const mocpack_KeysineEncoder* encoder)
{
	return encoder->plan.track_count;
}

size_t mocpack_keysine_segment_encode_scratch(const mocpack_KeysineEncoder* encoder, size_t count)
{
	Arena arena(nullptr);
	arena.allocate<uint8_t>(encoder->plan.channel_count);
	arena.allocate<SymbolInterval>(KEY_SHARES * count * encoder->plan.channel_count);
	return arena.used();
}

size_t mocpack_keysine_encode_segment(const mocpack_KeysineEncoder* encoder, int32_t* keys, size_t count,
									  uint8_t* dst, size_t dst_size, void* scratch)
{
	Arena arena(scratch);
	uint8_t* found = arena.allocate<uint8_t>(encoder->plan.channel_count);
	size_t room = KEY_SHARES * count * encoder->plan.channel_count;
	TableWriter writer(arena.allocate<SymbolInterval>(room), room);
	if (!KeySymbols<TableWriter>(writer, encoder->plan, found).sequence(keys, count))
		return 0;
	return sealed(dst, writer.finish(dst + 2, dst_size - 2));
}
