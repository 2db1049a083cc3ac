// What reading a chunk of many arrays takes: its fields, and memory that may run out.
#pragma once
#include "reader/chunks.h"

namespace mocpack
{

struct ChunkReader
{
	Fields in;
	mocpack_Motion* motion;
	bool out_of_memory = false;

	ChunkReader(const Fields& fields, mocpack_Motion* own) : in(fields), motion(own)
	{
	}

	// Memory of zeros for one element more; null where something is wrong already, or there is none.
	template <typename T> T* array(uint64_t count)
	{
		return static_cast<T*>(bytes(count + 1, sizeof(T)));
	}

	bool can_continue() const
	{
		return in.good() && !out_of_memory;
	}

	// The name of the index-th of something, of at most so many bytes of UTF-8, copied to `*room`, which
	// moves on past the zero after it.
	MOCPACK_NOINLINE mocpack_Text name(const char* of, size_t index, size_t longest, char** room);

  private:
	MOCPACK_NOINLINE void* bytes(uint64_t count, size_t size)
	{
		if (!in.good())
			return nullptr;
		void* found = count > SIZE_MAX / size ? nullptr : motion->memory.allocate(count * size);
		out_of_memory = out_of_memory || !found;
		return found;
	}
};

} // namespace mocpack
