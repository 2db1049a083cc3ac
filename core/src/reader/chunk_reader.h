// Reads a chunk into arrays: its fields, and memory that may run out.
#pragma once
#include "reader/chunks.h"

namespace mocpack
{

struct ChunkReader
{
	Fields in;
	mocpack_Motion* motion;

	ChunkReader(const Fields& fields, mocpack_Motion* own) : in(fields), motion(own)
	{
	}

	// Allocates zeroed memory for count + 1 elements; null after an error or without memory.
	template <typename T> T* array(uint64_t count)
	{
		return static_cast<T*>(bytes(count + 1, sizeof(T)));
	}

	// Reads a name of at most `longest` bytes. Copies it to `*room` and advances `*room` past its
	// terminator.
	MOCPACK_NOINLINE mocpack_Text name(size_t longest, char** room);

  private:
	MOCPACK_NOINLINE void* bytes(uint64_t count, size_t size)
	{
		if (!in.good())
			return nullptr;
		void* found = count > SIZE_MAX / size ? nullptr : motion->memory.allocate(count * size);
		if (!found)
			in.no_memory();
		return found;
	}
};

} // namespace mocpack
