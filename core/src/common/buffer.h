// An array from the caller's allocator, released when its owner goes out of scope.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mocpack/mocpack.h"

namespace mocpack
{

// Elements are plain data, aligned to 32 bytes for kernels that vectorize.
template <typename T> class Buffer
{
  public:
	Buffer() = default;
	Buffer(const Buffer&) = delete;
	Buffer& operator=(const Buffer&) = delete;

	Buffer(Buffer&& other) noexcept
	{
		swap(other);
	}

	Buffer& operator=(Buffer&& other) noexcept
	{
		swap(other);
		return *this;
	}

	~Buffer()
	{
		release();
	}

	// Allocates `count` zeroed elements; old contents are discarded. False where there is no memory.
	bool take(const mocpack_Allocator& allocator, size_t count)
	{
		if (!take_room(allocator, count))
			return false;
		std::memset(static_cast<void*>(data_), 0, count * sizeof(T));
		return true;
	}

	// Allocates `count` elements without initializing them. Keeps memory that has this size already.
	bool take_room(const mocpack_Allocator& allocator, size_t count)
	{
		dropped_ = 0;
		if (memory_ && count == count_)
			return true;
		release();
		if (count > (SIZE_MAX - PADDING) / sizeof(T))
			return false;
		allocator_ = allocator;
		void* memory = allocator.allocate(allocator.user, count * sizeof(T) + PADDING);
		if (!memory)
			return false;
		memory_ = memory, count_ = count;
		uintptr_t start = reinterpret_cast<uintptr_t>(memory);
		data_ = reinterpret_cast<T*>((start + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
		return true;
	}

	bool copy(const mocpack_Allocator& allocator, const T* source, size_t count)
	{
		if (!take_room(allocator, count))
			return false;
		if (count)
			std::memcpy(static_cast<void*>(data_), source, count * sizeof(T));
		return true;
	}

	// Forgets elements at the end.
	void shorten(size_t count)
	{
		dropped_ = count_ - count;
	}

	void release()
	{
		if (memory_)
			allocator_.release(allocator_.user, memory_, count_ * sizeof(T) + PADDING);
		memory_ = nullptr, data_ = nullptr, count_ = 0, dropped_ = 0;
	}

	T* data()
	{
		return data_;
	}
	const T* data() const
	{
		return data_;
	}
	size_t size() const
	{
		return count_ - dropped_;
	}
	T& operator[](size_t i)
	{
		return data_[i];
	}
	const T& operator[](size_t i) const
	{
		return data_[i];
	}

  private:
	static const size_t ALIGNMENT = 32, PADDING = 64;

	void swap(Buffer& other)
	{
		auto exchange = [](auto& a, auto& b)
		{
			auto held = a;
			a = b, b = held;
		};
		exchange(allocator_, other.allocator_), exchange(memory_, other.memory_);
		exchange(data_, other.data_), exchange(count_, other.count_), exchange(dropped_, other.dropped_);
	}

	mocpack_Allocator allocator_ = {};
	void* memory_ = nullptr;
	T* data_ = nullptr;
	size_t count_ = 0, dropped_ = 0; // elements taken, and forgotten at the end
};

} // namespace mocpack
