// Rounds rows of motions to 16 bits, and looks for joints beyond their limits.
#include "features/motion_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "features/motion_states.h"

namespace mocpack
{
namespace
{

const float STEPS = 32767; // of a position to each side of the middle of its clip
const float MIN_EXTENT = 1e-6f;

uint32_t bits_of(float value)
{
	uint32_t bits;
	std::memcpy(&bits, &value, sizeof bits);
	return bits;
}

// Rounds to the nearest number of half precision; ties go to the even one.
uint16_t to_half(float value)
{
	const uint32_t own = bits_of(value), sign = own >> 16 & 0x8000, bits = own & 0x7fffffff;
	if (bits >= 0x47800000) // 2^16 and more
		return uint16_t(sign | (bits > 0x7f800000 ? 0x7e00 : 0x7c00));
	if (bits < 0x38800000) // multiples of 2^-24, as floats from 0.5 on are
		return uint16_t(sign | (bits_of(std::fabs(value) + 0.5f) - bits_of(0.5f)));
	return uint16_t(sign | (bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13);
}

// Sets origin and step, so that all positions are within STEPS steps of the origin.
void set_grid(const RowLayout& layout, const float* rows, size_t count, RowReport* report)
{
	float extent = MIN_EXTENT;
	for (size_t axis = 0; axis < 3; ++axis)
	{
		float low = rows[axis], high = rows[axis];
		for (size_t t = 1; t < count; ++t)
		{
			low = std::min(low, rows[t * layout.width + axis]);
			high = std::max(high, rows[t * layout.width + axis]);
		}
		report->origin[axis] = (low + high) / 2;
		extent = std::max(extent, high - low);
	}
	report->step = extent / (2 * STEPS);
}

// Rounds a position, and returns the square of its error.
float round_position(const float* position, const RowReport& report, uint16_t* out)
{
	float sum = 0;
	for (size_t axis = 0; axis < 3; ++axis)
	{
		const float wanted = std::nearbyint((position[axis] - report.origin[axis]) / report.step);
		const float steps = std::min(std::max(wanted, -STEPS), STEPS);
		const float error = report.origin[axis] + report.step * steps - position[axis];
		out[axis] = uint16_t(int16_t(steps)), sum += error * error;
	}
	return sum;
}

} // namespace

bool is_beyond_limits(const RowLayout& layout, const float* rows, size_t count)
{
	bool is_beyond = false;
	for (size_t t = 0; t < count; ++t)
		for (size_t c = 0; c < layout.width; ++c)
		{
			const float value = rows[t * layout.width + c];
			is_beyond |= (value < layout.low[c]) | (value > layout.high[c]);
		}
	return is_beyond;
}

RowReport round_rows(const RowLayout& layout, const float* rows, size_t count, uint16_t* out)
{
	RowReport report = {};
	set_grid(layout, rows, count, &report);
	float root = 0, largest[COLUMN_KINDS] = {}; // squares
	for (size_t t = 0; t < count; ++t, rows += layout.width, out += layout.width)
	{
		root = std::max(root, round_position(rows, report, out));
		float sum = 0; // of a quaternion's columns so far
		size_t part = 0;
		for (size_t c = 3; c < layout.width; ++c)
		{
			out[c] = to_half(rows[c]);
			const float error = states::half_to_float(out[c]) - rows[c];
			const bool continues = layout.kinds[c] == TURN_COLUMN && part++ & 3;
			sum = error * error + (continues ? sum : 0);
			largest[layout.kinds[c]] = std::max(largest[layout.kinds[c]], sum);
		}
	}
	report.root_error = std::sqrt(root);
	// half the angle between two unit quaternions is about the length of their difference
	report.angle_error = std::max(std::sqrt(largest[ANGLE_COLUMN]), 2 * std::sqrt(largest[TURN_COLUMN]));
	report.length_error = std::sqrt(largest[LENGTH_COLUMN]);
	return report;
}

} // namespace mocpack
