// Hands out pieces of the caller's memory; over no memory, it counts how much would be needed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mocpack
{

class Arena
{
  public:
	explicit Arena(void* memory) : base_(static_cast<uint8_t*>(memory))
	{
	}

	// `count` elements, aligned to 32 bytes if the memory is.
	template <typename T> T* take(size_t count)
	{
		T* found = base_ ? reinterpret_cast<T*>(base_ + used_) : nullptr;
		used_ += (count * sizeof(T) + 31) / 32 * 32;
		return found;
	}

	size_t used() const
	{
		return used_;
	}

  private:
	uint8_t* base_;
	size_t used_ = 0;
};

} // namespace mocpack
