// From integers to motion: straight lines between keys, sine series on top, and the rotations they mean.
#pragma once
#include "keysine/decode/symbols.h"
#include "math/quaternion.h"

namespace mocpack
{
namespace keysine
{

inline int32_t padded(int32_t length)
{
	return (length + 8) / 8 * 8;
}

// Rows from `first` up to `end` of the sine table of a block of `length` frames: row k, column t, is
// sqrt(2 / length) sin(π k t / length). Rows have padded(length) columns, zero past the end. Returns how many
// rows there are now, at least as many as before.
int32_t fill_sines(double* table, int32_t length, int32_t first, int32_t end);

// The sine series of a block, channel by channel: what the coefficients say, plus what is foretold from
// channels before.
struct SeriesBlock
{
	const Predictor* predictors; // by channel
	size_t predictor_count;
	int32_t tempo, width;
	double* series;	  // (channels, width): coefficient k at k
	int32_t* extents; // (channels): the last that is not zero

	// Fills the row of a channel from coefficients 1 … reach of n; predictors from number `next` on are its
	// own, or of later channels. Returns the first that is not its own.
	size_t fill(int32_t channel, const int32_t* values, int32_t reach, int32_t n, double step,
				size_t next) const;
	// Only what is foretold; the same return.
	size_t predict_series(int32_t channel, int32_t n, size_t next) const;
};

// Values of one channel in frames first … stop - 1 of a block of `length`, each at its place: from key to
// key, plus the series up to its extent.
void block_values(double* values, const double* sines, int32_t length, int32_t first, int32_t stop,
				  double key, double next_key, const double* series, int32_t extent);

// Local rotations of `count` frames from channels (C, stride) of a rotation track.
void track_rotations(const Track& track, const double* values, int32_t stride, int32_t count,
					 Quat* rotations);

// Local translations of `count` frames from the channels of a position track.
void track_translations(const Track& track, const double* values, int32_t stride, int32_t count,
						Vec3* places);

} // namespace keysine
} // namespace mocpack
