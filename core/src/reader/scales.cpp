// Reads SCAL: constant and moving scales of joints.
#include <cmath>
#include <cstring>

#include "math/elementary.h"
#include "reader/chunks.h"
#include "reader/numbers.h"

namespace mocpack
{

namespace
{

enum ScaleFlags
{
	HAS_CONSTANT = 1,
	HAS_MOVING = 2
};

const double MAX_SCALE = 1e6, MAX_SCALED_POINT_M = 1e6;
const double MAX_SCALE_EXPONENT = 40; // power of two

bool are_scales(const double* numbers, uint64_t count)
{
	for (uint64_t i = 0; i < count; ++i)
		if (!(std::fabs(numbers[i]) <= MAX_SCALE)) // also true for NaN
			return false;
	return true;
}

// Reads the constant scales of the joints whose bit is set.
bool read_constant(Fields* in, mocpack_Motion* motion)
{
	Memory& memory = motion->memory;
	const size_t joints = motion->info.joint_count;
	const uint8_t* bits = in->raw((joints + 7) / 8);
	Fields part = in->sized();
	if (!in->good())
		return false;
	const size_t count = count_set(bits, joints);
	double* scales = memory.allocate_array<double>(3 * uint64_t(joints));
	double* numbers = memory.allocate_array<double>(3 * uint64_t(count) + 1);
	if (!scales || !numbers)
		return in->no_memory();
	if (!read_numbers(&part, count, 3, numbers, &memory))
		return false;
	in->check(are_scales(numbers, 3 * count), ": a scale exceeds 1e6");
	const double* next = numbers;
	for (size_t j = 0; j < joints; ++j)
		for (size_t c = 0; c < 3; ++c)
			scales[3 * j + c] = is_set(bits, j) ? *next++ : 1.0;
	memory.release(numbers);
	motion->info.scales = scales;
	return in->good();
}

// Skips the constant scales.
void skip_constant(Fields* in, size_t joints)
{
	in->raw((joints + 7) / 8);
	in->raw(in->varint());
}

} // namespace

bool read_scaled_joints(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields in = fields_of(chunk, "chunk SCAL", error);
	mocpack_Info& info = motion->info;
	const uint8_t flags = in.u8();
	in.check(flags && flags <= HAS_CONSTANT + HAS_MOVING, ": unknown flags");
	if (!in.good() || (flags & HAS_CONSTANT && !read_constant(&in, motion)))
		return false;
	if (!(flags & HAS_MOVING))
		return true;
	int32_t* joints = motion->memory.allocate_array<int32_t>(uint64_t(info.joint_count) + 1);
	if (!joints)
		return in.no_memory();
	info.scaled_count = size_t(in.varint(info.joint_count));
	in.joint_indices(info.scaled_count, info.joint_count, true, joints);
	info.scaled_joints = joints;
	in.check(info.scaled_count > 0, ": moving scales without a joint");
	return in.good();
}

bool read_moving_scales(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Fields in = fields_of(chunk, "chunk SCAL", error);
	const mocpack_Info& info = motion->info;
	if (in.u8() & HAS_CONSTANT)
		skip_constant(&in, info.joint_count);
	if (!info.scaled_count)
	{
		in.end();
		return in.good();
	}
	in.varint(); // their number is known
	in.joint_indices(info.scaled_count, info.joint_count, true, nullptr);
	const uint64_t frames = info.frame_count, columns = 3 * uint64_t(info.scaled_count);
	// no overflow: frames × joints is at most 16384 × the bytes of the file
	motion->moving_scales = motion->memory.allocate_array<double>(frames * columns);
	if (!motion->moving_scales)
		return in.no_memory();
	if (!read_numbers(&in, size_t(frames), size_t(columns), motion->moving_scales, &motion->memory, 0,
					  &SERIES_CODERS))
		return false;
	in.check(are_scales(motion->moving_scales, frames * columns), ": a scale exceeds 1e6");
	return in.good();
}

namespace
{

// Writes powers of two (J), by which the codec scales lengths in each joint's frame.
void scale_powers(const mocpack_Info& info, double* powers)
{
	// first, sums of logarithms along the skeleton
	for (size_t j = 0; j < info.joint_count; ++j)
	{
		double sum = 0;
		for (size_t c = 0; c < 3; ++c)
		{
			const double size = std::fabs(info.scales[3 * j + c]);
			sum += size > 0 ? math::log2(size) : 0;
		}
		powers[j] = sum / 3 + (info.parents[j] < 0 ? 0 : powers[info.parents[j]]);
	}
	for (size_t j = 0; j < info.joint_count; ++j)
	{
		double exponent = std::nearbyint(powers[j]);
		exponent = exponent < -MAX_SCALE_EXPONENT ? -MAX_SCALE_EXPONENT : exponent;
		powers[j] = std::ldexp(1.0, int(exponent < MAX_SCALE_EXPONENT ? exponent : MAX_SCALE_EXPONENT));
	}
}

// Copies points (count, 3), multiplied by the power of their joint, or of the parent for offsets.
double* scaled_points(const mocpack_Motion& motion, const double* points, const int32_t* joints, size_t count,
					  const double* powers, Memory* memory)
{
	double* out = memory->allocate_array<double>(3 * uint64_t(count) + 1);
	for (size_t i = 0; out && i < count; ++i)
	{
		// an added origin shifts the joint indices of the tree by one
		const int32_t joint =
			joints ? joints[i] - int32_t(motion.origins) : int32_t(i) - int32_t(motion.origins);
		const int32_t of = joints ? joint : joint < 0 ? -1 : motion.info.parents[joint];
		for (size_t c = 0; c < 3; ++c)
			out[3 * i + c] = points[3 * i + c] * (of < 0 ? 1.0 : powers[of]);
	}
	return out;
}

bool are_in_range(const double* points, size_t count)
{
	for (size_t i = 0; i < 3 * count; ++i)
		if (std::fabs(points[i]) > MAX_SCALED_POINT_M)
			return false;
	return true;
}

} // namespace

bool apply_constant_scales(mocpack_Motion* motion, mocpack_Error* error)
{
	const mocpack_Info& info = motion->info;
	mocpack_Skeleton& tree = motion->tree;
	if (!info.scales)
		return true;
	Memory& memory = motion->memory;
	double* powers = memory.allocate_array<double>(uint64_t(info.joint_count) + 1);
	double* factors = memory.allocate_array<double>(uint64_t(info.translated_count) + 1);
	if (!powers || !factors)
		return no_memory(error, "chunk SCAL");
	scale_powers(info, powers);
	double* offsets = scaled_points(*motion, tree.offsets, nullptr, tree.joint_count, powers, &memory);
	double* ends = scaled_points(*motion, tree.end_sites, tree.end_joints, tree.end_count, powers, &memory);
	if (!offsets || !ends)
		return no_memory(error, "chunk SCAL");
	if (!are_in_range(offsets, tree.joint_count) || !are_in_range(ends, tree.end_count))
	{
		ErrorMessage(error, MOCPACK_CORRUPT) << "chunk SCAL: scaled offsets exceed 1e6 meters";
		return false;
	}
	tree.offsets = offsets, tree.end_sites = ends;
	for (size_t i = 0; i < info.translated_count; ++i)
	{
		const int32_t parent = info.parents[info.translated_joints[i]];
		factors[i] = parent < 0 ? 1.0 : 1.0 / powers[parent];
	}
	motion->translation_factors = factors;
	for (size_t h = 0; h < info.hinge_count; ++h)
	{
		const int32_t parent = info.parents[motion->hinge_joints[h] - int32_t(motion->origins)];
		for (size_t i = 0; motion->hinge_slides[h] && parent >= 0 && i < 2; ++i)
			motion->hinge_limits[2 * h + i] *= powers[parent];
	}
	memory.release(powers);
	return true;
}

} // namespace mocpack
