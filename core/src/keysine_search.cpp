// Quantisation that knows the bound: rounding, repair of what leaves its allowance, descent in bits.
#include "keysine_search.h"

#include <cmath>
#include <cstring>

#include "wide.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const int LANES = 8;
const int CANDIDATES = 6; // changes that a repair evaluates exactly

float sum_of(const float* lanes)
{
	return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

// Price of the displacements after `size` times `wave` of one channel; gives up above `limit`.
MOCPACK_WIDE float price(const float* gap, const float* move, const float* wave, float size, int32_t stride,
						 int32_t points, float over, float square, float linear, float limit)
{
	float total = 0;
	for (int32_t i = 0; i < points; ++i, gap += 3 * stride, move += 3 * stride)
	{
		float lanes[LANES] = {};
		for (int32_t t = 0; t < stride; t += LANES)
			for (int l = 0; l < LANES; ++l)
			{
				float w = size * wave[t + l];
				float x = gap[t + l] + move[t + l] * w;
				float y = gap[stride + t + l] + move[stride + t + l] * w;
				float z = gap[2 * stride + t + l] + move[2 * stride + t + l] * w;
				float u = x * x + y * y + z * z;
				float beyond = u > 1.0f ? u - 1.0f : 0.0f;
				lanes[l] += over * beyond + u * (linear + square * u);
			}
		total += sum_of(lanes);
		if (total > limit)
			break;
	}
	return total;
}

MOCPACK_WIDE void shift(float* gap, const float* move, const float* wave, float size, int32_t stride,
						int32_t points)
{
	for (int32_t r = 0; r < 3 * points; ++r)
		for (int32_t t = 0; t < stride; ++t)
			gap[r * stride + t] += move[r * stride + t] * (size * wave[t]);
}

MOCPACK_WIDE float largest(const float* gap, int32_t stride, int32_t points)
{
	float lanes[LANES] = {};
	for (int32_t i = 0; i < points; ++i, gap += 3 * stride)
		for (int32_t t = 0; t < stride; t += LANES)
			for (int l = 0; l < LANES; ++l)
			{
				float x = gap[t + l], y = gap[stride + t + l], z = gap[2 * stride + t + l];
				float u = x * x + y * y + z * z;
				lanes[l] = u > lanes[l] ? u : lanes[l];
			}
	float most = 0;
	for (float lane : lanes)
		most = lane > most ? lane : most;
	return most;
}

// Gradient by time (C, stride) of the price of points outside their allowance, over 2 * over.
MOCPACK_WIDE void pull_of(const float* gap, const float* moves, int32_t stride, int32_t points,
						  int32_t channels, float* pull)
{
	for (int32_t i = 0; i < channels * stride; ++i)
		pull[i] = 0;
	for (int32_t i = 0; i < points; ++i)
	{
		const float* g = gap + 3 * i * stride;
		for (int32_t c = 0; c < channels; ++c)
		{
			const float* m = moves + 3 * (c * points + i) * stride;
			float* out = pull + c * stride;
			for (int32_t t = 0; t < stride; ++t)
			{
				float x = g[t], y = g[stride + t], z = g[2 * stride + t];
				float outside = x * x + y * y + z * z > 1.0f ? 1.0f : 0.0f;
				out[t] += outside * (x * m[t] + y * m[stride + t] + z * m[2 * stride + t]);
			}
		}
	}
}

MOCPACK_WIDE float inner(const float* a, const float* b, int32_t stride)
{
	float lanes[LANES] = {};
	for (int32_t t = 0; t < stride; t += LANES)
		for (int l = 0; l < LANES; ++l)
			lanes[l] += a[t + l] * b[t + l];
	return sum_of(lanes);
}

int32_t size_of(int32_t value)
{
	return value < 0 ? -value : value;
}

int32_t least(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

class Block
{
  public:
	Block(const Problem& problem, const Effort& effort, void* scratch) : p_(problem), e_(effort)
	{
		float* at = static_cast<float*>(scratch);
		gap_ = at, at += 3 * p_.points * p_.stride;
		pull_ = at, at += p_.channels * p_.stride;
		slope_ = at, at += p_.channels * p_.stride;
		values_ = reinterpret_cast<int32_t*>(at);
	}

	// Rounds, then repairs and descends; `best` is the cost to beat.
	Found solve(int32_t step, float size, float best)
	{
		size_ = size;
		round();
		price_ = whole_price();
		for (int32_t sweep = 0; sweep < (e_.sweeps ? e_.sweeps : 1); ++sweep)
		{
			int32_t changes = repair();
			if (!e_.sweeps || (sweep && e_.over > 0 && worst() > 1.0f) ||
				(!sweep && all_bits() > 1.6f * best + 20.0f))
				break;
			changes += descend();
			if (!changes)
				break;
		}
		return {price_ + all_bits(), worst(), step};
	}

	const int32_t* values() const
	{
		return values_;
	}

	bool any() const
	{
		for (int32_t i = 0; i < p_.channels * p_.stride; ++i)
			if (values_[i])
				return true;
		return false;
	}

  private:
	void round()
	{
		std::memcpy(gap_, p_.start, sizeof(float) * size_t(3 * p_.points * p_.stride));
		std::memset(values_, 0, sizeof(int32_t) * size_t(p_.channels * p_.stride));
		for (int32_t c = 0; c < p_.channels; ++c)
			for (int32_t k = 0; k < p_.n; ++k)
			{
				float wanted = p_.wanted[c * p_.stride + k] / size_;
				float size = std::floor(std::fabs(wanted) + e_.rounding);
				if (!(size >= 1.0f))
					continue;
				size = size < 1e9f ? size : 1e9f;
				values_[c * p_.stride + k] = wanted > 0 ? int32_t(size) : -int32_t(size);
				move(c, k, float(values_[c * p_.stride + k]));
			}
	}

	void move(int32_t c, int32_t k, float units)
	{
		shift(gap_, moves(c), sine(k), units * size_, p_.stride, p_.points);
	}

	const float* moves(int32_t c) const
	{
		return p_.moves + 3 * c * p_.points * p_.stride;
	}

	const float* sine(int32_t k) const
	{
		return p_.sines + k * p_.stride;
	}

	float worst() const
	{
		return largest(gap_, p_.stride, p_.points);
	}

	float price_after(int32_t c, int32_t k, float units, float limit) const
	{
		return price(gap_, moves(c), sine(k), units * size_, p_.stride, p_.points, e_.over, e_.square,
					 e_.linear, limit);
	}

	float whole_price() const
	{
		return price_after(0, 0, 0.0f, 1e30f);
	}

	float bits_at(int32_t c, int32_t k) const
	{
		const int32_t* row = values_ + c * p_.stride;
		int32_t one = k > 0 ? size_of(row[k - 1]) : 0, two = k > 1 ? size_of(row[k - 2]) : 0;
		int32_t near = one > 3 ? 7 : least(2 * one + two, 7);
		float bits =
			p_.rates->bits[p_.bands[k]][near][p_.before[c * p_.stride + k]][least(size_of(row[k]), 39)];
		if (k < e_.calm_from || !row[k])
			return bits;
		float wanted = p_.wanted[c * p_.stride + k] / size_,
			  added = float(row[k]) * float(row[k]) - wanted * wanted;
		return added > 0 ? bits + e_.calm * added : bits;
	}

	// Bits of a coefficient and of the two whose contexts it is in.
	float bits_around(int32_t c, int32_t k) const
	{
		float sum = 0;
		for (int32_t e = k; e < least(k + 3, p_.n); ++e)
			sum += bits_at(c, e);
		return sum;
	}

	float bits_of_change(int32_t c, int32_t k, int32_t units)
	{
		float before = bits_around(c, k);
		values_[c * p_.stride + k] += units;
		float after = bits_around(c, k);
		values_[c * p_.stride + k] -= units;
		return after - before;
	}

	float all_bits() const
	{
		float sum = 0;
		for (int32_t c = 0; c < p_.channels; ++c)
			for (int32_t k = 0; k < p_.n; ++k)
				sum += bits_at(c, k);
		return sum;
	}

	void take(int32_t c, int32_t k, int32_t units, float new_price)
	{
		values_[c * p_.stride + k] += units;
		move(c, k, float(units));
		price_ = new_price;
	}

	// While a point is outside, makes the change of one unit that buys most; returns how many it made.
	int32_t repair()
	{
		int32_t made = 0;
		while (e_.over > 0 && made < e_.repairs && worst() > 1.0f)
		{
			int32_t channel[CANDIDATES], frequency[CANDIDATES], found = screen(channel, frequency);
			float best = -1e-9f, best_price = 0;
			int32_t at = -1, best_units = 0;
			for (int32_t i = 0; i < found; ++i)
			{
				int32_t c = channel[i], k = frequency[i];
				int32_t units = slope_[c * p_.stride + k] > 0 ? -1 : 1;
				float bits = bits_of_change(c, k, units);
				float after = price_after(c, k, float(units), price_ - bits + best);
				if (after - price_ + bits < best)
					best = after - price_ + bits, best_price = after, at = i, best_units = units;
			}
			if (at < 0)
				break;
			take(channel[at], frequency[at], best_units, best_price);
			++made;
		}
		return made;
	}

	// The changes of one unit that promise most by the gradient, best first.
	int32_t screen(int32_t* channel, int32_t* frequency)
	{
		float gain[CANDIDATES];
		int32_t found = 0;
		pull_of(gap_, p_.moves, p_.stride, p_.points, p_.channels, pull_);
		for (int32_t c = 0; c < p_.channels; ++c)
			for (int32_t k = 0; k < p_.n; ++k)
			{
				float slope = 2.0f * e_.over * inner(pull_ + c * p_.stride, sine(k), p_.stride);
				slope_[c * p_.stride + k] = slope;
				float promise = std::fabs(slope) * size_;
				if (found == CANDIDATES && promise <= gain[found - 1])
					continue;
				promise -= bits_of_change(c, k, slope > 0 ? -1 : 1);
				if (promise <= 0 || (found == CANDIDATES && promise <= gain[found - 1]))
					continue;
				int32_t at = found < CANDIDATES ? found++ : found - 1;
				for (; at > 0 && gain[at - 1] < promise; --at)
					gain[at] = gain[at - 1], channel[at] = channel[at - 1], frequency[at] = frequency[at - 1];
				gain[at] = promise, channel[at] = c, frequency[at] = k;
			}
		return found;
	}

	// Tries zero, one less and one more for each coefficient, from high frequencies to low.
	int32_t descend()
	{
		int32_t changes = 0;
		for (int32_t k = p_.n - 1; k >= 0; --k)
			for (int32_t c = 0; c < p_.channels; ++c)
				changes += improve(c, k);
		return changes;
	}

	int32_t improve(int32_t c, int32_t k)
	{
		int32_t value = values_[c * p_.stride + k];
		if (!value)
			return 0;
		int32_t towards = value > 0 ? -1 : 1, best_units = 0;
		int32_t tries[3] = {-value, towards, -towards};
		float best = -1e-9f, best_price = 0;
		for (int32_t i = 0; i < 3; ++i)
		{
			if (i == 1 && size_of(value) == 1)
				continue;
			float bits = bits_of_change(c, k, tries[i]);
			if (price_ - bits + best < 0)
				continue;
			float after = price_after(c, k, float(tries[i]), price_ - bits + best);
			if (after - price_ + bits < best)
				best = after - price_ + bits, best_price = after, best_units = tries[i];
		}
		if (best_units)
			take(c, k, best_units, best_price);
		return best_units != 0;
	}

	const Problem& p_;
	const Effort& e_;
	float size_ = 1, price_ = 0;
	float *gap_, *pull_, *slope_;
	int32_t* values_;
};

float step_bits(int32_t step, int32_t expected)
{
	return step == expected ? 0.7f : 2.0f + float(size_of(step - expected));
}

} // namespace

size_t search_scratch(int32_t stride, int32_t channels, int32_t points)
{
	return sizeof(float) * size_t(stride) * size_t(3 * points + 3 * channels) + 64;
}

Found search_block(const Problem& problem, const Effort& effort, const double* steps, int32_t expected,
				   int32_t* coefficients, void* scratch)
{
	Block block(problem, effort, scratch);
	Found best = {1e30f, 0, -1};
	bool inside = false;
	int32_t first = effort.coarsest, last = effort.finest;
	for (int32_t step = first; step < 62; ++step)
	{
		Found found = block.solve(step, float(steps[step]), best.cost);
		bool any = block.any();
		found.cost += any ? step_bits(step, expected) : 0.0f;
		bool good = found.worst <= 1.0f || effort.over <= 0;
		if (!good)
			found.cost += 1e6f * found.worst;
		if (found.cost < best.cost)
		{
			best = found;
			std::memcpy(coefficients, block.values(),
						sizeof(int32_t) * size_t(problem.channels * problem.stride));
		}
		inside = inside || good;
		if (inside && (step >= last || found.cost > 1.5f * best.cost + 10.0f || !any ||
					   (effort.greedy && found.cost > best.cost)))
			break;
		if (step >= last + 16)
			break;
	}
	return best;
}

} // namespace keysine
} // namespace mocpack
