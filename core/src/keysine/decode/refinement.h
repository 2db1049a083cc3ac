// Quality layers of `keysine`: coarse keys and coefficients first, then refinements.
//
// A layer with shift s stores |q| >> s and the sign of a coefficient q. The first layer is coded like any
// group. A refinement by d bits codes which of the 2^d finer integers it is, with the table frequencies of
// those integers. Of a key k, a layer stores (k + h) >> s; h is half of 2^shift of the first layer. A
// refinement appends d raw bits.
#pragma once
#include "keysine/decode/symbols.h"

namespace mocpack
{
namespace keysine
{

const int32_t MAX_SHIFT = MOCPACK_KEYSINE_MAX_SHIFT;

// How coarse keys and coefficients are (tracks); null: as they are.
struct LayerShifts
{
	const uint8_t *keys, *coefficients;
};

inline int32_t shift_at(const uint8_t* shifts, size_t t)
{
	return shifts ? shifts[t] : 0;
}

inline int32_t half_of(int32_t shift)
{
	return shift ? 1 << (shift - 1) : 0;
}

// Coarse keys of a track whose first layer has the shift `first`.
struct CoarseKey
{
	int32_t half;

	explicit CoarseKey(int32_t first) : half(half_of(first))
	{
	}
	int32_t at(int32_t key, int32_t shift) const
	{
		return int32_t((int64_t(key) + half) >> shift);
	}
	// Returns the middle of the keys that a coarse one stands for.
	int64_t middle(int64_t coarse, int32_t shift) const
	{
		return coarse * (int64_t(1) << shift) + half_of(shift) - half;
	}
};

inline bool is_key(int64_t key)
{
	return key >= -MAX_MAGNITUDE && key <= MAX_MAGNITUDE;
}

/* Refines keys (count, channels) from the shifts of one layer to those of the next. A writer takes the
 * refined keys from `source`. Returns false if a key is out of range. */
template <typename Coder>
bool refine_keys(Coder& coder, const Plan& plan, const uint8_t* first, const uint8_t* from, const uint8_t* to,
				 int32_t* keys, size_t count, const int32_t* source)
{
	for (size_t k = 0; k < count; ++k, keys += plan.channel_count, source += plan.channel_count)
		for (size_t t = 0; t < plan.track_count; ++t)
		{
			const CoarseKey coarse(shift_at(first, t));
			const int32_t was = shift_at(from, t), shift = shift_at(to, t), bits = was - shift;
			const int32_t begin = plan.tracks[t].first_channel, end = begin + plan.tracks[t].channels;
			for (int32_t c = begin; c < end && bits > 0; ++c)
			{
				const uint32_t wanted = uint32_t(coarse.at(source[c], shift)) & ((1u << bits) - 1);
				const int64_t refined =
					int64_t(coarse.at(keys[c], was)) * (1 << bits) + coder.bits(bits, wanted);
				const int64_t key = coarse.middle(refined, shift);
				if (!is_key(key))
					return false;
				keys[c] = int32_t(key);
			}
		}
	return true;
}

// Makes keys (count, channels) of a finer layer as coarse as a layer has them.
inline void coarsen_keys(const Plan& plan, const uint8_t* first, const uint8_t* to, const int32_t* source,
						 size_t count, int32_t* keys)
{
	for (size_t k = 0; k < count; ++k, keys += plan.channel_count, source += plan.channel_count)
		for (size_t t = 0; t < plan.track_count; ++t)
		{
			const CoarseKey coarse(shift_at(first, t));
			const int32_t shift = shift_at(to, t), begin = plan.tracks[t].first_channel;
			for (int32_t c = begin; c < begin + plan.tracks[t].channels; ++c)
				keys[c] = int32_t(coarse.middle(coarse.at(source[c], shift), shift));
		}
}

// Codes keys as the first layer has them: divided by 2^shift for `code`, and multiplied again.
template <typename Code>
bool code_coarse_keys(const Plan& plan, const uint8_t* first, int32_t* keys, size_t count, Code code)
{
	auto for_keys = [&](auto change)
	{
		for (size_t k = 0; k < count && first; ++k)
			for (size_t t = 0; t < plan.track_count; ++t)
				for (int32_t c = 0; c < plan.tracks[t].channels; ++c)
					change(keys + k * plan.channel_count + plan.tracks[t].first_channel + c, first[t]);
	};
	for_keys([](int32_t* key, int32_t shift) { *key = CoarseKey(shift).at(*key, shift); });
	bool good = code();
	for_keys(
		[&](int32_t* key, int32_t shift)
		{
			const int64_t found = int64_t(*key) * (1 << shift);
			good = good && is_key(found);
			*key = good ? int32_t(found) : 0;
		});
	return good;
}

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

	// Refines values from shifts `from` (tracks) to those of the context. A writer takes the refined values
	// from `source` and their steps from `source_steps`.
	bool layer(const uint8_t* from, size_t track_count, const int32_t* source_steps, const int32_t* source)
	{
		const Shape& shape = this->shape_;
		for (int32_t t = 0; t < int32_t(track_count); ++t)
			for (int32_t b = 0; b < shape.blocks && from[t] > shift_at(this->shifts_, size_t(t)); ++b)
			{
				int32_t* step = this->rows_.steps + t * shape.blocks + b;
				int32_t bits = from[t] - shift_at(this->shifts_, size_t(t));
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
