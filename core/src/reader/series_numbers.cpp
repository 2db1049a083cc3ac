// Decodes the integers of tracks with the series coders.
#include <cmath>

#include "entropy/column_series.h"
#include "entropy/plain_series.h"
#include "reader/numbers.h"

namespace mocpack
{

namespace
{

const size_t MAX_BRIEF_COLUMNS = 4;
const uint64_t NUMBERS_PER_BYTE = 12000; // each needs two decisions of at least 1/2840 bit
const double MAX_BASE = 1 << 30;
const int FLOORED = 3, ORDERS = 4;
const uint8_t MAX_DEPTH = 33, MAX_SIZE_CLASS = 28;

enum Coder
{
	EXACT = 1,
	THOROUGH,
	SIZED_EXACT, // with the expected size of the first errors
	SIZED_THOROUGH,
	PLAIN
};

// A series model in the memory of a track.
struct Model
{
	mocpack_SeriesModel model;
	uint32_t *starts, *sizes;
	int32_t* columns;
	uint8_t* lags;

	Model(const ColumnSeries& series, size_t count, bool sized, Memory* memory)
	{
		starts = memory->allocate_array<uint32_t>(uint64_t(count) * series.predictors + 1);
		sizes = memory->allocate_array<uint32_t>(count);
		columns = memory->allocate_array<int32_t>(series.input_limit(count));
		lags = memory->allocate_array<uint8_t>(series.input_limit(count));
		if (good())
			model = series.model(count, starts, columns, lags, sized ? sizes : nullptr);
	}

	bool good() const
	{
		return starts && sizes && columns && lags;
	}
};

// Memory for the integers of a series and for decoding them. It is freed with the track's memory.
struct Room
{
	int32_t* values;
	void* scratch;

	Room(Memory* memory, uint64_t count, size_t scratch_size)
		: values(memory->allocate_array<int32_t>(count + 1)), scratch(memory->allocate(scratch_size))
	{
	}

	bool good(Fields* in) const
	{
		return (values && scratch) || in->no_memory();
	}
};

bool check_decoded(Fields* in, mocpack_Status status)
{
	if (status == MOCPACK_TRUNCATED)
		in->fail(status) << ": numbers end too early";
	else if (status != MOCPACK_OK)
		in->fail(status) << ": the numbers are corrupt";
	return status == MOCPACK_OK;
}

// `numbers` starts with the base, which is added to all rows.
bool read_plain(Fields* in, size_t rows, size_t columns, int order, const uint8_t* depths, double* numbers,
				Memory* memory)
{
	double* base = memory->allocate_array<double>(columns);
	int32_t* floors = memory->allocate_array<int32_t>(columns);
	uint64_t moving = 0;
	if (!base || !floors)
		return in->no_memory();
	for (size_t c = 0; c < columns; ++c)
	{
		base[c] = numbers[c];
		moving += depths[c] > 0;
		in->check(depths[c] <= MAX_DEPTH, ": numbers have more than 33 bits");
		if (order == FLOORED)
		{
			in->check(std::fabs(base[c]) <= MAX_BASE, ": a base exceeds 2^30");
			floors[c] = in->good() ? int32_t(-base[c]) : 0;
		}
	}
	const size_t size = in->left();
	const uint8_t* src = in->raw(size);
	in->check(rows * (moving ? moving : 1) <= NUMBERS_PER_BYTE * (uint64_t(size) + 4),
			  ": more numbers than the bytes can hold");
	if (!in->good())
		return false;
	Room room(memory, uint64_t(rows) * columns, mocpack_plain_series_scratch_size(columns));
	if (!room.good(in) ||
		!check_decoded(in, mocpack_plain_series_decode(room.values, rows, columns, order, floors, depths,
													   room.scratch, src, size)))
		return false;
	for (size_t i = 0; i < rows * columns; ++i)
		numbers[i] = base[i % columns] + double(room.values[i]);
	return true;
}

bool read_series(Fields* in, size_t rows, size_t columns, bool thorough, bool sized, double* numbers,
				 Memory* memory)
{
	Model model(COLUMN_SERIES[thorough], columns, sized, memory);
	if (!model.good())
		return in->no_memory();
	const uint8_t* logs = sized ? in->raw(columns) : nullptr;
	for (size_t c = 0; logs && c < columns; ++c)
	{
		in->check(logs[c] <= MAX_SIZE_CLASS, ": an expected error exceeds 2^28");
		model.sizes[c] = in->good() ? 1u << logs[c] : 0;
	}
	const size_t size = in->left();
	const uint8_t* src = in->raw(size);
	const uint64_t count = uint64_t(rows - 1) * columns;
	in->check(count <= NUMBERS_PER_BYTE * (uint64_t(size) + 4), ": more numbers than the bytes can hold");
	if (!in->good())
		return false;
	Room room(memory, count, mocpack_series_scratch_size(&model.model));
	if (!room.good(in) || !check_decoded(in, mocpack_series_decode(room.values, rows - 1, &model.model,
																   room.scratch, src, size)))
		return false;
	for (size_t i = 0; i < count; ++i)
		numbers[columns + i] = numbers[i % columns] + double(room.values[i]);
	return true;
}

bool read_coded_numbers(uint8_t coder, Fields* in, size_t rows, size_t columns, double* numbers,
						Memory* memory)
{
	if (coder == PLAIN)
	{
		const int order = in->u8();
		const uint8_t* depths = in->raw(columns);
		in->check(order < ORDERS, ": unknown order of numbers");
		return in->good() && read_plain(in, rows, columns, order, depths, numbers, memory);
	}
	in->check(coder < PLAIN, ": unknown coder of numbers");
	const bool thorough = coder == THOROUGH || coder == SIZED_THOROUGH;
	return in->good() && read_series(in, rows, columns, thorough, coder >= SIZED_EXACT, numbers, memory);
}

bool read_compact_numbers(int order, int depth, Fields* in, size_t rows, size_t columns, double* numbers,
						  Memory* memory)
{
	for (size_t c = 0; c < columns; ++c)
		numbers[c] = double(in->zigzag());
	if (!depth && !in->left())
	{
		for (size_t i = columns; i < rows * columns; ++i)
			numbers[i] = numbers[i - columns];
		return in->good();
	}
	uint8_t depths[MAX_BRIEF_COLUMNS] = {uint8_t(depth)};
	const uint8_t* others = in->raw(columns - 1);
	for (size_t c = 1; others && c < columns; ++c)
		depths[c] = others[c - 1];
	return in->good() && read_plain(in, rows, columns, order, depths, numbers, memory);
}

} // namespace

const WholeCoders SERIES_CODERS = {read_coded_numbers, read_compact_numbers};

} // namespace mocpack
