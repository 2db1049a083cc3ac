// What joints turn about and slide along: HING, which keysine decodes by.
#include <cmath>
#include <cstring>

#include "common/quaternion.h"
#include "reader/chunks.h"
#include "reader/json.h"
#include "reader/numbers.h"

namespace mocpack
{

namespace
{

const size_t MOST_HINGES = 65535, LONGEST_HINGE_NAME = 1024;
const size_t MOST_ROWS = 1 << 24; // bytes, inflated
const uint8_t BY_ROWS = 0, BY_CHANNELS = 1;
const uint8_t OTHER_AXIS = 6, SLIDES = 8, HAS_LOWEST = 16, HAS_HIGHEST = 32;
const double AXIS_TOLERANCE = 1e-6, NEARLY_PARALLEL = 1e-3;
const int MOST_TURNS = 2, MOST_SLIDES = 3;

// Rows as the file has them, before they are ordered by joint.
struct Rows
{
	size_t count;
	int32_t* joints;
	uint8_t* kinds;
	double* axes; // (count, 3)
};

Vec3 unit_axis(int letter)
{
	double axis[3] = {0, 0, 0};
	axis[letter] = 1;
	return load_vec(axis);
}

// Whether up to three unit vectors point so different ways that the smallest eigenvalue of their products
// with each other is at least so much: with that taken off the diagonal, all principal minors are still
// positive.
bool are_spread(const double* axes, int count, double least)
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

struct HingeReader
{
	Fields in;
	mocpack_Motion* motion;
	Memory& memory;
	Rows rows = {};
	bool starved = false;

	template <typename T> T* array(uint64_t count)
	{
		T* found = in.good() ? memory.take_array<T>(count + 1) : nullptr;
		starved = starved || (in.good() && !found);
		return found;
	}

	bool going() const
	{
		return in.good() && !starved;
	}

	void lay_out(size_t count)
	{
		rows.count = count;
		rows.joints = array<int32_t>(count);
		rows.kinds = array<uint8_t>(count);
		rows.axes = array<double>(3 * uint64_t(count));
	}

	// Every joint of one or two rotation channels, about their axes.
	void by_channels()
	{
		const mocpack_Info& info = motion->info;
		size_t count = 0;
		for (size_t j = 0; j < info.joint_count; ++j)
			count += motion->channels[j].turns <= MOST_TURNS ? motion->channels[j].turns : 0;
		in.check(count > 0, ": hinges of channels, but no joint has one or two");
		lay_out(count);
		const uint8_t* bits = in.raw((2 * count + 7) / 8);
		for (size_t j = 0, h = 0; j < info.joint_count && going() && bits; ++j)
			for (int i = 0; i < motion->channels[j].turns && motion->channels[j].turns <= MOST_TURNS;
				 ++i, ++h)
			{
				Vec3 axis = unit_axis(motion->channels[j].letters[i]);
				if (motion->channel_frames)
					axis = rotate(load_quat(motion->channel_frames + 4 * j), axis);
				rows.joints[h] = int32_t(j);
				rows.kinds[h] = uint8_t((bits[2 * h / 8] >> 2 * h % 8 & 1 ? HAS_LOWEST : 0) |
										(bits[(2 * h + 1) / 8] >> (2 * h + 1) % 8 & 1 ? HAS_HIGHEST : 0));
				store(rows.axes + 3 * h, axis);
			}
		for (size_t b = 2 * count; bits && b % 8; ++b)
			in.check(!(bits[b / 8] >> b % 8 & 1), ": bits beyond the last hinge");
	}

	void by_rows()
	{
		const int64_t joints = int64_t(motion->info.joint_count);
		size_t count = size_t(in.varint(MOST_HINGES));
		in.check(count > 0, ": no hinges");
		lay_out(count);
		int64_t joint = -1;
		for (size_t h = 0; h < count && going(); ++h)
		{
			int64_t step = in.folded();
			in.check(step > -MOST_STEP && step < MOST_STEP, ": a joint that is not there");
			joint += in.good() ? step + 1 : 0;
			in.check(joint >= 0 && joint < joints, ": a joint that is not there");
			rows.joints[h] = int32_t(joint);
		}
		const uint8_t* kinds = in.raw(count);
		size_t others = 0;
		for (size_t h = 0; h < count && kinds && going(); ++h)
		{
			in.check(kinds[h] < 2 * HAS_HIGHEST && kinds[h] % SLIDES <= OTHER_AXIS,
					 ": an unknown kind of hinge");
			rows.kinds[h] = kinds[h];
			others += kinds[h] % SLIDES == OTHER_AXIS;
		}
		for (size_t h = 0; h < count && going(); ++h)
		{
			size_t size = size_t(in.varint(LONGEST_HINGE_NAME));
			const uint8_t* name = in.raw(size);
			in.check(!name || is_utf8(name, size), ": a name that is not UTF-8");
		}
		axes(others);
	}

	void axes(size_t others)
	{
		size_t size = size_t(in.varint(in.left()));
		const uint8_t* bytes = in.raw(size);
		double* numbers = array<double>(3 * uint64_t(others));
		Fields part = in.part(bytes, bytes ? size : 0);
		if (!going() || !read_numbers(&part, others, 3, numbers, &memory))
		{
			if (in.good() && !starved)
				failed = true;
			return;
		}
		const double* next = numbers;
		for (size_t h = 0; h < rows.count; ++h)
		{
			int axis = rows.kinds[h] % SLIDES;
			if (axis < OTHER_AXIS)
				store(rows.axes + 3 * h, (axis < 3 ? 1.0 : -1.0) * unit_axis(axis % 3));
			else
				std::memcpy(rows.axes + 3 * h, next, 3 * sizeof(double)), next += 3;
		}
		memory.give_back(numbers);
	}

	// Nobody needs them here, but what are none are no file.
	void limits()
	{
		size_t count = 0;
		for (size_t h = 0; h < rows.count && going(); ++h)
			count += ((rows.kinds[h] & HAS_LOWEST) > 0) + ((rows.kinds[h] & HAS_HIGHEST) > 0);
		double* numbers = array<double>(count);
		if (!going() || !read_numbers(&in, count, 1, numbers, &memory))
		{
			failed = true;
			return;
		}
		const double* next = numbers;
		for (size_t h = 0; h < rows.count; ++h)
		{
			bool low = rows.kinds[h] & HAS_LOWEST, high = rows.kinds[h] & HAS_HIGHEST;
			in.check(!low || !high || next[0] <= next[1], ": limits that are no range");
			next += low + high;
		}
		memory.give_back(numbers);
	}

	bool is_translated(int32_t joint) const
	{
		const mocpack_Info& info = motion->info;
		for (size_t m = 0; m < info.translated_count; ++m)
			if (info.translated_joints[m] == joint)
				return true;
		return false;
	}

	// By joint, those of one joint in their order.
	void put_in_order()
	{
		size_t joints = motion->info.joint_count;
		size_t* starts = array<size_t>(joints);
		int32_t* sorted = array<int32_t>(rows.count);
		uint8_t* slides = array<uint8_t>(rows.count);
		double* axes_of = array<double>(3 * uint64_t(rows.count));
		if (!going())
			return;
		for (size_t h = 0; h < rows.count; ++h)
			++starts[rows.joints[h] + 1];
		for (size_t j = 0; j < joints; ++j)
			starts[j + 1] += starts[j];
		for (size_t h = 0; h < rows.count; ++h)
		{
			size_t to = starts[rows.joints[h]]++;
			sorted[to] = rows.joints[h];
			slides[to] = (rows.kinds[h] & SLIDES) != 0;
			std::memcpy(axes_of + 3 * to, rows.axes + 3 * h, 3 * sizeof(double));
		}
		memory.give_back(starts);
		motion->hinge_count = rows.count;
		motion->hinge_joints = sorted, motion->hinge_slides = slides, motion->hinge_axes = axes_of;
		for (size_t h = 0; h < rows.count && going();)
			h = check_joint(h);
	}

	// The hinges of one joint from row h on; returns where the next one's begin.
	size_t check_joint(size_t first)
	{
		const uint8_t* slides = motion->hinge_slides;
		const int32_t* joints = motion->hinge_joints;
		size_t end = first, turning = 0, sliding = 0;
		for (; end < motion->hinge_count && joints[end] == joints[first]; ++end)
		{
			in.check(!slides[end] || !turning, ": a joint that turns before it slides");
			++(slides[end] ? sliding : turning);
			Vec3 axis = load_vec(motion->hinge_axes + 3 * end);
			in.check(std::fabs(std::sqrt(dot(axis, axis)) - 1) < AXIS_TOLERANCE,
					 ": axes that are no unit vectors");
		}
		in.check(turning <= MOST_TURNS && sliding <= MOST_SLIDES, ": a joint of too many hinges");
		in.check(!sliding || is_translated(joints[first]), ": a joint that slides, but is not translated");
		const double least = NEARLY_PARALLEL * NEARLY_PARALLEL, *axes_of = motion->hinge_axes + 3 * first;
		if (going())
			in.check(are_spread(axes_of, int(sliding), least) &&
						 are_spread(axes_of + 3 * sliding, int(turning), least),
					 ": axes of a joint that point the same way");
		return end;
	}

	bool failed = false;
	static const int64_t MOST_STEP = 1 << 20;
};

} // namespace

bool read_hinges(const Chunk& chunk, mocpack_Motion* motion, mocpack_Error* error)
{
	const mocpack_Info& info = motion->info;
	Memory& memory = motion->memory;
	Fields body = fields_of(chunk, "chunk HING", error);
	uint8_t kind = body.u8();
	body.check(kind <= BY_CHANNELS, ": an unknown kind");
	if (!body.good())
		return false;
	HingeReader reader = {body, motion, memory};
	uint8_t* inflated = nullptr;
	if (kind == BY_ROWS)
	{
		size_t size = 0, names = 0;
		for (size_t j = 0; j < info.joint_count; ++j)
			names += info.names[j].size + 1;
		uint8_t* dictionary = memory.take_array<uint8_t>(uint64_t(names) + 1);
		if (!dictionary)
			return no_memory(error, "hinges");
		uint8_t* to = dictionary;
		for (size_t j = 0; j < info.joint_count; ++j, ++to)
		{
			std::memcpy(to, info.names[j].bytes, info.names[j].size);
			to += info.names[j].size;
		}
		names = names > 1 ? names - 1 : names; // one zero where there is nothing else
		inflated = inflate_fields(&body, MOST_ROWS, &memory, &size, dictionary, names);
		memory.give_back(dictionary);
		if (!inflated)
			return false;
		reader.in = body.part(inflated, size);
		reader.by_rows();
	}
	else
		reader.by_channels();
	if (reader.going() && !reader.failed)
		reader.limits();
	if (reader.going() && !reader.failed)
		reader.put_in_order();
	memory.give_back(inflated);
	if (reader.starved)
		return no_memory(error, "hinges");
	return reader.in.good() && !reader.failed;
}

} // namespace mocpack
