// The envelope of rows: number, time, checksum. docs/live-packets.md has the bytes.
//
// The checksum covers, besides the packet, the hello's own and the frame's whole number, of which most
// packets tell sixteen bits: a packet of another stream, or from beyond a gap of any length, is never taken
// for the next.
#include "live/live.h"
#include "reader/crc32.h"

using namespace mocpack;

namespace
{

const uint8_t KIND = 0x20, FULL = 1;
const size_t CHECK = 4;
const int64_t TICK = 250; // microseconds
const uint32_t MOST_OFFSET = 65535;
const int64_t LATEST = int64_t(1) << 60; // microseconds

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

uint32_t checksum(uint32_t check, int64_t number, const uint8_t* packet, size_t size)
{
	uint8_t known[12], *at = known;
	put(at, check, 4);
	put(at, uint64_t(number), 8);
	return crc32(crc32(0, known, sizeof known), packet, size);
}

// The value nearest to `near` whose lowest sixteen bits are `low`.
int64_t unwrapped(int64_t near, uint64_t low)
{
	return near + int16_t(uint16_t(low - uint64_t(near)));
}

bool read_rows(const uint8_t* at, const uint8_t* end, mocpack_LiveRow* rows, size_t room, size_t* count)
{
	for (*count = 0; at < end; ++*count)
	{
		uint32_t offset = 0, size = 0;
		if (*count == room || !get_varint(at, end, &offset) || !get_varint(at, end, &size) ||
			offset > MOST_OFFSET || size_t(end - at) < size >> 1)
			return false;
		rows[*count] = {offset, int(size & 1), at, size >> 1};
		at += size >> 1;
	}
	return *count > 0;
}

} // namespace

size_t mocpack_live_pack(uint32_t check, const mocpack_LiveHead* head, const mocpack_LiveRow* rows,
						 size_t count, uint8_t* dst, size_t room)
{
	size_t needed = 17 + CHECK;
	for (size_t i = 0; i < count; ++i)
		needed += 8 + rows[i].size;
	if (needed > room)
		return 0;
	uint8_t* at = dst;
	*at++ = uint8_t(KIND | (head->full ? FULL : 0));
	put(at, check, 2);
	put(at, uint64_t(head->number), head->full ? 6 : 2);
	put(at, uint64_t(head->full ? head->time : head->time / TICK), head->full ? 8 : 2);
	for (size_t i = 0; i < count; ++i)
	{
		put_varint(at, rows[i].offset);
		put_varint(at, uint32_t(rows[i].size << 1 | (rows[i].intra ? 1 : 0)));
		for (size_t k = 0; k < rows[i].size; ++k)
			*at++ = rows[i].bytes[k];
	}
	put(at, checksum(check, head->number, dst, size_t(at - dst)), CHECK);
	return size_t(at - dst);
}

mocpack_LiveAnswer mocpack_live_unpack(uint32_t check, const mocpack_LiveHead* near, const uint8_t* packet,
									   size_t size, mocpack_LiveHead* head, mocpack_LiveRow* rows,
									   size_t room, size_t* count)
{
	if (size < 7 + CHECK || (packet[0] & ~FULL) != KIND)
		return MOCPACK_LIVE_DAMAGED;
	if (get(packet + 1, 2) != (check & 0xffff))
		return MOCPACK_LIVE_OTHER_HELLO;
	head->full = packet[0] & FULL;
	const uint8_t *at = packet + 7, *end = packet + size - CHECK;
	if (head->full)
	{
		if (size < 17 + CHECK)
			return MOCPACK_LIVE_DAMAGED;
		head->number = int64_t(get(packet + 3, 6));
		head->time = int64_t(get(packet + 9, 8));
		at = packet + 17;
	}
	else if (!near)
		return MOCPACK_LIVE_UNPLACED;
	else
	{
		head->number = unwrapped(near->number, get(packet + 3, 2));
		head->time = TICK * unwrapped(near->time / TICK, get(packet + 5, 2));
	}
	if (head->number < 0 || head->time < 0 || head->time > LATEST ||
		get(end, CHECK) != checksum(check, head->number, packet, size - CHECK))
		return MOCPACK_LIVE_DAMAGED;
	return read_rows(at, end, rows, room, count) ? MOCPACK_LIVE_NEWS : MOCPACK_LIVE_DAMAGED;
}
