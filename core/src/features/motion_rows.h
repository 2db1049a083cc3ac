// Rows of motions as a motion library keeps them (motion_states.h): floats, or 16 bits per number.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace mocpack
{

// What a column of a row is, which decides how its rounding counts.
enum ColumnKind
{
	PLAIN_COLUMN,  // counts as nothing
	ANGLE_COLUMN,  // radians
	LENGTH_COLUMN, // meters
	TURN_COLUMN,   // one of four columns of a unit quaternion
	COLUMN_KINDS
};

struct RowLayout
{
	size_t width;			 // numbers per row: the root's position first
	const int32_t* kinds;	 // (width)
	const float *low, *high; // (width) limits of joints, and how far they may be exceeded
};

// What storing the rows of a clip gives.
struct RowReport
{
	float origin[3], step;						 // of positions of the root in 16 bits
	float root_error, angle_error, length_error; // the largest, which 16 bits cost
	float is_beyond;							 // 1 if a number is below `low` or above `high`
};

// Looks for numbers of rows (count, width) beyond the layout's limits.
bool is_beyond_limits(const RowLayout& layout, const float* rows, size_t count);

// Rounds rows (count, width) to 16 bits: the root's position to whole steps from the middle of the clip,
// other numbers to half precision.
RowReport round_rows(const RowLayout& layout, const float* rows, size_t count, uint16_t* out);

} // namespace mocpack
