// A grid in time: the second mode of `keysine`, for bounds so tight that a transform no longer pays.
//
// Between two keys every frame stands on a grid around the first of them: whole numbers of a track's steps,
// predicted in time and from track to track (series_forecast.h), and coded by static tables of how far they
// are from that. Where a grid is too coarse, it is 2, 4, … times as fine in that frame of the track. Written
// and read by one and the same text.
#pragma once
#include "coding/range_coder.h"
#include "coding/series_forecast.h"
#include "common/arena.h"
#include "keysine/decode/grid_levels.h"
#include "keysine/decode/head.h"
#include "keysine/decode/symbols.h"

namespace mocpack
{
namespace keysine
{

const int MAX_REFINEMENT = 15; // a frame's grid is at most 2^15 times as fine as its track's
const int MAX_UNPREDICTED_SCALE = 9;	   // channels of no larger initial scale are not predicted by least squares

// How the numbers are predicted: QUICK or THOROUGH of docs/series.md, without mirrored joints.
struct Forecast
{
	size_t predictors;
	double forgetting[3];
	uint8_t own[3], reach[3], periods[3];
	uint32_t warm;
	double caution;
};

const Forecast& forecast_of(bool thorough);

// The expected error that an initial scale of the head stands for, in 1/256 of a step.
inline uint32_t expected_error(uint32_t scale)
{
	return scale & 1 ? (181u << (scale >> 1)) >> 4 : 8u << (scale >> 1);
}

// Lays out the series of a plan's channels; over an empty arena only counts.
struct GridSeries
{
	mocpack_SeriesModel model;
	void* scratch;
	int32_t* above;		// (tracks) the track above each, -1 if none
	uint32_t* means;	// (channels) scratch of their levels
	int32_t* surprises; // (channels)

	// initial_scales: (channels), as in the head; looked at where there is memory
	GridSeries(const Plan& plan, bool thorough, const uint8_t* initial_scales, Arena* arena);
};

// A probability that learns: of a 1 in its upper 22 bits, and below them how often it was asked.
struct AdaptiveChoice
{
	uint32_t state = 1u << 31;

	Probability one() const
	{
		Probability p = state >> 16;
		return p < 64 ? 64 : p > 65472 ? 65472 : p;
	}

	// Shares of a table that a 0 has.
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

// One frame of one track, on its grid.
struct GridSample
{
	int32_t finer;	   // its steps are 2^-finer as large
	int32_t number[4]; // in whole steps, rounded
	int32_t digits[4]; // and what is left, in fine ones

	double steps(int32_t c) const
	{
		return double(number[c]) + double(digits[c]) / double(1 << finer);
	}
};

// Forecast of a series, and levels of what remains: all that numbers so far say of the next one.
struct GridModel
{
	series::Forecaster forecast;
	GridLevels levels;

	GridModel(const Plan& plan, const GridSeries& series)
		: forecast(&series.model, series.scratch),
		  levels(plan, series.above, series.model.sizes, series.means, series.surprises)
	{
	}

	// Where number `before` is expected to go, in 1/16.
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

// Where a prediction stands: the nearest number, how far from it, and whether above it or below.
struct RoundedPrediction
{
	int64_t centre;
	int fraction;
	bool below;

	explicit RoundedPrediction(int64_t predicted) : centre((predicted + 8) >> 4)
	{
		int off = int(predicted - 16 * centre);
		below = off < 0;
		fraction = (below ? -1 - off : off) >> 1;
	}

	// How far a value is on the prediction's side of the centre; and the other way round.
	int64_t way(int64_t value) const
	{
		return below ? centre - value : value - centre;
	}
	int64_t value(int64_t way) const
	{
		return below ? centre - way : centre + way;
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

	// numbers stand (rows, channels); `row` is that of this frame, and the one before stands above it.
	// False where a number cannot be.
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
	// Beyond all numbers where it cannot be.
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

	// A number of so many binary digits, around zero.
	int32_t digits(int32_t count, int32_t value)
	{
		int32_t half = (1 << count) >> 1;
		return int32_t(coder_.bits(count, uint32_t(value + half))) - half;
	}

	Coder& coder_;
	const Plan& plan_;
	GridModel& model_;
	uint8_t* finer_; // (tracks) whether each was finer in the row before
	int any_ = 0;	 // whether a track before was, in this row
	AdaptiveChoice states_[4 + MAX_REFINEMENT];
};

// Memory for the frames of a group that stand on a grid in time.
struct GridGroup
{
	GridSeries series;
	int32_t stride;
	int32_t* numbers; // (2, channels): of a frame, after those of the one before
	uint8_t* finer;	  // (tracks)
	double* curves;	  // (channels, stride)

	GridGroup(const mocpack_KeysineHead& head, Arena* arena);
};

// Fills the curves of `length` frames from the body of a group; the first is the key.
mocpack_Status read_grid(const mocpack_KeysineHead& head, const int32_t* key, int32_t length,
						 const uint8_t* body, size_t size, GridGroup* group);

} // namespace keysine
} // namespace mocpack
