// Internal view of an open archive.
#pragma once
#include "reader/memory.h"

namespace mocpack
{

struct Span
{
	const uint8_t* bytes;
	uint64_t size;
};

// A clip and the state of its read callback.
struct ArchivedClip
{
	mocpack_Archive* archive;
	mocpack_ArchiveClip entry;
	Span base, front;
	uint64_t base_number; // index of the shared bytes plus 1; 0: none
};

// Another file of the archive, in the same folder.
struct Shard
{
	Span name;
	uint64_t size;
};

// A chunk of the trailer that this library does not parse.
struct TrailerChunk
{
	uint64_t offset, size;
	uint32_t checksum;
	bool found;
};

} // namespace mocpack

struct mocpack_Archive
{
	mocpack::Memory memory;
	mocpack_Source source;
	mocpack::ArchivedClip* clips = nullptr;
	size_t clip_count = 0;
	mocpack::Shard* shards = nullptr;
	size_t shard_count = 0;
	mocpack::Span* bases = nullptr;
	size_t base_count = 0;
	uint64_t trailer = 0; // offset
	mocpack::TrailerChunk table = {};

	mocpack_Archive(const mocpack_Allocator& allocator, uint64_t limit, const mocpack_Source& given)
		: memory(allocator, limit), source(given)
	{
	}
};
