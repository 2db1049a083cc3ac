// Compresses to a raw deflate stream (RFC 1951).
#pragma once
#include "writer/field_writer.h"

namespace mocpack
{

/* Appends the deflate stream of `data`. The bytes are those of zlib 1.2.12 and later at level 9 with memory
 * level 9, so files do not depend on the zlib of a machine. A reader needs the same dictionary; only its last
 * 32 KiB count. */
void deflate(const uint8_t* data, size_t size, FieldWriter* out, const void* dictionary = nullptr,
			 size_t dictionary_size = 0);
inline void deflate(const FieldWriter& data, FieldWriter* out, const void* dictionary = nullptr,
					size_t dictionary_size = 0)
{
	if (!data.good())
		out->fail();
	deflate(data.data(), data.size(), out, dictionary, dictionary_size);
}

} // namespace mocpack
