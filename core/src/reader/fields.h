// Bytes read field by field: never past their end, and once something is wrong, zeros.
#pragma once
#include <cstring>

#include "reader/sentence.h"

namespace mocpack
{

class Fields
{
  public:
	// `where` names the part in sentences, `offset` is where in the file it stands; the error is written when
	// something is wrong, and only then.
	Fields(const char* where, const uint8_t* bytes, size_t size, uint64_t offset, mocpack_Error* error)
		: where_(where), at_(bytes), end_(bytes + size), offset_(offset), error_(error)
	{
	}

	bool good() const
	{
		return good_;
	}
	size_t left() const
	{
		return size_t(end_ - at_);
	}
	const uint8_t* at() const
	{
		return at_;
	}

	// Null where there are not so many.
	const uint8_t* raw(uint64_t size)
	{
		if (!good_)
			return nullptr;
		if (size > left())
		{
			fail(MOCPACK_TRUNCATED) << " ends " << size - left() << " bytes too early";
			return nullptr;
		}
		at_ += size;
		return at_ - size;
	}

	uint8_t u8()
	{
		const uint8_t* found = raw(1);
		return found ? *found : 0;
	}

	uint16_t u16()
	{
		const uint8_t* found = raw(2);
		return found ? uint16_t(found[0] | found[1] << 8) : 0;
	}

	float f32()
	{
		const uint8_t* b = raw(4);
		uint32_t bits = 0;
		for (int i = 3; b && i >= 0; --i)
			bits = bits << 8 | b[i];
		float value;
		std::memcpy(&value, &bits, 4);
		return value;
	}

	double f64()
	{
		const uint8_t* b = raw(8);
		uint64_t bits = 0;
		for (int i = 7; b && i >= 0; --i)
			bits = bits << 8 | b[i];
		double value;
		std::memcpy(&value, &bits, 8);
		return value;
	}

	uint64_t varint(uint64_t most = uint64_t(1) << 63)
	{
		uint64_t value = 0;
		for (int shift = 0; shift < 70 && good_; shift += 7)
		{
			uint8_t byte = u8();
			if (shift == 63 && byte > 1)
				break;
			value |= uint64_t(byte & 127) << shift;
			if (byte >= 128)
				continue;
			if (value <= most || !good_)
				return good_ ? value : 0;
			fail(MOCPACK_CORRUPT) << ": " << value << " where at most " << most << " can stand";
			return 0;
		}
		if (good_)
			fail(MOCPACK_CORRUPT) << ": a number does not end";
		return 0;
	}

	// A whole number of either sign: 0, -1, 1, -2, 2 …
	int64_t folded()
	{
		uint64_t value = varint();
		return value & 1 ? -int64_t(value >> 1) - 1 : int64_t(value >> 1);
	}

	// Other bytes of the same part, inflated.
	Fields part(const uint8_t* bytes, size_t size) const
	{
		return Fields(where_, bytes, size, offset_, error_);
	}

	// Complains about bytes left over.
	void end()
	{
		if (good_ && left())
			fail(MOCPACK_CORRUPT) << " has " << uint64_t(left()) << " bytes too many";
	}

	// Begins the sentence that says what is wrong; what is already wrong stays said.
	Sentence fail(mocpack_Status status)
	{
		good_ = false;
		return Sentence(error_, status, offset_) << where_;
	}

	void check(bool right, const char* complaint)
	{
		if (good_ && !right)
			fail(MOCPACK_CORRUPT) << complaint;
	}

  private:
	const char* where_;
	const uint8_t *at_, *end_;
	uint64_t offset_;
	mocpack_Error* error_;
	bool good_ = true;
};

} // namespace mocpack
