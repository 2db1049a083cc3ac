// Unpacks keysine's trained tables at startup; pack_tables.py packs them.
#include "entropy/range_coder.h"
#include "keysine/format/grid.h"
#include "keysine/format/statistics.h"

namespace mocpack
{
namespace keysine
{

Tables TABLES;

namespace
{

// One packed array: rows of numbers or of cumulative frequencies. The row `above` rows earlier belongs to the
// previous class.
struct PackedArray
{
	uint16_t rows;
	uint8_t width, above, is_starts;
};

#include "packed_tables.inc"

const int WIDEST = 64;

// Every bit has two probabilities, of which the coder takes the mean. Each array starts with new ones.
struct Contexts
{
	AdaptiveChoice lengths[16][16][16], scaled_lengths[32][16], digits[2][6][3], moved, signs[3];
};

class Unpacker
{
  public:
	void run()
	{
		int16_t* at = reinterpret_cast<int16_t*>(&TABLES);
		for (const PackedArray& array : ARRAYS)
		{
			const int width = array.width;
			contexts_ = Contexts();
			for (int r = 0; r < array.rows; ++r)
			{
				int16_t* row = at + r * width;
				const int16_t *before = r ? row - width : zeros_,
							  *above = r >= array.above ? row - array.above * width : before;
				if (array.is_starts)
					shares(row, above, before, width);
				else
					numbers(row, above, width);
			}
			for (int r = 0; r < array.rows; ++r, at += width)
				for (int i = 1; array.is_starts && i < width; ++i)
					at[i] = int16_t(at[i] + at[i - 1]);
		}
	}

  private:
	// Frequencies follow a zero; the largest is what remains.
	void shares(int16_t* row, const int16_t* above, const int16_t* before, int width)
	{
		int largest = 1, left = TABLE_TOTAL;
		for (int i = 2; i < width; ++i)
			largest = above[i] > above[largest] ? i : largest;
		if (bit(contexts_.moved, contexts_.moved))
			largest = 1 + size(largest - 1, largest - 1, largest - 1);
		row[largest] = above[largest];
		for (int i = 1; i < width; ++i)
			if (i != largest)
				row[i] = int16_t(size(above[i], before[i], scaled(row, above, i))), left -= row[i];
		row[largest] = int16_t(left);
	}

	void numbers(int16_t* row, const int16_t* above, int width)
	{
		for (int i = 0; i < width; ++i)
		{
			int value = size(magnitude(above[i]), i ? magnitude(row[i - 1]) : 0, scaled(row, above, i));
			AdaptiveChoice& sign = contexts_.signs[(above[i] > 0) - (above[i] < 0) + 1];
			row[i] = int16_t(value && bit(sign, sign) ? -value : value);
		}
	}

	// Returns the number above, scaled as the number to the left is to the one above that.
	static int scaled(const int16_t* row, const int16_t* above, int i)
	{
		return i ? magnitude(above[i]) * (magnitude(row[i - 1]) + 1) / (magnitude(above[i - 1]) + 1)
				 : magnitude(above[i]);
	}

	// Reads a number of at most 15 bits, given three similar numbers.
	int size(int above, int beside, int scaled)
	{
		AdaptiveChoice *states = contexts_.lengths[bit_length(uint32_t(above))][bit_length(uint32_t(beside))],
					   *others = contexts_.scaled_lengths[bit_length(uint32_t(scaled))];
		int node = 1;
		while (node < 16)
			node = 2 * node + bit(states[node], others[node]);
		const int length = node - 16;
		int value = length > 0, depth = 0;
		for (int k = length - 2; k >= 0; --k, depth += depth < 5)
			value = 2 * value + bit(contexts_.digits[0][depth][similar_digit(value, beside, k)],
									contexts_.digits[1][depth][similar_digit(value, scaled, k)]);
		return value;
	}

	// Returns 1 + binary digit k of a similar number; 0 if it differs in a digit before.
	static int similar_digit(int value, int similar, int k)
	{
		return similar >> (k + 1) == value ? 1 + (similar >> k & 1) : 0;
	}

	int bit(AdaptiveChoice& a, AdaptiveChoice& b)
	{
		int found = coder_.decode((a.one() + b.one()) / 2);
		a.learn(found);
		b.learn(found);
		return found;
	}

	RangeDecoder coder_ = RangeDecoder(PACKED, sizeof PACKED);
	int16_t zeros_[WIDEST] = {};
	Contexts contexts_;
};

__attribute__((constructor)) void make_tables()
{
	Unpacker().run();
}

} // namespace

} // namespace keysine
} // namespace mocpack
