// Reads matrices of real numbers other than poses.
#include "reader/numbers.h"

#include <cmath>
#include <cstring>

#include "reader/inflate.h"

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
	BRIEF, // and all higher values: a known step, plain series
};

const int BRIEF_WAYS = 8, MAX_BRIEF = 30;

const int MAX_DIGITS = 15;
const int64_t MAX_INTEGER = int64_t(1) << 53;
const size_t MAX_VARINT_BYTES = 10;

double float_of(uint64_t bits, size_t width)
{
	if (width == 8)
	{
		double value;
		std::memcpy(&value, &bits, 8);
		return value;
	}
	uint32_t half = uint32_t(bits);
	float value;
	std::memcpy(&value, &half, 4);
	return double(value);
}

// Reads floats stored by columns, as byte planes from the highest byte; each is XORed with the previous row.
bool read_floats(Fields* in, size_t rows, size_t columns, size_t width, double* numbers, Memory* memory)
{
	size_t size = 0, count = rows * columns;
	uint8_t* bytes = inflate_fields(in, uint64_t(width) * count, memory, &size);
	if (!bytes)
		return false;
	if (size != width * count)
		in->fail(MOCPACK_TRUNCATED) << ": numbers end too early";
	for (size_t c = 0; c < columns && in->good(); ++c)
	{
		uint64_t bits = 0;
		for (size_t t = 0; t < rows; ++t)
		{
			uint64_t changed = 0;
			for (size_t b = 0; b < width; ++b)
				changed = changed << 8 | bytes[b * count + c * rows + t];
			bits ^= changed;
			double value = float_of(bits, width);
			in->check(std::fabs(value) <= 1.7976931348623157e308, ": a number is not finite");
			numbers[t * columns + c] = value;
		}
	}
	memory->release(bytes);
	return in->good();
}

// Reads the first row, then differences between rows.
bool read_whole(Fields* in, size_t rows, size_t columns, double* numbers, Memory* memory,
				const WholeCoders* coders)
{
	for (size_t c = 0; c < columns; ++c)
		numbers[c] = double(in->zigzag());
	uint8_t coder = in->u8();
	if (in->good() && coder && coders)
		return coders->read_coded(coder, in, rows, columns, numbers, memory);
	if (in->good() && coder)
		in->fail(MOCPACK_CORRUPT) << ": coder of numbers must be 0, got " << uint64_t(coder);
	if (!in->good())
		return false;
	size_t count = (rows - 1) * columns, size = 0;
	if (!in->left()) // all rows are equal
	{
		for (size_t i = 0; i < count; ++i)
			numbers[columns + i] = numbers[i];
		return true;
	}
	uint8_t* bytes = inflate_fields(in, uint64_t(MAX_VARINT_BYTES) * count, memory, &size);
	if (!bytes)
		return false;
	Fields steps = in->part(bytes, size);
	// differences are stored row by row
	for (size_t i = 0; i < count && steps.good(); ++i)
	{
		int64_t step = steps.zigzag();
		steps.check(step <= MAX_INTEGER && step >= -MAX_INTEGER, ": a number exceeds 2^53");
		numbers[columns + i] = double(step);
	}
	steps.end();
	for (size_t c = 0; c < columns && steps.good(); ++c)
	{
		double sum = 0;
		for (size_t t = 1; t < rows; ++t)
		{
			sum += numbers[t * columns + c];
			numbers[t * columns + c] = numbers[c] + sum;
		}
	}
	memory->release(bytes);
	in->join(steps);
	return in->good();
}

} // namespace

uint8_t* inflate_fields(Fields* in, uint64_t most, Memory* memory, size_t* size, const uint8_t* dictionary,
						size_t dictionary_size)
{
	size_t packed = in->left();
	const uint8_t* src = in->raw(packed);
	if (!src && !in->good())
		return nullptr;
	size_t limit = most < SIZE_MAX / 2 ? size_t(most) : SIZE_MAX / 2;
	Inflated found = inflate(src, packed, dictionary, dictionary_size, nullptr, limit);
	if (found.status != MOCPACK_OK)
	{
		in->fail(found.status) << ": " << found.message;
		return nullptr;
	}
	// one extra byte, so that empty data is not null
	uint8_t* out = memory->allocate_array<uint8_t>(uint64_t(found.size) + 1);
	if (!out)
	{
		in->no_memory();
		return nullptr;
	}
	inflate(src, packed, dictionary, dictionary_size, out, found.size);
	*size = found.size;
	return out;
}

bool read_numbers(Fields* in, size_t rows, size_t columns, double* numbers, Memory* memory, double step,
				  const WholeCoders* coders)
{
	if (!rows)
	{
		in->end();
		return in->good();
	}
	if (step > 0 && !in->left()) // all zeros
	{
		for (size_t i = 0; i < rows * columns; ++i)
			numbers[i] = 0;
		return in->good();
	}
	uint8_t form = in->u8();
	if (form == DOUBLES || form == FLOATS)
		return in->good() && read_floats(in, rows, columns, form == DOUBLES ? 8 : 4, numbers, memory);
	const int way = form - BRIEF;
	const bool brief = coders && step > 0 && way >= 0 && way < BRIEF_WAYS * (MAX_BRIEF + 1);
	in->check(brief || form == DECIMALS || form == GRID || (coders && form < BRIEF),
			  ": unknown form of numbers");
	uint8_t digits = form == DECIMALS ? in->u8() : 0;
	in->check(digits <= MAX_DIGITS, ": numbers have more than 15 digits");
	step = form == DECIMALS ? 1 : form == GRID ? double(in->f32()) : step;
	if (form == HALF_GRID || (brief && way & 4))
		step /= 2;
	in->check(step > 0 && step <= 1.7976931348623157e308, ": the grid step must be above 0 and finite");
	if (!in->good() ||
		!(brief ? coders->read_compact(way & 3, way / BRIEF_WAYS, in, rows, columns, numbers, memory)
				: read_whole(in, rows, columns, numbers, memory, coders)))
		return false;
	const double power = power_of_ten(digits);
	for (size_t i = 0; i < rows * columns; ++i)
		numbers[i] = form == DECIMALS ? numbers[i] / power : numbers[i] * step;
	return true;
}

} // namespace mocpack
