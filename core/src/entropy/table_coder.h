// Codes symbols with static tables: range asymmetric numeral systems (rANS), one state, byte output.
//
// A table of n symbols has n + 1 cumulative frequencies in 1/4096: symbol s has the interval starts[s] …
// starts[s + 1]. n is a multiple of TABLE_STEP; symbols without frequency fill it up. Raw bits are symbols of
// equal frequency. The state stays within 2^16 … 2^24 - 1. rANS encodes backwards, so a writer stores its
// symbols until `finish`.
#pragma once
#include <cstddef>
#include <cstdint>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mocpack
{

const int TABLE_BITS = 12;
const uint32_t TABLE_TOTAL = 1u << TABLE_BITS;
const int TABLE_STEP = 8; // symbols that a reader compares at once; with SSE2 twice as many
const uint32_t MIN_STATE = 1u << 16;
const int MAX_RAW_BITS = 12;			 // per symbol
const int MAX_TRIMMED_ZEROS = 2;		 // zero bytes that a writer drops at the end
const uint32_t START_STATE_COUNT = 1024; // candidate initial states

// A symbol to write: an interval of 2^bits.
struct SymbolInterval
{
	uint16_t start, size;
	uint8_t bits;
};

// The raw bits of a magnitude, and its sign.
struct RestAndSign
{
	uint32_t rest, sign;
};

class TableWriter
{
  public:
	static constexpr bool READS = false;

	// `room` is the maximum number of symbols and runs of raw bits.
	TableWriter(SymbolInterval* shares, size_t room) : shares_(shares), room_(room)
	{
	}

	// Codes one of `count` symbols. Writer and reader both return the symbol.
	int symbol(const uint16_t* starts, int, int value)
	{
		put({starts[value], uint16_t(starts[value + 1] - starts[value]), TABLE_BITS});
		return value;
	}

	// Codes one of two symbols; the first has frequency `zero`.
	int choice(uint32_t zero, int value)
	{
		put({uint16_t(value ? zero : 0), uint16_t(value ? TABLE_TOTAL - zero : zero), TABLE_BITS});
		return value;
	}

	uint32_t bits(int count, uint32_t value)
	{
		for (int left = count; left > 0;)
		{
			int taken = left < MAX_RAW_BITS ? left : MAX_RAW_BITS;
			left -= taken;
			put({uint16_t(value >> left & ((1u << taken) - 1)), 1, uint8_t(taken)});
		}
		return value;
	}

	// Writes all symbols to dst. Returns the size, or 0 if a symbol has frequency 0 or dst is too small.
	size_t finish(uint8_t* dst, size_t dst_size)
	{
		uint8_t* at = dst + dst_size;
		uint32_t state = good_ ? best_start() : MIN_STATE;
		for (size_t i = good_ ? count_ : 0; i-- > 0;)
		{
			const SymbolInterval& share = shares_[i];
			while (state >= uint32_t(share.size) << (24 - share.bits))
			{
				if (at == dst)
					return 0;
				*--at = uint8_t(state);
				state >>= 8;
			}
			state = after(state, share);
		}
		if (!good_ || at - dst < 3)
			return 0;
		for (int k = 0; k < 3; ++k, state >>= 8)
			*--at = uint8_t(state);
		size_t size = size_t(dst + dst_size - at);
		for (size_t i = 0; i < size; ++i)
			dst[i] = at[i];
		for (int k = 0; k < MAX_TRIMMED_ZEROS && !dst[size - 1]; ++k) // a reader reads zeros past the end
			--size;
		return size;
	}

  private:
	// A reader may end in any state, so choose an initial state for which the last byte is zero and can be
	// dropped.
	uint32_t best_start() const
	{
		for (uint32_t start = MIN_STATE; start < MIN_STATE + START_STATE_COUNT; ++start)
		{
			uint32_t state = start;
			size_t i = count_;
			for (; i > 0 && state < uint32_t(shares_[i - 1].size) << (24 - shares_[i - 1].bits); --i)
				state = after(state, shares_[i - 1]);
			if (i > 0 && !uint8_t(state))
				return start;
		}
		return MIN_STATE;
	}

	static uint32_t after(uint32_t state, const SymbolInterval& share)
	{
		return (state / share.size << share.bits) + state % share.size + share.start;
	}

	void put(SymbolInterval share)
	{
		good_ = good_ && share.size && count_ < room_;
		if (good_)
			shares_[count_++] = share;
	}

	SymbolInterval* shares_;
	size_t room_, count_ = 0;
	bool good_ = true;
};

class TableReader
{
  public:
	static constexpr bool READS = true;

	TableReader(const uint8_t* src, size_t size) : at_(src), end_(src + size)
	{
		for (int k = 0; k < 3; ++k)
			state_ = state_ << 8 | next();
	}

	int symbol(const uint16_t* starts, int count, int)
	{
		const uint32_t slot = state_ & (TABLE_TOTAL - 1);
		const int found = starts_up_to(slot, starts + 1, count);
		take(starts[found], uint32_t(starts[found + 1] - starts[found]), slot);
		return found;
	}

	int choice(uint32_t zero, int)
	{
		const uint32_t slot = state_ & (TABLE_TOTAL - 1);
		const int found = slot >= zero;
		take(found ? zero : 0, found ? TABLE_TOTAL - zero : zero, slot);
		return found;
	}

	uint32_t bits(int count, uint32_t)
	{
		uint32_t value = 0;
		for (; count > MAX_RAW_BITS; count -= MAX_RAW_BITS)
			value = value << MAX_RAW_BITS | take_bits(MAX_RAW_BITS);
		return value << count | take_bits(count); // without a branch for the usual 0 and 1
	}

	// Reads raw bits, then a sign of `sign_bits` bits, 0 or 1.
	RestAndSign rest_and_sign(int count, int sign_bits)
	{
		const uint32_t after = state_ >> count;
		if (after < MIN_STATE || end_ - at_ < 2)
		{
			const uint32_t rest = bits(count, 0);
			return {rest, take_bits(sign_bits)};
		}
		// usually no byte follows the raw bits, so that the sign need not wait for it
		const uint32_t rest = state_ & ((1u << count) - 1), sign = after & uint32_t(sign_bits);
		state_ = after >> sign_bits;
		const uint32_t bytes = uint32_t(state_ < MIN_STATE);
		state_ = state_ << 8 * bytes | (at_[0] & (0u - bytes));
		at_ += bytes;
		return {rest, sign};
	}

	// Returns whether more was read than the bytes contain.
	bool exhausted() const
	{
		return past_ > size_t(MAX_TRIMMED_ZEROS);
	}

	// Returns whether all bytes were read; false means extra bytes.
	bool all_read() const
	{
		return at_ == end_;
	}

  private:
	// Returns how many of `count` ascending starts are at most `slot`. The last one is larger.
	static int starts_up_to(uint32_t slot, const uint16_t* starts, int count)
	{
#if defined(__SSE2__)
		const __m128i *lanes = reinterpret_cast<const __m128i*>(starts),
					  slots = _mm_set1_epi16(int16_t(slot));
		for (int found = 0;; found += 2 * TABLE_STEP, lanes += 2) // most symbols are small
		{
			const __m128i low = _mm_cmpgt_epi16(_mm_loadu_si128(lanes), slots),
						  high = count % (2 * TABLE_STEP) == 0 || found + TABLE_STEP < count
									 ? _mm_cmpgt_epi16(_mm_loadu_si128(lanes + 1), slots)
									 : low;
			const int larger = _mm_movemask_epi8(_mm_packs_epi16(low, high)); // one bit each
			if (larger)
				return found + __builtin_ctz(unsigned(larger));
		}
#else
		int found = 0, end = 0;
		for (; found == end && end < count; end += TABLE_STEP)
			for (int s = end; s < end + TABLE_STEP; ++s)
				found += slot >= starts[s];
		return found;
#endif
	}

	void take(uint32_t start, uint32_t size, uint32_t slot)
	{
		state_ = size * (state_ >> TABLE_BITS) + slot - start;
		refill();
	}

	uint32_t take_bits(int count)
	{
		const uint32_t value = state_ & ((1u << count) - 1);
		state_ >>= count;
		refill();
		return value;
	}

	void refill()
	{
		if (end_ - at_ >= 2)
		{
			const uint32_t bytes = uint32_t(state_ < MIN_STATE) + uint32_t(state_ < MIN_STATE >> 8);
			const uint32_t two = uint32_t(at_[0]) << 8 | at_[1];
			state_ = state_ << 8 * bytes | two >> (16 - 8 * bytes);
			at_ += bytes;
		}
		else
			for (int k = 0; k < 2 && state_ < MIN_STATE; ++k)
				state_ = state_ << 8 | next();
	}

	uint32_t next()
	{
		if (at_ < end_)
			return *at_++;
		++past_;
		return 0;
	}

	const uint8_t *at_, *end_;
	uint32_t state_ = 0;
	size_t past_ = 0;
};

} // namespace mocpack
