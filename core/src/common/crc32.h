// CRC-32 as in zlib, the checksum of chunks.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mocpack
{

#ifdef MOCPACK_SMALL
const int CRC32_SLICES = 1;
#else
const int CRC32_SLICES = 4; // bytes at a time
#endif

struct Crc32Tables
{
	uint32_t of[CRC32_SLICES][256];
};

constexpr Crc32Tables make_crc32_tables()
{
	Crc32Tables t{};
	for (uint32_t byte = 0; byte < 256; ++byte)
	{
		uint32_t crc = byte;
		for (int bit = 0; bit < 8; ++bit)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
		t.of[0][byte] = crc;
	}
	for (int s = 1; s < CRC32_SLICES; ++s)
		for (uint32_t byte = 0; byte < 256; ++byte)
			t.of[s][byte] = t.of[s - 1][byte] >> 8 ^ t.of[0][t.of[s - 1][byte] & 255];
	return t;
}

#ifdef MOCPACK_TABLES_AT_START
extern Crc32Tables CRC32_TABLES;
#else
inline constexpr Crc32Tables CRC32_TABLES = make_crc32_tables();
#endif

// Continues the checksum `crc` with more bytes; start with 0.
inline uint32_t crc32(uint32_t crc, const uint8_t* bytes, size_t size)
{
	const auto& t = CRC32_TABLES.of;
	crc = ~crc;
#ifndef MOCPACK_SMALL
	for (; size >= 4; size -= 4, bytes += 4)
	{
		crc ^= uint32_t(bytes[0]) | uint32_t(bytes[1]) << 8 | uint32_t(bytes[2]) << 16 |
			   uint32_t(bytes[3]) << 24;
		crc = t[3][crc & 255] ^ t[2][crc >> 8 & 255] ^ t[1][crc >> 16 & 255] ^ t[0][crc >> 24];
	}
#endif
	for (; size; --size, ++bytes)
		crc = crc >> 8 ^ t[0][(crc ^ *bytes) & 255];
	return ~crc;
}

} // namespace mocpack
