// The binary arithmetic coder of every codec here, and the adaptive probability it is fed with.
//
// The interval [low, high] of 32 bits is cut in proportion to a 16-bit probability; leading bytes on
// which both ends agree are written at once. No carry, no multiplication but one: docs/coding.md.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mocpack
{

// Probability that a bit is 1, in 1/65536, kept inside 1..65535 by the callers.
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

	// The fewest bytes after which any continuation, zeros included, lies inside the interval.
	// Returns the size written, or 0 if dst was too small.
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

	// Whether more was decoded than the bytes can have held: four zeros stand past every end.
	bool exhausted() const
	{
		return past_ > 4;
	}

	// Whether what was decoded so far holds whatever bytes follow the ones at hand.
	bool certain() const
	{
		return past_ == 0;
	}

	// Whether every byte was needed; false means that bytes follow the coded ones.
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

// A probability that follows the bits it sees, at two speeds; their mean is used.
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
		// towards 65535 or 0; the shifts round towards the present value, so neither end is passed
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
