// Mixed adaptive contexts of `keysine`, in integers only, so that symbols decode alike everywhere.
//
// A binary decision is predicted by INPUTS adaptive probabilities, each chosen by another context; their
// log-odds are weighted and summed (logistic mixing), and both probabilities and weights learn. Weights are
// the sum of two sets: one for the kind of decision, one for what kind of track it belongs to.
#pragma once
#include <array>
#include <cstdint>

#include "common/range_coder.h"

#undef DOMAIN // a word that <math.h> of macOS and Windows takes for itself

namespace mocpack
{
namespace keysine
{

const int INPUTS = 5;
const int32_t DOMAIN = 2048;	  // log-odds are in 1/256, within ±DOMAIN
const uint32_t COUNT_MASK = 1023; // low bits of a state: how much it has seen; above them, in 22 bits,
const uint32_t COUNT_LIMIT = 127; // stands the probability of a 1
const int32_t WEIGHT_RATE = 6;	  // how fast weights learn
const uint32_t HALF_STATE = 1u << 31;

// 65536 / (1 + exp(-x / 256)) at x = -2048, -1920 … 2048; straight lines between.
constexpr int32_t SQUASH_ANCHORS[33] = {22,	   36,	  60,	 98,	162,   267,	  439,	 720,	1179,
										1921,  3108,  4971,	 7812,	11955, 17625, 24743, 32768, 40793,
										47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097,
										65269, 65374, 65438, 65476, 65500, 65514};

constexpr int32_t squash_at(int32_t x)
{
	int32_t cell = (x + DOMAIN) >> 7, part = (x + DOMAIN) & 127;
	return (SQUASH_ANCHORS[cell] * (128 - part) + SQUASH_ANCHORS[cell + 1] * part + 64) >> 7;
}

constexpr std::array<uint16_t, 2 * DOMAIN> make_squash()
{
	std::array<uint16_t, 2 * DOMAIN> table{};
	for (int32_t x = -DOMAIN; x < DOMAIN; ++x)
		table[size_t(x + DOMAIN)] = uint16_t(squash_at(x));
	return table;
}

// Inverse of squash for probabilities in 1/4096: the first x that squashes to at least p.
constexpr std::array<int16_t, 4096> make_logits()
{
	std::array<int16_t, 4096> table{};
	int32_t x = -DOMAIN;
	for (int32_t p = 0; p < 4096; ++p)
	{
		while (x < DOMAIN - 1 && squash_at(x) < 16 * p + 8)
			++x;
		table[size_t(p)] = int16_t(x);
	}
	return table;
}

// 65536 / (n + 1.5): how far a state that has seen n decisions moves towards the next.
constexpr std::array<uint16_t, 1024> make_rates()
{
	std::array<uint16_t, 1024> table{};
	for (uint32_t n = 0; n < 1024; ++n)
		table[n] = uint16_t(131072 / (2 * n + 3));
	return table;
}

#ifdef MOCPACK_TABLES_AT_START
// A wasm file carries every byte of its tables, so there they are made when the program starts.
extern std::array<uint16_t, 2 * DOMAIN> SQUASH;
extern std::array<int16_t, 4096> LOGITS;
extern std::array<uint16_t, 1024> RATES;
#else
inline constexpr std::array<uint16_t, 2 * DOMAIN> SQUASH = make_squash();
inline constexpr std::array<int16_t, 4096> LOGITS = make_logits();
inline constexpr std::array<uint16_t, 1024> RATES = make_rates();
#endif

// Where the states and weights of one decision stand.
struct Contexts
{
	uint32_t* states[INPUTS];
	int32_t* weights;		 // INPUTS of them, 65536 = 1
	int32_t* family_weights; // INPUTS, added to them
};

struct Mixed
{
	int32_t inputs[INPUTS];
	int32_t one; // in 1/65536
};

inline Mixed mix(const Contexts& c, uint32_t level)
{
	Mixed m;
	int64_t sum = 0;
	for (int i = 0; i < INPUTS; ++i)
	{
		m.inputs[i] = LOGITS[c.states[i][level] >> 20];
		sum += int64_t(c.weights[i] + c.family_weights[i]) * m.inputs[i];
	}
	int64_t x = sum >> 16;
	x = x < -DOMAIN ? -DOMAIN : x > DOMAIN - 1 ? DOMAIN - 1 : x;
	m.one = SQUASH[size_t(x + DOMAIN)];
	return m;
}

inline void learn(const Contexts& c, uint32_t level, const Mixed& m, int bit,
				  uint32_t count_limit = COUNT_LIMIT)
{
	int32_t error = ((bit << 16) - m.one) * WEIGHT_RATE;
	for (int i = 0; i < INPUTS; ++i)
	{
		int32_t change = int32_t((int64_t(m.inputs[i]) * error + (1 << 19)) >> 20);
		c.weights[i] += change, c.family_weights[i] += change;
		uint32_t state = c.states[i][level], count = state & COUNT_MASK;
		int64_t p = state >> 10, goal = bit ? 4194303 : 0;
		p += ((goal - p) * RATES[count]) >> 16;
		c.states[i][level] = uint32_t(p << 10) | (count < count_limit ? count + 1 : count);
	}
}

// A state by itself, without mixing.
inline Probability one_of(uint32_t state)
{
	Probability p = state >> 16;
	return p < 64 ? 64 : p > 65472 ? 65472 : p;
}

inline void learn(uint32_t* state, int bit)
{
	uint32_t count = *state & COUNT_MASK;
	int64_t p = *state >> 10, goal = bit ? 4194303 : 0;
	p += ((goal - p) * RATES[count]) >> 16;
	*state = uint32_t(p << 10) | (count < COUNT_LIMIT ? count + 1 : count);
}

// The two directions of one coder: `bit` codes a value that the encoder knows and the decoder learns.
struct Writer
{
	RangeEncoder coder;

	int bit(const Contexts& c, uint32_t level, int value)
	{
		Mixed m = mix(c, level);
		coder.encode(value, Probability(m.one));
		learn(c, level, m, value);
		return value;
	}
	int bit(uint32_t& state, int value)
	{
		coder.encode(value, one_of(state));
		learn(&state, value);
		return value;
	}
	int coin(int value)
	{
		coder.encode(value, 32768);
		return value;
	}
};

struct Reader
{
	RangeDecoder coder;

	int bit(const Contexts& c, uint32_t level, int)
	{
		Mixed m = mix(c, level);
		int value = coder.decode(Probability(m.one));
		learn(c, level, m, value);
		return value;
	}
	int bit(uint32_t& state, int)
	{
		int value = coder.decode(one_of(state));
		learn(&state, value);
		return value;
	}
	int coin(int)
	{
		return coder.decode(32768);
	}
};

} // namespace keysine
} // namespace mocpack
