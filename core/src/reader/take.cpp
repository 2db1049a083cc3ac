// Reads frame times, playback settings, gaps and bounds of single joints.
#include <cmath>

#include "reader/chunks.h"
#include "reader/numbers.h"

namespace mocpack
{

bool read_start(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields in = fields_of(chunk, "chunk TIME", error);
	in.check(in.u8() <= 1, ": unknown kind of times");
	motion->info.start_time = in.f64();
	in.check(std::fabs(motion->info.start_time) < MAX_TIME_S, ": the start time is not below 1e9 seconds");
	return in.good();
}

bool read_times(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields in = fields_of(chunk, "chunk TIME", error);
	bool even = !in.u8();
	in.f64();
	if (even)
	{
		in.end();
		return in.good();
	}
	uint64_t frames = motion->info.frame_count;
	double* times = motion->memory.allocate_array<double>(frames);
	if (!times)
		return in.no_memory();
	if (!read_numbers(&in, size_t(frames), 1, times, &motion->memory))
		return false;
	in.check(times[0] == motion->info.start_time, ": the first time differs from the start time");
	for (uint64_t t = 1; t < frames; ++t)
		in.check(times[t] > times[t - 1], ": times must increase");
	in.check(std::fabs(times[frames - 1]) < MAX_TIME_S, ": a time is not below 1e9 seconds");
	motion->info.times = times;
	return in.good();
}

bool read_play(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields in = fields_of(chunk, "chunk play", error);
	uint8_t flags = in.u8(), up = flags >> 1 & 3;
	in.end();
	in.check(flags <= 31 && up <= MOCPACK_AXIS_Z, ": unknown flags");
	motion->info.is_looping = flags & 1;
	motion->info.up = mocpack_Axis(up);
	motion->info.is_left_handed = flags >> 3 & 1;
	motion->info.is_interpolated = flags >> 4 & 1;
	return in.good();
}

namespace
{

// Counts the changes of each joint's flag, and stores them if `gaps` has memory.
size_t read_changes(Fields* in, const mocpack_Info& info, Gaps* gaps)
{
	size_t count = size_t(in->varint(info.joint_count)), found = 0;
	const uint64_t frames = info.frame_count;
	gaps->joint_count = count;
	in->joint_indices(count, info.joint_count, true, gaps->joints);
	for (size_t i = 0; i < count && in->good(); ++i)
	{
		uint8_t first = in->u8();
		in->check(first <= 1, ": a flag must be 0 or 1");
		uint64_t changes = in->varint(frames - 1), at = 0;
		if (gaps->first)
			gaps->first[i] = first, gaps->starts[i] = found;
		for (; changes && in->good(); --changes)
		{
			at += in->varint(frames) + 1;
			in->check(at < frames, ": runs exceed the number of frames");
			if (gaps->changes)
				gaps->changes[found] = at;
			++found;
		}
	}
	in->end();
	return found;
}

} // namespace

bool read_joint_bounds(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields in = fields_of(chunk, "chunk bnds", error);
	const size_t joints = motion->info.joint_count;
	mocpack_JointBounds* bounds = motion->memory.allocate_array<mocpack_JointBounds>(joints);
	if (!bounds)
		return in.no_memory();
	const uint8_t flags = in.u8();
	const size_t count = size_t(in.varint(joints));
	bool right = flags <= 1 && count;
	for (size_t i = 0; i < count && in.good(); ++i)
	{
		// a bound and its measured error, of lengths and of angles
		double own[4] = {0, 0, 0, 0};
		for (int kind = 0; kind <= (flags & 1); ++kind)
			own[2 * kind] = double(in.f32()), own[2 * kind + 1] = measured_of(in.u16());
		right = right && own[0] > 0 && own[0] < 1e39 && own[2] >= 0 && own[2] < 1e39;
		if (own[2] == 0)
			own[2] = own[3] = -1;
		const size_t members = i ? size_t(in.varint(joints)) : joints;
		right = right && members;
		size_t joint = 0;
		for (size_t m = 0; m < members && in.good(); ++m)
		{
			const size_t step = i ? size_t(in.varint(joints)) : m > 0;
			joint += step;
			right = right && joint < joints && (!m || step);
			if (right)
				bounds[joint] = {own[0], own[1], own[2], own[3]};
		}
	}
	in.check(right, ": a bound or a joint index is out of range");
	in.end();
	motion->info.joint_bounds = bounds;
	return in.good();
}

bool read_gaps(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields packed = fields_of(chunk, "chunk vald", error);
	Memory& memory = motion->memory;
	size_t size = 0;
	uint8_t* bytes = inflate_fields(&packed, MAX_RUN_BYTES, &memory, &size);
	if (!bytes)
		return false;
	Gaps& gaps = motion->gaps;
	Fields in = packed.part(bytes, size);
	size_t changes = read_changes(&in, motion->info, &gaps);
	if (!in.good())
		return false;
	gaps.joints = memory.allocate_array<int32_t>(uint64_t(gaps.joint_count) + 1);
	gaps.first = memory.allocate_array<uint8_t>(uint64_t(gaps.joint_count) + 1);
	gaps.starts = memory.allocate_array<size_t>(uint64_t(gaps.joint_count) + 1);
	gaps.changes = memory.allocate_array<uint64_t>(uint64_t(changes) + 1);
	if (!gaps.joints || !gaps.first || !gaps.starts || !gaps.changes)
		return in.no_memory();
	in = packed.part(bytes, size);
	gaps.starts[gaps.joint_count] = read_changes(&in, motion->info, &gaps);
	memory.release(bytes);
	motion->info.has_gaps = gaps.joint_count > 0;
	return true;
}

} // namespace mocpack
