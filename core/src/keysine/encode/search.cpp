// Quantizes one track within its bound: rounding, repair of points outside their allowances, descent in bits.
#include "keysine/encode/search.h"

#include <cmath>
#include <cstring>

#include "keysine/encode/squares.h"
#include "math/elementary.h"

namespace mocpack
{
namespace keysine
{

namespace
{

const int32_t MAX_CANDIDATES = 8; // changes that a repair evaluates exactly
const int32_t MAX_STEEPEST = 32;

// Work that takes as long as one number of the inner loops in squares.h.
const double NUMBERS_PER_COEFFICIENT = 16; // its rounding, contexts and bits at one step
const double NUMBERS_PER_CHANGE = 200;	   // the bits that a change of one coefficient adds

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
	Block(const Problem& problem, const SearchSettings& settings, const Constants& constants,
		  const SearchMemory& memory)
		: p_(problem), s_(settings), c_(constants),
		  candidates_(least(int32_t(constants.repair_candidates), MAX_CANDIDATES)),
		  steepest_(least(int32_t(constants.steepest_changes), MAX_STEEPEST)),
		  around_(int32_t(constants.recheck_frequencies)), gap_(memory.gap), pull_(memory.pull),
		  slope_(memory.slope), squares_(memory.squares), values_(memory.values)
	{
		// the memory has room for more points
		squares_.cells = p_.points * p_.stride, squares_.channels = p_.channels;
	}

	// Rounds, then repairs and descends. `best` is the cost to beat. is_only: the cost is compared with no
	// other if no point is outside, so it need not be computed.
	SearchResult solve(int32_t step, float size, float best, bool is_only)
	{
		size_ = size;
		work_ += (p_.channels + 1.0) * squares_.cells + p_.channels * p_.n * NUMBERS_PER_COEFFICIENT;
		round();
		// without sweeps, rounding is enough if no point is outside
		float outside = worst();
		bool changes_follow = s_.sweeps || (s_.excess_penalty > 0 && outside > 1.0f);
		if (!changes_follow && is_only)
			return {0, outside, step};
		begin(step, changes_follow);
		if (changes_follow)
			multiply();
		price_ = whole_price();
		for (int32_t sweep = 0; sweep < (s_.sweeps ? s_.sweeps : 1); ++sweep)
		{
			int32_t changes = changes_follow ? repair() : 0;
			if (!s_.sweeps || (sweep && s_.excess_penalty > 0 && worst() > 1.0f) ||
				(!sweep && all_bits() > hopeless(best)))
				break;
			changes += descend();
			if (!changes)
				break;
			predict_level(1);
		}
		return {price_ + all_bits(), worst(), step};
	}

	// Returns the cost above which the search gives up, if the best cost so far is `best`.
	float hopeless(float best) const
	{
		return float(c_.give_up_ratio) * best + float(c_.give_up_bits);
	}

	const int32_t* values() const
	{
		return values_;
	}

	// Returns the price of the displacements alone, without bits.
	float displacement_price() const
	{
		return price_;
	}

	// Returns the number of numbers that the search has computed.
	double work() const
	{
		return work_;
	}

	bool has_coefficients() const
	{
		for (int32_t i = 0; i < p_.channels * p_.stride; ++i)
			if (values_[i])
				return true;
		return false;
	}

  private:
	// A channel's coefficients with the contexts and symbols that the entropy coder uses for them.
	struct Row
	{
		LevelPredictor near;
		int32_t reach;
		bool zeros_known;
		float zeros[MAX_BLOCK_FRAMES + 1]; // bits of all zeros before each coefficient, in a row of zeros
		const float* reach_bits;
		uint8_t levels[MAX_BLOCK_FRAMES + 3 * MARGIN], symbols[MAX_BLOCK_FRAMES], changed[MAX_BLOCK_FRAMES];

		uint8_t* own()
		{
			return levels + MARGIN;
		}
		const uint8_t* own() const
		{
			return levels + MARGIN;
		}
	};

	void round()
	{
		std::memcpy(gap_, p_.start, sizeof(float) * size_t(3 * p_.points * p_.stride));
		std::memset(values_, 0, sizeof(int32_t) * size_t(p_.channels * p_.stride));
		for (int32_t c = 0; c < p_.channels; ++c)
			if (round_channel(c))
				add_wave(gap_, moves(c), pull_, size_, p_.stride, p_.points);
		// only now: before rounding, displacements are large, and their squares would lose precision
		multiply_rows(gap_, gap_, p_.stride, p_.points, squares_.now);
	}

	// Computes the products that give the prices of changes.
	void multiply()
	{
		for (int32_t c = 0; c < p_.channels; ++c)
			multiply_rows(gap_, moves(c), p_.stride, p_.points, along(c));
		for (int32_t c = 0; c < p_.channels && !multiplied_; ++c)
			for (int32_t d = 0; d <= c; ++d)
				multiply_rows(moves(c), moves(d), p_.stride, p_.points, squares_.of_pair(c, d));
		multiplied_ = true;
	}

	// Rounds the coefficients of a channel and leaves their series in pull_. Returns false if all are zero.
	bool round_channel(int32_t c)
	{
		bool any = false;
		// most coefficients round to zero, which needs no division; the margin allows for its rounding error
		const float nothing = 0.999f * (1.0f - s_.rounding) * size_;
		std::memset(pull_, 0, sizeof(float) * size_t(p_.stride));
		for (int32_t k = 0; k < p_.n; ++k)
		{
			if (std::fabs(p_.wanted[c * p_.stride + k]) < nothing)
				continue;
			float wanted = p_.wanted[c * p_.stride + k] / size_;
			float size = std::fabs(wanted) + s_.rounding;
			if (!(size >= 1.0f))
				continue;
			int32_t value = int32_t(size < 1e9f ? size : 1e9f);
			values_[c * p_.stride + k] = wanted > 0 ? value : -value;
			work_ += p_.stride;
			add_row(pull_, sine(k), float(values_[c * p_.stride + k]), p_.stride);
			any = true;
		}
		return any;
	}

	void move(int32_t c, int32_t k, float units)
	{
		work_ += (p_.channels + 1.0) * squares_.cells;
		float size = units * size_;
		change_squares(squares_.now, along(c), squares_.of_pair(c, c), sine(k), size, p_.stride, p_.points);
		for (int32_t d = 0; d < p_.channels; ++d)
			change_products(along(d), squares_.of_pair(c, d), sine(k), size, p_.stride, p_.points);
	}

	float* along(int32_t c) const
	{
		return squares_.along + c * squares_.cells;
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
		return largest(squares_.now, squares_.cells);
	}

	float price_after(int32_t c, int32_t k, float units, float limit)
	{
		int32_t points;
		const float after =
			price(squares_.now, along(c), squares_.of_pair(c, c), sine(k), units * size_, p_.stride,
				  p_.points, s_.excess_penalty, s_.quartic_penalty, s_.squared_penalty, limit, &points);
		work_ += double(points) * p_.stride;
		return after;
	}

	float whole_price() const
	{
		return price_of(squares_.now, squares_.cells, s_.excess_penalty, s_.quartic_penalty,
						s_.squared_penalty);
	}

	// Sets the contexts and symbols of the rounded rows at a step. Computes contexts beyond their reaches
	// only if rows can grow.
	void begin(int32_t step, bool grows)
	{
		for (int32_t c = 0; c < p_.channels; ++c)
		{
			Row& row = rows_[c];
			std::memset(row.levels, 0, size_t(p_.n + 3 * MARGIN));
			std::memset(row.symbols, 0, size_t(p_.n));
			std::memset(row.changed, 1, size_t(p_.n));
			row.near = p_.near->at(p_.t, p_.b, c, step);
			row.near.left = c ? rows_[c - 1].own() : row.near.left;
			row.near.second_left = c > 1 ? rows_[c - 2].own() : row.near.second_left;
			row.reach = 0;
			for (int32_t k = 0; k < p_.n; ++k)
				if (values_[c * p_.stride + k])
					set_level(c, k), row.reach = k + 1;
		}
		step_ = step, grows_ = grows;
		predict_level();
	}

	// Updates the sums that select tables from the current rows. A channel's contexts include the channels
	// before it.
	void predict_level(int32_t from = 0)
	{
		for (int32_t c = from; c < p_.channels; ++c)
		{
			Row& row = rows_[c];
			p_.sums[c].predict_level(row.near, grows_ ? p_.n : row.reach);
			row.zeros_known = false;
			const uint16_t* table = p_.near->reach_table(p_.t, p_.b, c, row.near, step_,
														 c ? reach_symbol(rows_[c - 1].reach) : 0);
			row.reach_bits = p_.bits->of_reach[(table - REACH_TABLES[0][0]) / (REACHES + 1)];
		}
	}

	// Returns the bits of zeros from one coefficient up to another, if the coefficients just before them are
	// zero too.
	float zeros(int32_t c, int32_t from, int32_t to)
	{
		Row& row = rows_[c];
		float sum = 0;
		for (int32_t k = 0; k < p_.n && !row.zeros_known; ++k)
		{
			row.zeros[k] = sum;
			sum += p_.bits->of[p_.sums[c].class_of(row.near, k + 1)][REACH_LEFT - 1][0];
		}
		row.zeros_known = true;
		return row.zeros[to] - row.zeros[from];
	}

	void set_level(int32_t c, int32_t k)
	{
		int symbol = symbol_of(size_of(values_[c * p_.stride + k]), FINE);
		rows_[c].symbols[k] = uint8_t(symbol), rows_[c].own()[k + 1] = level_of(symbol);
	}

	// Returns the bits of a coefficient within the reach of its row, plus its penalty for jitter.
	float bits_at(int32_t c, int32_t k) const
	{
		const Row& row = rows_[c];
		int32_t left = least(row.reach - k - 1, REACH_LEFT - 1), symbol = row.symbols[k];
		float bits = p_.bits->of[p_.sums[c].class_of(row.near, row.own(), k + 1)][left][symbol];
		if (k < p_.jitter_from || !symbol)
			return bits;
		int32_t value = values_[c * p_.stride + k];
		float wanted = p_.wanted[c * p_.stride + k] / size_,
			  added = float(value) * float(value) - wanted * wanted;
		return added > 0 ? bits + s_.jitter_penalty * added : bits;
	}

	// Returns the bits of coefficients `from` up to `to`, as far as the row reaches.
	float bits_of(int32_t c, int32_t from, int32_t to) const
	{
		float sum = 0;
		for (int32_t k = from, end = least(to, rows_[c].reach); k < end; ++k)
			sum += bits_at(c, k);
		return sum;
	}

	// Returns the same plus the bits of the reach. All coefficients in the gap are zeros, far from any
	// nonzero one.
	float bits_with_reach(int32_t c, int32_t from, int32_t to, int32_t gap_from, int32_t gap_to)
	{
		float sum = rows_[c].reach_bits[reach_symbol(rows_[c].reach)];
		if (gap_from >= gap_to || rows_[c].reach <= gap_from)
			return sum + bits_of(c, from, to);
		return sum + bits_of(c, from, gap_from) + zeros(c, gap_from, gap_to) + bits_of(c, gap_to, to);
	}

	// Returns the bits of a coefficient and of those whose contexts include it.
	float bits_around(int32_t c, int32_t k) const
	{
		return bits_of(c, k, k + 4);
	}

	// Returns how many bits a change adds: in the coefficient, in later ones whose contexts include it, and
	// in the reach. now: bits_around before the change.
	float bits_of_change(int32_t c, int32_t k, int32_t units)
	{
		return bits_of_change(c, k, units, bits_around(c, k));
	}
	float bits_of_change(int32_t c, int32_t k, int32_t units, float now)
	{
		work_ += NUMBERS_PER_CHANGE;
		Row& row = rows_[c];
		int32_t& value = values_[c * p_.stride + k];
		int32_t before = row.reach, after = before;
		if (value + units)
			after = k + 1 > before ? k + 1 : before;
		else if (k + 1 == before)
			for (after = k; after > 0 && !values_[c * p_.stride + after - 1];)
				--after;
		int32_t low = least(before, after), high = before + after - low,
				from = low > 3 ? least(low - 3, k) : 0, gap_from = low + 4, gap_to = high - 4;
		if (after != before)
			now = bits_with_reach(c, from, high, gap_from, gap_to);
		uint8_t level = row.own()[k + 1], symbol = row.symbols[k];
		value += units, row.reach = after, set_level(c, k);
		float then = after != before ? bits_with_reach(c, from, high, gap_from, gap_to) : bits_around(c, k);
		value -= units, row.reach = before, row.own()[k + 1] = level, row.symbols[k] = symbol;
		return then - now;
	}

	float all_bits() const
	{
		float sum = 0;
		for (int32_t c = 0; c < p_.channels; ++c)
			sum += bits_of(c, 0, p_.n) + rows_[c].reach_bits[reach_symbol(rows_[c].reach)];
		return sum;
	}

	void take(int32_t c, int32_t k, int32_t units, float new_price)
	{
		values_[c * p_.stride + k] += units;
		set_level(c, k);
		int32_t& reach = rows_[c].reach;
		reach = reach > k + 1 ? reach : k + 1;
		while (reach > 0 && !values_[c * p_.stride + reach - 1])
			--reach;
		move(c, k, float(units));
		price_ = new_price;
		for (int32_t d = 0; d < p_.channels; ++d)
			for (int32_t near = k > around_ ? k - around_ : 0; near <= k + around_ && near < p_.n; ++near)
				rows_[d].changed[near] = 1;
	}

	// While a point is outside, makes the change of one unit with the largest gain. Returns the number of
	// changes.
	int32_t repair()
	{
		int32_t change_count = 0;
		while (s_.excess_penalty > 0 && change_count < s_.repairs && worst() > 1.0f)
		{
			int32_t channel[MAX_CANDIDATES], frequency[MAX_CANDIDATES], found = screen(channel, frequency);
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
			++change_count;
		}
		return change_count;
	}

	// Finds the most promising changes of one unit, best first. Among the changes with the steepest slopes,
	// takes those that gain most after the cost of their bits. Returns their number.
	int32_t screen(int32_t* channel, int32_t* frequency)
	{
		Candidate steepest[MAX_STEEPEST], best[MAX_CANDIDATES];
		int32_t steep = 0, found = 0;
		for (int32_t c = 0; c < p_.channels; ++c)
		{
			float* slopes = slope_ + c * p_.stride;
			find_slopes(c, slopes);
			for (int32_t k = 0; k < p_.n; ++k)
				insert({std::fabs(slopes[k]) * size_, c, k}, steepest, &steep, steepest_);
		}
		for (int32_t i = 0; i < steep; ++i)
		{
			Candidate one = steepest[i];
			one.gain -= bits_of_change(one.channel, one.frequency,
									   slope_[one.channel * p_.stride + one.frequency] > 0 ? -1 : 1);
			insert(one, best, &found, candidates_);
		}
		for (int32_t i = 0; i < found; ++i)
			channel[i] = best[i].channel, frequency[i] = best[i].frequency;
		return found;
	}

	// A change and its gain. insert() adds it to the best ones, best first, if it gains anything.
	struct Candidate
	{
		float gain;
		int32_t channel, frequency;
	};
	static void insert(const Candidate& one, Candidate* kept, int32_t* count, int32_t most)
	{
		if (one.gain <= 0 || (*count == most && one.gain <= kept[most - 1].gain))
			return;
		int32_t at = *count < most ? (*count)++ : most - 1;
		for (; at > 0 && kept[at - 1].gain < one.gain; --at)
			kept[at] = kept[at - 1];
		kept[at] = one;
	}

	// Computes the gradient of the excess penalty by all coefficients of a channel (stride). Sums over
	// frames, since points are outside in few of them. Frame t of all waves is wave t, because sin(π (k + 1)
	// (t + 1) / N) is symmetric in k and t.
	void find_slopes(int32_t c, float* slopes)
	{
		work_ += 2.0 * squares_.cells + p_.n * NUMBERS_PER_COEFFICIENT;
		pull_of(squares_.now, along(c), p_.stride, p_.points, pull_);
		std::memset(slopes, 0, sizeof(float) * size_t(p_.stride));
		for (int32_t t = 0; t < p_.n; ++t)
			if (pull_[t] != 0.0f)
				add_row(slopes, sine(t), 2.0f * s_.excess_penalty * pull_[t], p_.stride), work_ += p_.stride;
	}

	// Tries zero, one less and one more for each nonzero coefficient, from high frequencies to low. Returns
	// the number of changes.
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
		if (!value || !rows_[c].changed[k])
			return 0;
		rows_[c].changed[k] = 0;
		int32_t towards = value > 0 ? -1 : 1, best_units = 0;
		int32_t tries[3] = {-value, towards, -towards};
		float best = -1e-9f, best_price = 0, now = bits_around(c, k);
		for (int32_t i = 0; i < 3; ++i)
		{
			if (i == 1 && size_of(value) == 1)
				continue;
			float bits = bits_of_change(c, k, tries[i], now);
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
	const SearchSettings& s_;
	const Constants& c_;
	const int32_t candidates_, steepest_, around_;
	bool multiplied_ = false; // whether products of moves, which never change, are computed
	float size_ = 1, price_ = 0;
	double work_ = 0;
	int32_t step_ = 0;
	bool grows_ = true;
	Row rows_[4];
	float *gap_, *pull_, *slope_;
	Squares squares_;
	int32_t* values_;
};

} // namespace

float share_bits(const uint16_t* starts, int symbol)
{
	int share = starts[symbol + 1] - starts[symbol];
	return share ? float(TABLE_BITS - math::log2(share)) : 24.0f;
}

void fill_bits(Bits* bits)
{
	for (int row = 0; row < MAGNITUDE_CLASSES; ++row)
		for (int left = 0; left < REACH_LEFT; ++left)
			for (int symbol = 0; symbol < SYMBOLS; ++symbol)
				bits->of[row][left][symbol] = share_bits(MAGNITUDE_TABLES[row][left], symbol) +
											  float(plain_bits(symbol, FINE) + (symbol > 0));
	for (int row = 0; row < REACH_CLASSES * 4; ++row)
		for (int symbol = 0; symbol < REACHES; ++symbol)
			bits->of_reach[row][symbol] = share_bits(REACH_TABLES[row / 4][row % 4], symbol) +
										  float(symbol ? plain_bits(symbol - 1, COARSE) : 0);
}

SearchMemory::SearchMemory(int32_t stride, int32_t channels, int32_t points, Arena* arena)
{
	const size_t cells = size_t(points) * size_t(stride), width = size_t(stride),
				 pairs = size_t(channels * (channels + 1) / 2);
	gap = arena->allocate<float>(3 * cells);
	squares = {arena->allocate<float>(cells), arena->allocate<float>(size_t(channels) * cells),
			   arena->allocate<float>(pairs * cells), int32_t(cells), channels};
	pull = arena->allocate<float>(width);
	slope = arena->allocate<float>(size_t(channels) * width);
	values = arena->allocate<int32_t>(size_t(channels) * width);
}

SearchResult search_block(const Problem& problem, const SearchSettings& settings, const Constants& constants,
						  const double* steps, int32_t* coefficients, const SearchMemory& memory)
{
	const int32_t guess = problem.near->known_step(problem.t, problem.b);
	const uint16_t* table = problem.near->step_table(problem.t, problem.b, guess);
	Block block(problem, settings, constants, memory);
	SearchResult best = {1e30f, 0, -1, 0};
	bool inside = false;
	int32_t first = settings.coarsest_step, last = settings.finest_step;
	for (int32_t step = first; step < FINEST_STEP; ++step)
	{
		SearchResult result =
			block.solve(step, float(steps[step]), best.cost, step == first && first == last);
		bool any = block.has_coefficients();
		result.cost = (any ? result.cost : block.displacement_price()) +
					  share_bits(table, any ? step_symbol(step, guess) : 0);
		bool good = result.worst <= 1.0f || settings.excess_penalty <= 0;
		if (!good)
			result.cost += 1e6f * result.worst;
		if (result.cost < best.cost)
		{
			best = result;
			std::memcpy(coefficients, block.values(),
						sizeof(int32_t) * size_t(problem.channels * problem.stride));
		}
		inside = inside || good;
		if (inside && (step >= last || result.cost > block.hopeless(best.cost) || !any ||
					   (settings.greedy && result.cost > best.cost)))
			break;
		if (step >= last + int32_t(constants.finer_steps))
			break;
	}
	best.work = block.work();
	return best;
}

} // namespace keysine
} // namespace mocpack
