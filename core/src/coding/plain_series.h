// Series of integers without a model of motion: noise, pulses, steps, and whatever is short.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* Series of integers (rows, columns), each within 2^30, less a fixed extrapolation (plain_series.cpp).
	 *
	 * order: 0 takes nothing away, 1 the value above, 2 the line through the two above, 3 the same
	 * but no less than floors (columns), which the other orders do not look at.
	 * depths (columns): the bits of the largest difference of each column, 0 for none, at most 33. The
	 * encoder is told what mocpack_plain_series_depths finds. scratch needs
	 * mocpack_plain_series_scratch_size(columns) bytes, aligned as malloc aligns; dst
	 * mocpack_plain_series_bound(rows, columns) bytes at most. The decoder is safe on untrusted bytes. */
	void mocpack_plain_series_depths(uint8_t* depths, const int32_t* values, size_t rows, size_t columns,
									 int order, const int32_t* floors);
	size_t mocpack_plain_series_scratch_size(size_t columns);
	size_t mocpack_plain_series_bound(size_t rows, size_t columns);
	size_t mocpack_plain_series_encode(uint8_t* dst, size_t dst_size, const int32_t* values, size_t rows,
									   size_t columns, int order, const int32_t* floors,
									   const uint8_t* depths, void* scratch);
	mocpack_Status mocpack_plain_series_decode(int32_t* values, size_t rows, size_t columns, int order,
											   const int32_t* floors, const uint8_t* depths, void* scratch,
											   const uint8_t* src, size_t src_size);

#ifdef __cplusplus
}
#endif
