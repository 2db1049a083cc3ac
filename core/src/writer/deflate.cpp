// Compresses with the search and the Huffman trees of zlib (Jean-loup Gailly and Mark Adler) at its highest
// level, so that the bytes are the same. Positions count from the start of the dictionary.
#include "writer/deflate.h"

namespace mocpack
{

namespace
{

const uint32_t WINDOW = 1 << 15, MIN_MATCH = 3, MAX_MATCH = 258, MIN_LOOKAHEAD = MAX_MATCH + MIN_MATCH + 1,
			   MAX_DISTANCE = WINDOW - MIN_LOOKAHEAD;
const uint32_t HASHES = 1 << 16, HASH_SHIFT = 6;
const uint32_t MAX_CHAIN = 4096, GOOD_MATCH = 32; // matches tried; fewer after a match of this length
const uint32_t MAX_FAR_MATCH = 3, FAR = 4096;	  // so short a match must not be farther
const size_t BLOCK_SYMBOLS = (1 << 15) - 1;		  // symbols of a block
const int LITERALS = 256, END = 256, LENGTHS = 286, DISTANCES = 30, BIT_LENGTHS = 19, MAX_BITS = 15;
const int FIXED_LENGTHS = 288, HEAP = 2 * LENGTHS + 1;
const int REPEAT = 16, ZEROS = 17, MANY_ZEROS = 18; // symbols of bit lengths

const uint8_t LENGTH_EXTRA[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
								  2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
const uint8_t DISTANCE_EXTRA[30] = {0, 0, 0, 0, 1, 1, 2, 2,	 3,	 3,	 4,	 4,	 5,	 5,	 6,
									6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
const uint8_t BIT_LENGTH_EXTRA[19] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 7};
const uint8_t BIT_LENGTH_ORDER[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};

// Returns the code of a number whose codes have these extra bits, and the smallest number of that code.
int code_of(uint32_t number, const uint8_t* extra, int codes, uint32_t* first)
{
	*first = 0;
	int code = 0;
	while (code + 1 < codes && number >= *first + (1u << extra[code]))
		*first += 1u << extra[code++];
	return code;
}

int length_code(uint32_t length, uint32_t* first) // length minus MIN_MATCH
{
	if (length == MAX_MATCH - MIN_MATCH)
		return *first = length, 28;
	return code_of(length, LENGTH_EXTRA, 28, first);
}

uint32_t reversed(uint32_t code, int bits)
{
	uint32_t found = 0;
	for (; bits > 0; --bits, code >>= 1)
		found = found << 1 | (code & 1);
	return found;
}

struct Symbol
{
	uint16_t distance; // 0: a literal
	uint8_t value;	   // the literal, or the length of the match minus MIN_MATCH
};

// A Huffman code of up to FIXED_LENGTHS symbols.
struct Tree
{
	uint32_t counts[HEAP], codes[FIXED_LENGTHS];
	uint16_t parents[HEAP], bits[HEAP];
	int last; // symbol with a code

	void clear()
	{
		std::memset(counts, 0, sizeof counts);
	}

	void set_codes(int count)
	{
		uint32_t per_length[MAX_BITS + 1] = {}, next[MAX_BITS + 1] = {};
		for (int i = 0; i < count; ++i)
			per_length[bits[i]] += bits[i] > 0;
		for (int length = 1; length <= MAX_BITS; ++length)
			next[length] = (next[length - 1] + per_length[length - 1]) << 1;
		for (int i = 0; i < count; ++i)
			codes[i] = bits[i] ? reversed(next[bits[i]]++, bits[i]) : 0;
	}
};

// Builds a tree as zlib does: by a heap in which equal counts go by depth.
class TreeBuilder
{
  public:
	// extra: extra bits of symbols from `base` on. fixed: the code of a fixed block, or null. Adds to the
	// bits of the block with either code.
	TreeBuilder(Tree* tree, int symbols, const uint8_t* extra, int base, int max_bits, const Tree* fixed,
				uint64_t* block_bits, uint64_t* fixed_bits)
		: t_(*tree), symbols_(symbols), extra_(extra), base_(base), max_bits_(max_bits), fixed_(fixed),
		  block_bits_(*block_bits), fixed_bits_(*fixed_bits)
	{
		size_ = 0, sorted_ = HEAP, t_.last = -1;
		for (int i = 0; i < symbols_; ++i)
		{
			t_.bits[i] = 0;
			if (t_.counts[i])
				t_.last = i, heap_[++size_] = uint16_t(i), depths_[i] = 0;
		}
		while (size_ < 2) // a code needs two symbols
		{
			const int added = t_.last < 2 ? ++t_.last : 0;
			heap_[++size_] = uint16_t(added);
			t_.counts[added] = 1, depths_[added] = 0;
			--block_bits_;
			fixed_bits_ -= fixed_ ? fixed_->bits[added] : 0;
		}
		for (int n = size_ / 2; n >= 1; --n)
			sift(n);
		merge();
		measure();
		t_.set_codes(t_.last + 1);
	}

  private:
	bool is_smaller(int a, int b) const
	{
		return t_.counts[a] < t_.counts[b] || (t_.counts[a] == t_.counts[b] && depths_[a] <= depths_[b]);
	}

	void sift(int at)
	{
		const uint16_t moved = heap_[at];
		for (int child = 2 * at; child <= size_; child *= 2)
		{
			if (child < size_ && is_smaller(heap_[child + 1], heap_[child]))
				++child;
			if (is_smaller(moved, heap_[child]))
				break;
			heap_[at] = heap_[child], at = child;
		}
		heap_[at] = moved;
	}

	void merge()
	{
		int node = symbols_;
		do
		{
			const uint16_t least = heap_[1];
			heap_[1] = heap_[size_--];
			sift(1);
			const uint16_t second = heap_[1];
			heap_[--sorted_] = least, heap_[--sorted_] = second;
			t_.counts[node] = t_.counts[least] + t_.counts[second];
			depths_[node] = (depths_[least] >= depths_[second] ? depths_[least] : depths_[second]) + 1;
			t_.parents[least] = t_.parents[second] = uint16_t(node);
			heap_[1] = uint16_t(node++);
			sift(1);
		} while (size_ >= 2);
		heap_[--sorted_] = heap_[1];
	}

	// Sets the lengths of codes, at most max_bits_.
	void measure()
	{
		int per_length[MAX_BITS + 1] = {}, excess = 0, at;
		t_.bits[heap_[sorted_]] = 0;
		for (at = sorted_ + 1; at < HEAP; ++at)
		{
			const int n = heap_[at];
			int bits = t_.bits[t_.parents[n]] + 1;
			if (bits > max_bits_)
				bits = max_bits_, ++excess;
			t_.bits[n] = uint16_t(bits);
			if (n > t_.last)
				continue; // not a symbol
			++per_length[bits];
			const int more = n >= base_ ? extra_[n - base_] : 0;
			block_bits_ += uint64_t(t_.counts[n]) * uint64_t(bits + more);
			if (fixed_)
				fixed_bits_ += uint64_t(t_.counts[n]) * uint64_t(fixed_->bits[n] + more);
		}
		if (!excess)
			return;
		for (; excess > 0; excess -= 2)
		{
			int bits = max_bits_ - 1;
			while (!per_length[bits])
				--bits;
			--per_length[bits];
			per_length[bits + 1] += 2;
			--per_length[max_bits_];
		}
		for (int bits = max_bits_; bits; --bits)
			for (int n = per_length[bits]; n;)
			{
				const int symbol = heap_[--at];
				if (symbol > t_.last)
					continue;
				if (t_.bits[symbol] != bits)
				{
					block_bits_ += (uint64_t(bits) - t_.bits[symbol]) * t_.counts[symbol];
					t_.bits[symbol] = uint16_t(bits);
				}
				--n;
			}
	}

	Tree& t_;
	int symbols_;
	const uint8_t* extra_;
	int base_, max_bits_;
	const Tree* fixed_;
	uint64_t &block_bits_, &fixed_bits_;
	uint16_t heap_[HEAP];
	int depths_[HEAP], size_, sorted_;
};

// Calls put(symbol, extra, bits) for each symbol of the bit lengths of a code.
template <typename Put> void list_bit_lengths(const Tree& tree, int last, Put put)
{
	int before = -1, next = tree.bits[0], count = 0, most = next ? 7 : 138, least = next ? 4 : 3;
	for (int n = 0; n <= last; ++n)
	{
		const int now = next;
		next = n < last ? tree.bits[n + 1] : 0xffff;
		if (++count < most && now == next)
			continue;
		if (count < least)
			for (; count; --count)
				put(now, 0, 0);
		else if (now)
		{
			if (now != before)
				put(now, 0, 0), --count;
			put(REPEAT, count - 3, 2);
		}
		else if (count <= 10)
			put(ZEROS, count - 3, 3);
		else
			put(MANY_ZEROS, count - 11, 7);
		count = 0, before = now;
		most = !next ? 138 : now == next ? 6 : 7;
		least = !next || now == next ? 3 : 4;
	}
}

class Deflate
{
  public:
	Deflate(const uint8_t* text, uint32_t start, uint64_t size, FieldWriter* out)
		: text_(text), size_(size), at_(start), block_start_(start), out_(*out)
	{
		const mocpack_Allocator& memory = out->allocator();
		if (!heads_.take(memory, HASHES) || !before_.take(memory, WINDOW) ||
			!symbols_.take_room(memory, BLOCK_SYMBOLS) || !trees_.take(memory, 5))
		{
			out->fail();
			return;
		}
		for (int i = 0; i < FIXED_LENGTHS; ++i)
			fixed_lengths().bits[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
		for (int i = 0; i < DISTANCES; ++i)
			fixed_distances().bits[i] = 5;
		fixed_lengths().set_codes(FIXED_LENGTHS), fixed_distances().set_codes(DISTANCES);
		for (uint64_t p = 0; p < start && p + MIN_MATCH <= size; ++p)
			insert(p);
		begin_block();
		filled_ = start;
		run();
	}

  private:
	Tree& lengths()
	{
		return trees_[0];
	}
	Tree& distances()
	{
		return trees_[1];
	}
	Tree& bit_lengths()
	{
		return trees_[2];
	}
	Tree& fixed_lengths()
	{
		return trees_[3];
	}
	Tree& fixed_distances()
	{
		return trees_[4];
	}

	// zlib keeps two windows of text. When the second is nearly used up, it drops the first. The string at
	// the start of what it keeps cannot be found.
	void fill()
	{
		if (filled_ - at_ >= MIN_LOOKAHEAD)
			return;
		do
		{
			if (at_ - kept_ >= WINDOW + MAX_DISTANCE)
				kept_ += WINDOW;
			if (filled_ == size_)
				return;
			const uint64_t end = kept_ + 2 * WINDOW;
			filled_ = end < size_ ? end : size_;
		} while (filled_ - at_ < MIN_LOOKAHEAD && filled_ < size_);
	}

	// Adds the string at a position and returns the one before with the same hash.
	uint64_t insert(uint64_t p)
	{
		const uint32_t hash =
			(uint32_t(text_[p]) << 2 * HASH_SHIFT ^ uint32_t(text_[p + 1]) << HASH_SHIFT ^ text_[p + 2]) &
			(HASHES - 1);
		const uint32_t found = heads_[hash];
		before_[p % WINDOW] = found;
		heads_[hash] = uint32_t(p);
		return found;
	}

	// Returns the length of the longest match, at least `longest`; sets match_.
	uint32_t find_match(uint64_t candidate, uint32_t longest)
	{
		const uint64_t limit = at_ - kept_ > MAX_DISTANCE ? at_ - MAX_DISTANCE : kept_;
		const uint32_t ahead = uint32_t(filled_ - at_ < MAX_MATCH ? filled_ - at_ : MAX_MATCH);
		uint32_t chain = longest >= GOOD_MATCH ? MAX_CHAIN / 4 : MAX_CHAIN;
		if (longest >= ahead)
			return ahead;
		const uint8_t* now = text_ + at_;
		do
		{
			const uint8_t* then = text_ + candidate;
			if (then[longest] != now[longest] || then[longest - 1] != now[longest - 1] || *then != *now ||
				then[1] != now[1])
				continue;
			uint32_t length = 2;
			while (length < ahead && then[length] == now[length])
				++length;
			if (length > longest)
			{
				match_ = candidate, longest = length;
				if (length >= ahead)
					break;
			}
		} while ((candidate = before_[candidate % WINDOW]) > limit && --chain);
		return longest;
	}

	// Finds matches lazily: a match is used if the next position has no longer one.
	void run()
	{
		uint32_t length = MIN_MATCH - 1;
		bool has_literal = false;
		for (;;)
		{
			fill();
			const uint64_t left = filled_ - at_;
			if (!left)
				break;
			uint64_t candidate = 0;
			if (left >= MIN_MATCH)
				candidate = insert(at_);
			const uint32_t previous = length;
			const uint64_t previous_match = match_;
			length = MIN_MATCH - 1;
			if (candidate > kept_ && previous < MAX_MATCH && at_ - candidate <= MAX_DISTANCE)
			{
				length = find_match(candidate, previous);
				if (length == MAX_FAR_MATCH && at_ - match_ > FAR)
					length = MIN_MATCH - 1;
			}
			if (previous >= MIN_MATCH && length <= previous)
			{
				const uint64_t last = at_ + left - MIN_MATCH;
				const bool is_full = add(uint32_t(at_ - 1 - previous_match), uint8_t(previous - MIN_MATCH));
				for (uint32_t n = previous - 2; n; --n)
					if (++at_ <= last)
						insert(at_);
				has_literal = false, length = MIN_MATCH - 1;
				++at_;
				if (is_full)
					end_block(false);
			}
			else if (has_literal)
			{
				if (add(0, text_[at_ - 1]))
					end_block(false);
				++at_;
			}
			else
				has_literal = true, ++at_;
		}
		if (has_literal)
			add(0, text_[at_ - 1]);
		end_block(true);
	}

	// Adds a symbol. Returns whether the block is full.
	bool add(uint32_t distance, uint8_t value)
	{
		symbols_[count_++] = {uint16_t(distance), value};
		uint32_t first;
		if (distance)
		{
			++lengths().counts[LITERALS + 1 + length_code(value, &first)];
			++distances().counts[code_of(distance - 1, DISTANCE_EXTRA, DISTANCES, &first)];
		}
		else
			++lengths().counts[value];
		return count_ == BLOCK_SYMBOLS;
	}

	void begin_block()
	{
		lengths().clear(), distances().clear(), bit_lengths().clear();
		lengths().counts[END] = 1;
		count_ = 0;
	}

	// Writes the block: stored, with the fixed codes, or with its own, whichever is smallest.
	void end_block(bool is_last)
	{
		const uint64_t stored = at_ - block_start_;
		uint64_t own_bits = 0, fixed_bits = 0, unused = 0;
		TreeBuilder(&lengths(), LENGTHS, LENGTH_EXTRA, LITERALS + 1, MAX_BITS, &fixed_lengths(), &own_bits,
					&fixed_bits);
		TreeBuilder(&distances(), DISTANCES, DISTANCE_EXTRA, 0, MAX_BITS, &fixed_distances(), &own_bits,
					&fixed_bits);
		auto count = [this](int symbol, int, int) { ++bit_lengths().counts[symbol]; };
		list_bit_lengths(lengths(), lengths().last, count);
		list_bit_lengths(distances(), distances().last, count);
		TreeBuilder(&bit_lengths(), BIT_LENGTHS, BIT_LENGTH_EXTRA, 0, 7, nullptr, &own_bits, &unused);
		int order = BIT_LENGTHS - 1;
		while (order >= 3 && !bit_lengths().bits[BIT_LENGTH_ORDER[order]])
			--order;
		own_bits += 3 * (uint64_t(order) + 1) + 5 + 5 + 4;
		const uint64_t fixed = (fixed_bits + 3 + 7) >> 3, own = (own_bits + 3 + 7) >> 3;
		if (stored + 4 <= (fixed <= own ? fixed : own) && block_start_ >= kept_)
			store(stored, is_last);
		else if (fixed <= own)
		{
			put(2 + unsigned(is_last), 3);
			put_symbols(fixed_lengths(), fixed_distances());
		}
		else
		{
			put(4 + unsigned(is_last), 3);
			put(uint32_t(lengths().last - 256), 5);
			put(uint32_t(distances().last), 5);
			put(uint32_t(order - 3), 4);
			for (int i = 0; i <= order; ++i)
				put(bit_lengths().bits[BIT_LENGTH_ORDER[i]], 3);
			auto write = [this](int symbol, int extra, int bits)
			{
				put(bit_lengths().codes[symbol], bit_lengths().bits[symbol]);
				put(uint32_t(extra), bits);
			};
			list_bit_lengths(lengths(), lengths().last, write);
			list_bit_lengths(distances(), distances().last, write);
			put_symbols(lengths(), distances());
		}
		if (is_last)
			align();
		block_start_ = at_;
		begin_block();
	}

	void store(uint64_t size, bool is_last)
	{
		put(unsigned(is_last), 3);
		align();
		out_.u16(unsigned(size & 0xffff)), out_.u16(unsigned(~size & 0xffff));
		out_.raw(text_ + block_start_, size_t(size));
	}

	void put_symbols(const Tree& lengths, const Tree& distances)
	{
		for (size_t i = 0; i < count_; ++i)
		{
			const Symbol& symbol = symbols_[i];
			if (!symbol.distance)
			{
				put(lengths.codes[symbol.value], lengths.bits[symbol.value]);
				continue;
			}
			uint32_t first;
			int code = length_code(symbol.value, &first);
			put(lengths.codes[LITERALS + 1 + code], lengths.bits[LITERALS + 1 + code]);
			put(symbol.value - first, LENGTH_EXTRA[code]);
			code = code_of(symbol.distance - 1u, DISTANCE_EXTRA, DISTANCES, &first);
			put(distances.codes[code], distances.bits[code]);
			put(symbol.distance - 1u - first, DISTANCE_EXTRA[code]);
		}
		put(lengths.codes[END], lengths.bits[END]);
	}

	void put(uint32_t value, int bits)
	{
		waiting_ |= uint64_t(value) << waiting_bits_;
		for (waiting_bits_ += bits; waiting_bits_ >= 8; waiting_bits_ -= 8, waiting_ >>= 8)
			out_.u8(unsigned(waiting_ & 255));
	}

	void align()
	{
		if (waiting_bits_)
			put(0, 8 - waiting_bits_);
	}

	const uint8_t* text_;
	uint64_t size_, at_, block_start_;
	uint64_t kept_ = 0, filled_ = 0, match_ = 0; // ends of what zlib holds; the last match
	FieldWriter& out_;
	Buffer<uint32_t> heads_, before_; // latest position of a hash; the one before a position, 0 for none
	Buffer<Symbol> symbols_;
	Buffer<Tree> trees_;
	size_t count_ = 0;
	uint64_t waiting_ = 0;
	int waiting_bits_ = 0;
};

} // namespace

void deflate(const uint8_t* data, size_t size, FieldWriter* out, const void* dictionary,
			 size_t dictionary_size)
{
	if (!dictionary_size && size <= UINT32_MAX)
	{
		Deflate(data, 0, size, out);
		return;
	}
	const size_t used = dictionary_size < WINDOW ? dictionary_size : WINDOW;
	FieldWriter text(out->allocator());
	text.raw(static_cast<const uint8_t*>(dictionary) + dictionary_size - used, used);
	text.raw(data, size);
	if (text.good() && text.size() <= UINT32_MAX)
		Deflate(text.data(), uint32_t(used), text.size(), out);
	else
		out->fail();
}

} // namespace mocpack
