// Writes numbers. Decimal fractions, and numbers within a bound, become integers on a grid, which are
// predicted over time. Several codes are tried and the smallest is kept, of equal ones the first.
#include "writer/numbers.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "entropy/column_series.h"
#include "entropy/plain_series.h"
#include "math/elementary.h"
#include "reader/fields.h"
#include "writer/deflate.h"

namespace mocpack
{

namespace
{

enum Form
{
	DOUBLES,
	FLOATS,
	DECIMALS,
	GRID,
	KNOWN_GRID,
	HALF_GRID,
	BRIEF
};
enum Coder
{
	DEFLATED,
	SERIES,
	SIZED_SERIES = 3,
	PLAIN = 5
};
const int MAX_DIGITS = 15, ORDERS = 4, FLOORED = 3, MAX_BRIEF_DEPTH = 30;
const double INTEGERS = 9007199254740992.0; // 2^53: doubles hold all integers up to it
const int64_t MAX_SERIES_NUMBER = 1 << 30;
const uint8_t AS_DOUBLE = 255, RECIPROCAL = 31; // forms of a short number
const int MAX_RECIPROCAL = 223, MAX_SIZE_CLASS = 28;
const double MAX_SHORT_NUMBER = 2147483648.0; // 2^31

uint64_t raw_bits(double value)
{
	uint64_t bits;
	std::memcpy(&bits, &value, sizeof bits);
	return bits;
}

class NumberWriter
{
  public:
	NumberWriter(const double* numbers, size_t rows, size_t columns, NumberForm form, FieldWriter* out)
		: numbers_(numbers), rows_(rows), columns_(columns), form_(form), out_(*out), code_(out->allocator()),
		  best_(out->allocator())
	{
	}

	void run()
	{
		const size_t count = rows_ * columns_;
		if (!rows_)
			return;
		if (!integers_.take(out_.allocator(), count))
			return out_.fail();
		try_all();
		if (form_.way >= 0 && tried_)
		{
			chosen_ = form_.way % tried_, tried_ = 0;
			try_all();
		}
		out_.raw(best_);
	}

  private:
	void try_all()
	{
		if (form_.step > 0)
			try_grids();
		else
			try_exact();
	}

	// Keeps the code if it is the shortest so far, and begins the next one.
	void keep()
	{
		if (!code_.good())
			out_.fail();
		if (chosen_ >= 0 ? tried_ == chosen_ : !tried_ || code_.size() < best_.size())
		{
			best_.shorten(0);
			best_.raw(code_);
		}
		++tried_;
		code_.shorten(0);
	}

	// ---- exact numbers

	void try_exact()
	{
		const int digits = decimal_digits();
		if (digits >= 0)
		{
			const double power = power_of_ten(uint8_t(digits));
			for (size_t i = 0; i < rows_ * columns_; ++i)
				integers_[i] = int64_t(std::nearbyint(numbers_[i] * power));
			const uint8_t head[] = {DECIMALS, uint8_t(digits)};
			try_integers(head, sizeof head);
		}
		bool are_floats = true;
		for (size_t i = 0; i < rows_ * columns_ && are_floats; ++i)
			are_floats = raw_bits(double(float(numbers_[i]))) == raw_bits(numbers_[i]);
		code_.u8(are_floats ? FLOATS : DOUBLES);
		write_planes(are_floats ? 4 : 8);
		keep();
	}

	// Returns the fewest decimal digits that restore all numbers bit for bit, or -1.
	int decimal_digits() const
	{
		const size_t count = rows_ * columns_;
		for (size_t i = 0; i < count; ++i)
			if ((numbers_[i] == 0 && std::signbit(numbers_[i])) || !std::isfinite(numbers_[i]))
				return -1;
		for (int digits = 0; digits <= MAX_DIGITS; ++digits)
		{
			const double power = power_of_ten(uint8_t(digits));
			bool is_equal = true;
			for (size_t i = 0; i < count; ++i)
			{
				const double whole = std::nearbyint(numbers_[i] * power);
				if (!(std::fabs(whole) < INTEGERS / 2)) // so that differences also fit
					return -1;
				is_equal = is_equal && whole / power == numbers_[i];
			}
			if (is_equal)
				return digits;
		}
		return -1;
	}

	// The bits of each number, XORed with those of the row before: column by column, the most significant
	// bytes of all numbers first.
	void write_planes(size_t width)
	{
		FieldWriter planes(out_.allocator());
		for (size_t byte = width; byte-- > 0;)
			for (size_t c = 0; c < columns_; ++c)
				for (size_t r = 0; r < rows_; ++r)
					planes.u8(unsigned(
						(bits_at(r, c, width) ^ (r ? bits_at(r - 1, c, width) : 0)) >> 8 * byte & 255));
		deflate(planes, &code_);
	}

	uint64_t bits_at(size_t row, size_t column, size_t width) const
	{
		const double value = numbers_[row * columns_ + column];
		if (width == 8)
			return raw_bits(value);
		const float single = float(value);
		uint32_t bits;
		std::memcpy(&bits, &single, sizeof bits);
		return bits;
	}

	// ---- numbers within half a step

	void try_grids()
	{
		const double step = form_.is_known ? form_.step : stated_step(form_.step), fine = step / 2;
		double largest = 0;
		bool is_number = true;
		for (size_t i = 0; i < rows_ * columns_; ++i)
		{
			largest = std::fabs(numbers_[i]) > largest ? std::fabs(numbers_[i]) : largest;
			is_number = is_number && !std::isnan(numbers_[i]);
		}
		if (!(step > 0) || !is_number || !(largest / fine < INTEGERS / 4))
			return try_exact();
		for (const bool is_half : {false, true})
		{
			const double pitch = is_half ? fine : step;
			const bool is_written_half = pitch != step;
			if (is_half)
				hold(step);
			else
				for (size_t i = 0; i < rows_ * columns_; ++i)
					integers_[i] = int64_t(std::nearbyint(numbers_[i] / step));
			FieldWriter head(out_.allocator());
			if (form_.is_known)
			{
				try_brief(uint8_t(BRIEF + 4 * is_written_half));
				head.u8(is_written_half ? HALF_GRID : KNOWN_GRID);
			}
			else
			{
				head.u8(GRID);
				head.f32(pitch);
			}
			if (!head.good())
				return out_.fail();
			try_integers(head.data(), head.size());
		}
	}

	// Returns the float nearest to `step`, which the file states; 0 if the step is too small.
	static double stated_step(double step)
	{
		const float single = float(step < 1e30 ? step : 1e30);
		return single > 1e-30f ? double(single) : 0.0;
	}

	// Rounds to multiples of half a step. A number repeats the one above if that is within half a step.
	void hold(double step)
	{
		const double fine = step / 2;
		for (size_t i = 0; i < rows_ * columns_; ++i)
		{
			const double rounded = std::nearbyint(numbers_[i] / fine), low = (numbers_[i] - fine) / fine,
						 high = (numbers_[i] + fine) / fine;
			integers_[i] = int64_t(rounded);
			if (i >= columns_ && double(integers_[i - columns_]) >= low &&
				double(integers_[i - columns_]) <= high)
				integers_[i] = integers_[i - columns_];
		}
	}

	// Codes with a head of one byte: nothing for zeros, one row for constant numbers.
	void try_brief(uint8_t form)
	{
		bool any = false, moves = false;
		for (size_t i = 0; i < rows_ * columns_; ++i)
		{
			any = any || integers_[i];
			moves = moves || integers_[i] != integers_[i % columns_];
		}
		if (any && !moves)
		{
			code_.u8(form);
			for (size_t c = 0; c < columns_; ++c)
				code_.zigzag(integers_[c]);
		}
		if (!any || !moves)
			return keep();
		for (int order = 0; order < ORDERS; ++order)
		{
			uint8_t depth;
			code_.u8(0);
			if (write_plain(order, &depth, 1) && depth <= MAX_BRIEF_DEPTH)
			{
				if (code_.good())
					const_cast<uint8_t*>(code_.data())[0] = uint8_t(form + order + 8 * depth);
				keep();
			}
			code_.shorten(0);
		}
	}

	// ---- integers

	// Codes the integers after a head: the first row, then the others minus the first.
	void try_integers(const uint8_t* head, size_t head_size)
	{
		int64_t largest = 0;
		for (size_t i = 0; i < rows_ * columns_; ++i)
		{
			const int64_t rest = integers_[i] - integers_[i % columns_];
			largest = rest > largest ? rest : -rest > largest ? -rest : largest;
		}
		begin(head, head_size, DEFLATED);
		if (!largest)
			return keep();
		FieldWriter steps(out_.allocator());
		for (size_t i = columns_; i < rows_ * columns_; ++i)
			steps.zigzag(integers_[i] - integers_[i - columns_]);
		deflate(steps, &code_);
		keep();
		if (form_.is_simple || largest > MAX_SERIES_NUMBER / 2)
			return;
		for (const bool is_sized : {false, true})
			for (const int kind : {0, 1})
			{
				begin(head, head_size, (is_sized ? SIZED_SERIES : SERIES) + kind);
				write_series(COLUMN_SERIES[kind], is_sized);
				keep();
			}
		for (int order = 0; order < ORDERS; ++order)
		{
			code_.raw(head, head_size);
			if (write_plain(order, nullptr, 0))
				keep();
			code_.shorten(0);
		}
	}

	void begin(const uint8_t* head, size_t head_size, int coder)
	{
		code_.raw(head, head_size);
		for (size_t c = 0; c < columns_; ++c)
			code_.zigzag(integers_[c]);
		code_.u8(unsigned(coder));
	}

	void write_series(const ColumnSeries& series, bool is_sized)
	{
		const mocpack_Allocator& memory = out_.allocator();
		const size_t rows = rows_ - 1, bound = mocpack_series_bound(rows, columns_);
		Buffer<uint32_t> starts, sizes;
		Buffer<int32_t> inputs, rest;
		Buffer<uint8_t> lags, scratch;
		if (!starts.take(memory, columns_ * series.predictors + 1) || !sizes.take(memory, columns_) ||
			!inputs.take(memory, series.input_limit(columns_)) ||
			!lags.take(memory, series.input_limit(columns_)) || !rest.take_room(memory, rows * columns_))
			return out_.fail();
		for (size_t c = 0; c < columns_ && is_sized; ++c)
		{
			const int size_class = error_class(c);
			code_.u8(unsigned(size_class));
			sizes[c] = 1u << size_class;
		}
		for (size_t i = 0; i < rows * columns_; ++i)
			rest[i] = int32_t(integers_[i + columns_] - integers_[i % columns_]);
		const mocpack_SeriesModel model = series.model(columns_, starts.data(), inputs.data(), lags.data(),
													   is_sized ? sizes.data() : nullptr);
		const size_t before = code_.size();
		uint8_t* dst = code_.room(bound);
		if (!scratch.take(memory, mocpack_series_scratch_size(&model)) || !dst)
			return out_.fail();
		code_.shorten(before + mocpack_series_encode(dst, bound, rest.data(), rows, &model, scratch.data()));
	}

	// Returns log2 of the expected first prediction error of a column, in 1/256.
	int error_class(size_t column) const
	{
		const bool bends = rows_ > 2;
		double steps = 0, turns = 0;
		for (size_t r = 1; r < rows_; ++r)
		{
			const int64_t* now = integers_.data() + r * columns_ + column;
			const int64_t step = now[0] - *(now - columns_);
			steps += std::fabs(double(step));
			if (r > 1)
				turns += std::fabs(double(step - (*(now - columns_) - *(now - 2 * columns_))));
		}
		const double step = steps / double(rows_ - 1), bend = bends ? turns / double(rows_ - 2) : step;
		const double expected = 256.0 * (step < bend ? step : bend);
		const double log = std::nearbyint(math::log2(expected > 1.0 ? expected : 1.0));
		return log > MAX_SIZE_CLASS ? MAX_SIZE_CLASS : int(log);
	}

	/* Appends a plain series: base, [coder and order unless brief], depths, code. first_depth receives the
	 * depth of the first column, which is then not written. Returns false if the order does not apply. */
	bool write_plain(int order, uint8_t* first_depth, size_t unwritten)
	{
		const mocpack_Allocator& memory = out_.allocator();
		Buffer<int64_t> base, sorted;
		Buffer<int32_t> rows, floors;
		Buffer<uint8_t> depths, scratch;
		const size_t bound = mocpack_plain_series_bound(rows_, columns_);
		if (!base.take(memory, columns_) || !rows.take_room(memory, rows_ * columns_) ||
			!floors.take(memory, columns_) || !depths.take(memory, columns_) ||
			!sorted.take(memory, order ? 0 : rows_) ||
			!scratch.take(memory, mocpack_plain_series_scratch_size(columns_)))
			return out_.fail(), false;
		for (size_t c = 0; c < columns_; ++c)
			base[c] = order ? integers_[c] : typical_number(c, sorted.data());
		int64_t least = 1;
		for (size_t i = 0; i < rows_ * columns_; ++i)
		{
			const int64_t rest = integers_[i] - base[i % columns_];
			least = integers_[i] < least ? integers_[i] : least;
			if (rest > MAX_SERIES_NUMBER || rest < -MAX_SERIES_NUMBER)
				return false;
			rows[i] = int32_t(rest);
		}
		for (size_t c = 0; c < columns_ && order == FLOORED; ++c)
		{
			if (least != 0 || base[c] > MAX_SERIES_NUMBER)
				return false; // only for columns that never fall below 0
			floors[c] = int32_t(-base[c]);
		}
		mocpack_plain_series_depths(depths.data(), rows.data(), rows_, columns_, order, floors.data());
		if (first_depth)
			*first_depth = depths[0];
		for (size_t c = 0; c < columns_; ++c)
			code_.zigzag(base[c]);
		if (!first_depth)
			code_.u8(PLAIN), code_.u8(unsigned(order));
		code_.raw(depths.data() + unwritten, columns_ - unwritten);
		const size_t before = code_.size();
		uint8_t* dst = code_.room(bound);
		if (!dst)
			return out_.fail(), false;
		code_.shorten(before + mocpack_plain_series_encode(dst, bound, rows.data(), rows_, columns_, order,
														   floors.data(), depths.data(), scratch.data()));
		return true;
	}

	// Returns the most frequent number of a column if it is common, else the middle of its range.
	int64_t typical_number(size_t column, int64_t* sorted) const
	{
		for (size_t r = 0; r < rows_; ++r)
			sorted[r] = integers_[r * columns_ + column];
		std::sort(sorted, sorted + rows_);
		int64_t frequent = sorted[0];
		size_t most = 0;
		for (size_t first = 0, end; first < rows_; first = end)
		{
			for (end = first; end < rows_ && sorted[end] == sorted[first];)
				++end;
			if (end - first > most)
				most = end - first, frequent = sorted[first];
		}
		const int64_t sum = sorted[0] + sorted[rows_ - 1];
		return 4 * most > rows_ ? frequent : sum >= 0 ? sum / 2 : -((1 - sum) / 2);
	}

	const double* numbers_;
	size_t rows_, columns_;
	NumberForm form_;
	FieldWriter& out_;
	FieldWriter code_, best_;
	int tried_ = 0, chosen_ = -1; // codes so far; the one to take, or -1 for the shortest
	Buffer<int64_t> integers_;
};

} // namespace

void write_short_number(double value, FieldWriter* out)
{
	if (value == 0)
		return out->u8(AS_DOUBLE), out->f64(value);
	const double near = std::fabs(value) >= 1.0 / (MAX_RECIPROCAL + 1) ? std::nearbyint(1 / value) : 0;
	if (near >= 1 && near <= MAX_RECIPROCAL && 1 / near == value)
		return out->u8(unsigned(RECIPROCAL + near));
	double least = MAX_SHORT_NUMBER, number = 0;
	int form = 0;
	for (const int reciprocal : {0, 1})
		for (int digits = 0; digits <= MAX_DIGITS; ++digits)
		{
			const double power = power_of_ten(uint8_t(digits)),
						 exact = reciprocal ? power / value : value * power,
						 whole = std::fabs(exact) < MAX_SHORT_NUMBER ? std::nearbyint(exact) : 0;
			if (whole != 0 && std::fabs(whole) < least &&
				(reciprocal ? power / whole : whole / power) == value)
				least = std::fabs(whole), number = whole, form = 16 * reciprocal + digits;
		}
	if (number != 0)
	{
		out->u8(unsigned(form));
		out->zigzag(int64_t(number));
		return;
	}
	out->u8(AS_DOUBLE);
	out->f64(value);
}

void write_numbers(const double* numbers, size_t rows, size_t columns, NumberForm form, FieldWriter* out)
{
	NumberWriter(numbers, rows, columns, form, out).run();
}

} // namespace mocpack
