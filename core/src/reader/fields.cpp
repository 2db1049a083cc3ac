// Reads fields from bytes.
#include "reader/fields.h"

#include <cstring>

#include "reader/json.h"

namespace mocpack
{

double power_of_ten(int exponent)
{
	double power = 1;
	for (; exponent > 0; --exponent)
		power *= 10;
	return power;
}

size_t count_set(const uint8_t* mask, size_t count)
{
	size_t found = 0;
	for (size_t i = 0; mask && i < count; ++i)
		found += is_set(mask, i);
	return found;
}

const uint8_t* Fields::raw(uint64_t size)
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

uint64_t Fields::integer(int bytes)
{
	const uint8_t* found = raw(uint64_t(bytes));
	uint64_t value = 0;
	for (int i = bytes; found && i-- > 0;)
		value = value << 8 | found[i];
	return value;
}

uint8_t Fields::u8()
{
	return uint8_t(integer(1));
}

uint16_t Fields::u16()
{
	return uint16_t(integer(2));
}

float Fields::f32()
{
	uint32_t bits = uint32_t(integer(4));
	float value;
	std::memcpy(&value, &bits, 4);
	return value;
}

double Fields::f64()
{
	uint64_t bits = integer(8);
	double value;
	std::memcpy(&value, &bits, 8);
	return value;
}

uint64_t Fields::varint(uint64_t most)
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
		fail(MOCPACK_CORRUPT) << ": expected a number of at most " << most << ", got " << value;
		return 0;
	}
	if (good_)
		fail(MOCPACK_CORRUPT) << ": a varint is longer than 10 bytes";
	return 0;
}

int64_t Fields::zigzag()
{
	uint64_t value = varint();
	return value & 1 ? -int64_t(value >> 1) - 1 : int64_t(value >> 1);
}

void Fields::joint_indices(size_t count, size_t joints, bool unique, int32_t* out)
{
	uint64_t at = 0;
	for (size_t i = 0; i < count && good_; ++i)
	{
		const uint64_t step = varint();
		at += step;
		check(step < joints && at < joints && (!i || step || !unique),
			  ": a joint index is out of range or repeated");
		if (out)
			out[i] = int32_t(at);
	}
}

mocpack_Text Fields::text(uint64_t longest)
{
	const size_t size = size_t(varint(longest));
	const uint8_t* bytes = raw(size);
	check(!bytes || is_utf8(bytes, size), ": a text is not UTF-8");
	if (!good_)
		return {nullptr, 0};
	return {reinterpret_cast<const char*>(bytes), size};
}

void Fields::end()
{
	if (good_ && left())
		fail(MOCPACK_CORRUPT) << " has " << uint64_t(left()) << " extra bytes";
}

Fields Fields::sized()
{
	const uint64_t size = varint();
	Fields found = part(raw(size), size_t(size));
	found.join(*this);
	return found;
}

ErrorMessage Fields::fail(mocpack_Status status)
{
	good_ = false;
	return ErrorMessage(error_, status, offset_) << where_;
}

bool Fields::no_memory()
{
	good_ = false;
	return mocpack::no_memory(error_, where_, offset_);
}

void Fields::check(bool right, const char* message)
{
	if (good_ && !right)
		fail(MOCPACK_CORRUPT) << message;
}

} // namespace mocpack
