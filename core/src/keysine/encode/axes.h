// The turn of each joint's axes after which its channels take the fewest bits.
#pragma once
#include "keysine/decode/plan.h"
#include "keysine/encode/task.h"

namespace mocpack
{
namespace keysine
{

class AxesChooser
{
  public:
	/* Measures covariances of the joints' rotation vectors about their means, by bands of frequencies: once
	 * for a clip. table (J, 14) says which joints turn about which means; at least `frames` frames are looked
	 * at. */
	bool measure(EncodeTask* task, const int32_t* table, size_t frames);
	bool is_measured() const
	{
		return band_count_ > 0;
	}

	/* Writes the turns of axes into the table (J, 14): those to the principal axes are tried with `precision`
	 * bits below a radian and with fewer, and none at all. */
	bool choose(EncodeTask* task, double unit, double fine, int precision, int32_t* table) const;

  private:
	static const size_t MAX_BANDS = 32;

	void cheapest_turn(const EncodeTask& task, const double* bands, int precision, int32_t* turn) const;
	double series_bits(const EncodeTask& task, const double* bands, const double* matrix) const;

	Buffer<double> bands_; // (J, bands, 9) covariances, in squared radians
	double counts_[MAX_BANDS] = {};
	size_t band_count_ = 0;
	double frame_factor_ = 1; // one frame in so many was looked at
};

} // namespace keysine
} // namespace mocpack
