// Adaptive order-0 coding of bytes.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/skeleton.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* Adaptive order-0 coding of bytes (rows, columns) (bytes.cpp).
	 *
	 * classes (columns) selects the statistics of each column, below class_count.
	 * models is scratch of mocpack_bytes_models_size(class_count) bytes, aligned as by malloc.
	 * dst needs mocpack_bytes_bound(rows, columns) bytes at most. The decoder is safe on untrusted bytes. */
	size_t mocpack_bytes_models_size(size_t class_count);
	size_t mocpack_bytes_bound(size_t rows, size_t columns);
	size_t mocpack_bytes_encode(uint8_t* dst, size_t dst_size, const uint8_t* values, size_t rows,
								size_t columns, const uint16_t* classes, size_t class_count, void* models);
	mocpack_Status mocpack_bytes_decode(uint8_t* values, size_t rows, size_t columns, const uint16_t* classes,
										size_t class_count, void* models, const uint8_t* src,
										size_t src_size);

#ifdef __cplusplus
}
#endif
