// Codes sparse signals as words.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"

#ifdef __cplusplus
extern "C"
{
#endif

	enum
	{
		MOCPACK_LARGEST_WORD = 32255
	};

	/* Codes sparse signals (count, length) as 16-bit words (zero_runs.cpp).
	 *
	 * Magnitudes are at most MOCPACK_LARGEST_WORD. words needs at most count * (length + 1) entries. Returns
	 * the number of words. The decoder is safe on untrusted words. */
	size_t mocpack_zero_runs_encode(uint16_t* words, const int32_t* values, size_t count, size_t length);
	mocpack_Status mocpack_zero_runs_decode(int32_t* values, size_t count, size_t length,
											const uint16_t* words, size_t word_count);

#ifdef __cplusplus
}
#endif
