// Planes of integers by an adaptive arithmetic coder.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* Planes of integers (rows, columns) with adaptive contexts (planes.cpp).
	 *
	 * classes (columns) names the statistics each column shares, below class_count.
	 * start, of mocpack_planes_start_size(class_count) bytes of 0 to 63, is what the models know before the
	 * first value; null is nothing. Planes that share a start decode each by itself at little cost.
	 * models is scratch of mocpack_planes_models_size(class_count) bytes, aligned as malloc aligns.
	 * dst needs mocpack_planes_bound(rows, columns) bytes at most. The decoder is safe on untrusted bytes. */
	size_t mocpack_planes_models_size(size_t class_count);
	size_t mocpack_planes_start_size(size_t class_count);
	size_t mocpack_planes_bound(size_t rows, size_t columns);
	size_t mocpack_planes_encode(uint8_t* dst, size_t dst_size, const int32_t* values, size_t rows,
								 size_t columns, const uint16_t* classes, size_t class_count,
								 const uint8_t* start, void* models);
	mocpack_Status mocpack_planes_decode(int32_t* values, size_t rows, size_t columns,
										 const uint16_t* classes, size_t class_count, const uint8_t* start,
										 void* models, const uint8_t* src, size_t src_size);

	/* Add to counts (start_size, 2) how often each model would code a zero and a one. */
	void mocpack_planes_count(const int32_t* values, size_t rows, size_t columns, const uint16_t* classes,
							  size_t class_count, void* models, uint32_t* counts);

	/* Decode the first rows of a plane whose code was cut. Returns how many rows are whole; the rest of
	 * `values` is unspecified. Safe on untrusted bytes. */
	size_t mocpack_planes_decode_truncated(int32_t* values, size_t rows, size_t columns, const uint16_t* classes,
									 size_t class_count, void* models, const uint8_t* src, size_t src_size);

	/* A plane that grows row by row: code the last of three rows (3, columns), the two above known.
	 *
	 * models, of mocpack_planes_models_size(class_count) bytes, is reset before the first row and carries the
	 * statistics from row to row; each row is a whole code of its own. */
	void mocpack_planes_reset(void* models, size_t class_count);
	size_t mocpack_planes_encode_row(uint8_t* dst, size_t dst_size, const int32_t* rows, size_t columns,
									 const uint16_t* classes, void* models);
	mocpack_Status mocpack_planes_decode_row(int32_t* rows, size_t columns, const uint16_t* classes,
											 void* models, const uint8_t* src, size_t src_size);

#ifdef __cplusplus
}
#endif
