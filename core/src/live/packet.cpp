// Packs rows into packets with frame number, time and checksum. docs/live-packets.md describes the bytes.
//
// The checksum also covers the hello checksum and the complete frame number, of which most packets store 16
// bits. A packet of another stream, or from beyond a gap of 65,536 frames, therefore fails its checksum.
#include "common/checksum.h"
#include "common/crc32.h"
#include "live/live.h"

using namespace mocpack;

namespace
{

const uint8_t SPARSE = 0x20, FULL = 1;
// Most packets hold consecutive rows, 0, 1, 2, ... frames before the newest. They need no offsets, and the
// last row takes the remaining bytes. The byte holds FULL, whether the last row is a keyframe, and the number
// of rows.
const uint8_t CONSECUTIVE = 0x40, LAST_IS_KEYFRAME = 2;
const int COUNT_SHIFT = 2;
const size_t MAX_CONSECUTIVE = 16;
const size_t CHECKSUM_BYTES = 4;
const int64_t TICK_US = 250; // microseconds
const uint32_t MAX_OFFSET = 65535;
const int64_t MAX_TIME_US = int64_t(1) << 60; // microseconds

void put(uint8_t*& at, uint64_t value, int bytes)
{
	for (int k = 0; k < bytes; ++k, value >>= 8)
		*at++ = uint8_t(value);
}

uint64_t get(const uint8_t* at, int bytes)
{
	uint64_t value = 0;
	for (int k = bytes; k-- > 0;)
		value = value << 8 | at[k];
	return value;
}

void put_varint(uint8_t*& at, uint32_t value)
{
	for (; value > 127; value >>= 7)
		*at++ = uint8_t(value | 128);
	*at++ = uint8_t(value);
}

bool get_varint(const uint8_t*& at, const uint8_t* end, uint32_t* value)
{
	*value = 0;
	for (int shift = 0; shift < 28 && at < end; shift += 7)
	{
		*value |= uint32_t(*at & 127) << shift;
		if (*at++ < 128)
			return true;
	}
	return false;
}

uint32_t checksum(uint32_t hello_checksum, int64_t number, const uint8_t* packet, size_t size)
{
	uint8_t known[12], *at = known;
	put(at, hello_checksum, 4);
	put(at, uint64_t(number), 8);
	return crc32(crc32(0, known, sizeof known), packet, size);
}

// Returns the value nearest to `near` whose lowest 16 bits are `low`.
int64_t unwrap(int64_t near, uint64_t low)
{
	return near + int16_t(uint16_t(low - uint64_t(near)));
}

bool read_rows(const uint8_t* at, const uint8_t* end, mocpack_LiveRow* rows, size_t room, size_t* count)
{
	for (*count = 0; at < end; ++*count)
	{
		uint32_t offset = 0, size = 0;
		if (*count == room || !get_varint(at, end, &offset) || !get_varint(at, end, &size) ||
			offset > MAX_OFFSET || size_t(end - at) < size >> 1)
			return false;
		rows[*count] = {offset, int(size & 1), at, size >> 1};
		at += size >> 1;
	}
	return *count > 0;
}

bool read_consecutive_rows(uint8_t kind, const uint8_t* at, const uint8_t* end, mocpack_LiveRow* rows,
						   size_t room, size_t* count)
{
	*count = size_t((kind & ~CONSECUTIVE) >> COUNT_SHIFT) + 1;
	if (*count > room)
		return false;
	for (uint32_t i = 0; i + 1 < *count; ++i)
	{
		uint32_t size = 0;
		if (!get_varint(at, end, &size))
			return false;
		rows[i] = {i, int(size & 1), nullptr, size >> 1};
	}
	for (size_t i = 0; i + 1 < *count; at += rows[i++].size)
	{
		if (size_t(end - at) < rows[i].size)
			return false;
		rows[i].bytes = at;
	}
	rows[*count - 1] = {uint32_t(*count - 1), (kind & LAST_IS_KEYFRAME) != 0, at, size_t(end - at)};
	return true;
}

uint32_t make_size_field(const mocpack_LiveRow& row)
{
	return uint32_t(row.size << 1 | (row.keyframe ? 1 : 0));
}

bool are_consecutive(const mocpack_LiveRow* rows, size_t count)
{
	for (size_t i = 0; i < count; ++i)
		if (rows[i].offset != i)
			return false;
	return count > 0 && count <= MAX_CONSECUTIVE;
}

uint8_t make_kind(const mocpack_LiveHead* head, const mocpack_LiveRow* rows, size_t count, bool consecutive)
{
	uint8_t kind = head->full ? FULL : 0;
	if (!consecutive)
		return uint8_t(SPARSE | kind);
	kind = uint8_t(kind | (rows[count - 1].keyframe ? LAST_IS_KEYFRAME : 0));
	return uint8_t(CONSECUTIVE | (count - 1) << COUNT_SHIFT | kind);
}

bool is_kind(uint8_t kind)
{
	return (kind & ~FULL) == SPARSE || (kind & 0xc0) == CONSECUTIVE;
}

} // namespace

size_t mocpack_live_pack(uint32_t hello_checksum, const mocpack_LiveHead* head, const mocpack_LiveRow* rows,
						 size_t count, uint8_t* dst, size_t room)
{
	size_t needed = 17 + CHECKSUM_BYTES;
	for (size_t i = 0; i < count; ++i)
		needed += 8 + rows[i].size;
	if (needed > room)
		return 0;
	uint8_t* at = dst;
	const bool consecutive = are_consecutive(rows, count);
	*at++ = make_kind(head, rows, count, consecutive);
	put(at, hello_checksum, 2);
	put(at, uint64_t(head->number), head->full ? 6 : 2);
	put(at, uint64_t(head->full ? head->time : head->time / TICK_US), head->full ? 8 : 2);
	for (size_t i = 0; consecutive && i + 1 < count; ++i)
		put_varint(at, make_size_field(rows[i]));
	for (size_t i = 0; i < count; ++i)
	{
		if (!consecutive)
		{
			put_varint(at, rows[i].offset);
			put_varint(at, make_size_field(rows[i]));
		}
		for (size_t k = 0; k < rows[i].size; ++k)
			*at++ = rows[i].bytes[k];
	}
	put(at, checksum(hello_checksum, head->number, dst, size_t(at - dst)), CHECKSUM_BYTES);
	return size_t(at - dst);
}

mocpack_LivePacketStatus mocpack_live_unpack(uint32_t hello_checksum, const mocpack_LiveHead* near,
											 const uint8_t* packet, size_t size, mocpack_LiveHead* head,
											 mocpack_LiveRow* rows, size_t room, size_t* count)
{
	if (size < 7 + CHECKSUM_BYTES || !is_kind(packet[0]))
		return MOCPACK_LIVE_DAMAGED;
	if (!checksum_matches(hello_checksum & 0xffff, uint32_t(get(packet + 1, 2))))
		return MOCPACK_LIVE_OTHER_STREAM;
	head->full = packet[0] & FULL;
	const uint8_t *at = packet + 7, *end = packet + size - CHECKSUM_BYTES;
	if (head->full)
	{
		if (size < 17 + CHECKSUM_BYTES)
			return MOCPACK_LIVE_DAMAGED;
		head->number = int64_t(get(packet + 3, 6));
		head->time = int64_t(get(packet + 9, 8));
		at = packet + 17;
	}
	else if (!near)
		return MOCPACK_LIVE_NEEDS_KEYFRAME;
	else
	{
		head->number = unwrap(near->number, get(packet + 3, 2));
		head->time = TICK_US * unwrap(near->time / TICK_US, get(packet + 5, 2));
	}
	if (head->number < 0 || head->time < 0 || head->time > MAX_TIME_US ||
		!checksum_matches(checksum(hello_checksum, head->number, packet, size - CHECKSUM_BYTES),
						  uint32_t(get(end, CHECKSUM_BYTES))))
		return MOCPACK_LIVE_DAMAGED;
	bool good = packet[0] & CONSECUTIVE ? read_consecutive_rows(packet[0], at, end, rows, room, count)
										: read_rows(at, end, rows, room, count);
	return good ? MOCPACK_LIVE_NEW : MOCPACK_LIVE_DAMAGED;
}
