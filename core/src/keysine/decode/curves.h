// From integers to motion: straight lines between keys, sine series on top, and the rotations they mean.
#pragma once
#include "common/quaternion.h"
#include "keysine/decode/plan.h"

namespace mocpack
{
namespace keysine
{

const int32_t LONGEST_BLOCK = MOCPACK_KEYSINE_LONGEST_BLOCK;

inline int32_t padded(int32_t length)
{
	return (length + 8) / 8 * 8;
}

// Sine table of a block of `length` frames: row k (from 1), column t, is sqrt(2 / length) sin(π k t /
// length). Rows have padded(length) columns, zero past the end; row 0 is zero too.
void fill_sines(double* table, int32_t length);

// Values of one channel in frames 0 … length - 1 of a block: from key to key, plus the series.
void block_values(double* values, const double* sines, int32_t length, double key, double next_key,
				  const int32_t* coefficients, double step);

// Local rotations of `count` frames from channels (C, stride) of a rotation track.
void track_rotations(const Track& track, const double* values, int32_t stride, int32_t count,
					 Quat* rotations);

// Local translations of `count` frames from the channels of a position track.
void track_translations(const Track& track, const double* values, int32_t stride, int32_t count,
						Vec3* places);

} // namespace keysine
} // namespace mocpack
