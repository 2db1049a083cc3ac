// Deflate streams (RFC 1951), unpacked.
#pragma once
#include "mocpack/mocpack.h"

namespace mocpack
{

struct Inflated
{
	mocpack_Status status; // MOCPACK_OK, MOCPACK_TRUNCATED or MOCPACK_CORRUPT
	size_t size;		   // bytes that come out
	const char* complaint; // what is wrong, where the status says so
};

// Unpacks a raw stream that must end with `src` and hold at most `most` bytes. dst is null, and only the size
// is found; or it has room for just that size. The dictionary stands, in thought, before the first byte.
Inflated inflate(const uint8_t* src, size_t src_size, const uint8_t* dictionary, size_t dictionary_size,
				 uint8_t* dst, size_t most);

} // namespace mocpack
