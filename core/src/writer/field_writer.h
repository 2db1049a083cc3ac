// Appends to a growing array of bytes the fields that a file consists of (docs/format.md, "Notation").
#pragma once
#include <cstring>

#include "common/buffer.h"

namespace mocpack
{

// After the first allocation that fails, it ignores all fields and `good` is false.
class FieldWriter
{
  public:
	explicit FieldWriter(const mocpack_Allocator& allocator) : allocator_(allocator)
	{
	}

	bool good() const
	{
		return good_;
	}
	const uint8_t* data() const
	{
		return buffer_.data();
	}
	size_t size() const
	{
		return size_;
	}
	const mocpack_Allocator& allocator() const
	{
		return allocator_;
	}

	// Makes `good` false: a part of the content could not be written.
	void fail()
	{
		good_ = false;
	}

	// Appends `size` bytes that the caller fills. Returns null if there is no memory.
	uint8_t* room(size_t size)
	{
		if (!good_ || (size > buffer_.size() - size_ && !grow(size)))
			return nullptr;
		size_ += size;
		return buffer_.data() + size_ - size;
	}

	// Forgets the bytes from `size` on.
	void shorten(size_t size)
	{
		size_ = size;
	}

	void raw(const void* data, size_t size)
	{
		uint8_t* to = size ? room(size) : nullptr;
		if (to)
			std::memcpy(to, data, size);
	}
	void raw(const FieldWriter& other)
	{
		good_ = good_ && other.good_;
		raw(other.data(), other.size());
	}
	void u8(unsigned value)
	{
		whole(value, 1);
	}
	void u16(unsigned value)
	{
		whole(value, 2);
	}
	void u32(uint32_t value)
	{
		whole(value, 4);
	}
	void f32(double value)
	{
		const float single = float(value);
		uint32_t bits;
		std::memcpy(&bits, &single, sizeof bits);
		whole(bits, 4);
	}
	void f64(double value)
	{
		uint64_t bits;
		std::memcpy(&bits, &value, sizeof bits);
		whole(bits, 8);
	}
	void varint(uint64_t value)
	{
		for (; value > 127; value >>= 7)
			u8(unsigned(value & 127) | 128);
		u8(unsigned(value));
	}
	void zigzag(int64_t value)
	{
		varint(value >= 0 ? 2 * uint64_t(value) : 2 * (0 - uint64_t(value)) - 1);
	}
	void sized(const void* data, size_t size)
	{
		varint(size);
		raw(data, size);
	}
	void sized(mocpack_Text text)
	{
		sized(text.bytes, text.size);
	}
	void sized(const FieldWriter& other)
	{
		varint(other.size());
		raw(other);
	}

	// Increasing indices, as their count and differences.
	void indices(const int32_t* list, size_t count)
	{
		varint(count);
		for (size_t i = 0; i < count; ++i)
			varint(uint64_t(list[i] - (i ? list[i - 1] : 0)));
	}

	// One bit per flag, lowest first, in whole bytes. is_set(i) returns flag i.
	template <typename IsSet> void mask(size_t count, IsSet is_set)
	{
		for (size_t first = 0; first < count; first += 8)
		{
			unsigned bits = 0;
			for (size_t i = first; i < count && i < first + 8; ++i)
				bits |= unsigned(is_set(i)) << (i - first);
			u8(bits);
		}
	}

  private:
	void whole(uint64_t value, size_t size)
	{
		uint8_t* to = room(size);
		for (size_t i = 0; to && i < size; ++i)
			to[i] = uint8_t(value >> 8 * i);
	}

	bool grow(size_t more)
	{
		Buffer<uint8_t> larger;
		const size_t twice = 2 * buffer_.size(), least = size_ + more < 256 ? 256 : size_ + more;
		if (least < more || !larger.take_room(allocator_, twice > least ? twice : least))
			return good_ = false;
		if (size_)
			std::memcpy(larger.data(), buffer_.data(), size_);
		buffer_ = static_cast<Buffer<uint8_t>&&>(larger);
		return true;
	}

	mocpack_Allocator allocator_;
	Buffer<uint8_t> buffer_;
	size_t size_ = 0;
	bool good_ = true;
};

} // namespace mocpack
