// Matrices of real numbers beside the poses (docs/format.md, "Numbers").
#pragma once
#include "reader/fields.h"
#include "reader/memory.h"

namespace mocpack
{

// Inflates up to the end of `in`, at most `most` bytes, into memory that is to be given back; null and an
// error otherwise.
uint8_t* inflate_fields(Fields* in, uint64_t most, Memory* memory, size_t* size,
						const uint8_t* dictionary = nullptr, size_t dictionary_size = 0);

// How whole numbers are coded that deflate does not code: each reads numbers (rows, columns) up to the end of
// `in`. Those who only need what deflate codes name none, and carry none.
struct WholeCoders
{
	// The first row stands in `numbers`.
	bool (*read_coded)(uint8_t coder, Fields* in, size_t rows, size_t columns, double* numbers, Memory* memory);
	bool (*read_compact)(int order, int depth, Fields* in, size_t rows, size_t columns, double* numbers,
					Memory* memory);
};

// Reads numbers (rows, columns) up to the end of `in`; false, and an error, where they are none. step: that
// of a grid which the numbers do not name themselves, 0 where there is none.
bool read_numbers(Fields* in, size_t rows, size_t columns, double* numbers, Memory* memory, double step = 0,
				  const WholeCoders* coders = nullptr);

// The coders of series (docs/series.md). A known step is for at most four columns.
extern const WholeCoders SERIES_CODERS;

} // namespace mocpack
