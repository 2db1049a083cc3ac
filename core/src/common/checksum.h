// Compares a computed checksum with a stored one.
#pragma once
#include <cstdint>

namespace mocpack
{

// A fuzz build (MOCPACK_FUZZING, core/fuzz) accepts every checksum, so that mutated bytes reach the parsers.
inline bool checksum_matches(uint32_t computed, uint32_t stored)
{
#ifdef MOCPACK_FUZZING
	(void)computed;
	(void)stored;
	return true;
#else
	return computed == stored;
#endif
}

} // namespace mocpack
