// Chooses the axis rotation of each joint with which its channels need the fewest bits.
#pragma once
#include "keysine/encode/task.h"
#include "keysine/format/plan.h"

namespace mocpack
{
namespace keysine
{

class AxesChooser
{
  public:
	/* Measures covariances of the joints' rotation vectors about their means, by frequency band. Call this
	 * once for a clip. table (J, 15): the joints with rotation vectors, and their means. Samples at least
	 * `frames` frames, or all of a shorter clip. rotations: (F, J, 4). */
	bool measure(EncodeTask* task, const int32_t* table, const double* rotations, size_t frames);
	bool is_measured() const
	{
		return band_count_ > 0;
	}

	/* Writes the axis rotations into the table (J, 15). Tries rotations to the principal axes with
	 * `precision` bits below a radian, with fewer bits, and no rotation. */
	bool choose(EncodeTask* task, double unit, double fine, int precision, int32_t* table) const;

  private:
	static const size_t MAX_BANDS = 32;

	void cheapest_turn(const EncodeTask& task, const double* bands, int precision, int32_t* turn) const;
	double series_bits(const EncodeTask& task, const double* bands, const double* matrix) const;

	Buffer<double> bands_; // (J, bands, 9) covariances, in squared radians
	double counts_[MAX_BANDS] = {};
	size_t band_count_ = 0;
	double frame_factor_ = 1; // square root of the distance between sampled frames
};

} // namespace keysine
} // namespace mocpack
