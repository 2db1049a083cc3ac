// The series models of numbers (docs/series.md): columns in groups of three or four. Each column is predicted
// from its own past and from the other columns of its group.
#pragma once
#include "entropy/series.h"

namespace mocpack
{

struct ColumnSeries
{
	static const size_t MAX_PREDICTORS = 3, MAX_OWN = 4;
	size_t predictors;
	double forgetting[MAX_PREDICTORS];
	uint8_t own[MAX_PREDICTORS], periods[MAX_PREDICTORS];
	uint32_t warm;
	double caution, blend_forgetting, blend_pull;

	static size_t group_size(size_t columns)
	{
		return columns % 3 ? 4 : 3;
	}
	// Returns the largest number of inputs of a model.
	uint64_t input_limit(size_t columns) const
	{
		return uint64_t(columns) * predictors * (MAX_OWN + 2 * group_size(columns));
	}

	/* Returns the model. starts: (columns * predictors + 1), inputs and lags: (input_limit), which outlive
	 * the model; they are filled. sizes: (columns) expected first errors in 1/256, null for none. */
	mocpack_SeriesModel model(size_t count, uint32_t* starts, int32_t* inputs, uint8_t* lags,
							  const uint32_t* sizes) const
	{
		const size_t group = group_size(count);
		uint32_t at = 0, *start = starts;
		for (size_t c = 0; c < count; ++c)
			for (size_t p = 0; p < predictors; ++p)
			{
				*start++ = at;
				for (uint8_t lag = 1; lag <= own[p]; ++lag)
					inputs[at] = int32_t(c), lags[at++] = lag;
				const size_t first = c - c % group, stop = first + group < count ? first + group : count;
				for (size_t other = first; other < stop; ++other)
					for (uint8_t lag = other < c ? 0 : 1; lag < 2 && other != c; ++lag)
						inputs[at] = int32_t(other), lags[at++] = lag;
			}
		*start = at;
		return {count,		predictors, forgetting, periods, warm, caution, blend_forgetting,
				blend_pull, 1,			starts,		inputs,	 lags, sizes};
	}
};

// For noisy numbers, and for numbers of few bits.
const ColumnSeries COLUMN_SERIES[2] = {
	{3, {0.8, 0.95, 0.998}, {2, 2, 3}, {1, 1, 1}, 0, 1.0, 0.93, 100.0},
	{2, {0.98, 0.998}, {4, 3}, {2, 1}, 30, 4.0, 0.98, 100.0},
};

} // namespace mocpack
