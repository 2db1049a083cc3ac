// Reads fields from bytes. It never reads past the end; after an error, all fields read as zero.
#pragma once
#include "common/small_build.h"
#include "reader/error_message.h"

namespace mocpack
{

// Returns bit i of a mask, lowest bit first.
inline bool is_set(const uint8_t* mask, size_t i)
{
	return mask[i / 8] >> i % 8 & 1;
}

double power_of_ten(int exponent);

// Counts the set bits among the first `count`; 0 if `mask` is null.
size_t count_set(const uint8_t* mask, size_t count);

class Fields
{
  public:
	// `where` names the part in error messages; `offset` is its position in the file. `error` is written only
	// on failure. If bytes could not be loaded and are null, the error is set already.
	Fields(const char* where, const uint8_t* bytes, size_t size, uint64_t offset, mocpack_Error* error)
		: where_(where), at_(bytes), end_(bytes ? bytes + size : bytes), offset_(offset), error_(error),
		  good_(bytes || !size)
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

	// Returns the next `size` bytes, or null if there are fewer.
	const uint8_t* raw(uint64_t size);
	// A little-endian integer of at most 8 bytes.
	uint64_t integer(int bytes);
	uint8_t u8();
	uint16_t u16();
	float f32();
	double f64();
	uint64_t varint(uint64_t most = uint64_t(1) << 63);
	// A signed varint: 0, 1, 2, 3, 4 … stand for 0, -1, 1, -2, 2 …
	int64_t zigzag();
	// Ascending joint indices below `joints`, as differences, into `out` unless it is null.
	void joint_indices(size_t count, size_t joints, bool unique, int32_t* out);
	// A text in UTF-8 after its size, at most `longest` bytes. It points into the bytes and is not
	// zero-terminated.
	mocpack_Text text(uint64_t longest);

	// A compact number: n / 10^d, its reciprocal, 1/1 to 1/223 in one byte, or a double.
	MOCPACK_NOINLINE double short_number()
	{
		uint8_t form = u8();
		if (form == 255)
			return f64();
		if (form > 31)
			return 1.0 / (form - 31);
		int64_t whole = zigzag();
		check(whole != 0, ": a compact number must not be 0");
		if (!good_)
			return 0;
		const double scale = power_of_ten(form & 15);
		return form < 16 ? double(whole) / scale : scale / double(whole);
	}

	// Reads other bytes, such as inflated ones, of the same part.
	MOCPACK_NOINLINE Fields part(const uint8_t* bytes, size_t size) const
	{
		return Fields(where_, bytes, size, offset_, error_);
	}

	// Reads bytes of the same part that follow their size.
	Fields sized();

	// Continues after another part of the same bytes, and fails if that has failed.
	void join(const Fields& part)
	{
		good_ = good_ && part.good_;
	}

	// Fails if bytes are left.
	void end();

	// Sets the error and returns its message, to be continued.
	ErrorMessage fail(mocpack_Status status);
	// Sets the error of a failed allocation. Returns false, for callers to return.
	bool no_memory();
	void check(bool right, const char* message);

  private:
	const char* where_;
	const uint8_t *at_, *end_;
	uint64_t offset_;
	mocpack_Error* error_;
	bool good_;
};

} // namespace mocpack
