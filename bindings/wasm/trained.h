// The trained start of keysine's models, coded: as it stands in the source, it would be most of a wasm file.
//
// Set by set, state by state: whether training came by at all, how much it saw (the lower four bits), what it
// found (the upper twelve). Every decision is mixed, as keysine's own are, from what neighbours say: the
// state before, the one a row of levels before, and the same state of other sets. Written and read by one and
// the same text, as keysine/decode/symbols.h is.
#pragma once
#include "keysine/decode/symbols.h"

namespace mocpack
{
namespace keysine
{

const int TRAINED_SETS = 3;
const int TRAINED_COUNT = STATE_COUNT + SINGLE_STATES; // of a set: those that are mixed, then the single ones
const uint32_t UNSEEN = 2048 << 4;
const uint32_t FULL = 15;	// seen so often that the count stopped
const int MIXED_BITS = 6;	// of what much evidence found; the others follow by themselves
const int FEW_BITS = 12;	// little evidence finds one of a handful of values
const int WEIGHT_BITS = 12; // of trained weights, in 1/256
const int BAND_COUNT = 18;	// of the logarithmic odds that a neighbour has

struct TrainedModels
{
	uint32_t seen[INPUTS][BAND_COUNT * BAND_COUNT];
	uint32_t full[INPUTS][BAND_COUNT * BAND_COUNT];
	uint32_t found[INPUTS][BAND_COUNT * BAND_COUNT][1 << MIXED_BITS];
	uint32_t count[17][16];
	uint32_t rest[1 << 12]; // which of the lower bits follow the upper ones
	uint32_t few[16][1 << FEW_BITS];
	uint32_t weight[INPUTS][1 << WEIGHT_BITS];
	int32_t weights[2 + (1 << MIXED_BITS)][INPUTS];
	int32_t own_weights[BAND_COUNT][INPUTS]; // by what the same state of the set before says
};

template <typename Coder> class Trained
{
  public:
	Trained(Coder& coder, TrainedModels& models) : coder_(coder), m_(models)
	{
		uint32_t* state = m_.seen[0];
		for (size_t i = 0; i < sizeof(m_) / sizeof(uint32_t); ++i)
			state[i] = HALF_STATE;
		for (auto& set : m_.weights)
			for (int32_t& weight : set)
				weight = 65536 * 3 / 10;
		for (auto& set : m_.own_weights)
			for (int32_t& weight : set)
				weight = 0;
	}

	// All sets (TRAINED_SETS, TRAINED_COUNT); reading fills them.
	void sets(uint16_t* states)
	{
		const int count = TRAINED_COUNT;
		for (int set = 0; set < TRAINED_SETS; ++set)
			for (int i = 0; i < count; ++i)
			{
				uint16_t* at = states + set * count + i;
				int row = i < ROW_ENDS[0] ? LEVELS : i < ROW_ENDS[1] ? REACHES : EXPONENTS;
				int left = i ? band(at[-1]) : 0, up = i >= row ? band(at[-row]) : 0;
				int before = set ? band(at[-count]) : 0, first = set > 1 ? band(at[-2 * count]) : set;
				const int contexts[INPUTS] = {before * BAND_COUNT + left, up * BAND_COUNT + left,
											  before * BAND_COUNT + first, before * BAND_COUNT + up, left};
				*at = uint16_t(state(*at, contexts, i && at[-1] != UNSEEN ? 1 + (at[-1] & 15) : 0));
			}
	}

	// Weights of all sets (TRAINED_SETS, WEIGHT_COUNT).
	void weights(int16_t* weights)
	{
		const int half = 1 << (WEIGHT_BITS - 1);
		for (int i = 0; i < TRAINED_SETS * WEIGHT_COUNT; ++i)
			weights[i] =
				int16_t(int(tree(m_.weight[i % INPUTS], uint32_t(weights[i] + half), WEIGHT_BITS)) - half);
	}

  private:
	static constexpr int ROW_ENDS[2] = {sum_of(COEFFICIENT_STATES),
										sum_of(COEFFICIENT_STATES) + sum_of(REACH_STATES)};

	// What a neighbour says: nothing, little, or its logarithmic odds in even steps.
	static int band(uint32_t state)
	{
		if (state == UNSEEN)
			return 0;
		if ((state & 15) < 8)
			return state >> 4 < 2048 ? 1 : 2;
		int odds = LOGITS[state >> 4];
		odds = (odds + 910) / 130;
		return 3 + (odds < 0 ? 0 : odds > 14 ? 14 : odds);
	}

	int mixed(uint32_t* first, size_t stride, size_t width, const int* contexts, int node, int set, int bit)
	{
		Contexts c;
		for (int i = 0; i < INPUTS; ++i)
			c.states[i] = first + size_t(i) * stride + size_t(contexts[i]) * width;
		c.weights = m_.weights[set];
		c.family_weights = m_.own_weights[contexts[0] / BAND_COUNT];
		return coder_.bit(c, uint32_t(node), bit);
	}

	uint32_t state(uint32_t value, const int* contexts, int count_before)
	{
		const size_t all = BAND_COUNT * BAND_COUNT;
		if (!mixed(m_.seen[0], all, 1, contexts, 0, 0, value != UNSEEN))
			return UNSEEN;
		uint32_t count = value & 15, found = value >> 4;
		if (!mixed(m_.full[0], all, 1, contexts, 0, 1, count == FULL))
		{
			count = tree(m_.count[count_before], count, 4);
			return tree(m_.few[count], found, FEW_BITS) << 4 | count;
		}
		uint32_t node = 1;
		for (int i = 11; i > 11 - MIXED_BITS; --i)
			node = node * 2 + uint32_t(mixed(m_.found[0][0], all << MIXED_BITS, size_t(1) << MIXED_BITS,
											 contexts, int(node), 2 + int(node), int(found >> i & 1)));
		for (int i = 11 - MIXED_BITS; i >= 0; --i)
			node = node * 2 + uint32_t(coder_.bit(m_.rest[node], int(found >> i & 1)));
		return (node - (1u << 12)) << 4 | FULL;
	}

	uint32_t tree(uint32_t* states, uint32_t value, int bits)
	{
		uint32_t node = 1;
		for (int i = bits - 1; i >= 0; --i)
			node = node * 2 + uint32_t(coder_.bit(states[node], int(value >> i & 1)));
		return node - (1u << bits);
	}

	Coder& coder_;
	TrainedModels& m_;
};

} // namespace keysine
} // namespace mocpack
