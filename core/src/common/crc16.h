// CRC-16/CCITT (polynomial 0x1021, start 0xffff), as Python's binascii.crc_hqx(data, 0xffff).
#pragma once
#include <cstddef>
#include <cstdint>

namespace mocpack
{

#ifdef MOCPACK_SMALL
const int CRC16_SLICES = 1;
#else
const int CRC16_SLICES = 8; // bytes at a time
#endif

struct Crc16Tables
{
	uint16_t of[CRC16_SLICES][256];
};

constexpr Crc16Tables make_crc16_tables()
{
	Crc16Tables t{};
	for (uint32_t byte = 0; byte < 256; ++byte)
	{
		uint32_t crc = byte << 8;
		for (int k = 0; k < 8; ++k)
			crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
		t.of[0][byte] = uint16_t(crc);
	}
	for (int s = 1; s < CRC16_SLICES; ++s)
		for (uint32_t byte = 0; byte < 256; ++byte)
			t.of[s][byte] = uint16_t(t.of[s - 1][byte] << 8 ^ t.of[0][t.of[s - 1][byte] >> 8]);
	return t;
}

#ifdef MOCPACK_TABLES_AT_START
extern Crc16Tables CRC16_TABLES;
#else
inline constexpr Crc16Tables CRC16_TABLES = make_crc16_tables();
#endif

inline uint16_t crc16(const uint8_t* data, size_t size)
{
	const auto& t = CRC16_TABLES.of;
	uint32_t crc = 0xffff;
#ifndef MOCPACK_SMALL
	for (; size >= 8; size -= 8, data += 8)
		crc = t[7][crc >> 8 ^ data[0]] ^ t[6][(crc & 255) ^ data[1]] ^ t[5][data[2]] ^ t[4][data[3]] ^
			  t[3][data[4]] ^ t[2][data[5]] ^ t[1][data[6]] ^ t[0][data[7]];
#endif
	for (; size; --size, ++data)
		crc = ((crc << 8) & 0xff00) ^ t[0][crc >> 8 ^ *data];
	return uint16_t(crc);
}

} // namespace mocpack
