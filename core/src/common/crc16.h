// CRC-16/CCITT (polynomial 0x1021, start 0xffff): what Python's binascii.crc_hqx(data, 0xffff) gives.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace mocpack
{

constexpr std::array<uint16_t, 256> make_crc16_table()
{
	std::array<uint16_t, 256> table{};
	for (uint32_t byte = 0; byte < 256; ++byte)
	{
		uint32_t crc = byte << 8;
		for (int k = 0; k < 8; ++k)
			crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
		table[byte] = uint16_t(crc);
	}
	return table;
}

inline constexpr std::array<uint16_t, 256> CRC16_TABLE = make_crc16_table();

inline uint16_t crc16(const uint8_t* data, size_t size)
{
	uint32_t crc = 0xffff;
	for (size_t i = 0; i < size; ++i)
		crc = ((crc << 8) & 0xff00) ^ CRC16_TABLE[(crc >> 8) ^ data[i]];
	return uint16_t(crc);
}

} // namespace mocpack
