// Predicts the magnitudes of a row of coefficients from neighboring rows and the key poses at its ends. Sums
// are divided into classes, each with its own tables. Decoder and encoder search share it.
#pragma once
#include "keysine/format/statistics.h"

namespace mocpack
{
namespace keysine
{

const int32_t MAX_BLOCK_FRAMES = MOCPACK_KEYSINE_MAX_BLOCK_FRAMES;

// Returns 16 · 2^(difference / 2) for a difference of step indices.
inline int32_t step_ratio(int32_t difference)
{
	const int32_t MOST = 8;
	constexpr int16_t RATIOS[2 * MOST + 1] = {1, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256};
	return RATIOS[difference < -MOST ? 0 : lesser(difference, MOST) + MOST];
}

// Returns 8 · √length, rounded down: the scale of coefficients in longer blocks.
inline int32_t scaled_square_root(int32_t length)
{
	int32_t root = 0;
	while ((root + 1) * (root + 1) <= 64 * length)
		++root;
	return root;
}

// Converts the distance of two keys to sixteenths of a coefficient step.
inline int32_t key_distance_context(int64_t distance, int32_t step, int32_t key_step, int32_t root)
{
	const int64_t FARTHEST = 1 << 20, MOST = 1 << 14;
	distance = distance < FARTHEST ? distance : FARTHEST;
	distance = distance * step_ratio(step - key_step) * root >> 6;
	return int32_t(distance < MOST ? distance : MOST);
}

// Inputs that predict a row of coefficients: levels of neighboring rows, zeros if there are none.
struct LevelPredictor
{
	const uint8_t *before, *left, *second_left, *up, *first_up;
	int32_t before_ratio, up_ratio; // step ratios of those rows to this one, in sixteenths
	int32_t distance, bend;			// of the key poses at its ends, see `key_distance_context`
	int set;						// index of the weight set, without the band
	int32_t lifts[BAND_GROUPS];		// eighths of an octave
};

// Sets the class offsets of a row by track family, channel and step.
inline void set_lifts(LevelPredictor* row, int32_t family, int32_t c, int32_t step)
{
	step = step < FIRST_LIFTED ? 0 : lesser(step - FIRST_LIFTED, LIFTED_STEPS - 1);
	for (int group = 0; group < BAND_GROUPS; ++group)
	{
		const int16_t* lifts = MAGNITUDE_LIFTS[group * 4 + row->set];
		row->lifts[group] = lifts[family] + lifts[FAMILIES + c] + lifts[FAMILIES + 4 + step];
	}
}

// The class of a sum by its logarithm in eighths of an octave, plus FIRST_EIGHTH: two classes per octave. A
// lookup is faster than to limit the class, on which the next symbol waits.
struct ClassTable
{
	static const int FIRST_EIGHTH = 128, SIZE = 512; // offsets of rows are above -100 and below 100
	uint8_t of[SIZE];
};

constexpr ClassTable make_class_table()
{
	ClassTable table{};
	for (int i = 0; i < ClassTable::SIZE; ++i)
	{
		const int found = (i - ClassTable::FIRST_EIGHTH) / 4;
		table.of[i] = uint8_t(found < 0 ? 0 : found < MAGNITUDE_CLASSES ? found : MAGNITUDE_CLASSES - 1);
	}
	return table;
}

inline constexpr ClassTable MAGNITUDE_CLASS = make_class_table();

// Weighted sums for a row of at most MAX_BLOCK_FRAMES coefficients.
class RowSums
{
  public:
	// Finds the frequency band of each coefficient, for blocks of at most `longest` coefficients.
	void set_bands(int32_t longest, int32_t tempo)
	{
		if (longest == longest_ && tempo == tempo_)
			return;
		longest_ = longest, tempo_ = tempo;
		int32_t k = 1;
		for (int32_t band = 0; band < BANDS; ++band)
		{
			if (band % BAND_GROUP == 0)
				group_from_[band / BAND_GROUP] = k;
			const bool last = band == BANDS - 1;
			for (; k < longest + LANES && (last || normalized_frequency(k, tempo) <= BAND_ENDS[band]); ++k)
			{
				groups_[k] = uint8_t(band / BAND_GROUP);
				parts_[k] = 65536u / uint32_t(k);
				for (int set = 0; set < 4; ++set)
					constants_[set][k] = MAGNITUDE_CONSTANTS[band][set];
			}
		}
		group_from_[BAND_GROUPS] = MAX_BLOCK_FRAMES + 1;
	}

	// Computes the sums of coefficients 1 … reach from everything known before the row.
	void predict_level(const LevelPredictor& row, int32_t reach)
	{
		const uint8_t *before = row.before, *left = row.left, *second = row.second_left, *up = row.up,
					  *first = row.first_up;
		const int32_t* constants = constants_[row.set];
		for (int32_t group = 0; group < BAND_GROUPS && group_from_[group] <= reach; ++group)
		{
			const int16_t* w = MAGNITUDE_WEIGHTS[group * 4 + row.set];
			int32_t w3 = w[3] * row.before_ratio >> 4, w4 = w[4] * row.before_ratio >> 4,
					w8 = w[8] * row.up_ratio >> 4, w9 = w[9] * row.up_ratio >> 4,
					w10 = w[10] * row.up_ratio >> 4;
			uint32_t keys = uint32_t(w[11] * row.distance + w[12] * row.bend) >> 8;
			keys = keys < 65535 ? keys : 65535;
			// The last lanes are beyond the group, or in the margin of the rows. The next group overwrites
			// them.
			for (int32_t from = group_from_[group], to = group_end(group, reach); from < to; from += LANES)
				for (int32_t k = from; k < from + LANES; ++k)
					sums_[k] = w3 * before[k] + w4 * (before[k - 1] + before[k + 1]) + w[5] * left[k] +
							   w[6] * (left[k - 1] + left[k + 1]) +
							   w[7] * (2 * second[k] + second[k - 1] + second[k + 1]) + w8 * up[k] +
							   w9 * (up[k - 1] + up[k + 1]) + w10 * first[k] +
							   int32_t(keys * parts_[k] >> 12) + constants[k];
		}
	}

	// Returns the class of coefficient k if the earlier coefficients of its row are zero.
	int class_of(const LevelPredictor& row, int32_t k) const
	{
		return class_of_sum(sums_[k], row.lifts[groups_[k]]);
	}

	// Returns the class of coefficient k, given the earlier levels of its row in `own`.
	int class_of(const LevelPredictor& row, const uint8_t* own, int32_t k) const
	{
		return class_of(weights_of(row, groups_[k]), k, own[k - 1], own[k - 2], own[k - 3]);
	}

	// Weights of the levels before a coefficient in a group of bands, the nearest first, and its class
	// offset.
	struct LevelWeights
	{
		int32_t first, second, third, lift;
	};
	static LevelWeights weights_of(const LevelPredictor& row, int group)
	{
		const int16_t* w = MAGNITUDE_WEIGHTS[group * 4 + row.set];
		return {w[0], w[1], w[2], row.lifts[group]};
	}

	// Returns the class of coefficient k, given the three levels before it, the nearest first.
	int class_of(const LevelWeights& w, int32_t k, int32_t first, int32_t second, int32_t third) const
	{
		return class_of_sum(sums_[k] + w.second * second + w.third * third + w.first * first, w.lift);
	}

	// Returns the index after the coefficients of a group of bands, at most reach + 1.
	int32_t group_end(int group, int32_t reach) const
	{
		return lesser(reach + 1, group_from_[group + 1]);
	}

  private:
	static int class_of_sum(int32_t sum, int32_t lift)
	{
		sum |= 1;
		const int bits = bit_length(uint32_t(sum));
		const int32_t part = int32_t(uint64_t(uint32_t(sum)) << 4 >> bits & 7); // three bits after the first
		return MAGNITUDE_CLASS.of[8 * bits + part + lift - 24 + ClassTable::FIRST_EIGHTH];
	}

	static const int32_t LANES = 4, ROOM = MAX_BLOCK_FRAMES + LANES;
	int32_t longest_ = -1, tempo_ = -1;
	int32_t group_from_[BAND_GROUPS + 1]; // first coefficient of each group of bands
	uint8_t groups_[ROOM];
	uint32_t parts_[ROOM];		 // 65536 / k
	int32_t constants_[4][ROOM]; // by weight set
	int32_t sums_[ROOM];
};

} // namespace keysine
} // namespace mocpack
