// Reads HING: the axes that joints turn about or slide along.
#include <cmath>
#include <cstring>

#include "math/quaternion.h"
#include "reader/chunk_reader.h"
#include "reader/numbers.h"

namespace mocpack
{

namespace
{

const size_t MAX_HINGES = 65535, MAX_HINGE_NAME_BYTES = 1024;
const size_t MAX_ROW_BYTES = 1 << 24; // after inflation
const uint8_t BY_ROWS = 0, BY_CHANNELS = 1;
const uint8_t OTHER_AXIS = 6, SLIDES = 8, HAS_LOWEST = 16, HAS_HIGHEST = 32;
const double AXIS_TOLERANCE = 1e-6, NEARLY_PARALLEL = 1e-3;
const int MAX_TURNS = 2, MAX_SLIDES = 3;
const size_t MAX_CHANNEL_NAME_BYTES = 11; // ".Xrotation" and a zero

Vec3 unit_axis(int letter)
{
	double axis[3] = {0, 0, 0};
	axis[letter] = 1;
	return load_vec(axis);
}

// Returns whether the Gram matrix of up to three unit vectors has no eigenvalue below `least`. That holds if
// all principal minors stay positive after subtracting `least` from the diagonal.
bool are_axes_independent(const double* axes, int count, double least)
{
	const double d = 1 - least;
	double sum = 0, product = 1;
	bool apart = true;
	for (int i = 0; i < count; ++i)
		for (int k = i + 1; k < count; ++k)
		{
			double shared = dot(load_vec(axes + 3 * i), load_vec(axes + 3 * k));
			sum += shared * shared, product *= shared;
			apart = apart && shared * shared <= d * d;
		}
	return apart && (count < 3 || d * (d * d - sum) + 2 * product >= 0);
}

struct HingeReader : ChunkReader
{
	const mocpack_Info& info;
	Memory& memory;
	size_t count = 0;
	mocpack_Hinge* rows = nullptr; // in file order
	uint8_t* kinds = nullptr;

	HingeReader(const Fields& fields, mocpack_Motion* own)
		: ChunkReader(fields, own), info(own->info), memory(own->memory)
	{
	}

	void lay_out(size_t found)
	{
		count = found;
		rows = array<mocpack_Hinge>(count);
		kinds = array<uint8_t>(count);
	}

	bool has_channels(size_t j) const
	{
		return motion->channels[j].turns > 0 && motion->channels[j].turns <= MAX_TURNS;
	}

	// Creates hinges for every joint with one or two rotation channels.
	void by_channels()
	{
		size_t found = 0;
		uint64_t letters = 0;
		for (size_t j = 0; j < info.joint_count; ++j)
			if (has_channels(j))
			{
				found += motion->channels[j].turns;
				letters += motion->channels[j].turns * (info.names[j].size + MAX_CHANNEL_NAME_BYTES);
			}
		in.check(found > 0, ": hinges of channels, but no joint has one or two rotation channels");
		lay_out(found);
		char* room = array<char>(letters);
		const uint8_t* bits = in.raw((2 * count + 7) / 8);
		for (size_t j = 0, h = 0; j < info.joint_count && in.good() && bits; ++j)
			for (int i = 0; has_channels(j) && i < motion->channels[j].turns; ++i, ++h)
			{
				rows[h].joint = int32_t(j);
				rows[h].name = channel_name(info.names[j], motion->channels[j].codes[i], &room);
				kinds[h] = uint8_t((is_set(bits, 2 * h) ? HAS_LOWEST : 0) |
								   (is_set(bits, 2 * h + 1) ? HAS_HIGHEST : 0));
				Vec3 axis = unit_axis(motion->channels[j].axis(i));
				if (motion->channel_frames)
					axis = rotate(load_quat(motion->channel_frames + 4 * j), axis);
				store(rows[h].axis, axis);
			}
		for (size_t b = 2 * count; bits && b % 8; ++b)
			in.check(!is_set(bits, b), ": bits after the last hinge must be 0");
	}

	// joint.Xrotation for BVH, joint.rx for ASF.
	static mocpack_Text channel_name(const mocpack_Text& joint, uint8_t code, char** room)
	{
		const bool fixed = code >= RotationChannels::FIRST_FIXED;
		char *start = *room, *at = start + joint.size;
		std::memcpy(start, joint.bytes, joint.size);
		*at++ = '.';
		if (fixed)
			*at++ = 'r';
		*at++ = char((fixed ? 'x' : 'X') + (code - RotationChannels::FIRST) % 3);
		for (const char* rest = fixed ? "" : "rotation"; *rest;)
			*at++ = *rest++;
		*room = at + 1; // past the zero
		return {start, size_t(at - start)};
	}

	void by_rows()
	{
		size_t found = size_t(in.varint(MAX_HINGES));
		in.check(found > 0, ": expected at least one hinge");
		lay_out(found);
		char* room = array<char>(uint64_t(in.left()) + count);
		int64_t joint = -1;
		for (size_t h = 0; h < count && in.good(); ++h)
		{
			int64_t step = in.zigzag();
			in.check(step > -MAX_STEP && step < MAX_STEP, ": joint index out of range");
			joint += in.good() ? step + 1 : 0;
			in.check(joint >= 0 && joint < int64_t(info.joint_count), ": joint index out of range");
			rows[h].joint = int32_t(joint);
		}
		const uint8_t* given = in.raw(count);
		size_t others = 0;
		for (size_t h = 0; h < count && given && in.good(); ++h)
		{
			in.check(given[h] < 2 * HAS_HIGHEST && given[h] % SLIDES <= OTHER_AXIS,
					 ": unknown kind of hinge");
			kinds[h] = given[h];
			rows[h].slides = (given[h] & SLIDES) != 0;
			others += given[h] % SLIDES == OTHER_AXIS;
		}
		for (size_t h = 0; h < count && in.good(); ++h)
			rows[h].name = name(MAX_HINGE_NAME_BYTES, &room);
		axes(others);
	}

	void axes(size_t others)
	{
		Fields part = in.sized();
		double* numbers = array<double>(3 * uint64_t(others));
		if (in.good())
			read_numbers(&part, others, 3, numbers, &memory);
		in.join(part);
		const double* next = numbers;
		for (size_t h = 0; h < count && in.good(); ++h)
		{
			int axis = kinds[h] % SLIDES;
			if (axis < OTHER_AXIS)
				store(rows[h].axis, (axis < 3 ? 1.0 : -1.0) * unit_axis(axis % 3));
			else
				store(rows[h].axis, load_vec(next)), next += 3;
		}
		memory.release(numbers);
	}

	void limits()
	{
		size_t limited = 0;
		for (size_t h = 0; h < count && in.good(); ++h)
			limited += ((kinds[h] & HAS_LOWEST) > 0) + ((kinds[h] & HAS_HIGHEST) > 0);
		double* numbers = array<double>(limited);
		if (!in.good() || !read_numbers(&in, limited, 1, numbers, &memory))
			return;
		const double* next = numbers;
		for (size_t h = 0; h < count; ++h)
		{
			rows[h].lower_limit = kinds[h] & HAS_LOWEST ? *next++ : -HUGE_VAL;
			rows[h].upper_limit = kinds[h] & HAS_HIGHEST ? *next++ : HUGE_VAL;
			in.check(rows[h].lower_limit <= rows[h].upper_limit, ": a lower limit is above the upper limit");
		}
		memory.release(numbers);
	}

	bool is_translated(int32_t joint) const
	{
		for (size_t m = 0; m < info.translated_count; ++m)
			if (info.translated_joints[m] == joint)
				return true;
		return false;
	}

	// Sorts hinges by joint, keeping their order within a joint.
	void sort_by_joint()
	{
		size_t joints = info.joint_count;
		size_t* starts = array<size_t>(joints);
		int32_t* sorted = array<int32_t>(count);
		int32_t* row_of = array<int32_t>(count);
		uint8_t* slides = array<uint8_t>(count);
		double* axes_of = array<double>(3 * uint64_t(count));
		double* limits_of = array<double>(2 * uint64_t(count));
		if (!in.good())
			return;
		for (size_t h = 0; h < count; ++h)
			++starts[rows[h].joint + 1];
		for (size_t j = 0; j < joints; ++j)
			starts[j + 1] += starts[j];
		for (size_t h = 0; h < count; ++h)
		{
			size_t to = starts[rows[h].joint]++;
			sorted[to] = rows[h].joint;
			row_of[to] = int32_t(h);
			slides[to] = rows[h].slides != 0;
			store(axes_of + 3 * to, load_vec(rows[h].axis));
			limits_of[2 * to] = rows[h].lower_limit, limits_of[2 * to + 1] = rows[h].upper_limit;
		}
		memory.release(starts);
		motion->info.hinge_count = count;
		motion->info.hinges = rows;
		motion->hinge_joints = sorted, motion->hinge_rows = row_of;
		motion->hinge_slides = slides, motion->hinge_axes = axes_of;
		motion->hinge_limits = limits_of;
		for (size_t h = 0; h < count && in.good();)
			h = check_joint(h);
	}

	// Checks the hinges of one joint, starting at row `first`; returns the first row of the next joint.
	size_t check_joint(size_t first)
	{
		const uint8_t* slides = motion->hinge_slides;
		const int32_t* joints = motion->hinge_joints;
		size_t end = first, turning = 0, sliding = 0;
		for (; end < count && joints[end] == joints[first]; ++end)
		{
			in.check(!slides[end] || !turning,
					 ": hinges of a joint that slide must come before those that turn");
			++(slides[end] ? sliding : turning);
			Vec3 axis = load_vec(motion->hinge_axes + 3 * end);
			in.check(std::fabs(std::sqrt(dot(axis, axis)) - 1) < AXIS_TOLERANCE,
					 ": an axis is not a unit vector");
		}
		in.check(turning <= MAX_TURNS && sliding <= MAX_SLIDES,
				 ": a joint has more than 2 turning or 3 sliding hinges");
		in.check(!sliding || is_translated(joints[first]), ": a joint slides but has no translation");
		const double least = NEARLY_PARALLEL * NEARLY_PARALLEL, *axes_of = motion->hinge_axes + 3 * first;
		if (in.good())
			in.check(are_axes_independent(axes_of, int(sliding), least) &&
						 are_axes_independent(axes_of + 3 * sliding, int(turning), least),
					 ": axes of a joint are nearly parallel");
		return end;
	}

	static const int64_t MAX_STEP = 1 << 20;
};

// Returns the deflate dictionary: joint names, since hinge names mostly repeat them.
uint8_t* names_of_joints(const mocpack_Info& info, Memory* memory, size_t* size)
{
	uint64_t letters = 0;
	for (size_t j = 0; j < info.joint_count; ++j)
		letters += info.names[j].size + 1;
	uint8_t *dictionary = memory->allocate_array<uint8_t>(letters + 1), *to = dictionary;
	for (size_t j = 0; dictionary && j < info.joint_count; ++j, ++to)
	{
		std::memcpy(to, info.names[j].bytes, info.names[j].size);
		to += info.names[j].size;
	}
	*size = size_t(letters > 1 ? letters - 1 : letters); // keep one zero if all names are empty
	return dictionary;
}

} // namespace

bool read_hinges(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	Memory& memory = motion->memory;
	Fields body = fields_of(chunk, "chunk HING", error);
	uint8_t kind = body.u8();
	body.check(kind <= BY_CHANNELS, ": unknown kind");
	if (!body.good())
		return false;
	HingeReader reader(body, motion);
	uint8_t* inflated = nullptr;
	if (kind == BY_ROWS)
	{
		size_t size = 0, names = 0;
		uint8_t* dictionary = names_of_joints(motion->info, &memory, &names);
		if (!dictionary)
			return body.no_memory();
		inflated = inflate_fields(&body, MAX_ROW_BYTES, &memory, &size, dictionary, names);
		memory.release(dictionary);
		if (!inflated)
			return false;
		reader.in = body.part(inflated, size);
		reader.by_rows();
	}
	else
		reader.by_channels();
	if (reader.in.good())
		reader.limits();
	if (reader.in.good())
		reader.sort_by_joint();
	memory.release(reader.kinds);
	memory.release(inflated);
	return reader.in.good();
}

} // namespace mocpack
