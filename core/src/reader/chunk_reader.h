// What reading a chunk of many arrays takes: its fields, and memory that may run out.
#pragma once
#include "reader/chunks.h"

namespace mocpack
{

struct ChunkReader
{
	Fields in;
	mocpack_Motion* motion;
	bool starved = false;

	ChunkReader(const Fields& fields, mocpack_Motion* own) : in(fields), motion(own)
	{
	}

	// Memory of zeros for one element more; null where something is wrong already, or there is none.
	template <typename T> T* array(uint64_t count)
	{
		return static_cast<T*>(bytes(count + 1, sizeof(T)));
	}

	bool going() const
	{
		return in.good() && !starved;
	}

	// The name of the index-th of something, of at most so many bytes of UTF-8, copied to `*room`, which
	// moves on past the zero after it.
	MOCPACK_ONCE mocpack_Text name(const char* of, size_t index, size_t longest, char** room);

  private:
	MOCPACK_ONCE void* bytes(uint64_t count, size_t size)
	{
		if (!in.good())
			return nullptr;
		void* found = count > SIZE_MAX / size ? nullptr : motion->memory.take(count * size);
		starved = starved || !found;
		return found;
	}
};

} // namespace mocpack
