// Writes matrices of real numbers, exactly or within a bound (docs/format.md, "Numbers").
#pragma once
#include "writer/field_writer.h"

namespace mocpack
{

// A number as a short decimal or its reciprocal (0.002, 1/60), else as a float64.
void write_short_number(double value, FieldWriter* out);

// How numbers may be written.
struct NumberForm
{
	double step = 0;		// 0: exactly; else within half of it
	bool is_known = false;	// the reader knows the step, so it is not written
	bool is_simple = false; // with deflate only
	int way = -1;			// for tests: which of the codes that apply, instead of the shortest
};

// Appends numbers (rows, columns) in the form that takes the fewest bytes.
void write_numbers(const double* numbers, size_t rows, size_t columns, NumberForm form, FieldWriter* out);

// Appends numbers (rows, columns) exactly, with deflate only.
inline void write_simple_numbers(const double* numbers, size_t rows, size_t columns, FieldWriter* out)
{
	write_numbers(numbers, rows, columns, {0, false, true, -1}, out);
}

} // namespace mocpack
