// Codes key poses and sine coefficients; the same templates write and read.
//
// `Coder` is TableWriter or TableReader. A reader ignores the input value and returns the decoded one.
#pragma once
#include "keysine/format/magnitudes.h"

namespace mocpack
{
namespace keysine
{

const int32_t MARGIN = 4; // zeros before and after the coefficients of a row

// Returns the row size for a block of `length` frames, with margins.
inline int32_t row_stride(int32_t length)
{
	return (length + 2 * MARGIN + 7) / 8 * 8;
}

// Shape of a group's coefficients: (channels, blocks, stride). Index 0 of each row is unused; margins are
// zero.
struct Shape
{
	int32_t blocks;
	int32_t stride;
	const int32_t* lengths; // (blocks): number of coefficients
	int32_t tempo;

	int32_t row(int32_t channel, int32_t b) const
	{
		return (channel * blocks + b) * stride + MARGIN;
	}
};

// The symbols of a group, which also predict later symbols.
struct Rows
{
	const int32_t* keys; // (blocks + 1, channels)
	int32_t* steps;		 // (tracks, blocks), -1 if a track does not move
	int32_t* values;	 // (channels, blocks, stride)
	uint8_t* levels;	 // same shape: coarse magnitudes, at most 255
	uint8_t* reaches;	 // (channels, blocks): symbols of the last nonzero index
	int16_t* extents;	 // (channels, blocks): the last nonzero index
};

// Levels by symbol. A lookup is faster than to compute the level, on which the next symbol waits.
struct LevelTable
{
	uint8_t of[SYMBOLS];
};

constexpr LevelTable make_level_table()
{
	LevelTable table{};
	for (int symbol = 0; symbol < SYMBOLS; ++symbol)
	{
		const int32_t level = symbol_floor(symbol, FINE);
		table.of[symbol] = uint8_t(level < 255 ? level : 255);
	}
	return table;
}

inline constexpr LevelTable LEVEL = make_level_table();

inline uint8_t level_of(int symbol)
{
	return LEVEL.of[symbol];
}

// Codes the raw bits of a magnitude after its symbol. Returns a negative number if it is too large.
template <typename Coder> int32_t rest_of(Coder& coder, int symbol, int m, int32_t size)
{
	int32_t floor = symbol_floor(symbol, m), rest = size - floor;
	int bits = plain_bits(symbol, m);
	if (symbol == ESCAPE)
	{
		bits = int(coder.bits(5, uint32_t(bit_length(uint32_t(rest)))));
		if (bits > 29)
			return -1;
	}
	return floor + int32_t(coder.bits(bits, uint32_t(rest)));
}

// Codes a number with one table: its magnitude, then its sign.
template <typename Coder>
int32_t coded_number(Coder& coder, const uint16_t* starts, bool has_sign, int32_t value)
{
	int symbol = coder.symbol(starts, SYMBOLS, symbol_of(magnitude(value), COARSE));
	int32_t size = rest_of(coder, symbol, COARSE, magnitude(value));
	return has_sign && size > 0 && coder.bits(1, value < 0) ? -size : size;
}

// Codes a symbol between `low` and `high` by bisection with the table's frequencies.
template <typename Coder>
int symbol_between(Coder& coder, const uint16_t* starts, int low, int high, int value)
{
	while (low < high)
	{
		int middle = (low + high) / 2;
		uint32_t below = uint32_t(starts[middle + 1] - starts[low]),
				 all = uint32_t(starts[high + 1] - starts[low]);
		uint32_t zero = all ? below * TABLE_TOTAL / all : TABLE_TOTAL / 2;
		zero = zero < 1 ? 1 : zero > TABLE_TOTAL - 1 ? TABLE_TOTAL - 1 : zero;
		if (coder.choice(zero, value > middle))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// Codes a magnitude between `low` and `high`: its symbol with the table's frequencies, then raw bits.
template <typename Coder>
int32_t magnitude_between(Coder& coder, const uint16_t* starts, int m, int32_t low, int32_t high,
						  int32_t size, int* symbol)
{
	*symbol = symbol_between(coder, starts, symbol_of(low, m), symbol_of(high, m), symbol_of(size, m));
	int32_t floor = symbol_floor(*symbol, m), end = floor + (1 << plain_bits(*symbol, m));
	low = low > floor ? low : floor;
	high = *symbol < ESCAPE && high >= end ? end - 1 : high;
	while (low < high)
	{
		int32_t middle = low + (high - low) / 2;
		if (coder.bits(1, size > middle))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// Codes raw bits, then a sign if there is one.
template <typename Coder> RestAndSign rest_and_sign(Coder& coder, int count, bool has_sign, RestAndSign value)
{
	value.rest = coder.bits(count, value.rest);
	value.sign = coder.bits(has_sign, value.sign);
	return value;
}

#ifndef MOCPACK_SMALL
inline RestAndSign rest_and_sign(TableReader& reader, int count, bool has_sign, RestAndSign)
{
	return reader.rest_and_sign(count, has_sign);
}
#endif

template <typename Coder> class KeySymbols
{
  public:
	// found (channels): scratch
	KeySymbols(Coder& coder, const Plan& plan, uint8_t* found) : coder_(coder), plan_(plan), found_(found)
	{
		for (size_t c = 0; c < plan.channel_count; ++c)
			found_[c] = 0;
	}

	// Codes keys (count, channels): the first directly, the others as differences to the previous one.
	// Returns false if a key is out of range.
	bool sequence(int32_t* keys, size_t count)
	{
		size_t channels = plan_.channel_count;
		for (size_t k = 0; k < count; ++k)
			if (!key(keys + k * channels, k ? keys + (k - 1) * channels : nullptr, nullptr,
					 int(k < 2 ? k : 2)))
				return false;
		return true;
	}

	// Codes the keys between two known ones, (2^splits + 1, channels), by bisection: each from its two
	// neighbors.
	bool between(int32_t* keys, int splits)
	{
		const size_t channels = plan_.channel_count;
		return bisect(splits,
					  [&](size_t at, size_t half, int state)
					  {
						  return key(keys + at * channels, keys + (at - half) * channels,
									 keys + (at + half) * channels, state);
					  });
	}

  protected:
	// Calls `code` with each key between the first and the last, the distance to its two neighbors and its
	// state. Stops when that returns false.
	template <typename Code> static bool bisect(int splits, Code code)
	{
		for (int level = 0; level < splits; ++level)
			for (size_t half = size_t(1) << (splits - level - 1), at = half; at < size_t(1) << splits;
				 at += 2 * half)
				if (!code(at, half, 3 + lesser(level, 2)))
					return false;
		return true;
	}

	// Codes one key, predicted from the keys before and after it, which may be null.
	bool key(int32_t* key, const int32_t* before, const int32_t* after, int state)
	{
		Coder coder = coder_;	   // nothing points to this, so that it stays in registers
		int32_t sum = 0, seen = 0; // sum and number of symbols of this key
		bool good = true;
		for (size_t t = 0; t < plan_.track_count && good; ++t)
			for (int32_t c = 0; c < plan_.tracks[t].channels && good; ++c)
			{
				int32_t at = plan_.tracks[t].first_channel + c;
				int64_t guess = !before ? 0 : !after ? before[at] : (int64_t(before[at]) + after[at]) >> 1;
				int32_t apart = !after ? 0 : symbol_of(magnitude(after[at] - before[at]), COARSE);
				int64_t value = guess + difference(coder, plan_.tracks[t], c, state, apart,
												   quotient(4 * sum, seen), int32_t(key[at] - guess));
				good = !failed_ && value <= MAX_MAGNITUDE && value >= -MAX_MAGNITUDE;
				if (good)
					key[at] = int32_t(value);
				sum += found_[at], ++seen;
			}
		coder_ = coder;
		return good;
	}

	// Returns dividend / divisor rounded down, 0 without a divisor. Exact for dividends below 128 divisors:
	// the next symbol waits for the dividend, and a product takes less time than a division.
	static int32_t quotient(int32_t dividend, int32_t divisor)
	{
		const int BITS = 48;
		return divisor ? int32_t(uint64_t(dividend) * ((uint64_t(1) << BITS) / uint32_t(divisor) + 1) >> BITS)
					   : 0;
	}

	// Codes a difference to the predicted key. apart: symbol of the difference between the neighboring keys;
	// mean: mean of the earlier symbols of the key, in quarters.
	int32_t difference(Coder& coder, const Track& track, int32_t c, int state, int32_t apart, int32_t mean,
					   int32_t value)
	{
		int symbol = coder.symbol(table_of(track, c, state, apart, mean), SYMBOLS,
								  symbol_of(magnitude(value), COARSE));
		found_[track.first_channel + c] = uint8_t(symbol);
		if (symbol == ESCAPE)
		{
			const int32_t size = rest_of(coder, symbol, COARSE, magnitude(value));
			failed_ = failed_ || size < 0;
			return coder.bits(size > 0, value < 0) ? -size : size;
		}
		const int32_t floor = symbol_floor(symbol, COARSE);
		const RestAndSign found = rest_and_sign(coder, plain_bits(symbol, COARSE), symbol > 0,
												{uint32_t(magnitude(value) - floor), uint32_t(value < 0)});
		const int32_t size = floor + int32_t(found.rest);
		return found.sign ? -size : size;
	}

	const uint16_t* table_of(const Track& track, int32_t c, int state, int32_t apart, int32_t mean) const
	{
		int32_t at = track.first_channel + c;
		bool orphan = track.parent < 0;
		int32_t up = orphan ? 0
							: found_[plan_.tracks[track.parent].first_channel +
									 lesser(c, plan_.tracks[track.parent].channels - 1)];
		const int set = state * 4 + (c == 0) + 2 * orphan;
		const int16_t* w = KEY_WEIGHTS[set];
		const int32_t expected = KEY_FAMILIES[set][track.family] + w[0] * found_[at] + w[1] * apart +
								 w[2] * (c ? found_[at - 1] : 0) + w[3] * up + w[4] * mean +
								 (c ? w[4 + c] : 0);
		return KEY_TABLES[class_of(expected, KEY_CLASSES)];
	}

	Coder& coder_;
	const Plan& plan_;
	uint8_t* found_; // symbols of the current key, or of the previous one if not yet read
	bool failed_ = false;
};

inline int reach_symbol(int32_t reach)
{
	return reach ? 1 + symbol_of(reach - 1, COARSE) : 0;
}

inline int step_symbol(int32_t step, int32_t guess)
{
	int32_t change = step - guess;
	return lesser(change > 0 ? 2 * change + 1 : change < 0 ? -2 * change : 1, STEP_SYMBOLS - 1);
}

// Context of a track in a block: selects the tables of its steps, reaches and coefficients.
class CoefficientContext
{
  public:
	// shifts (tracks): how much coarser than their steps the values are; null: not at all
	CoefficientContext(const Plan& plan, const Shape& shape, const Rows& rows,
					   const uint8_t* shifts = nullptr)
		: plan_(plan), shape_(shape), rows_(rows), shifts_(shifts)
	{
	}

	// Call this when the shape is known. Block lengths differ by at most one frame.
	void set_lengths()
	{
		for (int32_t b = 0, seen = 0; b < shape_.blocks && seen != 3; ++b)
			if (!(seen >> (shape_.lengths[b] & 1) & 1))
				roots_[shape_.lengths[b] & 1] = scaled_square_root(shape_.lengths[b] + 1),
										   seen |= 1 << (shape_.lengths[b] & 1);
	}

	// Returns the number of coefficients of the longest block.
	int32_t longest() const
	{
		int32_t longest = 0;
		for (int32_t b = 0; b < shape_.blocks; ++b)
			longest = shape_.lengths[b] > longest ? shape_.lengths[b] : longest;
		return longest;
	}

	// Returns the last step of the track in this group, else of its nearest ancestor, else UNIT_STEP.
	int32_t known_step(int32_t t, int32_t b) const
	{
		int32_t blocks = shape_.blocks;
		for (int32_t e = b; e-- > 0;)
			if (rows_.steps[t * blocks + e] >= 0)
				return rows_.steps[t * blocks + e];
		for (int32_t a = plan_.tracks[t].parent; a >= 0; a = plan_.tracks[a].parent)
			if (rows_.steps[a * blocks + b] >= 0)
				return rows_.steps[a * blocks + b];
		return UNIT_STEP;
	}

	const uint16_t* step_table(int32_t t, int32_t b, int32_t guess) const
	{
		const Track& track = plan_.tracks[t];
		int was = b ? 1 + (step_at(t, b - 1) >= 0) : 0, up = track.parent < 0 ? 0 : 1 + (up_step(t, b) >= 0);
		int32_t row = guess - FIRST_GUESS;
		return STEP_TABLES[3 * was + up][row < 0 ? 0 : lesser(row, STEP_GUESSES - 1)];
	}

	// Returns the predictor of a channel in a block with a known step.
	LevelPredictor at(int32_t t, int32_t b, int32_t c) const
	{
		return at(t, b, c, step_at(t, b));
	}
	LevelPredictor at(int32_t t, int32_t b, int32_t c, int32_t step) const
	{
		static const uint8_t ZEROS[MAX_BLOCK_FRAMES + 3 * MARGIN] = {};
		const uint8_t* none = ZEROS + MARGIN;
		const Track& track = plan_.tracks[t];
		int32_t channel = track.first_channel + c, channel_stride = shape_.blocks * shape_.stride,
				root = roots_[shape_.lengths[b] & 1];
		const uint8_t *levels = rows_.levels + shape_.row(channel, b), *up = none, *first_up = none;
		if (track.parent >= 0)
		{
			const Track& parent = plan_.tracks[track.parent];
			up = rows_.levels + shape_.row(parent.first_channel + lesser(c, parent.channels - 1), b);
			first_up = rows_.levels + shape_.row(parent.first_channel, b);
		}
		int32_t was = b ? step_at(t, b - 1) : -1, above = up_step(t, b);
		// the index of a step 2^shift times as large
		int32_t coarse = shifts_ ? step - 2 * shifts_[t] : step;
		int32_t coarse_above = shifts_ && above >= 0 ? above - 2 * shifts_[track.parent] : above;
		LevelPredictor row = {b ? levels - shape_.stride : none,
							  c ? levels - channel_stride : none,
							  c > 1 ? levels - 2 * channel_stride : none,
							  up,
							  first_up,
							  was < 0 ? 0 : step_ratio(step - was),
							  above < 0 ? 0 : step_ratio(coarse - coarse_above),
							  key_distance_context(distance(channel, b), coarse, track.key_index, root),
							  key_distance_context(bend(channel, b), coarse, track.key_index, root),
							  2 * (b == 0) + (c == 0),
							  {}};
		set_lifts(&row, track.family, c, step);
		return row;
	}

	// left: reach symbol of channel c - 1, 0 if there is none
	const uint16_t* reach_table(int32_t t, int32_t b, int32_t c, const LevelPredictor& near, int32_t step,
								int32_t left) const
	{
		const Track& track = plan_.tracks[t];
		const uint8_t* own = rows_.reaches + (track.first_channel + c) * shape_.blocks + b;
		bool orphan = track.parent < 0;
		int32_t up = 0, first_up = 0;
		if (!orphan)
		{
			const Track& parent = plan_.tracks[track.parent];
			up = rows_.reaches[(parent.first_channel + lesser(c, parent.channels - 1)) * shape_.blocks + b];
			first_up = rows_.reaches[parent.first_channel * shape_.blocks + b];
		}
		const int kind = (b == 0) + 2 * (c == 0), set = kind + 4 * orphan;
		const int16_t* w = REACH_WEIGHTS[set];
		const int32_t expected =
			REACH_FAMILIES[set][track.family] + w[0] * (b ? own[-1] : 0) + w[1] * left + w[2] * up +
			w[3] * first_up + w[4] * step + w[5] * symbol_of(shape_.lengths[b], COARSE) + w[6] * (c > 1) +
			w[7] * symbol_of(near.distance >> 2, COARSE) + w[8] * symbol_of(near.bend >> 2, COARSE);
		return REACH_TABLES[class_of(expected, REACH_CLASSES)][kind];
	}

  private:
	int32_t step_at(int32_t t, int32_t b) const
	{
		return rows_.steps[t * shape_.blocks + b];
	}

	// Returns the parent's step, -1 if it does not move or does not exist.
	int32_t up_step(int32_t t, int32_t b) const
	{
		int32_t parent = plan_.tracks[t].parent;
		return parent < 0 ? -1 : step_at(parent, b);
	}

	int64_t key(int32_t channel, int32_t b) const
	{
		return rows_.keys[size_t(b) * plan_.channel_count + size_t(channel)];
	}

	// Returns the distance of the keys at the ends of a block.
	int64_t distance(int32_t channel, int32_t b) const
	{
		int64_t apart = key(channel, b + 1) - key(channel, b);
		return apart < 0 ? -apart : apart;
	}

	// Returns twice the distance of the block's keys from the line between their neighbors.
	int64_t bend(int32_t channel, int32_t b) const
	{
		int64_t sum = 0;
		for (int32_t e = b; e < b + 2; ++e)
			if (e > 0 && e < shape_.blocks)
			{
				int64_t off = key(channel, e - 1) - 2 * key(channel, e) + key(channel, e + 1);
				sum += off < 0 ? -off : off;
			}
		return sum;
	}

	const Plan& plan_;
	const Shape& shape_;
	const Rows& rows_;
	const uint8_t* shifts_;
	int32_t roots_[2] = {}; // for even and odd numbers of coefficients
};

template <typename Coder> class CoefficientSymbols
{
  public:
	CoefficientSymbols(Coder& coder, const Plan& plan, const Shape& shape, const Rows& rows,
					   const uint8_t* shifts = nullptr)
		: coder_(coder), plan_(plan), shape_(shape), rows_(rows), shifts_(shifts),
		  near_(plan, shape, rows, shifts)
	{
		near_.set_lengths();
		sums_.set_bands(near_.longest(), shape.tempo);
	}

	// Codes the first tracks of a group, by track and block. Returns false if a value is invalid.
	bool group(size_t track_count)
	{
		for (int32_t t = 0; t < int32_t(track_count); ++t)
			for (int32_t b = 0; b < shape_.blocks; ++b)
				if (!block(t, b))
					return false;
		return true;
	}

	// Codes one track in one block.
	bool block(int32_t t, int32_t b)
	{
		const Track& track = plan_.tracks[t];
		if (shape_.lengths[b] && !step(t, b))
			return false;
		bool moves = rows_.steps[t * shape_.blocks + b] >= 0;
		for (int32_t c = 0; moves && c < track.channels; ++c)
			if (!channel(t, b, c))
				return false;
		return true;
	}

  protected:
	// Codes whether the track moves in a block, and its step.
	bool step(int32_t t, int32_t b)
	{
		const Track& track = plan_.tracks[t];
		int32_t *own = rows_.steps + t * shape_.blocks + b, guess = near_.known_step(t, b);
		// 0: does not move; 1: predicted step; 2, 4 …: one, two … lower; 3, 5 …: higher; last: any step
		int symbol = coder_.symbol(near_.step_table(t, b, guess), STEP_SYMBOLS,
								   *own < 0 ? 0 : step_symbol(*own, guess));
		if (!symbol)
		{
			*own = -1;
			for (int32_t c = 0; c < track.channels; ++c)
				rows_.reaches[(track.first_channel + c) * shape_.blocks + b] = 0;
			return true;
		}
		if (symbol == STEP_SYMBOLS - 1)
			*own = int32_t(coder_.bits(6, uint32_t(*own)));
		else
			*own = symbol == 1 ? guess : symbol & 1 ? guess + symbol / 2 : guess - symbol / 2;
		return *own >= 0 && *own < STEPS;
	}

	bool channel(int32_t t, int32_t b, int32_t c)
	{
		const Track& track = plan_.tracks[t];
		const int32_t row = shape_.row(track.first_channel + c, b), n = shape_.lengths[b];
		int32_t* values = rows_.values + row;
		uint8_t* own = rows_.levels + row;
		LevelPredictor near = near_.at(t, b, c);
		int32_t reach = reach_value(t, b, c, near, 0, Coder::READS ? 0 : last_of(values, n));
		if (reach > n)
			return false;
		rows_.extents[(track.first_channel + c) * shape_.blocks + b] = int16_t(reach);
		sums_.predict_level(near, reach);
		// nothing points to these, so that they stay in registers
		Coder coder = coder_;
		int32_t first = 0, second = 0, third = 0; // levels before k
		for (int32_t group = 0, k = 1; k <= reach; ++group)
		{
			const RowSums::LevelWeights weights = RowSums::weights_of(near, group);
			for (const int32_t end = sums_.group_end(group, reach); k < end; ++k)
			{
				const int found = sums_.class_of(weights, k, first, second, third);
				int symbol = coder.symbol(MAGNITUDE_TABLES[found][lesser(reach - k, REACH_LEFT - 1)], SYMBOLS,
										  symbol_of(magnitude(values[k]), FINE));
				third = second, second = first, first = level_of(symbol);
				symbols_[k] = uint8_t(symbol);
				own[k] = uint8_t(first);
			}
		}
		coder_ = coder;
		return finish_row(values, reach);
	}

	// Returns the index of the last nonzero coefficient, at most n.
	static int32_t last_of(const int32_t* row, int32_t n)
	{
		while (n > 0 && !row[n])
			--n;
		return n;
	}

	// Codes a reach of at least `least` and stores its symbol.
	int32_t reach_value(int32_t t, int32_t b, int32_t c, const LevelPredictor& near, int32_t least,
						int32_t value)
	{
		uint8_t* own = rows_.reaches + (plan_.tracks[t].first_channel + c) * shape_.blocks + b;
		const uint16_t* table =
			near_.reach_table(t, b, c, near, rows_.steps[t * shape_.blocks + b], c ? own[-shape_.blocks] : 0);
		int symbol = reach_symbol(value), lowest = reach_symbol(least);
		symbol = lowest ? symbol_between(coder_, table, lowest, REACHES - 1, symbol)
						: coder_.symbol(table, REACHES, symbol);
		*own = uint8_t(symbol);
		if (!symbol)
			return 0;
		int32_t floor = 1 + symbol_floor(symbol - 1, COARSE);
		return floor + int32_t(coder_.bits(plain_bits(symbol - 1, COARSE), uint32_t(value - floor)));
	}

	const uint16_t* table_of(const LevelPredictor& near, const uint8_t* own, int32_t k, int32_t reach) const
	{
		return MAGNITUDE_TABLES[sums_.class_of(near, own, k)][lesser(reach - k, REACH_LEFT - 1)];
	}

	// Codes the raw bits of large magnitudes, then all signs of a row, whose other values are zero.
	bool finish_row(int32_t* values, int32_t reach)
	{
		const int CHUNK = MAX_RAW_BITS;
		for (int32_t k = 1; k <= reach; ++k)
		{
			int symbol = symbols_[k];
			int32_t size = symbol < 2 << FINE ? symbol : rest_of(coder_, symbol, FINE, magnitude(values[k]));
			if (size < 0)
				return false;
			sizes_[k] = size;
		}
		for (int32_t k = 1; k <= reach;)
		{
			int32_t at[CHUNK], count = 0;
			uint32_t signs = 0;
			for (; k <= reach && count < CHUNK; ++k)
			{
				at[count] = k;
				signs |= uint32_t(values[k] < 0) << count;
				count += sizes_[k] > 0;
			}
			signs = coder_.bits(count, signs & ((1u << count) - 1));
			for (int32_t i = 0; i < count; ++i, signs >>= 1)
				values[at[i]] = signs & 1 ? -sizes_[at[i]] : sizes_[at[i]];
		}
		return true;
	}

	Coder& coder_;
	const Plan& plan_;
	const Shape& shape_;
	const Rows& rows_;
	const uint8_t* shifts_;
	CoefficientContext near_;
	RowSums sums_;
	int32_t sizes_[MAX_BLOCK_FRAMES + 1];
	uint8_t symbols_[MAX_BLOCK_FRAMES + 1];
};

} // namespace keysine
} // namespace mocpack
