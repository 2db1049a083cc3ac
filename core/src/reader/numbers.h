// Matrices of real numbers beside the poses (docs/format.md, "Numbers"), as far as deflate alone codes them.
#pragma once
#include "reader/fields.h"
#include "reader/memory.h"

namespace mocpack
{

// Inflates up to the end of `in`, at most `most` bytes, into memory that is to be given back; null and an
// error otherwise.
uint8_t* inflate_fields(Fields* in, uint64_t most, Memory* memory, size_t* size,
						const uint8_t* dictionary = nullptr, size_t dictionary_size = 0);

// Reads numbers (rows, columns) up to the end of `in`; false, and an error, where they are none.
bool read_numbers(Fields* in, size_t rows, size_t columns, double* numbers, Memory* memory);

} // namespace mocpack
