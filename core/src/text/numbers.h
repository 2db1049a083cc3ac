// Parses and prints numbers as text.
#pragma once
#include <cstddef>
#include <cstdint>

/* Parse numbers separated by white space, each to the nearest double.
 *
 * Stops at the end of `text`, after `capacity` numbers, or at the first token that is not a finite
 * decimal number. Returns how many were read; *end receives the offset where reading stopped: the end
 * of the text, or the start of the next token. */
size_t mocpack_parse_numbers(const char* text, size_t size, double* values, size_t capacity, size_t* end);

/* Print numbers separated by spaces, without exponents and trailing zeros.
 *
 * decimals (count) are the decimals to round to, or -1 for the shortest text that reads back as
 * the same double, the sign of zero included. Values must be finite. dst needs MOCPACK_MAX_PRINTED_BYTES
 * bytes for each number at most. */
enum
{
	MOCPACK_MAX_PRINTED_BYTES = 1100
};
size_t mocpack_print_numbers(const double* values, const int32_t* decimals, size_t count, char* dst,
							 size_t dst_size);
