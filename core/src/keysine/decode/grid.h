// A grid in time: the second mode of `keysine`, for bounds so tight that a transform no longer pays.
//
// Between two keys every frame stands on a grid around the first of them: whole numbers of a track's steps,
// predicted in time and from track to track by a series (series_coder.h). Where that is too coarse, a track's
// grid is 2, 4, … times as fine in that frame. Written and read by one and the same text.
#pragma once
#include "common/arena.h"
#include "common/range_coder.h"
#include "common/series_coder.h"
#include "keysine/decode/head.h"

namespace mocpack
{
namespace keysine
{

const int MOST_FINER = 15; // a frame's grid is at most 2^15 times as fine as its track's
const int QUIET = 9;	   // channels of no larger initial scale are not predicted by least squares

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

	// initial_scales: (channels), as in the head; looked at where there is memory
	GridSeries(const Plan& plan, bool thorough, const uint8_t* initial_scales, Arena* arena);
	series::Coder start() const
	{
		return series::start(&model, scratch);
	}
};

// A probability that learns: of a 1 in its upper 22 bits, and below them how often it was asked.
struct Learning
{
	uint32_t state = 1u << 31;

	Probability one() const
	{
		Probability p = state >> 16;
		return p < 64 ? 64 : p > 65472 ? 65472 : p;
	}

	void learn(int bit)
	{
		const uint32_t limit = 127, count = state & 1023;
		int64_t p = state >> 10, goal = bit ? 4194303 : 0;
		p += ((goal - p) * int64_t(131072 / (2 * count + 3))) >> 16;
		state = uint32_t(p << 10) | (count < limit ? count + 1 : count);
	}
};

// The two directions of one coder: each codes a value that the encoder knows and the decoder learns.
struct GridWriter
{
	RangeEncoder coder;

	int operator()(Probability one, int value)
	{
		coder.encode(value, one);
		return value;
	}
};

struct GridReader
{
	RangeDecoder coder;

	int operator()(Probability one, int)
	{
		return coder.decode(one);
	}
};

// One frame of one track, on its grid.
struct GridPlace
{
	int32_t finer;	   // its steps are 2^-finer as large
	int32_t number[4]; // in whole steps, rounded
	int32_t digits[4]; // and what is left, in fine ones

	double steps(int32_t c) const
	{
		return double(number[c]) + double(digits[c]) / double(1 << finer);
	}
};

template <typename Coder> class GridRows
{
  public:
	GridRows(Coder& coder, const Plan& plan, series::Coder& series, uint8_t* finer)
		: coder_(coder), plan_(plan), series_(series), finer_(finer)
	{
		for (size_t t = 0; t < plan.track_count; ++t)
			finer_[t] = 0;
	}

	void begin_row()
	{
		series_.begin_row();
		any_ = 0;
	}

	// numbers stand (rows, channels); `row` is that of this frame, and the one before stands above it.
	void track(size_t t, int32_t* row, GridPlace* place)
	{
		const Track& track = plan_.tracks[t];
		size_t first = size_t(track.first_channel), above = plan_.channel_count;
		place->finer = level(2 * finer_[t] + any_, place->finer);
		finer_[t] = place->finer > 0;
		any_ |= finer_[t];
		for (int32_t c = 0; c < track.channels; ++c)
		{
			int32_t* number = row + first + size_t(c);
			*number = place->number[c] =
				series_.next(coder_, first + size_t(c), number[-ptrdiff_t(above)], place->number[c]);
			place->digits[c] = digits(place->finer, place->digits[c]);
		}
	}

	void end_row()
	{
		series_.end_row();
	}

  private:
	int decide(Learning& state, int value)
	{
		int found = coder_(state.one(), value);
		state.learn(found);
		return found;
	}

	int32_t level(int context, int32_t value)
	{
		if (!decide(states_[context], value > 0))
			return 0;
		int32_t found = 1;
		while (found < MOST_FINER && decide(states_[3 + found], value > found))
			++found;
		return found;
	}

	// A number of so many binary digits, around zero.
	int32_t digits(int32_t count, int32_t value)
	{
		int32_t half = (1 << count) >> 1, found = 0;
		for (int32_t k = count - 1; k >= 0; --k)
			found = (found << 1) | coder_(32768, ((value + half) >> k) & 1);
		return found - half;
	}

	Coder& coder_;
	const Plan& plan_;
	series::Coder& series_;
	uint8_t* finer_; // (tracks) whether each was finer in the row before
	int any_ = 0;	 // whether a track before was, in this row
	Learning states_[4 + MOST_FINER];
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
