// Reconstructs motion: lines between key poses, plus sine series, converted to rotations.
#pragma once
#include "keysine/format/symbols.h"
#include "math/quaternion.h"

namespace mocpack
{
namespace keysine
{

inline int32_t padded(int32_t length)
{
	return (length + 8) / 8 * 8;
}

// Fills rows `first` to `end` - 1 of the sine table for blocks of `length` frames: row k, column t, is sqrt(2
// / length) sin(π k t / length). Rows have padded(length) columns, with zeros at the end. Returns the number
// of filled rows.
int32_t fill_sines(double* table, int32_t length, int32_t first, int32_t end);

// Last slow frequency and last frequency that is not fast, in hertz: the bands of predictors.
const int32_t SLOW = 5, FAST = 15;

inline bool in_band(int32_t band, int32_t normalized_frequency)
{
	return band == 0 || (band == 1	 ? normalized_frequency <= SLOW
						 : band == 2 ? normalized_frequency > SLOW
									 : normalized_frequency > FAST);
}

// The sine series of a block, by channel: the coefficients plus the prediction from earlier channels.
struct SeriesBlock
{
	const Predictor* predictors; // sorted by channel
	size_t predictor_count;
	int32_t tempo, width;
	double* series;	  // (channels, width): coefficient k at index k
	int32_t* extents; // (channels): index of the last nonzero coefficient

	// Fills the row of a channel from coefficients 1 … reach of n. `next` is the index of its first
	// predictor. Returns the first predictor of the next channel.
	size_t fill(int32_t channel, const int32_t* values, int32_t reach, int32_t n, double step,
				size_t next) const;
	// Fills only the prediction; same return value.
	size_t predict_series(int32_t channel, int32_t n, size_t next) const;
};

// Computes the values of one channel in frames first … stop - 1 of a block: the line between the keys plus
// the series up to its extent. Values are written at their frame index.
void block_values(double* values, const double* sines, int32_t length, int32_t first, int32_t stop,
				  double key, double next_key, const double* series, int32_t extent);

// Converts channels (C, stride) of a rotation track to local rotations of `count` frames.
void track_rotations(const Track& track, const double* values, int32_t stride, int32_t count,
					 Quat* rotations);

// Converts channels of a position track to local translations of `count` frames.
void track_translations(const Track& track, const double* values, int32_t stride, int32_t count,
						Vec3* places);

} // namespace keysine
} // namespace mocpack
