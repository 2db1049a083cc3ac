// Allocates from the caller's memory. Without memory, it only counts how much is needed.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/small_build.h"

namespace mocpack
{

class Arena
{
  public:
	explicit Arena(void* memory) : base_(static_cast<uint8_t*>(memory))
	{
	}

	// Returns `count` elements, aligned to 32 bytes if the memory is.
	template <typename T> T* allocate(size_t count)
	{
		return static_cast<T*>(allocate_bytes(count * sizeof(T)));
	}

	bool has_memory() const
	{
		return base_ != nullptr;
	}

	size_t used() const
	{
		return used_;
	}

  private:
	MOCPACK_NOINLINE void* allocate_bytes(size_t size)
	{
		void* found = base_ ? base_ + used_ : nullptr;
		used_ += (size + 31) / 32 * 32;
		return found;
	}

	uint8_t* base_;
	size_t used_ = 0;
};

} // namespace mocpack
