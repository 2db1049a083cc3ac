// Allocates with the caller's allocator, within a limit. Memory can be freed one by one or all at once.
#pragma once
#include "common/small_build.h"
#include "mocpack/mocpack.h"

namespace mocpack
{

const uint64_t DEFAULT_LIMIT = 1000000000; // bytes, as in Python

// malloc and free, or an allocator that always fails if the library was built without them.
mocpack_Allocator default_allocator();

class Memory
{
  public:
	Memory() = default;
	Memory(const mocpack_Allocator& allocator, uint64_t limit) : allocator_(allocator), left_(limit)
	{
	}

	// Returns zeroed memory, or null if there is too little.
	void* allocate(uint64_t size);
	// Like `allocate`, but leaves the memory as it is.
	void* allocate_unfilled(uint64_t size);

	template <typename T> T* allocate_array(uint64_t count)
	{
		return static_cast<T*>(allocate_many(count, sizeof(T)));
	}

	void release(void* memory);
	void release_all();

	// Marks the latest allocation; release_after frees all later ones. The marked one must still exist.
	const void* last_allocation() const
	{
		return first_;
	}
	void release_after(const void* last_allocation);

	uint64_t left() const
	{
		return left_;
	}
	const mocpack_Allocator& allocator() const
	{
		return allocator_;
	}

  private:
	MOCPACK_NOINLINE void* allocate_many(uint64_t count, size_t size)
	{
		return count > left_ / size ? nullptr : allocate(count * size);
	}

	struct Piece
	{
		Piece *next, *before;
		size_t size; // including this header
		size_t padding;
	};

	mocpack_Allocator allocator_;
	uint64_t left_;
	Piece* first_ = nullptr;
};

} // namespace mocpack
