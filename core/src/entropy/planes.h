// Codes planes of integers with an adaptive arithmetic coder.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/skeleton.h"

/* Planes of integers (rows, columns) with adaptive contexts (planes.cpp).
 *
 * classes (columns) names the statistics each column shares, below class_count.
 * start, of mocpack_planes_start_size(class_count) bytes of 0 to 63, is what the models know before the
 * first value; null is nothing. Planes that share a start decode each by itself at little cost.
 * models is scratch of mocpack_planes_models_size(class_count) bytes, aligned as by malloc.
 * dst needs mocpack_planes_bound(rows, columns) bytes at most. The decoder is safe on untrusted bytes. */
size_t mocpack_planes_models_size(size_t class_count);
size_t mocpack_planes_start_size(size_t class_count);
size_t mocpack_planes_bound(size_t rows, size_t columns);
size_t mocpack_planes_encode(uint8_t* dst, size_t dst_size, const int32_t* values, size_t rows,
							 size_t columns, const uint16_t* classes, size_t class_count,
							 const uint8_t* start, void* models);
mocpack_Status mocpack_planes_decode(int32_t* values, size_t rows, size_t columns, const uint16_t* classes,
									 size_t class_count, const uint8_t* start, void* models,
									 const uint8_t* src, size_t src_size);

/* Add to counts (start_size, 2) how often each model would code a zero and a one. */
void mocpack_planes_count(const int32_t* values, size_t rows, size_t columns, const uint16_t* classes,
						  size_t class_count, void* models, uint32_t* counts);

/* Decodes the first rows of a plane from truncated bytes. Returns the number of complete rows; later
 * `values` are unspecified. Safe on untrusted bytes. */
size_t mocpack_planes_decode_truncated(int32_t* values, size_t rows, size_t columns, const uint16_t* classes,
									   size_t class_count, void* models, const uint8_t* src, size_t src_size);
