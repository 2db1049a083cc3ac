// Inflates deflate streams (RFC 1951).
#pragma once
#include "mocpack/mocpack.h"

namespace mocpack
{

struct Inflated
{
	mocpack_Status status; // MOCPACK_OK, MOCPACK_TRUNCATED or MOCPACK_CORRUPT
	size_t size;		   // inflated bytes
	const char* message;   // the reason, unless the status is MOCPACK_OK
};

// Inflates a raw stream that ends exactly with `src`, to at most `most` bytes. If dst is null, only computes
// the size; otherwise dst has exactly that size. The dictionary acts as data before the first byte.
Inflated inflate(const uint8_t* src, size_t src_size, const uint8_t* dictionary, size_t dictionary_size,
				 uint8_t* dst, size_t most);

} // namespace mocpack
