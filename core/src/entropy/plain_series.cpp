// Codes series of integers without a motion model: noise, pulses, steps and short series.
//
// Codes the residual of a fixed extrapolation: whether it is 0, its sign, how many bits shorter it is than
// the largest one, and its lower bits. The first values are cheap, since little has to be learned
// (docs/series.md).
#include "entropy/plain_series.h"

#include <cstring>
#include <new>

#include "entropy/logistic.h"
#include "entropy/range_coder.h"

using namespace mocpack;

namespace
{

const int RUNS = 16;  // classes of the number of preceding zeros
const int DEPTH = 16; // distinguished numbers of missing bits
const int LIMIT = 250;
const int64_t MAX_MAGNITUDE = int64_t(1) << 30;

// Initial probabilities in 1/32, with the weight of PRIOR_COUNT seen bits (tools/train_plain_series.py).
// Whether a value changes is hardest to predict, so it starts with less weight.
const uint16_t PRIOR_COUNT = 4, WEAK_PRIOR_COUNT = 1;
const uint8_t RUN_STARTS[] = {20, 22, 13, 8, 4, 4, 1}; // the last value applies to all longer runs
const uint8_t LOST_STARTS[] = {29, 26, 21, 18, 16, 15, 15, 12, 13, 10};
const uint8_t COLUMN_STARTS[] = {20, 18};
const uint8_t LEFT_STARTS[][2] = {{21, 18}, {12, 14}, {24, 20}};
const uint8_t SIGN_STARTS[] = {18, 15, 14};
const uint8_t BELOW_STARTS[] = {12, 13, 14};

struct Models
{
	Counter by_run[RUNS];
	Counter by_column[4][2]; // by column, and whether the last value was 0
	Counter by_left[3][2];	 // by the previous column: none, 0, not 0
	Mixer<3> some;
	Counter sign[3]; // by the sign of the last nonzero value: negative, none, positive
	Counter lost[DEPTH];
	Counter lost_after[DEPTH + 1][DEPTH]; // by the missing bits of the last value
	Mixer<2> losses[DEPTH];
	Counter below[DEPTH][3];

	Models();
};

struct Column
{
	uint32_t zeros = 0;
	int sign = 1;
	int lost = DEPTH;
	int last = 0; // whether the last value was 0
};

int bits_of(uint64_t value)
{
	int bits = 0;
	for (; value; value >>= 1)
		++bits;
	return bits;
}

int lesser(int a, int b)
{
	return a < b ? a : b;
}

Counter make_counter(uint8_t start, uint16_t seen = PRIOR_COUNT)
{
	return Counter{uint16_t(2048 * start), seen};
}

Models::Models()
{
	for (int k = 0; k < RUNS; ++k)
		by_run[k] = make_counter(RUN_STARTS[lesser(k, int(sizeof RUN_STARTS) - 1)], WEAK_PRIOR_COUNT);
	for (Counter(&column)[2] : by_column)
		for (int zero = 0; zero < 2; ++zero)
			column[zero] = make_counter(COLUMN_STARTS[zero], WEAK_PRIOR_COUNT);
	for (int left = 0; left < 3; ++left)
		for (int zero = 0; zero < 2; ++zero)
			by_left[left][zero] = make_counter(LEFT_STARTS[left][zero], WEAK_PRIOR_COUNT);
	for (int k = 0; k < 3; ++k)
		sign[k] = make_counter(SIGN_STARTS[k]);
	for (int k = 0; k < DEPTH; ++k)
	{
		lost[k] = make_counter(LOST_STARTS[lesser(k, int(sizeof LOST_STARTS) - 1)]);
		for (Counter(&after)[DEPTH] : lost_after)
			after[k] = lost[k];
		for (int level = 0; level < 3; ++level)
			below[k][level] = make_counter(BELOW_STARTS[level]);
	}
}

// Returns the extrapolation of the value at `at`; order 3 does not go below the floor.
int64_t extrapolate(const int32_t* at, size_t row, size_t columns, int order, const int32_t* floor)
{
	if (order == 0 || row == 0)
		return 0;
	int64_t above = at[-ptrdiff_t(columns)];
	if (order == 1 || row == 1)
		return above;
	int64_t line = 2 * above - at[-2 * ptrdiff_t(columns)];
	return order == 3 && line < *floor ? *floor : line;
}

// Codes a bit with one counter.
template <typename Bit> int code_bit(Bit& bit, Counter& counter, int value)
{
	Probability one = counter.one < 64 ? 64 : counter.one > 65472 ? 65472 : counter.one;
	value = bit(one, value);
	counter.update(value, LIMIT);
	return value;
}

template <typename Bit, int N>
int code_mixed_bit(Bit& bit, Counter* const (&counters)[N], Mixer<N>& mixer, int value)
{
	int logits[N];
	for (int i = 0; i < N; ++i)
		logits[i] = counters[i]->logit();
	Probability one = mixer.mix(logits);
	value = bit(one, value);
	mixer.update(logits, value, one);
	for (int i = 0; i < N; ++i)
		counters[i]->update(value, LIMIT);
	return value;
}

// `left`: 0 for no previous column, 1 if its difference is 0, 2 if not.
template <typename Bit>
int64_t code_difference(Bit& bit, Models& models, Column& column, size_t number, int depth, int left,
						int64_t value)
{
	Counter* some[3] = {&models.by_run[lesser(bits_of(column.zeros), RUNS - 1)],
						&models.by_column[number < 3 ? number : 3][column.last],
						&models.by_left[left][column.last]};
	int there = code_mixed_bit(bit, some, models.some, value != 0);
	column.last = !there;
	column.zeros = there ? 0 : column.zeros + 1;
	if (!there)
		return 0;
	int negative = code_bit(bit, models.sign[column.sign], value < 0);
	uint64_t size = uint64_t(value < 0 ? -value : value);
	int wanted = depth - bits_of(size), lost = 0;
	for (; lost < depth - 1; ++lost)
	{
		int k = lesser(lost, DEPTH - 1);
		Counter* more[2] = {&models.lost[k], &models.lost_after[column.lost][k]};
		if (!code_mixed_bit(bit, more, models.losses[k], wanted > lost))
			break;
	}
	uint64_t found = 1;
	for (int k = depth - lost - 2, level = 0; k >= 0; --k, ++level)
	{
		int low = int((size >> k) & 1);
		low = level < 2
				  ? code_bit(bit, models.below[lesser(lost, DEPTH - 1)][level ? 1 + int(found & 1) : 0], low)
				  : bit(32768, low);
		found = (found << 1) | uint64_t(low);
	}
	column.sign = negative ? 0 : 2;
	column.lost = lesser(lost, DEPTH - 1);
	return negative ? -int64_t(found) : int64_t(found);
}

struct State
{
	Models* models;
	Column* columns;
};

State start(void* scratch, size_t columns)
{
	State state = {new (scratch) Models(), reinterpret_cast<Column*>(static_cast<Models*>(scratch) + 1)};
	for (size_t c = 0; c < columns; ++c)
		new (state.columns + c) Column();
	return state;
}

// Codes all values; false if a decoded value is out of range.
template <typename Bit, typename Value, typename Keep>
bool code_series(Bit& bit, Value* values, size_t rows, size_t columns, int order, const int32_t* floors,
				 const uint8_t* depths, void* scratch, Keep keep)
{
	State state = start(scratch, columns);
	for (size_t r = 0; r < rows; ++r)
	{
		int left = 0;
		for (size_t c = 0; c < columns; ++c)
		{
			Value* at = values + r * columns + c;
			int64_t guess = extrapolate(at, r, columns, order, floors + c), difference = 0;
			if (depths[c])
			{
				difference = code_difference(bit, *state.models, state.columns[c], c, depths[c], left,
											 int64_t(*at) - guess);
				left = difference ? 2 : 1;
			}
			if (!keep(at, guess + difference))
				return false;
		}
	}
	return true;
}

} // namespace

void mocpack_plain_series_depths(uint8_t* depths, const int32_t* values, size_t rows, size_t columns,
								 int order, const int32_t* floors)
{
	for (size_t c = 0; c < columns; ++c)
	{
		uint64_t all = 0;
		for (size_t r = 0; r < rows; ++r)
		{
			const int32_t* at = values + r * columns + c;
			int64_t difference = int64_t(*at) - extrapolate(at, r, columns, order, floors + c);
			all |= uint64_t(difference < 0 ? -difference : difference);
		}
		depths[c] = uint8_t(bits_of(all));
	}
}

size_t mocpack_plain_series_scratch_size(size_t columns)
{
	return sizeof(Models) + columns * sizeof(Column);
}

size_t mocpack_plain_series_bound(size_t rows, size_t columns)
{
	// 34 mixed decisions of at most 12 bits, three of at most 10, and 31 raw bits
	return rows * columns * (34 * 12 + 3 * 10 + 31) / 8 + 8;
}

size_t mocpack_plain_series_encode(uint8_t* dst, size_t dst_size, const int32_t* values, size_t rows,
								   size_t columns, int order, const int32_t* floors, const uint8_t* depths,
								   void* scratch)
{
	RangeEncoder range(dst, dst_size);
	auto bit = [&range](Probability one, int value)
	{
		range.encode(value, one);
		return value;
	};
	code_series(bit, values, rows, columns, order, floors, depths, scratch,
				[](const int32_t*, int64_t) { return true; });
	return range.finish();
}

mocpack_Status mocpack_plain_series_decode(int32_t* values, size_t rows, size_t columns, int order,
										   const int32_t* floors, const uint8_t* depths, void* scratch,
										   const uint8_t* src, size_t src_size)
{
	RangeDecoder range(src, src_size);
	auto bit = [&range](Probability one, int) { return range.decode(one); };
	std::memset(values, 0, rows * columns * sizeof(int32_t));
	bool exhausted = false;
	auto keep = [&](int32_t* at, int64_t value)
	{
		*at = int32_t(value);
		exhausted = range.exhausted();
		return !exhausted && value >= -MAX_MAGNITUDE && value <= MAX_MAGNITUDE;
	};
	if (!code_series(bit, values, rows, columns, order, floors, depths, scratch, keep))
		return exhausted ? MOCPACK_TRUNCATED : MOCPACK_CORRUPT;
	return range.all_read() ? MOCPACK_OK : MOCPACK_CORRUPT;
}
