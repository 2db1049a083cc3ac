// A binary arithmetic coder, and adaptive probabilities for it.
//
// A 16-bit probability splits the 32-bit interval [low, high]. Leading bytes that both ends share are written
// at once. There is no carry, and one multiplication per bit (docs/coding.md).
#pragma once
#include <cstddef>
#include <cstdint>

namespace mocpack
{

// Probability that a bit is 1, in 1/65536. Callers keep it within 1..65535.
using Probability = uint32_t;

class RangeEncoder
{
  public:
	RangeEncoder(uint8_t* dst, size_t dst_size) : at_(dst), start_(dst), end_(dst + dst_size)
	{
	}

	void encode(int bit, Probability one)
	{
		uint32_t middle = low_ + uint32_t((uint64_t(high_ - low_) * one) >> 16);
		if (bit)
			high_ = middle;
		else
			low_ = middle + 1;
		while (((low_ ^ high_) & 0xff000000u) == 0)
		{
			put(uint8_t(high_ >> 24));
			low_ <<= 8;
			high_ = (high_ << 8) | 255;
		}
	}

	// Writes the fewest bytes after which any continuation lies inside the interval. Returns the total size,
	// or 0 if dst was too small.
	size_t finish()
	{
		for (int bytes = 1; bytes <= 4; ++bytes)
		{
			uint32_t unit = bytes == 4 ? 1u : 1u << (32 - 8 * bytes);
			uint64_t value = (uint64_t(low_) + unit - 1) / unit * unit;
			if (value <= high_)
			{
				for (int k = 0; k < bytes; ++k)
					put(uint8_t(value >> (24 - 8 * k)));
				break;
			}
		}
		return overflow_ ? 0 : size_t(at_ - start_);
	}

  private:
	void put(uint8_t byte)
	{
		if (at_ < end_)
			*at_++ = byte;
		else
			overflow_ = true;
	}

	uint32_t low_ = 0, high_ = 0xffffffffu;
	uint8_t *at_, *start_, *end_;
	bool overflow_ = false;
};

class RangeDecoder
{
  public:
	RangeDecoder(const uint8_t* src, size_t size) : at_(src), end_(src + size)
	{
		for (int k = 0; k < 4; ++k)
			value_ = (value_ << 8) | next();
	}

	int decode(Probability one)
	{
		uint32_t middle = low_ + uint32_t((uint64_t(high_ - low_) * one) >> 16);
		int bit = value_ <= middle;
		if (bit)
			high_ = middle;
		else
			low_ = middle + 1;
		while (((low_ ^ high_) & 0xff000000u) == 0)
		{
			low_ <<= 8;
			high_ = (high_ << 8) | 255;
			value_ = (value_ << 8) | next();
		}
		return bit;
	}

	// Returns whether more was decoded than the bytes contain; a decoder reads up to four zeros past the end.
	bool exhausted() const
	{
		return past_ > 4;
	}

	// Returns whether the decoded values do not depend on bytes after the end.
	bool certain() const
	{
		return past_ == 0;
	}

	// Returns whether all bytes were read; false means extra bytes.
	bool all_read() const
	{
		return at_ == end_;
	}

  private:
	uint8_t next()
	{
		if (at_ < end_)
			return *at_++;
		++past_;
		return 0;
	}

	uint32_t low_ = 0, high_ = 0xffffffffu, value_ = 0;
	const uint8_t *at_, *end_;
	size_t past_ = 0;
};

// An adaptive probability: the mean of two estimates with different rates.
struct AdaptiveBit
{
	uint16_t fast = 32768, slow = 32768;

	Probability one() const
	{
		Probability p = (uint32_t(fast) + slow) >> 1;
		return p < 64 ? 64 : p > 65472 ? 65472 : p;
	}

	void update(int bit)
	{
		// moves to 65535 or 0; the shifts round down, so neither limit is exceeded
		fast = uint16_t(bit ? fast + ((65535 - fast) >> 4) : fast - (fast >> 4));
		slow = uint16_t(bit ? slow + ((65535 - slow) >> 7) : slow - (slow >> 7));
	}
};

inline void encode_bit(RangeEncoder& coder, AdaptiveBit& model, int bit)
{
	coder.encode(bit, model.one());
	model.update(bit);
}

inline int decode_bit(RangeDecoder& coder, AdaptiveBit& model)
{
	int bit = coder.decode(model.one());
	model.update(bit);
	return bit;
}

} // namespace mocpack
