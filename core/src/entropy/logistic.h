// Logistic mixing: adaptive bit counters, and a mixer that combines their predictions.
//
// Predictions are mixed as logits, ln(p / (1 - p)) in units of 1/256, between -2047 and 2047. All arithmetic
// is integer, so every machine computes the same probabilities.
#pragma once
#include <cstddef>
#include <cstdint>

#include "entropy/range_coder.h"

namespace mocpack
{

struct LogisticTables
{
	uint16_t squash[2048];	  // probability of logit x >= 0, in 1/65536
	int16_t stretch[4096];	  // logit of the probability (16 i + 8) / 65536
	uint16_t reciprocal[256]; // 65536 / (n + 1.6)

	// x must be between -2047 and 2047.
	constexpr uint32_t probability(int x) const
	{
		return x < 0 ? 65536u - squash[-x] : squash[x];
	}
};

// part of the format of every codec that mixes: never change these tables
constexpr LogisticTables make_logistic_tables()
{
	LogisticTables tables{};
	const uint64_t one = 1ull << 32, step = 4278222805u; // 2^32 exp(-1/256)
	uint64_t power = one;								 // 2^32 exp(-x/256)
	for (int x = 0; x < 2048; ++x)
	{
		uint32_t p = uint32_t((one << 16) / (one + power));
		tables.squash[x] = uint16_t(p > 65520 ? 65520 : p);
		power = (power * step) >> 32;
	}
	for (int i = 0, x = -2048; i < 4096; ++i)
	{
		while (x < 2047 && tables.probability(x < -2047 ? -2047 : x) < uint32_t(16 * i + 8))
			++x;
		tables.stretch[i] = int16_t(x);
	}
	for (int n = 0; n < 256; ++n)
		tables.reciprocal[n] = uint16_t(655360 / (10 * n + 16));
	return tables;
}

#ifdef MOCPACK_TABLES_AT_START
extern LogisticTables LOGISTIC; // computed at startup, to keep the wasm file small
#else
inline constexpr LogisticTables LOGISTIC = make_logistic_tables();
#endif

// An adaptive probability. Update n moves it by 1 / (n + 1.6) of the way, but at least by about 1 / limit.
struct Counter
{
	uint16_t one = 32768;
	uint16_t count = 0;

	int logit() const
	{
		return LOGISTIC.stretch[one >> 4];
	}

	void update(int bit, uint16_t limit)
	{
		int32_t way = (bit ? 65535 : 0) - int32_t(one);
		one = uint16_t(int32_t(one) + int32_t((int64_t(way) * LOGISTIC.reciprocal[count]) >> 16));
		count = uint16_t(count < limit ? count + 1 : limit);
	}
};

// Mixes N logits. The weights, in 1/65536, follow the gradient of the coding cost.
template <int N> struct Mixer
{
	static const int RATE = 14;
	int32_t weights[N];

	Mixer()
	{
		for (int32_t& w : weights)
			w = 65536 / N;
	}

	Probability mix(const int (&logits)[N]) const
	{
		int64_t sum = 0;
		for (int i = 0; i < N; ++i)
			sum += int64_t(weights[i]) * logits[i];
		int64_t x = sum >> 16;
		return LOGISTIC.probability(int(x < -2047 ? -2047 : x > 2047 ? 2047 : x));
	}

	void update(const int (&logits)[N], int bit, Probability mixed)
	{
		int32_t error = (bit ? 65536 : 0) - int32_t(mixed);
		for (int i = 0; i < N; ++i)
			weights[i] += (logits[i] * error + (1 << (RATE - 1))) >> RATE;
	}
};

} // namespace mocpack
