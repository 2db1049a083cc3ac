// Layers of `keysine`: coefficients coarsely first, then finer, given the coarse ones.
//
// A layer of shift s knows of a coefficient q the integer |q| >> s and its sign. The base is coded like any
// group; a refinement codes which of the 2^d integers it is that a coarse one may stand for, by the same
// decisions as if the smaller ones had been ruled out already.
#pragma once
#include "keysine/decode/symbols.h"

namespace mocpack
{
namespace keysine
{

const int32_t MOST_SHIFT = MOCPACK_KEYSINE_MOST_SHIFT;

inline int32_t shifted(int32_t value, int32_t shift)
{
	int32_t size = magnitude(value) >> shift;
	return value < 0 ? -size : size;
}

// Twice the middle of what an integer of a layer may stand for.
inline int32_t doubled_middle(int32_t value, int32_t shift)
{
	if (!value)
		return 0;
	int64_t size = (int64_t(magnitude(value)) << (shift + 1)) + (1 << shift) - 1;
	size = size < LARGEST ? size : LARGEST;
	return int32_t(value < 0 ? -size : size);
}

template <typename Coder> class Refinement : public Symbols<Coder>
{
	using typename Symbols<Coder>::Rows;

  public:
	Refinement(Coder& coder, Models& models, const Plan& plan) : Symbols<Coder>(coder, models, plan)
	{
	}

	// Turns values at shifts `from` (tracks) into values at shifts `to`; null: no shift. A writer finds these
	// in `source`. reaches holds the classes of what was read last.
	bool layer(const Shape& shape, const uint8_t* from, const uint8_t* to, size_t track_count, int32_t* steps,
			   const int32_t* source_steps, int32_t* values, const int32_t* source, uint8_t* reaches)
	{
		this->find_bands(shape);
		for (int32_t t = 0; t < int32_t(track_count); ++t)
			for (int32_t b = 0; b < shape.blocks && from[t] > (to ? to[t] : 0); ++b)
			{
				int32_t* step = steps + t * shape.blocks + b;
				int32_t bits = from[t] - (to ? to[t] : 0);
				if (*step < 0 &&
					(*step = source_steps[t * shape.blocks + b], !this->step(shape, t, b, steps, reaches)))
					return false;
				for (int32_t c = 0; *step >= 0 && c < this->plan_.tracks[t].channels; ++c)
					if (!channel(shape, t, b, c, *step, bits, values, source, reaches))
						return false;
			}
		return true;
	}

  private:
	// One channel by so many bits finer.
	bool channel(const Shape& shape, int32_t t, int32_t b, int32_t c, int32_t step, int32_t bits,
				 int32_t* values, const int32_t* source, uint8_t* reaches)
	{
		const Track& track = this->plan_.tracks[t];
		Rows rows = this->rows_of(shape, track, b, c, values);
		const int32_t* wanted = source + (rows.own - values);
		int32_t n = shape.lengths[b], known = this->last_of(rows.own, n);
		int32_t reach = this->reach_value(shape, track, b, c, step, known, this->last_of(wanted, n), reaches);
		if (reach > n)
			return false;
		for (int32_t k = 1; k <= reach; ++k)
		{
			if (magnitude(rows.own[k]) >= LARGEST >> bits)
				return false;
			refine(track, c, k, reach, rows, bits, wanted[k]);
		}
		return true;
	}

	// A coefficient by so many bits finer, and its sign if that was not known.
	void refine(const Track& track, int32_t c, int32_t k, int32_t reach, const Rows& rows, int32_t bits,
				int32_t wanted)
	{
		int32_t known = rows.own[k], size = magnitude(wanted);
		int32_t found = magnitude(known) << bits, high = found + (1 << bits) - 1;
		found += k == reach && !found; // which is not zero
		if (found < high && found < LEVELS)
		{
			Contexts context = this->contexts_of(track, c, k, reach, rows);
			while (found < high && found < LEVELS && this->more(context, k, found, size > found))
				++found;
			high = found < LEVELS ? found : high;
		}
		found = halved(found, high, size);
		bool negative = known ? known < 0 : found && this->coder_.coin(wanted < 0);
		rows.own[k] = negative ? -found : found;
	}

	// One of the integers from `low` to `high`, all alike.
	int32_t halved(int32_t low, int32_t high, int32_t size)
	{
		while (low < high)
		{
			int32_t middle = (low + high) / 2;
			if (this->coder_.coin(size > middle))
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}
};

} // namespace keysine
} // namespace mocpack
