// Unpacks keysine's trained tables at startup; pack_tables.py packs them.
#include "coding/range_coder.h"
#include "keysine/decode/grid.h"
#include "keysine/decode/statistics.h"

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

class Unpacker
{
  public:
	void run()
	{
		int16_t* at = reinterpret_cast<int16_t*>(&TABLES);
		for (const PackedArray& array : ARRAYS)
		{
			const int width = array.width;
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
		if (bit(moved_))
			largest = 1 + size(largest - 1, largest - 1);
		for (int i = 1; i < width; ++i)
			if (i != largest)
				row[i] = int16_t(size(above[i], before[i])), left -= row[i];
		row[largest] = int16_t(left);
	}

	void numbers(int16_t* row, const int16_t* above, int width)
	{
		for (int i = 0; i < width; ++i)
		{
			int value = size(magnitude(above[i]), i ? magnitude(row[i - 1]) : 0);
			row[i] = int16_t(value && bit(signs_[(above[i] > 0) - (above[i] < 0) + 1]) ? -value : value);
		}
	}

	// Reads a number of at most 15 bits, given two similar numbers.
	int size(int above, int beside)
	{
		const int first = bit_length(uint32_t(above)), farther = bit_length(uint32_t(beside)) - first;
		AdaptiveChoice* states = lengths_[first][farther < -2 ? 0 : farther > 2 ? 4 : farther + 2];
		int node = 1;
		while (node < 16)
			node = 2 * node + bit(states[node]);
		const int length = node - 16;
		int value = length > 0, depth = 0;
		for (int k = length - 2; k >= 0; --k, depth += depth < 5)
			value = 2 * value + bit(digits_[depth][above >> (k + 1) == value ? 1 + (above >> k & 1) : 0]);
		return value;
	}

	int bit(AdaptiveChoice& state)
	{
		int found = coder_.decode(state.one());
		state.learn(found);
		return found;
	}

	RangeDecoder coder_ = RangeDecoder(PACKED, sizeof PACKED);
	int16_t zeros_[WIDEST] = {};
	AdaptiveChoice lengths_[16][5][16], digits_[6][3], moved_, signs_[3];
};

__attribute__((constructor)) void make_tables()
{
	Unpacker().run();
}

} // namespace

} // namespace keysine
} // namespace mocpack
