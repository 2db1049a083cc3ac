// Codes series of integers without a motion model: noise, pulses, steps and short series.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/skeleton.h"

/* Codes integers (rows, columns) up to 2^30 as residuals of a fixed extrapolation (plain_series.cpp).
 *
 * order: 0 predicts 0, 1 the value above, 2 the line through the two values above, 3 the same but at
 * least floors (columns). depths (columns): bits of the largest difference of each column, 0 to 33, as
 * computed by mocpack_plain_series_depths. scratch has mocpack_plain_series_scratch_size(columns) bytes,
 * aligned as by malloc. dst needs at most mocpack_plain_series_bound(rows, columns) bytes. The decoder is
 * safe on untrusted bytes. */
void mocpack_plain_series_depths(uint8_t* depths, const int32_t* values, size_t rows, size_t columns,
								 int order, const int32_t* floors);
size_t mocpack_plain_series_scratch_size(size_t columns);
size_t mocpack_plain_series_bound(size_t rows, size_t columns);
size_t mocpack_plain_series_encode(uint8_t* dst, size_t dst_size, const int32_t* values, size_t rows,
								   size_t columns, int order, const int32_t* floors, const uint8_t* depths,
								   void* scratch);
mocpack_Status mocpack_plain_series_decode(int32_t* values, size_t rows, size_t columns, int order,
										   const int32_t* floors, const uint8_t* depths, void* scratch,
										   const uint8_t* src, size_t src_size);
