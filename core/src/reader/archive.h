// An open archive, as those who read more of it than its clips see it.
#pragma once
#include "reader/memory.h"

namespace mocpack
{

struct Span
{
	const uint8_t* bytes;
	uint64_t size;
};

// A clip, and what reading it by a callback needs to know.
struct ArchivedClip
{
	mocpack_Archive* archive;
	mocpack_ArchiveClip entry;
	Span base, front;
	uint64_t base_number; // 0: none
};

// Another file of the archive, which stands beside it.
struct Shard
{
	Span name;
	uint64_t size;
};

// A chunk of the trailer that the core does not read.
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
	uint64_t trailer = 0; // where it begins
	mocpack::TrailerChunk table = {};

	mocpack_Archive(const mocpack_Allocator& allocator, uint64_t limit, const mocpack_Source& given)
		: memory(allocator, limit), source(given)
	{
	}
};
