// Decodes attribute streams of glTF's EXT_meshopt_compression and KHR_meshopt_compression.
#pragma once
#include <cstddef>
#include <cstdint>

enum
{
	MOCPACK_MESHOPT_MAX_STRIDE = 256
};

/* Decodes a buffer view of mode ATTRIBUTES, bitstream version 0 or 1 (meshopt.cpp).
 *
 * rows (count, stride); the stride is a multiple of 4, at most MOCPACK_MESHOPT_MAX_STRIDE. Filters are
 * not applied. Returns MOCPACK_OK, MOCPACK_TRUNCATED or MOCPACK_CORRUPT. */
int mocpack_decode_meshopt(const uint8_t* data, size_t size, uint8_t* rows, size_t count, size_t stride);
