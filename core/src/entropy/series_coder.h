// Codes integers that follow a motion, predicted over time, for the exact codecs.
//
// series_forecast.h predicts each value. The residual is coded bit by bit: its side, multiples of a power of
// two near the expected size, then the lower bits. Decoding is identical on every machine: it uses integers,
// and doubles as in least_squares.h. docs/series.md specifies the bits.
#pragma once
#include "entropy/logistic.h"
#include "entropy/range_coder.h"
#include "entropy/series_forecast.h"

namespace mocpack
{
namespace series
{

const int LOGITS = 3;
const int NODES = 32;	  // distinguished decisions: side, 15 steps, 12 lower bits
const int SIZES = 64;	  // classes of the expected size, two per octave
const int STEPS = 20;	  // larger values escape
const int WIDTHS = 4;	  // classes of the step width
const int FIRST_LOW = 16; // first node of the lower bits

inline int floor_log2(uint64_t value)
{
	int log = 0;
	while (value >>= 1)
		++log;
	return log;
}

inline int class_of(uint64_t value, const uint16_t* bounds, int count)
{
	int c = 0;
	while (c < count && value >= bounds[c])
		++c;
	return c;
}

// Mean absolute error of a column with three adaptation rates, in 1/256.
struct ErrorSize
{
	uint32_t fast = 1 << 14, middle = 1 << 14, slow = 1 << 14;
	int32_t count = 0;

	ErrorSize() = default;

	// A given initial size has the weight of eight observed errors.
	explicit ErrorSize(uint32_t initial) : fast(initial), middle(initial), slow(initial), count(8)
	{
	}

	uint32_t expected() const
	{
		uint32_t mean = uint32_t((uint64_t(fast) + 2 * uint64_t(middle) + slow) >> 2);
		return mean ? mean : 1;
	}

	void update(uint32_t error)
	{
		++count;
		follow(fast, error, 3);
		follow(middle, error, 5);
		follow(slow, error, 7);
	}

  private:
	void follow(uint32_t& mean, uint32_t error, int shift) const
	{
		int64_t way = int64_t(error) - int64_t(mean);
		mean = uint32_t(int64_t(mean) + (count < (1 << shift) ? way / (count + 1) : way >> shift));
	}
};

struct Column
{
	ErrorSize size;
	Counter own[3][NODES];
};

// Statistics shared by all columns.
struct Shared
{
	AdaptiveBit first[33];	// lengths of values in the first row
	AdaptiveBit escape[33]; // lengths of escapes
	Counter side[SIZES][8];
	Counter by_size[SIZES][NODES];
	Counter by_trend[7][8][WIDTHS][NODES];
	Mixer<LOGITS> mixers[NODES][WIDTHS];
};

// Context of a value before it is coded.
struct Expectation
{
	int64_t center; // prediction, rounded to an integer
	int fraction;	// position between center - 1/2 and center + 1/2, in eighths
	int size_class; // class of the expected error
	int width;		// log2 of the step
	int trend, activity;
	int64_t predicted; // in 1/16
	uint32_t expected; // error, in 1/256
};

// The decoder stores decoded values; the encoder already has them.
inline void keep(int32_t& slot, int32_t value)
{
	slot = value;
}

inline void keep(const int32_t&, int32_t)
{
}

struct Coder
{
	const mocpack_SeriesModel* model;
	Shared* shared;
	Column* columns;
	Forecaster forecast;
	uint32_t activity; // errors of this row relative to their expected size, in 1/256

	Expectation expect(const Column& column, double prediction)
	{
		Expectation e;
		e.predicted = sixteenths(prediction);
		e.center = (e.predicted + 8) >> 4;
		e.fraction = int(e.predicted - e.center * 16 + 8) >> 1;
		e.expected = column.size.expected();
		int log = floor_log2(e.expected);
		int halves = 2 * log + (log > 0 ? int(e.expected >> (log - 1)) & 1 : 0);
		e.size_class = halves < SIZES ? halves : SIZES - 1;
		e.width = log > 8 ? log - 8 : 0;
		const uint16_t trends[] = {100, 160, 215, 300, 430, 700};
		const uint16_t activities[] = {120, 170, 220, 280, 360, 480, 700};
		uint32_t slow = column.size.slow ? column.size.slow : 1;
		e.trend = class_of(uint64_t(column.size.fast) * 256 / slow, trends, 6);
		e.activity = class_of(activity, activities, 7);
		return e;
	}

	void measure(Column& column, const Expectation& e, int32_t value)
	{
		int64_t distance = 16 * int64_t(value) - e.predicted;
		uint64_t error = uint64_t(distance < 0 ? -distance : distance) * 16;
		error = error < (1u << 28) ? error : 1u << 28;
		uint64_t relative = error * 256 / (e.expected > 64 ? e.expected : 64);
		activity = uint32_t((7 * uint64_t(activity) + (relative < 1536 ? relative : 1536)) >> 3);
		column.size.update(uint32_t(error));
	}

	template <typename Bit>
	int code_mixed_bit(Bit& bit, Column& column, const Expectation& e, int node, int value)
	{
		int width = e.width < WIDTHS ? e.width : WIDTHS - 1;
		Counter* counters[LOGITS] = {
			node == 0 ? &shared->side[e.size_class][e.fraction] : &shared->by_size[e.size_class][node],
			&column.own[width < 2 ? width : 2][node], &shared->by_trend[e.trend][e.activity][width][node]};
		Mixer<LOGITS>& mixer = shared->mixers[node][width];
		int logits[LOGITS];
		for (int i = 0; i < LOGITS; ++i)
			logits[i] = counters[i]->logit();
		Probability one = mixer.mix(logits);
		value = bit(one, value);
		mixer.update(logits, value, one);
		for (int i = 0; i < LOGITS; ++i)
			counters[i]->update(value, i == 1 ? 60 : 120);
		return value;
	}

	// Codes a non-negative number: its bit length, then its bits.
	template <typename Bit> uint64_t plain(Bit& bit, AdaptiveBit* lengths, uint64_t value)
	{
		int length = 0;
		uint64_t rest = value + 1, found = 1;
		for (; length < 33; ++length)
		{
			int more = bit(lengths[length].one(), (rest >> (length + 1)) != 0);
			lengths[length].update(more);
			if (!more)
				break;
		}
		for (int k = length - 1; k >= 0; --k)
			found = (found << 1) | uint64_t(bit(32768, int((rest >> k) & 1)));
		return found - 1;
	}

	template <typename Bit> int64_t residual(Bit& bit, Column& column, const Expectation& e, int64_t value)
	{
		int above = code_mixed_bit(bit, column, e, 0, value >= 0);
		uint64_t size = uint64_t(above ? value : -1 - value), steps = size >> e.width, found = 0;
		while (found < STEPS &&
			   code_mixed_bit(bit, column, e, 1 + int(found < 14 ? found : 14), steps > found))
			++found;
		uint64_t counted = found < 3 ? found : 3;
		if (found == STEPS)
			found += plain(bit, shared->escape, steps - STEPS);
		for (int k = e.width - 1, level = 0; k >= 0; --k, ++level)
		{
			int low = int((size >> k) & 1);
			int node = FIRST_LOW + 3 * int(counted) + (level ? 1 + int(found & 1) : 0);
			low = level < 2 ? code_mixed_bit(bit, column, e, node, low) : bit(32768, low);
			found = (found << 1) | uint64_t(low);
		}
		return above ? int64_t(found) : -1 - int64_t(found);
	}

	template <typename Bit, typename Value> void first_row(Bit& bit, Value* values)
	{
		for (size_t c = 0; c < model->column_count; ++c)
		{
			int64_t value = values[c];
			uint64_t folded = plain(bit, shared->first, uint64_t(value < 0 ? -1 - 2 * value : 2 * value));
			keep(values[c], int32_t(folded & 1 ? -int64_t((folded + 1) / 2) : int64_t(folded / 2)));
		}
	}

	template <typename Bit, typename Value> void next_row(Bit& bit, Value* values)
	{
		const int32_t* before = values - model->column_count;
		begin_row();
		for (size_t c = 0; c < model->column_count; ++c)
			keep(values[c], next(bit, c, before[c], values[c]));
		end_row();
	}

	void begin_row()
	{
		activity = 256;
		forecast.begin_row();
	}

	// Codes column c of a row; `before` is the value above it.
	template <typename Bit> int32_t next(Bit& bit, size_t c, int32_t before, int32_t value)
	{
		Column& column = columns[c];
		Expectation e = expect(column, double(before) + forecast.predict(c));
		value = int32_t(e.center + residual(bit, column, e, int64_t(value) - e.center));
		measure(column, e, value);
		forecast.learn(c, double(value) - double(before));
		return value;
	}

	void end_row()
	{
		forecast.end_row();
	}
};

// Returns the bytes before the forecast's memory.
inline size_t statistics_size(size_t columns)
{
	return round_up(sizeof(Shared)) + round_up(columns * sizeof(Column));
}

// Lays out and initializes the coder's memory in `scratch`.
inline Coder start(const mocpack_SeriesModel* model, void* scratch)
{
	uint8_t* at = static_cast<uint8_t*>(scratch);
	size_t count = model->column_count;
	Shared* shared = new (at) Shared();
	Column* columns = reinterpret_cast<Column*>(at + round_up(sizeof(Shared)));
	for (size_t c = 0; c < count; ++c)
	{
		Column* column = new (columns + c) Column();
		if (model->sizes)
			column->size = ErrorSize(model->sizes[c]);
	}
	return {model, shared, columns, Forecaster(model, at + statistics_size(count)), 256};
}

// Returns the bytes that start() needs.
inline size_t scratch_size(const mocpack_SeriesModel* model)
{
	return statistics_size(model->column_count) + Forecaster::scratch_size(model);
}

} // namespace series
} // namespace mocpack
