// Inflates deflate streams (RFC 1951).
//
// Optimized for size, since deflated chunks have only a few kilobytes.
#include "reader/inflate.h"

namespace mocpack
{

namespace
{

const int MAX_CODE_BITS = 15, LITERALS = 288, DISTANCES = 30, LENGTH_CODES = 19;
const size_t MAX_DISTANCE = 32768;

// A canonical Huffman code: the number of codes of each length, and the symbols sorted by length.
struct Huffman
{
	uint16_t counts[MAX_CODE_BITS + 1], symbols[LITERALS];
	int longest; // bits of the longest code, at least 1

	// Returns false if the code is oversubscribed.
	bool build(const uint8_t* lengths, int count)
	{
		for (uint16_t& n : counts)
			n = 0;
		for (int i = 0; i < count; ++i)
			++counts[lengths[i]];
		counts[0] = 0;
		uint16_t next[MAX_CODE_BITS + 1];
		next[1] = 0;
		left = longest = 1;
		for (int l = 1; l <= MAX_CODE_BITS; ++l)
		{
			left = 2 * left - counts[l];
			longest = counts[l] ? l : longest;
			if (left < 0)
				return false;
			if (l < MAX_CODE_BITS)
				next[l + 1] = uint16_t(next[l] + counts[l]);
		}
		for (int i = 0; i < count; ++i)
			if (lengths[i])
				symbols[next[lengths[i]]++] = uint16_t(i);
		return true;
	}

	// Returns the number of unused codes. Only a code with at most one symbol may have some.
	int left;

	bool empty() const
	{
		return left == 1 << MAX_CODE_BITS;
	}

	bool whole() const
	{
		int used = 0;
		for (int l = 1; l <= MAX_CODE_BITS; ++l)
			used += counts[l];
		return !left || (used == 1 && counts[1] == 1) || !used;
	}
};

class Inflater
{
  public:
	Inflater(const uint8_t* src, size_t size, const uint8_t* dictionary, size_t dictionary_size, uint8_t* dst,
			 size_t most)
		: at_(src), end_(src + size), dictionary_(dictionary), known_(dictionary_size), dst_(dst), most_(most)
	{
	}

	Inflated run()
	{
		bool last = false;
		while (!last && !message_ && !ended_)
		{
			last = bits(1) != 0;
			uint32_t kind = bits(2);
			if (ended_)
				break;
			if (kind == 0)
				read_stored_block();
			else if (kind == 1)
				read_fixed_block();
			else if (kind == 2)
				read_dynamic_block();
			else
				message_ = "invalid block type";
		}
		if (message_)
			return {MOCPACK_CORRUPT, size_, message_};
		if (ended_)
			return {MOCPACK_TRUNCATED, size_, "deflate stream is truncated"};
		if (at_ < end_)
			return {MOCPACK_CORRUPT, size_, "bytes after the deflate stream"};
		return {MOCPACK_OK, size_, nullptr};
	}

  private:
	const uint8_t *at_, *end_, *dictionary_;
	size_t known_;
	uint8_t* dst_;
	size_t most_, size_ = 0;
	uint32_t held_ = 0;
	int held_bits_ = 0;
	bool ended_ = false;
	const char* message_ = nullptr;

	uint32_t bits(int count)
	{
		while (held_bits_ < count)
		{
			if (at_ == end_)
			{
				ended_ = true;
				return 0;
			}
			held_ |= uint32_t(*at_++) << held_bits_;
			held_bits_ += 8;
		}
		uint32_t found = held_ & ((1u << count) - 1);
		held_ >>= count;
		held_bits_ -= count;
		return found;
	}

	// Returns -1 for an unused code.
	int symbol(const Huffman& codes)
	{
		int code = 0, first = 0, index = 0;
		for (int l = 1; l <= codes.longest; ++l)
		{
			code |= int(bits(1));
			if (ended_)
				return -1;
			int count = codes.counts[l];
			if (code - count < first)
				return codes.symbols[index + code - first];
			index += count;
			first = (first + count) << 1;
			code <<= 1;
		}
		return -1;
	}

	bool put(uint8_t byte)
	{
		if (size_ == most_)
		{
			message_ = "inflated size exceeds its limit";
			return false;
		}
		if (dst_)
			dst_[size_] = byte;
		++size_;
		return true;
	}

	void read_stored_block()
	{
		held_ = 0, held_bits_ = 0;
		uint32_t size = bits(16), other = bits(16);
		if (ended_)
			return;
		if (size != (~other & 0xffff))
			message_ = "invalid stored block length";
		for (; size && !message_; --size)
		{
			if (at_ == end_)
			{
				ended_ = true;
				return;
			}
			put(*at_++);
		}
	}

	void read_fixed_block()
	{
		uint8_t lengths[LITERALS + DISTANCES];
		for (int i = 0; i < LITERALS; ++i)
			lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
		for (int i = 0; i < DISTANCES; ++i)
			lengths[LITERALS + i] = 5;
		Huffman literals, distances;
		literals.build(lengths, LITERALS);
		distances.build(lengths + LITERALS, DISTANCES);
		codes(literals, distances);
	}

	void read_dynamic_block()
	{
		static const uint8_t ORDER[LENGTH_CODES] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
													11, 4,	12, 3, 13, 2, 14, 1, 15};
		int literal_count = int(bits(5)) + 257, distance_count = int(bits(5)) + 1;
		int length_count = int(bits(4)) + 4;
		uint8_t lengths[LITERALS + DISTANCES + 2] = {};
		if (!ended_ && (literal_count > 286 || distance_count > DISTANCES))
			message_ = "too many code lengths";
		if (ended_ || message_)
			return;
		for (int i = 0; i < length_count; ++i)
			lengths[ORDER[i]] = uint8_t(bits(3));
		Huffman literals, distances;
		if (ended_)
			return;
		if (!literals.build(lengths, LENGTH_CODES) || (literals.left && !literals.empty()))
		{
			message_ = "invalid code length set";
			return;
		}
		if (!read_lengths(literals, lengths, literal_count + distance_count))
			return;
		if (!lengths[256])
			message_ = "missing end-of-block code";
		else if (!literals.build(lengths, literal_count) || !literals.whole() ||
				 !distances.build(lengths + literal_count, distance_count) || !distances.whole())
			message_ = "incomplete code";
		else
			codes(literals, distances);
	}

	bool read_lengths(const Huffman& of_lengths, uint8_t* lengths, int count)
	{
		uint8_t found[LITERALS + DISTANCES + 2] = {};
		for (int i = 0; i < count;)
		{
			// as in zlib, an empty code reads length 0 for each bit
			int s = of_lengths.empty() ? int(bits(1) & 0) : symbol(of_lengths);
			if (s < 0 || ended_)
				return reject();
			if (s < 16)
			{
				found[i++] = uint8_t(s);
				continue;
			}
			if (s == 16 && !i)
			{
				message_ = "invalid code length repeat";
				return false;
			}
			uint8_t value = s == 16 ? found[i - 1] : 0;
			int repeats = s == 16 ? 3 + int(bits(2)) : s == 17 ? 3 + int(bits(3)) : 11 + int(bits(7));
			if (ended_)
				return false;
			if (i + repeats > count)
			{
				message_ = "too many code length repeats";
				return false;
			}
			while (repeats--)
				found[i++] = value;
		}
		for (int i = 0; i < count; ++i)
			lengths[i] = found[i];
		return true;
	}

	bool reject()
	{
		if (!ended_)
			message_ = "invalid code";
		return false;
	}

	void codes(const Huffman& literals, const Huffman& distances)
	{
		static const uint16_t LENGTH_BASES[29] = {3,  4,  5,  6,   7,	8,	 9,	  10,  11, 13,
												  15, 17, 19, 23,  27,	31,	 35,  43,  51, 59,
												  67, 83, 99, 115, 131, 163, 195, 227, 258};
		static const uint16_t DISTANCE_BASES[DISTANCES] = {
			1,	 2,	  3,   4,	5,	 7,	   9,	 13,   17,	 25,   33,	 49,   65,	  97,	 129,
			193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
		while (!message_)
		{
			int s = symbol(literals);
			if (s < 0)
			{
				reject();
				return;
			}
			if (s == 256)
				return;
			if (s < 256)
			{
				put(uint8_t(s));
				continue;
			}
			s -= 257;
			if (s >= 29)
			{
				message_ = "invalid length code";
				return;
			}
			size_t length = LENGTH_BASES[s] + bits(s < 8 || s == 28 ? 0 : (s - 4) / 4);
			int d = symbol(distances);
			if (d < 0 || ended_)
			{
				reject();
				return;
			}
			size_t way = DISTANCE_BASES[d] + bits(d < 4 ? 0 : (d - 2) / 2);
			if (ended_)
				return;
			copy(way, length);
		}
	}

	void copy(size_t way, size_t length)
	{
		// as in zlib, distances are limited to the window, which includes the end of the dictionary
		if (way > size_ + known_ || way > MAX_DISTANCE)
		{
			message_ = "invalid distance";
			return;
		}
		for (; length && !message_; --length)
			put(!dst_ ? 0 : way <= size_ ? dst_[size_ - way] : dictionary_[known_ + size_ - way]);
	}
};

} // namespace

Inflated inflate(const uint8_t* src, size_t src_size, const uint8_t* dictionary, size_t dictionary_size,
				 uint8_t* dst, size_t most)
{
	return Inflater(src, src_size, dictionary, dictionary_size, dst, most).run();
}

} // namespace mocpack
