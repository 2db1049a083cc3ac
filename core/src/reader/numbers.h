// Matrices of real numbers other than poses (docs/format.md, "Numbers").
#pragma once
#include "reader/fields.h"
#include "reader/memory.h"

namespace mocpack
{

// Returns whether a clip can have this time between frames, in seconds.
inline bool is_frame_time(double seconds)
{
	return seconds >= 1e-6 && seconds <= 1e6;
}

// Inflates the rest of `in`, to at most `most` bytes. The caller must free the result. Returns null and sets
// the error on failure.
uint8_t* inflate_fields(Fields* in, uint64_t most, Memory* memory, size_t* size,
						const uint8_t* dictionary = nullptr, size_t dictionary_size = 0);

// Decoders for integers that are not deflated. Each reads numbers (rows, columns) to the end of `in`. They
// are passed as pointers, so that programs without tracks do not link them.
struct WholeCoders
{
	// `numbers` already holds the first row.
	bool (*read_coded)(uint8_t coder, Fields* in, size_t rows, size_t columns, double* numbers,
					   Memory* memory);
	bool (*read_compact)(int order, int depth, Fields* in, size_t rows, size_t columns, double* numbers,
						 Memory* memory);
};

// Reads numbers (rows, columns) to the end of `in`. Returns false and sets the error on failure. `step` is
// the quantizer step for forms that do not store their own; 0 if unknown.
bool read_numbers(Fields* in, size_t rows, size_t columns, double* numbers, Memory* memory, double step = 0,
				  const WholeCoders* coders = nullptr);

// The series coders (docs/series.md). Forms with a known step have at most four columns.
extern const WholeCoders SERIES_CODERS;

} // namespace mocpack
