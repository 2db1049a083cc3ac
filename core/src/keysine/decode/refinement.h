// Quality layers of `keysine`: coarse coefficients first, then refinements.
//
// A layer with shift s stores |q| >> s and the sign of a coefficient q. The base layer is coded like any
// group. A refinement by d bits codes which of the 2^d finer integers it is, with the table frequencies of
// those integers.
#pragma once
#include "keysine/decode/symbols.h"

namespace mocpack
{
namespace keysine
{

const int32_t MAX_SHIFT = MOCPACK_KEYSINE_MAX_SHIFT;

inline int32_t shift_magnitude(int32_t value, int32_t shift)
{
	int32_t size = magnitude(value) >> shift;
	return value < 0 ? -size : size;
}

// Returns twice the middle of the interval that a coarse integer stands for.
inline int32_t doubled_midpoint(int32_t value, int32_t shift)
{
	if (!value)
		return 0;
	int64_t size = (int64_t(magnitude(value)) << (shift + 1)) + (1 << shift) - 1;
	size = size < MAX_MAGNITUDE ? size : MAX_MAGNITUDE;
	return int32_t(value < 0 ? -size : size);
}

template <typename Coder> class Refinement : public CoefficientSymbols<Coder>
{
	using Base = CoefficientSymbols<Coder>;

  public:
	using Base::Base;

	// Refines values from shifts `from` (tracks) to shifts `to`; null: no shift. A writer takes the refined
	// values from `source` and their steps from `source_steps`.
	bool layer(const uint8_t* from, const uint8_t* to, size_t track_count, const int32_t* source_steps,
			   const int32_t* source)
	{
		const Shape& shape = this->shape_;
		for (int32_t t = 0; t < int32_t(track_count); ++t)
			for (int32_t b = 0; b < shape.blocks && from[t] > (to ? to[t] : 0); ++b)
			{
				int32_t* step = this->rows_.steps + t * shape.blocks + b;
				int32_t bits = from[t] - (to ? to[t] : 0);
				if (!shape.lengths[b])
					continue;
				if (*step < 0 && (*step = source_steps[t * shape.blocks + b], !this->step(t, b)))
					return false;
				for (int32_t c = 0; *step >= 0 && c < this->plan_.tracks[t].channels; ++c)
					if (!channel(t, b, c, bits, source))
						return false;
			}
		return true;
	}

  private:
	// Refines one channel by `bits` bits.
	bool channel(int32_t t, int32_t b, int32_t c, int32_t bits, const int32_t* source)
	{
		const int32_t row = this->shape_.row(this->plan_.tracks[t].first_channel + c, b);
		int32_t* values = this->rows_.values + row;
		LevelPredictor near = this->near_.at(t, b, c);
		int32_t n = this->shape_.lengths[b], known = this->last_of(values, n);
		int32_t reach = this->reach_value(t, b, c, near, known, this->last_of(source + row, n));
		if (reach > n || reach < known)
			return false;
		this->rows_.extents[(this->plan_.tracks[t].first_channel + c) * this->shape_.blocks + b] =
			int16_t(reach);
		this->sums_.predict_level(near, reach);
		for (int32_t k = 1; k <= reach; ++k)
		{
			if (magnitude(values[k]) >= MAX_MAGNITUDE >> bits)
				return false;
			values[k] = refine(near, row, k, reach, bits, source[row + k]);
		}
		return true;
	}

	// Refines one coefficient by `bits` bits, and codes its sign if it was unknown.
	int32_t refine(const LevelPredictor& near, int32_t row, int32_t k, int32_t reach, int32_t bits,
				   int32_t wanted)
	{
		uint8_t* own = this->rows_.levels + row;
		int32_t known = this->rows_.values[row + k], size = magnitude(wanted);
		int32_t low = magnitude(known) << bits, high = low + (1 << bits) - 1;
		low += k == reach && !low; // the last coefficient is not zero
		int symbol = this->between(this->table_of(near, own, k, reach), symbol_of(low, FINE),
								   symbol_of(high, FINE), symbol_of(size, FINE));
		int32_t floor = symbol_floor(symbol, FINE), end = floor + (1 << plain_bits(symbol, FINE));
		low = low > floor ? low : floor;
		high = symbol < ESCAPE && high >= end ? end - 1 : high;
		while (low < high)
		{
			int32_t middle = low + (high - low) / 2;
			if (this->coder_.bits(1, size > middle))
				low = middle + 1;
			else
				high = middle;
		}
		own[k] = level_of(symbol);
		bool negative = known ? known < 0 : low && this->coder_.bits(1, wanted < 0);
		return negative ? -low : low;
	}
};

} // namespace keysine
} // namespace mocpack
