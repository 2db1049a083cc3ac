// Estimates the size of a residual in grid mode and selects its table: a weighted sum of logarithms of
// earlier residuals. Integers only; trained by tools/train_keysine.py.
#pragma once
#include "keysine/format/statistics.h"

namespace mocpack
{
namespace keysine
{

// Logarithms are in sixteenths of an octave, with two classes per octave. Only the lower classes depend on
// the fractional part of the prediction.
const int GRID_INPUTS = 6, GRID_CLASSES = 17, GRID_SIDED = 8;
const int32_t FIRST_GRID_LEVEL = 72, WIDE_OCTAVE = 12, MAX_WIDTH = 16;
const uint32_t MAX_ERROR = 1u << 28; // in 1/256 step, as all errors here

inline int32_t grid_level(uint32_t error)
{
	error += 16;
	int bits = bit_length(error);
	return 16 * bits + int32_t(error >> (bits - 5)) - 16;
}

// Context of a number before it is coded.
struct GridContext
{
	int kind;  // class of the expected residual
	int width; // number of low bits that are coded as raw bits
};

class GridLevels
{
  public:
	// above (tracks): parent tracks; sizes (channels): initial errors; means, surprises: scratch
	GridLevels(const Plan& plan, const int32_t* above, const uint32_t* sizes, uint32_t* means,
			   int32_t* surprises)
		: plan_(plan), above_(above), sizes_(sizes), means_(means), surprises_(surprises)
	{
		for (size_t c = 0; c < plan.channel_count; ++c)
			means_[c] = sizes[c], surprises_[c] = 0;
	}

	// Collects the inputs for channel c of track t; earlier channels of this frame are known.
	void look(int32_t t, int32_t c, int32_t (&inputs)[GRID_INPUTS]) const
	{
		int32_t at = plan_.tracks[t].first_channel + c, up = above_[t], above = 0;
		for (int32_t k = 0; up >= 0 && k < plan_.tracks[up].channels; ++k)
			above += surprises_[plan_.tracks[up].first_channel + k];
		if (up >= 0)
			above *= 12 / plan_.tracks[up].channels;
		inputs[0] = grid_level(means_[at]), inputs[1] = grid_level(sizes_[at]);
		inputs[2] = mood_ >> 4, inputs[3] = surprises_[at];
		inputs[4] = c ? surprises_[at - 1] : 0, inputs[5] = above >> 2;
	}

	GridContext context(int32_t t, int32_t c) const
	{
		int32_t inputs[GRID_INPUTS], level = GRID_WEIGHTS[GRID_INPUTS];
		look(t, c, inputs);
		for (int i = 0; i < GRID_INPUTS; ++i)
			level += GRID_WEIGHTS[i] * inputs[i];
		level >>= 8;
		int32_t width = (level >> 4) - WIDE_OCTAVE;
		width = width < 0 ? 0 : lesser(width, MAX_WIDTH);
		int32_t kind = (level - 16 * width - FIRST_GRID_LEVEL) >> 3;
		return {kind < 0 ? 0 : lesser(kind, GRID_CLASSES - 1), width};
	}

	// Updates the statistics with a residual.
	void learn(size_t at, uint32_t error)
	{
		int32_t surprise = grid_level(error) - grid_level(means_[at]);
		surprises_[at] = surprise;
		mood_ += (16 * surprise - mood_) >> 5;
		means_[at] = uint32_t(int32_t(means_[at]) + ((int32_t(error) - int32_t(means_[at])) >> 3));
	}

	uint32_t mean(size_t at) const
	{
		return means_[at];
	}

  private:
	const Plan& plan_;
	const int32_t* above_;
	const uint32_t* sizes_;
	uint32_t* means_;	 // (channels) running means of errors
	int32_t* surprises_; // (channels) log ratio of the last error to its mean
	int32_t mood_ = 0;	 // running mean of surprises, times 16
};

// fraction: distance of the prediction from the nearest integer, 0 … 3
inline const uint16_t* grid_table(int kind, int fraction)
{
	return kind < GRID_SIDED ? GRID_SIDED_TABLES[kind][fraction] : GRID_TABLES[kind - GRID_SIDED];
}

} // namespace keysine
} // namespace mocpack
