#include "writer/file.h"

#include <algorithm>

#include "common/crc32.h"
#include "reader/chunks.h"

namespace mocpack
{

namespace
{

const uint8_t START[FIRST_CHUNK] = {0x93, 'M', 'O', 'C', 1};

// The parts of a file, in their order. Chunks that are not listed come before the bounds of joints.
const char* const PARTS[] = {"HEAD", "SKEL MESH", "REST HING SCAL TIME", "meta", "", "bnds", "DATA"};
const size_t OTHERS = 4, DATA = 6;

size_t part_of(const FileChunk& chunk)
{
	for (size_t part = 0; part <= DATA; ++part)
		for (const char* tag = PARTS[part]; *tag; tag += tag[4] ? 5 : 4)
			if (!std::memcmp(tag, chunk.tag, 4))
				return part;
	return OTHERS;
}

// Returns the numbers that the samples of a track hold.
uint64_t track_numbers(const FileChunk& chunk)
{
	const uint8_t widths[8] = {1, 1, 1, 3, 4, 1, 1, 1}; // of each kind
	if (std::memcmp(chunk.tag, "trak", 4))
		return 0;
	const uint8_t *at = static_cast<const uint8_t*>(chunk.body), *end = at + chunk.size;
	auto varint = [&at, end]
	{
		uint64_t value = 0;
		for (int shift = 0; at < end && shift < 64; shift += 7)
		{
			value |= uint64_t(*at & 127) << shift;
			if (*at++ < 128)
				break;
		}
		return value;
	};
	const uint64_t name = varint();
	if (name >= uint64_t(end - at))
		return 0;
	at += name;
	const unsigned kind = *at++ % 8u;
	return varint() * widths[kind];
}

uint64_t divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b > 0);
}

} // namespace

void write_chunk(const FileChunk& chunk, FieldWriter* out)
{
	const uint8_t* tag = reinterpret_cast<const uint8_t*>(chunk.tag);
	out->raw(tag, 4);
	out->varint(chunk.size);
	out->u32(crc32(crc32(0, tag, 4), static_cast<const uint8_t*>(chunk.body), chunk.size));
	out->raw(chunk.body, chunk.size);
}

void write_file(const FileChunk* chunks, size_t count, FileSize size, FieldWriter* out)
{
	const size_t before = out->size();
	uint64_t numbers = 0;
	out->raw(START, sizeof START);
	for (size_t part = 0; part < DATA; ++part)
		for (size_t i = 0; i < count; ++i)
			if (part_of(chunks[i]) == part)
				write_chunk(chunks[i], out);
	for (size_t i = 0; i < count; ++i)
		numbers += track_numbers(chunks[i]);
	FieldWriter data(out->allocator());
	for (size_t i = 0; i < count; ++i)
		if (part_of(chunks[i]) == DATA)
			write_chunk(chunks[i], &data);
	const uint64_t written = out->size() - before + data.size(),
				   least = std::max({divide_up(size.frames, FRAMES_PER_BYTE),
									 divide_up(size.frames * size.width, SAMPLES_PER_BYTE),
									 divide_up(numbers, SAMPLES_PER_BYTE)});
	if (written < least)
	{
		Buffer<uint8_t> zeros;
		if (!zeros.take(out->allocator(), size_t(least - written)))
			return out->fail();
		write_chunk({{'f', 'i', 'l', 'l'}, zeros.data(), zeros.size()}, out);
	}
	out->raw(data);
}

} // namespace mocpack
