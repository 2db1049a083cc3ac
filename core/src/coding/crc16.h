// CRC-16/CCITT (polynomial 0x1021, start 0xffff), as Python's binascii.crc_hqx(data, 0xffff).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace mocpack
{

using Crc16Table = std::array<uint16_t, 256>;

constexpr Crc16Table make_crc16_table()
{
	Crc16Table table{};
	for (uint32_t byte = 0; byte < 256; ++byte)
	{
		uint32_t crc = byte << 8;
		for (int k = 0; k < 8; ++k)
			crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
		table[byte] = uint16_t(crc);
	}
	return table;
}

#ifdef MOCPACK_TABLES_AT_START
extern Crc16Table CRC16_TABLE;
#else
inline constexpr Crc16Table CRC16_TABLE = make_crc16_table();
#endif

inline uint16_t crc16(const uint8_t* data, size_t size)
{
	uint32_t crc = 0xffff;
	for (size_t i = 0; i < size; ++i)
		crc = ((crc << 8) & 0xff00) ^ CRC16_TABLE[(crc >> 8) ^ data[i]];
	return uint16_t(crc);
}

} // namespace mocpack
