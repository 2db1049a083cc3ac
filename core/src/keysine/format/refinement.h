// Quality layers of `keysine`: coarse keys and coefficients first, then refinements.
//
// A layer with shift s stores |q| >> s and the sign of a coefficient q. The first layer is coded like any
// group. A refinement by d bits codes which of the 2^d finer integers it is, with the table frequencies of
// those integers. Keys inside a group are coded in the same way, as differences to the mean of their
// neighbors. For a key k at the end of a group, a layer stores (k + h) >> s. Here h is half of 2^shift of the
// first layer. A refinement appends d raw bits.
#pragma once
#include "keysine/format/symbols.h"

namespace mocpack
{
namespace keysine
{

const int32_t MAX_SHIFT = MOCPACK_KEYSINE_MAX_SHIFT;

// Shifts (tracks) of keys and coefficients; null: all 0.
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
	// Returns the middle of the keys that a coarse one represents.
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

// Coarsens keys (count, channels) of a finer layer to the shifts of a layer.
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

// Codes the keys of the first layer: divides them by 2^shift, calls `code`, and multiplies them again.
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

// Returns twice the middle of the interval that a coarse integer represents.
inline int32_t doubled_midpoint(int32_t value, int32_t shift)
{
	if (!value)
		return 0;
	int64_t size = (int64_t(magnitude(value)) << (shift + 1)) + (1 << shift) - 1;
	size = size < MAX_MAGNITUDE ? size : MAX_MAGNITUDE;
	return int32_t(value < 0 ? -size : size);
}

// Returns the shift of the keys inside a group, given the shifts of the keys at its ends.
inline int32_t inner_shift(const uint8_t* shifts, size_t t)
{
	const int32_t shift = shift_at(shifts, t);
	return shift ? shift + 1 : 0;
}

/* The keys between the two at the ends of a group. A layer with shift s stores |r| >> s and the sign of a
 * key's residual r, its difference to the mean of its neighbors. */
template <typename Coder> class InnerKeys : public KeySymbols<Coder>
{
	using Base = KeySymbols<Coder>;

  public:
	using Base::Base;

	/* Codes the residuals (2^splits + 1, channels) of a layer and computes its keys. from: shifts (tracks) of
	 * the previous layer, whose residuals are refined; null: none. A writer takes the residuals from
	 * `source`. Returns false if a key is out of range. */
	bool layer(const uint8_t* from, const uint8_t* to, int splits, int32_t* keys, int32_t* residuals,
			   const int32_t* source)
	{
		const size_t channels = this->plan_.channel_count;
		return this->bisect(
			splits,
			[&](size_t at, size_t half, int state)
			{
				const int32_t *before = keys + (at - half) * channels, *after = keys + (at + half) * channels;
				int32_t sum = 0, seen = 0;
				for (size_t t = 0; t < this->plan_.track_count; ++t)
				{
					const Track& track = this->plan_.tracks[t];
					const int32_t shift = inner_shift(to, t);
					const int32_t bits = from ? inner_shift(from, t) - shift : -1;
					for (int32_t c = track.first_channel; c < track.first_channel + track.channels; ++c)
					{
						const int32_t apart = symbol_of(magnitude(after[c] - before[c]) >> shift, COARSE);
						int32_t* own = residuals + at * channels + c;
						*own =
							residual(track, c - track.first_channel, state, apart, seen ? 4 * sum / seen : 0,
									 bits, *own, shift_magnitude(source[at * channels + c], shift));
						const int64_t key = ((int64_t(before[c]) + after[c]) >> 1) + middle(*own, shift);
						if (this->failed_ || !is_key(key))
							return false;
						keys[at * channels + c] = int32_t(key);
						sum += this->found_[c], ++seen;
					}
				}
				return true;
			});
	}

  private:
	// Returns the middle of the residuals that a coarse one represents.
	static int64_t middle(int32_t value, int32_t shift)
	{
		const int64_t size = (int64_t(magnitude(value)) << shift) + ((1 << shift) - 1) / 2;
		return value ? value < 0 ? -size : size : 0;
	}

	// Codes a residual, or refines a known one by `bits` bits.
	int32_t residual(const Track& track, int32_t c, int state, int32_t apart, int32_t mean, int32_t bits,
					 int32_t known, int32_t wanted)
	{
		if (bits < 0)
			return this->difference(this->coder_, track, c, state, apart, mean, wanted);
		uint8_t* found = this->found_ + track.first_channel + c;
		this->failed_ = this->failed_ || magnitude(known) >= MAX_MAGNITUDE >> bits;
		int symbol = symbol_of(magnitude(known), COARSE);
		if (!bits || this->failed_)
		{
			*found = uint8_t(symbol);
			return known;
		}
		const int32_t low = magnitude(known) << bits, high = low + (1 << bits) - 1;
		const int32_t size = magnitude_between(this->coder_, this->table_of(track, c, state, apart, mean),
											   COARSE, low, high, magnitude(wanted), &symbol);
		*found = uint8_t(symbol);
		const bool negative = known ? known < 0 : size && this->coder_.bits(1, wanted < 0);
		return negative ? -size : size;
	}
};

// Computes the residuals (2^splits + 1, channels) of keys inside a group.
inline void find_residuals(const Plan& plan, const int32_t* keys, int splits, int32_t* residuals)
{
	const size_t channels = plan.channel_count;
	for (size_t half = size_t(1) << splits >> 1; half; half >>= 1)
		for (size_t at = half; at < size_t(1) << splits; at += 2 * half)
			for (size_t c = 0; c < channels; ++c)
				residuals[at * channels + c] = int32_t(
					keys[at * channels + c] -
					((int64_t(keys[(at - half) * channels + c]) + keys[(at + half) * channels + c]) >> 1));
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
		int symbol;
		low = magnitude_between(this->coder_, this->table_of(near, own, k, reach), FINE, low, high, size,
								&symbol);
		own[k] = level_of(symbol);
		bool negative = known ? known < 0 : low && this->coder_.bits(1, wanted < 0);
		return negative ? -low : low;
	}
};

} // namespace keysine
} // namespace mocpack
