// Grid mode of `keysine`, for error bounds so tight that a transform does not help.
//
// Every frame between two key poses is quantized relative to the first: integers in units of the track's
// step, predicted over time and from track to track (series_forecast.h). Static tables code the residuals. If
// a step is too coarse for a frame of a track, it is refined 2, 4, … times. The same template writes and
// reads.
#pragma once
#include "common/arena.h"
#include "entropy/range_coder.h"
#include "entropy/series_forecast.h"
#include "keysine/format/grid_levels.h"
#include "keysine/format/plan.h"
#include "keysine/format/symbols.h"

namespace mocpack
{
namespace keysine
{

const int MAX_REFINEMENT = 15; // a step is refined at most 2^15 times
const int MAX_UNPREDICTED_SCALE =
	9; // channels with at most this initial scale are not predicted by least squares

// Prediction settings: QUICK or SMOOTH_FORECAST of docs/series.md, without mirrored joints.
struct Forecast
{
	size_t predictors;
	double forgetting[3];
	uint8_t own[3], reach[3], periods[3];
	uint32_t warm;
	double caution;
};

const Forecast& forecast_of(bool thorough);

// Converts an initial scale of the head to an expected error in 1/256 step.
inline uint32_t expected_error(uint32_t scale)
{
	return scale & 1 ? (181u << (scale >> 1)) >> 4 : 8u << (scale >> 1);
}

// Lays out the series model of a plan's channels; an empty arena only counts bytes.
struct GridSeries
{
	mocpack_SeriesModel model;
	void* scratch;
	int32_t* above;		// (tracks) the parent track, -1 if none
	uint32_t* means;	// (channels) scratch
	int32_t* surprises; // (channels)

	// initial_scales: (channels), as in the head; used only if the arena has memory
	GridSeries(const Plan& plan, bool thorough, const uint8_t* initial_scales, Arena* arena);
};

// An adaptive binary probability: the upper 22 bits hold the probability of 1, the lower 10 the update count.
struct AdaptiveChoice
{
	uint32_t state = 1u << 31;

	Probability one() const
	{
		Probability p = state >> 16;
		return p < 64 ? 64 : p > 65472 ? 65472 : p;
	}

	// Frequency of 0 in a table.
	uint32_t zero() const
	{
		return TABLE_TOTAL - (one() >> 4);
	}

	void learn(int bit)
	{
		const uint32_t limit = 127, count = state & 1023;
		int64_t p = state >> 10, goal = bit ? 4194303 : 0;
		p += ((goal - p) * int64_t(131072 / (2 * count + 3))) >> 16;
		state = uint32_t(p << 10) | (count < limit ? count + 1 : count);
	}
};

// One quantized frame of one track.
struct GridSample
{
	int32_t finer;	   // its step is divided by 2^finer
	int32_t number[4]; // whole steps
	int32_t digits[4]; // remainder in fine steps

	double steps(int32_t c) const
	{
		return double(number[c]) + double(digits[c]) / double(1 << finer);
	}
};

// Predicts the next number and the size of its residual from all earlier numbers.
struct GridModel
{
	series::Forecaster forecast;
	GridLevels levels;

	GridModel(const Plan& plan, const GridSeries& series)
		: forecast(&series.model, series.scratch),
		  levels(plan, series.above, series.model.sizes, series.means, series.surprises)
	{
	}

	// Predicts the value that follows `before`, in 1/16.
	int64_t predict(size_t channel, int32_t before)
	{
		return series::sixteenths(double(before) + forecast.predict(channel));
	}

	void learn(size_t channel, int64_t predicted, int32_t before, int32_t value)
	{
		int64_t off = 16 * int64_t(value) - predicted;
		uint64_t error = 16 * uint64_t(off < 0 ? -off : off);
		levels.learn(channel, error < MAX_ERROR ? uint32_t(error) : MAX_ERROR);
		forecast.learn(channel, double(value) - double(before));
	}
};

// A prediction rounded to an integer, with its distance and direction from that integer.
struct RoundedPrediction
{
	int64_t center;
	int fraction;
	bool below;

	explicit RoundedPrediction(int64_t predicted) : center((predicted + 8) >> 4)
	{
		int off = int(predicted - 16 * center);
		below = off < 0;
		fraction = (below ? -1 - off : off) >> 1;
	}

	// Converts a value to its signed distance from the center, positive on the prediction's side, and back.
	int64_t way(int64_t value) const
	{
		return below ? center - value : value - center;
	}
	int64_t value(int64_t way) const
	{
		return below ? center - way : center + way;
	}
};

template <typename Coder> class GridRows
{
  public:
	GridRows(Coder& coder, const Plan& plan, GridModel& model, uint8_t* finer)
		: coder_(coder), plan_(plan), model_(model), finer_(finer)
	{
		for (size_t t = 0; t < plan.track_count; ++t)
			finer_[t] = 0;
	}

	void begin_row()
	{
		model_.forecast.begin_row();
		any_ = 0;
	}

	// Codes one track of a frame. `row` is this frame's row of (rows, channels); the previous row precedes
	// it. Returns false if a number is out of range.
	bool track(size_t t, int32_t* row, GridSample* place)
	{
		const Track& track = plan_.tracks[t];
		size_t first = size_t(track.first_channel), above = plan_.channel_count;
		place->finer = level(2 * finer_[t] + any_, place->finer);
		finer_[t] = place->finer > 0;
		any_ |= finer_[t];
		for (int32_t c = 0; c < track.channels; ++c)
		{
			size_t channel = first + size_t(c);
			int32_t* value = row + channel;
			const int32_t before = value[-ptrdiff_t(above)];
			int64_t predicted = model_.predict(channel, before);
			int64_t found = number(predicted, model_.levels.context(int32_t(t), c), place->number[c]);
			if (found < -MAX_MAGNITUDE || found > MAX_MAGNITUDE)
				return false;
			*value = place->number[c] = int32_t(found);
			model_.learn(channel, predicted, before, *value);
			place->digits[c] = digits(place->finer, place->digits[c]);
		}
		return true;
	}

	void end_row()
	{
		model_.forecast.end_row();
	}

  private:
	// Returns a value above MAX_MAGNITUDE on failure.
	int64_t number(int64_t predicted, GridContext context, int32_t value)
	{
		const RoundedPrediction side(predicted);
		int64_t way = side.way(value), size = way < 0 ? -way : way, whole = size >> context.width;
		int32_t folded = whole < MAX_MAGNITUDE / 2 ? int32_t(2 * whole + (way < 0)) : MAX_MAGNITUDE;
		int symbol = coder_.symbol(grid_table(context.kind, side.fraction), SYMBOLS, symbol_of(folded, FINE));
		folded = rest_of(coder_, symbol, FINE, folded);
		uint32_t low = coder_.bits(context.width, uint32_t(size) & ((1u << context.width) - 1));
		if (folded < 0 || folded >= MAX_MAGNITUDE)
			return int64_t(MAX_MAGNITUDE) + 1;
		size = (int64_t(folded >> 1) << context.width) + low;
		return side.value(folded & 1 ? -size : size);
	}

	int decide(AdaptiveChoice& state, int value)
	{
		int found = coder_.choice(state.zero(), value);
		state.learn(found);
		return found;
	}

	int32_t level(int context, int32_t value)
	{
		if (!decide(states_[context], value > 0))
			return 0;
		int32_t found = 1;
		while (found < MAX_REFINEMENT && decide(states_[3 + found], value > found))
			++found;
		return found;
	}

	// Codes a signed number of `count` bits.
	int32_t digits(int32_t count, int32_t value)
	{
		int32_t half = (1 << count) >> 1;
		return int32_t(coder_.bits(count, uint32_t(value + half))) - half;
	}

	Coder& coder_;
	const Plan& plan_;
	GridModel& model_;
	uint8_t* finer_; // (tracks) whether each was refined in the previous row
	int any_ = 0;	 // whether an earlier track was refined in this row
	AdaptiveChoice states_[4 + MAX_REFINEMENT];
};

} // namespace keysine
} // namespace mocpack
