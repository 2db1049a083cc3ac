// Internal view of an open archive.
#pragma once
#include "reader/chunks.h"

namespace mocpack
{

const uint32_t MAX_CLIP_KIND = 1; // 0: its own file; 1: the same bytes as another clip

struct Span
{
	const uint8_t* bytes;
	size_t size;
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
	mocpack_Text name;
	uint64_t size;
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
	uint64_t trailer = 0;	   // offset
	mocpack::Chunk table = {}; // the catalog, which this library does not parse

	mocpack_Archive(const mocpack_Allocator& allocator, uint64_t limit, const mocpack_Source& given)
		: memory(allocator, limit), source(given)
	{
	}
};
